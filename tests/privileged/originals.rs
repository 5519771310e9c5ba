//! Tests that write patterns to a device and put its contents back: whatever ends them, it is byte for
//! byte what it was.

use super::guards::{Loop, Mount, image_of_noise, image_with, tool};
use super::list::add_partition;
use super::privileged_scratch;
use super::stamps::wait_for_writes;
use crate::support::json::{array, finding, findings, metric, statuses, test_of, text};
use crate::support::terminal::{CTRL_C, OnTerminal};
use crate::support::{Call, Scratch, every, few_or_all, must_have, noise, wait_for};
use rustix::process::Signal;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

const MIB: usize = 1 << 20;

/// Writes in 16 MiB in the middle of the device.
pub(super) const WRITES: &[&str] = &[
    "--test=transfer",
    "--cells=rnd4k_q4t1.write,seq1m_q2t1.write,rnd4k_q1t1.read",
    "--set=transfer.area=16MiB",
    "--set=transfer.time=20ms",
    "--set=transfer.ramp=0s",
    "--rounds=1",
    "--json",
];
pub(super) const ENDLESS: &[&str] = &["--set=transfer.time=1h"];

pub(super) struct Target {
    pub scratch: Scratch,
    image: String,
    before: Vec<u8>,
    pub device: Loop,
}

impl Target {
    pub fn new() -> Option<Self> {
        let scratch = privileged_scratch()?;
        let image = image_of_noise(&scratch, 64);
        let before = fs::read(&image).expect("it was just made");
        let device = Loop::attach(&image, &["--direct-io=on"])?;
        Some(Self { scratch, image, before, device })
    }

    /// The option that permits writes.
    pub fn level(&self) -> String {
        format!("--write=restore:{}:{}", self.device.name(), self.before.len())
    }

    pub fn call(&self, options: &[&[&str]]) -> Call {
        let level = self.level();
        self.scratch.run_call(&self.device.node, &[&[WRITES], options, &[&[&level]]].concat())
    }

    /// Whether bytes of the image have changed; all changes must be in the area.
    pub fn is_changed(&self) -> bool {
        fn outside(bytes: &[u8]) -> Vec<u8> {
            [&bytes[..24 * MIB], &bytes[40 * MIB..]].concat()
        }
        let now = fs::read(&self.image).expect("it is ours");
        assert!(outside(&now) == outside(&self.before), "something outside the area changed");
        now != self.before
    }

    fn journals(&self) -> PathBuf {
        self.scratch.path("home/state/drivescope/journals")
    }

    /// Number of journal files.
    pub fn open(&self) -> usize {
        fs::read_dir(self.journals()).map_or(0, Iterator::count)
    }

    #[track_caller]
    pub fn must_be_whole(&self, what: &str) {
        assert!(!self.is_changed(), "{what}: the contents are not back");
        assert_eq!(self.open(), 0, "{what}: a journal is left");
    }

    pub fn wait_for_patterns(&self) {
        wait_for("patterns on the device", || self.is_changed().then_some(()));
    }
}

