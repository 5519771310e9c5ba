//! Runs plans: one document per target, kept after every test.

use super::PlannedRun;
use super::before_images;
use super::earlier_capacity;
use super::job_ticket;
use super::phybs_table::print_tables;
use super::report_file::ReportFile;
use super::run_document::RunDocument;
use super::save::SaveOutcome;
use super::temperature_log::TemperatureLog;
use crate::exit::{Code, Failure, no_thread};
use crate::live_run::LiveRun;
use crate::live_view;
use crate::output;
use crate::progress;
use crate::signals::RunSignals;
use drivescope_bench::io::clock;
use drivescope_bench::io::offsets;
use drivescope_bench::loops::calibrate;
use drivescope_bench::runner::Runner;
use drivescope_bench::session::{HostFacts, Session, ViewerRequests};
use drivescope_drive::Target;
use drivescope_drive::document_file::DocumentFile;
use drivescope_machine::{Roots, host};
use drivescope_model::decision::Advice;
use drivescope_model::document::{FORMAT, Run, TestStatus, Tool};
use drivescope_model::event::Event;
use drivescope_model::findings::{Finding, Severity};
use drivescope_model::fleet::RunJob;
use drivescope_model::host::{Calibration, Host};
use drivescope_model::units::Price;
use drivescope_report::export::open_metrics::open_metrics;
use drivescope_report::{clean, text, verdict, wrap};
use drivescope_store::Store;
use std::cell::RefCell;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

#[derive(Default)]
pub struct RunOptions {
    pub label: Option<String>,
    pub price: Option<Price>,
    pub quiet: bool,
    /// Each result names its target, even if `quiet`.
    pub has_several: bool,
    pub live: bool,
    /// Several runs at once: nothing is printed before all have ended.
    pub together: bool,
    pub json: bool,
    pub verbose: bool,
    pub table: bool,
    /// The job of a fleet.
    pub job: Option<RunJob>,
    /// Gets the figures for monitoring.
    pub metrics: Option<DocumentFile>,
    /// Gets the page.
    pub report: Option<ReportFile>,
    /// Option that names the store to another command; see [`drivescope_store::store_words`].
    pub store_words: String,
}

impl RunOptions {
    fn silent(label: Option<String>) -> Self {
        Self { label, quiet: true, json: true, ..Self::default() }
    }
}

/// This machine, the same for all runs of a call.
pub(super) struct Machine {
    host: Host,
    facts: HostFacts,
    calibration: OnceLock<Calibration>,
}

impl Machine {
    pub(super) fn here() -> Self {
        let roots = Roots::host();
        let host = host::host(&roots);
        let facts = HostFacts {
            memory_bytes: host.memory_bytes,
            cpus: host.cpus,
            power_save: host::power_save(&host, &roots),
        };
        Self { host, facts, calibration: OnceLock::new() }
    }

    /// The tool's overhead, measured before the first run on a real target; simulated ones do not need it.
    pub(super) fn calibration(&self, target: &Target) -> Option<&Calibration> {
        (!target.is_simulated()).then(|| self.calibration.get_or_init(calibrate::calibrate))
    }
}

/// Runs plans without showing or storing anything.
pub struct Measurer<'s> {
    machine: Machine,
    signals: &'s RunSignals,
}

impl<'s> Measurer<'s> {
    pub fn new(signals: &'s RunSignals) -> Self {
        Self { machine: Machine::here(), signals }
    }

    pub fn measure_quietly(&self, planned: PlannedRun) -> Result<(Run, Code), Failure> {
        let silent = |events, _: &Run, _: &_| progress::listen(events, None);
        let options = RunOptions::silent(None);
        let run = begin(&planned, &options, &self.machine);
        let it = measure_one(run, planned, &options, None, self.signals, &self.machine, silent)?;
        let is_stopped = self.signals.was_signalled();
        Ok((it.run, if is_stopped { Code::Interrupted } else { it.outcome }))
    }

    /// Measures a run that is saved after each test; returns its document and the outcome of saving. `view` makes the
    /// listener for events from the unmeasured run.
    pub fn measure_shown<V: FnMut(Event) + Send + 'static>(
        &self,
        planned: PlannedRun,
        label: Option<String>,
        store: &mut Store,
        view: impl FnOnce(&Run) -> V,
    ) -> Result<(Run, SaveOutcome), Failure> {
        let listen = |events: Receiver<Event>, run: &Run, _: &ViewerRequests| {
            let mut view = view(run);
            let thread = std::thread::Builder::new().name("view".to_string());
            let listener = thread.spawn(move || events.into_iter().for_each(&mut view));
            listener.map_err(|error| Failure::usage(no_thread(&error)))
        };
        let (options, signals) = (RunOptions::silent(label), self.signals);
        let run = begin(&planned, &options, &self.machine);
        let it = measure_one(run, planned, &options, Some(store), signals, &self.machine, listen)?;
        Ok((it.run, it.kept))
    }
}

