//! `trace record`: what reaches a drive while a command runs, or for a time.

use super::source::failure;
use crate::arguments::RecordArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::signals::RunSignals;
use drivescope_drive::document_file::DocumentFile;
use drivescope_machine::Roots;
use drivescope_model::number::whole;
use drivescope_model::units::{Bytes, Secs};
use drivescope_report::clean;
use drivescope_trace::TraceError;
use drivescope_trace::file::{TraceTotals, TraceWriter};
use drivescope_trace::record::device::RecordedDevice;
use drivescope_trace::record::{Recording, header};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Time for a command to end after Ctrl-C, which it receives as well.
const PATIENCE: Duration = Duration::from_secs(5);
const STOPPING: &str = "interrupted: saving what was recorded; Ctrl-C again quits now";

pub fn record(arguments: &RecordArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let name = arguments.output.display().to_string();
    if arguments.output.extension().is_none_or(|ending| ending != "trace") {
        return Err(Failure::usage(format!("{name} does not end in .trace, as trace files do")));
    }
    let roots = Roots::host();
    let device = match &arguments.device {
        Some(path) => RecordedDevice::find(&roots, path).map_err(|e| about(path, e))?,
        None => {
            RecordedDevice::below(&roots, Path::new(".")).map_err(|e| about(Path::new("."), e))?
        }
    };
    let file = DocumentFile::named(&arguments.output, arguments.force)?;
    signals.begin(STOPPING);
    let recording = Recording::begin(&roots, device.clone());
    let recording = recording.map_err(|error| Failure::usage(error.to_string()))?;
    output::remark(&format!("recording /dev/{}", device.name));
    let mut program = RecordedProgram::start(arguments, signals)?;
    let refused = |error| failure(&name, TraceError::Write(error));
    let totals = file.write_with(refused, |file: &mut File| {
        let refused = |error| failure(&name, error);
        let mut writer =
            TraceWriter::new(BufWriter::new(file), &header(&device)).map_err(refused)?;
        let totals = recording.run(&mut writer, || program.is_over());
        let totals = totals.map_err(|error| nothing_seen(&device.name, error))?;
        Ok(writer.finish(totals).map_err(refused)?.1)
    })?;
    note_totals(&name, &totals);
    if totals.lost > 0 {
        let lost = whole(totals.lost);
        output::complain(&format!(
            "{name} is invalid: {lost} events were lost; record less at a time"
        ));
        return Ok(Code::Problem);
    }
    if program.is_stopped_early() {
        return Ok(Code::Interrupted);
    }
    match program.failure() {
        Some(status) => {
            output::complain(&format!(
                "the command ended with {status}; the trace is of what it did"
            ));
            Ok(Code::Problem)
        }
        None => Ok(Code::Ok),
    }
}

fn about(path: &Path, error: TraceError) -> Failure {
    failure(&path.display().to_string(), error)
}

fn nothing_seen(device: &str, error: TraceError) -> Failure {
    let message = match error {
        TraceError::Empty => format!(
            "no request reached /dev/{device}: the page cache answered everything, or the files are elsewhere; end the \
             command with sync, or name a --device"
        ),
        other => format!("/dev/{device}: {other}"),
    };
    Failure::usage(message)
}

fn note_totals(name: &str, totals: &TraceTotals) {
    let seconds = Secs(totals.end_ns as f64 / 1e9);
    let moved = [(totals.read_bytes, "read"), (totals.written_bytes, "written")];
    let moved = moved.map(|(bytes, word)| format!("{} {word}", Bytes(bytes)));
    let requests = whole(totals.events);
    output::note(&clean(&format!(
        "wrote {name}: {requests} requests in {seconds}, {}, {}",
        moved[0], moved[1]
    )));
}

/// Decides when the recording ends.
struct RecordedProgram<'s> {
    child: Option<Child>,
    until: Option<Instant>,
    stopped: Option<Instant>,
    signals: &'s RunSignals,
    is_awaited: bool,
}

impl<'s> RecordedProgram<'s> {
    fn start(arguments: &RecordArguments, signals: &'s RunSignals) -> Result<Self, Failure> {
        let child = match arguments.command.split_first() {
            Some((program, words)) => {
                let child = Command::new(program).args(words).spawn();
                Some(child.map_err(|error| {
                    let program = program.to_string_lossy();
                    Failure::usage(format!("cannot run {program}: {error}"))
                })?)
            }
            None => None,
        };
        let until = arguments.time.map(|time| Instant::now() + Duration::from_nanos(time.nanos()));
        let is_awaited = child.is_some() || until.is_some();
        Ok(Self { child, until, stopped: None, signals, is_awaited })
    }

    /// The command has ended, the time is over, or the user stopped it.
    fn is_over(&mut self) -> bool {
        if self.signals.was_signalled() {
            let since = *self.stopped.get_or_insert_with(Instant::now);
            let is_running = self.child.as_mut().is_some_and(is_running);
            return !is_running || since.elapsed() > PATIENCE;
        }
        let is_late = self.until.is_some_and(|until| Instant::now() >= until);
        is_late || self.child.as_mut().is_some_and(|child| !is_running(child))
    }

    fn failure(&mut self) -> Option<ExitStatus> {
        let ended = self.child.as_mut()?.try_wait().ok().flatten();
        ended.filter(|status| !status.success())
    }

    /// Whether Ctrl-C cut the recording short: without a command or a time, it is the planned end.
    fn is_stopped_early(&self) -> bool {
        self.stopped.is_some() && self.is_awaited
    }
}

fn is_running(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(None))
}
