//! fio's job files as suites: jobs become cells of `transfer`, or rates of `latency`. What has no equal is refused
//! with its line; nothing after this module knows fio.

mod job_load;
mod job_options;
mod lines;
mod option_names;
#[cfg(test)]
mod tests;

pub use lines::JobSource;

use crate::plan::option_checks::ROUNDS_MAX;
use crate::suites::{SuiteError, test_named};
use drivescope_model::cell::Cell;
use drivescope_model::options::{Arrivals, CellBounds, PartStart, Rate, Suite, TransferOptions};
use drivescope_model::plan::Engine;
use drivescope_model::units::{Bytes, Secs};
use job_load::JobLoad;
use job_options::JobOptions;
use option_names::OptionFate;
use std::collections::BTreeSet;
use std::path::Path;

/// A job that only its bytes end; a longer plan is refused.
const TIME_MAX: Secs = Secs(30.0 * 86_400.0);

/// What a job file asks for.
#[derive(Debug)]
pub struct FioSuite {
    pub suite: Suite,
    /// The jobs' engine, if they have one in common.
    pub engine: Option<Engine>,
    /// Size of the test file, if the jobs name one.
    pub size: Option<Bytes>,
    /// For people: which job is which cell, and which options have no effect.
    pub notes: Vec<String>,
}

/// Reads the job file at `path`. Errors: one line that names the job, the line and the option.
pub fn suite(path: &str, source: &dyn JobSource) -> Result<FioSuite, SuiteError> {
    let jobs = job_options::jobs(&lines::sections(path, source)?);
    let loads = in_turn(&jobs)?;
    let Some(first) = loads.first() else {
        return Err(SuiteError::Absurd(format!("the job file {path} has no job")));
    };
    loads.iter().try_for_each(|load| check_common(first, load, loads.len()))?;
    let place = first.place_bytes();
    let mut suite = Suite {
        name: name_of(path),
        summary: format!("fio's job file {path}"),
        rounds: first.thread.loops,
        span: Bytes(place.unwrap_or(0)),
        offset: match first.thread.offset_bytes {
            0 => None,
            bytes => Some(PartStart::At(Bytes(bytes))),
        },
        ..Suite::default()
    };
    suite.size = place.map_or(suite.size, Bytes);
    let names = match first.thread.rate {
        Some((arrivals, _)) => with_rates(&loads, arrivals, &mut suite)?,
        None => with_cells(&loads, &mut suite)?,
    };
    let engine = first.thread.engine;
    let is_common = loads.iter().all(|load| load.thread.engine == engine);
    let mut notes = vec![format!("fio's jobs: {names}")];
    notes.extend(without_effect(&jobs));
    notes.extend(partly_without_effect(&loads));
    Ok(FioSuite { suite, engine: is_common.then_some(engine), size: place.map(Bytes), notes })
}

/// A name that no built-in suite has.
fn name_of(path: &str) -> String {
    let path = Path::new(path);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    format!("{stem}.fio")
}

/// One after the other; jobs of one load that run at the same time are threads of one.
fn in_turn(jobs: &[JobOptions]) -> Result<Vec<JobLoad<'_>>, SuiteError> {
    let mut loads: Vec<JobLoad<'_>> = Vec::new();
    for job in jobs {
        let load = JobLoad::of(job)?;
        let waits = job.is_on("stonewall")?;
        match loads.last_mut().filter(|_| !waits) {
            Some(running) => running.join(&load)?,
            None => loads.push(load),
        }
    }
    Ok(loads)
}

/// What all jobs of a suite share.
fn check_common(first: &JobLoad<'_>, load: &JobLoad<'_>, jobs: usize) -> Result<(), SuiteError> {
    let (one, other) = (&first.thread, &load.thread);
    let name = &first.job.name;
    let differs = |option, what: &str| {
        let why = format!("{what} than job {name}; a suite has one for all, so use two files");
        Err(load.job.refuse(option, &why))
    };
    let is_device = |file: &&String| file.starts_with("/dev/");
    let devices = one.file.as_ref().filter(is_device).zip(other.file.as_ref().filter(is_device));
    if devices.is_some_and(|(one, other)| one != other) {
        return differs("filename", "is another drive");
    }
    if first.place_bytes() != load.place_bytes() {
        let option = if load.threads > 1 { "numjobs" } else { "size" };
        return differs(option, "gives the job a larger or smaller place");
    }
    if one.offset_bytes != other.offset_bytes {
        return differs("offset", "is another place");
    }
    if one.rate.is_some() != other.rate.is_some() {
        return differs("rate_iops", "is another kind of load");
    }
    match other.loops {
        1 => Ok(()),
        loops if !(1..=ROUNDS_MAX).contains(&loops) => {
            Err(load.job.refuse("loops", &format!("must be between 1 and {ROUNDS_MAX}")))
        }
        _ if jobs > 1 => {
            Err(load.job.refuse("loops", "has an equal only for a single job (--rounds)"))
        }
        _ => Ok(()),
    }
}

