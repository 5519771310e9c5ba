//! `latency`: how long does one small request take; how does that change with the span used and with
//! load.

use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::loops::phase::LoopMode;
use crate::plan::option_checks::{
    check_once, check_percent, check_request, check_time, ensure, repeated,
};
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::{Workload, shorten_rounds};
use crate::workloads::shared::buffered::evict;
use drivescope_model::cell::{Mix, Order, Shape};
use drivescope_model::options::{Arrivals, LatencyOptions, Rate, Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest};
use drivescope_model::units::Bytes;
use std::ops::Range;

/// A span with fewer blocks than this is one cache line of the drive, not a span.
const BLOCKS_MIN: u64 = 16;
/// Most spans, and most rates.
const SPANS_MAX: usize = 100;
/// Fastest open loop: beyond it, one thread's clock no longer separates requests.
const IOPS_MAX: f64 = 10_000_000.0;
/// Fastest open loop, against what the drive did one by one.
const PERCENT_MAX: f64 = 10_000.0;
/// An open loop below this rate would not see one request in a round.
const RATE_MIN: f64 = 1.0;
/// A request alone on a simulated SSD is computed this many times faster than among many (`cargo xtask suites`).
const ALONE_GAIN: f64 = 2.5;

pub struct LatencyWorkload;

impl Workload for LatencyWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Latency
    }

    fn question(&self) -> &'static str {
        "how long does one small request take, by span and by load"
    }

    fn access(&self) -> &'static str {
        "in a directory: reads a file of its own; on a file or a device: only reads"
    }

    fn how_to_shorten(&self, suite: &Suite) -> String {
        shorten_rounds(suite.rounds, suite.latency.time)
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let options = &suite.latency;
        check_time(options.time)?;
        check_request(options.block, "latency.block")?;
        check_spans(&options.spans_pct)?;
        check_rates(&options.rates)
    }

    fn apply(&self, overrides: &Overrides, suite: &mut Suite) -> Result<(), String> {
        suite.latency.time = overrides.time.unwrap_or(suite.latency.time);
        Ok(())
    }

    fn timed_phases(&self, suite: &Suite) -> usize {
        suite.latency.spans_pct.len() + suite.latency.rates.len()
    }

    fn reads_existing_data(&self) -> bool {
        true
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let options = &context.suite.latency;
        let block = options.block.0;
        if options.spans_pct.is_empty() && !has_own_rate(options) {
            let reason = "has no spans and no rates in requests per second";
            return context.skipped(self.kind(), reason);
        }
        if context.span_bytes < block * BLOCKS_MIN {
            let reason = format!("needs {} or more", Bytes(block * BLOCKS_MIN).binary());
            return context.skipped(self.kind(), reason);
        }
        let mut test = context.planned(self.kind());
        let rounds = f64::from(context.suite.rounds);
        let phases = self.timed_phases(context.suite) as f64;
        let rate = context.typical.rate(true, block, 1);
        let busy = options.time.0 + options.ramp.0;
        let share = context.timed_round(&mut test, rate * busy / block as f64);
        let busy = busy * share * rounds * phases;
        let bytes = rate * busy;
        test.cost = Cost {
            seconds: busy + context.suite.pause.0 * rounds * phases,
            read_bytes: bytes as u64,
            written_bytes: 0,
            computed_s: context.computed_s(bytes / block as f64 / ALONE_GAIN),
        };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        let suite = &session.plan.suite;
        let options = &suite.latency;
        let whole = session.span(session.device());
        let align = u64::from(session.device().align_bytes());
        if !options.block.0.is_multiple_of(align) {
            let why = format!(
                "direct I/O here needs multiples of {align} bytes, but latency.block is {}; use --set \
                 latency.block={}",
                options.block.0,
                options.block.0.next_multiple_of(align)
            );
            return Err(BenchError::Unsuitable(why));
        }
        let mut spans = Vec::new();
        for &percent in &options.spans_pct {
            let span = part(&whole, percent, options.block.0);
            if span.end - span.start >= options.block.0 * BLOCKS_MIN {
                spans.push((span_cell(percent), span));
            } else {
                record.remark(format!("{}: too few blocks", span_cell(percent)));
            }
        }
        if spans.is_empty() {
            if !has_own_rate(options) {
                return Err(BenchError::Unsuitable(record.remarks().join("; ")));
            }
            for rate in options.rates.iter().filter(|rate| matches!(rate, Rate::Share { .. })) {
                let cell = rate_cell(options.arrivals, *rate);
                record.remark(format!("{cell}: a percentage needs a span to refer to"));
            }
        }
        for round in 1..=suite.rounds {
            if !session.has_time_for(round, record) {
                break;
            }
            for (cell, span) in &spans {
                session.pause(suite.pause)?;
                measure(session, record, cell, round, span.clone(), LoopMode::Closed)?;
            }
            for &rate in &options.rates {
                let Some(iops) = requests_per_second(rate, record, spans.first()) else { continue };
                session.pause(suite.pause)?;
                let cell = rate_cell(options.arrivals, rate);
                let mode = LoopMode::Open { arrivals: options.arrivals, rate: iops };
                measure(session, record, &cell, round, whole.clone(), mode)?;
            }
        }
        Ok(())
    }
}

