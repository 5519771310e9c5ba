//! What the pages need of the program around them.

use crate::level::BrowserLevel;
use crate::run_board::RunBoard;
use drivescope_model::drive::Drive;
use drivescope_model::{Plan, TestKind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The machine, its models and suites, and the way to measure.
pub trait Workbench: Send + Sync {
    /// Every drive of this machine.
    fn drives(&self) -> Vec<Drive>;
    /// The simulated models.
    fn models(&self) -> Vec<ListedModel>;
    /// The suites, built in and the user's own.
    fn suites(&self) -> Vec<ListedSuite>;
    /// What a test asks.
    fn question(&self, test: TestKind) -> &'static str;
    /// Plans a run; nothing is opened yet.
    ///
    /// # Errors
    /// In one line, with the remedy.
    fn prepare(&self, wish: &RunWish) -> Result<Box<dyn PreparedRun>, String>;
}

/// A run that could begin.
pub trait PreparedRun: Send {
    /// What it would do.
    fn plan(&self) -> &Plan;
    /// Starts it in its own thread, which publishes progress on `board`. Raising the returned flag stops it.
    ///
    /// # Errors
    /// In one line: its drive is being measured already, or too much is.
    fn start(self: Box<Self>, board: RunBoard) -> Result<Arc<AtomicBool>, String>;
}

/// A run that a browser requests.
#[derive(Debug, Clone, PartialEq)]
pub struct RunWish {
    /// A directory, a file, a block device, or a simulated drive.
    pub target: String,
    /// The name of one of [`Workbench::suites`].
    pub suite: String,
    /// What it may write.
    pub level: BrowserLevel,
    /// The user's label.
    pub label: Option<String>,
}

/// A simulated drive that can be measured.
#[derive(Debug, Clone)]
pub struct ListedModel {
    /// As `sim:` names it.
    pub name: String,
    /// As the drive itself reports it.
    pub model: String,
    /// In a sentence.
    pub summary: String,
    /// How much it holds.
    pub capacity_bytes: u64,
}

/// A suite that can be asked for.
#[derive(Debug, Clone)]
pub struct ListedSuite {
    /// Its name.
    pub name: String,
    /// In a sentence.
    pub summary: String,
}
