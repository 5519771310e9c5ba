//! `surface`: how do speed and access time vary over the drive; where are slow or failing spots.

mod access_scatter;
mod full;
mod one_pass;
mod places;
mod rates;
mod slow_spots;
mod spread;
mod unreadable;
mod writes;
mod zone_search;

use crate::error::{BenchError, is_want_of_the_host};
use crate::io::queue::{IoFailure, QueueSpec};
use crate::judging::test_record::TestRecord;
use crate::judging::validity;
use crate::loops::control::Control;
use crate::loops::phase::PhaseResult;
use crate::loops::scan::{Scan, ScanOutcome, ScanRegion, TimedRegion};
use crate::plan::option_checks::{SAMPLES_MAX, check_count, check_request, ensure};
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::{Continuation, Workload};
use access_scatter::AccessScatter;
use drivescope_model::options::{Suite, SurfaceOptions, SurfacePreset, SurfaceWrite, TestKind};
use drivescope_model::patterns::gnome_disks;
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use places::{access_places, places};
use rates::StepPace;
use unreadable::Unreadable;
use zone_search::SearchBudget;

/// A file smaller than this has no surface worth a profile.
const SIZE_MIN: Bytes = Bytes::gib(1);
/// What is read before a sample of GNOME Disks, and the unit of all places.
const PAGE: u64 = gnome_disks::PAGE;
/// Places of a trial that shows how many samples the time is enough for, and the fewest that it leads to.
const TRIAL_SAMPLES: u32 = 8;
const SAMPLES_MIN: u32 = 16;
/// Smallest useful sample, places and accesses on a slow drive.
const SLOW_SAMPLE_MIN: Bytes = Bytes::mib(1);
const SLOW_SAMPLES_MIN: u32 = 12;
/// Share of the time for samples all over the drive; the rest goes where they show borders of zones.
const EVEN_SHARE: f64 = 0.3;
/// Requests in flight within one of our samples: 4 MiB, enough for fast flash, short beside a track.
const SAMPLE_DEPTH: u32 = 16;

pub struct SurfaceWorkload;

impl Workload for SurfaceWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Surface
    }

    fn question(&self) -> &'static str {
        "how do speed and access time vary across the drive"
    }

    fn access(&self) -> &'static str {
        "not in a directory; on a file: only reads; on a device: only reads, unless --write same-bytes (writes back \
         what is there) or --destroy SERIAL (contents are lost)"
    }

    fn how_to_shorten(&self, _suite: &Suite) -> String {
        "use --time, or fewer surface.samples and surface.accesses; a full read: a smaller --size"
            .to_string()
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let options = &suite.surface;
        check_request(options.sample, "surface.sample")?;
        check_request(options.chunk, "surface.chunk")?;
        check_request(options.write_sample, "surface.write_sample")?;
        check_request(options.access_block, "surface.access_block")?;
        ensure(options.lead_in.0.is_multiple_of(512), || {
            "surface.lead_in must be a multiple of 512 bytes".to_string()
        })?;
        check_count(options.samples, 2..=SAMPLES_MAX, "surface.samples")?;
        check_count(options.write_samples, 2..=SAMPLES_MAX, "surface.write_samples")?;
        ensure(options.accesses <= SAMPLES_MAX, || {
            format!("surface.accesses must be at most {SAMPLES_MAX}")
        })?;
        let is_full = options.preset == SurfacePreset::Full;
        ensure(is_full || options.from.0 == 0, || {
            "surface.from needs surface.preset=full: samples have no start position".to_string()
        })?;
        let writes = matches!(options.write, SurfaceWrite::SameBytes | SurfaceWrite::Fresh);
        ensure(!writes || !is_one_pass(options), || {
            "surface.write needs surface.preset=sampled, gnome-disks or zcav: the others only read"
                .to_string()
        })
    }

    fn continuation(&self) -> Option<Continuation> {
        Some(Continuation {
            on: TargetKind::Block,
            reads_back: false,
            continue_at: |point, suite| {
                let options = &mut suite.surface;
                (options.preset, options.from) = (SurfacePreset::Full, Bytes(point.at_bytes));
            },
            begins_anew: |suite| {
                suite.surface.preset == SurfacePreset::Full && suite.surface.from.0 == 0
            },
        })
    }

    fn takes_whole_target(&self) -> bool {
        false
    }

    fn apply(&self, overrides: &Overrides, suite: &mut Suite) -> Result<(), String> {
        // Beside other tests the time is that of their cells.
        if overrides.tests == [TestKind::Surface.name()]
            && matches!(suite.surface.preset, SurfacePreset::Sampled | SurfacePreset::Spread)
        {
            suite.surface.time = overrides.time.unwrap_or(suite.surface.time);
        }
        Ok(())
    }

    fn reads_existing_data(&self) -> bool {
        true
    }

    fn shorten(&self, suite: &mut Suite, has_test_file: bool) -> bool {
        let options = &mut suite.surface;
        if has_test_file || options.preset == SurfacePreset::Full {
            return false;
        }
        if options.sample.0 > SLOW_SAMPLE_MIN.0 {
            options.sample = Bytes((options.sample.0 / 2).max(SLOW_SAMPLE_MIN.0));
            options.lead_in = options.lead_in.min(options.sample);
            return true;
        }
        let is_long = options.samples > SLOW_SAMPLES_MIN;
        if is_long {
            options.samples = (options.samples / 2).max(SLOW_SAMPLES_MIN);
            options.accesses = options.accesses.min((options.accesses / 2).max(SLOW_SAMPLES_MIN));
        }
        is_long
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let skip = |reason: String| context.skipped(self.kind(), reason);
        let options = &context.suite.surface;
        let size = context.span_bytes;
        if context.target.kind == TargetKind::Directory {
            return skip(
                "needs a block device or a large file: a new file covers only a small part of the drive"
                    .into(),
            );
        }
        if context.target.kind == TargetKind::File && size < SIZE_MIN.0 {
            return skip(format!("needs a file of {} or more", SIZE_MIN.binary()));
        }
        let is_full = options.preset == SurfacePreset::Full;
        if is_full && options.from.0 >= size {
            return skip(format!("surface.from is beyond the end, {size} bytes"));
        }
        if !is_full && size < options.sample.0 * 4 {
            return skip(format!("needs {} or more", Bytes(options.sample.0 * 4).binary()));
        }
        let mut test = context.planned(self.kind());
        test.cost = reading_cost(context);
        match writes::level(context) {
            Ok(None) => {}
            Ok(Some(level)) => {
                test.writes = level;
                test.cost = test.cost + writes::cost(context, level);
            }
            Err(reason) => test.omitted.push(format!("write: {reason}")),
        }
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        let options = &session.plan.suite.surface;
        check_units(options, u64::from(session.device().align_bytes()))?;
        match options.preset {
            SurfacePreset::Full => full::run(session, record),
            SurfacePreset::Spread => spread::run(session, record),
            SurfacePreset::Sampled | SurfacePreset::GnomeDisks | SurfacePreset::Zcav => {
                run_rounds(session, record)
            }
        }
    }
}

