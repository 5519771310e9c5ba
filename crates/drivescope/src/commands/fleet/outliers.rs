//! `fleet outliers`: the drives of a store that are odd among those of their model.

use crate::arguments::OutliersArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::store_access::open_existing;
use drivescope_report::{fleet_keys, fleet_outliers, text};

/// Runs that cannot be read and are named; more are counted.
const LISTED_MAX: usize = 3;

/// Fails if a drive is odd.
pub fn outliers(arguments: &OutliersArguments) -> Result<Code, Failure> {
    let store = open_existing(arguments.store.store.as_deref())?;
    let (drives, unreadable) = store.measured_drives(&fleet_keys())?;
    if drives.is_empty() && unreadable.is_empty() {
        return Err(Failure::usage(store.no_runs()));
    }
    let found = fleet_outliers(&drives, arguments.fdr);
    if arguments.json {
        output::print_document(&found);
    } else {
        output::print_line(&text::fleet_outliers(&found, output::style()));
    }
    if !unreadable.is_empty() {
        let listed = unreadable.iter().take(LISTED_MAX).cloned().collect::<Vec<_>>().join(", ");
        output::remark(&format!(
            "drives left out because this program cannot read their newest run: {} ({listed}); drivescope show says why",
            unreadable.len()
        ));
    }
    Ok(if found.odd.is_empty() { Code::Ok } else { Code::Problem })
}