/// A pseudorandom duration below `below` microseconds.
pub(super) fn moment(seed: u64, below: u64) -> Duration {
    let bytes = noise(8, seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let number = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    Duration::from_micros(number % below)
}

#[test]
fn run_writes_patterns_and_restores_the_contents() {
    let Some(target) = Target::new() else { return };
    let run = target.call(&[]).end().code(0).json();
    target.must_be_whole("after the run");
    assert_eq!(statuses(&run), [("transfer", "done")]);
    let planned = &run["plan"]["tests"][0];
    assert_eq!(planned["writes"], "restore");
    assert_eq!(planned["restores"]["from_bytes"], 24 * MIB);
    assert_eq!(planned["restores"]["area_bytes"], 16 * MIB);
    assert_eq!(text(&planned["restores"]["journal"]), target.journals().to_str().unwrap());
    let phases = array(&test_of(&run, "transfer")["phases"]);
    let mut writes = phases.iter().filter(|phase| text(&phase["cell"]).ends_with(".write"));
    assert!(writes.all(|phase| phase["device_written_bytes"].as_u64() > Some(0)), "{phases:?}");
    let confined = finding(&run, "F032");
    assert!(text(&confined["evidence"]).contains("16.8 MB from byte 25165824"), "{confined}");
    let about = ["transfer.rnd4k_q4t1.write", "transfer.seq1m_q2t1.write"];
    assert_eq!(array(&confined["metrics"]), about);
    let check = |name: &str| array(&run["gate"]).iter().find(|check| check["check"] == name);
    for name in ["claim", "system", "journal", "confirmation", "looks"] {
        assert!(
            check(name).is_some_and(|check| check["passed"] == true),
            "{name}: {}",
            run["gate"]
        );
    }
    // Once more at once: nothing of the first run is in the way.
    target.call(&[]).end().code(0);
    target.must_be_whole("after the second run");
}

#[test]
fn plan_names_overwritten_ranges_and_their_copy() {
    let Some(target) = Target::new() else { return };
    let level = target.level();
    let options = [&WRITES[..WRITES.len() - 1], &["--dry-run", &level]].concat();
    let shown = target.scratch.run(&target.device.node, &[&options]).code(0).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let journals = target.journals();
    must_have(
        &shown,
        &[
            "patterns, then restored",
            "16.8 MB from byte 25,165,824",
            "first saved in",
            journals.to_str().unwrap(),
            "write results apply to this area only",
        ],
    );
    assert!(!journals.exists(), "a dry run made something");
    target.must_be_whole("after the dry run");
}

#[test]
fn signals_end_the_run_with_the_contents_back() {
    let Some(target) = Target::new() else { return };
    let all = [
        &[Signal::INT][..],
        &[Signal::TERM],
        &[Signal::HUP],
        // Whatever else ends a program that does not handle it.
        &[Signal::QUIT],
        &[Signal::USR1],
        &[Signal::USR2, Signal::ALARM, Signal::VTALARM, Signal::PROF],
        &[Signal::XCPU],
        &[Signal::IO, Signal::POWER],
        &[Signal::INT, Signal::INT, Signal::TERM, Signal::INT],
    ];
    for signals in every(4, &all) {
        let running = target.call(&[ENDLESS]).start();
        target.wait_for_patterns();
        let mut running = running.must_be_alive();
        for signal in *signals {
            if running.is_alive() {
                running.signal(*signal);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let ended = running.end().code(130);
        target.must_be_whole(&format!("{signals:?}"));
        // Who lost a terminal does not wait for an answer.
        let urgent = [Signal::INT, Signal::TERM, Signal::QUIT];
        let is_asked = signals.iter().any(|signal| urgent.contains(signal));
        let is_told = ended.stderr.contains("must finish first; about");
        assert_eq!(is_told, is_asked, "{signals:?}: {ended}");
        let run = ended.json();
        assert_eq!(run["status"], "interrupted");
    }
}

/// The test is complete and its numbers are valid; the call was interrupted all the same.
#[test]
fn signal_during_restore_gives_130_and_completes() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 256);
    let Some(device) = Loop::attach(&image, &["--direct-io=on"]) else { return };
    let before = fs::read(&image).unwrap();
    let level = format!("--write=restore:{}:{}", device.name(), before.len());
    let options = ["--set=transfer.area=240MiB", "--test=transfer", &level];
    let mut program =
        OnTerminal::start_with(scratch.run_call(&device.node, &[WRITES, &options]), 80);
    program.wait_for("restoring contents");
    program.press(CTRL_C);
    program.end().code(130).shows(&["must finish first"]);
    assert!(fs::read(&image).unwrap() == before, "the contents are not back");
    let run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    assert_eq!(statuses(&run), [("transfer", "done")]);
    assert_eq!(run["status"], "done");
    assert!(!array(&run["verdict"]).is_empty(), "it has its end");
}

#[test]
fn whenever_signals_come_the_contents_are_back() {
    let Some(target) = Target::new() else { return };
    let rounds = few_or_all(8, 24);
    let mut interrupted = 0;
    for seed in 1..=rounds {
        let running = target.call(&[&["--set=transfer.time=80ms"]]).start();
        // Any stage: before the journal, while contents are saved, written, put back, verified.
        std::thread::sleep(moment(seed, 900_000));
        let mut running = running;
        for again in 0..1 + seed % 3 {
            if running.is_alive() {
                running.signal(Signal::INT);
            }
            std::thread::sleep(moment(seed + 100 * again, 30_000));
        }
        let ended = running.end();
        // A signal before the program has its handlers ends it, as any program.
        let by_signal = ended.signal() == Some(2);
        assert!(by_signal || matches!(ended.exit_code(), Some(0 | 130)), "{seed}: {ended}");
        interrupted += u64::from(ended.exit_code() == Some(130));
        target.must_be_whole(&format!("round {seed}: {ended}"));
    }
    eprintln!("{interrupted} of {rounds} runs were interrupted");
    assert!(interrupted >= rounds / 4, "only {interrupted} signals came while something was done");
}

#[test]
fn restore_works_after_a_kill_at_any_time() {
    const MOST: u64 = 60;
    let Some(target) = Target::new() else { return };
    let enough = few_or_all(4, 12);
    let (mut changed, mut seed) = (0, 0);
    while changed < enough {
        seed += 1;
        assert!(seed <= MOST, "only {changed} kills hit a change");
        let running = target.call(&[&["--set=transfer.time=200ms"]]).start();
        wait_for("a journal", || (target.open() > 0).then_some(()));
        std::thread::sleep(moment(seed, 400_000));
        running.kill();
        let is_changed = target.is_changed();
        changed += u64::from(is_changed);
        if is_changed && changed <= 3 {
            // Every other command on that drive refuses, and says what to do.
            for options in [&["--test=latency"][..], &["--dry-run"]] {
                let message = target.scratch.run(&target.device.node, &[options]).refused(3);
                assert!(message.contains("run drivescope restore --journal"), "{message}");
            }
        }
        let ended = target.scratch.drivescope(&["restore"]).code(0);
        target.must_be_whole(&format!("kill {seed}: {ended}"));
    }
    eprintln!("{seed} kills, {changed} while something was changed");
    target.call(&[]).end().code(0);
    target.must_be_whole("after a run that was let be");
}

#[test]
fn partition_within_physical_sectors_is_restored() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 64);
    let options = ["--partscan", "--direct-io=on"];
    let Some(device) = Loop::attach(&image, &options) else { return };
    let Some(_part) = add_partition(&device, 1, 4097, 98304) else { return };
    let before = fs::read(&image).unwrap();
    let is_changed = || fs::read(&image).unwrap() != before;
    let node = format!("{}p1", device.node);
    let level = format!("--write=restore:{}p1:{}", device.name(), 98304 * 512);
    let run = scratch.run(&node, &[WRITES, &[&level]]).code(0).json();
    assert_eq!(run["plan"]["tests"][0]["restores"]["from_bytes"], 16 * MIB);
    assert!(!is_changed(), "the contents are not back");
    let running = scratch.run_call(&node, &[WRITES, ENDLESS, &[&level]]).start();
    wait_for("patterns on the partition", || is_changed().then_some(()));
    running.kill();
    // The partition and its disk are refused, and the partition is found again.
    for node in [&node, &device.node] {
        scratch.run(node, &[&["--dry-run"]]).refused(3);
    }
    scratch.drivescope(&["restore"]).code(0);
    assert!(!is_changed(), "the contents are not back");
}