fn check_spans(spans_pct: &[f64]) -> Result<(), String> {
    ensure(spans_pct.len() <= SPANS_MAX, too_many)?;
    check_percent(spans_pct, "latency.spans_pct")?;
    check_once(spans_pct, "latency.spans_pct names")
}

fn check_rates(rates: &[Rate]) -> Result<(), String> {
    ensure(rates.len() <= SPANS_MAX, too_many)?;
    match repeated(rates) {
        Some(Rate::Iops(iops)) => return Err(format!("latency.rates names {iops} twice")),
        Some(Rate::Share { percent }) => {
            return Err(format!("latency.rates names {percent} percent twice"));
        }
        None => {}
    }
    let good = |rate: &Rate| match *rate {
        Rate::Iops(iops) => iops > 0.0 && iops <= IOPS_MAX,
        Rate::Share { percent } => percent > 0.0 && percent <= PERCENT_MAX,
    };
    ensure(rates.iter().all(good), || {
        let range = format!("at most {IOPS_MAX} per second or {PERCENT_MAX} percent");
        format!("latency.rates must be above 0 and {range}")
    })
}

fn too_many() -> String {
    format!("latency takes at most {SPANS_MAX} spans and as many rates")
}

/// Whether a rate says by itself how many requests a second that is.
fn has_own_rate(options: &LatencyOptions) -> bool {
    options.rates.iter().any(|rate| matches!(rate, Rate::Iops(_)))
}

/// `100` becomes `span100`, `12.5` becomes `span12_5`.
fn span_cell(percent: f64) -> String {
    format!("span{percent}").replace('.', "_")
}

fn rate_cell(arrivals: Arrivals, rate: Rate) -> String {
    let arrivals = match arrivals {
        Arrivals::Fixed => "fixed",
        Arrivals::Poisson => "poisson",
    };
    let rate = match rate {
        Rate::Iops(iops) => format!("{iops}"),
        Rate::Share { percent } => format!("{percent}pct"),
    };
    format!("{arrivals}_{rate}").replace('.', "_")
}

fn part(span: &Range<u64>, percent: f64, block: u64) -> Range<u64> {
    let blocks = ((span.end - span.start) as f64 * percent / 100.0) as u64 / block;
    span.start..span.start + blocks * block
}

/// The rate of an open loop; a share refers to the median of the first span's rounds so far.
fn requests_per_second(
    rate: Rate,
    record: &TestRecord,
    first_span: Option<&(String, Range<u64>)>,
) -> Option<f64> {
    match rate {
        Rate::Iops(iops) => Some(iops.max(RATE_MIN)),
        Rate::Share { percent } => {
            let (cell, _) = first_span?;
            Some((record.median_iops(cell)? * percent / 100.0).max(RATE_MIN))
        }
    }
}

fn measure(
    session: &Session<'_>,
    record: &mut TestRecord,
    cell: &str,
    round: u32,
    span: Range<u64>,
    mode: LoopMode,
) -> Result<(), BenchError> {
    let options: &LatencyOptions = &session.plan.suite.latency;
    let shape = Shape::plain(Order::Rnd, options.block, 1);
    let mut load = session.load(shape, Mix::READ, span, cell, round);
    (load.time, load.ramp, load.mode) = (options.time, options.ramp, mode);
    load.studies_span = cell != span_cell(100.0);
    let device = session.device();
    if !device.is_direct() {
        evict(device, cell, record)?;
    }
    session.measure(&load, cell, round, record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_named_without_dots() {
        assert_eq!(span_cell(100.0), "span100");
        assert_eq!(span_cell(12.5), "span12_5");
        assert_eq!(rate_cell(Arrivals::Poisson, Rate::Share { percent: 50.0 }), "poisson_50pct");
        assert_eq!(rate_cell(Arrivals::Fixed, Rate::Iops(1000.0)), "fixed_1000");
    }

    #[test]
    fn parts_are_whole_blocks() {
        assert_eq!(part(&(0..1_000_000), 12.5, 4096), 0..30 * 4096);
        assert_eq!(part(&(0..4096), 1.0, 4096), 0..0);
    }
}
