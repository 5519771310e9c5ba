//! `sim list`: the built-in models.

use crate::exit::{Code, Failure};
use crate::output;
use drivescope_drive::DriveError;
use drivescope_drive::simulated::spec;
use drivescope_report::text;

/// Lists the models.
pub fn list() -> Result<Code, Failure> {
    let models = spec::built_in().map_err(DriveError::from)?;
    let pairs: Vec<(String, String)> =
        models.into_iter().map(|model| (model.name, model.summary)).collect();
    output::print_line(&text::name_list(&pairs, output::style()));
    Ok(Code::Ok)
}
