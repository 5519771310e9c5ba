//! The file alone.

use super::*;

#[test]
fn file_has_the_drives_size_and_keeps_contents() {
    let Some(place) = Place::for_file() else { return };
    let server = place.serve(instant());
    assert_eq!(server.path(), place.mount_point().canonicalize().unwrap().join("disk.img"));
    assert_eq!(server.block_device(), None);
    assert_eq!(std::fs::read_dir(place.mount_point()).unwrap().count(), 1);
    let file = open(server.path());
    assert_eq!(file.metadata().unwrap().len(), CAPACITY);
    let written = pattern(3, 3 * MIB + 512);
    file.write_all_at(&written, CAPACITY - written.len() as u64).unwrap();
    file.write_all_at(&[0; 4096], 4096).unwrap();
    file.sync_all().unwrap();
    // Requests may be odd; they go up to the end and not beyond.
    file.write_all_at(b"odd", 4096 + 510).unwrap();
    let mut around = [0; 7];
    file.read_exact_at(&mut around, 4096 + 508).unwrap();
    assert_eq!(&around, b"\0\0odd\0\0");
    let mut odd = vec![0; 5000];
    assert_eq!(file.read_at(&mut odd, CAPACITY - 700).unwrap(), 700);
    assert_eq!(odd[..700], written[written.len() - 700..]);
    assert_eq!(file.read_at(&mut odd, CAPACITY).unwrap(), 0);
    drop(file);
    let report = server.stop();
    assert!(report.writes >= 5 && report.flushes == 1 && report.reads >= 1, "{report}");
    assert_eq!((report.errors, &report.troubles[..]), (0, &[][..]), "{report:?}");
    assert_eq!(report.cut_off, [""; 0]);
    assert!(!place.is_mounted());
    let kept = std::fs::metadata(place.options().backing).unwrap();
    assert!(std::os::unix::fs::MetadataExt::blocks(&kept) * 512 < CAPACITY / 8, "it is sparse");
    let server = place.serve(instant());
    let mut read = vec![0; written.len()];
    open(server.path()).read_exact_at(&mut read, CAPACITY - written.len() as u64).unwrap();
    assert!(read == written, "the contents survive a stop");
}

#[test]
fn the_file_refuses_what_a_drive_cannot_do() {
    let Some(place) = Place::for_file() else { return };
    let server = place.serve(instant());
    let file = open(server.path());
    file.write_all_at(&pattern(1, 512), 0).unwrap();
    assert_eq!(errno_of(file.write_at(&[0; 512], CAPACITY)), libc::ENOSPC);
    assert_eq!(file.write_at(&[0; 1024], CAPACITY - 512).unwrap(), 512);
    assert_eq!(errno_of(file.set_len(CAPACITY + 512)), libc::EINVAL);
    // As on a block device, truncating is accepted and changes nothing.
    file.set_len(0).unwrap();
    assert_eq!(file.metadata().unwrap().len(), CAPACITY);
    let mut read = [0; 512];
    file.read_exact_at(&mut read, 0).unwrap();
    assert_eq!(read[..], pattern(1, 512));
    let other = place.mount_point().join("other");
    assert!(std::fs::write(other, "x").is_err());
    assert!(std::fs::remove_file(server.path()).is_err());
}

#[test]
fn holes_are_trims_where_the_drive_has_trim() {
    use rustix::fs::{FallocateFlags, fallocate};
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    for trim in [true, false] {
        let Some(place) = Place::for_file() else { return };
        let device = instant();
        let seen = device.seen();
        let server = serve(device, &ServeOptions { trim, ..place.options() });
        let file = open(server.path());
        file.write_all_at(&pattern(5, 8192), 4096).unwrap();
        let result = fallocate(&file, punch, 4096, 4096);
        let mut read = vec![0; 8192];
        file.read_exact_at(&mut read, 4096).unwrap();
        assert_eq!(read[4096..], pattern(5, 8192)[4096..]);
        if trim {
            result.unwrap();
            assert!(read[..4096].iter().all(|byte| *byte == 0));
        } else {
            assert_eq!(result, Err(rustix::io::Errno::OPNOTSUPP));
        }
        drop(file);
        assert_eq!(seen.trims.load(Ordering::Relaxed), usize::from(trim));
        assert_eq!(server.stop().trims, u64::from(trim));
    }
}

#[test]
fn no_reply_precedes_the_models_completion() {
    let Some(place) = Place::for_file() else { return };
    let server = place.serve(slow(1));
    let file = open_direct(server.path());
    for n in 0..20u64 {
        let one = Instant::now();
        read_direct(&file, n * 4096, 4096).unwrap();
        assert!(one.elapsed() >= SLOW, "{:?}", one.elapsed());
    }
    drop(file);
    let report = server.stop();
    assert_eq!(report.reads, 20);
    assert!(report.lateness_p50_ns <= report.lateness_p99_ns, "{report}");
    assert!(report.lateness_p99_ns <= report.lateness_max_ns, "{report}");
}

#[test]
fn model_sees_128_requests_and_whole_mebibytes() {
    let Some(place) = Place::for_file() else { return };
    let device = slow(128);
    let seen = device.seen();
    let server = place.serve(device);
    assert!(reach_depth(server.path(), 128, &seen) >= 128);
    read_direct(&open_direct(server.path()), 0, MIB).unwrap();
    assert_eq!(seen.largest.load(Ordering::Relaxed), MIB);
    assert!(server.stop().in_flight_max >= 128);
}

#[test]
fn overlapping_users_read_what_they_wrote() {
    let Some(place) = Place::for_file() else { return };
    let server = place.serve(Fixed::new(CAPACITY, 512, 50_000, 8));
    std::thread::scope(|scope| {
        for user in 0..8u8 {
            let file = open(server.path());
            scope.spawn(move || {
                for round in 0..20u8 {
                    let at = u64::from(user) * MIB as u64 + u64::from(round % 3) * 4096;
                    let written = pattern(user.wrapping_mul(29) + round, 12 * 1024);
                    file.write_all_at(&written, at).unwrap();
                    let mut read = vec![0; written.len()];
                    file.read_exact_at(&mut read, at).unwrap();
                    assert!(read == written, "user {user}, round {round}");
                }
            });
        }
    });
    assert_eq!(server.stop().errors, 0);
}
