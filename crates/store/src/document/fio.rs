//! Results of fio (`--output-format=json`) as runs, so that they can be compared.
//!
//! A job becomes a cell of `transfer` where it means the same: direct, one block size, reads or writes only, closed
//! loop, on a drive. Other jobs are left out, and named in the result. Each file that was measured is a run of its own:
//! other files may be other drives. Jobs of one group ran at once: with the same cell they are threads of one load,
//! else none of them is measured alone. The same cell in a later group (`stonewall`) is a further round.

mod fio_job;
mod fio_text;

use super::FormatError;
use super::imported_run::{ImportedRun, Rounds, TRANSFER};
use drivescope_model::document::{Run, TestStatus};
use drivescope_model::plan::Engine;
use fio_job::{FioCell, FioJob};
use jiff::Timestamp;
use serde_json::Value;

/// The runs in a text of fio. `None`: the text does not have results of fio. Errors: A result breaks off, or no job of
/// them all is a cell; the reasons are named.
pub fn runs(text: &str) -> Result<Option<Vec<Run>>, FormatError> {
    let documents = fio_text::documents(text)?;
    if documents.is_empty() {
        return Ok(None);
    }
    let (mut runs, mut faults) = (Vec::new(), Vec::new());
    for document in &documents {
        match runs_of(document) {
            Ok(found) => runs.extend(found),
            Err(why) => faults.push(why),
        }
    }
    match runs.first_mut() {
        None => {
            let message = format!(
                "no job of this fio result can be compared with a cell ({})",
                faults.join("; ")
            );
            return Err(FormatError::NotARun(message));
        }
        Some(first) => leave_out(first, &faults),
    }
    Ok(Some(runs))
}

/// Adds skipped jobs to the reason of the run's only test.
fn leave_out(run: &mut Run, faults: &[String]) {
    if let [result] = &mut run.tests[..] {
        let reasons = result.reason.take().into_iter().chain(faults.iter().cloned());
        let reason = reasons.collect::<Vec<_>>().join("; ");
        result.reason = (!reason.is_empty()).then_some(reason);
    }
}

/// Results on one file of one machine.
struct MeasuredFile<'d> {
    first: FioJob<'d>,
    rounds: Rounds,
    left_out: Vec<String>,
    errors: Vec<String>,
    note: Option<String>,
    /// The longest job of each group.
    elapsed_s: Vec<(Value, f64)>,
}

/// One run per file. Errors: no job is a cell; with the reasons.
fn runs_of(document: &Value) -> Result<Vec<Run>, String> {
    let jobs = fio_job::jobs(document);
    let mut files: Vec<MeasuredFile<'_>> = Vec::new();
    for job in &jobs {
        let index = files.iter().position(|file| file.first.place() == job.place());
        let index = index.unwrap_or_else(|| {
            files.push(MeasuredFile::new(job.clone()));
            files.len() - 1
        });
        files[index].take(job, &jobs);
    }
    if files.iter().all(|file| file.rounds.is_empty()) {
        let why: Vec<String> = files.into_iter().flat_map(|file| file.left_out).collect();
        return Err(if why.is_empty() { "it has none".to_string() } else { why.join("; ") });
    }
    let (measured, rest): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| !file.rounds.is_empty());
    let count = measured.len();
    let mut runs: Vec<Run> = measured.into_iter().map(|file| file.run(document, count)).collect();
    let rest: Vec<String> = rest.into_iter().flat_map(|file| file.left_out).collect();
    leave_out(&mut runs[0], &rest);
    Ok(runs)
}

impl<'d> MeasuredFile<'d> {
    fn new(first: FioJob<'d>) -> Self {
        let (rounds, left_out, errors) = (Rounds::new(), Vec::new(), Vec::new());
        Self { first, rounds, left_out, errors, note: None, elapsed_s: Vec::new() }
    }

