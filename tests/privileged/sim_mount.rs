//! `sim mount`: what any program sees of a served drive, how it ends, and what stays.

use super::guards::{Loop, image_of_noise, or_skip, tool};
use super::journal::{journals, leave_open};
use super::privileged_scratch;
use super::served::{Fs, Served, can_serve, scratch_to_serve};
use crate::support::http::Server;
use crate::support::json::{array, text};
use crate::support::terminal::OnTerminal;
use crate::support::{Call, Scratch, must_have, wait_for};
use rustix::io::Errno;
use rustix::process::Signal;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

/// A flash model with short latencies and 128 GB.
const FLASH: &str = "kioxia-bg4-128";
const FLASH_BYTES: u64 = 128_035_676_160;
const DISK: &str = "wd40efrx";

fn pattern(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| seed.wrapping_add((i / 512) as u8).wrapping_mul(31)).collect()
}

fn open_direct(path: &str) -> File {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).expect("it is served").into()
}

fn read_direct(file: &File, at: u64) -> std::io::Result<usize> {
    let mut memory = vec![0; 8192];
    let skip = memory.as_ptr().align_offset(4096);
    file.read_at(&mut memory[skip..skip + 4096], at)
}

/// The flash model as a block device with a new, mounted file system.
fn with_new_file_system(scratch: &Scratch) -> (Served, Fs) {
    let served = Served::start(scratch, &[FLASH, "drive", "--block"]);
    tool("mkfs.ext4", &["-q", &served.node()]).expect("mkfs is there");
    let fs = Fs::mount(scratch, &served.node());
    (served, fs)
}

fn with_its_file_system(scratch: &Scratch) -> (Served, Fs) {
    let served = Served::start(scratch, &[FLASH, "drive", "--block"]);
    let fs = Fs::mount(scratch, &served.node());
    (served, fs)
}

#[test]
fn a_file_is_served_and_its_contents_stay() {
    let Some(scratch) = scratch_to_serve(false) else { return };
    let served = Served::start(&scratch, &[FLASH, "drive"]);
    let (image, backing) = (scratch.text("drive/disk.img"), scratch.path("drive.img"));
    must_have(
        &served.said(),
        &[&image, backing.to_str().unwrap(), "128 GB", "on disk now", "path through the file"],
    );
    assert_eq!(fs::metadata(&image).unwrap().len(), FLASH_BYTES);
    let file = OpenOptions::new().read(true).write(true).open(&image).unwrap();
    let written = pattern(7, 300_000);
    file.write_all_at(&written, 5_000_000_000).unwrap();
    file.sync_all().unwrap();
    drop(file);
    let ended = served.interrupt().end().code(0);
    ended.shows(&["lateness of the replies: p50", "path through the file: p50", "1 flushes"]);
    assert_eq!(fs::read_dir(scratch.path("drive")).unwrap().count(), 0, "it is unmounted");
    let stays = fs::metadata(&backing).unwrap();
    assert_eq!(stays.len(), FLASH_BYTES);
    assert!(stays.blocks() * 512 < 2_000_000, "it is sparse");
    // Once more, from within the mount point's parent, and with the backing file by its name.
    let served = Served::start(&scratch, &[FLASH, "drive", "--backing=drive.img"]);
    let mut read = vec![0; written.len()];
    File::open(&image).unwrap().read_exact_at(&mut read, 5_000_000_000).unwrap();
    assert!(read == written, "the contents are others");
    served.interrupt().end().code(0);
}

#[test]
fn file_system_survives_on_the_next_block_device() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    let (served, fs) = with_new_file_system(&scratch);
    for n in 0..20u8 {
        fs::write(fs.path(&n.to_string()), pattern(n, 100_000 + usize::from(n))).unwrap();
    }
    drop(fs);
    let ended = served.interrupt().end().code(0);
    assert!(ended.stdout.contains("path through the block device: p50"), "{ended}");
    assert!(!ended.stderr.contains("in use"), "{ended}");
    let served = Served::start(&scratch, &["--block", FLASH, "drive"]);
    tool("fsck.ext4", &["-f", "-n", &served.node()]).unwrap();
    let fs = Fs::mount(&scratch, &served.node());
    for n in 0..20u8 {
        let read = fs::read(fs.path(&n.to_string())).unwrap();
        assert!(read == pattern(n, 100_000 + usize::from(n)), "file {n}");
    }
    drop(fs);
    served.interrupt().end().code(0);
}

