//! `fill`: what happens as the drive fills: rate by position and by bytes written, zones, the end of a
//! fast cache, the time of a whole fill.

mod curve;
mod fill_run;
mod sample_check;
mod sampling;
mod thermal;

use crate::error::BenchError;
use crate::io::payload::Payload;
use crate::judging::test_record::TestRecord;
use crate::plan::option_checks::{REQUEST_MAX, SAMPLES_MAX, check_percent, check_request, ensure};
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::{Continuation, Workload};
use crate::workloads::shared::whole_drive::sample_read;
use crate::workloads::shared::whole_drive::timed_writes::WriteSettings;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::options::{FillMode, FillOptions, Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::{TargetInfo, TargetKind};
use drivescope_model::units::Bytes;
use fill_run::FillRun;
use sampling::{PLACES_MIN, Sampling};

const BURST_PART: u64 = 4;
/// The end of a device need not be a multiple of its direct I/O unit; whole pages are.
const PAGE: u64 = 4096;

pub struct FillWorkload;

impl Workload for FillWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Fill
    }

    fn question(&self) -> &'static str {
        "how does the write rate change as the drive fills"
    }

    fn access(&self) -> &'static str {
        "not in a directory or on a file; on a device: everything on it is lost (--destroy SERIAL)"
    }

    fn how_to_shorten(&self, _suite: &Suite) -> String {
        "use a smaller --size".to_string()
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let options = &suite.fill;
        check_request(options.chunk, "fill.chunk")?;
        let in_flight = options.chunk.0 * u64::from(options.depth);
        ensure(options.depth > 0 && in_flight <= REQUEST_MAX, || {
            "fill.chunk × fill.depth must be above 0 and at most 1 GiB".to_string()
        })?;
        ensure((PLACES_MIN..=SAMPLES_MAX).contains(&options.places), || {
            format!(
                "fill.places must be between {PLACES_MIN} and {SAMPLES_MAX}: fewer make no curve"
            )
        })?;
        check_percent(&[options.share_pct], "fill.share_pct")?;
        // In the other mode they would say nothing, and something else would be written.
        let is_sampled = options.mode == FillMode::Sampled;
        ensure(!is_sampled || options.from.0 == 0, || {
            "fill.from needs fill.mode=full: samples have no start position".to_string()
        })?;
        ensure(is_sampled || options.burst.is_none_or(|burst| burst.0 == 0), || {
            "fill.burst needs fill.mode=sampled: a full fill is one burst".to_string()
        })
    }

    fn continuation(&self) -> Option<Continuation> {
        Some(Continuation {
            on: TargetKind::Block,
            reads_back: false,
            continue_at: |point, suite| {
                (suite.fill.mode, suite.fill.from) = (FillMode::Full, Bytes(point.at_bytes));
            },
            begins_anew: |suite| suite.fill.mode == FillMode::Full && suite.fill.from.0 == 0,
        })
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        if let Some(reason) = context.overwrite_refusal() {
            return context.skipped(self.kind(), reason);
        }
        let options = &context.suite.fill;
        let (size, unit) = (context.span_bytes / PAGE * PAGE, context.target.io_align_bytes.max(1));
        if !options.chunk.0.is_multiple_of(unit.into()) {
            let better = Bytes(options.chunk.0.next_multiple_of(unit.into())).short();
            let reason = format!(
                "direct I/O here needs multiples of {unit} bytes; use --set fill.chunk={better}"
            );
            return context.skipped(self.kind(), reason);
        }
        let disk = disk_of(context.drive, context.target);
        let mut test = context.planned(self.kind());
        let written = match options.mode {
            FillMode::Full if options.from.0 >= size => {
                let reason = format!("fill.from is beyond the end, {size} bytes");
                return context.skipped(self.kind(), reason);
            }
            FillMode::Full => size - options.from.0,
            FillMode::Sampled => match sampling(context, size, disk) {
                Ok(sampling) => {
                    let burst = burst_bytes(options, size, disk.is_some());
                    test.at_most = (burst > 0).then(|| early_end(burst, size));
                    sampling.bytes() + burst
                }
                Err(reason) => return context.skipped(self.kind(), reason),
            },
        };
        let mut seconds = written as f64 / (context.sequential_write_mb_s(written) * 1e6);
        let mut read_bytes = 0;
        if options.mode == FillMode::Full {
            read_bytes = sample_read::PLACES * sample_read::PLACE;
            seconds += sample_read::PLACES as f64 / context.typical.iops;
        }
        test.writes = WriteLevel::Destroy;
        let computed_s = context.computed_stream_s(written as f64);
        test.cost = Cost { seconds, read_bytes, written_bytes: written, computed_s };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        let pass = session.next_pass();
        session.pause(session.plan.suite.pause)?;
        let options = &session.plan.suite.fill;
        let data = Payload::new(session.plan.seed, pass);
        let whole = session.device().size_bytes();
        let size = session.span_bytes(session.device()) / PAGE * PAGE;
        if size < whole / PAGE * PAGE {
            let (part, whole) = (Bytes(size), Bytes(whole));
            record.remark(format!(
                "fills only the first {part} of {whole}: rates and times are for that part"
            ));
        }
        let fill = FillRun {
            size,
            disk: disk_of(session.target.drive(), session.target.info()),
            has_zones: has_zones(session.target.drive(), session.target.info()),
            manner: WriteSettings { data, chunk: options.chunk.0, depth: options.depth },
            session,
        };
        match fill.session.plan.suite.fill.mode {
            FillMode::Full => fill.full(record),
            FillMode::Sampled => fill.sampled(record),
        }
    }
}

