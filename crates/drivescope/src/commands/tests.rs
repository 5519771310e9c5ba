//! `tests`: the tests that there are.

use crate::exit::{Code, Failure};
use crate::output;
use drivescope_bench::workloads::WORKLOADS;
use drivescope_report::text;

/// Lists the tests.
pub fn tests() -> Result<Code, Failure> {
    let lines = WORKLOADS.map(|test| format!("{}; {}", test.question(), test.access()));
    let names = WORKLOADS.iter().map(|test| test.kind().name());
    let pairs: Vec<(&str, &str)> = names.zip(lines.iter().map(String::as_str)).collect();
    output::print_line(&text::name_list(&pairs, output::style()));
    Ok(Code::Ok)
}