    fn take(&mut self, job: &FioJob<'d>, jobs: &[FioJob<'d>]) {
        self.errors.extend(job.error());
        let load = load_of(job, jobs);
        let keyed = load.and_then(|load| {
            load.map(|(cell, load)| Ok((cell.key(load.count())?, cell, load))).transpose()
        });
        match keyed {
            Ok(Some((key, cell, load))) => {
                load.add_to(&cell, &key, &mut self.rounds);
                let seconds = load.elapsed_s();
                match self.elapsed_s.iter_mut().find(|(group, _)| group == job.group()) {
                    Some((_, longest)) => *longest = longest.max(seconds),
                    None => self.elapsed_s.push((job.group().clone(), seconds)),
                }
                self.note = self.note.take().or_else(|| note(job, jobs));
            }
            Ok(None) => {}
            Err(why) => self.left_out.push(format!("{}: {why}", job.name())),
        }
    }

    /// `count`: number of files in this result.
    fn run(self, document: &Value, count: usize) -> Run {
        let job = &self.first;
        let (host, path) = job.place();
        let engine = match job.option("ioengine") {
            Some("io_uring") => Engine::Uring,
            Some(engine) if fio_job::is_synchronous(engine) => Engine::Threads,
            _ => Engine::Auto,
        };
        let is_failed = !self.errors.is_empty();
        let left_out = self.left_out.join("; ");
        let head = if is_failed && !left_out.is_empty() { "left out: " } else { "" };
        let reasons = self.errors.into_iter().chain(Some(format!("{head}{left_out}")));
        let reasons: Vec<String> = reasons.filter(|reason| !reason.is_empty()).collect();
        let version = document["fio version"].as_str().unwrap_or_default();
        let place = if count > 1 { format!("{host} {path}") } else { String::new() };
        let identity = format!("{place}{document}");
        ImportedRun {
            test: TRANSFER,
            tool: "fio",
            version: version.trim_start_matches("fio-"),
            identity: &identity,
            started: started(document),
            elapsed_s: self.elapsed_s.iter().map(|(_, seconds)| seconds).sum(),
            status: if is_failed { TestStatus::Failed } else { TestStatus::Done },
            reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
            note: self.note,
            host,
            path,
            engine,
        }
        .with(self.rounds)
    }
}

/// The end of the measurement: fio does not print its start. fio 2 has whole seconds.
fn started(document: &Value) -> Timestamp {
    let ms = document["timestamp_ms"].as_i64();
    let ms = ms.or_else(|| document["timestamp"].as_i64()?.checked_mul(1000));
    Timestamp::from_millisecond(ms.unwrap_or_default()).unwrap_or_default()
}

/// The cell of a job together with the jobs of its group that were threads of the same load. `None`: an earlier one of
/// them represents it. Errors: why it is not a cell.
fn load_of<'d>(
    job: &FioJob<'d>,
    jobs: &[FioJob<'d>],
) -> Result<Option<(FioCell, FioJob<'d>)>, String> {
    let cell = job.cell()?;
    let is_beside =
        |it: &&FioJob<'_>| it.ran_with(job) && it.place() == job.place() && !it.is_idle();
    let mut load: Option<FioJob<'d>> = None;
    for other in jobs.iter().filter(is_beside) {
        if other.cell().ok().as_ref() != Some(&cell) {
            return Err(format!(
                "at the same time as {} (no stonewall between them)",
                other.name()
            ));
        }
        match &mut load {
            Some(load) => load.join(other),
            None if std::ptr::eq(other, job) => load = Some(other.clone()),
            None => return Ok(None),
        }
    }
    Ok(load.map(|load| (cell, load)))
}

fn note(job: &FioJob<'_>, jobs: &[FioJob<'_>]) -> Option<String> {
    let files = job.files();
    if files.len() > 1 {
        let names = files.join(", ");
        return Some(format!(
            "{} files in one figure, which may be as many drives: {names}",
            files.len()
        ));
    }
    let other =
        jobs.iter().find(|it| it.ran_with(job) && it.place() != job.place() && !it.is_idle())?;
    Some(format!("measured while {} ran on {}", other.name(), other.place().1))
}

#[cfg(test)]
mod tests;