fn with_cells(loads: &[JobLoad<'_>], suite: &mut Suite) -> Result<String, SuiteError> {
    let mut options = TransferOptions::default();
    let mut names: Vec<(Cell, &[&str])> = Vec::new();
    for load in loads {
        let (job, thread) = (load.job, &load.thread);
        let shape = load.shape();
        let shape = shape.map_err(|error| job.at.refuse(format!("job {}: {error}", job.name)))?;
        let cell = Cell { shape, mix: thread.mix };
        if let Some((_, jobs)) = names.iter().find(|(known, _)| *known == cell) {
            let message = format!("job {} is the same cell as job {}, {cell}", job.name, jobs[0]);
            return Err(job.at.refuse(format!("{message}; use two files, or --rounds")));
        }
        let io_bytes = thread.io_bytes.unwrap_or(0).saturating_mul(load.threads.into());
        options.bounds.push(CellBounds {
            cell,
            time: thread.time_s.map_or(TIME_MAX, Secs),
            ramp: Secs(thread.ramp_s),
            io_size: Bytes(io_bytes),
        });
        names.push((cell, &load.names));
    }
    options.cells = names.iter().map(|(cell, _)| *cell).collect();
    let first = options.bounds[0];
    (options.time, options.ramp, options.io_size) = (first.time, first.ramp, first.io_size);
    options.bounds.retain(|own| CellBounds { cell: first.cell, ..*own } != first);
    (suite.tests, suite.transfer) = (vec![test_named("transfer")?], options);
    let named = names.iter().map(|(cell, jobs)| format!("{} is {cell}", jobs.join(" + ")));
    Ok(named.collect::<Vec<_>>().join(", "))
}

fn with_rates(
    loads: &[JobLoad<'_>],
    arrivals: Arrivals,
    suite: &mut Suite,
) -> Result<String, SuiteError> {
    let (mut rates, mut names): (Vec<Rate>, Vec<String>) = (Vec::new(), Vec::new());
    let first = &loads[0].thread;
    let end_s = first.rate.map_or(0.0, |(_, iops)| first.end_s(iops));
    for load in loads {
        let (job, thread) = (load.job, &load.thread);
        let Some((own, iops)) = thread.rate else { continue };
        let is_same = own == arrivals
            && thread.sizes == first.sizes
            && thread.ramp_s == first.ramp_s
            && thread.end_s(iops) == end_s;
        if !is_same || rates.contains(&Rate::Iops(iops)) {
            let why = "has another time, block or rate_process than the first job, or the same rate; use two files";
            return Err(job.refuse("rate_iops", why));
        }
        rates.push(Rate::Iops(iops));
        names.push(format!("{} is latency at {iops} requests/s", job.name));
    }
    suite.tests = vec![test_named("latency")?];
    let options = &mut suite.latency;
    options.spans_pct.clear();
    options.block = Bytes(first.sizes.mean_bytes());
    (options.arrivals, options.rates) = (arrivals, rates);
    (options.time, options.ramp) = (Secs(end_s), Secs(first.ramp_s));
    Ok(names.join(", "))
}

/// Options that the plan does not have, once each.
fn without_effect(jobs: &[JobOptions]) -> Vec<String> {
    let of = |fate| jobs.iter().flat_map(|job| job.names(fate)).collect::<BTreeSet<_>>();
    let listed = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    let notes = [
        ("only for fio's own output", of(OptionFate::OutputOnly)),
        ("drivescope does these in its own way", of(OptionFate::OwnWay)),
    ];
    let named = notes.into_iter().filter(|(_, names)| !names.is_empty());
    named.map(|(what, names)| format!("without effect, {what}: {}", listed(names))).collect()
}

/// Options that the load of some jobs does not have.
fn partly_without_effect(loads: &[JobLoad<'_>]) -> Vec<String> {
    let of = |has: fn(&JobLoad<'_>) -> bool| {
        let names = loads.iter().filter(|load| has(load)).flat_map(|load| load.names.clone());
        names.collect::<Vec<_>>().join(", ")
    };
    let notes = [
        (
            "iodepth has no effect with a synchronous ioengine, as in fio",
            of(|load| job_load::ignores_depth(load.job)),
        ),
        (
            "ramp_time has no effect where each write is flushed",
            of(|load| load.thread.mix.is_synced() && load.thread.ramp_s > 0.0),
        ),
    ];
    let named = notes.into_iter().filter(|(_, names)| !names.is_empty());
    named.map(|(what, names)| format!("{what}: {names}")).collect()
}
