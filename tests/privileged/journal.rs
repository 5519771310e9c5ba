//! `restore` after real kills: a loop device is written through the journal by a process that dies at
//! any moment.

use super::guards::{Loop, Mount, OnLoop, image_of_noise, image_with, insist, tool};
use super::originals::moment;
use super::privileged_scratch;
use crate::support::{Scratch, few_or_all, noise, wait_for};
use drivescope_drive::journal::{
    self, Disk, DriveIdentity, Journal, JournalError, JournalSettings, NotReady, StateFolder,
};
use drivescope_machine::Roots;
use rustix::process::Signal;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Variables for the process that will be killed.
const DEVICE: &str = "DRIVESCOPE_TEST_VICTIM_DEVICE";
const FOLDER: &str = "DRIVESCOPE_TEST_VICTIM_FOLDER";
const SEED: &str = "DRIVESCOPE_TEST_VICTIM_SEED";
const VICTIM: &str = "privileged::journal::the_process_that_is_killed";

const MIB: usize = 1 << 20;

/// A loop device opened without the gate, for tests that created it.
struct LoopDisk {
    file: File,
    identity: DriveIdentity,
}

impl LoopDisk {
    fn open(node: &str) -> Self {
        let name = node.trim_start_matches("/dev/");
        assert!(name.starts_with("loop"), "{node} is not one of ours");
        let file = fs::OpenOptions::new().read(true).write(true).open(node).expect("it is there");
        let identity = DriveIdentity::of(&Roots::host(), name).expect("it is there");
        Self { file, identity }
    }
}

impl Disk for LoopDisk {
    fn identity(&self) -> &DriveIdentity {
        &self.identity
    }
    fn sector_bytes(&self) -> u32 {
        512
    }
    fn physical_sector_bytes(&self) -> u32 {
        4096
    }
    fn ready(&mut self) -> Result<(), NotReady> {
        Ok(())
    }
    fn still_free(&mut self) -> Result<(), String> {
        Ok(())
    }
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
    fn drop_cache(&mut self) -> io::Result<()> {
        rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed).map_err(Into::into)
    }
}

pub(super) fn journals(scratch: &Scratch) -> PathBuf {
    scratch.path("home/state/drivescope/journals")
}

fn begin(
    folder: &Path,
    node: &str,
    disk: &LoopDisk,
    window_bytes: usize,
    run: u64,
) -> Result<Journal<StateFolder>, JournalError> {
    let settings = JournalSettings {
        run_id: format!("kill{run}"),
        data_seed: None,
        window_bytes: window_bytes as u64,
    };
    journal::begin(&Roots::host(), folder, node.trim_start_matches("/dev/"), disk, settings)
}

/// Makes a sector of test data from noise: it identifies a drive whose contents wait to be restored.
fn stamp(sector: &mut [u8], offset: u64) {
    sector.iter_mut().for_each(|byte| *byte |= 1);
    sector[..8].copy_from_slice(&offset.to_le_bytes());
    sector[8..16].copy_from_slice(&1u64.to_le_bytes());
}

fn test_data(bytes: usize, offset: u64) -> Vec<u8> {
    let mut data = vec![7; bytes];
    for (at, sector) in (offset..).step_by(512).zip(data.chunks_mut(512)) {
        stamp(sector, at);
    }
    data
}

