//! Drives that were measured at the same time, and what the path that they share lets through.

use crate::number::rounded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What ran beside this run, and what the drives share on their way to memory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Together {
    /// Targets measured at the same time, this one among them, as they were named.
    pub targets: Vec<String>,
    /// Ids of the runs, one for each target.
    pub runs: Vec<String>,
    /// What two or more of them pass through, the narrowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedPath>,
    /// Reads of all at once against reads of one after the other; absent if that was not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TogetherTrial>,
}

/// A part of the machine that data of several drives pass through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedPath {
    /// For people: `the USB controller 0000:00:14.0`.
    pub name: String,
    /// Positions in `targets`.
    pub targets: Vec<usize>,
    /// The most that its link carries, where the kernel knows its speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_mb_s: Option<f64>,
}

/// Sequential reads, one MB/s for each target, in their order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TogetherTrial {
    /// One drive after the other.
    pub alone_mb_s: Vec<f64>,
    /// All at once.
    pub together_mb_s: Vec<f64>,
    /// What held them back: the narrowest path that all of them share, the processors, or nothing known. Absent where
    /// all at once were as fast as each alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

impl Together {
    /// Targets measured beside the run with this id.
    pub fn others(&self, run: &str) -> impl Iterator<Item = &str> {
        let own = self.runs.iter().position(|id| id == run);
        let others = self.targets.iter().enumerate().filter(move |(at, _)| Some(*at) != own);
        others.map(|(_, target)| target.as_str())
    }

    /// MB/s that the shared path left to the drive of this run when all read at once, if the path was the limit.
    pub fn left_to(&self, run: &str) -> Option<f64> {
        let trial = self.trial.as_ref().filter(|trial| trial.limit.is_some())?;
        let at = self.runs.iter().position(|id| id == run)?;
        trial.together_mb_s.get(at).copied()
    }

    /// For people, a sentence each: what is shared, and what all reach together.
    pub fn facts(&self) -> Vec<String> {
        let shared = self.shared.iter().map(|path| path.sentence(&self.targets));
        shared.chain(self.trial.iter().map(TogetherTrial::sentence)).collect()
    }
}

impl SharedPath {
    /// `all share the USB controller 0000:00:14.0 (up to 1,212 MB/s)`.
    fn sentence(&self, targets: &[String]) -> String {
        let who = if self.targets.len() == targets.len() {
            "all share".to_string()
        } else {
            let names = self.targets.iter().filter_map(|at| Some(targets.get(*at)?.as_str()));
            format!("{} share", names.collect::<Vec<_>>().join(", "))
        };
        let most = self.payload_mb_s.map(|most| format!(" (up to {} MB/s)", rounded(most)));
        format!("{who} {}{}", self.name, most.unwrap_or_default())
    }
}

impl TogetherTrial {
    /// What all at once reached, of the sum of each alone.
    pub fn share(&self) -> f64 {
        fn sum(rates: &[f64]) -> f64 {
            rates.iter().sum()
        }
        sum(&self.together_mb_s) / sum(&self.alone_mb_s)
    }

    /// `4 drives: 1,200 MB/s together, 42 % of their sum; the USB controller 0000:00:14.0 is the limit`.
    pub fn sentence(&self) -> String {
        let together: f64 = self.together_mb_s.iter().sum();
        let share = (self.share() * 100.0).round();
        let drives = self.together_mb_s.len();
        let figures =
            format!("{drives} drives: {} MB/s together, {share} % of their sum", rounded(together));
        match &self.limit {
            Some(limit) => format!("{figures}; {limit}"),
            None => format!("{figures}; they do not hold each other up"),
        }
    }
}
