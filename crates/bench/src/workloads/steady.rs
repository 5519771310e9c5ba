//! `steady`: what is left of the rate after hours: purge, preconditioning, rounds until the drive is steady (SNIA PTS);
//! or PCMark 8's sequence of degrading, steady state and recovery.

mod computed;
mod consistency;
mod criterion;
mod preparation;
mod random_writes;
mod resumable;
mod round_log;
mod rounds;

use super::apps::passes::TracePasses;
use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::loops::engine_trial;
use crate::plan::option_checks::{REQUEST_MAX, check_once, check_request, check_time, ensure};
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::plan::round_volume::{self, RoundLength};
use crate::session::Session;
use crate::workload::{Continuation, Workload};
use consistency::{Consistency, steps};
use drivescope_model::cell::{Cell, Order};
use drivescope_model::options::{SteadyOptions, SteadySequence, Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use drivescope_stats::trend::STEADY_WINDOW;
use preparation::Prepared;
use resumable::Resumable;
use rounds::SteadyRounds;

/// A target must hold this many blocks of a cell.
const BLOCKS_MIN: u64 = 16;
/// Rounds at most: a day of minutes, and as many again.
const ROUNDS_MAX: u32 = 3_000;
/// Rounds of cells at most: this many numbers distinguish the data of phases.
const PHASES_MAX: usize = 60_000;
/// Passes at most, and multiples of the target that rounds may write.
const PASSES_MAX: u32 = 100;
const VOLUME_MAX: f64 = 1_000.0;

pub struct SteadyWorkload;

impl Workload for SteadyWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Steady
    }

    fn question(&self) -> &'static str {
        "what remains after hours: rounds until the rate is steady, and recovery"
    }

    fn access(&self) -> &'static str {
        "in a directory: overwrites a file of its own again and again; not on a file; on a device: everything on it is \
         lost (--destroy SERIAL)"
    }

    fn how_to_shorten(&self, suite: &Suite) -> String {
        match suite.steady.sequence {
            SteadySequence::Rounds => {
                "use a smaller --size, a shorter --time or fewer --rounds".to_string()
            }
            SteadySequence::Consistency => "use a smaller --size or a shorter --time".to_string(),
        }
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let options = &suite.steady;
        check_time(options.time)?;
        check_request(options.pass_chunk, "steady.pass_chunk")?;
        let in_flight = options.pass_chunk.0 * u64::from(options.pass_depth);
        ensure(options.pass_depth > 0 && in_flight <= REQUEST_MAX, || {
            "steady.pass_chunk × steady.pass_depth must be above 0 and at most 1 GiB".to_string()
        })?;
        ensure(options.passes <= PASSES_MAX, || {
            format!("steady.passes must be at most {PASSES_MAX}")
        })?;
        match options.sequence {
            SteadySequence::Rounds => check_rounds(options),
            SteadySequence::Consistency => Ok(()),
        }
    }

    fn apply(&self, overrides: &Overrides, suite: &mut Suite) -> Result<(), String> {
        suite.steady.time = overrides.time.unwrap_or(suite.steady.time);
        // Beside other tests, few rounds are meant for those.
        let is_alone = suite.tests == [TestKind::Steady];
        let rounds =
            overrides.rounds.filter(|&rounds| is_alone || rounds as usize >= STEADY_WINDOW);
        suite.steady.rounds_max = rounds.unwrap_or(suite.steady.rounds_max);
        Ok(())
    }

    fn timed_phases(&self, suite: &Suite) -> usize {
        let options = &suite.steady;
        let phases = match options.sequence {
            SteadySequence::Rounds => options.all_cells().len() * options.rounds_max as usize,
            SteadySequence::Consistency => steps(options.time).len(),
        };
        phases.div_ceil(suite.rounds.max(1) as usize)
    }

    fn borrows_options_of(&self) -> Option<TestKind> {
        Some(TestKind::Apps)
    }

    fn continuation(&self) -> Option<Continuation> {
        Some(Continuation {
            on: TargetKind::Block,
            reads_back: false,
            // The rounds of the interrupted run say where it continues.
            continue_at: |_, _| {},
            begins_anew: |_| true,
        })
    }

    fn counts_both_directions(&self) -> bool {
        true
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let options = &context.suite.steady;
        if let Some(reason) = context.write_refusal(WriteLevel::Destroy) {
            return context.skipped(self.kind(), reason);
        }
        let unit = u64::from(context.target.io_align_bytes.max(1));
        if !options.pass_chunk.0.is_multiple_of(unit) {
            let reason = format!(
                "direct I/O here needs multiples of {unit} bytes; use --set steady.pass_chunk={}",
                Bytes(options.pass_chunk.0.next_multiple_of(unit)).short()
            );
            return context.skipped(self.kind(), reason);
        }
        let mut test = context.planned(self.kind());
        if context.target.kind != TargetKind::Directory {
            test.writes = WriteLevel::Destroy;
        }
        let outcome = match options.sequence {
            SteadySequence::Rounds => plan_rounds(context, &mut test),
            SteadySequence::Consistency => plan_consistency(context, &mut test),
        };
        if let Err(reason) = outcome {
            return context.skipped(self.kind(), reason);
        }
        let passes = context.span_bytes.saturating_mul(options.passes.into());
        test.cost = test.cost
            + Cost {
                seconds: passes as f64 / (context.sequential_write_mb_s(passes) * 1e6),
                read_bytes: 0,
                written_bytes: passes,
                computed_s: computed::passes_s(context, passes),
            };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        // The points of the window are its rounds, however many the suite has.
        record.needs_no_rounds();
        record.set_many_rounds();
        session.pause(session.plan.suite.pause)?;
        let (span, whole) = (session.span_bytes(session.device()), session.device().size_bytes());
        if session.target.info().kind == TargetKind::Directory {
            let size = Bytes(span).binary();
            record.remark(format!("a file of {size} only: the drive itself has more to change"));
        } else if span < whole {
            let (part, whole) = (Bytes(span), Bytes(whole));
            record.remark(format!(
                "only the first {part} of {whole} are written: more spare than the drive has"
            ));
        }
        let mut prepared = Prepared::by(session.earlier());
        preparation::purge(session, record, prepared)?;
        preparation::precondition(session, record, &mut prepared)?;
        match session.plan.suite.steady.sequence {
            SteadySequence::Consistency => {
                Consistency::new(session, prepared)?.run(session, record)
            }
            SteadySequence::Rounds => {
                let cells = fitting_cells(session, record)?;
                SteadyRounds::new(session, cells, prepared).run(session, record)
            }
        }
    }
}