/// Why the plan of a burst is a bound.
fn early_end(burst: u64, size: u64) -> String {
    let (share, burst) = (burst as f64 * 100.0 / size as f64, Bytes(burst));
    format!(
        "starts with {burst} without a pause, {share:.0} % of the target; less if the rate drops for good before"
    )
}

/// How a target is sampled. Errors: why the samples would say nothing; completes "fill …".
fn sampling(context: &PlanContext<'_>, size: u64, disk: Option<u64>) -> Result<Sampling, String> {
    match context.drive.and_then(|drive| drive.zoned) {
        Some(zoned) => Err(format!(
            "cannot sample a shingled disk ({} zones): its cache absorbs the samples; use --set fill.mode=full",
            zoned.name()
        )),
        None => Sampling::new(&context.suite.fill, size, disk),
    }
}

/// Capacity of a disk, which is a drive that rotates or says so; 0 where the places of the target need not be
/// those of the disk: below a file, other devices or a virtual machine. `None` of all else.
fn disk_of(drive: Option<&Drive>, target: &TargetInfo) -> Option<u64> {
    let drive = drive.filter(|drive| drive.rotational_hint)?;
    let is_part = target.stack.iter().all(|name| name.starts_with(&drive.name));
    let is_itself = is_part && drive.kind != DriveKind::Virtual;
    Some(if is_itself { drive.capacity_bytes } else { 0 })
}

/// Whether positions on the target are positions on a disk with zones. A virtual machine's disk may be anything on
/// the host, and the file of a loop device may lie anywhere: steps of their rates are not zones.
fn has_zones(drive: Option<&Drive>, target: &TargetInfo) -> bool {
    let through_file = target.stack.iter().any(|name| name.starts_with("loop"));
    drive.filter(|drive| drive.rotational_hint).is_some_and(|drive| match drive.kind {
        DriveKind::Simulated => true,
        DriveKind::Virtual => false,
        _ => !through_file,
    })
}

/// Longest burst: as asked, or, where nothing rotates, a part of the target.
fn burst_bytes(options: &FillOptions, size: u64, rotates: bool) -> u64 {
    let usual = if rotates { 0 } else { size / BURST_PART };
    options.burst.map_or(usual, |asked| asked.0).min(size) / PAGE * PAGE
}

#[cfg(test)]
mod tests;