/// Writes through a journal without end. Not a test: [`kill`] runs this process by name, with the variables.
#[test]
fn the_process_that_is_killed() {
    fn variable(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
    let (Some(node), Some(folder), Some(seed)) =
        (variable(DEVICE), variable(FOLDER), variable(SEED))
    else {
        return;
    };
    let seed: u64 = seed.parse().unwrap();
    let mut disk = LoopDisk::open(&node);
    let mut journal = begin(Path::new(&folder), &node, &disk, 4 * MIB, seed).unwrap();
    let sectors = disk.identity.size_bytes / 512;
    for round in 0u64.. {
        let dice = noise(64 << 10, seed << 32 | round);
        let number = |at: usize| u64::from_le_bytes(dice[at..at + 8].try_into().unwrap());
        let len = 1 + number(8) % 100;
        let at = number(0) % (sectors - len);
        let mut data = dice[..len as usize * 512].to_vec();
        for (sector, bytes) in (at..).zip(data.chunks_mut(512)) {
            stamp(bytes, sector * 512);
        }
        journal.write_at(&mut disk, at * 512, &data, &mut |_| {}).unwrap();
        match round % 100 {
            30 | 60 => disk.sync().unwrap(),
            99 => journal.roll_back(&mut disk, &mut |_| {}).unwrap(),
            _ => {}
        }
    }
}

fn start_victim(node: &str, folder: &Path, seed: u64) -> Child {
    Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", VICTIM, "--nocapture", "--test-threads=1"])
        .env(DEVICE, node)
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("this program can be started")
}

fn is_alive(victim: &mut Child) -> bool {
    victim.try_wait().expect("it is ours").is_none()
}

/// Starts the writing process, and kills it at a random time after its first journal exists.
fn kill(node: &str, folder: &Path, seed: u64) {
    let mut victim = start_victim(node, folder, seed);
    wait_for("the first journal", || {
        assert!(is_alive(&mut victim), "it ended by itself");
        let name = fs::read_dir(folder).ok()?.next()?.ok()?.file_name();
        name.to_string_lossy().starts_with("kill").then_some(())
    });
    std::thread::sleep(moment(seed, 40_000));
    assert!(is_alive(&mut victim), "it ended by itself");
    victim.kill().expect("it is ours");
    victim.wait().expect("it is ours");
}

pub(super) fn contents(device: &Loop, image: &str) -> Vec<u8> {
    tool("blockdev", &["--flushbufs", &device.node]).expect("it is ours");
    fs::read(image).expect("it is ours")
}

#[test]
fn killed_process_is_restored_at_any_time() {
    // Not every kill hits during a change: repeat until enough did.
    const MOST: u64 = 400;
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 8);
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let original = contents(&device, &image);
    let (mut changed, mut killed_again, mut seed) = (0, 0, 0);
    let (enough, enough_again) = (few_or_all(6, 20), few_or_all(2, 8));
    while changed < enough || killed_again < enough_again {
        seed += 1;
        assert!(seed <= MOST, "only {changed} kills hit a change, and {killed_again} a restore");
        kill(&device.node, &journals(&scratch), seed);
        let is_changed = contents(&device, &image) != original;
        changed += u64::from(is_changed);
        if is_changed && changed <= 3 {
            let message = scratch.run(&device.node, &[&["--dry-run"]]).refused(3);
            assert!(message.contains("run drivescope restore --journal"), "{message}");
        }
        if is_changed && seed % 2 == 0 {
            // The restore is killed too, somewhere.
            let mut restore = scratch.call(&["restore"]).start();
            std::thread::sleep(moment(seed + 1000, 30_000));
            killed_again += u64::from(restore.is_alive());
            drop(restore);
        }
        let ended = scratch.drivescope(&["restore"]).code(0);
        assert!(contents(&device, &image) == original, "kill {seed}: {ended}");
        let left = fs::read_dir(journals(&scratch)).unwrap().count();
        assert_eq!(left, 0, "kill {seed}: {ended}");
    }
    eprintln!(
        "{seed} kills, {changed} while something was changed, {killed_again} restores killed"
    );
    scratch.run(&device.node, &[&["--dry-run"]]).code(0);
}

pub(super) fn leave_open(node: &str, folder: &Path, mib: usize, run: u64) {
    let mut disk = LoopDisk::open(node);
    let mut journal = begin(folder, node, &disk, (mib + 2) * MIB, run).expect("nothing is open");
    let pattern = test_data(mib * MIB, 0);
    journal.write_at(&mut disk, 0, &pattern, &mut |_| {}).expect("loop devices do not fail");
}

