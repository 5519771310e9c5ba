//! Runs that the server refuses: named once, and offered again from time to time.

use drivescope_model::shell::quoted;
use drivescope_store::{CopyReport, Store, StoreError, StoreLocation, send_waiting};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What is wrong may be put right on the server; looking costs a login.
const AGAIN_AFTER: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub struct UnsentRuns {
    /// By id: when it was refused last, and why.
    refused: BTreeMap<String, (Instant, String)>,
}

impl UnsentRuns {
    pub fn is_empty(&self) -> bool {
        self.refused.is_empty()
    }

    /// Sends what waits in `local`. Returns a line for each run whose refusal is new. Errors: the server is away.
    pub fn send(
        &mut self,
        local: &mut Store,
        server: &StoreLocation,
    ) -> Result<Vec<String>, StoreError> {
        let waiting = local.waiting(server)?;
        self.refused.retain(|id, _| waiting.contains(id));
        let is_due = |id: &String| {
            self.refused.get(id).is_none_or(|(tried, _)| tried.elapsed() >= AGAIN_AFTER)
        };
        let due: Vec<String> = waiting.into_iter().filter(is_due).collect();
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let report = send_waiting(&due, local, &mut Store::open(server)?)?;
        let (mut new, mut still) = (Vec::new(), BTreeMap::new());
        let file = quoted(&local.location().shown());
        for (id, why) in reasons(&report) {
            if self.refused.get(&id).is_none_or(|(_, said)| *said != why) {
                new.push(format!(
                    "run {id} is not sent, and stays here: {why}; drivescope show {id} --store {file} shows it, \
                     drivescope runs rm {id} --store {file} gives it up"
                ));
            }
            still.insert(id, (Instant::now(), why));
        }
        self.refused.retain(|id, _| !due.contains(id));
        self.refused.extend(still);
        Ok(new)
    }
}

fn reasons(report: &CopyReport) -> Vec<(String, String)> {
    let differing = report
        .differing
        .iter()
        .map(|id| (id.clone(), "another document is there under its id".to_string()));
    differing.chain(report.unreadable.iter().chain(&report.refused).cloned()).collect()
}
