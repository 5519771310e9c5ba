//! Directories on file systems of every kind.

use super::guards::{Loop, Mount, OnLoop, OnMount, image_with, or_skip, take_room, tool};
use super::{is_privileged, privileged_scratch};
use crate::support::json::{
    array, finding, findings, keys, metric, noticed_other_io, statuses, test_of, text,
};
use crate::support::scratch::names;
use crate::support::{ONE_CELL, TINY, must_have, noise, skip_loudly};
use serde_json::Value;
use std::fs;

const ALL_DONE: [(&str, &str); 4] =
    [("latency", "done"), ("transfer", "done"), ("surface", "skipped"), ("tiny-writes", "done")];

/// A frozen file system: writers wait there, deaf to every signal.
struct Frozen<'m>(&'m Mount);

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        if let Err(why) = tool("fsfreeze", &["--unfreeze", &self.0.point]) {
            eprintln!("left frozen: {why}");
        }
    }
}

#[test]
fn no_command_waits_for_a_frozen_file_system() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::ext4(2048) else { return };
    let frozen = or_skip(tool("fsfreeze", &["--freeze", &mount.point]));
    let Some(frozen) = frozen.map(|_| Frozen(&mount)) else { return };
    let commands = [
        &["run", "--test=latency", &mount.point][..],
        &["run", "--clean", &mount.point],
        &["watch", "--time=1s", &mount.point],
    ];
    let mut waiting = commands.map(|arguments| scratch.call(arguments).start());
    let have_ended = (0..1200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        waiting.iter_mut().all(|command| !command.is_alive())
    });
    drop(frozen);
    for ended in waiting.map(|command| command.end()) {
        assert!(have_ended, "a command was held: {ended}");
        ended.refused_with(4, &[&format!("{} takes no files", mount.point)]);
    }
}

#[test]
fn common_file_systems_use_direct_io() {
    if !is_privileged() {
        return;
    }
    for (kind, mkfs, options) in [
        ("ext4", "mkfs.ext4", &["-q", "-F"][..]),
        // Without extents there is no fallocate: the file's space cannot be reserved.
        ("ext2", "mkfs.ext2", &["-q", "-F"]),
        ("xfs", "mkfs.xfs", &["-q"]),
        ("btrfs", "mkfs.btrfs", &["-q"]),
    ] {
        let made = OnMount::with(2048, mkfs, options);
        let Some(OnMount { scratch, device: _device, mount }) = made else { continue };
        let before = names(&mount.point);
        let run = scratch.run(&mount.point, &[TINY, &["--json"]]).measured().json();
        assert_eq!(statuses(&run), ALL_DONE, "{kind}");
        assert_eq!(run["target"]["file_system"]["kind"], kind);
        assert_eq!(run["target"]["io_mode"], "direct", "{kind}");
        assert_eq!(names(&mount.point), before, "{kind}");
        assert!(!findings(&run).contains(&"F005"), "{kind}");
        assert!(!findings(&run).contains(&"F019"), "{kind}: data were not read back as written");
    }
}

#[test]
fn late_release_of_files_leaves_no_remains() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(image) = image_with(&scratch, 2048, "mkfs.ntfs", &["-q", "-F", "-f"]) else { return };
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let Some(mount) = Mount::new(&scratch, &device.node, &["-t", "ntfs-3g"]) else { return };
    for engine in ["uring", "threads"] {
        let options = ["--json", "--engine", engine];
        let run = scratch.run(&mount.point, &[TINY, ONE_CELL, &options]).measured().json();
        assert_eq!(statuses(&run), [("transfer", "done")], "{engine}");
        assert_eq!(names(&mount.point), Vec::<String>::new(), "{engine}");
    }
}

