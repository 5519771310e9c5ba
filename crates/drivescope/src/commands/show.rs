//! `show`: a stored run.

use crate::arguments::ShowArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_steps::phybs_table::phybs_table;
use crate::store_access::open_existing;
use drivescope_report::export::csv::metrics_csv;
use drivescope_report::export::markdown::run_markdown;
use drivescope_report::text;

pub fn show(arguments: &ShowArguments) -> Result<Code, Failure> {
    let store = open_existing(arguments.store.store.as_deref())?;
    let run = store.get(&arguments.run)?;
    if arguments.show.json {
        output::print_document(&run);
    } else if arguments.show.table {
        output::print(&phybs_table(&run)?);
    } else if arguments.csv {
        output::print(&metrics_csv(std::slice::from_ref(&run)));
    } else if arguments.md {
        output::print_line(run_markdown(&run).trim_end());
    } else {
        output::print_line(&text::run_summary(&run, store.words(), output::style()));
        if arguments.show.verbose {
            output::print_line(&format!("\n{}", text::verbose(&run, output::style())));
        }
    }
    Ok(Code::Ok)
}
