//! Rounds of cells until those that are tracked are steady, as the SNIA PTS has them.

use super::computed::thread_requests;
use super::criterion::{Window, counts_from};
use super::preparation::Prepared;
use super::resumable::Resumable;
use super::round_log::{RoundLog, RoundSum};
use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::loops::engine_trial;
use crate::plan::expected_speed::ExpectedSpeed;
use crate::plan::round_volume::{self, RoundLength};
use crate::session::Session;
use crate::workloads::shared::buffered::evict;
use drivescope_model::cell::{Cell, Order};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_model::options::{SteadyOptions, TrackedFigure};
use drivescope_model::units::Bytes;
use drivescope_stats::trend::{STEADY_WINDOW, SteadyState};

/// A cell that keeps less than this share of its first rate is named.
const KEPT_MIN: f64 = 0.5;

/// Shortened rounds of random writes to flash show how it cleans up once they have written this share of it, about
/// what it has in reserve: before, each is as fast as the first.
const RESERVE_SHARE: f64 = 0.1;

#[derive(Debug)]
pub(super) struct SteadyRounds {
    cells: Vec<Cell>,
    tracked: Vec<usize>,
    options: SteadyOptions,
    log: RoundLog,
    prepared: Prepared,
    size: u64,
    /// Bytes that rounds must have written until it is known whether the drive is steady.
    needed_bytes: u64,
}

impl SteadyRounds {
    /// With the rounds of an interrupted run, if it continues one.
    pub fn new(session: &Session<'_>, cells: Vec<Cell>, prepared: Prepared) -> Self {
        let options = session.plan.suite.steady.clone();
        let span = session.span(session.device());
        let names = cells.iter().map(Cell::to_string).collect();
        let tracked = (0..cells.len()).filter(|index| options.is_tracked(&cells[*index])).collect();
        let log = RoundLog::new(names, session.earlier());
        let size = span.end - span.start;
        let is_flash = session.target.drive().is_some_and(|drive| !drive.rotational_hint);
        let scatters = cells.iter().any(|cell| cell.shape.order == Order::Rnd && cell.mix.writes());
        let is_bounded = session.round_requests().is_some() && is_flash && scatters;
        let needed_bytes = if is_bounded { (size as f64 * RESERVE_SHARE) as u64 } else { 0 };
        Self { cells, tracked, options, log, prepared, size, needed_bytes }
    }

    /// Whether enough was written to know whether the drive is steady.
    fn is_enough(&self) -> bool {
        self.log.written_bytes() >= self.needed_bytes
    }

    /// Whether it will be, at this pace.
    fn will_be_enough(&self) -> bool {
        let all = self.log.written_bytes() as f64 / self.log.len() as f64;
        all * f64::from(self.options.rounds_max) >= self.needed_bytes as f64
    }

    fn one(
        &self,
        session: &mut Session<'_>,
        index: usize,
        number: u32,
        record: &mut TestRecord,
    ) -> Result<(), BenchError> {
        let (cell, span) = (&self.cells[index], session.span(session.device()));
        let name = cell.to_string();
        let mut load = session.load(cell.shape, cell.mix, span, &name, number);
        load.time = self.options.time;
        if cell.mix.writes() {
            load.pass = session.next_pass();
            if let Some(fastest) = ExpectedSpeed::upper_bound(session.target) {
                let length = RoundLength { time: load.time, write_once: false };
                load.ops_max = round_volume::round_requests(cell, length, fastest, self.size);
                let bytes = round_volume::round_bytes(cell, length, fastest, self.size);
                let trial = engine_trial::bytes_max(cell.shape, cell.mix);
                session.check_room_to_overwrite(bytes.saturating_add(trial))?;
            }
        }
        if session.simulated().is_some() {
            let is_disk = session.target.drive().is_none_or(|drive| drive.rotational_hint);
            load.ops_max = thread_requests(load.ops_max, cell, is_disk);
        }
        if !session.device().is_direct() {
            evict(session.device(), &name, record)?;
        }
        session.measure_of(&load, &name, (number, self.options.rounds_max), record)?;
        if cell.mix.writes() { session.free_replaced_blocks() } else { Ok(()) }
    }

    /// The last rounds that may count: after the first pass, and after the rest of an interrupted run.
    fn window(&self) -> Window {
        let written = self.log.written();
        let from = counts_from(self.prepared.bytes, &written, self.size).max(self.log.earlier);
        let figures: Vec<Vec<f64>> =
            self.tracked.iter().map(|&index| self.log.figures(index, self.figure())).collect();
        let per_window = self.options.window_volume * self.size as f64;
        Window::last(&figures, &written, from, (per_window / STEADY_WINDOW as f64) as u64)
    }

    fn figure(&self) -> fn(&RoundSum) -> &[f64] {
        match self.options.figure {
            TrackedFigure::Rate => |round| &round.rates,
            TrackedFigure::MeanLatency => |round| &round.latencies_us,
        }
    }