#[test]
fn signals_do_not_end_a_restore() {
    const ATTEMPTS: u64 = 10;
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 64);
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let original = contents(&device, &image);
    // The restore may be over before the signal comes; then once more.
    let is_reported = (0..ATTEMPTS).any(|run| {
        leave_open(&device.node, &journals(&scratch), 48, run);
        assert!(contents(&device, &image) != original);
        let mut restore = scratch.call(&["restore"]).start();
        // Before it has begun, a signal ends it.
        let open_files = format!("/proc/{}/fd", restore.id());
        wait_for("the journal in its hands, or its end", || {
            let open = fs::read_dir(&open_files).into_iter().flatten().flatten();
            let mut open = open.filter_map(|file| fs::read_link(file.path()).ok());
            let begun = open.any(|path| path.starts_with(journals(&scratch)));
            (begun || !restore.is_alive()).then_some(())
        });
        for signal in [Signal::INT, Signal::INT, Signal::TERM] {
            if restore.is_alive() {
                restore.signal(signal);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let ended = restore.end().code(0);
        assert!(contents(&device, &image) == original, "{ended}");
        ended.stderr.contains("must finish first; about")
    });
    assert!(is_reported, "none of {ATTEMPTS} restores said how long it takes");
}

#[test]
fn journal_restores_only_its_own_drive() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 8);
    let other = scratch.file("other", noise(8 * MIB, 5));
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let original = contents(&device, &image);
    leave_open(&device.node, &journals(&scratch), 2, 1);
    let path = journals(&scratch).join("kill1-0.journal");
    let path = path.to_str().unwrap();
    drop(device);
    // A program that has it open, such as a drive list in another test, delays it.
    wait_for("the end of the loop device", || {
        let devices = insist("losetup", &["--associated", &image]).expect("losetup is there");
        devices.is_empty().then_some(())
    });
    // A device of the same size and kind, with another file.
    let Some(device) = Loop::attach(&other, &[]) else { return };
    let before = contents(&device, &other);
    for arguments in [&["restore"][..], &["restore", "--journal", path]] {
        let ended = scratch.drivescope(arguments).code(2);
        assert!(ended.stderr.contains("is not attached"), "{ended}");
    }
    let ended = scratch.drivescope(&["restore", "--journal", &device.node]).code(0);
    assert!(ended.stdout.contains("nothing to restore"), "{ended}");
    assert!(contents(&device, &other) == before);
    scratch.run(&device.node, &[&["--dry-run"]]).code(0);
    drop(device);
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let ended = scratch.drivescope(&["restore", "--journal", &device.node]).code(0);
    assert!(ended.stdout.contains("restored and verified 2"), "{ended}");
    assert!(contents(&device, &image) == original);
}

/// Sticks of one make may report the same names: only the written data identify the drive.
#[test]
fn drive_without_the_runs_data_is_not_restored() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(8) else { return };
    let original = contents(&device, &image);
    leave_open(&device.node, &journals(&scratch), 2, 1);
    let left = contents(&device, &image);
    let put = |bytes: &[u8]| {
        let file = fs::OpenOptions::new().write(true).open(&device.node).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file.sync_all().unwrap();
    };
    // With contents, and blank.
    for other in [noise(8 * MIB, 5), vec![0; 8 * MIB]] {
        put(&other);
        let ended = scratch.drivescope(&["restore"]).code(3);
        assert!(ended.stderr.contains("are neither the originals in"), "{ended}");
        assert!(contents(&device, &image) == other, "{ended}");
        scratch.run(&device.node, &[&["--dry-run"]]).refused(3);
    }
    put(&left);
    scratch.drivescope(&["restore"]).code(0);
    assert!(contents(&device, &image) == original);
    leave_open(&device.node, &journals(&scratch), 2, 2);
    put(&vec![0; 8 * MIB]);
    let ended = scratch.drivescope(&["restore"]).code(3);
    let insists = format!("--is-of={}", journals(&scratch).join("kill2-0.journal").display());
    assert!(ended.stderr.contains(&insists.replace('=', " ")), "{ended}");
    scratch.drivescope(&["restore", "--is-of=/nowhere/kill2-0.journal"]).code(2);
    scratch.drivescope(&["restore", &insists]).code(0);
    assert!(contents(&device, &image)[..2 * MIB] == original[..2 * MIB]);
}

