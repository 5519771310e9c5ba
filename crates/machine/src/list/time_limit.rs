//! Describing drives within a time: one that does not answer must not hold up those that do.

use super::describe;
use super::mounted_on::MountedOn;
use crate::aside;
use crate::block_device::BlockDevice;
use crate::graph::BlockGraph;
use crate::patience::beside;
use crate::roots::Roots;
use crate::silent_loops::is_known_silent;
use drivescope_model::drive::Drive;
use drivescope_model::health::Health;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A drive as far as it could be described.
#[derive(Debug)]
pub struct DriveAnswer {
    pub drive: Drive,
    /// Whether it answered what was read of it.
    pub answers: bool,
    /// It did not answer in time; one that is suspended was not asked.
    pub is_silent: bool,
}

/// The name of [`look`] among those of [`aside::answer`].
pub const DRIVE: &str = "drive";

/// The drives with these kernel names, in this order; see [`describe_each`].
pub(super) fn described(roots: &Roots, names: Vec<String>, patience: Duration) -> Vec<DriveAnswer> {
    let found = Mutex::new(BTreeMap::new());
    describe_each(roots, &names, patience, &|index, described| {
        found.lock().unwrap_or_else(PoisonError::into_inner).insert(index, described);
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// Describes the drives with these kernel names, all queried at once; `found` receives the index of each with its
/// description as soon as it has answered. One that does not answer in time is described as the kernel and udev report
/// it. Another process queries first, and is abandoned; a drive that answers that one and then no more holds a thread
/// of this one.
pub(super) fn describe_each(
    roots: &Roots,
    names: &[String],
    patience: Duration,
    found: &(dyn Fn(usize, DriveAnswer) + Sync),
) {
    let graph = BlockGraph::read(roots);
    let machine = Arc::new((MountedOn::of(&graph), graph));
    let describe = |index: usize, is_silent: bool| {
        let name = &names[index];
        let asked = (!is_silent).then(|| beside_asked(&machine, name));
        let described = asked.and_then(|asked| asked.recv_timeout(patience).ok());
        let described = described.unwrap_or_else(|| {
            let seconds = patience.as_secs_f64();
            let why = format!(
                "no answer within {seconds} s: contents, temperature and health unknown; see dmesg"
            );
            let silent = without_answer(&machine, name, why)?;
            Some(DriveAnswer { is_silent: true, ..silent })
        });
        described.into_iter().for_each(|described| found(index, described));
    };
    let describe = &describe;
    std::thread::scope(|scope| {
        let beside = |index: usize, is_silent: bool| {
            let thread = std::thread::Builder::new();
            // Without a thread for it, the others wait with it.
            if thread.spawn_scoped(scope, move || describe(index, is_silent)).is_err() {
                describe(index, is_silent);
            }
        };
        // One that is known to be silent is not asked again, which would double the wait.
        let (silent, asked): (Vec<usize>, Vec<usize>) =
            (0..names.len()).partition(|&index| is_known_silent(roots, &names[index]));
        silent.into_iter().for_each(|index| beside(index, true));
        let named: Vec<OsString> = asked.iter().map(|&index| (&names[index]).into()).collect();
        aside::each_answer(DRIVE, &named, patience, &mut |at, is_silent| {
            beside(asked[at], is_silent);
        });
    });
}

/// The drives with these kernel names, as the kernel and udev report them.
pub(super) fn unasked(roots: &Roots, names: &[String]) -> Vec<Drive> {
    let graph = BlockGraph::read(roots);
    let machine = (MountedOn::of(&graph), graph);
    let why = "it has not answered yet: contents, temperature and health unknown";
    names
        .iter()
        .filter_map(|name| Some(without_answer(&machine, name, why.to_string())?.drive))
        .collect()
}

/// Asks the drives with these kernel names what their description needs of them.
pub fn look(names: &[OsString], has_answered: &(dyn Fn(usize) + Sync)) {
    let graph = BlockGraph::read(&Roots::host());
    let machine = (MountedOn::of(&graph), graph);
    aside::each(names, has_answered, &|name| {
        name.to_str().map(|name| ask(&machine, name));
    });
}

fn beside_asked(
    machine: &Arc<(MountedOn, BlockGraph)>,
    name: &str,
) -> Receiver<Option<DriveAnswer>> {
    let (name, machine) = (name.to_string(), Arc::clone(machine));
    beside(move || ask(&machine, &name))
}

fn ask(machine: &(MountedOn, BlockGraph), name: &str) -> Option<DriveAnswer> {
    let (mounted_on, graph) = machine;
    if let Some(upper) = graph.suspended_in(&graph.stack_of_device(name)) {
        let why = format!("{upper} is suspended: contents unknown; run dmsetup resume {upper}");
        return without_answer(machine, name, why);
    }
    let device = BlockDevice::open(graph.roots(), name)?;
    Some(DriveAnswer {
        drive: describe(graph, &device, mounted_on, true),
        answers: true,
        is_silent: false,
    })
}

/// What the kernel and udev report, and why there is nothing more.
fn without_answer(
    (mounted_on, graph): &(MountedOn, BlockGraph),
    name: &str,
    why: String,
) -> Option<DriveAnswer> {
    let drive = describe(graph, &BlockDevice::open(graph.roots(), name)?, mounted_on, false);
    let health = Health { note: Some(why), ..Health::default() };
    Some(DriveAnswer { drive: Drive { health, ..drive }, answers: false, is_silent: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;
    use rustix::fs::{CWD, FileType, Mode};

    /// Opening a named pipe without a writer blocks, like a drive that does not answer.
    #[test]
    fn silent_drive_is_listed_beside_the_others() {
        let fake = Fake::two_disks();
        let mut swap = vec![0u8; 1 << 20];
        swap[4086..4096].copy_from_slice(b"SWAPSPACE2");
        fake.file("dev/sdb2", swap);
        for silent in ["sda", "sda1", "sda2"] {
            let node = fake.path("dev").join(silent);
            std::fs::remove_file(&node).unwrap();
            rustix::fs::mknodat(CWD, &node, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        }
        let names = ["sda", "sdb"].map(str::to_string).to_vec();
        let unasked = unasked(&fake.roots, &names);
        assert_eq!(unasked.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["sda", "sdb"]);
        assert_eq!(unasked[1].partitions[1].content, None, "it would have to be read");
        let found = described(&fake.roots, names, Duration::from_secs(3));
        let [silent, sound] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((silent.answers, sound.answers), (false, true));
        assert_eq!(silent.drive.name, "sda");
        assert_eq!(silent.drive.partitions.len(), 2, "the kernel knows them");
        let note = silent.drive.health.note.as_deref().unwrap();
        assert!(note.starts_with("no answer within 3 s"), "{note}");
        assert_eq!(sound.drive.partitions[1].content.as_deref(), Some("swap"));
    }

    /// Whatever lies on a suspended device waits, beyond the reach of any signal.
    #[test]
    fn device_on_a_suspended_one_is_listed_unread() {
        let fake = Fake::new();
        let mut swap = vec![0u8; 1 << 20];
        swap[4086..4096].copy_from_slice(b"SWAPSPACE2");
        for (minor, lower) in [(0, None), (1, Some("dm-0"))] {
            let name = format!("dm-{minor}");
            fake.upper(&name, (253, minor), 1 << 20, lower.as_slice());
            fake.file(&format!("dev/{name}"), &swap);
        }
        let list = || {
            let names = ["dm-0", "dm-1"].map(str::to_string).to_vec();
            described(&fake.roots, names, Duration::from_secs(60))
        };
        assert!(list().iter().all(|it| it.answers && it.drive.content.as_deref() == Some("swap")));
        fake.attrs("dm-0", &[("dm/suspended", "1")]);
        for it in list() {
            assert_eq!((it.answers, it.drive.content), (false, None), "{}", it.drive.name);
            let note = it.drive.health.note.unwrap();
            assert!(note.starts_with("dm-0 is suspended") && note.contains("dmsetup resume dm-0"));
        }
    }
}