#[test]
fn ctrl_c_names_and_awaits_the_users() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    let (served, fs) = with_new_file_system(&scratch);
    fs::write(fs.path("before"), pattern(1, 50_000)).unwrap();
    let open = File::open(fs.path("before")).unwrap();
    let mut served = served.interrupt();
    served.wait_for("is mounted on");
    served.wait_for("until they are done");
    assert!(served.complained().contains(fs.path("").trim_end_matches('/')));
    // Nothing is lost: it can still be written and read.
    fs::write(fs.path("after"), pattern(2, 50_000)).unwrap();
    tool("sync", &["-f", &fs.path("after")]).unwrap();
    drop(open);
    assert!(served.is_alive());
    drop(fs);
    let ended = served.end().code(0);
    assert!(!ended.stderr.contains("fails from now on"), "{ended}");
    let (served, fs) = with_its_file_system(&scratch);
    assert!(fs::read(fs.path("before")).unwrap() == pattern(1, 50_000));
    assert!(fs::read(fs.path("after")).unwrap() == pattern(2, 50_000));
    drop(fs);
    served.interrupt().end().code(0);
}

#[test]
fn second_ctrl_c_saves_and_interrupts() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    let (served, fs) = with_new_file_system(&scratch);
    // In memory only, as far as this program knows.
    fs::write(fs.path("unsynced"), pattern(3, 200_000)).unwrap();
    let served = served.interrupt();
    served.wait_for("Ctrl-C again");
    let ended = served.interrupt().end().code(130);
    let last = ended.stderr.lines().last().unwrap();
    assert!(last.contains("is mounted on") && last.contains("fails from now on"), "{ended}");
    drop(fs);
    let (served, fs) = with_its_file_system(&scratch);
    assert!(fs::read(fs.path("unsynced")).unwrap() == pattern(3, 200_000), "it was not saved");
    drop(fs);
    served.interrupt().end().code(0);
}

#[test]
fn reading_program_counts_as_a_user() {
    let Some(scratch) = scratch_to_serve(false) else { return };
    let served = Served::start(&scratch, &[FLASH, "drive"]);
    let file = File::open(scratch.path("drive/disk.img")).unwrap();
    served.signal(Signal::HUP);
    served.wait_for("has");
    assert!(served.complained().contains(&format!("(process {})", std::process::id())));
    served.wait_for("until they are done");
    let mut served = served;
    for _ in 0..3 {
        served.signal(Signal::HUP);
    }
    let mut read = [0; 512];
    file.read_exact_at(&mut read, 0).unwrap();
    assert!(served.is_alive());
    drop(file);
    served.end().code(0);
}

fn small_fs(scratch: &Scratch) -> Fs {
    fs::create_dir(scratch.path("fs")).expect("the scratch directory is writable");
    let options = ["-t", "tmpfs", "-o", "size=1m", "none"];
    tool("mount", &[&options[..], &[&scratch.text("fs")]].concat()).expect("root may mount");
    Fs::of(scratch)
}

#[test]
fn full_backing_store_is_reported_at_once() {
    let Some(scratch) = scratch_to_serve(false) else { return };
    let small = small_fs(&scratch);
    let served = Served::start(&scratch, &[FLASH, "drive", "--backing", &small.path("contents")]);
    let file = OpenOptions::new().write(true).open(scratch.path("drive/disk.img")).unwrap();
    let error = file.write_all_at(&pattern(2, 2 << 20), 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::NOSPC.raw_os_error()));
    drop(file);
    served.wait_for("backing store full");
    let ended = served.interrupt().end().code(4);
    let last = ended.stderr.lines().last().unwrap();
    assert!(
        last.contains("backing store full") && last.contains(&small.path("contents")),
        "{ended}"
    );
    assert!(ended.stdout.contains("failed with ENOSPC"), "{ended}");
}