/// One restores the drive; the other reports that, or finds it done.
#[test]
fn two_concurrent_restores_do_not_conflict() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(32) else { return };
    let original = contents(&device, &image);
    for run in 0..few_or_all(2, 8) {
        leave_open(&device.node, &journals(&scratch), 16, run);
        let both = [0, 1].map(|_| scratch.call(&["restore"]).start());
        let [one, other] = both.map(|restore| restore.end());
        for (ended, other) in [(&one, &other), (&other, &one)] {
            let is_done = ended.stdout.contains("restored and verified");
            let is_left = ended.stderr.contains("another drivescope is at work with")
                || ended.stdout.contains("another drivescope has restored")
                || ended.stdout.contains("nothing to restore");
            assert!(is_done != is_left, "{ended}{other}");
            assert!(is_done || other.stdout.contains("restored and verified"), "{ended}{other}");
        }
        assert!(contents(&device, &image) == original, "{one}{other}");
    }
}

#[test]
fn a_device_in_use_is_not_restored() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::ext4(64) else { return };
    // Only the part behind the file system's last block is changed: it can still be mounted.
    let mut disk = LoopDisk::open(&device.node);
    let mut journal = begin(&journals(&scratch), &device.node, &disk, MIB, 1).unwrap();
    let last = disk.identity.size_bytes - 4096;
    journal.write_at(&mut disk, last, &test_data(4096, last), &mut |_| {}).unwrap();
    drop((journal, disk));
    let Some(mount) = Mount::new(&scratch, &device.node, &[]) else { return };
    let ended = scratch.drivescope(&["restore"]).code(3);
    assert!(ended.stderr.contains(&format!("mounted on {}", mount.point)), "{ended}");
    scratch.run(&mount.point, &[&["--dry-run"]]).refused_with(3, &["drivescope restore"]);
    drop(mount);
    scratch.drivescope(&["restore"]).code(0);
}

#[test]
fn a_journal_needs_room_on_another_disk() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(image) = image_with(&scratch, 16, "mkfs.ext4", &["-q", "-F"]) else { return };
    let Some(small) = Loop::attach(&image, &[]) else { return };
    let Some(mount) = Mount::new(&scratch, &small.node, &[]) else { return };
    let target = scratch.file("target.img", noise(8 * MIB, 3));
    let Some(device) = Loop::attach(&target, &[]) else { return };
    let original = contents(&device, &target);
    let folder = PathBuf::from(mount.text("journals"));
    let mut disk = LoopDisk::open(&device.node);
    // The window alone is larger than the file system.
    let mut journal = begin(&folder, &device.node, &disk, 32 * MIB, 1).unwrap();
    let error = journal.write_at(&mut disk, 0, &[7; 4096], &mut |_| {}).unwrap_err();
    assert!(matches!(error, JournalError::Full { .. }), "{error}");
    assert!(contents(&device, &target) == original);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    // On the drive itself, and in memory.
    let own = LoopDisk::open(&small.node);
    let error = begin(&folder, &small.node, &own, MIB, 1).unwrap_err().to_string();
    assert!(error.contains("the drive to be written"), "{error}");
    let memory = Path::new("/dev/shm/drivescope-journals");
    let error = begin(memory, &device.node, &disk, MIB, 1).unwrap_err().to_string();
    assert!(error.contains("power cut") && !memory.exists(), "{error}");
}