    fn notice_no_window(&self, record: &mut TestRecord) {
        let rounds = self.log.len();
        if rounds == 0 {
            return;
        }
        let written = Bytes(self.written_bytes());
        let evidence = format!(
            "{rounds} rounds, {written} written: rounds count when the whole target ({}) was written once",
            Bytes(self.size)
        );
        record.notice(Finding::new(FindingId::NotSteady, evidence).about(record.test().name()));
    }

    /// What the first rate was to the rate of the window.
    fn notice_kept(&self, record: &mut TestRecord, index: usize, window: &Window, is_steady: bool) {
        let cell = self.cells[index].to_string();
        let rates = self.log.figures(index, |round| &round.rates);
        let (first, last) = (rates[0], &rates[window.rounds.clone()]);
        let steady = last.iter().sum::<f64>() / last.len() as f64;
        if first <= 0.0 {
            return;
        }
        let kept = steady / first;
        record.metric(&format!("{cell}.kept_ratio"), vec![kept]);
        if is_steady && kept < KEPT_MIN {
            let evidence = format!(
                "{cell}: {} requests/s in the first round, {} when steady ({} %)",
                rounded(first),
                rounded(steady),
                rounded(kept * 100.0)
            );
            let about = format!("{}.{cell}", record.test());
            let finding = Finding::new(FindingId::SlowWhenSteady, evidence).about(about);
            record.notice(finding.weighing(1.0 - kept));
        }
    }
}

impl Resumable for SteadyRounds {
    fn phases_before(&self) -> u64 {
        (self.log.len() * self.cells.len()) as u64
    }

    fn measure(
        &mut self,
        session: &mut Session<'_>,
        record: &mut TestRecord,
    ) -> Result<(), BenchError> {
        let limit = (self.options.volume_max * self.size as f64) as u64;
        while self.log.len() < self.options.rounds_max as usize {
            let number = self.log.len() as u32 + 1;
            for index in 0..self.cells.len() {
                session.pause(session.plan.suite.pause)?;
                self.one(session, index, number, record)?;
                session.checkpoint(|| self.so_far(session, record));
            }
            self.log.add(record, number);
            let window = self.window();
            if window.is_steady(self.log.len()) && (self.is_enough() || !self.will_be_enough()) {
                return Ok(());
            }
            record.archive_all_but(window.rounds.start as u32 + 1..u32::MAX);
            session.checkpoint(|| self.so_far(session, record));
            if limit > 0 && self.log.written_bytes() >= limit {
                let written = Bytes(self.log.written_bytes());
                record.remark(format!("ended after {written} written (steady.volume_max)"));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Curves of all rounds; figures of those in the window, and what the rule says of them.
    fn report(&self, record: &mut TestRecord) {
        self.log.report(record);
        let window = self.window();
        record.archive_all_but(window.rounds.start as u32 + 1..window.rounds.end as u32 + 1);
        if window.rounds.is_empty() {
            // Nothing was whole, or all of it came before the target was written once.
            self.notice_no_window(record);
            return;
        }
        record.metric("window.first_round", vec![window.rounds.start as f64 + 1.0]);
        record.metric("window.last_round", vec![window.rounds.end as f64]);
        let is_level = window.is_steady(self.log.len());
        let is_steady = is_level && self.is_enough();
        let mut faults = Vec::new();
        for (state, &index) in window.states.iter().zip(&self.tracked) {
            let cell = self.cells[index].to_string();
            if let Some(state) = state {
                record.metric(&format!("{cell}.range_ratio"), vec![state.range_share]);
                record.metric(&format!("{cell}.drift_ratio"), vec![state.drift_share.abs()]);
                faults.extend(fault(&cell, state));
            }
            self.notice_kept(record, index, &window, is_steady);
        }
        if !is_steady {
            let rounds = self.log.len();
            let what = if is_level {
                let (written, needed) = (Bytes(self.log.written_bytes()), Bytes(self.needed_bytes));
                format!(
                    "{rounds} shortened rounds wrote {written}, too little to say: {needed} come before a drive must \
                     clean up"
                )
            } else if faults.is_empty() {
                let points = window.points;
                format!(
                    "{rounds} rounds with {points} of the {STEADY_WINDOW} points that the rule needs"
                )
            } else {
                format!("not after {rounds} rounds: {}", faults.join("; "))
            };
            record.notice(Finding::new(FindingId::NotSteady, what).about(record.test().name()));
        }
    }

    fn written_bytes(&self) -> u64 {
        self.prepared.bytes + self.log.written_bytes()
    }
}

/// In which way a cell breaks the rule.
fn fault(cell: &str, state: &SteadyState) -> Option<String> {
    (!state.reached).then(|| {
        let way = if state.drift_share < 0.0 { "fall" } else { "rise" };
        format!(
            "{cell}: the last points range over {} % of their mean (20 allowed) and {way} by {} % (10)",
            percent(state.range_share),
            percent(state.drift_share)
        )
    })
}

fn percent(share: f64) -> String {
    rounded(share.abs() * 100.0)
}
