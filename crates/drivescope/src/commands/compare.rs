//! `compare`: stored runs side by side, with what their differences are worth; `--ab` measures them on the spot.

mod in_turns;

use crate::arguments::CompareArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::named_runs;
use crate::signals::RunSignals;
use drivescope_report::text;

/// Prints the comparison; refuses runs that were not made alike, unless told to compare them all the same.
pub fn compare(arguments: &CompareArguments, signals: &RunSignals) -> Result<Code, Failure> {
    if arguments.ab {
        return in_turns::compare(arguments, signals);
    }
    let runs = named_runs(&arguments.runs, arguments.store.store.as_deref())?;
    if runs.len() < 2 {
        return Err(Failure::usage("a comparison takes two runs; drivescope runs lists them"));
    }
    let comparison = drivescope_report::compare(&runs, arguments.band, arguments.all);
    if !comparison.differences.is_empty() && !arguments.force {
        let reasons = comparison.differences.join("; ");
        let message = format!(
            "these runs were not made alike ({reasons}); --force compares them all the same"
        );
        return Err(Failure { message, code: Code::Refused });
    }
    output::print_line(&text::comparison(&comparison, output::style()));
    Ok(Code::Ok)
}
