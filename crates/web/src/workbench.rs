//! What the pages need of the program around them.

use crate::fleet_view::FleetView;
use crate::level::BrowserLevel;
use crate::run_board::RunBoard;
use drivescope_model::drive::Drive;
use drivescope_model::{Plan, TestKind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The machine, its models and suites, and the way to measure.
pub trait Workbench: Send + Sync {
    /// What is known of the drives now: none is waited for.
    fn drives(&self) -> Vec<ListedDrive>;
    fn models(&self) -> Vec<ListedModel>;
    /// The suites, built in and the user's own.
    fn suites(&self) -> Vec<ListedSuite>;
    /// What a test answers, as a question.
    fn question(&self, test: TestKind) -> &'static str;
    /// `None` where the store is not on a server.
    fn fleet(&self) -> Option<&dyn FleetView>;
    /// Plans a run; nothing is opened yet.
    /// Errors: in one line, with the remedy.
    fn prepare(&self, wish: &RunWish) -> Result<Box<dyn PreparedRun>, String>;
}

pub trait PreparedRun: Send {
    fn plan(&self) -> &Plan;
    /// Starts it in its own thread, which publishes progress on `board`. Raising the returned flag stops it.
    /// Errors (one line): its drive is being measured already, or too much is.
    fn start(self: Box<Self>, board: RunBoard) -> Result<Arc<AtomicBool>, String>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunWish {
    /// A directory, a file, a block device, or a simulated drive.
    pub target: String,
    pub suite: String,
    /// What the run may write.
    pub level: BrowserLevel,
    pub label: Option<String>,
}

#[derive(Debug, Clone)]
pub struct ListedDrive {
    pub drive: Drive,
    /// Why less is known of it, in one line: it is suspended, or does not answer.
    pub trouble: Option<String>,
    /// It was asked just now, and has not answered yet.
    pub is_awaited: bool,
}

impl ListedDrive {
    pub(crate) fn may_change_soon(&self) -> bool {
        self.is_awaited || self.trouble.is_some()
    }
}

#[derive(Debug, Clone)]
pub struct ListedModel {
    /// As `sim:` names it.
    pub name: String,
    /// As the drive itself reports it.
    pub model: String,
    pub summary: String,
    pub capacity_bytes: u64,
}

#[derive(Debug, Clone)]
pub struct ListedSuite {
    pub name: String,
    pub summary: String,
    pub group: SuiteGroup,
}

/// Why a suite would be chosen; in the order of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuiteGroup {
    Usual,
    Own,
    OneQuestion,
    Instruments,
    Standards,
}

impl SuiteGroup {
    pub(crate) const ALL: [Self; 5] =
        [Self::Usual, Self::Own, Self::OneQuestion, Self::Instruments, Self::Standards];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Usual => "Usual",
            Self::Own => "Your own",
            Self::OneQuestion => "One question",
            Self::Instruments => "As other programs and articles measure",
            Self::Standards => "SNIA Performance Test Specification",
        }
    }

    /// Of a suite with this name.
    pub fn of(name: &str, is_built_in: bool) -> Self {
        match name {
            _ if !is_built_in => Self::Own,
            "quick" | "standard" | "full" => Self::Usual,
            "first" | "apps" | "apps-once" => Self::OneQuestion,
            _ if name.starts_with("snia-") => Self::Standards,
            _ => Self::Instruments,
        }
    }
}
