//! Shortens our own suites for a drive that is much slower than its kind: fewer bytes first, then fewer rounds.

use crate::plan::expected_speed::ExpectedSpeed;
use crate::plan::time_limit::time_limit_s;
use crate::workloads;
use drivescope_model::number::rounded;
use drivescope_model::options::Suite;
use drivescope_model::units::Bytes;

/// Below this share of the figures of its kind, a drive is slow. Plans for other drives do not depend on a trial.
const SLOW_SHARE: f64 = 0.25;
/// Smallest useful test file: sixteen blocks of the largest cell.
const SIZE_MIN: Bytes = Bytes::mib(16);

impl ExpectedSpeed {
    /// The speed to plan with: `measured` in a trial, if it is much slower than these typical figures.
    pub(crate) fn unless_slow(self, measured: Option<Self>) -> Option<Self> {
        let measured = measured?;
        let is_slow =
            measured.mb_s < self.mb_s * SLOW_SHARE || measured.iops < self.iops * SLOW_SHARE;
        is_slow.then(|| Self {
            mb_s: measured.mb_s.min(self.mb_s),
            iops: measured.iops.min(self.iops),
            ..self
        })
    }
}

/// The suite, shortened to fit into the limit over `usual_s`, and the changes in words; `None` where it fits as it
/// is. `seconds` plans a suite on this drive.
pub(crate) fn shortened<E>(
    suite: &Suite,
    usual_s: f64,
    speed: ExpectedSpeed,
    has_test_file: bool,
    seconds: impl Fn(&Suite) -> Result<f64, E>,
) -> Result<Option<(Suite, String)>, E> {
    let limit_s = time_limit_s(usual_s);
    let mut short = suite.clone();
    while seconds(&short)? > limit_s && shorten(&mut short, has_test_file) {}
    Ok((short != *suite).then(|| (short.clone(), words(suite, &short, speed))))
}

/// Takes one step; `false` if none is left.
fn shorten(suite: &mut Suite, has_test_file: bool) -> bool {
    // The time of other tests does not depend on bytes and rounds.
    if !suite.tests.iter().any(|&test| workloads::find(test).needs_test_file()) {
        return false;
    }
    if has_test_file && suite.size.0 > SIZE_MIN.0 {
        suite.size = Bytes((suite.size.0 / 2).max(SIZE_MIN.0));
        suite.tiny_writes.size = suite.tiny_writes.size.min(suite.size);
        return true;
    }
    let tests = suite.tests.clone();
    if tests.iter().any(|&test| workloads::find(test).shorten(suite, has_test_file)) {
        return true;
    }
    let has_rounds = suite.rounds > 1;
    suite.rounds = (suite.rounds / 2).max(1);
    has_rounds
}

fn words(whole: &Suite, short: &Suite, speed: ExpectedSpeed) -> String {
    let mut changes = Vec::new();
    let mut note = |what: &str, is: String, was: String| {
        if is != was {
            changes.push(format!("{what} {is} instead of {was}"));
        }
    };
    note("test file", short.size.binary(), whole.size.binary());
    note("samples of", short.surface.sample.binary(), whole.surface.sample.binary());
    note("samples", short.surface.samples.to_string(), whole.surface.samples.to_string());
    note("accesses", short.surface.accesses.to_string(), whole.surface.accesses.to_string());
    note("tiny writes", short.tiny_writes.writes.to_string(), whole.tiny_writes.writes.to_string());
    note("rounds", short.rounds.to_string(), whole.rounds.to_string());
    let speed = format!("{} MB/s and {} requests/s", rounded(speed.mb_s), rounded(speed.iops));
    format!(
        "parts that take too long on this slow drive ({speed} in a trial): {}",
        changes.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner;
    use crate::suites;
    use crate::testing::{run_target, scratch};
    use drivescope_model::plan::{Engine, Plan, WriteLevel};
    use std::path::Path;

    fn slow(mb_s: f64, iops: f64) -> Option<ExpectedSpeed> {
        Some(ExpectedSpeed { mb_s, iops, queue_gain: 1.0 })
    }

    fn plan_of(path: &Path, suite: &str, measured: Option<ExpectedSpeed>) -> Plan {
        let suite = suites::find(suite, None).unwrap();
        let (target, level) = (run_target(path), WriteLevel::Read);
        planner::draft_measured(suite, 1, Engine::Auto, &target, (false, measured), level).unwrap()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fn slow_drive_plan_fits_twice_the_usual_time() {
        let dir = scratch();
        let file = dir.path().join("file");
        std::fs::File::create(&file).unwrap().set_len(4 << 30).unwrap();
        for (path, mb_s) in [(dir.path(), 5.0), (dir.path(), 1.0), (&file, 5.0), (&file, 1.0)] {
            let usual = plan_of(path, "quick", None);
            let plan = plan_of(path, "quick", slow(mb_s, mb_s * 250.0));
            let (seconds, usual_s) = (plan.cost().seconds, usual.cost().seconds);
            // At 1 MB/s the 8 MiB in flight of one cell take eight seconds.
            let most_s = (usual_s * 2.0 + 20.0).max(120.0);
            assert!(seconds <= most_s, "{seconds} s, usually {usual_s}");
            let said = plan.tests.iter().flat_map(|test| &test.omitted);
            assert_eq!(said.filter(|line| line.contains("instead of")).count(), 1, "{plan:?}");
        }
    }

    #[test]
    fn fast_drives_and_foreign_methods_keep_plans() {
        let dir = scratch();
        let usual = plan_of(dir.path(), "quick", None);
        assert_eq!(plan_of(dir.path(), "quick", slow(1e4, 1e6)), usual);
        let method = plan_of(dir.path(), "crystaldiskmark", None);
        let slow = plan_of(dir.path(), "crystaldiskmark", slow(1.0, 100.0));
        assert_eq!(slow.suite, method.suite);
        assert!(slow.cost().seconds > method.cost().seconds, "the plan shows the longer time");
    }
}
