//! `fleet outliers`: the drives of a store that are odd among those of their model.

use super::access;
use crate::arguments::OutliersArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::store_access::open_existing;
use drivescope_model::drive::DriveKind;
use drivescope_model::fleet::{FleetDrive, HostDrive};
use drivescope_report::{OddDrive, fleet_keys, fleet_outliers, text};

/// Runs that cannot be read and are named; more are counted.
const LISTED_MAX: usize = 3;

/// Fails if a drive is odd.
pub fn outliers(arguments: &OutliersArguments) -> Result<Code, Failure> {
    let store = open_existing(arguments.store.store.as_deref())?;
    let (drives, unreadable) = store.measured_drives(&fleet_keys())?;
    if drives.is_empty() && unreadable.is_empty() {
        return Err(Failure::usage(store.no_runs()));
    }
    let mut found = fleet_outliers(&drives, arguments.fdr);
    // Compared with all like them, selected or not.
    if let Some(selector) = access::selector(arguments.select.as_deref())? {
        found.odd.retain(|odd| selector.matches(&as_announced(odd)));
    }
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

/// What is known of it without its agent: host, name, model, serial number, firmware.
fn as_announced(odd: &OddDrive) -> HostDrive {
    let drive = FleetDrive {
        model: odd.model.clone(),
        serial: odd.serial.clone(),
        firmware: odd.firmware.clone(),
        ..FleetDrive::named(&odd.drive, DriveKind::Unknown, 0)
    };
    HostDrive {
        host_id: String::new(),
        host: odd.host.clone(),
        drive,
        is_there: true,
        seen_s_ago: 0.0,
    }
}
