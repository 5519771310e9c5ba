//! `show`: a stored run.

use crate::arguments::ShowArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::{is_file, named_run};
use crate::run_steps::phybs_table::phybs_table;
use crate::store_access::location;
use drivescope_model::shell::quoted;
use drivescope_report::export::csv::metrics_csv;
use drivescope_report::export::markdown::run_markdown;
use drivescope_report::text;

pub fn show(arguments: &ShowArguments) -> Result<Code, Failure> {
    let store = arguments.store.store.as_deref();
    let run = named_run(&arguments.run, store)?;
    if arguments.show.json {
        output::print_document(&run);
    } else if arguments.show.table {
        output::print(&phybs_table(&run)?);
    } else if arguments.csv {
        output::print_as_is(&metrics_csv(std::slice::from_ref(&run)));
    } else if arguments.md {
        output::print_as_is(&format!("{}\n", run_markdown(&run).trim_end()));
    } else {
        let name = if is_file(&arguments.run) {
            quoted(&arguments.run)
        } else {
            format!("{}{}", run.id, location(store)?.words())
        };
        output::print_line(&text::run_summary(&run, &name, output::style()));
        if arguments.show.verbose {
            output::print_line(&format!("\n{}", text::verbose(&run, output::style())));
        }
    }
    Ok(Code::Ok)
}