#[test]
fn unkeepable_journal_refuses_before_the_claim() {
    let Some(target) = Target::new() else { return };
    let small = Scratch::new();
    let Some(image) = image_with(&small, 8, "mkfs.ext4", &["-q", "-F"]) else { return };
    let Some(other) = Loop::attach(&image, &[]) else { return };
    let Some(mount) = Mount::new(&small, &other.node, &[]) else { return };
    let remount = |how| tool("mount", &["-o", how, &mount.point]).unwrap();
    for (how, state, words) in [
        ("remount,rw", mount.text("state"), "no room for the restore journal"),
        ("remount,ro", mount.text("state"), "no files can be made in"),
        ("remount,rw", "/dev/shm/drivescope-state".to_string(), "power cut"),
    ] {
        remount(how);
        let ended = target.call(&[]).env("XDG_STATE_HOME", &state).end();
        ended.refused_with(3, &[words, "XDG_STATE_HOME"]);
        let dry = target.call(&[&["--dry-run"]]).env("XDG_STATE_HOME", &state).end().code(3);
        assert!(dry.stderr.contains(words), "{dry}");
        assert!(!PathBuf::from(state).exists());
    }
    target.must_be_whole("after the refusals");
    // On the drive itself: the mounted device is the target.
    let level = format!("--write=restore:{}:{}", other.name(), 8 * MIB);
    let call = small.run_call(&other.node, &[WRITES, &["--set=transfer.area=1MiB", &level]]);
    let message = call.env("XDG_STATE_HOME", mount.text("state")).end().refused(3);
    assert!(message.contains("the drive to be written"), "{message}");
}

