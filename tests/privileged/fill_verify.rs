//! `fill` and `verify` on loop devices: their files show what was really written.

use super::guards::{Loop, Mount, OnLoop, image_of_noise, sparse_image, tool};
use super::stamps::{has_begun, options_to_continue, stamped, wait_for_writes, wait_until_free};
use super::{is_privileged, privileged_scratch};
use crate::support::json::{array, findings, statuses, test_of, text, value};
use crate::support::{Scratch, noise, wait_for};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::FileExt;
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// Small requests one at a time: slow enough to be stopped.
pub(super) const SLOW_FILL: &[&str] = &[
    "--test=fill",
    "--set=fill.mode=full",
    "--set=fill.chunk=4KiB",
    "--set=fill.depth=1",
    "--json",
];

/// Attaches `image`; returns the device and its `--destroy` option.
fn attach(image: &str) -> Option<(Loop, String)> {
    let device = Loop::attach(image, &[])?;
    let destroy =
        format!("--destroy={}:{}", device.name(), fs::metadata(image).expect("it is ours").len());
    Some((device, destroy))
}

#[test]
fn a_full_fill_writes_every_sector() {
    for engine in ["--engine=threads", "--seed=1"] {
        let Some(scratch) = privileged_scratch() else { return };
        let image = image_of_noise(&scratch, 256);
        let Some((device, destroy)) = attach(&image) else { return };
        let fill = ["--test=fill", "--set=fill.mode=full", "--json", &destroy, engine];
        let run = scratch.run(&device.node, &[&fill]).measured().json();
        assert_eq!(statuses(&run), [("fill", "done")]);
        assert_eq!(value(&run, "fill.write.written_bytes"), (256 * MIB) as f64);
        assert!(value(&run, "fill.whole.time_s") > 0.0);
        let sectors = stamped(&image);
        assert!(sectors.iter().all(|&is_stamped| is_stamped), "not every sector was written");
    }
}

#[test]
fn sampled_fill_writes_only_its_share() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::blank(1024) else { return };
    let options =
        ["--test=fill", "--set=fill.share_pct=55", "--set=fill.burst=32MiB", "--json", &destroy];
    let run = scratch.run(&device.node, &[&options]).measured().json();
    assert_eq!(statuses(&run), [("fill", "done")]);
    let [places, burst] =
        ["fill.write", "fill.burst"].map(|cell| value(&run, &format!("{cell}.written_bytes")));
    assert!(places <= (1024 * MIB) as f64 * 0.55 && burst <= (32 * MIB) as f64, "{places} {burst}");
    let sectors = stamped(&image);
    let written = sectors.iter().filter(|&&is_stamped| is_stamped).count() as f64 * 512.0;
    // Some places lie within the burst, and one of 17 visits warms up where another goes again.
    assert!(written <= places + burst && written >= places * 16.0 / 17.0, "{written}");
    assert!(sectors[0] && sectors[sectors.len() - 1], "from the first byte to the last");
    let bytes = fs::read(&image).unwrap();
    let others = bytes.as_chunks::<512>().0.iter().zip(&sectors).filter(|(_, stamped)| !**stamped);
    assert!(others.into_iter().all(|(sector, _)| *sector == [0; 512]), "stray writes");
}

#[test]
fn verify_finds_an_honest_device_honest() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::of_noise(256) else { return };
    let quick = ["--test=verify", "--set=verify.cache=4MiB", "--json", &destroy];
    let run = scratch.run(&device.node, &[&quick]).measured().json();
    assert_eq!(value(&run, "verify.capacity.real_bytes"), (256 * MIB) as f64);
    assert!(!findings(&run).contains(&"F031"));
    let full = ["--test=verify", "--set=verify.mode=full", "--json", &destroy];
    let run = scratch.run(&device.node, &[&full]).measured().json();
    for key in ["write.written_bytes", "read.intact_bytes", "capacity.real_bytes"] {
        assert_eq!(value(&run, &format!("verify.{key}")), (256 * MIB) as f64, "{key}");
    }
    assert!(stamped(&image).iter().all(|&is_stamped| is_stamped), "not every sector was written");
}

