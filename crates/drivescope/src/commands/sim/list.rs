//! `sim list`: the built-in models.

use crate::arguments::ListArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_drive::DriveError;
use drivescope_drive::simulated::spec;
use drivescope_report::text;
use drivescope_sim::library::Model;
use serde_json::json;

pub fn list(arguments: &ListArguments) -> Result<Code, Failure> {
    let models = spec::built_in().map_err(DriveError::from)?;
    if arguments.json {
        output::print_document(&models.iter().map(model_row).collect::<Vec<_>>());
        return Ok(Code::Ok);
    }
    let pairs: Vec<(String, String)> =
        models.into_iter().map(|model| (model.name, model.summary)).collect();
    output::print_line(&text::name_list(&pairs, output::style()));
    Ok(Code::Ok)
}

fn model_row(model: &Model) -> serde_json::Value {
    json!({
        "name": model.name,
        "summary": model.summary,
        "model": model.shown().model,
        "capacity_bytes": model.capacity_bytes(),
    })
}