/// Runs all plans in order; the worst outcome is the exit code. A signal also counts if it came after the last request,
/// during the restore: the run is complete, but its caller must not take it for an undisturbed one. A drive that waits
/// for `drivescope restore` counts more.
pub fn measure(
    planned: Vec<PlannedRun>,
    options: &RunOptions,
    mut store: Option<Store>,
    signals: &RunSignals,
) -> Result<Code, Failure> {
    let machine = Machine::here();
    let mut outcomes = Outcomes::new(options, signals);
    for planned in planned {
        let listen = |events, run: &Run, viewer: &_| listen(events, run, options, viewer);
        let run = begin(&planned, options, &machine);
        outcomes.announce(&run);
        let outcome =
            measure_one(run, planned, options, store.as_mut(), signals, &machine, listen)?;
        outcomes.add(outcome);
        if outcomes.is_stopped {
            break;
        }
    }
    outcomes.conclude()
}

/// How the runs of a call ended: each is printed, and the worst is the exit code.
pub(super) struct Outcomes<'o> {
    options: &'o RunOptions,
    signals: &'o RunSignals,
    runs: Vec<Run>,
    code: Code,
    is_stopped: bool,
    waits_for_restore: bool,
}

impl<'o> Outcomes<'o> {
    pub(super) fn new(options: &'o RunOptions, signals: &'o RunSignals) -> Self {
        let (runs, code) = (Vec::new(), Code::Ok);
        Self { options, signals, runs, code, is_stopped: false, waits_for_restore: false }
    }

    fn has_tables(&self) -> bool {
        !self.options.json && !self.options.table && self.options.job.is_none()
    }

    /// Prints the first lines: what will happen to which drive.
    pub(super) fn announce(&self, run: &Run) {
        let RunOptions { quiet, has_several, .. } = *self.options;
        if !self.has_tables() || (quiet && !has_several) {
            return;
        }
        if !self.runs.is_empty() {
            output::print_line("");
        }
        let style = output::style();
        let program = concat!("drivescope ", env!("CARGO_PKG_VERSION"));
        let header = text::header(program, &run.plan, &run.target, run.drive.as_ref(), style);
        output::print_line(&header);
        if !quiet {
            output::print_line(&text::plan(&run.plan, &run.target, style));
        }
    }

    /// Prints the result of a run that has ended.
    pub(super) fn add(&mut self, ended: TargetOutcome) {
        let TargetOutcome { run, outcome, waits_for_restore, kept } = ended;
        if self.has_tables() {
            conclude(&run, self.options, kept);
        }
        if self.options.json {
            output::print_document(&run);
        }
        if let Some(cause) = no_valid_figure(&run) {
            output::complain(&cause);
        }
        self.runs.push(run);
        self.waits_for_restore |= waits_for_restore;
        self.is_stopped = outcome == Code::Interrupted || self.signals.was_signalled();
        if outcome != Code::Interrupted {
            self.code = self.code.max(outcome);
        }
    }

    /// A run that could not be measured, beside others that were.
    pub(super) fn add_failure(&mut self, failure: Failure) {
        output::complain(&failure.message);
        self.code = self.code.max(failure.code);
    }

    /// Errors: the table of phybs cannot be printed.
    pub(super) fn conclude(self) -> Result<Code, Failure> {
        let Self { options, runs, mut code, is_stopped, waits_for_restore, .. } = self;
        let written = options.metrics.as_ref().map(|file| file.write(&open_metrics(&runs)));
        if let Some(Err(error)) = written {
            // As of a store that fails: nothing that was measured is wrong.
            output::complain(&format!("the metrics are not written: {error}"));
            code = code.max(Code::Device);
        }
        if let Some(report) = &options.report {
            code = code.max(write_report(report, &runs));
        }
        if is_stopped && !waits_for_restore {
            code = Code::Interrupted;
        }
        if options.table {
            print_tables(&runs)?;
        }
        Ok(code)
    }
}

