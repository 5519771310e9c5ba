//! `suites`: the built-in suites and the user's own.

use crate::arguments::{SuitesArguments, SuitesCommand};
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_bench::suites;
use drivescope_report::text;
use serde_json::json;

pub fn suites(arguments: &SuitesArguments) -> Result<Code, Failure> {
    let folder = suites::user_folder();
    if let Some(SuitesCommand::Show { suite }) = &arguments.command {
        let (_, text) = suites::text_of(suite, folder.as_deref())?;
        // A suite that would be refused is not shown as an example.
        suites::find(suite, folder.as_deref())?;
        output::print_line(text.trim_end());
        return Ok(Code::Ok);
    }
    let names = suites::names(folder.as_deref());
    let found = names.iter().map(|name| (name, suites::find(name, folder.as_deref())));
    if arguments.list.json {
        let rows = found.map(|(name, suite)| match suite {
            Ok(suite) => json!({"name": name, "summary": suite.summary, "tests": suite.tests}),
            Err(error) => json!({"name": name, "error": error.to_string()}),
        });
        output::print_document(&rows.collect::<Vec<_>>());
        return Ok(Code::Ok);
    }
    let pairs = found.map(|(name, suite)| match suite {
        Ok(suite) => (name, suite.summary),
        Err(error) => (name, format!("broken: {error}")),
    });
    output::print_line(&text::name_list(&pairs.collect::<Vec<_>>(), output::style()));
    Ok(Code::Ok)
}
