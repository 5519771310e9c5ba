//! `surface`: how do speed and access time vary over the drive; where are slow or failing spots.

mod rates;
mod slow_spots;
mod writes;

use crate::control::Control;
use crate::error::{BenchError, describe, is_want_of_the_host};
use crate::offsets::{derive_seed, shuffle};
use crate::option_checks::{SAMPLES_MAX, check_request, ensure};
use crate::phase::PhaseResult;
use crate::plan_context::PlanContext;
use crate::queue::QueueSpec;
use crate::scan::{Scan, ScanOutcome, ScanRegion, TimedRegion};
use crate::session::Session;
use crate::test_record::TestRecord;
use crate::validity;
use crate::workload::Workload;
use drivescope_model::event::Event;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::{Suite, SurfaceOptions, SurfacePreset, TestKind};
use drivescope_model::patterns::gnome_disks;
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A file smaller than this has no surface worth a profile.
const SIZE_MIN: Bytes = Bytes::gib(1);
/// What is read before a sample of GNOME Disks, and the unit of all places.
const PAGE: u64 = gnome_disks::PAGE;
/// Requests in flight within one of our samples: enough to keep a drive's read-ahead busy.
const SAMPLE_DEPTH: u32 = 4;

/// The test `surface`.
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
        "use fewer surface.samples and surface.accesses".to_string()
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
        for (count, what) in
            [(options.samples, "samples"), (options.write_samples, "write_samples")]
        {
            ensure((2..=SAMPLES_MAX).contains(&count), || {
                format!("surface.{what} must be between 2 and {SAMPLES_MAX}")
            })?;
        }
        ensure(options.accesses <= SAMPLES_MAX, || {
            format!("surface.accesses must be at most {SAMPLES_MAX}")
        })
    }

    fn reads_existing_data(&self) -> bool {
        true
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
        if size < options.sample.0 * 4 {
            return skip(format!("needs {} or more", Bytes(options.sample.0 * 4).binary()));
        }
        let rounds = f64::from(context.suite.rounds);
        let (bytes, places) = match options.preset {
            SurfacePreset::Zcav => (size as f64, 1.0),
            SurfacePreset::GnomeDisks => {
                (options.sample.0 as f64 * f64::from(options.samples), f64::from(options.samples))
            }
            SurfacePreset::Sampled => {
                let each = (options.sample.0 + options.lead_in.0) as f64;
                (each * f64::from(options.samples), f64::from(options.samples))
            }
        };
        let seeks = places + f64::from(options.accesses);
        let mut test = context.planned(self.kind());
        let seconds = bytes / (context.typical.mb_s * 1e6) + seeks / context.typical.iops;
        test.cost = Cost {
            seconds: seconds * rounds,
            read_bytes: (bytes * rounds) as u64,
            written_bytes: 0,
            computed_s: context.computed_s((bytes / options.chunk.0 as f64 + seeks) * rounds),
        };
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
        let suite = &session.plan.suite;
        let options = &suite.surface;
        check_units(options, u64::from(session.device().align_bytes()))?;
        let size = session.span_bytes(session.device());
        let (mut rates, mut written): (Vec<Vec<TimedRegion>>, Vec<Vec<TimedRegion>>) =
            (Vec::new(), Vec::new());
        let mut onsets_ms = Vec::new();
        let (mut accesses, mut accessed) = (AccessScatter::default(), Vec::new());
        let order = RequestShape::of(options);
        let mut result = Ok(());
        for round in 1..=suite.rounds {
            session.pause(suite.pause)?;
            let places = places(options, size, session.plan.seed, round);
            let (timed, end) = scan(session, record, "read", places, order, round)?;
            rates.push(timed);
            result = result.and(end);
            if result.is_ok() && session.writes() >= WriteLevel::SameBytes {
                let pass = writes::pass(session, record, size, round)?;
                written.push(pass.timed);
                onsets_ms.push(pass.onset_ms);
                result = result.and(pass.end);
            }
            if result.is_ok() && options.accesses > 0 {
                let places = access_places(options, size, session.plan.seed, round);
                let single = RequestShape { chunk: options.access_block.0 as u32, depth: 1 };
                let (timed, end) = scan(session, record, "access", places, single, round)?;
                accesses.add(&timed, size);
                accessed.extend(timed);
                result = result.and(end);
            }
            if result.is_err() {
                break;
            }
        }
        if suite.rounds > 1 && result.is_err() {
            record.notice_few_rounds_of("read");
        }
        rates::report(record, "read", &rates, size);
        rates::report(record, "write", &written, size);
        if let Some(onsets_ms) = onsets_ms.into_iter().collect::<Option<Vec<f64>>>()
            && !onsets_ms.is_empty()
        {
            record.metric("write.onset_ms", onsets_ms);
        }
        accesses.report(record);
        result?;
        let visited = places(options, size, session.plan.seed, 1);
        slow_spots::find_by_rate(session, record, &rates::medians(&rates), &visited, order)?;
        slow_spots::find_by_access_time(session, record, &accessed, size)
    }
}

