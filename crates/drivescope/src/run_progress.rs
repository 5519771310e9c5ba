//! How far a run has come: what every view of it shows in one line.

use crate::live_run::LiveRun;
use drivescope_model::event::Event;
use drivescope_model::number::rounded;
use drivescope_model::units::Secs;
use std::time::Instant;

const BAR_COLUMNS: usize = 10;

pub struct RunProgress {
    pub run: LiveRun,
    /// The test in progress, and its completed share.
    test: (&'static str, f64),
    left: Left,
    doing: Doing,
}

/// Time left, and when it was estimated; `None` if unknown.
struct Left {
    seconds: Option<f64>,
    estimated_at: Instant,
}

impl Left {
    fn as_of_now(seconds: Option<f64>) -> Self {
        Self { seconds, estimated_at: Instant::now() }
    }

    fn now(&self) -> Option<f64> {
        self.seconds.map(|seconds| seconds - self.estimated_at.elapsed().as_secs_f64())
    }
}

#[derive(Default)]
struct Doing {
    label: String,
    /// Part of the measured time, which is known beforehand.
    is_measured: bool,
    /// MB and requests per second, once known.
    rate: Option<(f64, f64)>,
}

impl RunProgress {
    pub fn new(run: LiveRun) -> Self {
        Self { run, test: ("", 0.0), left: Left::as_of_now(None), doing: Doing::default() }
    }

    pub fn hear(&mut self, event: Event) {
        match event {
            Event::TestStarted { test, seconds } => {
                self.test = (test.name(), 0.0);
                self.left = Left::as_of_now(Some(seconds));
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
                self.left = Left::as_of_now(left_s);
                self.doing.rate = Some((mb_s, iops));
            }
            Event::RoundFinished(so_far) => self.run.refine(*so_far),
            Event::TestFinished(result) => self.run.finish(*result),
        }
    }

    /// Test, bar, time left, rate, phase.
    pub fn line(&self) -> String {
        let (name, done) = self.test;
        let filled = "━".repeat((done * BAR_COLUMNS as f64) as usize);
        format!("{name}  {filled:BAR_COLUMNS$} {}", self.message())
    }

    /// As [`line`](Self::line) without the bar.
    #[cfg(feature = "web")]
    pub fn words(&self) -> String {
        format!("{}  {}", self.test.0, self.message()).trim().to_string()
    }

    #[cfg(feature = "web")]
    pub fn share(&self) -> f64 {
        self.test.1
    }

    fn message(&self) -> String {
        let left = match (self.doing.is_measured, self.left.now()) {
            (false, _) => String::new(),
            (true, Some(left_s)) => time_left(left_s),
            (true, None) => "time left unknown".to_string(),
        };
        message(&left, self.doing.rate, &self.doing.label)
    }
}

fn time_left(left_s: f64) -> String {
    if left_s < 1.0 { "almost done".to_string() } else { format!("{} left", Secs(left_s.round())) }
}

/// Text beside a bar, the least important at its end: a narrow terminal cuts it.
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
    fn narrow_line_keeps_time_left_and_rate() {
        // Of 40 columns the name of the test and the bar take 23.
        let line = message(&time_left(41.6), Some((178.2, 170.0)), "seq1m_q8t1.read  2/3");
        assert_eq!(&line[..40 - 23], "42 s left  178 MB");
        assert!(line.ends_with("170 IOPS  seq1m_q8t1.read  2/3"), "{line}");
        assert_eq!(message(&time_left(0.3), None, "x"), "almost done  x");
        assert_eq!(message(&time_left(16_666.0), None, "x"), "4 h 38 min left  x");
        assert_eq!(message("", None, "x"), "x");
    }
}
