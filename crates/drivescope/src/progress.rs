//! A listener for people: how far the run is, and on a terminal what it has measured, drawn anew in the same place.

use crate::live_run::LiveRun;
use crate::output;
use drivescope_drive::journal::{RollbackStage, RollbackStep};
use drivescope_model::event::Event;
use drivescope_model::number::rounded;
use drivescope_model::units::Secs;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::Instant;

/// Resolution of the bar.
const STEPS: u64 = 1000;
/// Columns of the bar.
const BAR_COLUMNS: usize = 10;
/// Times a second that a view is drawn anew at most: more cannot be read.
const DRAWN_HZ: u8 = 4;

/// Listens until the senders are gone; with `shown`, a person sees what happens. Errors: no thread may be started.
pub fn listen(events: Receiver<Event>, shown: Option<LiveRun>) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().spawn(move || {
        let mut view = shown.map(Bar::new);
        for event in events {
            if let Some(view) = &mut view {
                view.hear(event);
            }
        }
        if let Some(view) = view {
            view.clear();
        }
    })
}

/// The bar of `restore`, on standard error, if a person watches.
pub struct RestoreBar(ProgressBar);

impl RestoreBar {
    /// Not shown before the first step.
    pub fn new() -> Self {
        let target = match output::is_watched() {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        let template = "{prefix:11} {bar:10} {percent:>3} %  {eta} left";
        let style = ProgressStyle::with_template(template).expect("a constant template is valid");
        bar.set_style(style.progress_chars("━╸ "));
        output::shares_with(Some(bar.clone()));
        Self(bar)
    }

    /// Writing is the first half, verifying the second.
    pub fn show(&self, step: RollbackStep) {
        let half = (step.done_bytes * STEPS / 2).checked_div(step.total_bytes).unwrap_or(0);
        let (name, before) = match step.stage {
            RollbackStage::Writing => ("restoring", 0),
            RollbackStage::Verifying => ("verifying", STEPS / 2),
        };
        self.0.set_prefix(name);
        self.0.set_position(before + half);
    }

    /// Removes it.
    pub fn clear(&self) {
        output::shares_with(None);
        self.0.finish_and_clear();
    }
}

/// What a signal is answered with: the drive would be left half restored.
pub fn restore_remaining(step: RollbackStep, elapsed_s: f64) -> String {
    let total = step.total_bytes as f64 * 2.0;
    let before = if step.stage == RollbackStage::Verifying { step.total_bytes } else { 0 };
    let done = (before + step.done_bytes) as f64;
    let left_s = elapsed_s * (total - done) / done.max(1.0);
    format!("restoring the drive must finish first; about {} s left", left_s.ceil())
}

/// The progress of a run in one line, with what it has measured below.
struct Bar {
    bar: ProgressBar,
    run: LiveRun,
    /// The test in progress, and the share of it that is done.
    test: (&'static str, f64),
    left: Left,
    doing: Doing,
}

/// How long the rest takes, and when that was said; `None` where nobody knows.
struct Left {
    seconds: Option<f64>,
    told: Instant,
}

impl Left {
    fn told(seconds: Option<f64>) -> Self {
        Self { seconds, told: Instant::now() }
    }

    fn now(&self) -> Option<f64> {
        self.seconds.map(|seconds| seconds - self.told.elapsed().as_secs_f64())
    }
}

/// What happens now.
#[derive(Default)]
struct Doing {
    label: String,
    /// Part of the measured time, which is known beforehand.
    is_measured: bool,
    /// MB and requests per second, once known.
    rate: Option<(f64, f64)>,
}

impl Bar {
    fn new(run: LiveRun) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(DRAWN_HZ);
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg}").expect("a constant template is valid"));
        output::shares_with(Some(bar.clone()));
        Self { bar, run, test: ("", 0.0), left: Left::told(None), doing: Doing::default() }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::TestStarted { test, seconds } => {
                self.test = (test.name(), 0.0);
                self.left = Left::told(Some(seconds));
                self.doing = Doing::default();
            }
            // The rate of what was before no longer belongs to it.
            Event::Preparing { what } => {
                self.doing = Doing { label: what, ..Doing::default() };
            }
            Event::PhaseStarted { label, round, rounds } => {
                let label = format!("{label}  {round}/{rounds}");
                self.doing = Doing { label, is_measured: true, rate: None };
            }
            Event::Progress { done, left_s, mb_s, iops } => {
                self.test.1 = done;
                self.left = Left::told(left_s);
                self.doing.rate = Some((mb_s, iops));
            }
            Event::RoundFinished(so_far) => self.run.refine(*so_far),
            Event::TestFinished(result) => self.run.finish(*result),
        }
        self.refresh();
    }

    fn refresh(&self) {
        let left = match (self.doing.is_measured, self.left.now()) {
            (false, _) => String::new(),
            (true, Some(left_s)) => time_left(left_s),
            (true, None) => "time left unknown".to_string(),
        };
        let (name, done) = self.test;
        let filled = "━".repeat((done * BAR_COLUMNS as f64) as usize);
        let message = message(&left, self.doing.rate, &self.doing.label);
        self.bar.set_message(self.run.text(&format!("{name}  {filled:BAR_COLUMNS$} {message}")));
    }

    fn clear(&self) {
        output::shares_with(None);
        self.bar.finish_and_clear();
    }
}

fn time_left(left_s: f64) -> String {
    if left_s < 1.0 { "almost done".to_string() } else { format!("{} left", Secs(left_s.round())) }
}

/// What stands beside a bar. A narrow terminal cuts the end, so what tells least stands there.
fn message(left: &str, rate: Option<(f64, f64)>, label: &str) -> String {
    let rate = match rate {
        None => String::new(),
        Some((mb_s, iops)) => format!("  {} MB/s  {} IOPS", rounded(mb_s), rounded(iops)),
    };
    format!("{left}{rate}  {label}").trim_start().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_line_keeps_the_time_left_and_the_rate() {
        // Of 40 columns the name of the test and the bar take 23.
        let line = message(&time_left(41.6), Some((178.2, 170.0)), "seq1m_q8t1.read  2/3");
        assert_eq!(&line[..40 - 23], "42 s left  178 MB");
        assert!(line.ends_with("170 IOPS  seq1m_q8t1.read  2/3"), "{line}");
        assert_eq!(message(&time_left(0.3), None, "x"), "almost done  x");
        assert_eq!(message(&time_left(16_666.0), None, "x"), "4 h 38 min left  x");
        assert_eq!(message("", None, "x"), "x");
    }

    #[test]
    fn what_remains_follows_from_what_is_done() {
        let step = |stage, done_bytes| RollbackStep { stage, done_bytes, total_bytes: 100 };
        // Half of the writing took 5 s: the other half and the reading take 15 s more.
        assert!(
            restore_remaining(step(RollbackStage::Writing, 50), 5.0).contains("about 15 s left")
        );
        assert!(
            restore_remaining(step(RollbackStage::Verifying, 100), 20.0).contains("about 0 s left")
        );
        assert!(!restore_remaining(step(RollbackStage::Writing, 0), 0.0).contains("NaN"));
    }
}