/// Reads the same places in each round, and writes them if it may.
fn run_rounds(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    let suite = &session.plan.suite;
    let size = session.span_bytes(session.device());
    let options = within_time(session, size)?;
    let budget = search_budget(&options);
    let (mut rates, mut written): (Vec<Vec<TimedRegion>>, Vec<Vec<TimedRegion>>) =
        (Vec::new(), Vec::new());
    let mut onsets_ms = Vec::new();
    let (mut accesses, mut accessed) = (AccessScatter::default(), Vec::new());
    let order = RequestShape::of(&options);
    let (mut unreadable, mut result) = (Unreadable::default(), Ok(()));
    for round in 1..=suite.rounds {
        if !session.has_time_for(round, record) {
            break;
        }
        session.pause(suite.pause)?;
        let places = places(&options, size, session.plan.seed, round);
        let control = Control::default();
        let scanned = scan(session, record, "read", places, (order, round), control)?;
        unreadable.add(&scanned);
        rates.push(scanned.timed);
        result = result.and(scanned.end);
        if result.is_ok() && session.writes() >= WriteLevel::SameBytes {
            let pass = writes::pass(session, record, size, round)?;
            written.push(pass.timed);
            onsets_ms.push(pass.onset_ms);
            result = result.and(pass.end);
        }
        if result.is_ok() && options.accesses > 0 {
            let places = access_places(&options, size, session.plan.seed, round);
            let single = RequestShape { chunk: options.access_block.0 as u32, depth: 1 };
            let control = Control::default();
            let scanned = scan(session, record, "access", places, (single, round), control)?;
            unreadable.add(&scanned);
            accesses.add(&scanned.timed, size);
            accessed.extend(scanned.timed);
            result = result.and(scanned.end);
        }
        if result.is_err() {
            break;
        }
    }
    if suite.rounds > 1 && result.is_err() {
        record.notice_few_rounds_of("read");
    }
    let pace = StepPace::of(&rates);
    let even = rates::medians(&rates, pace);
    let mut profile = even.clone();
    if result.is_ok() {
        result = zone_search::refine(session, &options, (&mut profile, pace), size, budget);
    }
    rates::report(record, "read", &rates, &profile, pace, size);
    zone_search::report(session, record, &options, &profile, size);
    let pace = StepPace::of(&written);
    rates::report(record, "write", &written, &rates::medians(&written, pace), pace, size);
    if let Some(onsets_ms) = onsets_ms.into_iter().collect::<Option<Vec<f64>>>()
        && !onsets_ms.is_empty()
    {
        record.metric("write.onset_ms", onsets_ms);
    }
    accesses.report(record);
    unreadable.report(record, part_start(session));
    result?;
    let visited = places(&options, size, session.plan.seed, 1);
    if !slow_spots::is_cached(record, &visited, size) {
        slow_spots::find_by_rate(session, record, &even, &visited, order)?;
        slow_spots::find_by_access_time(session, record, &accessed, size)?;
    }
    unreadable.outcome()
}

