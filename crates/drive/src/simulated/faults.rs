//! `fault=`: what can be wrong with a simulated drive, by name.

use drivescope_model::shortened::shortened;
use drivescope_sim::library::{MediumKind, Model, Planted};
use drivescope_sim::stalls::Stalls;

/// When the drive of `gone` disappears.
const GONE_AT_NS: u64 = 20_000_000_000;

/// The drive of `stalls` is silent for 1.5 s before each tenth second.
const STALLS: Stalls = Stalls { every: 10_000_000_000, len: 1_500_000_000 };

/// Faults between the drive and the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathFaults {
    /// The host refuses direct I/O and keeps what it has read.
    pub page_cache: bool,
    /// The link runs at a quarter of its rate, as SATA at 1.5 Gb/s and PCIe with one lane of four.
    pub slow_link: bool,
}

type Plant = fn(&mut Planted, &mut PathFaults);

const FAULTS: [(&str, Plant); 11] = [
    ("flush-lies", |planted, _| planted.flush_lies = true),
    ("no-read-modify-write", |planted, _| planted.no_read_modify_write = true),
    ("first-come", |planted, _| planted.first_come = true),
    ("slow-region", |planted, _| planted.slow_region = true),
    ("failing-region", |planted, _| planted.failing_region = true),
    ("unreadable-end", |planted, _| planted.unreadable_end = true),
    ("throttled", |planted, _| planted.throttled = true),
    ("gone", |planted, _| planted.gone_at = Some(GONE_AT_NS)),
    ("stalls", |planted, _| planted.stalls = Some(STALLS)),
    ("page-cache", |_, path| path.page_cache = true),
    ("slow-link", |_, path| path.slow_link = true),
];

/// Plants the fault of this name.
/// Errors (one line): there is no such fault, or the model has nothing that it affects.
pub(super) fn plant(
    (planted, path): (&mut Planted, &mut PathFaults),
    model: &Model,
    name: &str,
) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("fault= names none; {} can have {}", model.name, possible(model)));
    }
    let Some((_, plant)) = FAULTS.iter().find(|(known, _)| *known == name) else {
        let name = shortened(name);
        return Err(format!("no fault '{name}'; {} can have {}", model.name, possible(model)));
    };
    if let Some(why) = no_use(model, name) {
        let rest = possible(model);
        return Err(format!("no fault '{name}' in {}: {why}; it can have {rest}", model.name));
    }
    plant(planted, path);
    Ok(())
}

fn possible(model: &Model) -> String {
    let names = FAULTS.iter().map(|(name, _)| *name);
    names.filter(|name| no_use(model, name).is_none()).collect::<Vec<_>>().join(", ")
}

/// Why a fault would change nothing.
fn no_use(model: &Model, name: &str) -> Option<&'static str> {
    match (name, model.kind, &model.hdd) {
        ("throttled", MediumKind::Hdd, _) => Some("a hard disk does not throttle"),
        ("no-read-modify-write" | "first-come", MediumKind::Ssd, _) => {
            Some("this is for the mechanics of hard disks")
        }
        ("no-read-modify-write", _, Some(disk))
            if disk.logical_sector_bytes == disk.physical_sector_bytes =>
        {
            Some("its sectors are always written whole")
        }
        ("first-come", _, Some(disk))
            if disk.queue.window == 1 || disk.queue.depth == 1 || model.link.total_depth() == 1 =>
        {
            Some("it has one command at a time")
        }
        ("flush-lies", _, Some(disk)) if !disk.write_cache.enabled => {
            Some("its write cache is off")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::model_named;
    use super::*;

    #[test]
    fn each_model_has_the_faults_that_change_something() {
        for (model, without) in [
            ("wd20ears", &["throttled"][..]),
            ("wd20eads", &["throttled", "no-read-modify-write"]),
            ("easystore-2tb", &["throttled", "first-come"]),
            ("kioxia-bg4-128", &["no-read-modify-write", "first-come"]),
        ] {
            let model = model_named(model).unwrap();
            for (name, _) in FAULTS {
                let (mut planted, mut path) = (Planted::default(), PathFaults::default());
                let done = plant((&mut planted, &mut path), &model, name);
                assert_eq!(done.is_err(), without.contains(&name), "{name}: {done:?}");
                let changed = planted != Planted::default() || path != PathFaults::default();
                assert_eq!(done.is_ok(), changed);
                if let Err(message) = done {
                    assert!(message.contains("it can have flush-lies"), "{message}");
                    assert!(!message.contains('\n'), "{message}");
                }
            }
        }
    }
}
