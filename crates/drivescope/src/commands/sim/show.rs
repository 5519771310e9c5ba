//! `sim show`: the file of a model.

use crate::exit::{Code, Failure};
use crate::output;
use drivescope_drive::DriveError;
use drivescope_drive::simulated::model_file;
use drivescope_drive::simulated::spec::{self, PREFIX};
use drivescope_report::text;

/// Prints a model's file. A user's file is checked first; its fault is printed instead.
pub fn show(name: &str) -> Result<Code, Failure> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    let text = model_file::text_of(name).map_err(DriveError::from)?;
    let model = spec::model_of(name, &text).map_err(DriveError::from)?;
    match output::terminal_columns() {
        Some(columns) => output::print_line(&text::model_file(&text, columns)),
        None => output::print_line(text.trim_end()),
    }
    for warning in model.warnings() {
        output::remark(&warning);
    }
    if model_file::is_file(name) {
        output::remark(&format!(
            "{name} is a valid model; measure it with drivescope run sim:{name}"
        ));
    }
    Ok(Code::Ok)
}
