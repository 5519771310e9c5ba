//! `schema`: what a run document looks like, for programs.

use crate::exit::{Code, Failure};
use crate::output;
use drivescope_model::schema;

pub fn schema() -> Result<Code, Failure> {
    output::print_as_is(&schema::run_schema_text());
    Ok(Code::Ok)
}