#[test]
fn a_compressing_file_system_is_noticed() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::with(2048, "mkfs.btrfs", &["-q"]) else {
        return;
    };
    let options = ["-o", "compress=zstd"];
    let Some(mount) = Mount::new(&scratch, &device.node, &options) else { return };
    let run = scratch.run(&mount.point, &[TINY, &["--json"]]).measured().json();
    assert_eq!(statuses(&run), ALL_DONE);
    assert!(text(&finding(&run, "F005")["evidence"]).contains("compress=zstd"));
    // A directory that is marked as not to be compressed does not count.
    let plain = mount.text("plain");
    std::fs::create_dir(&plain).unwrap();
    tool("chattr", &["+m", &plain]).unwrap();
    let run = scratch.run(&plain, &[TINY, ONE_CELL, &["--json"]]).measured().json();
    assert!(!findings(&run).contains(&"F005"), "{:?}", findings(&run));
    // Neither does an overlay hide it.
    let Some(overlay) = overlay(&mount.point, &mount.point) else { return };
    let run = scratch.run(&overlay.point, &[TINY, ONE_CELL, &["--json"]]).measured().json();
    assert!(text(&finding(&run, "F005")["evidence"]).contains("compress=zstd"));
}

/// `all_else` has the upper and work directories.
fn overlay(lower: &str, all_else: &str) -> Option<Mount> {
    for folder in ["lower", "upper", "work", "merged"] {
        let parent = if folder == "lower" { lower } else { all_else };
        std::fs::create_dir(format!("{parent}/{folder}")).expect("the parent is ours");
    }
    let point = format!("{all_else}/merged");
    let layers =
        format!("lowerdir={lower}/lower,upperdir={all_else}/upper,workdir={all_else}/work");
    let mounted = tool("mount", &["-t", "overlay", "none", "-o", &layers, &point]);
    mounted.map_err(|why| skip_loudly(&why)).ok()?;
    Some(Mount { point })
}

#[test]
fn read_only_file_system_allows_only_files() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::ext4(64) else { return };
    {
        let Some(mount) = Mount::new(&scratch, &device.node, &[]) else { return };
        std::fs::write(mount.text("data"), crate::support::noise(1 << 20, 2)).unwrap();
    }
    let Some(mount) = Mount::new(&scratch, &device.node, &["-o", "ro"]) else { return };
    for options in [&["--no-save"][..], &["--dry-run"]] {
        scratch.run(&mount.point, &[options]).refused_with(2, &["read-only file system"]);
    }
    let file = mount.text("data");
    scratch.run(&file, &[TINY, ONE_CELL]).measured();
    let store = mount.text("runs.db");
    let options = ["--store", &store];
    let message = scratch.run("target", &[TINY, &options]).refused(2);
    must_have(&message, &["read-only file system", "--no-save"]);
    let ended = scratch.drivescope(&["run", "--clean", &mount.point]).code(0);
    assert_eq!(ended.stdout, "nothing to clean\n");
}

#[test]
fn store_on_a_full_disk_is_read_only() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(mount) = Mount::new(&scratch, "none", &["-t", "tmpfs", "-o", "size=4M"]) else {
        return;
    };
    let options = [TINY, ONE_CELL, &["--store", &mount.text("runs.db")]];
    scratch.run("target", &options).measured();
    take_room(&mount, 0);
    let listed = scratch.drivescope(&["runs", "--json", "--store", &mount.text("runs.db")]);
    assert_eq!(array(&listed.code(0).json()).len(), 1);
    let message = scratch.run("target", &options).code(4).stderr;
    assert!(message.contains("no space left for the store"), "{message}");
}

#[test]
fn metrics_on_a_full_disk_do_not_lose_the_run() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(mount) = Mount::new(&scratch, "none", &["-t", "tmpfs", "-o", "size=4M"]) else {
        return;
    };
    let file = mount.text("drives.prom");
    let run = |target: &str| {
        let options = ["run", target, "--quiet", "--metrics", &file];
        scratch.drivescope(&[&options[..], ONE_CELL].concat())
    };
    run("sim:wd40efrx").code(0);
    let old = fs::read_to_string(&file).expect("it was written");
    take_room(&mount, 0);
    let ended = run("sim:wd10ears").code(4);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
    must_have(&ended.stderr, &["the metrics are not written: ", &file]);
    assert_eq!(fs::read_to_string(&file).expect("it is there"), old);
    let left = names(&mount.point);
    assert!(left.iter().all(|name| !name.ends_with(".part")), "{left:?}");
    assert_eq!(array(&scratch.drivescope(&["runs", "--json"]).code(0).json()).len(), 2);
}

