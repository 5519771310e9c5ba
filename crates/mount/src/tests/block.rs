//! The loop device on the file.

use super::*;

fn queue(node: &Path, attribute: &str) -> String {
    let path = format!("/sys/block/{}/queue/{attribute}", name_of(node));
    std::fs::read_to_string(path).unwrap().trim().to_string()
}

/// Whether the device is still on this place's file; another test may have got it since.
fn is_attached(node: &Path, place: &Place) -> bool {
    let file = format!("/sys/block/{}/loop/backing_file", name_of(node));
    let file = std::fs::read_to_string(file);
    file.is_ok_and(|file| file.contains(place.dir.path().to_str().unwrap()))
}

#[test]
fn the_device_looks_like_the_drive() {
    for (sector, rotational) in [(512, true), (4096, false)] {
        let Some(place) = Place::for_device() else { return };
        let options =
            ServeOptions { block: true, sector_bytes: sector, rotational, ..place.options() };
        let server = serve(instant(), &options);
        let node = server.block_device().unwrap();
        assert_eq!(queue(&node, "logical_block_size"), sector.to_string());
        assert_eq!(queue(&node, "rotational"), u8::from(rotational).to_string());
        assert_eq!(queue(&node, "max_sectors_kb"), "1024");
        server.stop();
        assert!(!is_attached(&node, &place));
    }
}

#[test]
fn device_requests_pass_while_file_requests_block() {
    fn open(path: &Path) -> drivescope_drive::IoFile {
        let file = drivescope_drive::IoFile::open_read(path).unwrap();
        assert_eq!(file.mode(), drivescope_model::target::IoMode::Direct);
        file
    }
    let Some(place) = Place::for_device() else { return };
    let server = place.serve_block(instant());
    let file = open(server.path());
    assert!(file.may_block(), "FUSE has no way to refuse instead of waiting");
    let device = open(&server.block_device().unwrap());
    assert!(!device.may_block() && !device.wakes_a_thread());
    drop((file, device));
    server.stop();
    let own = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    own.as_file().set_len(1 << 20).unwrap();
    let on_disk = drivescope_drive::IoFile::open_read(own.path()).unwrap();
    assert_eq!(on_disk.wakes_a_thread(), on_disk.may_block(), "a file on a disk");
}

#[test]
fn latency_and_depth_pass_through_the_device() {
    let Some(place) = Place::for_device() else { return };
    let device = slow(128);
    let seen = device.seen();
    let server = place.serve_block(device);
    let node = server.block_device().unwrap();
    let file = open_direct(&node);
    for n in 0..10 {
        let one = Instant::now();
        read_direct(&file, n * 8192, 4096).unwrap();
        assert!(one.elapsed() >= SLOW, "{:?}", one.elapsed());
    }
    for depth in [32, 128] {
        assert!(reach_depth(&node, depth, &seen) >= depth);
    }
    read_direct(&file, 0, MIB).unwrap();
    // A loop device takes at most 128 pieces of memory at a time, each a page at worst.
    assert!(seen.largest.load(Ordering::Relaxed) >= MIB / 2);
    drop(file);
    assert!(server.stop().in_flight_max >= 128);
}

#[test]
fn flushes_and_discards_reach_the_model() {
    for trim in [true, false] {
        let Some(place) = Place::for_device() else { return };
        let device = instant();
        let seen = device.seen();
        let server = serve(device, &ServeOptions { block: true, trim, ..place.options() });
        let node = server.block_device().unwrap();
        open_direct(&node).sync_all().unwrap();
        assert!(seen.flushes.load(Ordering::Relaxed) >= 1);
        if !has("blkdiscard") {
            return skip_loudly("no blkdiscard");
        }
        // Without TRIM the kernel passes over the refusal: discarding is only advice.
        run("blkdiscard", &["-o", "0", "-l", "1M", node.to_str().unwrap()]);
        assert_eq!(seen.trims.load(Ordering::Relaxed) >= 1, trim);
    }
}

#[test]
fn a_file_system_lives_on_the_drive() {
    fn contents(n: u8) -> Vec<u8> {
        pattern(n, 300_000 + usize::from(n) * 1_001)
    }
    let Some(place) = Place::for_device() else { return };
    if !has("mkfs.ext4") {
        return skip_loudly("no mkfs.ext4");
    }
    let on = place.dir.path().join("fs");
    std::fs::create_dir(&on).unwrap();
    let server = place.serve_block(Fixed::new(CAPACITY, 512, 100_000, 32));
    let node = server.block_device().unwrap();
    run("mkfs.ext4", &["-q", "-F", node.to_str().unwrap()]);
    let mounted = MountedFs::mount(&[node.to_str().unwrap()], &on);
    let (name, point) = (name_of(&node), on.canonicalize().unwrap());
    assert_eq!(server.users(), [format!("{name} is mounted on {} (ext4)", point.display())]);
    for n in 0..40u8 {
        std::fs::write(on.join(format!("file-{n}")), contents(n)).unwrap();
    }
    drop(mounted);
    run("fsck.ext4", &["-f", "-n", node.to_str().unwrap()]);
    let report = server.stop();
    assert_eq!((report.errors, &report.troubles[..]), (0, &[][..]), "{report:?}");
    assert_eq!(report.cut_off, [""; 0]);
    assert!(!is_attached(&node, &place));
    // The same contents under a new server.
    let server = place.serve_block(Fixed::new(CAPACITY, 512, 100_000, 32));
    let node = server.block_device().unwrap();
    let mounted = MountedFs::mount(&[node.to_str().unwrap()], &on);
    for n in 0..40u8 {
        assert!(std::fs::read(on.join(format!("file-{n}"))).unwrap() == contents(n), "file-{n}");
    }
    drop(mounted);
    assert_eq!(server.stop().cut_off, [""; 0]);
}

#[test]
fn used_drive_stays_until_its_users_finish() {
    let Some(place) = Place::for_device() else { return };
    let mut server = place.serve_block(instant());
    let node = server.block_device().unwrap();
    let device = open_direct(&node);
    for _ in 0..3 {
        assert!(!server.release(), "it is open");
    }
    // It works as before, and no program was cut off.
    write_direct(&device, 4096, 4096).unwrap();
    read_direct(&device, 4096, 4096).unwrap();
    let file = open_direct(server.path());
    drop(device);
    wait_until("it does not end", || {
        assert!(!server.release(), "the file is open");
        server.block_device().is_none()
    });
    assert!(!is_attached(&node, &place));
    write_direct(&file, 0, 4096).unwrap();
    drop(file);
    wait_until("it does not end", || server.release());
    let report = server.stop();
    let wrong = (report.cut_off.len(), report.troubles.len(), report.errors);
    assert_eq!(wrong, (0, 0, 0), "{report:?}");
    assert!(!place.is_mounted());
}

#[test]
fn the_path_is_measured_past_the_model() {
    let Some(place) = Place::for_device() else { return };
    let server = place.serve_block(slow(1));
    let ServeReport { file_path, device_path, reads, .. } = server.report();
    let [file, device] = [file_path, device_path].map(Option::unwrap);
    // 220 reads of 8 ms each, one at a time, would take the model 1.8 s; none of them was its own.
    assert!(reads < 100, "{reads} requests went to the model");
    assert!(file.p50_ns > 0 && device.p50_ns > 0);
    assert!(server.stop().to_string().contains("path through the block device: p50"));
}
