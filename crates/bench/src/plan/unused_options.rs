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

    fn of_test(number: usize) -> Overrides {
        let text = || Some(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").to_string());
        let none = Overrides::default;
        match number {
            0 => Overrides { databases: vec!["sqlite".into()], ..none() },
            1 => Overrides { query: text(), ..none() },
            2 => Overrides { files: text(), ..none() },
            3 => Overrides { from: text(), ..none() },
            4 => Overrides { keep: true, ..none() },
            _ => Overrides { settings: vec!["verify.mode=full".into()], ..none() },
        }
    }

    #[test]
    fn database_and_copy_options_select_their_tests() {
        for (number, test) in
            [(0, TestKind::Sql), (1, TestKind::Sql), (2, TestKind::Copy), (3, TestKind::Copy)]
        {
            assert_eq!(adapted("quick", &of_test(number)), Ok(vec![test]), "{number}");
        }
        let both = Overrides { from: Some("/somewhere".into()), ..of_test(0) };
        assert_eq!(adapted("quick", &both), Ok(vec![TestKind::Copy, TestKind::Sql]));
    }

    #[test]
    fn options_of_unplanned_tests_are_refused() {
        let refused = |suite, overrides| adapted(suite, &overrides).unwrap_err();
        assert_eq!(
            refused("quick", of_test(4)),
            "--keep is an option of fill-files, which is not among the tests; add --test fill-files"
        );
        let error = refused("quick", of_test(5));
        assert!(error.starts_with("--set verify.mode is an option of verify,"), "{error}");
        assert!(refused("standard", of_test(0)).ends_with("; add --test sql"));
        let beside = Overrides { tests: vec!["latency".into()], ..of_test(3) };
        assert!(refused("quick", beside).ends_with("; add --test latency,copy"));
        let cells = Overrides { cells: vec!["rnd4k_q1t1.read".into()], ..Overrides::default() };
        assert!(refused("zcav", cells).starts_with("--cells is an option of transfer"));
    }

    #[test]
    fn options_of_planned_tests_stay() {
        assert_eq!(adapted("techhabit-copies", &of_test(3)), Ok(vec![TestKind::Copy]));
        let full = Overrides { tests: vec!["verify".into()], ..of_test(5) };
        assert_eq!(adapted("quick", &full), Ok(vec![TestKind::Verify]));
        for (test, setting) in [
            (TestKind::ReadFiles, "fill-files.size=1MiB"),
            (TestKind::Steady, "apps.traces=['word']"),
        ] {
            let settings = vec![setting.to_string(), "rounds=6".to_string()];
            let tests = vec![test.name().to_string()];
            let borrowed = Overrides { tests, settings, ..Overrides::default() };
            assert_eq!(adapted("quick", &borrowed), Ok(vec![test]));
        }
        let tests = vec!["tests=['verify']".to_string(), "verify.mode=full".to_string()];
        let set = Overrides { settings: tests, ..Overrides::default() };
        assert_eq!(adapted("quick", &set), Ok(vec![TestKind::Verify]));
    }
}
