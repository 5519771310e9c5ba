//! What is submitted, and whether an agent can do it.

use drivescope_model::fleet::{JobPlan, PLAN_FORMAT};
use serde::Deserialize;

/// Reads a plan. Errors: it is of a later version, or of another program.
pub fn read(text: &str) -> Result<JobPlan, String> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    match serde_json::from_str::<Version>(text) {
        Ok(Version { format }) if format > PLAN_FORMAT => Err(format!(
            "the plan needs a newer drivescope: it has format {format}, this agent reads {PLAN_FORMAT}"
        )),
        _ => {
            serde_json::from_str(text).map_err(|error| format!("the plan cannot be read: {error}"))
        }
    }
}

pub fn check(_plan: &JobPlan) -> Result<(), String> {
    Ok(())
}