#[test]
fn failing_device_gets_its_contents_in_two_parts() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(image) = image_with(&scratch, 64, "mkfs.ext4", &["-q", "-F"]) else { return };
    let Some(below) = Loop::attach(&image, &[]) else { return };
    let Some(mount) = Mount::new(&scratch, &below.node, &[]) else { return };
    // A device larger than the file system that holds its file: writes fail where that is full. It holds
    // something in the middle of the area.
    let file = mount.text("sparse");
    let sparse = fs::File::create(&file).unwrap();
    sparse.set_len(128 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, &noise(2 * MIB, 9), 64 << 20).unwrap();
    drop(sparse);
    let filler = mount.text("filler");
    tool("fallocate", &["-l", "40MiB", &filler]).unwrap();
    let Some(device) = Loop::attach(&file, &["--direct-io=on"]) else { return };
    let before = fs::read(&file).unwrap();
    let level = format!("--write=restore:{}:{}", device.name(), before.len());
    let area = "--set=transfer.area=32MiB";
    let options = ["--cells=seq1m_q2t1.write", "--set=transfer.time=10s", area, &level];
    let ended = scratch.run(&device.node, &[WRITES, &options]).code(4);
    let run = ended.json();
    assert!(ended.stderr.contains(&format!("for its sparse file {file}")), "{ended}");
    assert_eq!(statuses(&run), [("transfer", "failed")]);
    let reason = text(&run["tests"][0]["reason"]);
    must_have(
        reason,
        &["did not take back", "before that: write at byte", "drivescope restore again"],
    );
    assert!(findings(&run).contains(&"F017"), "{:?}", findings(&run));
    let journals = scratch.path("home/state/drivescope/journals");
    assert_eq!(fs::read_dir(&journals).unwrap().count(), 1);
    // What it takes is back: all that was there.
    assert!(fs::read(&file).unwrap()[64 << 20..66 << 20] == before[64 << 20..66 << 20]);
    scratch.run(&device.node, &[&["--test=latency"]]).refused_with(3, &["drivescope restore"]);
    // With room again, the rest is restored too.
    fs::remove_file(&filler).unwrap();
    scratch.drivescope(&["restore"]).code(0);
    assert!(fs::read(&file).unwrap() == before, "the contents are not back");
    assert_eq!(fs::read_dir(&journals).unwrap().count(), 0);
}

#[test]
fn read_only_device_and_wrong_name_are_refused() {
    let Some(target) = Target::new() else { return };
    let node = &target.device.node;
    for (options, words) in
        [(&["--write=restore"][..], "(see above)"), (&["--write=restore:loop:1"], "(see above)")]
    {
        let ended = target.scratch.run(node, &[WRITES, options]).code(3);
        assert!(ended.stderr.contains(words) && ended.stderr.contains("confirmation"), "{ended}");
    }
    tool("blockdev", &["--setro", node]).unwrap();
    let ended = target.call(&[]).end().code(3);
    tool("blockdev", &["--setrw", node]).unwrap();
    assert!(ended.stderr.contains("read-only"), "{ended}");
    target.must_be_whole("after the refusals");
}

#[test]
fn surface_writes_the_same_bytes_and_nothing_changes() {
    let Some(target) = Target::new() else { return };
    let options = [
        "--test=surface",
        "--set=surface.sample=1MiB",
        "--set=surface.samples=8",
        "--set=surface.accesses=10",
        "--rounds=1",
        "--json",
    ];
    for (suite, level, is_written) in [
        ("--suite=quick", "--write=same-bytes", true),
        ("--suite=gnome-disks", "--write=same-bytes", true),
        ("--suite=quick", "--quiet", false),
    ] {
        let run = target.scratch.run(&target.device.node, &[&options, &[suite, level]]);
        let run = run.code(0).json();
        let mean = metric(&run, "surface.write.mean_mb_s");
        assert_eq!(mean.is_some(), is_written, "{suite} {level}");
        let writes = if is_written { "same-bytes" } else { "read" };
        assert_eq!(run["plan"]["tests"][0]["writes"], writes);
        target.must_be_whole(suite);
    }
    let destroy = format!("--destroy={}:{}", target.device.name(), target.before.len());
    let run = target.scratch.run(&target.device.node, &[&options, &[&destroy]]).code(0).json();
    assert_eq!(run["plan"]["tests"][0]["writes"], "destroy");
    assert!(fs::read(&target.image).unwrap() != target.before, "nothing was written");
}

/// It writes the bytes that are there: a kill never changes anything.
#[test]
fn interrupted_surface_changes_nothing() {
    let Some(target) = Target::new() else { return };
    let options = [
        "--test=surface",
        "--write=same-bytes",
        "--set=surface.samples=2",
        "--set=surface.sample=8MiB",
        "--set=surface.write_samples=1000",
        "--rounds=100",
        "--json",
    ];
    for seed in 1..=few_or_all(4, 10) {
        let running = target.scratch.run_call(&target.device.node, &[&options]).start();
        wait_for_writes(&running, 16 << 20);
        std::thread::sleep(moment(seed, 50_000));
        let signal = if seed % 2 == 0 { Signal::INT } else { Signal::KILL };
        running.signal(signal);
        let ended = running.end();
        let expected = if signal == Signal::INT { Some(130) } else { None };
        assert_eq!(ended.exit_code(), expected, "{ended}");
        target.must_be_whole(&format!("{signal:?}"));
    }
}
