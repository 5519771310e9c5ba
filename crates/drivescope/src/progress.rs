//! A listener for people: how far the run is, and on a terminal what it has measured, drawn anew in the same place.

use crate::exit::{Failure, no_thread};
use crate::live_run::LiveRun;
use crate::output;
use crate::run_progress::RunProgress;
use drivescope_drive::journal::{RollbackStage, RollbackStep};
use drivescope_model::event::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

const STEPS: u64 = 1000;
/// More updates a second cannot be read.
const DRAWN_HZ: u8 = 4;

/// Listens until the senders are gone; with `shown`, progress is displayed. Errors: no thread may be started.
pub fn listen(events: Receiver<Event>, shown: Option<LiveRun>) -> Result<JoinHandle<()>, Failure> {
    let listener = std::thread::Builder::new().spawn(move || {
        let mut view = shown.map(Bar::new);
        for event in events {
            if let Some(view) = &mut view {
                view.hear(event);
            }
        }
        if let Some(view) = view {
            view.clear();
        }
    });
    listener.map_err(|error| Failure::usage(no_thread(&error)))
}

/// The progress bar of `restore` on standard error, if that is a terminal.
pub struct RestoreBar(ProgressBar);

impl RestoreBar {
    /// Hidden before the first step.
    pub fn new() -> Self {
        let target = if output::is_watched() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        let template = "{prefix:11} {bar:10} {percent:>3} %  {eta} left";
        let style = ProgressStyle::with_template(template).expect("a constant template is valid");
        bar.set_style(style.progress_chars(&output::shown("━╸ ")));
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

    pub fn clear(&self) {
        output::shares_with(None);
        self.0.finish_and_clear();
    }
}

/// The answer to a signal: the drive would be left half restored.
pub fn restore_remaining(step: RollbackStep, elapsed_s: f64) -> String {
    let total = step.total_bytes as f64 * 2.0;
    let before = if step.stage == RollbackStage::Verifying { step.total_bytes } else { 0 };
    let done = (before + step.done_bytes) as f64;
    let left_s = elapsed_s * (total - done) / done.max(1.0);
    format!("restoring the drive must finish first; about {} s left", left_s.ceil())
}

/// A line of progress with the tables below.
struct Bar {
    bar: ProgressBar,
    state: RunProgress,
}

impl Bar {
    fn new(run: LiveRun) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(DRAWN_HZ);
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg}").expect("a constant template is valid"));
        output::shares_with(Some(bar.clone()));
        Self { bar, state: RunProgress::new(run) }
    }

    fn hear(&mut self, event: Event) {
        self.state.hear(event);
        let text = self.state.run.text(&self.state.line());
        self.bar.set_message(output::shown(&text));
    }

    fn clear(&self) {
        output::shares_with(None);
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_follows_from_progress() {
        fn step(stage: RollbackStage, done_bytes: u64) -> RollbackStep {
            RollbackStep { stage, done_bytes, total_bytes: 100 }
        }
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
