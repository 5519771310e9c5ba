//! The drive's own test, from its start to its result: started, watched and, if need be, ended through smartctl.

use crate::error::BenchError;
use drivescope_drive::Target;
use drivescope_machine::list::SelfTestStatus;
use drivescope_model::health::{Health, SelfTest};
use drivescope_model::options::{SelfTestLength, SelfTestOptions};
use drivescope_model::units::Secs;

/// A drive may take longer than it announces, and much longer while it is used.
const LATE: f64 = 2.0;
const WAIT_MIN_S: f64 = 600.0;
/// A drive is asked after a tenth of the time that has passed, within these bounds: often enough for people, and
/// seldom beside hours.
const ASK_SHARE: f64 = 0.1;
const ASK_MIN_S: f64 = 0.5;
const ASK_MAX_S: f64 = 30.0;
/// After three calls without an answer the drive counts as gone.
const SILENT_MAX: u32 = 3;
/// A drive may show the test a moment after it was ordered.
const START_S: f64 = 5.0;

/// A drive that can test itself.
pub(super) trait TestedDrive {
    /// Errors: why nothing is known of its tests.
    fn status(&self) -> Result<SelfTestStatus, String>;
    /// Errors: why it does not begin.
    fn start(&self, length: SelfTestLength) -> Result<(), String>;
    /// One that cannot be ended runs on, which harms nothing.
    fn abort(&self);
}

impl TestedDrive for Target {
    fn status(&self) -> Result<SelfTestStatus, String> {
        self.self_tests()
    }

    fn start(&self, length: SelfTestLength) -> Result<(), String> {
        self.start_self_test(length).map_err(|error| error.to_string())
    }

    fn abort(&self) {
        let _ = self.abort_self_test();
    }
}

/// What passes between two looks at the drive.
pub(super) trait WaitingForTest {
    fn now_s(&self) -> f64;
    /// Errors: the run is to end.
    fn pause_s(&self, seconds: f64) -> Result<(), BenchError>;
    fn show(&self, done: f64, left_s: Option<f64>);
}

/// Starts the drive's test, or takes the one that is running, and waits for its end. `planned_s`: how long it takes
/// where the drive announces nothing.
/// Errors: interrupted, or the drive refuses. A test that was started here is ended with the run.
pub(super) fn run(
    drive: &dyn TestedDrive,
    waiting: &dyn WaitingForTest,
    options: &SelfTestOptions,
    planned_s: f64,
) -> Result<SelfTest, BenchError> {
    let before = drive.status().map_err(BenchError::Unsuitable)?;
    if before.has_none {
        return Err(BenchError::Unsuitable("this drive has no self-tests".to_string()));
    }
    let is_ours = before.left_pct.is_none();
    if is_ours {
        drive.start(options.length).map_err(BenchError::Unsuitable)?;
    }
    let announced_s = match options.length {
        SelfTestLength::Short => before.short_s,
        SelfTestLength::Long => before.long_s,
    };
    let expected_s = announced_s.map_or(planned_s, |seconds| seconds as f64);
    let wait_s = match options.wait.0 {
        0.0 => (expected_s * LATE).max(WAIT_MIN_S),
        asked => asked,
    };
    let ended = wait(drive, waiting, &before, (expected_s, wait_s));
    if is_ours && matches!(ended, Err(_) | Ok(Ended::TooLate(_))) {
        drive.abort();
    }
    let was_ended = if is_ours { ", ended" } else { "" };
    Ok(match ended? {
        Ended::InLog(mut test) => {
            if !is_ours {
                test.result.push_str(" (the test was running already)");
            }
            test
        }
        Ended::TooLate(waited_s) => {
            let waited = Secs(waited_s);
            without_result(options, format!("still running after {waited}{was_ended}"))
        }
        Ended::NotInLog => without_result(options, "the drive's log has no result".to_string()),
        Ended::Silent(why) => without_result(options, format!("the drive fell silent: {why}")),
    })
}

enum Ended {
    /// As the drive's log says.
    InLog(SelfTest),
    /// It is still running after these seconds.
    TooLate(f64),
    NotInLog,
    Silent(String),
}