fn check_rounds(options: &SteadyOptions) -> Result<(), String> {
    let cells = options.all_cells();
    check_once(&cells, "steady names the cell")?;
    if let Some(cell) = cells.iter().find(|cell| cell.mix.is_synced()) {
        return Err(format!("steady cannot have {cell}: flushed writes are cells of transfer"));
    }
    if let Some(cell) = cells.iter().find(|cell| !cell.shape.is_plain()) {
        return Err(format!(
            "steady cannot have {cell}: sizes by share and pauses are for transfer"
        ));
    }
    if let Some(cell) = options.tracking.iter().find(|cell| !cells.contains(cell)) {
        return Err(format!("steady.tracking: {cell} is not among the cells"));
    }
    let least = STEADY_WINDOW as u32;
    ensure((least..=ROUNDS_MAX).contains(&options.rounds_max), || {
        format!(
            "steady needs {least} to {ROUNDS_MAX} rounds: the rule compares {least} (steady.rounds_max, --rounds)"
        )
    })?;
    let phases = cells.len() * options.rounds_max as usize;
    ensure(phases <= PHASES_MAX, || {
        format!("steady: cells × rounds_max must be at most {PHASES_MAX}")
    })?;
    let multiples = [options.volume_max, options.window_volume];
    ensure(multiples.iter().all(|it| (0.0..=VOLUME_MAX).contains(it)), || {
        format!("steady.volume_max and steady.window_volume must be between 0 and {VOLUME_MAX}")
    })?;
    // A drive is steady at the rate of its empty cache until that is full.
    let writes = cells.iter().any(|cell| cell.mix.writes());
    ensure(options.passes > 0 || writes || cells.is_empty(), || {
        "steady needs a cell that writes, or steady.passes of at least 1: the drive must have been written once"
            .to_string()
    })
}

/// Cells that can run here, and why the others cannot.
fn sorted_cells(options: &SteadyOptions, size: u64, align_bytes: u64) -> (Vec<Cell>, Vec<String>) {
    let (mut fitting, mut omitted) = (Vec::new(), Vec::new());
    for cell in options.all_cells() {
        let block = cell.shape.block.0;
        if size < block * BLOCKS_MIN {
            omitted.push(format!("{cell}: needs {} or more", Bytes(block * BLOCKS_MIN).binary()));
        } else if !block.is_multiple_of(align_bytes) {
            omitted.push(format!("{cell}: direct I/O here needs multiples of {align_bytes} bytes"));
        } else {
            fitting.push(cell);
        }
    }
    (fitting, omitted)
}

/// What can run of the cells that decide when the rounds end. Errors: nothing, or none of those.
fn usable(options: &SteadyOptions, cells: &[Cell], omitted: &[String]) -> Result<(), String> {
    if cells.is_empty() && omitted.is_empty() {
        return Err("has no cells: add some with --set steady.cells or steady.shapes".to_string());
    }
    let is_any_tracked = cells.iter().any(|cell| options.is_tracked(cell));
    ensure(is_any_tracked, || format!("no tracked cell can run: {}", omitted.join("; ")))
}