#[test]
fn the_floor_of_free_space_is_kept() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::unreserved(512) else {
        return;
    };
    let before = names(&mount.point);
    // The suite's 512 MiB do not fit above the floor of 64 MiB: the file becomes smaller.
    let plan = scratch.run(&mount.point, &[&["--dry-run", "--json"]]).code(0).json();
    let made = plan["own_bytes"].as_u64().unwrap();
    assert!((256 << 20..448 << 20).contains(&made), "{made}");
    // What the user asks for is not made smaller.
    let message = scratch.run(&mount.point, &[&["--size=512M"]]).refused(3);
    assert!(message.contains("must keep 67.1 MB") && message.contains("--size"), "{message}");
    // Nearly full: not even the smallest file fits.
    let filler = mount.text("filler");
    super::guards::tool("fallocate", &["-l", "420M", &filler]).unwrap();
    let message = scratch.run(&mount.point, &[&[]]).refused(3);
    assert!(message.contains("must keep") && !message.contains("--size"), "{message}");
    assert_eq!(names(&mount.point), ["filler", "lost+found"]);
    assert_eq!(before, ["lost+found"]);
}

#[test]
fn small_file_system_is_measured() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::unreserved(128) else {
        return;
    };
    let run = scratch.run(&mount.point, &[TINY, ONE_CELL, &["--json"]]).measured().json();
    assert_eq!(run["plan"]["own_bytes"], 16 << 20, "--size counts");
    let whole = ["--dry-run", "--json"];
    let plan = scratch.run(&mount.point, &[&whole]).code(0).json();
    assert!(plan["own_bytes"].as_u64().unwrap() >= 16 << 20, "{plan}");
}

/// Small writes leave the old extents of btrfs in place, so that the file takes more than twice its size.
#[test]
fn files_fit_a_small_btrfs() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::btrfs(2048) else { return };
    let cells = "--cells=seq1m_q8t1.write,rnd4k_q32t1.write";
    let options = ["--test=transfer", cells, "--time=60ms", "--rounds=3", "--json"];
    let run = scratch.run(&mount.point, &[&options]).measured().json();
    assert_eq!(test_of(&run, "transfer")["status"], "done");
}

#[test]
fn overlay_is_placed_on_its_upper_layer() {
    let Some(OnMount { scratch, device, mount: below }) = OnMount::ext4(2048) else { return };
    for folder in ["lower", "upper", "work", "merged"] {
        std::fs::create_dir(below.text(folder)).unwrap();
    }
    let merged = |base: &str| {
        let names = format!("lowerdir={base}lower,upperdir={base}upper,workdir={base}work");
        let script = format!("cd {} && mount -t overlay none -o {names} merged", below.point);
        let mounted = tool("sh", &["-c", &script]).map_err(|why| skip_loudly(&why));
        mounted.ok().map(|_| Mount { point: below.text("merged") })
    };
    // As layers are named by container engines: from the root, or from a folder of their own.
    for names in [format!("{}/", below.point), String::new()] {
        let Some(overlay) = merged(&names) else { return };
        let run = scratch.run(&overlay.point, &[TINY, ONE_CELL, &["--json"]]).measured().json();
        assert_eq!(run["target"]["stack"][0], device.name(), "{names}");
        assert!(run["drive"].is_object(), "{names}");
        let evidence = text(&finding(&run, "F025")["evidence"]).to_string();
        assert!(evidence.contains(&below.text("upper")), "{evidence}");
    }
    // The same from where the layers cannot be seen.
    let Some(overlay) = merged("") else { return };
    std::fs::rename(below.text("upper"), below.text("hidden")).unwrap();
    let run = scratch.run(&overlay.point, &[TINY, ONE_CELL, &["--json"]]).measured().json();
    assert!(run["drive"].is_null() && run["target"]["stack"].as_array().unwrap().is_empty());
    let evidence = text(&finding(&run, "F025")["evidence"]).to_string();
    assert!(evidence.contains("not visible from here"), "{evidence}");
}

