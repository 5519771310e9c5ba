//! `align`: how large is a physical sector, where does the first one begin, does the drive say so, are its
//! partitions aligned, and what does a misaligned write cost.

mod alignment_report;
mod offset_groups;
mod offset_ladder;
mod phybs;
mod physical_sector;
mod synced_writes;
mod timed_accesses;
pub(super) mod write_area;

use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::plan::option_checks::ensure;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::Workload;
use drivescope_model::options::{AlignMethod, AlignOptions, Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use write_area::WriteArea;

/// `fast` needs room for its places to lie apart.
const SPAN_MIN: u64 = 8 << 20;
/// Largest block of a pass of phybs: beyond it, no unit of any drive is left to find.
const PASS_BLOCK_MAX: u64 = 16 << 20;
/// phybs touches four times the bytes of a pass.
const PHYBS_STRIDE: u64 = 4;
/// Unsynced writes of phybs by synced ones, per second: what a write cache gives. A rough guess, as the
/// passes that matter take a hundred times longer.
const CACHE_GAIN: f64 = 5.0;

pub struct AlignWorkload;

impl Workload for AlignWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Align
    }

    fn question(&self) -> &'static str {
        "how large are physical sectors, are partitions aligned, what does misalignment cost"
    }

    fn access(&self) -> &'static str {
        "in a directory: writes a file of its own; not on a file; on a device: writes back what is there (--write \
 same-bytes)"
    }

    fn how_to_shorten(&self, _suite: &Suite) -> String {
        "use a shorter align.time or a smaller align.total".to_string()
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        fn good(bytes: u64) -> bool {
            bytes.is_power_of_two() && (512..=PASS_BLOCK_MAX).contains(&bytes)
        }
        let options = &suite.align;
        let (min, max) = (options.min.0, options.max.0);
        ensure(good(min) && good(max) && min <= max, || {
            "align.min and align.max must be powers of two from 512 bytes to 16 MiB, and min at most max"
                .to_string()
        })?;
        ensure(options.total.0 >= max && options.total.0.is_multiple_of(max), || {
            "align.total must be a multiple of align.max".to_string()
        })?;
        ensure(options.time.0 >= 1.0, || "align.time must be at least 1 s".to_string())?;
        ensure(matches!(options.mix.read_percent(), 0 | 50 | 100), || {
            "align.mix must be read, write, or mix50, which reads each block and then writes it"
                .to_string()
        })
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let options = &context.suite.align;
        let kind = context.target.kind;
        let writes = options.method == AlignMethod::Fast || options.mix.writes();
        if let Some(reason) = context.write_refusal(WriteLevel::SameBytes).filter(|_| writes) {
            return context.skipped(self.kind(), reason);
        }
        let unit = u64::from(context.target.io_align_bytes);
        if options.method == AlignMethod::Phybs && options.max.0 < unit {
            let reason = format!(
                "direct I/O here needs multiples of {unit} bytes; use --set align.max={unit} or more"
            );
            return context.skipped(self.kind(), reason);
        }
        let needed = match options.method {
            AlignMethod::Fast => SPAN_MIN,
            AlignMethod::Phybs => options.total.0 * PHYBS_STRIDE,
        };
        if context.span_bytes < needed {
            let reason = format!("needs {} or more", Bytes(needed).binary());
            return context.skipped(self.kind(), reason);
        }
        let mut test = context.planned(self.kind());
        if writes && kind == TargetKind::Block {
            test.writes = WriteLevel::SameBytes;
        }
        test.cost = match options.method {
            AlignMethod::Fast => fast_cost(context),
            AlignMethod::Phybs => phybs_cost(context),
        };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        let device = session.device();
        if !device.is_direct() {
            let why = "needs direct I/O: the page cache aligns every write";
            return Err(BenchError::Unsuitable(why.to_string()));
        }
        // What earlier tests left in the drive's cache is not to be written between our writes.
        device.sync()?;
        let mut site = WriteArea::of(session);
        let seen = match session.plan.suite.align.method {
            AlignMethod::Fast => synced_writes::run(session, record, &mut site)?,
            AlignMethod::Phybs => phybs::run(session, record, &mut site)?,
        };
        alignment_report::report(session, record, &seen, site.step);
        Ok(())
    }
}

fn fast_cost(context: &PlanContext<'_>) -> Cost {
    let (writes, bytes) = synced_writes::most();
    let seconds = (writes as f64 / context.typical.iops).min(context.suite.align.time.0);
    let computed_s = context.computed_s(writes as f64);
    Cost { seconds, read_bytes: 0, written_bytes: bytes, computed_s }
}

fn phybs_cost(context: &PlanContext<'_>) -> Cost {
    let options: &AlignOptions = &context.suite.align;
    let sizes = phybs::block_sizes(options, u64::from(context.target.io_align_bytes.max(512)));
    let rounds = u64::from(context.suite.rounds);
    let bytes = options.total.0 * sizes.len() as u64 * rounds;
    let blocks = rounds * sizes.iter().map(|size| options.total.0 / size).sum::<u64>();
    let (reads, writes) = (options.mix.read_percent() > 0, options.mix.writes());
    let (read, written) = (u64::from(reads), u64::from(writes));
    let computed_s = context.computed_s((blocks * read) as f64)
        + context.computed_random_s((blocks * written) as f64);
    let seconds = (blocks * (read + written)) as f64 / (context.typical.iops * CACHE_GAIN);
    Cost { seconds, read_bytes: bytes * read, written_bytes: bytes * written, computed_s }
}

#[cfg(test)]
mod random_sectors;
#[cfg(test)]
mod tests;
