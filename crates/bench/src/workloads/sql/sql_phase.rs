//! A phase of a database: watched, counted, and kept with what the device did meanwhile.

use super::client_loop::{self, Bound, ClientTally, Statement};
use super::device_figures::{self, DeviceFigure};
use crate::error::BenchError;
use crate::io::clock;
use crate::io::cpu_usage::{CpuCost, CpuScope, CpuUsage};
use crate::io::recorder::Recorder;
use crate::judging::round::{Cache, Round, distinct};
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::phase::PhaseResult;
use crate::session::{PhaseCounters, Progress, Session};
use drivescope_model::document::Limiter;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_sql::{Canceller, Database, ServerCounters, SqlError};
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ActionTally {
    pub cell: String,
    pub bytes: u64,
    pub time_s: f64,
    pub flush_s: f64,
    pub figures: Vec<DeviceFigure>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PhaseName<'n> {
    pub cell: &'n str,
    pub round: u32,
    pub rounds: u32,
    pub cache: Cache,
}

pub(super) struct SqlPhases<'p, 's> {
    pub session: &'p Session<'s>,
    pub record: &'p mut TestRecord,
    pub canceller: &'p Canceller,
    pub actions: Vec<ActionTally>,
}

/// Runs `work` on a thread of its own, while this one reports progress, and cancels it if the run is to end.
pub(super) fn watched<T: Send>(
    session: &Session<'_>,
    control: &Control,
    canceller: &Canceller,
    work: impl FnOnce() -> T + Send,
) -> T {
    let mut progress = Progress::new(session, control);
    let waiter = std::thread::current();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let done = work();
            waiter.unpark();
            done
        });
        while !worker.is_finished() {
            progress.report();
            if session.stopped() {
                canceller.cancel();
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
        worker.join().expect("what a database does, does not panic")
    })
}

/// That the run is to end weighs more than what failed because of it.
pub(super) fn ended(session: &Session<'_>, error: SqlError) -> BenchError {
    match error {
        _ if session.stopped() => BenchError::Interrupted,
        SqlError::Interrupted => BenchError::Interrupted,
        other => BenchError::Sql(other),
    }
}

/// Processor time of this program and of the server.
fn spent_ns(database: &dyn Database) -> (u64, u64) {
    (CpuUsage::of(CpuScope::Process).cpu_ns, database.cpu_ns().unwrap_or(0))
}

impl SqlPhases<'_, '_> {
    pub fn begin(&self, name: PhaseName<'_>) -> Result<PhaseCounters, BenchError> {
        self.session.check_stop()?;
        self.session.phase_started(name.cell, name.round, name.rounds);
        Ok(PhaseCounters::begin(self.session))
    }

    /// One action on `bytes`, then `flush`; both are in its time.
    pub fn action(
        &mut self,
        name: PhaseName<'_>,
        bytes: u64,
        database: &mut dyn Database,
        work: impl FnOnce(&mut dyn Database, &Control) -> Result<(), SqlError> + Send,
        flush: impl FnOnce() -> Result<(), BenchError>,
    ) -> Result<(), BenchError> {
        let session = self.session;
        let counters = self.begin(name)?;
        let cpu = spent_ns(database);
        let control = Control::default();
        let held = &mut *database;
        let (outcome, start, worked) = watched(session, &control, self.canceller, || {
            let start = clock::now_ns();
            let outcome = work(held, &control);
            (outcome, start, clock::now_ns())
        });
        outcome.map_err(|error| ended(session, error))?;
        flush()?;
        let end = clock::now_ns();
        let spent = spent_ns(database);
        let own_ns = spent.0 - cpu.0;
        let all_ns = own_ns + spent.1.saturating_sub(cpu.1);
        self.keep_action(name, counters, bytes, (start, worked, end), (own_ns, all_ns))
    }

    /// Keeps an action: when it began, was done, and was flushed; processor time of this program, and of all.
    pub fn keep_action(
        &mut self,
        name: PhaseName<'_>,
        counters: PhaseCounters,
        bytes: u64,
        (start, worked, end): (u64, u64, u64),
        (own_ns, all_ns): (u64, u64),
    ) -> Result<(), BenchError> {
        let mut recorder = Recorder::of_any_length();
        recorder.start(start);
        recorder.complete(end, end - start, bytes);
        recorder.requests = 1;
        // A long statement is not a stall of the drive.
        recorder.gap_max_ns = 0;
        let measured = result(recorder, own_ns, end - start);
        let mut round = counters.end(self.session, measured, name.cell, name.round);
        (round.cache, round.own_metrics) = (name.cache, true);
        round.own_limiter = Some(self.limiter(&round, all_ns, 1));
        self.actions.push(ActionTally {
            cell: name.cell.to_string(),
            bytes,
            time_s: (end - start) as f64 / 1e9,
            flush_s: (end - worked) as f64 / 1e9,
            figures: device_figures::of_device(&round),
        });
        self.session.add_round(round, self.record)
    }