/// Asks the drive until its test has ended.
fn wait(
    drive: &dyn TestedDrive,
    waiting: &dyn WaitingForTest,
    before: &SelfTestStatus,
    (expected_s, wait_s): (f64, f64),
) -> Result<Ended, BenchError> {
    let start_s = waiting.now_s();
    let (mut silent, mut was_seen) = (0, false);
    loop {
        let elapsed_s = waiting.now_s() - start_s;
        waiting.pause_s((elapsed_s * ASK_SHARE).clamp(ASK_MIN_S, ASK_MAX_S))?;
        let status = match drive.status() {
            Ok(status) => status,
            Err(why) => {
                silent += 1;
                if silent >= SILENT_MAX {
                    let why = why.strip_prefix("health: ").unwrap_or(&why).to_string();
                    return Ok(Ended::Silent(why));
                }
                continue;
            }
        };
        silent = 0;
        if let Some(left_pct) = status.left_pct {
            was_seen = true;
            if elapsed_s >= wait_s {
                return Ok(Ended::TooLate(elapsed_s));
            }
            // Drives count in steps of ten percent.
            let (by_drive, by_time) =
                (1.0 - left_pct as f64 / 100.0, elapsed_s / expected_s.max(1.0));
            let done = if by_time < by_drive + 0.1 { by_time.max(by_drive) } else { by_drive };
            waiting.show(done, (elapsed_s < expected_s).then_some(expected_s - elapsed_s));
            continue;
        }
        match newest(&before.health, &status.health) {
            Some(test) => return Ok(Ended::InLog(test.clone())),
            None if was_seen || elapsed_s > START_S => return Ok(Ended::NotInLog),
            None => {}
        }
    }
}

/// The newest test of a log that has changed: it may equal the one before, of the same hour.
fn newest<'h>(before: &Health, now: &'h Health) -> Option<&'h SelfTest> {
    now.self_tests.first().filter(|_| before.self_tests != now.self_tests)
}

