//! A run that a browser has started: one at a time of a drive, in a thread of its own.

use crate::live_run::LiveRun;
use crate::run_progress::RunProgress;
use crate::run_steps::{Measurer, PlannedRun, SaveOutcome, leftovers};
use crate::signals::RunSignals;
use crate::store_access::open_for_run;
use drivescope_drive::Target;
use drivescope_model::cell::Cell;
use drivescope_model::event::Event;
use drivescope_model::{Plan, Run, TestStatus};
use drivescope_report::{answer, clean};
use drivescope_store::StoreLocation;
use drivescope_web::{BoardProgress, PreparedRun, RateCurve, RunBoard, RunEnd};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Simultaneous runs: each needs a processor.
const RUNS_MAX: usize = 4;
/// More than four updates a second cannot be read.
const SHOW_EVERY: Duration = Duration::from_millis(250);
/// About a minute: there are about five rates a second.
const RATES_MAX: usize = 300;
/// Requests below this size are counted, larger ones have a rate.
const LARGE_BYTES: u64 = 64 << 10;

#[derive(Debug, Default)]
pub struct MeasuredDrives(Mutex<Vec<DriveInUse>>);

/// A target in use, and its drives.
#[derive(Debug, Clone, PartialEq)]
struct DriveInUse {
    path: String,
    disks: Vec<String>,
}

impl DriveInUse {
    fn of(target: &Target) -> Self {
        Self { path: target.info().path.clone(), disks: target.stack().whole_disks.clone() }
    }

    /// The drive, or else the path, of both; `None` if they have neither in common.
    fn shared<'a>(&'a self, other: &Self) -> Option<&'a str> {
        let disk = self.disks.iter().find(|disk| other.disks.contains(disk));
        disk.or((self.path == other.path).then_some(&self.path)).map(String::as_str)
    }
}

/// The right to measure a drive; dropped at the end of the run.
#[derive(Debug)]
struct DrivePlace {
    all: Arc<MeasuredDrives>,
    own: DriveInUse,
}

impl MeasuredDrives {
    /// Takes the drives of a target. Errors: one of them is taken.
    fn take(all: &Arc<Self>, own: DriveInUse) -> Result<DrivePlace, String> {
        let mut taken = all.lock();
        if let Some(shared) = taken.iter().find_map(|other| other.shared(&own)) {
            let shared = clean(shared);
            return Err(format!(
                "{shared} is being measured already; wait for its end, or stop it"
            ));
        }
        if taken.len() >= RUNS_MAX {
            return Err(format!("{RUNS_MAX} runs are in progress; wait for one to end"));
        }
        taken.push(own.clone());
        drop(taken);
        Ok(DrivePlace { all: Arc::clone(all), own })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<DriveInUse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DrivePlace {
    fn drop(&mut self) {
        self.all.lock().retain(|other| *other != self.own);
    }
}

pub struct PlannedBrowserRun {
    pub planned: PlannedRun,
    pub label: Option<String>,
    pub store: StoreLocation,
    pub measured: Arc<MeasuredDrives>,
}

impl PreparedRun for PlannedBrowserRun {
    fn plan(&self) -> &Plan {
        &self.planned.plan
    }

    fn start(self: Box<Self>, board: RunBoard) -> Result<Arc<AtomicBool>, String> {
        let place = MeasuredDrives::take(&self.measured, DriveInUse::of(&self.planned.target))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped_by = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("run".to_string());
        let begun = thread.spawn(move || {
            let board = Arc::new(board);
            let end = self.measure(&board, &stopped_by);
            // A browser that sees the end may start the next one.
            drop(place);
            board.end(end);
        });
        begun.map(|_| stop).map_err(|error| format!("cannot start a thread: {error}"))
    }
}

impl PlannedBrowserRun {
    fn measure(self, board: &Arc<RunBoard>, stop: &Arc<AtomicBool>) -> RunEnd {
        let mut store = match open_for_run(&self.store) {
            Ok(store) => store,
            Err(error) => return not_begun(format!("Not measured: {error}")),
        };
        if let Err(failure) = leftovers::clean_target(&self.planned.target, false, false) {
            return not_begun(format!("Not measured: {}", failure.message));
        }
        let signals = RunSignals::of_another(stop);
        let view = |run: &Run| view(run, Arc::clone(board));
        let measurer = Measurer::new(&signals);
        match measurer.measure_shown(self.planned, self.label, &mut store, view) {
            Ok((run, kept)) => end_of(&run, kept),
            Err(failure) => not_begun(format!("Not measured: {}", failure.message)),
        }
    }
}

fn not_begun(why: String) -> RunEnd {
    let message = clean(&why).into_owned();
    RunEnd { stored: None, is_whole: false, message }
}

/// A listener that shows the run on the board from time to time.
fn view(run: &Run, board: Arc<RunBoard>) -> impl FnMut(Event) + Send + use<> {
    let mut progress = RunProgress::new(LiveRun::new(run.clone(), false));
    let mut rate = RateHistory::default();
    let (mut shown, mut has_news) = (None::<Instant>, true);
    move |event| {
        has_news |= matches!(event, Event::RoundFinished(_) | Event::TestFinished(_));
        rate.hear(&event);
        progress.hear(event);
        if shown.is_none_or(|shown| shown.elapsed() >= SHOW_EVERY) {
            let figures = has_news.then(|| progress.run.run());
            board.show(
                BoardProgress {
                    share: progress.share(),
                    line: progress.words(),
                    rate: rate.curve(),
                },
                figures,
            );
            (shown, has_news) = (Some(Instant::now()), false);
        }
    }
}

/// Rates of the phase in progress.
#[derive(Default)]
struct RateHistory {
    label: String,
    /// MB and requests per second.
    samples: VecDeque<(f64, f64)>,
}

impl RateHistory {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted { label, .. } => {
                *self = Self { label: label.clone(), samples: VecDeque::new() };
            }
            Event::Progress { mb_s, iops, .. } => {
                if self.samples.len() == RATES_MAX {
                    self.samples.pop_front();
                }
                self.samples.push_back((*mb_s, *iops));
            }
            Event::TestStarted { .. } | Event::Preparing { .. } | Event::TestFinished(_) => {
                *self = Self::default();
            }
            Event::RoundFinished(_) => {}
        }
    }

