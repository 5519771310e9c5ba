//! Describing drives within a time: one that does not answer must not hold up those that do.

use super::describe;
use super::mounted_on::MountedOn;
use crate::aside;
use crate::block_device::BlockDevice;
use crate::graph::BlockGraph;
use crate::patience::beside;
use crate::roots::Roots;
use crate::silent_loops::is_served_by_none;
use drivescope_model::drive::{Drive, Health};
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// A drive as far as it could be described.
#[derive(Debug)]
pub(super) struct Described {
    pub drive: Drive,
    /// Whether it answered what was read of it.
    pub answers: bool,
}

/// The name of [`look`] among those of [`aside::answer`].
pub const DRIVE: &str = "drive";

/// The drives with these kernel names, all queried at once. One that does not answer in time is described as the
/// kernel and udev report it. Another process queries first, and is abandoned; a drive that answers that one and then
/// no more holds a thread of this one.
pub(super) fn described(roots: &Roots, names: Vec<String>, patience: Duration) -> Vec<Described> {
    let silent = are_silent(roots, &names, patience);
    let graph = BlockGraph::read(roots);
    let machine = Arc::new((MountedOn::of(&graph), graph));
    let ask_unless = |(name, is_silent): (String, bool)| {
        ((!is_silent).then(|| beside_asked(&machine, &name)), name)
    };
    let asked: Vec<_> = names.into_iter().zip(silent).map(ask_unless).collect();
    let end = Instant::now() + patience;
    let answer = |(asked, name): (Option<Receiver<Option<Described>>>, String)| {
        let left = end.saturating_duration_since(Instant::now());
        asked.and_then(|asked| asked.recv_timeout(left).ok()).unwrap_or_else(|| {
            let seconds = patience.as_secs_f64();
            let why = format!(
                "no answer within {seconds} s: contents, temperature and health unknown; see dmesg"
            );
            without_answer(&machine, &name, why)
        })
    };
    asked.into_iter().filter_map(answer).collect()
}

/// The drives with these kernel names, as the kernel and udev report them.
pub(super) fn unasked(roots: &Roots, names: &[String]) -> Vec<Drive> {
    let graph = BlockGraph::read(roots);
    let machine = (MountedOn::of(&graph), graph);
    let why = "it has not answered yet: contents, temperature and health unknown";
    let silent = |name: &String| Some(without_answer(&machine, name, why.to_string())?.drive);
    names.iter().filter_map(silent).collect()
}

/// Which of the drives do not answer, as another process finds out. One that is known for it already is not asked
/// again, which would double the wait.
fn are_silent(roots: &Roots, names: &[String], patience: Duration) -> Vec<bool> {
    let mut silent: Vec<bool> = names.iter().map(|name| is_served_by_none(roots, name)).collect();
    let (asked, named): (Vec<usize>, Vec<OsString>) =
        (0..names.len()).filter(|&at| !silent[at]).map(|at| (at, (&names[at]).into())).unzip();
    for (at, is_silent) in asked.into_iter().zip(aside::silent(DRIVE, &named, patience)) {
        silent[at] = is_silent;
    }
    silent
}

/// Asks the drives with these kernel names what their description needs of them.
pub fn look(names: &[OsString], has_answered: &(dyn Fn(usize) + Sync)) {
    let graph = BlockGraph::read(&Roots::host());
    let machine = (MountedOn::of(&graph), graph);
    aside::each(names, has_answered, &|name| {
        name.to_str().map(|name| ask(&machine, name));
    });
}

fn beside_asked(machine: &Arc<(MountedOn, BlockGraph)>, name: &str) -> Receiver<Option<Described>> {
    let (name, machine) = (name.to_string(), Arc::clone(machine));
    beside(move || ask(&machine, &name))
}

fn ask(machine: &(MountedOn, BlockGraph), name: &str) -> Option<Described> {
    let (mounted_on, graph) = machine;
    if let Some(upper) = graph.suspended_in(&graph.stack_of_device(name)) {
        let why = format!("{upper} is suspended: contents unknown; run dmsetup resume {upper}");
        return without_answer(machine, name, why);
    }
    let device = BlockDevice::open(graph.roots(), name)?;
    Some(Described { drive: describe(graph, &device, mounted_on, true), answers: true })
}

/// What the kernel and udev report, and why there is nothing more.
fn without_answer(
    (mounted_on, graph): &(MountedOn, BlockGraph),
    name: &str,
    why: String,
) -> Option<Described> {
    let drive = describe(graph, &BlockDevice::open(graph.roots(), name)?, mounted_on, false);
    let health = Health { note: Some(why), ..Health::default() };
    Some(Described { drive: Drive { health, ..drive }, answers: false })
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