#[test]
fn without_consent_nothing_is_written() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::of_noise(128) else { return };
    let before = fs::read(&image).unwrap();
    let wrong = format!("--destroy={}:{}", device.name(), 128 * MIB - 512);
    let modes =
        [["--test=fill", "--set=fill.mode=full"], ["--test=verify", "--set=verify.mode=full"]];
    for mode in &modes {
        let ended = scratch.run(&device.node, &[mode, &[&wrong]]).code(3);
        assert!(ended.stderr.contains("was given, but the device reports"), "{ended}");
    }
    drop(device);
    let Some(device) = Loop::attach(&image, &["--read-only"]) else { return };
    let destroy_again = format!("--destroy={}:{}", device.name(), 128 * MIB);
    for mode in &modes {
        for destroy in [&destroy, &destroy_again] {
            let ended = scratch.run(&device.node, &[mode, &[destroy]]).code(3);
            assert!(ended.stderr.contains("is read-only"), "{ended}");
        }
    }
    assert!(fs::read(&image).unwrap() == before, "the image changed");
}

/// A device on a file system that becomes full: writes fail from some byte on.
#[test]
fn failed_write_ends_a_fill_and_is_judged() {
    for engine in ["--engine=threads", "--seed=1"] {
        let Some(scratch) = privileged_scratch() else { return };
        let options = ["-t", "tmpfs", "-o", "size=96M"];
        let Some(mount) = Mount::new(&scratch, "drivescope-test", &options) else { return };
        let image = mount.text("image");
        fs::File::create(&image).unwrap().set_len(256 * MIB).unwrap();
        let Some((device, destroy)) = attach(&image) else { return };
        let options = [
            "--test=fill,verify,surface",
            "--set=fill.mode=full",
            "--set=verify.mode=full",
            "--set=surface.samples=3",
            "--set=surface.write=no",
            "--set=surface.accesses=10",
            "--json",
            engine,
            &destroy,
        ];
        let ended = scratch.run(&device.node, &[&options]).code(4);
        let run = ended.json();
        let expected = [("surface", "done"), ("fill", "failed"), ("verify", "done")];
        assert_eq!(statuses(&run), expected, "{ended}");
        let reason = text(&test_of(&run, "fill")["reason"]);
        assert!(reason.contains("write at byte") && !reason.contains('\n'), "{reason}");
        // It is judged all the same: what was refused is not lost, and the end is named.
        let end = value(&run, "verify.capacity.silent_bytes");
        assert_eq!(end, value(&run, "verify.read.intact_bytes"));
        assert!(((80 * MIB) as f64..=(96 * MIB) as f64).contains(&end), "{end}");
        assert_eq!(value(&run, "verify.read.lost_bytes"), 0.0);
        let verified = array(&test_of(&run, "verify")["findings"]);
        let evidence =
            verified.iter().filter(|it| it["id"] == "F017").map(|it| text(&it["evidence"]));
        let evidence = evidence.collect::<String>();
        assert!(
            evidence.contains(&format!("nothing after byte {end} could be read back")),
            "{evidence}"
        );
        assert!(!findings(&run).contains(&"F019"), "{:?}", findings(&run));
        // A piece of verify of which something is refused is written once more, request by request.
        for (test, most_mib) in [("fill", 96), ("verify", 96 + 64)] {
            let written = value(&run, &format!("{test}.write.written_bytes"));
            // What fits, but for requests in flight at its end: also what a piece had before it failed.
            let taken = ((88 * MIB) as f64..=(most_mib * MIB) as f64).contains(&written);
            assert!(taken, "{test} {written}");
        }
        assert!(findings(&run).contains(&"F017"), "{:?}", findings(&run));
        let kept = scratch.drivescope(&["show", text(&run["id"]), "--json"]).code(0).json();
        assert_eq!(kept, run);
    }
}

#[test]
fn shrinking_device_fails_the_test() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::of_noise(256) else { return };
    let running = scratch.run_call(&device.node, &[SLOW_FILL, &[&destroy]]).start();
    wait_for_writes(&running, 4 * MIB);
    let file = fs::OpenOptions::new().write(true).open(&image).unwrap();
    file.set_len(128 * MIB).unwrap();
    tool("losetup", &["--set-capacity", &device.node]).unwrap();
    let ended = running.end().code(4);
    let run = ended.json();
    assert_eq!(statuses(&run), [("fill", "failed")]);
    let reason = text(&test_of(&run, "fill")["reason"]);
    assert!(reason.contains(&format!("write at byte {}", 128 * MIB)), "{reason}");
    assert!(value(&run, "fill.write.written_bytes") <= (128 * MIB) as f64);
    assert_eq!(fs::metadata(&image).unwrap().len(), 128 * MIB, "nothing was written behind");
}