/// Whether everything is read once, or places at random: rounds would say nothing more.
fn is_one_pass(options: &SurfaceOptions) -> bool {
    matches!(options.preset, SurfacePreset::Full | SurfacePreset::Spread)
}

fn rounds_of(suite: &Suite) -> u32 {
    if is_one_pass(&suite.surface) { 1 } else { suite.rounds }
}

/// What reading costs: all places of all rounds, on a disk as many again as one round has for borders of zones, and the
/// single accesses.
fn reading_cost(context: &PlanContext<'_>) -> Cost {
    let (options, rounds) = (&context.suite.surface, f64::from(rounds_of(context.suite)));
    let samples = f64::from(options.samples);
    let is_disk = context.drive.is_some_and(|drive| drive.rotational_hint);
    let (each, places) = match options.preset {
        SurfacePreset::Zcav => (context.span_bytes as f64, rounds),
        SurfacePreset::Full => ((context.span_bytes - options.from.0) as f64, 1.0),
        SurfacePreset::GnomeDisks => (options.sample.0 as f64, samples * rounds),
        SurfacePreset::Spread => ((options.sample.0 + options.lead_in.0) as f64, samples),
        SurfacePreset::Sampled => {
            let each = (options.sample.0 + options.lead_in.0) as f64;
            (each, samples * (rounds + f64::from(u8::from(is_disk))))
        }
    };
    let each_s = each / (context.typical.mb_s * 1e6) + 1.0 / context.typical.iops;
    let is_timed = options.time.0 > 0.0 && options.preset != SurfacePreset::Full;
    let places = if is_timed { options.time.0 / each_s } else { places };
    let accesses = f64::from(options.accesses) * rounds;
    Cost {
        seconds: places * each_s + accesses / context.typical.iops,
        read_bytes: (places * each) as u64,
        written_bytes: 0,
        computed_s: context.computed_stream_s(places * each) + context.computed_s(accesses),
    }
}

/// The options with as many samples as the time is enough for, as a trial all over the drive shows.
fn within_time(session: &Session<'_>, size: u64) -> Result<SurfaceOptions, BenchError> {
    let options = session.plan.suite.surface.clone();
    if options.time.0 == 0.0 || options.preset != SurfacePreset::Sampled {
        return Ok(options);
    }
    let (took_s, each_s) = trial_s(session, &options, size)?;
    let even_s = (options.time.0 - took_s) * EVEN_SHARE / f64::from(session.plan.suite.rounds);
    let samples = ((even_s / each_s) as u32).clamp(SAMPLES_MIN, SAMPLES_MAX);
    Ok(SurfaceOptions { samples, ..options })
}

/// How long a trial of a few places all over the drive takes, and one place of it, s.
fn trial_s(
    session: &Session<'_>,
    options: &SurfaceOptions,
    size: u64,
) -> Result<(f64, f64), BenchError> {
    // At random: a drive answers from its cache what it has just read.
    let trial = SurfaceOptions {
        accesses: TRIAL_SAMPLES,
        access_block: Bytes(options.lead_in.0 + options.sample.0),
        ..options.clone()
    };
    let start_ns = session.now_ns();
    let places = access_places(&trial, size, session.plan.seed, 1);
    slow_spots::scan_again(session, places, RequestShape::of(options))?;
    session.check_stop()?;
    let took_s = (session.now_ns() - start_ns) as f64 / 1e9;
    Ok((took_s, (took_s / f64::from(TRIAL_SAMPLES)).max(1e-6)))
}

/// What the search for borders of zones may spend: the rest of the time, or once more as many samples.
fn search_budget(options: &SurfaceOptions) -> SearchBudget {
    match options.time.0 {
        0.0 => SearchBudget { samples: options.samples as usize, time_ns: u64::MAX },
        _ => SearchBudget {
            samples: SAMPLES_MAX as usize,
            time_ns: (options.time.0 * (1.0 - EVEN_SHARE) * 1e9) as u64,
        },
    }
}

#[derive(Debug, Clone, Copy)]
struct RequestShape {
    chunk: u32,
    depth: u32,
}