fn write_report(report: &ReportFile, runs: &[Run]) -> Code {
    match runs.iter().try_for_each(|run| report.write(run)) {
        Ok(()) => {
            output::remark(&clean(&format!("wrote {}", report.path().display())));
            Code::Ok
        }
        Err(failure) => {
            output::complain(&format!("the report is not written: {}", failure.message));
            Code::Device
        }
    }
}

pub(super) struct TargetOutcome {
    pub(super) run: Run,
    outcome: Code,
    /// Its contents are not restored, or a journal is left.
    waits_for_restore: bool,
    kept: SaveOutcome,
}

/// Runs the plan of one target, whose document begins as `run`; `listen` starts the listener of its events.
pub(super) fn measure_one(
    mut run: Run,
    PlannedRun { plan, target, claim, resumed, ended }: PlannedRun,
    options: &RunOptions,
    store: Option<&mut Store>,
    signals: &RunSignals,
    machine: &Machine,
    listen: impl FnOnce(Receiver<Event>, &Run, &ViewerRequests) -> Result<JoinHandle<()>, Failure>,
) -> Result<TargetOutcome, Failure> {
    let tables = !options.json && !options.table;
    let (events, receiver) = channel();
    run.earlier_capacity = store.as_deref().and_then(|store| earlier_capacity::of(&run, store));
    let viewer = ViewerRequests::default();
    let listener = listen(receiver, &run, &viewer)?;
    let journal = before_images::journal(&plan, &run.id, signals);
    let shared_mb_s = run.together.as_ref().and_then(|it| it.left_to(&run.id));
    let document = RefCell::new(RunDocument::new(run, store));
    let session = Session::new(
        &plan,
        &target,
        machine.calibration(&target),
        machine.facts.clone(),
        events,
        Arc::clone(&signals.stop),
    );
    let starts = job_ticket::starts_unix_us(options.job.as_ref());
    let session = session.with_shared_path(shared_mb_s).with_common_start(starts);
    let mut session = session
        .with_checkpoints(Box::new(|so_far| document.borrow_mut().checkpoint(so_far)))
        .with_viewer(viewer);
    if let Some(claim) = claim {
        document.borrow_mut().gate(claim.record());
        session = session.with_claim(claim);
    }
    if let Some(journal) = journal {
        session = session.with_restore_journal(journal);
    }
    document.borrow_mut().begin_with(session.findings(), ended);
    if tables && !options.quiet && !options.together {
        warn(session.findings());
    }
    let temperature = TemperatureLog::begin(&target, verdict::decides(&plan.suite));
    let mut runner = Runner::new(session).with_earlier(resumed);
    runner.run(|result, session, more| document.borrow_mut().add(result, session, more));
    let failure = runner.failure().map(Code::from);
    document.borrow_mut().began(runner.session().began_unix_us());
    let waits_for_restore = runner.session().lost().is_some();
    let closed = runner.close();
    let temperature = temperature.and_then(TemperatureLog::end);
    listener.join().expect("the listener does not panic");
    document.borrow_mut().add_temperature(temperature, target.warning_c());
    if !signals.was_signalled()
        && let Some(after) = target.health_now()
    {
        document.borrow_mut().end_with(after);
    }
    let (run, kept) = document.into_inner().conclude();
    // What was measured stands; that it is not kept, or that something stays behind, does not go by.
    let mut outcome = match kept {
        SaveOutcome::NotStored(code) => code,
        SaveOutcome::Stored | SaveOutcome::Waiting | SaveOutcome::NotRequested => Code::Ok,
    };
    outcome = outcome.max(code_of(&run, failure));
    if let Err(error) = closed {
        let failure = Failure::from(error);
        output::complain(&failure.message);
        outcome = outcome.max(failure.code);
    }
    Ok(TargetOutcome { run, outcome, waits_for_restore, kept })
}

/// Shows the run: in the requested view, as a line of progress, or not at all.
fn listen(
    events: Receiver<Event>,
    run: &Run,
    options: &RunOptions,
    viewer: &ViewerRequests,
) -> Result<JoinHandle<()>, Failure> {
    if options.live {
        let run = LiveRun::new(run.clone(), true);
        let view = live_view::listen(events, run, viewer.clone());
        return view.map_err(|error| {
            let why = format!("cannot take the terminal: {error}; omit --live for plain progress");
            Failure::usage(why)
        });
    }
    if options.job.is_some() {
        return job_ticket::listen(events, run);
    }
    let tables = !options.json && !options.table && output::terminal_columns().is_some();
    let is_watched = !options.quiet && output::is_watched();
    let shown = is_watched.then(|| LiveRun::new(run.clone(), tables));
    progress::listen(events, shown)
}

