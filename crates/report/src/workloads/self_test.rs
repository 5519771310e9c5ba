//! `self-test`: how the drive's own test ended.

use super::WorkloadReport;
use super::facts::FoundFact;
use crate::health_facts::self_test_row;
use crate::terminal::{Paragraph, Role, Style};
use drivescope_model::health::SelfTest;
use drivescope_model::{TestKind, TestResult};

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "The drive's own test",
    headline: |result| result.self_test.as_ref().map(|test| format!("Self-test: {}", ended(test))),
    facts: |result| result.self_test.iter().map(fact).collect(),
    ..WorkloadReport::new(TestKind::SelfTest, table)
};

/// `Completed: read failure at sector 1,953,525,160`.
pub(crate) fn ended(test: &SelfTest) -> String {
    let [_, _, result] = self_test_row(test);
    result
}

fn fact(test: &SelfTest) -> FoundFact {
    let role = match test.passed {
        Some(true) => Role::Plain,
        Some(false) => Role::Bad,
        None => Role::Warn,
    };
    FoundFact::new("self-test").item(Role::Plain, &test.kind).item(role, ended(test))
}

fn table(result: &TestResult, style: Style) -> String {
    let line = |test: &SelfTest| {
        let lead = Paragraph::new().lead(Role::Title, "self-test").lead(Role::Plain, "  ");
        lead.text(Role::Plain, fact(test).words()).lines(2, style)
    };
    result.self_test.iter().map(line).collect()
}
