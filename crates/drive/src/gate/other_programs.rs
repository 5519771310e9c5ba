//! Other programs that have the device open: the kernel's exclusive claim does not see them, because
//! it is about claims and not about plain opens. A virtual machine may write to a disk this way.

use super::checks::{unknown, uses};
use drivescope_machine::graph::Footprint;
use drivescope_machine::open_handles::{OpenHandle, OpenHandles, Sought};
use drivescope_machine::processes::{describe_process, hides_processes, sees_all_processes};
use drivescope_machine::roots::Roots;
use drivescope_machine::uses::DeviceUse;
use drivescope_model::gate::Check;
use std::time::Duration;

/// Programs that look for devices (losetup, blkid) open each for a moment, some for writing; who has it
/// open after this time keeps it open.
const LOOKS: u32 = 5;
const LOOK_PAUSE: Duration = Duration::from_millis(60);

/// Open handles, after those of programs that only look have been closed.
fn open_handles(roots: &Roots, footprint: &Footprint) -> OpenHandles {
    let mut seen = OpenHandles::scan(roots, Sought::Device(footprint));
    for _ in 1..LOOKS {
        if !seen.found.iter().any(|open| open.writes) {
            break;
        }
        std::thread::sleep(LOOK_PAUSE);
        seen = OpenHandles::scan(roots, Sought::Device(footprint));
    }
    seen
}

/// Refuses if another program can write; readers (health daemons) are only reported.
pub(super) fn check(roots: &Roots, footprint: &Footprint) -> Vec<Check> {
    let OpenHandles { found, hidden } = open_handles(roots, footprint);
    let (writers, readers): (Vec<OpenHandle>, Vec<OpenHandle>) =
        found.into_iter().partition(|open| open.writes);
    let writers: Vec<DeviceUse> = writers.iter().map(|open| writing(roots, open)).collect();
    let unseen = match hidden {
        0 if hides_processes(roots) => Some("other users".to_string()),
        0 if !sees_all_processes(roots) => Some("programs outside this container".to_string()),
        0 => None,
        hidden => Some(format!("{hidden} processes")),
    };
    if let Some(who) = unseen.filter(|_| writers.is_empty()) {
        let evidence = format!("open files of {who} are not visible");
        return vec![unknown("other programs", evidence, "sudo ls -l /proc/*/fd")];
    }
    let mut names: Vec<String> =
        readers.iter().map(|open| describe_process(roots, &open.process)).collect();
    names.sort();
    names.dedup();
    let none = match names.as_slice() {
        [] => "none has it open".to_string(),
        names => format!("open only for reading, by {}", names.join(", ")),
    };
    uses("other programs", writers, none)
}