/// btrfs accepts direct I/O of 512 bytes, and answers it from the page cache.
#[test]
fn partial_btrfs_blocks_are_not_direct_io() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::btrfs(2048) else { return };
    let cells = "--cells=rnd512_q1t1.read,rnd4k_q1t1.read";
    let options = ["--test=transfer,tiny-writes", cells, "--json"];
    let run = scratch.run(&mount.point, &[TINY, &options]).measured().json();
    must_be_whole_blocks(&run);
    // Nor through an overlay, which does not say what lies below it.
    let Some(overlay) = overlay(&mount.point, &mount.point) else { return };
    must_be_whole_blocks(&scratch.run(&overlay.point, &[TINY, &options]).measured().json());
}

fn must_be_whole_blocks(run: &Value) {
    assert_eq!(run["target"]["io_mode"], "direct");
    assert_eq!(run["target"]["io_align_bytes"], 4096);
    let reason = text(&test_of(run, "transfer")["reason"]);
    must_have(reason, &["rnd512_q1t1.read", "multiples of 4096"]);
    assert!(keys(run).iter().all(|key| !key.contains("rnd512")), "{:?}", keys(run));
    let phases: Vec<&Value> = array(&test_of(run, "tiny-writes")["phases"])
        .iter()
        .filter(|phase| text(&phase["cell"]).starts_with("seq_direct"))
        .collect();
    for phase in &phases {
        let [bytes, ops] = ["bytes", "ops"].map(|key| phase[key].as_u64().expect("a whole number"));
        assert_eq!(bytes, ops * 4096, "the drive's own stream is one of whole blocks: {phase}");
    }
    assert_eq!(phases.len(), 2);
}

/// btrfs writes trees for each flush: many times the requested bytes.
#[test]
fn writes_of_btrfs_blame_no_other_program() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::btrfs(2048) else { return };
    // The number of flushes is fixed, however busy the machine is: the trees of each are 64 KiB and more.
    let longer = [
        "--set=tiny-writes.cells=['rnd4k_direct_sync']",
        "--set=tiny-writes.time=5min",
        "--set=tiny-writes.writes=500",
        "--size=64M",
    ];
    let options = [&longer[..], &["--test=tiny-writes", "--json"]].concat();
    let run = scratch.run(&mount.point, &[TINY, &options]).measured().json();
    let phases = array(&test_of(&run, "tiny-writes")["phases"]);
    let synced = phases.iter().find(|phase| phase["cell"] == "rnd4k_direct_sync").unwrap();
    let [asked, written] = ["bytes", "device_written_bytes"].map(|key| synced[key].as_u64());
    assert!(written.unwrap() > asked.unwrap() + 4_000_000, "the case must be one: {synced}");
    assert!(!noticed_other_io(&run), "{:?}", findings(&run));
}

/// The second device's half of each file was missing.
#[test]
fn second_btrfs_device_is_counted() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::blank(1024) else { return };
    let image = scratch.text("second.img");
    std::fs::File::create(&image).unwrap().set_len(1 << 30).unwrap();
    let Some(second) = Loop::attach(&image, &[]) else { return };
    let nodes = [device.node.as_str(), &second.node];
    let options = [&["-q", "-f", "-draid0", "-mraid1"][..], &nodes].concat();
    let Some(_) = or_skip(tool("mkfs.btrfs", &options)) else { return };
    let Some(mount) = Mount::new(&scratch, &device.node, &[]) else { return };
    let options = ["--cells=seq1m_q1t1.read", "--test=transfer", "--json"];
    let run = scratch.run(&mount.point, &[TINY, &options]).measured().json();
    assert!(run["target"]["stack"].as_array().unwrap().contains(&second.name().into()));
    let phases = array(&test_of(&run, "transfer")["phases"]);
    for phase in phases {
        let [asked, seen] = ["bytes", "device_read_bytes"].map(|key| phase[key].as_u64().unwrap());
        assert!(asked > 0 && seen >= asked, "{phase}");
    }
    assert!(!phases.is_empty());
}

