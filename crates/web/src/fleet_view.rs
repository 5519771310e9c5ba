//! What the pages of a fleet need of its tables.

use drivescope_model::fleet::{DriveRate, FleetHost, FleetJob, HostDrive, JobState, Submission};
use drivescope_store::StoreError;
use std::time::Duration;

/// The fleet of a store on a server. Each method but the first is one look at the tables, which takes a few seconds at
/// most.
pub trait FleetView: Send + Sync {
    /// By the last look: nothing is waited for.
    fn has_hosts(&self) -> bool;
    /// All hosts, by name.
    fn hosts(&self) -> Result<Vec<FleetHost>, FleetFault>;
    /// The drives that an expression selects, as `fleet drives --select` does, or all.
    fn drives(&self, select: Option<&str>) -> Result<FleetDrives, FleetFault>;
    /// The newest ones, at most `most`.
    fn submissions(&self, most: u32) -> Result<Vec<ListedSubmission>, FleetFault>;
    /// The submission with this key and its jobs, if there is one.
    fn submission(
        &self,
        key: &str,
    ) -> Result<Option<(ListedSubmission, Vec<FleetJob>)>, FleetFault>;
    /// What stands on the page of odd drives, as HTML whose names are escaped; `None`: there is nothing to compare.
    fn outliers_page(&self) -> Result<Option<String>, FleetFault>;
}

#[derive(Debug)]
pub enum FleetFault {
    Store(StoreError),
    /// The server has been asked, and has not answered for this time.
    Silent(Duration),
    /// A text that selects drives is not an expression, and why.
    Expression(String),
}

#[derive(Debug, Clone, Default)]
pub struct FleetDrives {
    /// By host.
    pub drives: Vec<HostDrive>,
    /// Of the drives that have a run among the newest ones.
    pub rates: Vec<DriveRate>,
    /// The number of these runs, at most.
    pub rated_runs: u32,
}

/// A submission with what has become of its jobs.
#[derive(Debug, Clone)]
pub struct ListedSubmission {
    pub submission: Submission,
    /// By the clock of the server.
    pub submitted_s_ago: f64,
    /// Where all start at one instant: seconds until then, negative after it.
    pub starts_in_s: Option<f64>,
    /// Jobs in each state that any is in.
    pub counts: Vec<(JobState, u64)>,
    /// Running jobs that their agents have not renewed in time.
    pub overdue: u64,
}
