//! `fleet cancel`.

use super::access;
use crate::arguments::CancelArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_model::fleet::JobState;
use drivescope_report::clean;

pub fn cancel(arguments: &CancelArguments) -> Result<Code, Failure> {
    let key = &arguments.submission;
    let mut tables = access::open(&arguments.store, true)?;
    let Some(waiting) = tables.cancel(key)? else {
        return Err(access::unknown_key(key, &tables)?);
    };
    let jobs = tables.jobs(key)?;
    let running = jobs.iter().filter(|job| job.state == JobState::Running).count();
    let ended = match running {
        0 => String::new(),
        1 => "; 1 that runs ends when its agent polls".to_string(),
        _ => format!("; {running} that run end when their agents poll"),
    };
    let jobs =
        if waiting == 1 { "1 waiting job".into() } else { format!("{waiting} waiting jobs") };
    output::print_wrapped(&clean(&format!("cancelled {jobs} of {key}{ended}")));
    Ok(Code::Ok)
}