#[test]
fn backing_file_errors_show_in_the_exit_code() {
    let Some(scratch) = scratch_to_serve(false) else { return };
    let backing = File::create(scratch.path("drive.img")).unwrap();
    backing.set_len(FLASH_BYTES).unwrap();
    // Above this size the kernel refuses writes to any file.
    let limit = rustix::process::Rlimit { current: Some(1 << 20), maximum: Some(1 << 20) };
    let limited = move || {
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).map_err(Into::into)
    };
    let call = Served::call(&scratch, &[FLASH, "drive"]);
    // SAFETY: one system call.
    let served = Served::of(&scratch, unsafe { call.before_exec(limited) });
    let file = OpenOptions::new().write(true).open(scratch.path("drive/disk.img")).unwrap();
    file.write_all_at(&pattern(2, 4096), 0).unwrap();
    let error = file.write_all_at(&pattern(2, 4096), 1 << 30).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()));
    drop(file);
    let ended = served.interrupt().end().code(4);
    let last = ended.stderr.lines().last().unwrap();
    assert!(last.contains("drive.img failed: File too large"), "{ended}");
}

/// Reads 4 KiB far apart with this many threads.
fn read_side_by_side(file: &File, threads: u64) {
    let start = std::sync::Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                for n in 0..4 {
                    let at = (thread * 4 + n) * 7_000_000_000 % 4_000_000_000_000;
                    let read = read_direct(file, at / 4096 * 4096);
                    assert_eq!(read.expect("the drive is sound"), 4096);
                }
            });
        }
    });
}

/// Reads `up to 32 at a time` from the report.
fn most_in_flight(report: &str) -> u64 {
    let words = report.split("up to ").nth(1).and_then(|rest| rest.split(' ').next());
    words.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no depth: {report}"))
}

#[test]
fn hard_disk_sees_32_and_128_parallel_requests() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    for (depth, most) in [(32, 127), (128, u64::MAX)] {
        let served = Served::start(&scratch, &[DISK, "drive", "--block"]);
        let device = open_direct(&served.node());
        read_side_by_side(&device, depth);
        drop(device);
        let ended = served.interrupt().end().code(0);
        let seen = most_in_flight(&ended.stdout);
        assert!((depth..=most).contains(&seen), "{seen} of {depth}: {ended}");
    }
}

#[test]
fn next_mount_cleans_up_a_killed_one() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    let served = Served::start(&scratch, &[FLASH, "drive", "--block"]);
    let device = OpenOptions::new().write(true).open(served.node()).unwrap();
    device.write_all_at(&pattern(5, 4096), 8192).unwrap();
    device.sync_all().unwrap();
    drop(device);
    served.signal(Signal::KILL);
    assert_eq!(served.end_by_signal().signal(), Some(9));
    let served = Served::start(&scratch, &[FLASH, "drive", "--block"]);
    let mut read = vec![0; 4096];
    File::open(served.node()).unwrap().read_exact_at(&mut read, 8192).unwrap();
    assert!(read == pattern(5, 4096));
    served.interrupt().end().code(0);
}

/// During its start the program reads the device that it serves: such a request cannot be aborted.
#[test]
fn program_killed_at_start_waits_for_nothing() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    for delay_ms in (20..260).step_by(10) {
        let starting = Served::call(&scratch, &[FLASH, "drive", "--block"]).start();
        std::thread::sleep(Duration::from_millis(delay_ms));
        assert_eq!(starting.kill().signal(), Some(9));
    }
    Served::start(&scratch, &[FLASH, "drive", "--block"]).interrupt().end().code(0);
}

/// The kernel names the file of a loop device; opening the file would wait for its server.
#[test]
fn hung_server_does_not_block_other_loop_devices() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    let Some(device) = Loop::attach(&image_of_noise(&scratch, 8), &[]) else { return };
    let served = Served::start(&scratch, &[FLASH, "drive", "--block"]);
    served.signal(Signal::STOP);
    let mut looking = scratch.call(&["run", "--dry-run", &device.node]).start();
    let has_ended = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        !looking.is_alive()
    });
    served.signal(Signal::CONT);
    looking.end().code(0);
    assert!(has_ended, "it waited for the server of another device");
    served.interrupt().end().code(0);
}