/// Prints findings that make every number of the run invalid: at its end it would be too late.
fn warn(findings: &[Finding]) {
    for finding in findings.iter().filter(|finding| finding.severity == Severity::Invalid) {
        let Finding { id, evidence, remedy, .. } = finding;
        let warning =
            format!("these results will not describe a drive: {evidence} ({id}). {remedy}");
        output::print_line(&wrap(&clean(&warning), output::style().columns, 2));
    }
}

/// Prints the results, and where the run is stored.
fn conclude(run: &Run, options: &RunOptions, kept: SaveOutcome) {
    let style = output::style();
    let gap = if options.quiet && !options.has_several { "" } else { "\n" };
    output::print_line(&format!("{gap}{}", text::results(run, style)));
    if options.verbose {
        output::print_line(&format!("\n{}", text::verbose(run, style)));
    }
    if kept == SaveOutcome::Stored && !options.quiet {
        output::print_line(&format!("\n{}", text::saved(&run.id, &options.store_words, style)));
    }
}

/// A document without results.
pub(super) fn begin(planned: &PlannedRun, options: &RunOptions, machine: &Machine) -> Run {
    let PlannedRun { plan, target, .. } = planned;
    Run {
        format: FORMAT,
        id: run_id(plan.seed),
        tool: Tool {
            name: "drivescope".to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_string(),
            commit: option_env!("DRIVESCOPE_COMMIT").map(str::to_string),
            command_line: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
        },
        started_at: started_at(),
        elapsed_s: 0.0,
        status: TestStatus::Done,
        label: options.label.clone(),
        note: None,
        price: options.price.clone(),
        health_after: None,
        earlier_capacity: None,
        temperature: None,
        decision: None,
        together: None,
        job: options.job.clone(),
        simulated: target.is_simulated(),
        target: target.info().clone(),
        drive: target.drive().cloned(),
        host: job_ticket::host_of(&machine.host, options.job.as_ref()),
        calibration: machine.calibration(target).cloned(),
        gate: target.checks(),
        plan: plan.clone(),
        tests: Vec::new(),
        findings: Vec::new(),
        verdict: Vec::new(),
    }
}

/// Twelve hexadecimal digits, unique among all runs.
fn run_id(seed: u64) -> String {
    let now = jiff::Timestamp::now().as_nanosecond() as u64 ^ clock::now_ns();
    let mixed = offsets::derive_seed(now, "run", std::process::id(), seed as u32);
    format!("{:012x}", mixed >> 16)
}

/// RFC 3339 with the local offset.
fn started_at() -> String {
    let now = jiff::ZonedDateTime::now();
    now.strftime("%Y-%m-%dT%H:%M:%S%.6f%:z").to_string()
}

/// `failure`: the code of the worst failed test.
fn code_of(run: &Run, failure: Option<Code>) -> Code {
    match run.status {
        TestStatus::Interrupted => Code::Interrupted,
        _ if run.decision.is_some() && failure.is_none_or(|code| code == Code::Device) => {
            let is_kept = run.decision.as_ref().is_some_and(|it| it.advice == Advice::Keep);
            if is_kept { Code::Ok } else { Code::Problem }
        }
        TestStatus::Failed => failure.unwrap_or(Code::Device),
        TestStatus::Skipped => Code::Usage,
        TestStatus::Done if has_problem(run) || no_valid_figure(run).is_some() => Code::Problem,
        TestStatus::Done => Code::Ok,
    }
}

fn has_problem(run: &Run) -> bool {
    run.findings.iter().any(|finding| finding.severity == Severity::Problem)
}

/// Why a complete run without a problem does not end with 0: it has figures, and none is valid.
fn no_valid_figure(run: &Run) -> Option<String> {
    let metrics = || run.tests.iter().flat_map(|test| &test.metrics);
    if run.status != TestStatus::Done || has_problem(run) || metrics().any(|it| it.valid) {
        return None;
    }
    // The finding above, or in the document, has evidence and remedy.
    let cause = metrics().next()?.invalid_because.first();
    let words = cause.map(|id| format!(": {} ({id})", id.spec().in_short()));
    Some(format!("no valid figure{}", words.unwrap_or_default()))
}
