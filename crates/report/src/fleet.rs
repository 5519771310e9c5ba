//! Machines, drives and jobs of a fleet as text for people. All text from outside is stripped of control characters.

mod drives;
mod hosts;
mod jobs;

pub use drives::{chosen_drives, fleet_drives, left_out_drives};
pub use hosts::fleet_hosts;
pub use jobs::{SubmissionRow, fleet_jobs, fleet_submissions, job_sentence, start_skew, undecided};

use drivescope_model::Secs;

/// Longer times are given in days.
const DAYS_FROM_S: f64 = 2.0 * 86_400.0;

/// A time since something was seen.
fn lasting(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round();
    if seconds < DAYS_FROM_S {
        return Secs(seconds).to_string();
    }
    format!("{:.0} d", seconds / 86_400.0)
}

fn counted(count: usize, name: &str) -> String {
    if count == 1 { format!("1 {name}") } else { format!("{count} {name}s") }
}

#[cfg(test)]
mod testing;
