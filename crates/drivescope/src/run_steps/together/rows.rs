//! The view of several runs at once: a row for each drive with its phase, rate, time left and temperature.

use crate::exit::{Failure, no_thread};
use crate::live_run::LiveRun;
use crate::output;
use crate::run_progress::RunProgress;
use drivescope_machine::{Roots, list};
use drivescope_model::document::Run;
use drivescope_model::event::Event;
use drivescope_report::{WIDTH, clean, shorten};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// More updates a second cannot be read, and many drives would spend the processors on them.
const DRAWN_HZ: u8 = 4;
const DRAWN_EVERY: Duration = Duration::from_millis(1_000 / DRAWN_HZ as u64);
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
    screen: Mutex<RowScreen>,
}

struct RowScreen {
    rows: Vec<DriveRow>,
    drawn_at: Option<Instant>,
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
        let rows = runs.iter().map(DriveRow::new).collect();
        let screen = Mutex::new(RowScreen { rows, drawn_at: None });
        Self { shown: Some(Arc::new(Shown { bar, screen })) }
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
        let mut screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut screen.rows[row]);
        screen.rows[row].ask_for_temperature();
        let text = screen.text_if_due(row, Instant::now());
        drop(screen);
        if let Some(text) = text {
            self.bar.set_message(output::shown(&text));
        }
    }
}

impl RowScreen {
    /// What to draw after a change of this row, unless it was drawn lately; the end of a row is always drawn.
    fn text_if_due(&mut self, row: usize, now: Instant) -> Option<String> {
        let is_due = self.drawn_at.is_none_or(|at| now.duration_since(at) >= DRAWN_EVERY);
        if !is_due && !self.rows[row].has_ended {
            return None;
        }
        self.drawn_at = Some(now);
        // A line that wraps would push others off the screen.
        Some(text(&self.rows, output::terminal_columns().unwrap_or(WIDTH)))
    }
}

impl DriveRow {
    fn new(run: &Run) -> Self {
        let path = &run.target.path;
        Self {
            name: shorten(&clean(path.strip_prefix("/dev/").unwrap_or(path)), NAME_COLUMNS).into(),
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
        format!("{:NAME_COLUMNS$}  {celsius}{doing}", self.name)
    }
}

/// Those in progress first.
fn text(rows: &[DriveRow], columns: usize) -> String {
    let mut lines: Vec<String> =
        rows.iter().filter(|row| !row.has_ended).take(ROWS_MAX).map(DriveRow::text).collect();
    let ended = rows.iter().filter(|row| row.has_ended);
    lines.extend(ended.take(ROWS_MAX.saturating_sub(lines.len())).map(DriveRow::text));
    if rows.len() > lines.len() {
        lines.push(format!("and {} more", rows.len() - lines.len()));
    }
    let cut = |line: &String| line.chars().take(columns).collect::<String>();
    lines.iter().map(|line| format!("\n{}", cut(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(drives: usize) -> RowScreen {
        let run: Run = serde_json::from_str(include_str!("../../../../../docs/examples/run.json"))
            .expect("it is an example of this version");
        let named = |number: usize| {
            let mut run = run.clone();
            run.target.path = format!("/dev/disk/by-id/ata-WDC_WD40EFRX_{number}");
            DriveRow { celsius: Some(38.0), ..DriveRow::new(&run) }
        };
        RowScreen { rows: (0..drives).map(named).collect(), drawn_at: None }
    }

    #[test]
    fn sixty_drives_fit_a_small_terminal() {
        let mut screen = screen(60);
        let test = drivescope_model::TestKind::Transfer;
        for row in &mut screen.rows {
            row.progress.hear(Event::TestStarted { test, seconds: 40.0 });
            let label = "rnd4k_q32t16.mix70 of a long name".to_string();
            row.progress.hear(Event::PhaseStarted { label, round: 1, rounds: 3 });
            let (mb_s, iops) = (1_234.5, 301_000.0);
            row.progress.hear(Event::Progress { done: 0.5, left_s: Some(20.0), mb_s, iops });
        }
        screen.rows[0].has_ended = true;
        let text = text(&screen.rows, 80);
        assert!(text.lines().count() < 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.ends_with("and 40 more") && !text.contains("done"), "{text}");
        // The ends of names tell them apart.
        assert!(
            text.contains("disk/by-id…40EFRX_17  38 °C") && text.contains("40EFRX_18"),
            "{text}"
        );
    }

    #[test]
    fn rows_are_drawn_a_few_times_a_second_and_at_their_end() {
        let mut screen = screen(2);
        let begin = Instant::now();
        let mut drawn =
            |row, ms| screen.text_if_due(row, begin + Duration::from_millis(ms)).is_some();
        assert_eq!([0, 1, 249, 250, 251].map(|ms| drawn(1, ms)), [true, false, false, true, false]);
        screen.rows[0].has_ended = true;
        assert!(screen.text_if_due(0, begin + Duration::from_millis(252)).is_some());
    }
}