#[test]
fn drive_without_counters_gets_no_verdict() {
    let Some(scratch) = privileged_scratch() else { return };
    let options = ["--force", "--quick", "--quiet"];
    let Some(image) = image_with(&scratch, 2048, "mkntfs", &options) else { return };
    let point = scratch.text("mounted");
    std::fs::create_dir(&point).unwrap();
    // On the file itself, not through a loop device: the kernel knows of no device below.
    let Some(_) = or_skip(tool("ntfs-3g", &[&image, &point])) else { return };
    let mount = Mount { point };
    let file = mount.text("data");
    std::fs::write(&file, noise(16 << 20, 3)).unwrap();
    let run = scratch.run(&file, &[TINY, ONE_CELL, &["--json"]]).measured().json();
    assert!(findings(&run).contains(&"F008"), "{:?}", findings(&run));
    let evidence = text(&finding(&run, "F041")["evidence"]);
    assert!(evidence.contains(&mount.point), "{evidence}");
    for verdict in array(&run["verdict"]) {
        let because = text(&verdict["because"]);
        assert!(verdict["points"].is_null() && because.contains("F041"), "{verdict}");
    }
    for phase in array(&test_of(&run, "transfer")["phases"]) {
        assert_ne!(phase["limiter"], "drive", "{phase}");
    }
    // An overlay whose lower layer is that file system shows no more of a drive.
    let elsewhere = scratch.text("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let Some(overlay) = overlay(&mount.point, &elsewhere) else { return };
    std::fs::rename(&file, mount.text("lower/data")).unwrap();
    let above =
        scratch.run(&overlay.text("data"), &[TINY, ONE_CELL, &["--json"]]).measured().json();
    for id in ["F008", "F025", "F041"] {
        assert!(findings(&above).contains(&id), "{id}: {:?}", findings(&above));
    }
    for verdict in array(&above["verdict"]) {
        assert!(verdict["points"].is_null(), "{verdict}");
    }
}

#[test]
fn loop_reads_from_memory_are_not_uncached() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::ext4(2048) else { return };
    let options = ["--test=transfer,tiny-writes", "--cells=seq1m_q1t1.read", "--json"];
    let run = scratch.run(&mount.point, &[TINY, &options]).measured().json();
    let key = "tiny-writes.seq512_read_cold.mb_s";
    let cold = metric(&run, key).unwrap();
    assert_eq!(cold["valid"], false, "{cold}");
    let remedy = text(&finding(&run, "F001")["remedy"]);
    assert!(remedy.contains("losetup --direct-io=on"), "{remedy}");
    for phase in array(&test_of(&run, "transfer")["phases"]) {
        let limiter = text(&phase["limiter"]);
        assert!(["memory", "other-programs"].contains(&limiter), "{phase}");
    }
}

/// On an image, unlike on a device, ntfs-3g shows nothing below it.
#[test]
fn loop_device_over_fuse_is_not_a_drive() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(image) = image_with(&scratch, 256, "mkfs.ntfs", &["-q", "-F", "-f"]) else { return };
    let Some(mount) = Mount::new(&scratch, &image, &["-t", "ntfs-3g"]) else { return };
    std::fs::write(mount.text("disk"), noise(64 << 20, 3)).unwrap();
    let Some(device) = Loop::attach(&mount.text("disk"), &[]) else { return };
    let run = scratch.run(&device.node, &[TINY, ONE_CELL, &["--json"]]).measured().json();
    let at = format!("the file of {} is on fuse of ", device.name());
    assert!(text(&finding(&run, "F008")["evidence"]).starts_with(&at), "{run}");
    assert!(text(&finding(&run, "F041")["evidence"]).contains("no device below fuse at "), "{run}");
    assert!(array(&run["verdict"]).iter().all(|verdict| verdict["points"].is_null()), "{run}");
}
