//! The capacity of a drive from an earlier run of `verify` in the store.

use drivescope_model::Run;
use drivescope_model::document::EarlierCapacity;
use drivescope_model::drive::Drive;
use drivescope_report::verdict::tested_capacity;
use drivescope_store::{Filter, Store};

const RUNS_MAX: u32 = 200;
/// Prefix of the headline metric of runs that tested the capacity.
const HEADLINE: &str = "verify.";

/// The newest test of this drive's capacity: same serial number, model and size; for simulated drives, which share
/// serial numbers, the same target. An unreadable store has none, and is reported when the run is saved.
pub fn of(run: &Run, store: &Store) -> Option<EarlierCapacity> {
    let drive = run.drive.as_ref()?;
    let serial = drive.serial.as_deref().map(str::trim).filter(|serial| !serial.is_empty());
    let name = if run.simulated { &run.target.path } else { serial? };
    let filter = Filter {
        drive: Some(name.to_string()),
        simulated: Some(run.simulated),
        limit: Some(RUNS_MAX),
        ..Filter::default()
    };
    let tests = |headline: &Option<String>| {
        headline.as_deref().is_some_and(|key| key.starts_with(HEADLINE))
    };
    let all = store.list(&filter).ok()?;
    let mut found = all.into_iter().filter(|row| tests(&row.headline_key)).filter_map(|row| {
        let earlier = store.get(&row.id).ok()?;
        let is_same = if run.simulated {
            earlier.target.path == run.target.path
        } else {
            earlier.drive.as_ref().is_some_and(|other| is_same(drive, other))
        };
        is_same.then(|| tested_capacity(&earlier)).flatten()
    });
    let newest = found.next()?;
    let says_little = newest.is_of_free_space && newest.real_bytes >= newest.announced_bytes;
    // A test of the whole drive says more than a newer one of the space that was free.
    let whole = if says_little { found.find(|earlier| !earlier.is_of_free_space) } else { None };
    Some(whole.unwrap_or(newest))
}

fn is_same(one: &Drive, other: &Drive) -> bool {
    fn named(drive: &Drive) -> (Option<String>, Option<String>, u64) {
        let trimmed = |text: &Option<String>| text.as_deref().map(|text| text.trim().to_string());
        (trimmed(&drive.serial), trimmed(&drive.model), drive.capacity_bytes)
    }
    named(one) == named(other)
}