fn writing(roots: &Roots, open: &OpenHandle) -> DeviceUse {
    let program = describe_process(roots, &open.process);
    let evidence = format!("{program} has {} {}", open.what, open.how);
    DeviceUse::new(evidence, open.command.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_machine::graph::BlockGraph;
    use drivescope_machine::roots::fake::Fake;
    use drivescope_model::gate::Outcome;
    use std::fs;

    fn outcome(fake: &Fake, target: &str) -> Check {
        let checks = check(&fake.roots, &BlockGraph::read(&fake.roots).footprint(target));
        assert_eq!(checks.len(), 1, "{checks:?}");
        checks[0].clone()
    }

    #[track_caller]
    fn expect(fake: &Fake, target: &str, expected: Outcome, words: &str) {
        let check = outcome(fake, target);
        assert_eq!(check.outcome, expected, "{check:?}");
        assert!(check.evidence.contains(words), "{check:?}");
    }

    /// `sdx` does not exist on the machine of the test, so its number comes from its name.
    fn opened(flags: &str) -> Fake {
        let fake = Fake::new();
        fake.disk("pci0000:00/block/gate-sdx", (8, 0), 1 << 30);
        fake.file("proc/812/comm", "qemu-system\n");
        fake.link("proc/812/fd/7", "/dev/gate-sdx");
        fake.file("proc/812/fdinfo/7", format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t15\n"));
        fake
    }

    #[test]
    fn writing_program_refuses_reading_one_is_reported() {
        let (writing, reading) = (opened("02100002"), opened("02100000"));
        expect(&writing, "gate-sdx", Outcome::Refused, "qemu-system (process 812)");
        expect(&reading, "gate-sdx", Outcome::Ok, "open only for reading, by qemu-system");
    }

    #[test]
    fn other_devices_do_not_matter() {
        let fake = opened("02");
        fake.disk("pci0000:00/block/gate-sdy", (8, 16), 1 << 30);
        assert_eq!(outcome(&fake, "gate-sdy").evidence, "none has it open");
    }

    #[test]
    fn programs_with_hidden_descriptors_are_reported() {
        let fake = opened("0");
        // A file where the directory should be cannot be read as one, not even by root.
        fake.file("proc/813/fd", "");
        expect(&fake, "gate-sdx", Outcome::Unknown, "open files of 1 processes");
    }

    /// A container or a PID namespace lists only its own processes.
    #[test]
    fn own_processes_alone_say_nothing_of_others() {
        let fake = opened("0");
        fake.link("proc/self/ns/pid", "pid:[4026532201]");
        expect(&fake, "gate-sdx", Outcome::Unknown, "outside this container");
        fs::remove_file(fake.path("proc/self/ns/pid")).unwrap();
        fake.link("proc/self/ns/pid", "pid:[4026531836]");
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Ok);
    }

    /// The host of virtual machines finds volumes on their disks, and makes them its own.
    #[test]
    fn program_writing_the_layer_below_refuses() {
        let fake = opened("02100002");
        fake.partition("gate-sdx", 1, (8, 1), 2048, 2048);
        fake.upper("md5", (9, 5), 1 << 20, &["gate-sdx1"]);
        fake.upper("dm-7", (253, 7), 1 << 20, &["md5"]);
        let words = "qemu-system (process 812) has gate-sdx (below dm-7) open for writing";
        expect(&fake, "dm-7", Outcome::Refused, words);
        fake.file("proc/812/comm", "mdmon\n");
        assert_eq!(outcome(&fake, "dm-7").outcome, Outcome::Ok, "it writes no contents");
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Refused, "but to its own members");
        fake.file("proc/812/comm", "qemu-nbd\n");
        fake.attrs("gate-sdx", &[("pid", "812")]);
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Ok, "it is what it connects");
        fake.attrs("gate-sdx", &[("pid", "813")]);
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Refused);
        fake.file("proc/812/task/813/comm", "qemu-nbd\n");
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Ok, "a thread of it connected it");
    }

    /// Of its first thread, which has ended, nothing is left but an empty list.
    #[test]
    fn ended_first_thread_does_not_hide_a_program() {
        let fake = opened("0");
        fs::remove_file(fake.path("proc/812/fd/7")).unwrap();
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Ok);
        fake.file("proc/812/task/813/comm", "writer\n");
        fake.link("proc/812/task/813/fd/7", "/dev/gate-sdx");
        fake.file("proc/812/task/813/fdinfo/7", "flags:\t02\n");
        let check = outcome(&fake, "gate-sdx");
        assert_eq!(check.outcome, Outcome::Refused);
        assert!(check.evidence.contains("writer (process 812/task/813)"), "{}", check.evidence);
        assert_eq!(check.command.as_deref(), Some("ls -l /proc/812/task/813/fd"));
        // One that is alive shows the same by its first.
        fake.link("proc/812/ns/mnt", "mnt:[1]");
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Ok);
    }

    /// An io_uring instance keeps a closed file in use, and so does a mapping.
    #[test]
    fn files_held_by_ring_or_mapping_are_found() {
        fn closed() -> Fake {
            let fake = opened("0");
            fs::remove_file(fake.path("proc/812/fd/7")).unwrap();
            fake.link("proc/812/fd/5", "anon_inode:[io_uring]");
            fake
        }
        fn ring(path: &str) -> String {
            let files = format!("    0: socket:[1]\n    7: {path}\nUserBufs:\t0\n");
            format!("pos:\t0\nflags:\t02\nCqTail:\t0\nUserFiles:\t8\n{files}")
        }
        let fake = closed();
        fake.file("proc/812/fdinfo/5", ring("/dev/gate-sdy"));
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Ok);
        fake.file("proc/812/fdinfo/5", ring("/dev/gate-sdx"));
        let check = outcome(&fake, "gate-sdx");
        assert_eq!(check.outcome, Outcome::Refused);
        assert!(check.evidence.contains("has gate-sdx registered with io_uring"), "{check:?}");
        assert_eq!(check.command.as_deref(), Some("cat /proc/812/fdinfo/5"));
        // A descriptor of the same says that it only reads.
        fake.link("proc/812/fd/7", "/dev/gate-sdx");
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Ok);
        for (how, refuses) in [("rw-s", true), ("r--s", false), ("rw-p", false)] {
            let fake = closed();
            let maps = "7f0000000000-7f0000100000 rw-s 00000000 00:01 2    /dev/zero (deleted)\n";
            let line = format!("00400000-00500000 {how} 00000000 00:06 91     /dev/gate-sdx\n");
            fake.file("proc/812/maps", format!("{maps}{line}"));
            let check = outcome(&fake, "gate-sdx");
            assert_eq!(check.outcome == Outcome::Refused, refuses, "{how}: {check:?}");
            assert_eq!(check.evidence.contains("mapped into its memory"), refuses, "{check:?}");
        }
    }

    /// `hidepid=invisible`: nothing is listed that could refuse to be read.
    #[test]
    fn unlisted_processes_may_have_the_device_open() {
        let fake = opened("02100000");
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Ok);
        for (options, is_known) in
            [("hidepid=invisible", false), ("hidepid=2", false), ("rw", true)]
        {
            fake.mounts(&[&format!("9 1 0:22 / /proc rw - proc proc rw,{options}")]);
            let check = outcome(&fake, "gate-sdx");
            assert_eq!(check.outcome == Outcome::Ok, is_known, "{options}: {check:?}");
        }
        // Root sees all of them.
        fake.mounts(&["9 1 0:22 / /proc rw - proc proc rw,hidepid=invisible"]);
        fake.file("proc/1/comm", "init");
        fs::create_dir_all(fake.path("proc/1/fd")).unwrap();
        assert_eq!(outcome(&fake, "gate-sdx").outcome, Outcome::Ok);
    }

    /// What is mapped the kernel does not forget, and the device itself is the only one whose memory follows its
    /// writes.
    #[test]
    fn read_only_mapping_of_a_partition_stays_cached() {
        let fake = opened("02100000");
        fake.partition("gate-sdx", 1, (8, 1), 2048, 2048);
        for (name, refuses) in [("gate-sdx1", true), ("gate-sdx", false), ("gate-sdy", false)] {
            let line = format!("00400000-00500000 r--p 00000000 00:06 91     /dev/{name}\n");
            fake.file("proc/812/maps", line);
            let check = outcome(&fake, "gate-sdx");
            assert_eq!(check.outcome == Outcome::Refused, refuses, "{name}: {check:?}");
        }
    }

    #[test]
    fn flags_that_make_no_sense_count_as_writing() {
        assert_eq!(outcome(&opened("zzz"), "gate-sdx").outcome, Outcome::Refused);
    }
}