fn without_result(options: &SelfTestOptions, result: String) -> SelfTest {
    let kind = match options.length {
        SelfTestLength::Short => "Short",
        SelfTestLength::Long => "Extended",
    };
    SelfTest {
        kind: kind.to_string(),
        result,
        passed: None,
        power_on_hours: None,
        first_bad_sector: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// A drive whose test takes ten minutes of virtual time and ends with a result.
    struct Scripted {
        now_s: Cell<f64>,
        began_s: Cell<Option<f64>>,
        result: &'static str,
        takes_s: f64,
        refuses: Option<&'static str>,
        /// From then on it does not answer, or the user ends the run.
        silent_s: f64,
        stop_s: f64,
        orders: RefCell<Vec<&'static str>>,
        shown: Cell<f64>,
    }

    fn scripted() -> Scripted {
        Scripted {
            now_s: Cell::new(0.0),
            began_s: Cell::new(None),
            result: "Completed without error",
            takes_s: 600.0,
            refuses: None,
            silent_s: f64::INFINITY,
            stop_s: f64::INFINITY,
            orders: RefCell::new(Vec::new()),
            shown: Cell::new(0.0),
        }
    }

    fn entry(result: &str, hours: u64) -> SelfTest {
        let passed = match result {
            "Completed without error" => Some(true),
            "Completed: read failure" => Some(false),
            _ => None,
        };
        SelfTest {
            kind: "Short offline".to_string(),
            result: result.to_string(),
            passed,
            power_on_hours: Some(hours),
            first_bad_sector: (passed == Some(false)).then_some(4711),
        }
    }

    impl TestedDrive for Scripted {
        fn status(&self) -> Result<SelfTestStatus, String> {
            let now_s = self.now_s.get();
            if now_s >= self.silent_s {
                return Err("health: smartctl did not end within 20 s; see dmesg".to_string());
            }
            let end_s = self.began_s.get().map(|began_s| began_s + self.takes_s);
            let mut self_tests = vec![entry("Completed without error", 7)];
            if end_s.is_some_and(|end_s| now_s >= end_s) && !self.result.is_empty() {
                self_tests.insert(0, entry(self.result, 7));
            }
            let left = end_s.filter(|end_s| now_s < *end_s).map(|end_s| end_s - now_s);
            Ok(SelfTestStatus {
                health: Health { self_tests, ..Health::default() },
                left_pct: left.map(|left_s| (left_s / self.takes_s * 10.0).ceil() as u64 * 10),
                short_s: Some(120),
                long_s: Some(600),
                has_none: false,
            })
        }

        fn start(&self, _length: SelfTestLength) -> Result<(), String> {
            self.orders.borrow_mut().push("start");
            self.began_s.set(Some(self.now_s.get()));
            self.refuses.map_or(Ok(()), |why| Err(why.to_string()))
        }

        fn abort(&self) {
            self.orders.borrow_mut().push("abort");
        }
    }

    impl WaitingForTest for Scripted {
        fn now_s(&self) -> f64 {
            self.now_s.get()
        }

        fn pause_s(&self, seconds: f64) -> Result<(), BenchError> {
            self.now_s.set(self.now_s.get() + seconds);
            if self.now_s.get() < self.stop_s { Ok(()) } else { Err(BenchError::Interrupted) }
        }

        fn show(&self, done: f64, _left_s: Option<f64>) {
            assert!((0.0..1.0).contains(&done), "{done}");
            self.shown.set(done.max(self.shown.get()));
        }
    }

    fn run_on(drive: &Scripted) -> Result<SelfTest, String> {
        let options = SelfTestOptions { length: SelfTestLength::Long, wait: Secs(0.0) };
        run(drive, drive, &options, 1.0).map_err(|error| error.to_string())
    }

    #[test]
    fn result_is_the_new_entry_of_the_log() {
        for (result, passed) in [
            ("Completed without error", Some(true)),
            ("Completed: read failure", Some(false)),
            ("Aborted by host", None),
            ("Interrupted (host reset)", None),
        ] {
            let drive = Scripted { result, ..scripted() };
            let ended = run_on(&drive).unwrap();
            assert_eq!((&ended, ended.passed), (&entry(result, 7), passed), "{result}");
            assert!(drive.shown.get() > 0.8, "progress up to {}", drive.shown.get());
            assert_eq!(drive.orders.borrow()[0], "start");
            assert!(!drive.orders.borrow().contains(&"abort"));
        }
    }

    #[test]
    fn running_test_is_waited_for_and_never_ended() {
        let drive = Scripted { began_s: Cell::new(Some(-300.0)), ..scripted() };
        let result = run_on(&drive).unwrap();
        assert_eq!(result.result, "Completed without error (the test was running already)");
        let stopped = Scripted { began_s: Cell::new(Some(0.0)), stop_s: 30.0, ..scripted() };
        assert_eq!(run_on(&stopped), Err("interrupted".to_string()));
        assert!(drive.orders.borrow().is_empty() && stopped.orders.borrow().is_empty());
    }

    #[test]
    fn interrupted_run_ends_the_test_it_started() {
        let drive = Scripted { stop_s: 30.0, ..scripted() };
        assert_eq!(run_on(&drive), Err("interrupted".to_string()));
        assert_eq!(*drive.orders.borrow(), ["start", "abort"]);
    }

    #[test]
    fn endless_silent_and_unlogged_tests_have_no_result() {
        let endless = Scripted { takes_s: 1e9, ..scripted() };
        let late = run_on(&endless).unwrap();
        assert!(
            late.passed.is_none() && late.result.starts_with("still running after 20"),
            "{late:?}"
        );
        assert_eq!(*endless.orders.borrow(), ["start", "abort"]);
        let silent = run_on(&Scripted { silent_s: 60.0, ..scripted() }).unwrap();
        assert_eq!(
            silent.result,
            "the drive fell silent: smartctl did not end within 20 s; see dmesg"
        );
        let unlogged = run_on(&Scripted { result: "", ..scripted() }).unwrap();
        assert_eq!(
            (unlogged.result.as_str(), unlogged.passed),
            ("the drive's log has no result", None)
        );
    }

    #[test]
    fn refusal_is_the_reason_of_a_skipped_test() {
        let refused = Scripted { refuses: Some("smartctl: command not supported"), ..scripted() };
        assert_eq!(run_on(&refused), Err("smartctl: command not supported".to_string()));
        let unknown = Scripted { silent_s: 0.0, ..scripted() };
        assert!(run_on(&unknown).unwrap_err().contains("did not end"));
    }

    #[test]
    fn repeated_entry_counts_if_the_log_changed() {
        fn of(hours: &[u64]) -> Health {
            Health {
                self_tests: hours
                    .iter()
                    .map(|hours| entry("Completed without error", *hours))
                    .collect(),
                ..Health::default()
            }
        }
        assert_eq!(newest(&of(&[7]), &of(&[7])), None);
        for (before, now) in [(&[7][..], &[7, 7][..]), (&[7], &[8, 7]), (&[7, 6, 5], &[7, 7, 6])] {
            assert!(newest(&of(before), &of(now)).is_some(), "{before:?} {now:?}");
        }
    }
}