#[test]
fn stopped_fill_resumes_at_its_place_only() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::of_noise(256) else { return };
    let running = scratch.run_call(&device.node, &[SLOW_FILL, &[&destroy]]).start();
    wait_for_writes(&running, 16 * MIB);
    let run = running.interrupt().json();
    let written = value(&run, "fill.write.written_bytes") as usize;
    let before = stamped(&image);
    assert!(before[..written / 512].iter().all(|&is_stamped| is_stamped));
    assert!(!before[before.len() - 1], "it was stopped before its end");
    let options = options_to_continue(text(&test_of(&run, "fill")["reason"]));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    // Another seed, or a position behind what was written: not a byte changes.
    let bytes = fs::read(&image).unwrap();
    let behind = format!("--set=fill.from={}", 200 * MIB);
    for wrong in ["--seed=1", &behind] {
        let call = ["--test=fill", "--json", &destroy];
        let run = scratch.run(&device.node, &[&call, &options, &[wrong]]).code(2).json();
        let reason = text(&test_of(&run, "fill")["reason"]);
        assert!(reason.contains("does not hold the data of seed"), "{reason}");
    }
    assert!(fs::read(&image).unwrap() == bytes, "a refused continuation wrote");
    let call = ["--test=fill", "--json", &destroy];
    let run = scratch.run(&device.node, &[&call, &options]).measured().json();
    // Of the piece that was under way too little was written to be kept.
    let from = run["plan"]["suite"]["fill"]["from"].as_u64().unwrap();
    assert!(
        ((written as u64).saturating_sub(16 * MIB)..=written as u64).contains(&from),
        "{from} of {written}"
    );
    assert_eq!(value(&run, "fill.write.written_bytes"), (256 * MIB - from) as f64);
    assert!(stamped(&image).iter().all(|&is_stamped| is_stamped), "a gap between the two");
}

/// Writing continues only after intact data; reading also after bad sectors.
#[test]
fn verify_reads_but_never_writes_after_bad_sectors() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::of_noise(160) else { return };
    let verify = ["--test=verify", "--set=verify.mode=full", "--json", "--seed=7"];
    scratch.run(&device.node, &[&verify, &[&destroy]]).measured();
    let damaged = fs::OpenOptions::new().write(true).open(&device.node).unwrap();
    damaged.write_all_at(&[0xAA; 4096], 90 * MIB).unwrap();
    damaged.sync_all().unwrap();
    drop(damaged);
    let before = fs::read(&image).unwrap();
    let from =
        |phase: &str| [format!("--set=verify.phase={phase}"), "--set=verify.from=128MiB".into()];
    let go_on = |phase: &str, seed: &str, code| {
        let [phase, from] = from(phase);
        // A read needs no leave to write.
        let level: &[&str] = if phase.ends_with("read") { &[] } else { &[&destroy] };
        let call = [&verify, level, &[&phase, &from, seed]];
        let ended = scratch.run(&device.node, &call);
        let run = if code == 0 { ended.measured() } else { ended.code(code) }.json();
        test_of(&run, "verify").clone()
    };
    for (phase, seed) in [("write", "--seed=7"), ("write", "--seed=8"), ("read", "--seed=8")] {
        let reason = text(&go_on(phase, seed, 2)["reason"]).to_string();
        let reads = phase == "read" && reason.contains("no data of seed 8 found");
        assert!(
            reads || reason.contains("does not hold the data of seed"),
            "{phase} {seed}: {reason}"
        );
    }
    let read = go_on("read", "--seed=7", 0);
    let intact = array(&read["metrics"]).iter().find(|m| m["key"] == "verify.read.intact_bytes");
    assert_eq!(intact.and_then(|metric| metric["value"].as_f64()), Some((32 * MIB) as f64));
    assert!(fs::read(&image).unwrap() == before, "a refused continuation wrote");
}

/// Neither another seed nor half a write is evidence against a drive.
#[test]
fn read_without_its_seed_accuses_no_drive() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 96);
    let Some((device, destroy)) = attach(&image) else { return };
    let verify = ["--test=verify", "--set=verify.mode=full", "--json"];
    let read = ["--set=verify.phase=read"];
    scratch.run(&device.node, &[&verify, &["--seed=1", &destroy]]).measured();
    let before = fs::read(&image).unwrap();
    // Another seed, and none where the store does not know the run that wrote.
    let elsewhere = scratch.text("other.db");
    for seed in [&["--seed=2"][..], &["--store", &elsewhere]] {
        let run = scratch.run(&device.node, &[&verify, &read, seed]).code(2).json();
        assert!(
            text(&test_of(&run, "verify")["reason"]).contains("use the seed of the run that wrote")
        );
        assert!(!findings(&run).contains(&"F031"), "{:?}", findings(&run));
    }
    for seed in [&["--seed=1"][..], &[]] {
        let ended = scratch.run(&device.node, &[&verify, &read, seed]).measured();
        let is_told = ended.stderr.contains("wrote (--seed=1)");
        assert_eq!(is_told, seed.is_empty(), "the store has the seed: {ended}");
        let run = ended.json();
        assert_eq!((run["plan"]["seed"].as_u64(), statuses(&run)[0].1), (Some(1), "done"));
        assert_eq!(value(&run, "verify.capacity.real_bytes"), (96 * MIB) as f64);
    }
    let message = scratch.run(&device.node, &[&verify, &read, &["--seed=1", &destroy]]).refused(2);
    assert!(message.contains("omit --write and --destroy"), "{message}");
    assert!(fs::read(&image).unwrap() == before, "a read wrote");
}

