//! `tests`: the tests that there are.

use crate::arguments::ListArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_bench::workloads::WORKLOADS;
use drivescope_report::text;
use serde_json::json;

pub fn tests(arguments: &ListArguments) -> Result<Code, Failure> {
    let name = |test: &dyn drivescope_bench::workload::Workload| test.kind().name();
    if arguments.json {
        let rows = WORKLOADS.map(|test| {
            json!({"name": name(test), "question": test.question(), "access": test.access()})
        });
        output::print_document(&rows);
        return Ok(Code::Ok);
    }
    let pairs =
        WORKLOADS.map(|test| (name(test), format!("{}; {}", test.question(), test.access())));
    output::print_line(&text::name_list(&pairs, output::style()));
    Ok(Code::Ok)
}
