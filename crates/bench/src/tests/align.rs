//! `align`: how large is a physical sector, where does the first one begin, does the drive say so, are its
//! partitions aligned, and what does a misaligned write cost.

mod access;
mod conclusion;
mod fast;
mod phybs;
mod places;
mod site;
mod split;
mod verdict;

use super::{Context, no_writes, planned, skipped};
use crate::error::BenchError;
use crate::results::TestRecord;
use crate::session::Session;
use drivescope_model::options::{AlignMethod, AlignOptions, TestKind};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use site::Site;

/// `fast` needs room for its places to lie apart.
const SPAN_MIN: u64 = 8 << 20;
/// phybs touches four times the bytes of a pass.
const PHYBS_STRIDE: u64 = 4;
/// Unsynced writes of phybs by synced ones, per second: what a write cache gives. A rough guess, as the
/// passes that matter take a hundred times longer.
const CACHE_GAIN: f64 = 5.0;

pub(super) fn plan(context: &Context<'_>) -> PlannedTest {
    let options = &context.suite.align;
    let kind = context.target.kind;
    let writes = options.method == AlignMethod::Fast || options.mix.writes();
    if let Some(reason) = no_writes(context, WriteLevel::SameBytes).filter(|_| writes) {
        return skipped(TestKind::Align, context, reason);
    }
    let unit = u64::from(context.target.io_align_bytes);
    if options.method == AlignMethod::Phybs && options.max.0 < unit {
        let reason = format!("moves multiples of {unit} bytes; use --set align.max={unit} or more");
        return skipped(TestKind::Align, context, reason);
    }
    let needed = match options.method {
        AlignMethod::Fast => SPAN_MIN,
        AlignMethod::Phybs => options.total.0 * PHYBS_STRIDE,
    };
    if context.span_bytes < needed {
        let reason = format!("needs {} or more", Bytes(needed).binary());
        return skipped(TestKind::Align, context, reason);
    }
    let mut test = planned(TestKind::Align, context);
    if writes && kind == TargetKind::Block {
        test.writes = WriteLevel::SameBytes;
    }
    test.cost = match options.method {
        AlignMethod::Fast => fast_cost(context),
        AlignMethod::Phybs => phybs_cost(context),
    };
    test
}

fn fast_cost(context: &Context<'_>) -> Cost {
    let (writes, bytes) = fast::most();
    let seconds = (writes as f64 / context.assumed.iops).min(context.suite.align.time.0);
    Cost { seconds, read_bytes: 0, written_bytes: bytes }
}

fn phybs_cost(context: &Context<'_>) -> Cost {
    let options: &AlignOptions = &context.suite.align;
    let passes = phybs::count(options, u64::from(context.target.io_align_bytes.max(512)));
    let bytes = options.total.0 * passes as u64 * u64::from(context.suite.rounds);
    let requests = bytes as f64 / options.min.0 as f64;
    let seconds = requests / (context.assumed.iops * CACHE_GAIN);
    let (read_bytes, written_bytes) = if options.mix.writes() { (0, bytes) } else { (bytes, 0) };
    Cost { seconds, read_bytes, written_bytes }
}

pub(super) fn run(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    session.prepare_device()?;
    let device = session.open_device();
    if !device.is_direct() {
        let why = "needs direct I/O: the page cache aligns every write itself";
        return Err(BenchError::Unsuitable(why.to_string()));
    }
    // What earlier tests left in the drive's cache is not to be written between our writes.
    device.sync()?;
    let mut site = Site::of(session);
    let seen = match session.plan.suite.align.method {
        AlignMethod::Fast => fast::run(session, record, &mut site)?,
        AlignMethod::Phybs => phybs::run(session, record, &mut site)?,
    };
    conclusion::report(session, record, &seen, site.step);
    Ok(())
}

#[cfg(test)]
#[path = "align/session_tests.rs"]
mod tests;