#[test]
fn second_signal_ends_and_releases_the_claim() {
    let Some(OnLoop { scratch, device, destroy, .. }) = OnLoop::of_noise(256) else { return };
    let verify = ["--test=verify", "--set=verify.mode=full"];
    for options in [SLOW_FILL, &verify] {
        let running = scratch.run_call(&device.node, &[options, &[&destroy]]).start();
        wait_for_writes(&running, 4 * MIB);
        // Stopped, it gets both signals before it can act on the first.
        running.signal(Signal::STOP);
        running.signal(Signal::INT);
        running.signal(Signal::TERM);
        running.signal(Signal::CONT);
        running.end().code(130);
    }
    // The gate waits until the kernel has ended what the program had under way.
    let quick = ["--test=verify", "--set=verify.cache=1MiB", &destroy];
    scratch.run(&device.node, &[&quick]).measured();
}

/// Kills runs at random moments and resumes from the store until one ends; the devices are large enough for a kill in
/// the middle.
fn kill_and_continue(test: &str, mib: u64, options: &[&str], seed: u64) {
    let was_killed = (0..4).any(|doubled| went_on_after_kills(test, mib << doubled, options, seed));
    assert!(was_killed, "no run was killed in the middle");
}

/// Whether a run was killed after it was stored; in any case the last one ends.
fn went_on_after_kills(test: &str, mib: u64, options: &[&str], seed: u64) -> bool {
    let scratch = Scratch::new();
    let image = sparse_image(&scratch, mib);
    let Some((device, destroy)) = attach(&image) else { return true };
    let mut moments = noise(64, seed).into_iter().map(|byte| 4 * u64::from(byte));
    let (mut going_on, mut kills, mut known) = (Vec::new(), 0, 0);
    loop {
        let more: Vec<&str> = going_on.iter().map(String::as_str).collect();
        let reads = more.contains(&"--set=verify.phase=read");
        let level: &[&str] = if reads { &[] } else { &[&destroy] };
        let mut running = scratch.run_call(&device.node, &[options, level, &more]).start();
        wait_for("work", || (!running.is_alive() || has_begun(&running)).then_some(()));
        std::thread::sleep(Duration::from_millis(moments.next().expect("there are 64")));
        if !running.is_alive() || kills == 12 {
            running.end().measured();
            break;
        }
        assert_eq!(running.kill().signal(), Some(9));
        kills += 1;
        // A slow disk may need longer for what the killed program had under way than the gate waits.
        wait_until_free(&device.node);
        let runs = scratch.drivescope(&["runs", "--json"]).code(0).json();
        if array(&runs).len() > known {
            known = array(&runs).len();
            let run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
            if statuses(&run) == [(test, "done")] {
                // Everything was done but for the end of the program.
                break;
            }
            assert_eq!(statuses(&run), [(test, "interrupted")], "{}", run["tests"]);
            assert_eq!(run["status"], "interrupted");
            going_on = options_to_continue(text(&test_of(&run, test)["reason"]));
        }
    }
    assert!(stamped(&image).iter().all(|&is_stamped| is_stamped), "a gap after {kills} kills");
    let run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    assert_eq!(statuses(&run), [(test, "done")]);
    assert!(!findings(&run).contains(&"F031"), "{:?}", findings(&run));
    known > 0
}

#[test]
fn killed_fill_resumes() {
    if is_privileged() {
        kill_and_continue("fill", 192, SLOW_FILL, 5);
        kill_and_continue("fill", 192, &[SLOW_FILL, &["--engine=threads"]].concat(), 6);
    }
}

#[test]
fn killed_verify_resumes() {
    if is_privileged() {
        kill_and_continue("verify", 768, &["--test=verify", "--set=verify.mode=full"], 7);
    }
}
