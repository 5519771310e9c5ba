//! How far a run has come: what every view of it shows in one line.

use crate::live_run::LiveRun;
use drivescope_model::event::Event;
use drivescope_model::number::rounded;
use drivescope_model::options::TestKind;
use drivescope_model::plan::{Engine, PlannedTest};
use drivescope_model::units::Secs;
use std::time::Instant;

const BAR_COLUMNS: usize = 10;

pub struct RunProgress {
    pub run: LiveRun,
    plan: Vec<PlannedTime>,
    /// The test in progress, and its completed share.
    current: Option<(TestKind, f64)>,
    left: Left,
    doing: Doing,
    /// A simulated drive's seconds are not the viewer's.
    is_virtual: bool,
}

/// What a test takes by the plan.
struct PlannedTime {
    test: TestKind,
    seconds: f64,
    is_over: bool,
}

/// Time left for the test in progress, and when it was estimated; `None` if it is overdue.
struct Left {
    seconds: Option<f64>,
    estimated_at: Instant,
}

impl Left {
    fn as_of_now(seconds: Option<f64>) -> Self {
        Self { seconds, estimated_at: Instant::now() }
    }

    fn now(&self) -> Option<f64> {
        let elapsed_s = self.estimated_at.elapsed().as_secs_f64();
        self.seconds.map(|seconds| (seconds - elapsed_s).max(0.0))
    }
}

#[derive(Default)]
struct Doing {
    label: String,
    /// MB and requests per second, once known.
    rate: Option<(f64, f64)>,
}

impl RunProgress {
    pub fn new(run: LiveRun) -> Self {
        let plan = &run.run().plan;
        let time = |planned: &PlannedTest| PlannedTime {
            test: planned.test,
            seconds: planned.cost.seconds,
            is_over: false,
        };
        Self {
            plan: plan.active().map(time).collect(),
            is_virtual: plan.engine == Engine::Sim,
            current: None,
            left: Left::as_of_now(Some(0.0)),
            doing: Doing::default(),
            run,
        }
    }

    pub fn hear(&mut self, event: Event) {
        match event {
            Event::TestStarted { test, seconds } => {
                self.current = Some((test, 0.0));
                self.left = Left::as_of_now(Some(seconds));
                self.doing = Doing::default();
            }
            // The rate of what was before no longer belongs to it.
            Event::Preparing { what } => self.doing = Doing { label: what, rate: None },
            Event::PhaseStarted { label, round, rounds } => {
                let label = format!("{label}  {round}/{rounds}");
                self.doing = Doing { label, rate: None };
            }
            Event::Progress { done, left_s, mb_s, iops } => {
                if let Some((_, share)) = &mut self.current {
                    *share = done;
                }
                self.left = Left::as_of_now(left_s);
                self.doing.rate = Some((mb_s, iops));
            }
            Event::RoundFinished(so_far) => self.run.refine(*so_far),
            Event::TestFinished(result) => {
                let over = self.plan.iter_mut().find(|planned| planned.test == result.test);
                over.into_iter().for_each(|planned| planned.is_over = true);
                (self.current, self.left) = (None, Left::as_of_now(Some(0.0)));
                self.run.finish(*result);
            }
        }
    }

    /// Test, bar of the run, its time left, rate, phase.
    pub fn line(&self) -> String {
        let filled = "━".repeat((self.share() * BAR_COLUMNS as f64) as usize);
        format!("{}  {filled:BAR_COLUMNS$} {}", self.test_name(), self.message())
    }

    /// As [`line`](Self::line) without the bar.
    pub fn words(&self) -> String {
        format!("{}  {}", self.test_name(), self.message()).trim().to_string()
    }

    fn test_name(&self) -> &'static str {
        self.current.map_or("", |(test, _)| test.name())
    }

    /// Share of the whole run that is done, 0–1, by the planned times.
    pub fn share(&self) -> f64 {
        let all_s: f64 = self.plan.iter().map(|planned| planned.seconds).sum();
        let done_s = self.plan.iter().map(|planned| match self.current {
            _ if planned.is_over => planned.seconds,
            Some((test, done)) if test == planned.test => planned.seconds * done,
            _ => 0.0,
        });
        (done_s.sum::<f64>() / all_s.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }

    fn message(&self) -> String {
        let left = if self.is_virtual { String::new() } else { self.whole_left(self.left.now()) };
        message(&left, self.doing.rate, &self.doing.label)
    }

    /// Of the whole run: what is left of this test, and the tests after it.
    fn whole_left(&self, of_test_s: Option<f64>) -> String {
        let is_current = |test| self.current.is_some_and(|(current, _)| current == test);
        let later = self.plan.iter().filter(|it| !it.is_over && !is_current(it.test));
        let later_s = later.map(|planned| planned.seconds).sum::<f64>();
        match of_test_s {
            Some(left_s) => time_left(left_s + later_s),
            None if later_s >= 1.0 => format!("more than {}", time_left(later_s)),
            None => "longer than planned".to_string(),
        }
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

    #[test]
    fn one_countdown_covers_the_whole_run() {
        let text = include_str!("../../../docs/examples/run.json");
        let mut run: drivescope_model::Run = serde_json::from_str(text).unwrap();
        let results = std::mem::take(&mut run.tests);
        let [first, second] = [0, 1].map(|i| run.plan.active().nth(i).unwrap().test);
        for planned in &mut run.plan.tests {
            planned.cost.seconds = match planned.test {
                test if test == first => 40.0,
                test if test == second => 60.0,
                _ => 0.0,
            };
        }
        let mut progress = RunProgress::new(LiveRun::new(run, false));
        assert_eq!(progress.whole_left(Some(0.0)), "1 min 40 s left", "before the first test");
        progress.hear(Event::TestStarted { test: first, seconds: 40.0 });
        assert_eq!(progress.whole_left(Some(40.0)), "1 min 40 s left");
        assert!(progress.left.seconds == Some(40.0));
        progress.hear(Event::Progress { done: 0.5, left_s: Some(20.0), mb_s: 1.0, iops: 1.0 });
        assert_eq!(progress.whole_left(progress.left.seconds), "80 s left");
        assert!((progress.share() - 0.2).abs() < 1e-9);
        assert_eq!(progress.whole_left(None), "more than 60 s left", "the test is overdue");
        let result = results.into_iter().find(|result| result.test == first).unwrap();
        progress.hear(Event::TestFinished(Box::new(result)));
        assert_eq!(progress.whole_left(progress.left.seconds), "60 s left");
        progress.hear(Event::TestStarted { test: second, seconds: 60.0 });
        assert_eq!(progress.whole_left(None), "longer than planned");
    }
}