    fn curve(&self) -> Option<RateCurve> {
        let is_small = self.label.parse().is_ok_and(|cell: Cell| cell.shape.block.0 < LARGE_BYTES);
        let values = self.samples.iter().map(|&(mb_s, iops)| if is_small { iops } else { mb_s });
        let curve = RateCurve {
            label: self.label.clone(),
            unit: if is_small { "/s" } else { "MB/s" },
            values: values.collect(),
        };
        (!self.label.is_empty()).then_some(curve)
    }
}

fn end_of(run: &Run, kept: SaveOutcome) -> RunEnd {
    let reason = || run.tests.iter().find_map(|test| test.reason.clone()).unwrap_or_default();
    let message = match run.status {
        TestStatus::Done => answer(run, false).unwrap_or_else(|| "Done.".to_string()),
        TestStatus::Interrupted => "Stopped; what was measured is kept.".to_string(),
        TestStatus::Failed => format!("Failed: {}", reason()),
        TestStatus::Skipped => format!("Nothing was measured: {}", reason()),
    };
    let is_stored = kept == SaveOutcome::Stored;
    let lost = "The store could not keep it; the terminal of drivescope serve says where it is.";
    let message = if is_stored { message } else { format!("{message} {lost}") };
    RunEnd {
        stored: is_stored.then(|| run.id.clone()),
        is_whole: run.status == TestStatus::Done,
        message: clean(&message).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drive_is_measured_once_on_any_path() {
        let all = Arc::new(MeasuredDrives::default());
        let drive = |path: &str, disks: &[&str]| DriveInUse {
            path: path.to_string(),
            disks: disks.iter().map(ToString::to_string).collect(),
        };
        let take = |path: &str, disks: &[&str]| MeasuredDrives::take(&all, drive(path, disks));
        let first = take("/dev/sda", &["sda"]).unwrap();
        assert!(take("/home", &["sdb", "sda"]).unwrap_err().contains("sda"));
        let simulated = take("sim:wd40efrx", &[]).unwrap();
        assert!(take("sim:wd40efrx", &[]).is_err());
        drop(first);
        let both = take("/home", &["sdb", "sda"]).unwrap();
        let more: Vec<_> = (0..2).map(|i| take(&format!("sim:{i}"), &[])).collect();
        assert!(more.iter().all(Result::is_ok));
        assert!(take("sim:more", &[]).unwrap_err().contains("4 runs"));
        drop((simulated, both, more));
        assert!(all.lock().is_empty());
    }
}
