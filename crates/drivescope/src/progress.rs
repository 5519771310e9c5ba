//! A listener for people: a progress bar per test on standard error, and each test's table on standard
//! output as soon as the test is over.

use crate::output;
use drivescope_drive::journal::{RollbackStage, RollbackStep};
use drivescope_model::event::Event;
use drivescope_model::units::Secs;
use drivescope_report::text;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Resolution of the bar.
const STEPS: u64 = 1000;

/// What the listener shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Bars, on standard error.
    pub bars: bool,
    /// Tables, on standard output.
    pub tables: bool,
    /// An empty line before the first table, which something stands above.
    pub gap: bool,
}

/// Listens until the senders are gone. Errors: no thread may be started.
pub fn listen(events: Receiver<Event>, shown: Shown) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().spawn(move || {
        let mut bar = Bar::hidden();
        let mut gap = shown.gap;
        for event in events {
            match event {
                Event::TestStarted { test, seconds } if shown.bars => {
                    bar = Bar::new(test.name(), seconds);
                }
                Event::Preparing { what } => bar.say(&what, false),
                Event::PhaseStarted { label, round, rounds } => {
                    bar.say(&format!("{label}  {round}/{rounds}"), true);
                }
                Event::Progress { done, left_s, mb_s, iops } => {
                    bar.progress(done, Left::told(left_s), (mb_s, iops));
                }
                Event::TestFinished(result) => {
                    bar.clear();
                    if shown.tables {
                        let table = text::test_result(&result, output::style());
                        let before = if std::mem::replace(&mut gap, true) { "\n" } else { "" };
                        output::print_line(&format!("{before}{table}"));
                    }
                }
                Event::TestStarted { .. } | Event::RoundFinished(_) => {}
            }
        }
        bar.clear();
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

struct Bar {
    bar: ProgressBar,
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
    fn hidden() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self { bar, left: Left::told(None), doing: Doing::default() }
    }

    fn new(test: &str, expected_s: f64) -> Self {
        let bar =
            ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(10));
        let template = "{prefix:11} {bar:10} {wide_msg}";
        let style = ProgressStyle::with_template(template).expect("a constant template is valid");
        bar.set_style(style.progress_chars("━╸ "));
        bar.set_prefix(test.to_string());
        bar.enable_steady_tick(Duration::from_millis(250));
        output::shares_with(Some(bar.clone()));
        Self { bar, left: Left::told(Some(expected_s)), doing: Doing::default() }
    }

    /// What happens from now on; the rate of what was before no longer belongs to it.
    fn say(&mut self, label: &str, is_measured: bool) {
        self.doing = Doing { label: label.to_string(), is_measured, rate: None };
        self.refresh();
    }

    fn progress(&mut self, done: f64, left: Left, rate: (f64, f64)) {
        self.bar.set_position((done * STEPS as f64) as u64);
        self.left = left;
        self.doing.rate = Some(rate);
        self.refresh();
    }

    fn refresh(&self) {
        let left = match (self.doing.is_measured, self.left.now()) {
            (false, _) => String::new(),
            (true, Some(left_s)) => time_left(left_s),
            (true, None) => "time left unknown".to_string(),
        };
        self.bar.set_message(message(&left, self.doing.rate, &self.doing.label));
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
        Some((mb_s, iops)) if mb_s >= 10.0 => format!("  {mb_s:.0} MB/s  {iops:.0} IOPS"),
        Some((mb_s, iops)) => format!("  {mb_s:.2} MB/s  {iops:.0} IOPS"),
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