impl RequestShape {
    /// GNOME Disks reads a sample with one call; zcav and we read in chunks.
    fn of(options: &SurfaceOptions) -> Self {
        let chunk = match options.preset {
            SurfacePreset::GnomeDisks => options.sample.0,
            _ => options.chunk.0,
        };
        let is_ours = matches!(options.preset, SurfacePreset::Sampled | SurfacePreset::Spread);
        let depth = if is_ours { SAMPLE_DEPTH } else { 1 };
        Self { chunk: chunk as u32, depth }
    }
}

/// Errors: a size that direct I/O on this device does not move.
fn check_units(options: &SurfaceOptions, unit: u64) -> Result<(), BenchError> {
    let sizes = [
        ("sample", options.sample),
        ("chunk", options.chunk),
        ("lead_in", options.lead_in),
        ("access_block", options.access_block),
    ];
    match sizes.iter().find(|(_, size)| !size.0.is_multiple_of(unit)) {
        None => Ok(()),
        Some((name, size)) => Err(BenchError::Unsuitable(format!(
            "direct I/O here needs multiples of {unit} bytes, but surface.{name} is {}; use --set surface.{name}={}",
            size.0,
            size.0.next_multiple_of(unit)
        ))),
    }
}

#[derive(Debug)]
struct Scanned {
    timed: Vec<TimedRegion>,
    failures: Vec<IoFailure>,
    gave_up: bool,
    /// Whether the test ends here, after everything readable was kept.
    end: Result<(), BenchError>,
}

/// Runs one scan and keeps it as a phase. Places that cannot be read do not end it, unless most of them fail.
fn scan(
    session: &Session<'_>,
    record: &mut TestRecord,
    cell: &'static str,
    places: Vec<ScanRegion>,
    (RequestShape { chunk, depth }, round): (RequestShape, u32),
    control: Control,
) -> Result<Scanned, BenchError> {
    session.phase_started(&format!("surface {cell}"), round, rounds_of(&session.plan.suite));
    let start = part_start(session);
    let places = on_target(places, start);
    let task = Scan { places, chunk, depth, data: None, control: &control };
    let spec = QueueSpec { depth, ahead: 1, block_bytes: chunk, dsync: false };
    let (worker, counters) = session.run_task(session.device(), spec, &control, task)?;
    let ScanOutcome { timed, recorder, asked_bytes, failures, gave_up, .. } = worker.output;
    record.notice_failures(failures.iter().filter(|failure| !is_want_of_the_host(failure.errno)));
    let measured = PhaseResult { recorder, cpu_cost: worker.cpu_cost, engine: worker.engine };
    let mut kept = counters.end(session, measured, cell, round);
    // How much a failed request moved is unknown.
    kept.asked = failures.is_empty().then_some((asked_bytes as f64, 0.0));
    kept.is_cut_short = gave_up;
    if cell == "access" {
        fn ms(ns: f64) -> f64 {
            ns / 1e6
        }
        let facts = session.environment(record.test());
        if let Some(finding) = validity::short_stroke(cell, &facts) {
            record.notice(finding.about("surface.access"));
        }
        let latencies = &kept.measured.recorder.latencies;
        kept.extra.push(("access_mean_ms", ms(latencies.mean())));
        kept.extra.push(("access_min_ms", ms(latencies.min() as f64)));
        kept.extra.push(("access_max_ms", ms(latencies.max() as f64)));
    } else {
        kept.own_metrics = true;
    }
    let end = go_on_unless(gave_up, session, session.add_round(kept, record));
    Ok(Scanned { timed: within_part(timed, start), failures, gave_up, end })
}

/// How a round of many places ended, of which some could not be read: that ends the test only if it gave up.
fn go_on_unless(
    gave_up: bool,
    session: &Session<'_>,
    end: Result<(), BenchError>,
) -> Result<(), BenchError> {
    match end {
        Err(BenchError::Request { failure, .. })
            if !gave_up && !is_want_of_the_host(failure.errno) =>
        {
            session.check_stop()
        }
        other => other,
    }
}

fn part_start(session: &Session<'_>) -> u64 {
    session.part_start_bytes(session.device())
}

/// Of a part, nothing follows for the rest of the drive.
fn notice_part(record: &mut TestRecord, part: u64, whole: u64) {
    if part < whole {
        let (part, whole) = (Bytes(part), Bytes(whole));
        record.remark(format!("examines only {part} of {whole}"));
    }
}

/// Places of the examined part as places of the whole target.
fn on_target(mut places: Vec<ScanRegion>, start: u64) -> Vec<ScanRegion> {
    for place in &mut places {
        place.offset += start;
        place.lead_in_from += start;
    }
    places
}

/// The other way round: results count from the start of the part.
fn within_part(mut timed: Vec<TimedRegion>, start: u64) -> Vec<TimedRegion> {
    for timed in &mut timed {
        timed.offset -= start;
    }
    timed
}

#[cfg(test)]
mod tests;