#[test]
fn journal_of_another_user_is_not_restored() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(8) else { return };
    leave_open(&device.node, &journals(&scratch), 1, 1);
    let before = contents(&device, &image);
    let path = journals(&scratch).join("kill1-0.journal");
    std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    let ended = scratch.drivescope(&["restore"]).code(3);
    assert!(ended.stderr.contains("belongs to another user"), "{ended}");
    assert!(contents(&device, &image) == before && path.exists());
    // In doubt the drive is refused all the same.
    scratch.run(&device.node, &[&["--dry-run"]]).refused(3);
    std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    std::os::unix::fs::chown(journals(&scratch), Some(65534), None).unwrap();
    let disk = LoopDisk::open(&device.node);
    let other = scratch.path("home/state/drivescope/journals");
    assert!(begin(&other, &device.node, &disk, MIB, 2).is_err());
    drop(disk);
    scratch.drivescope(&["restore"]).code(0);
}

#[test]
fn damaged_journal_restores_the_rest_and_names_losses() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(8) else { return };
    let original = contents(&device, &image);
    leave_open(&device.node, &journals(&scratch), 3, 1);
    let path = journals(&scratch).join("kill1-0.journal");
    // In the second of three records of 1 MiB, after 16 KiB of headers.
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"rot", (16 << 10) + MIB as u64 + 500_000).unwrap();
    drop(file);
    for _ in 0..2 {
        let ended = scratch.drivescope(&["restore"]).code(1);
        assert!(ended.stderr.contains("originals of bytes 1339392 to 1343487 are lost"), "{ended}");
        assert!(ended.stderr.contains("remove that file"), "{ended}");
        let now = contents(&device, &image);
        let lost = 1_339_392..1_343_488;
        assert!(
            now[..lost.start] == original[..lost.start] && now[lost.end..] == original[lost.end..]
        );
        assert!(
            now[lost.clone()] == test_data(4096, lost.start as u64),
            "what is lost is left alone"
        );
        assert!(path.exists());
    }
    scratch.run(&device.node, &[&["--dry-run"]]).refused(3);
    fs::remove_file(&path).unwrap();
    scratch.run(&device.node, &[&["--dry-run"]]).code(0);
}

#[test]
fn truncated_journal_is_not_taken_as_whole() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(8) else { return };
    let original = contents(&device, &image);
    leave_open(&device.node, &journals(&scratch), 3, 1);
    let path = journals(&scratch).join("kill1-0.journal");
    let whole = fs::read(&path).unwrap();
    let zeroed = |from: usize| [&whole[..from], &vec![0; whole.len() - from][..]].concat();
    for from in [2 * MIB, 100_000, 16384, 8192, 100, 0] {
        for damaged in [whole[..from].to_vec(), zeroed(from)] {
            fs::write(&path, &damaged).unwrap();
            let ended = scratch.drivescope(&["restore"]).code(1);
            assert!(ended.stderr.contains("kill1-0.journal is damaged"), "{from}: {ended}");
            let is_named = ended.stderr.contains("to 3145727 are lost");
            assert_eq!(is_named, from >= 100_000, "{from}: {ended}");
            assert!(path.exists() && contents(&device, &image) != original);
            scratch.run(&device.node, &[&["--dry-run"]]).refused(3);
        }
    }
    fs::write(&path, &whole).unwrap();
    scratch.drivescope(&["restore"]).code(0);
    assert!(contents(&device, &image) == original);
}

#[test]
fn link_beside_a_journal_does_not_block_restore() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(8) else { return };
    let original = contents(&device, &image);
    let link = journals(&scratch).join("0.journal");
    for chosen in [&["restore"][..], &["restore", "--journal", &device.node]] {
        leave_open(&device.node, &journals(&scratch), 2, 1);
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        let ended = scratch.drivescope(chosen).code(4);
        assert!(ended.stdout.contains("restored and verified 2"), "{ended}");
        assert!(ended.stderr.contains("0.journal is a restore journal"), "{ended}");
        assert!(contents(&device, &image) == original);
        // It may be the journal of this drive.
        scratch.run(&device.node, &[&["--dry-run"]]).refused_with(3, &["it is a symbolic link"]);
        fs::remove_file(&link).unwrap();
    }
    scratch.run(&device.node, &[&["--dry-run"]]).code(0);
}