fn fitting_cells(session: &Session<'_>, record: &mut TestRecord) -> Result<Vec<Cell>, BenchError> {
    let (options, device) = (&session.plan.suite.steady, session.device());
    let align = u64::from(device.align_bytes());
    let (cells, omitted) = sorted_cells(options, session.span_bytes(device), align);
    usable(options, &cells, &omitted).map_err(BenchError::Unsuitable)?;
    // What the plan has said already is added to the reason from there.
    let is_planned = |line: &String| session.plan.tests.iter().any(|it| it.omitted.contains(line));
    omitted.into_iter().filter(|line| !is_planned(line)).for_each(|line| record.remark(line));
    Ok(cells)
}

fn plan_rounds(context: &PlanContext<'_>, test: &mut PlannedTest) -> Result<(), String> {
    let options = &context.suite.steady;
    let unit = u64::from(context.target.io_align_bytes.max(1));
    let (cells, omitted) = sorted_cells(options, context.span_bytes, unit);
    usable(options, &cells, &omitted)?;
    test.omitted = omitted;
    test.at_most = Some(format!(
        "ends after the first {STEADY_WINDOW} of {} rounds that are steady",
        options.rounds_max
    ));
    let (mut round, mut trials_s) = (Cost::default(), 0.0);
    for cell in &cells {
        round = round + cell_cost(cell, context, test);
        trials_s += context.trial_s(cell);
    }
    let rounds = f64::from(options.rounds_max);
    let mut written_bytes = round.written_bytes.saturating_mul(options.rounds_max.into());
    if options.volume_max > 0.0 {
        let most = (options.volume_max * context.span_bytes as f64) as u64;
        written_bytes = written_bytes.min(most.saturating_add(round.written_bytes));
    }
    test.cost = Cost {
        seconds: round.seconds * rounds + trials_s,
        read_bytes: round.read_bytes.saturating_mul(options.rounds_max.into()),
        written_bytes,
        computed_s: round.computed_s * computed::rounds_expected(options),
    };
    Ok(())
}

fn cell_cost(cell: &Cell, context: &PlanContext<'_>, test: &mut PlannedTest) -> Cost {
    let options = &context.suite.steady;
    let (shape, block) = (cell.shape, cell.shape.block.0);
    let in_flight = shape.depth * shape.threads;
    let rate = context.typical.rate(shape.order == Order::Rnd, block, in_flight);
    let requests = rate * options.time.0 / block as f64;
    let busy = options.time.0 * computed::timed_round(context, test, cell, requests);
    let bytes = rate * busy;
    let reads = f64::from(cell.mix.read_percent()) / 100.0;
    let written_bytes = match context.fastest.filter(|_| cell.mix.writes()) {
        Some(fastest) => {
            let length = RoundLength { time: options.time, write_once: false };
            let round = round_volume::round_bytes(cell, length, fastest, context.span_bytes);
            round.saturating_add(engine_trial::bytes_max(shape, cell.mix))
        }
        None => (bytes * (1.0 - reads)) as u64,
    };
    Cost {
        seconds: busy + context.suite.pause.0,
        read_bytes: (bytes * reads) as u64,
        written_bytes,
        computed_s: computed::round_s(context, cell, bytes / block as f64),
    }
}

fn plan_consistency(context: &PlanContext<'_>, test: &mut PlannedTest) -> Result<(), String> {
    let passes = TracePasses::choose(context.suite, context.span_bytes)?;
    let pass = passes.cost(context);
    let steps = steps(context.suite.steady.time);
    let count = steps.len() as u64;
    test.omitted = passes.refused().to_vec();
    let mut all = Cost {
        seconds: pass.seconds * count as f64,
        read_bytes: pass.read_bytes.saturating_mul(count),
        written_bytes: pass.written_bytes.saturating_mul(count),
        computed_s: pass.computed_s * count as f64,
    };
    for step in steps {
        let mb_s = context.fastest.map_or(context.typical.mb_s, |fastest| fastest.mb_s);
        let requests = context.typical.mb_s * 1e6 * step.writes.0 / preparation::PAGE as f64;
        let busy = step.writes.0 * context.timed_round(test, requests);
        let bytes = (mb_s * 1e6 * busy) as u64;
        all = all
            + Cost {
                seconds: busy + step.idle.0,
                read_bytes: 0,
                written_bytes: bytes,
                computed_s: computed::random_s(context, bytes as f64, random_writes::MEAN_BYTES),
            };
    }
    test.cost = all;
    Ok(())
}

#[cfg(test)]
mod tests;
