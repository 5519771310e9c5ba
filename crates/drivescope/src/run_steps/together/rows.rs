//! The view of several runs at once: a row for each drive with its phase, rate, time left and temperature.

use crate::exit::{Failure, no_thread};
use crate::live_run::LiveRun;
use crate::output;
use crate::run_progress::RunProgress;
use drivescope_machine::{Roots, list};
use drivescope_model::document::Run;
use drivescope_model::event::Event;
use drivescope_report::clean;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// More updates a second cannot be read.
const DRAWN_HZ: u8 = 4;
/// More rows do not fit on a screen.
const ROWS_MAX: usize = 20;
const NAME_COLUMNS: usize = 20;
/// A sensor is asked no more often.
const TEMPERATURE_EVERY: Duration = Duration::from_secs(10);

pub struct DriveRows {
    /// `None` where the output is not watched.
    shown: Option<Arc<Shown>>,
}

struct Shown {
    bar: ProgressBar,
    rows: Mutex<Vec<DriveRow>>,
}

struct DriveRow {
    name: String,
    /// The drive at the bottom, whose sensor is read.
    disk: Option<String>,
    progress: RunProgress,
    celsius: Option<f64>,
    asked_at: Option<Instant>,
    has_ended: bool,
}

impl DriveRows {
    pub fn new(runs: &[Run], is_watched: bool) -> Self {
        if !is_watched {
            return Self { shown: None };
        }
        let target = ProgressDrawTarget::stderr_with_hz(DRAWN_HZ);
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg}").expect("a constant template is valid"));
        output::shares_with(Some(bar.clone()));
        let rows = Mutex::new(runs.iter().map(DriveRow::new).collect());
        Self { shown: Some(Arc::new(Shown { bar, rows })) }
    }

    /// Listens to the run of one row until its senders are gone. Errors: no thread may be started.
    pub fn listen(&self, row: usize, events: Receiver<Event>) -> Result<JoinHandle<()>, Failure> {
        let shown = self.shown.clone();
        let listener = std::thread::Builder::new().spawn(move || {
            for event in events {
                shown.iter().for_each(|it| it.change(row, |row| row.progress.hear(event.clone())));
            }
            shown.iter().for_each(|it| it.change(row, |row| row.has_ended = true));
        });
        listener.map_err(|error| Failure::usage(no_thread(&error)))
    }

    pub fn clear(&self) {
        let Some(shown) = &self.shown else { return };
        output::shares_with(None);
        shown.bar.finish_and_clear();
    }
}

impl Shown {
    fn change(&self, row: usize, change: impl FnOnce(&mut DriveRow)) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut rows[row]);
        rows[row].ask_for_temperature();
        let text = text(&rows);
        drop(rows);
        self.bar.set_message(output::shown(&text));
    }
}

impl DriveRow {
    fn new(run: &Run) -> Self {
        let path = &run.target.path;
        Self {
            name: clean(path.strip_prefix("/dev/").unwrap_or(path)).into_owned(),
            disk: run.drive.as_ref().map(|drive| drive.name.clone()),
            progress: RunProgress::new(LiveRun::new(run.clone(), false)),
            celsius: None,
            asked_at: None,
            has_ended: false,
        }
    }

    fn ask_for_temperature(&mut self) {
        if self.asked_at.is_some_and(|at| at.elapsed() < TEMPERATURE_EVERY) {
            return;
        }
        self.asked_at = Some(Instant::now());
        let disk = self.disk.as_ref();
        self.celsius = disk.and_then(|disk| list::temperature_of(&Roots::host(), disk));
    }

    fn text(&self) -> String {
        let doing = if self.has_ended { "done".to_string() } else { self.progress.line() };
        let celsius = self.celsius.map(|c| format!("{c:.0} °C  ")).unwrap_or_default();
        format!("{:NAME_COLUMNS$.NAME_COLUMNS$}  {celsius}{doing}", self.name)
    }
}

/// Those in progress first.
fn text(rows: &[DriveRow]) -> String {
    let mut lines: Vec<String> =
        rows.iter().filter(|row| !row.has_ended).take(ROWS_MAX).map(DriveRow::text).collect();
    let ended = rows.iter().filter(|row| row.has_ended);
    lines.extend(ended.take(ROWS_MAX.saturating_sub(lines.len())).map(DriveRow::text));
    if rows.len() > lines.len() {
        lines.push(format!("and {} more", rows.len() - lines.len()));
    }
    format!("\n{}", lines.join("\n"))
}
