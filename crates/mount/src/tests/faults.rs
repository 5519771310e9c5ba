//! Drives that fail, backing stores that are full, models that break, users that do not let go.

use super::*;
use drivescope_sim::device::{Nanos, SimCompletion, SimDevice, SimOutcome, SimRequest};

#[test]
fn errors_of_the_model_reach_the_program() {
    for (outcome, errno) in [
        (SimOutcome::MediaError, libc::EIO),
        (SimOutcome::Gone, libc::ENODEV),
        (SimOutcome::Invalid, libc::EINVAL),
    ] {
        let bad = MIB as u64..2 * MIB as u64;
        let Some(place) = Place::for_device() else { return };
        let server = place.serve_block(instant().failing(bad.clone(), outcome));
        let (file, device) =
            (open_direct(server.path()), open_direct(&server.block_device().unwrap()));
        assert_eq!(errno_of(read_direct(&file, bad.start, 4096)), errno, "{outcome:?}");
        assert_eq!(errno_of(write_direct(&file, bad.start, 4096)), errno, "{outcome:?}");
        // Which error a loop device makes of it is the kernel's choice.
        read_direct(&device, bad.start, 4096).unwrap_err();
        assert_eq!(read_direct(&file, bad.end, 4096).unwrap(), 4096);
        assert_eq!(read_direct(&device, bad.end, 4096).unwrap(), 4096);
        drop((file, device));
        assert!(server.stop().errors >= 3);
    }
}

#[test]
fn vanished_drive_keeps_its_contents() {
    let Some(place) = Place::for_file() else { return };
    let had = pattern(1, MIB);
    let server = place.serve(instant());
    open(server.path()).write_all_at(&had, 0).unwrap();
    server.stop();
    let gone = instant().failing(0..CAPACITY, SimOutcome::Gone);
    let server = serve(gone, &ServeOptions { gone_at: Some(0), ..place.options() });
    let file = open_direct(server.path());
    assert_eq!(errno_of(write_direct(&file, 0, 4096)), libc::ENODEV);
    let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    assert_eq!(rustix::fs::fallocate(&file, punch, 8192, 4096), Err(rustix::io::Errno::NODEV));
    drop(file);
    server.stop();
    let server = place.serve(instant());
    let mut read = vec![0; MIB];
    open(server.path()).read_exact_at(&mut read, 0).unwrap();
    assert!(read == had, "it is there again");
    server.stop();
}

#[test]
fn full_backing_store_is_enospc_and_reported() {
    let Some(place) = Place::for_file() else { return };
    let on = place.dir.path().join("small");
    std::fs::create_dir(&on).unwrap();
    let small = MountedFs::mount(&["-t", "tmpfs", "-o", "size=1m", "none"], &on);
    let backing = small.0.join("backing");
    let server = serve(instant(), &ServeOptions { backing, ..place.options() });
    let file = open(server.path());
    file.write_all_at(&pattern(1, MIB / 2), 0).unwrap();
    assert_eq!(errno_of(file.write_all_at(&pattern(2, 2 * MIB), MIB as u64)), libc::ENOSPC);
    let mut read = vec![0; MIB / 2];
    file.read_exact_at(&mut read, 0).unwrap();
    assert!(read == pattern(1, MIB / 2), "what was accepted is kept");
    drop(file);
    let report = server.stop();
    assert!(report.backing_full >= 1, "{report}");
    let [trouble] = &report.troubles[..] else { panic!("{report:?}") };
    assert!(trouble.contains("ENOSPC") && trouble.contains(small.0.to_str().unwrap()), "{trouble}");
    assert!(report.to_string().contains("failed with ENOSPC"), "{report}");
}

struct Broken;

impl SimDevice for Broken {
    fn capacity_bytes(&self) -> u64 {
        CAPACITY
    }
    fn sector_bytes(&self) -> u32 {
        512
    }
    fn submit(&mut self, _now: Nanos, request: SimRequest) {
        assert!(request.offset < MIB as u64, "the bug");
    }
    fn next_completion(&mut self) -> Option<Nanos> {
        None
    }
    fn advance(&mut self, _to: Nanos, _done: &mut Vec<SimCompletion>) {}
}

#[test]
fn broken_model_ends_no_other_program() {
    fn failed(report: ServeReport) {
        let [trouble] = &report.troubles[..] else { panic!("{report:?}") };
        assert!(trouble.contains("the model failed"), "{trouble}");
    }
    let Some(place) = Place::for_file() else { return };
    let server = Server::start(Box::new(Broken), &place.options()).unwrap();
    let file = open_direct(server.path());
    std::thread::scope(|scope| {
        // This one waits in the model when the bug strikes.
        let waiting = scope.spawn(|| errno_of(read_direct(&file, 0, 4096)));
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(errno_of(read_direct(&file, MIB as u64, 4096)), libc::EIO);
        assert_eq!(waiting.join().unwrap(), libc::EIO);
    });
    assert_eq!(errno_of(read_direct(&file, 0, 4096)), libc::EIO);
    drop(file);
    failed(server.report());
    failed(server.stop());
}

#[test]
#[ignore = "waits for seconds: CI and the soak"]
fn stop_waits_for_users_for_limited_time() {
    let Some(place) = Place::for_device() else { return };
    let server = place.serve_block(instant());
    let node = server.block_device().unwrap();
    let (file, device) = (open_direct(server.path()), open_direct(&node));
    let report = server.stop();
    assert!(!place.is_mounted());
    assert_eq!((report.cut_off.len(), report.troubles.len()), (2, 0), "{report:?}");
    assert!(report.cut_off[0].contains(node.to_str().unwrap()), "{report:?}");
    assert!(report.cut_off[1].contains("disk.img"), "{report:?}");
    assert!(read_direct(&file, 0, 4096).is_err());
    assert!(read_direct(&device, 0, 4096).is_err());
    drop((file, device));
    // The mount point can be used again at once.
    place.serve(instant()).stop();
}

#[test]
fn sectors_that_do_not_fit_are_refused() {
    for (capacity, own, sector, word) in [
        (CAPACITY, 512, 520, "512 or 4096"),
        (CAPACITY, 4096, 512, "multiples of 4096"),
        (CAPACITY + 512, 512, 4096, "not a multiple"),
        (0, 512, 512, "not a multiple"),
    ] {
        let place = Place::new();
        let options = ServeOptions { sector_bytes: sector, ..place.options() };
        let device = Box::new(Fixed::new(capacity, own, 0, 1));
        let error = Server::start(device, &options).unwrap_err();
        assert!(matches!(error, ServeError::Sector { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
        assert!(!options.backing.exists());
    }
}
