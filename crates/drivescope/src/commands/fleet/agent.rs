//! `fleet agent`.

use crate::arguments::AgentArguments;
use crate::exit::{Code, Failure};
use crate::signals::RunSignals;

pub fn agent(_: &AgentArguments, _: &RunSignals) -> Result<Code, Failure> {
    Err(Failure::usage("not yet".to_string()))
}
