//! Options that belong to one test: they ask for it, or are refused where it is not planned.

use crate::plan::overrides::Overrides;
use crate::workload::Workload;
use crate::workloads::{self, WORKLOADS};
use drivescope_model::options::{Suite, TestKind};

/// The suite of a command that names none: there an option of one test asks for that test.
const DEFAULT_SUITE: &str = "quick";

/// Makes options such as `--db` ask for their tests, where neither tests nor a suite are named.
pub(crate) fn add_implied_tests(overrides: &Overrides, suite: &mut Suite) {
    if !overrides.tests.is_empty() || suite.name != DEFAULT_SUITE {
        return;
    }
    let is_implied = |workload: &&&dyn Workload| {
        let mut given = workload.given_options(overrides).into_iter();
        !suite.tests.contains(&workload.kind()) && given.any(|option| option.implies_test)
    };
    let implied = WORKLOADS.iter().filter(is_implied).map(|workload| workload.kind());
    let implied: Vec<TestKind> = implied.collect();
    if !implied.is_empty() {
        suite.tests = implied;
    }
}

/// Refuses an option of a test that is not planned: it would have no effect.
pub(crate) fn check(overrides: &Overrides, suite: &Suite) -> Result<(), String> {
    let planned = || suite.tests.iter().map(|&test| workloads::find(test));
    let is_used = |test: TestKind| {
        planned().any(|it| it.kind() == test || it.borrows_options_of() == Some(test))
    };
    let settings = overrides.settings.iter().filter_map(|setting| {
        let path = setting.split('=').next().unwrap_or(setting);
        let test = path.split('.').next().unwrap_or(path);
        let test = TestKind::ALL.into_iter().find(|known| known.name() == test)?;
        Some((format!("--set {path}"), test))
    });
    let options = WORKLOADS.iter().flat_map(|workload| {
        let given = workload.given_options(overrides).into_iter();
        given.map(|option| (option.name.to_string(), workload.kind()))
    });
    let Some((option, test)) = options.chain(settings).find(|(_, test)| !is_used(*test)) else {
        return Ok(());
    };
    let tests = overrides.tests.iter().map(String::as_str).chain([test.name()]);
    let tests = tests.collect::<Vec<_>>().join(",");
    Err(format!(
        "{option} is an option of {test}, which is not among the tests; add --test {tests}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites;

    fn adapted(suite: &str, overrides: &Overrides) -> Result<Vec<TestKind>, String> {
        let suite = suites::find(suite, None).unwrap();
        suites::adapt(suite, overrides).map(|suite| suite.tests).map_err(|error| error.to_string())
    }

    fn with(change: impl FnOnce(&mut Overrides)) -> Overrides {
        let mut overrides = Overrides::default();
        change(&mut overrides);
        overrides
    }

    fn file() -> Option<String> {
        Some(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").to_string())
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn database_and_copy_options_select_their_tests() {
        for (overrides, tests) in [
            (with(|it| it.databases = words(&["sqlite"])), vec![TestKind::Sql]),
            (with(|it| it.query = file()), vec![TestKind::Sql]),
            (with(|it| it.files = file()), vec![TestKind::Copy]),
            (with(|it| it.from = file()), vec![TestKind::Copy]),
            (
                with(|it| (it.databases, it.from) = (words(&["sqlite"]), file())),
                vec![TestKind::Copy, TestKind::Sql],
            ),
        ] {
            assert_eq!(adapted("quick", &overrides), Ok(tests), "{overrides:?}");
        }
    }

    #[test]
    fn options_of_unplanned_tests_are_refused() {
        fn refused(suite: &str, overrides: Overrides) -> String {
            adapted(suite, &overrides).unwrap_err()
        }
        assert_eq!(
            refused("quick", with(|it| it.keep = true)),
            "--keep is an option of fill-files, which is not among the tests; add --test fill-files"
        );
        let error = refused("quick", with(|it| it.settings = words(&["verify.mode=full"])));
        assert!(error.starts_with("--set verify.mode is an option of verify,"), "{error}");
        let database = with(|it| it.databases = words(&["sqlite"]));
        assert!(refused("standard", database).ends_with("; add --test sql"));
        let beside = with(|it| (it.tests, it.from) = (words(&["latency"]), file()));
        assert!(refused("quick", beside).ends_with("; add --test latency,copy"));
        let cells = with(|it| it.cells = words(&["rnd4k_q1t1.read"]));
        assert!(refused("zcav", cells).starts_with("--cells is an option of transfer"));
    }

    #[test]
    fn options_of_planned_tests_stay() {
        let from = with(|it| it.from = file());
        assert_eq!(adapted("techhabit-copies", &from), Ok(vec![TestKind::Copy]));
        for (tests, settings, planned) in [
            (&["verify"][..], &["verify.mode=full"][..], TestKind::Verify),
            (&["read-files"], &["fill-files.size=1MiB", "rounds=6"], TestKind::ReadFiles),
            (&["steady"], &["apps.traces=['word']", "rounds=6"], TestKind::Steady),
            (&[], &["tests=['verify']", "verify.mode=full"], TestKind::Verify),
        ] {
            let overrides = with(|it| (it.tests, it.settings) = (words(tests), words(settings)));
            assert_eq!(adapted("quick", &overrides), Ok(vec![planned]), "{settings:?}");
        }
    }
}
