//! Options of the `apps` test.

use crate::units::Secs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the requests of a trace are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayTiming {
    /// `dependent` where the trace knows completions, else `deadlines`.
    #[default]
    Auto,
    /// At the times of the trace, whatever the drive does.
    Deadlines,
    /// What was sent when nothing was in flight waits for everything before it, then for its think time; within a
    /// burst the times between requests stay.
    Dependent,
    /// One after the other, as fast as the drive takes them.
    Asap,
}

impl ReplayTiming {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Deadlines => "deadlines",
            Self::Dependent => "dependent",
            Self::Asap => "asap",
        }
    }
}

/// What becomes of a trace that reaches beyond the end of the target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFit {
    /// Its used parts are placed one after the other, in their order.
    #[default]
    Pack,
    /// It does not run.
    Exact,
}

/// Options of the `apps` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AppsOptions {
    /// Only these traces, such as `word` or `git-clone`, or a set of them, `synthetic` or `recorded`; all if it
    /// names none.
    pub traces: Vec<String>,
    /// A trace file to replay instead, of any form that `trace convert` reads.
    pub file: Option<String>,
    /// Of a file that names several devices, the one whose requests are taken.
    pub device: Option<String>,
    /// When requests are sent.
    pub timing: ReplayTiming,
    /// Longer times with nothing in flight are cut to this; 0 cuts all, `null` keeps them.
    pub think_max: Option<Secs>,
    /// Requests in flight at most.
    pub depth: u32,
    /// What becomes of a trace that reaches beyond the end of the target.
    pub fit: TraceFit,
    /// A simulated drive, such as `samsung-870evo-1tb`, on which the same traces are run for comparison.
    pub predict: Option<String>,
}

impl Default for AppsOptions {
    fn default() -> Self {
        Self {
            traces: Vec::new(),
            file: None,
            device: None,
            timing: ReplayTiming::Auto,
            think_max: None,
            depth: 64,
            fit: TraceFit::Pack,
            predict: None,
        }
    }
}
