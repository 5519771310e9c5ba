//! What a run says of its drive besides figures. A server keeps it beside the document, of which it is a hundredth.

use drivescope_model::drive::Drive;
use drivescope_model::{Finding, MeasuredDrive, Run};
use serde::{Deserialize, Serialize};

/// In the form of a document: what else one has is skipped.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunFacts {
    host: HostOfRun,
    target: TargetFacts,
    drive: Option<Drive>,
    #[serde(default)]
    findings: Vec<Finding>,
    #[serde(default)]
    tests: Vec<TestFacts>,
}

#[derive(Debug, Serialize, Deserialize)]
struct HostOfRun {
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct TargetFacts {
    size_bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct TestFacts {
    #[serde(default)]
    findings: Vec<Finding>,
    #[serde(default)]
    phases: Vec<PhaseFacts>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PhaseFacts {
    temperature_c: Option<f64>,
}

impl RunFacts {
    pub fn of(run: &Run) -> Self {
        let tests = run.tests.iter().map(|test| {
            let known = test.phases.iter().filter_map(|phase| phase.temperature_c);
            let hottest = known.reduce(f64::max);
            let phases = hottest.map(|celsius| PhaseFacts { temperature_c: Some(celsius) });
            TestFacts { findings: test.findings.clone(), phases: phases.into_iter().collect() }
        });
        Self {
            host: HostOfRun { name: run.host.name.clone() },
            target: TargetFacts { size_bytes: run.target.size_bytes },
            drive: run.drive.clone(),
            findings: run.findings.clone(),
            tests: tests.collect(),
        }
    }

    /// From a document or from [`text`](Self::text); `None` if it is neither.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("its maps have texts as keys")
    }

    pub fn tell(self, drive: &mut MeasuredDrive) {
        drive.host = self.host.name;
        drive.capacity_bytes = self.target.size_bytes;
        let phases = self.tests.iter().flat_map(|test| &test.phases);
        drive.temperature_c = phases.filter_map(|phase| phase.temperature_c).reduce(f64::max);
        if let Some(known) = self.drive {
            drive.describe(known);
        }
        let of_tests = self.tests.into_iter().flat_map(|test| test.findings);
        let findings = self.findings.into_iter().chain(of_tests);
        drive.findings = findings.map(|finding| (finding.id, finding.evidence)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rich_run;

    #[test]
    fn facts_are_those_of_the_document_and_far_shorter() {
        let run = rich_run("0123456789ab");
        let document = run.to_json();
        let facts = RunFacts::of(&run).text();
        let of_document = RunFacts::read(&document).expect("it is a document");
        let hottest = |facts: &RunFacts| {
            let phases = facts.tests.iter().flat_map(|test| &test.phases);
            phases.filter_map(|phase| phase.temperature_c).reduce(f64::max)
        };
        let read = RunFacts::read(&facts).expect("it was just made");
        assert_eq!(hottest(&read), hottest(&of_document));
        assert_eq!((&read.drive, &read.findings), (&of_document.drive, &of_document.findings));
        assert_eq!(read.host.name, of_document.host.name);
        assert!(facts.len() < document.len() / 2, "{} of {}", facts.len(), document.len());
        assert!(RunFacts::read("{}").is_none());
    }
}