/// A thread that waits for a device cannot be ended, and would keep its program: another process asks the device, and
/// is abandoned.
#[test]
fn command_ends_although_the_device_never_answers() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    let served = Served::start(&scratch, &[FLASH, "drive", "--block"]);
    let (node, folder) = (served.node(), scratch.text("drive"));
    leave_open(&node, &journals(&scratch), 2, 1);
    served.signal(Signal::STOP);
    let commands = [
        &["list"][..],
        &["restore"],
        &["restore", "--journal", &node],
        &["watch", &node],
        &["run", "--dry-run", &node],
        &["run", "--dry-run", &folder],
    ];
    let mut looking = commands.map(|arguments| scratch.call(arguments).start());
    let pages = Server::start(&scratch, &[]);
    // The server ends a page that takes too long with another answer.
    pages.get("/").status(200).has(&[node.trim_start_matches("/dev/")]);
    pages.wait_for("/", "not answering for");
    let form = format!("target={node}&suite=first&level=read");
    pages.post("/measure", &form).status(422).has(&["Not started: ", "not answering for"]);
    pages.end(0);
    let terminal = OnTerminal::start_with(scratch.call(&["list"]), 80);
    terminal.wait_for("not answering for");
    let have_ended = (0..1200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        looking.iter_mut().all(|command| !command.is_alive())
    });
    served.signal(Signal::CONT);
    terminal.end().code(0);
    let [list, restore, restore_device, watch, run, run_in] = looking.map(|command| command.end());
    assert!(have_ended, "a command was held: {list}{restore}{restore_device}{watch}{run}{run_in}");
    list.code(0).shows(&[node.trim_start_matches("/dev/")]);
    for restored in [restore, restore_device] {
        let ended = restored.code(4);
        let message = format!("cannot restore {node}: it does not answer within 20 s");
        assert!(ended.stderr.contains(&message), "{ended}");
    }
    for (ended, named) in [(watch, &node), (run, &node), (run_in, &folder)] {
        ended.refused_with(4, &[&format!("{named} did not answer within 20 s")]);
    }
    served.interrupt().end().code(0);
}

fn end_of_killed(mut served: Served) {
    served.signal(Signal::KILL);
    wait_for("the end of a killed program", || (!served.is_alive()).then_some(()));
    assert_eq!(served.end_by_signal().signal(), Some(9));
}

/// Closing a device, or syncing it, waits for its server; a killed program must not wait for itself.
#[test]
#[ignore = "takes half a minute: CI and the soak"]
fn killed_program_does_not_wait_for_dirty_pages() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    let served = Served::start(&scratch, &[FLASH, "drive", "--block"]);
    let device = OpenOptions::new().write(true).open(served.node()).unwrap();
    device.write_all_at(&pattern(5, 8 << 20), 0).unwrap();
    drop(device);
    end_of_killed(served);
    // The same while it saves what a file system has in memory, which takes a disk some seconds.
    fs::remove_file(scratch.path("drive.img")).unwrap();
    let served = Served::start(&scratch, &[DISK, "drive", "--block"]);
    tool("mkfs.ext4", &["-q", "-E", "lazy_itable_init=1", &served.node()]).unwrap();
    let fs = Fs::mount(&scratch, &served.node());
    fs::write(fs.path("unsynced"), pattern(3, 600 << 20)).unwrap();
    let served = served.interrupt();
    served.wait_for("Ctrl-C again disconnects");
    let served = served.interrupt();
    served.wait_for("file systems are writing");
    end_of_killed(served);
    drop(fs);
    Served::start(&scratch, &[DISK, "drive", "--block"]).interrupt().end().code(0);
}

#[test]
fn ctrl_c_waits_for_dirty_pages_visibly() {
    fn at(n: u64) -> u64 {
        n * 2_600_000_000 / 4096 * 4096
    }
    if !can_serve(true) {
        return;
    }
    const PLACES: u64 = 1500;
    let scratch = Scratch::new();
    let served = Served::start(&scratch, &[DISK, "drive", "--block"]);
    let device = OpenOptions::new().write(true).open(served.node()).unwrap();
    for n in 0..PLACES {
        device.write_all_at(&pattern(n as u8, 4096), at(n)).unwrap();
    }
    drop(device);
    // The head needs seconds for these places.
    let served = served.interrupt();
    // Another test's program may look at the device at this very moment: then it is named, not the kernel.
    served.wait_for("still in use: ");
    served.end().code(0);
    let contents = File::open(scratch.path("drive.img")).unwrap();
    let mut read = vec![0; 4096];
    for n in 0..PLACES {
        contents.read_exact_at(&mut read, at(n)).unwrap();
        assert!(read == pattern(n as u8, 4096), "place {n}");
    }
}

