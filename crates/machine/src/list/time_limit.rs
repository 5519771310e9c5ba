//! Describing drives within a time: one that does not answer must not hold up those that do.

use super::describe;
use super::mounted_on::MountedOn;
use crate::block_device::BlockDevice;
use crate::graph::BlockGraph;
use crate::roots::Roots;
use drivescope_model::drive::{Drive, Health};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A disk that sleeps needs ten seconds until it turns; one in trouble may not answer before the kernel gives up.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A drive as far as it could be described.
#[derive(Debug)]
pub(super) struct Described {
    pub drive: Drive,
    /// Whether it answered what was read of it.
    pub answers: bool,
}

/// The drives with these kernel names, all asked at once. Of one that does not answer in time there is what the
/// kernel and udev tell; whoever waits for it is left behind until this program ends.
pub(super) fn described(roots: &Roots, names: Vec<String>, patience: Duration) -> Vec<Described> {
    let graph = BlockGraph::read(roots);
    let machine = Arc::new((MountedOn::of(&graph), graph));
    let asked: Vec<_> = names.into_iter().map(|name| (ask(&machine, &name), name)).collect();
    let end = Instant::now() + patience;
    let answer = |(asked, name): (Receiver<Option<Drive>>, String)| {
        let left = end.saturating_duration_since(Instant::now());
        match asked.recv_timeout(left) {
            Ok(drive) => drive.map(|drive| Described { drive, answers: true }),
            Err(_) => without_answer(&machine, &name, patience),
        }
    };
    asked.into_iter().filter_map(answer).collect()
}

/// Describes a drive in a thread of its own; where there is none to be had, at once.
fn ask(machine: &Arc<(MountedOn, BlockGraph)>, name: &str) -> Receiver<Option<Drive>> {
    let (send, receive) = channel();
    let (name, machine) = (name.to_string(), Arc::clone(machine));
    let work = move || {
        let (mounted_on, graph) = &*machine;
        let device = BlockDevice::open(graph.roots(), &name);
        let drive = device.map(|device| describe(graph, &device, mounted_on, true));
        // The receiver is gone when it took too long.
        let _ = send.send(drive);
    };
    if std::thread::Builder::new().spawn(work.clone()).is_err() {
        work();
    }
    receive
}

fn without_answer(
    machine: &(MountedOn, BlockGraph),
    name: &str,
    patience: Duration,
) -> Option<Described> {
    let (mounted_on, graph) = machine;
    let drive = describe(graph, &BlockDevice::open(graph.roots(), name)?, mounted_on, false);
    let note = format!(
        "no answer within {} s: contents, temperature and health unknown; see dmesg",
        patience.as_secs_f64()
    );
    let health = Health { note: Some(note), ..Health::default() };
    Some(Described { drive: Drive { health, ..drive }, answers: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;
    use rustix::fs::{CWD, FileType, Mode};

    /// Nobody writes to a named pipe: whoever opens it to read waits, as for a drive that does not answer.
    #[test]
    fn a_drive_that_never_answers_is_listed_beside_those_that_do() {
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
        let found = described(&fake.roots, names, Duration::from_millis(300));
        let [silent, sound] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((silent.answers, sound.answers), (false, true));
        assert_eq!(silent.drive.name, "sda");
        assert_eq!(silent.drive.partitions.len(), 2, "the kernel knows them");
        let note = silent.drive.health.note.as_deref().unwrap();
        assert!(note.starts_with("no answer within 0.3 s"), "{note}");
        assert_eq!(sound.drive.partitions[1].content.as_deref(), Some("swap"));
    }
}
