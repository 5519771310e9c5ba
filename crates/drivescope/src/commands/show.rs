//! `show`: a stored run.

use crate::arguments::ShowArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_steps::phybs_table::phybs_table;
use crate::store_access::{get_run, store_words};
use drivescope_report::text;
use drivescope_store::to_json;

/// Shows one run.
pub fn show(arguments: &ShowArguments) -> Result<Code, Failure> {
    let run = get_run(arguments.store.store.as_deref(), &arguments.run)?;
    if arguments.show.json {
        output::print_json(&to_json(&run));
        return Ok(Code::Ok);
    }
    if arguments.show.table {
        output::print(&phybs_table(&run)?);
        return Ok(Code::Ok);
    }
    let words = store_words(arguments.store.store.as_deref());
    output::print_line(&text::run_summary(&run, &words, output::style()));
    if arguments.show.verbose {
        output::print_line(&format!("\n{}", text::verbose(&run, output::style())));
    }
    Ok(Code::Ok)
}