#[test]
fn paused_server_is_busy_and_blocks_no_user() {
    let Some(scratch) = scratch_to_serve(false) else { return };
    let served = Served::start(&scratch, &[FLASH, "drive"]);
    served.signal(Signal::STOP);
    let line = scratch.drivescope(&["sim", "mount", FLASH, "drive"]).refused(2);
    assert!(line.contains("drive is busy: fuse drivescope-sim:kioxia-bg4-128"), "{line}");
    served.signal(Signal::CONT);
    served.interrupt().end().code(0);
}

#[test]
fn a_user_without_privileges_serves_a_file() {
    if !can_serve(false) {
        return;
    }
    let Some(_) = or_skip(tool("fusermount3", &["--version"])) else { return };
    let scratch = Scratch::new();
    let place = scratch.folder_for_everyone("drive");
    let contents = format!("{}/contents", scratch.folder_for_everyone("theirs"));
    let call =
        Served::call(&scratch, &[FLASH, &place, "--backing", &contents]).without_privileges();
    let served = Served::of(&scratch, call);
    let dd =
        |options: &[&str]| Call::new("dd").arguments(options).without_privileges().end().code(0);
    let image = format!("of={place}/disk.img");
    dd(&["if=/dev/zero", &image, "bs=1M", "count=2", "seek=100", "conv=notrunc,fsync"]);
    served.interrupt().end().code(0).shows(&["path through the file: p50"]);
    assert!(fs::metadata(&contents).unwrap().blocks() * 512 >= 2 << 20);
    // A block device takes root; nothing is left of the attempt.
    let call = Served::call(&scratch, &[FLASH, &place, "--backing", &contents, "--block"]);
    let line = call.without_privileges().end().refused(2);
    assert!(line.contains("no permission to open /dev/loop-control; run with sudo"), "{line}");
}

#[test]
fn impossible_mount_is_refused_in_one_line() {
    let Some(scratch) = privileged_scratch() else { return };
    fs::create_dir(scratch.path("drive")).unwrap();
    for (arguments, words) in [
        (
            &["wd40efrx?fake=wrap:1GiB:1MiB", "drive"][..],
            "cache of fake= works in virtual time only",
        ),
        (&["wd40efrx?fault=page-cache", "drive"], "fault=page-cache works in virtual time only"),
        (&["wd40efrx?partition=63,2048", "drive"], "partition= works in virtual time only"),
        (&["wd40efr", "drive"], "did you mean 'wd40efrx'"),
        (&[DISK, "nowhere"], "does not exist; make it first"),
        (&[DISK, "."], "not empty"),
        (&[DISK, "/"], "name an empty directory"),
        (&[DISK, "/proc"], "name an empty directory"),
        (&[DISK, "drive", "--backing=drive/x"], "below the mount point"),
    ] {
        let line = scratch.drivescope(&[&["sim", "mount"], arguments].concat()).refused(2);
        assert!(line.contains(words) && !line.contains("umount"), "{arguments:?}: {line}");
    }
    assert!(!scratch.path("drive.img").exists(), "nothing was made");
}

#[test]
fn results_of_a_served_drive_say_simulated() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    let served = Served::start(&scratch, &[FLASH, "drive", "--block"]);
    let (node, image) = (served.node(), scratch.text("drive/disk.img"));
    let options = ["--test=latency", "--set=latency.time=20ms", "--set=latency.ramp=0s"];
    let options = [&options[..], &["--rounds=1", "--size=16M", "--json"]].concat();
    for target in [&node, &image] {
        let run = scratch.run(target, &[&options]).code(0).json();
        assert_eq!(run["simulated"], true, "{target}");
        assert_eq!(run["drive"]["kind"], "simulated", "{target}");
        assert_eq!(text(&run["drive"]["model"]), "KBG40ZNS128G NVMe KIOXIA 128GB", "{target}");
    }
    scratch.drivescope(&["show", "last"]).code(0).shows(&["simulated drive"]);
    let listed = scratch.drivescope(&["runs"]).code(0).stdout;
    assert_eq!(listed.matches("· simulated").count(), 2, "{listed}");
    let list = scratch.drivescope(&["list", "--json"]).code(0).json();
    let entry = array(&list).iter().find(|drive| drive["path"] == node.as_str()).unwrap();
    assert_eq!((text(&entry["kind"]), text(&entry["backing"][0])), ("simulated", image.as_str()));
    served.interrupt().end().code(0);
}