    /// Keeps statements that only a prediction has made.
    pub fn keep_statements(
        &mut self,
        name: PhaseName<'_>,
        unit: &'static str,
        counters: PhaseCounters,
        recorder: Recorder,
        cpu_ns: u64,
        threads: u32,
    ) -> Result<(), BenchError> {
        let wall_ns = self.session.now_ns() - recorder.start_ns;
        let measured = result(recorder, 0, wall_ns);
        let mut round = counters.end(self.session, measured, name.cell, name.round);
        (round.cache, round.counts) = (name.cache, unit);
        round.own_limiter = Some(self.limiter(&round, cpu_ns, threads));
        round.extra = device_figures::of_device(&round);
        self.session.add_round(round, self.record)
    }

    fn limiter(&self, round: &Round, cpu_ns: u64, threads: u32) -> Limiter {
        let environment = self.session.environment(self.record.test());
        if environment.memory_backed {
            return Limiter::Memory;
        }
        device_figures::limiter(round, cpu_ns, threads, environment.cores)
    }

    /// Statements of several clients. Errors that `goes_on` knows are counted, others end the test.
    pub fn clients(
        &mut self,
        name: PhaseName<'_>,
        unit: &'static str,
        database: &mut dyn Database,
        mut clients: Vec<Statement<'_>>,
        bound: Bound,
        goes_on: fn(&SqlError) -> bool,
    ) -> Result<(), BenchError> {
        let session = self.session;
        let threads = clients.len() as u32;
        database.begin_counting().map_err(|error| ended(session, error))?;
        let counters = self.begin(name)?;
        let cpu = spent_ns(database);
        let control = Control::default();
        let begun = clock::now_ns();
        let tally = watched(session, &control, self.canceller, || {
            client_loop::run(&mut clients, bound, &control, goes_on)
        });
        let wall_ns = clock::now_ns() - begun;
        let spent = spent_ns(database);
        if let Some(error) = tally.first_error.as_ref().filter(|error| !goes_on(error)) {
            return Err(ended(session, error.clone()));
        }
        let counted = database.counted().map_err(|error| ended(session, error))?;
        let own_ns = spent.0 - cpu.0;
        let server_ns = spent.1.saturating_sub(cpu.1);
        let measured = result(tally.recorder.clone(), own_ns, wall_ns);
        let mut round = counters.end(session, measured, name.cell, name.round);
        (round.cache, round.counts) = (name.cache, unit);
        // Flushes of a file do not concern a database.
        let is_of_database = unit != "iops";
        round.own_limiter =
            is_of_database.then(|| self.limiter(&round, own_ns + server_ns, threads));
        round.extra = device_figures::of_device(&round);
        let ops = tally.recorder.ops.max(1) as f64;
        // A server counts the statement that counts, too.
        round.extra.extend(of_server(counted));
        let cpu_ns = if database.cpu_ns().is_some() { server_ns } else { own_ns };
        round.extra.push(("cpu_us", cpu_ns as f64 / 1e3 / ops));
        if let Some(flushes) = device_figures::flushes(&round).filter(|_| unit == "commits_s") {
            round.extra.push(("flushes_per_commit", flushes as f64 / ops));
        }
        session.add_round(round, self.record)?;
        self.notice_errors(name.cell, &tally);
        Ok(())
    }

    fn notice_errors(&mut self, cell: &str, tally: &ClientTally) {
        let Some(first) = &tally.first_error else { return };
        let all = tally.recorder.ops + tally.errors;
        let evidence =
            format!("{cell}: {} of {all} statements failed; the first: {first}", tally.errors);
        let finding = Finding::new(FindingId::StatementErrors, evidence);
        let about = format!("{}.{cell}", self.record.test());
        self.record.notice(finding.about(about).weighing(tally.errors as f64));
    }

    pub fn finish(&mut self) {
        for cell in distinct(self.actions.iter().map(|tally| &tally.cell)) {
            let rounds: Vec<&ActionTally> =
                self.actions.iter().filter(|it| it.cell == *cell).collect();
            let mut keep = |quantity: &str, of: &dyn Fn(&ActionTally) -> f64| {
                let values = rounds.iter().map(|tally| of(tally)).collect();
                self.record.metric(&format!("{cell}.{quantity}"), values);
            };
            if rounds.iter().all(|tally| tally.bytes > 0) {
                keep("mb_s", &|tally| tally.bytes as f64 / tally.time_s.max(1e-9) / 1e6);
            }
            keep("time_s", &|tally| tally.time_s);
            keep("flush_s", &|tally| tally.flush_s);
            for (index, (quantity, _)) in rounds[0].figures.iter().enumerate() {
                keep(quantity, &|tally| tally.figures.get(index).map_or(0.0, |figure| figure.1));
            }
        }
    }
}

fn of_server(counted: ServerCounters) -> Vec<DeviceFigure> {
    let each = counted.statements.max(1) as f64;
    let time = counted.server_us.map(|us| ("server_us", us / each));
    let reads = counted.logical_reads.map(|pages| ("logical_reads", pages as f64 / each));
    time.into_iter().chain(reads).collect()
}

fn result(recorder: Recorder, own_ns: u64, wall_ns: u64) -> PhaseResult {
    let usage = CpuUsage { cpu_ns: own_ns, ..CpuUsage::default() };
    let cpu_cost = CpuCost { usage, whole_program: true, wall_ns, ..CpuCost::default() };
    PhaseResult { recorder, cpu_cost, engine: None }
}
