//! Drives of the store that a run stands among.

use crate::store_access::open_existing;
use drivescope_model::Run;
use drivescope_report::KnownDrive;
use drivescope_store::Filter;

/// Drives measured last; each takes reading a document.
const DRIVES_MAX: usize = 30;
/// Newest runs that are searched for them.
const RUNS_MAX: u32 = 1_000;

/// The newest whole run of each real drive in the store, except the drive of `run`. Empty without a readable store: the
/// models are known without it.
pub fn drives(store: Option<&str>, run: &Run) -> Vec<KnownDrive> {
    let Ok(store) = open_existing(store) else { return Vec::new() };
    let filter = Filter { limit: Some(RUNS_MAX), ..Filter::default() };
    let mut listed = store.list(&filter).unwrap_or_default();
    let own = run.drive.as_ref().and_then(|drive| drive.serial.clone());
    listed.retain(|it| {
        let is_own = it.drive_serial.is_some() && it.drive_serial == own;
        !it.simulated && !is_own && it.status == "done" && it.id != run.id
    });
    let mut seen = Vec::new();
    listed.retain(|it| {
        let drive = (it.drive_model.clone(), it.drive_serial.clone());
        let is_new = !seen.contains(&drive);
        seen.push(drive);
        is_new
    });
    listed.truncate(DRIVES_MAX);
    let known = listed.iter().filter_map(|it| KnownDrive::of(&store.get(&it.id).ok()?));
    known.collect()
}