/// How places are read.
#[derive(Debug, Clone, Copy)]
struct RequestShape {
    /// Bytes per request.
    chunk: u32,
    /// Requests in flight.
    depth: u32,
}

impl RequestShape {
    /// GNOME Disks reads a sample with one call; zcav and we read in chunks.
    fn of(options: &SurfaceOptions) -> Self {
        let chunk = match options.preset {
            SurfacePreset::GnomeDisks => options.sample.0,
            _ => options.chunk.0,
        };
        let depth = if options.preset == SurfacePreset::Sampled { SAMPLE_DEPTH } else { 1 };
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

/// Where a round reads, in the order it reads.
fn places(options: &SurfaceOptions, size: u64, seed: u64, round: u32) -> Vec<ScanRegion> {
    let sample = options.sample.0;
    match options.preset {
        SurfacePreset::Zcav => {
            let blocks = size.div_ceil(sample);
            let block = |i: u64| {
                let offset = i * sample;
                // The end of a device need not be a multiple of its direct I/O unit; whole pages are.
                let len = sample.min((size - offset) / PAGE * PAGE);
                ScanRegion::new(offset, len)
            };
            (0..blocks).map(block).filter(|place| place.len > 0).collect()
        }
        SurfacePreset::GnomeDisks => gnome_disks::samples(size, options.samples, sample)
            .into_iter()
            .filter(|&(_, len)| len > 0)
            .map(|(offset, len)| ScanRegion {
                offset,
                len,
                lead_in_from: offset,
                lead_in_len: PAGE,
            })
            .collect(),
        SurfacePreset::Sampled => sampled(options, size, seed, round),
    }
}

/// Evenly spread positions from the first byte to the last, shuffled; even rounds go the other way, so
/// that a drift of the drive does not look like a slope of the surface. The first bytes are the lead-in of the
/// first position: nothing lies before them.
fn sampled(options: &SurfaceOptions, size: u64, seed: u64, round: u32) -> Vec<ScanRegion> {
    let (sample, lead_in) = (options.sample.0, options.lead_in.0);
    let last = (size - sample) / PAGE;
    let count = u64::from(options.samples.max(2));
    let mut places: Vec<ScanRegion> = (0..count)
        .map(|i| {
            let page = |i: u64| (u128::from(last) * u128::from(i) / u128::from(count - 1)) as u64;
            let first = page(1).min(lead_in / PAGE);
            let offset = page(i).max(first) * PAGE;
            let lead_in_from = offset.saturating_sub(lead_in);
            ScanRegion { offset, len: sample, lead_in_from, lead_in_len: offset - lead_in_from }
        })
        .collect();
    // Rounds 1 and 2, 3 and 4 … share an order.
    shuffle(&mut places, derive_seed(seed, "surface", round.div_ceil(2), 0));
    if round.is_multiple_of(2) {
        places.reverse();
    }
    places
}

fn access_places(options: &SurfaceOptions, size: u64, seed: u64, round: u32) -> Vec<ScanRegion> {
    let block = options.access_block.0;
    let offsets = if options.preset == SurfacePreset::GnomeDisks {
        gnome_disks::accesses(size, options.accesses)
    } else {
        let seed = derive_seed(seed, "access", round, 0);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let blocks = u128::from(size / block);
        let mut next = || ((u128::from(random.next_u64()) * blocks) >> 64) as u64 * block;
        (0..options.accesses).map(|_| next()).collect()
    };
    offsets
        .into_iter()
        .filter(|offset| offset + block <= size)
        .map(|offset| ScanRegion::new(offset, block))
        .collect()
}

/// Runs one scan and keeps it as a phase. Unreadable places end the test only after everything
/// readable was kept: they come back as the inner error.
fn scan(
    session: &Session<'_>,
    record: &mut TestRecord,
    cell: &'static str,
    places: Vec<ScanRegion>,
    RequestShape { chunk, depth }: RequestShape,
    round: u32,
) -> Result<(Vec<TimedRegion>, Result<(), BenchError>), BenchError> {
    let rounds = session.plan.suite.rounds;
    session.emit(Event::PhaseStarted { label: format!("surface {cell}"), round, rounds });
    let control = Control::default();
    let start = part_start(session);
    let places = on_target(places, start);
    let task = Scan { places, chunk, depth, data: None, control: &control };
    let spec = QueueSpec { depth, ahead: 1, block_bytes: chunk, dsync: false };
    let (worker, counters) = session.run_task(session.device(), spec, &control, task)?;
    let ScanOutcome { timed, recorder, asked_bytes, failures, .. } = worker.output;
    for failure in failures.iter().filter(|failure| !is_want_of_the_host(failure.errno)) {
        let evidence = describe(failure, 1);
        record.notice(Finding::new(FindingId::IoError, evidence).about("surface"));
    }
    let measured = PhaseResult { recorder, cpu_cost: worker.cpu_cost, engine: worker.engine };
    let mut kept = counters.end(session, measured, cell, round);
    // Of a request that failed nobody knows how much was moved.
    kept.asked = failures.is_empty().then_some((asked_bytes as f64, 0.0));
    if cell == "access" {
        let facts = session.environment(record.test());
        if let Some(finding) = validity::short_stroke(cell, &facts) {
            record.notice(finding.about("surface.access"));
        }
        let latencies = &kept.measured.recorder.latencies;
        let ms = |ns: f64| ns / 1e6;
        kept.extra.push(("access_mean_ms", ms(latencies.mean())));
        kept.extra.push(("access_min_ms", ms(latencies.min() as f64)));
        kept.extra.push(("access_max_ms", ms(latencies.max() as f64)));
    } else {
        kept.own_metrics = true;
    }
    let end = session.add_round(kept, record);
    Ok((within_part(timed, start), end))
}

/// Where the part that is looked at begins on the target.
fn part_start(session: &Session<'_>) -> u64 {
    session.part_start_bytes(session.device())
}

/// Places of the part as such of the target.
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

/// Access times by place, and by distance from the access before.
#[derive(Default)]
struct AccessScatter {
    places: Vec<f64>,
    place_ms: Vec<f64>,
    distance: Vec<f64>,
    ms: Vec<f64>,
}

impl AccessScatter {
    fn add(&mut self, timed: &[TimedRegion], size: u64) {
        for region in timed {
            if let Some(ns) = region.ns {
                self.places.push(region.offset as f64);
                self.place_ms.push(ns as f64 / 1e6);
            }
        }
        for pair in timed.windows(2) {
            if let Some(ns) = pair[1].ns {
                self.distance.push(pair[0].offset.abs_diff(pair[1].offset) as f64 / size as f64);
                self.ms.push(ns as f64 / 1e6);
            }
        }
    }

    fn report(self, record: &mut TestRecord) {
        if !self.ms.is_empty() {
            record.curve("access.lat_ms", ("share", "ms"), self.distance, self.ms);
            let units = ("bytes", "ms");
            record.curve("access.position_lat_ms", units, self.places, self.place_ms);
        }
    }
}

#[cfg(test)]
mod tests;
