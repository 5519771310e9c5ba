//! What a run may write that a browser starts: the one place that decides it.

use drivescope_model::plan::Engine;
use drivescope_model::{Plan, WriteLevel};

/// The levels that a browser may ask for. No higher level: another page could send the same request, and no serial
/// number is typed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserLevel {
    Read,
    /// Files in a folder of its own, removed afterwards.
    OwnFiles,
}

impl BrowserLevel {
    pub(crate) const ALL: [Self; 2] = [Self::Read, Self::OwnFiles];

    /// The level with this name.
    ///
    /// # Errors In one line: no such level, or one that browsers may not use.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| {
            "a browser starts runs at level read or own-files only; what writes more is started with drivescope run"
                .to_string()
        })
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => WriteLevel::Read.name(),
            Self::OwnFiles => WriteLevel::OwnFiles.name(),
        }
    }

    /// Refuses a plan with a test that writes more than this level allows.
    /// Errors: in one line, with the test.
    pub(crate) fn check(self, plan: &Plan) -> Result<(), String> {
        let allowed = match self {
            Self::Read => WriteLevel::Read,
            Self::OwnFiles => WriteLevel::OwnFiles,
        };
        // In virtual time there is nothing that could be lost.
        if plan.engine == Engine::Sim {
            return Ok(());
        }
        let Some(test) = plan.active().find(|planned| planned.writes > allowed) else {
            return Ok(());
        };
        let remedy = match test.writes {
            WriteLevel::OwnFiles => "a directory is measured in files of its own: choose own-files",
            _ => "start it with drivescope run",
        };
        Err(format!("{} writes at level {}; {remedy}", test.test, test.writes.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan with tests of these levels; `true` stands for one that does not run.
    fn plan(tests: &[(&str, bool)]) -> Plan {
        let test = |(writes, is_skipped): &(&str, bool)| {
            let mut test = serde_json::json!({
                "test": "transfer", "writes": writes,
                "cost": {"seconds": 1.0, "read_bytes": 0, "written_bytes": 0},
            });
            if *is_skipped {
                test["skip"] = "cannot run".into();
            }
            test
        };
        let document = serde_json::json!({
            "suite": {"name": "x", "tests": ["transfer"]}, "seed": 1, "engine": "threads",
            "tests": tests.iter().map(test).collect::<Vec<_>>(), "own_bytes": 0,
        });
        serde_json::from_value(document).expect("it is a plan")
    }

    #[test]
    fn no_name_leads_above_own_files() {
        assert_eq!(BrowserLevel::parse("read"), Ok(BrowserLevel::Read));
        assert_eq!(BrowserLevel::parse("own-files"), Ok(BrowserLevel::OwnFiles));
        for name in ["same-bytes", "restore", "destroy", "", "Read", "own_files", "read,destroy"] {
            assert!(BrowserLevel::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn plan_that_writes_more_is_refused() {
        let levels = ["read", "own-files", "same-bytes", "restore", "destroy"];
        for (i, level) in levels.into_iter().enumerate() {
            let plan = plan(&[("read", false), (level, false)]);
            assert_eq!(BrowserLevel::Read.check(&plan).is_ok(), i == 0, "{level}");
            assert_eq!(BrowserLevel::OwnFiles.check(&plan).is_ok(), i <= 1, "{level}");
        }
        let mut simulated = plan(&[("destroy", false)]);
        simulated.engine = Engine::Sim;
        assert_eq!(BrowserLevel::Read.check(&simulated), Ok(()));
        let skipped = plan(&[("read", false), ("destroy", true)]);
        assert_eq!(BrowserLevel::Read.check(&skipped), Ok(()));
    }
}
