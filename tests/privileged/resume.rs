//! `--resume` continues a full fill, verify or surface that was killed; the result covers all of it.

use super::fill_verify::SLOW_FILL;
use super::guards::{Loop, Mount, OnLoop, image_of_noise, tool};
use super::privileged_scratch;
use super::stamps::{stamped, wait_for_writes};
use crate::support::json::{array, findings, statuses, test_of, text, value};
use crate::support::{PATIENCE, Running, Scratch, TINY};
use rustix::process::Signal;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
/// Time between checks of the store, short because a run in memory writes a gigabyte in a tenth of a second. The run is
/// paused during a check, but its next checkpoint comes nearer.
const LEFT_ALONE: Duration = Duration::from_millis(5);
/// A run in memory may end before a busy machine checks it: then it is repeated.
const ATTEMPTS: usize = 20;
const VERIFY: &[&str] = &["--test=verify", "--set=verify.mode=full", "--json"];

/// Kills a run once its stored part has a reason with `words`. The run is paused while the store is read, or a fast
/// drive would finish; the first check is after `written` bytes.
pub fn kill_after_a_checkpoint(
    scratch: &Scratch,
    start: impl Fn() -> Running,
    written: u64,
    words: &str,
) {
    for _ in 0..ATTEMPTS {
        if was_killed_after_a_checkpoint(scratch, start(), written, words) {
            return;
        }
    }
    panic!("{ATTEMPTS} runs went through without a checkpoint that says '{words}'");
}

fn was_killed_after_a_checkpoint(
    scratch: &Scratch,
    mut running: Running,
    written: u64,
    words: &str,
) -> bool {
    let last = || {
        let kept = scratch.drivescope(&["show", "last", "--json"]);
        kept.exit_code().filter(|code| *code == 0).map(|_| kept.json())
    };
    let before = last().map(|run| run["id"].clone());
    let is_there = || {
        let run = last().filter(|run| Some(&run["id"]) != before.as_ref())?;
        let (reason, resume) = array(&run["tests"]).last().map(|t| (&t["reason"], &t["resume"]))?;
        let reason = reason.as_str()?;
        let is_begun = reason.contains("read phase") || resume["at_bytes"].as_u64()? > 0;
        (reason.contains(words) && is_begun).then_some(())
    };
    let begun = Instant::now();
    while running.is_alive() {
        assert!(begun.elapsed() < PATIENCE, "no checkpoint that says '{words}' in {PATIENCE:?}");
        if running.io_bytes("write_bytes").is_some_and(|bytes| bytes > written) {
            running.signal(Signal::STOP);
            if running.is_alive() && is_there().is_some() {
                assert_eq!(running.kill().signal(), Some(9));
                return true;
            }
            running.signal(Signal::CONT);
        }
        std::thread::sleep(LEFT_ALONE);
    }
    running.end().measured();
    false
}

#[test]
fn resumed_fill_has_the_whole_curve() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::of_noise(256) else { return };
    for kill in 1..=2 {
        // The second one is killed while it resumes.
        let resume: &[&str] = if kill == 1 { &[] } else { &["--resume"] };
        let start = || scratch.run_call(&device.node, &[SLOW_FILL, resume, &[&destroy]]).start();
        kill_after_a_checkpoint(&scratch, start, 0, "continue with --resume");
    }
    let stopped = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    let id = text(&stopped["id"]);
    // A new start is announced.
    let plan = scratch.run(&device.node, &[SLOW_FILL, &[&destroy, "--dry-run"]]).code(0);
    assert!(plan.stderr.contains(&format!("(run {id}); --resume continues it")), "{plan}");
    let resumed = scratch.run(&device.node, &[&["--test=fill", "--json", "--resume", &destroy]]);
    let resumed = resumed.measured();
    assert!(resumed.stderr.contains(&format!("(run {id}); this run resumes it")), "{resumed}");
    let run = resumed.json();
    assert_eq!(statuses(&run), [("fill", "done")]);
    assert_eq!(run["plan"]["seed"], stopped["plan"]["seed"]);
    let from = run["plan"]["suite"]["fill"]["from"].as_u64().unwrap();
    assert!(from > 0 && from < 256 * MIB, "{from}");
    assert_eq!(value(&run, "fill.write.written_bytes"), (256 * MIB - from) as f64);
    let curve = array(&test_of(&run, "fill")["series"]);
    let curve = curve.iter().find(|series| series["key"] == "fill.write.mb_s").unwrap();
    let x: Vec<f64> = array(&curve["x"]).iter().map(|x| x.as_f64().unwrap()).collect();
    assert_eq!((x[0], x[x.len() - 1]), (0.0, (256 * MIB) as f64));
    assert!(x.windows(2).all(|pair| pair[0] < pair[1]), "{x:?}");
    assert_eq!(value(&run, "fill.write.start_bytes"), from as f64);
    assert!(value(&run, "fill.whole.time_s") > 0.0);
    let shown = scratch.drivescope(&["show", text(&run["id"])]).code(0).stdout;
    assert!(shown.contains("filled in") && !shown.contains("samples"), "{shown}");
    assert!(stamped(&image).iter().all(|&is_stamped| is_stamped), "a gap");
    // It has ended: nothing to resume, nothing to say.
    let again = ["--test=fill", "--resume", &destroy];
    scratch.run(&device.node, &[&again]).refused_with(2, &["nothing to resume"]);
    let plan = scratch.run(&device.node, &[SLOW_FILL, &[&destroy, "--dry-run"]]).code(0);
    assert!(!plan.stderr.contains("--resume"), "{plan}");
}

#[test]
#[ignore = "writes and reads gigabytes: CI and the soak"]
fn resumed_verify_judges_the_whole_drive() {
    let Some(OnLoop { scratch, device, destroy, .. }) = OnLoop::blank(2048) else { return };
    let start = || scratch.run_call(&device.node, &[VERIFY, &[&destroy]]).start();
    kill_after_a_checkpoint(&scratch, start, 2000 * MIB, "read phase, all data before it intact");
    let resume = ["--test=verify", "--json", "--resume", &destroy];
    let run = scratch.run(&device.node, &[&resume]).measured().json();
    assert_eq!(run["plan"]["suite"]["verify"]["phase"], "read");
    for key in ["read.intact_bytes", "capacity.real_bytes"] {
        assert_eq!(value(&run, &format!("verify.{key}")), (2048 * MIB) as f64, "{key}");
    }
    assert!(!findings(&run).contains(&"F031"), "{:?}", findings(&run));
}

/// Repeating the fill would overwrite the verify.
#[test]
fn verify_stopped_after_a_fill_resumes_without_it() {
    let Some(OnLoop { scratch, device, destroy, .. }) = OnLoop::blank(1024) else { return };
    let both = ["--test=fill,verify", "--set=fill.mode=full", "--set=verify.mode=full", "--json"];
    let start = || scratch.run_call(&device.node, &[&both, &[&destroy]]).start();
    kill_after_a_checkpoint(&scratch, start, 1025 * MIB, "of the write phase");
    let resume = ["--test=fill,verify", "--json", "--resume", &destroy];
    let ended = scratch.run(&device.node, &[&resume]).measured();
    assert!(ended.stderr.contains("not repeated: fill"), "{ended}");
    let run = ended.json();
    assert_eq!(statuses(&run), [("verify", "done")]);
    for key in ["read.intact_bytes", "capacity.real_bytes"] {
        assert_eq!(value(&run, &format!("verify.{key}")), (1024 * MIB) as f64, "{key}");
    }
    scratch.run(&device.node, &[&resume]).refused_with(2, &["nothing to resume"]);
}

/// Overwritten bytes would look like corruption.
#[test]
fn overwritten_verify_is_not_resumed() {
    let Some(OnLoop { scratch, device, destroy, .. }) = OnLoop::blank(1024) else { return };
    let both = ["--test=fill,verify", "--set=fill.mode=full", "--set=verify.mode=full", "--json"];
    let start = || scratch.run_call(&device.node, &[&both, &[&destroy]]).start();
    kill_after_a_checkpoint(&scratch, start, 1025 * MIB, "of the write phase");
    let transfer = ["--test=transfer", "--cells=rnd4k_q32t1.write", "--json", &destroy];
    scratch.run(&device.node, &[TINY, &transfer]).measured();
    let message = scratch.run(&device.node, &[&["--test=verify", "--resume", &destroy]]).refused(2);
    assert!(message.contains("not overwritten since"), "{message}");
}

/// Bytes outside the part are neither written nor missed.
#[test]
#[ignore = "writes and reads gigabytes: CI and the soak"]
fn resumed_partial_verify_keeps_its_part() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::blank(2560) else { return };
    let part = ["--size=2GiB", &destroy];
    let start = || scratch.run_call(&device.node, &[VERIFY, &part]).start();
    kill_after_a_checkpoint(&scratch, start, 2000 * MIB, "read phase, all data before it intact");
    let resume = ["--test=verify", "--json", "--resume", &destroy];
    let message = scratch.run(&device.node, &[&resume, &["--size=2304MiB"]]).refused(2);
    assert!(message.contains("wrote only 2.15 GB"), "{message}");
    let run = scratch.run(&device.node, &[&resume]).measured().json();
    assert_eq!(value(&run, "verify.read.intact_bytes"), (2048 * MIB) as f64);
    assert!(!findings(&run).contains(&"F031"), "{:?}", findings(&run));
    let sectors = stamped(&image);
    assert!(sectors[(2048 * MIB / 512) as usize..].iter().all(|is_stamped| !is_stamped));
}

/// Everything is written, so there is nothing to resume.
#[test]
fn fill_stopped_in_its_last_part_is_complete() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::of_noise(256) else { return };
    let in_one_piece = ["--test=fill", "--set=fill.mode=full", "--set=fill.chunk=256MiB", "--json"];
    let stopped = (0..20).find_map(|_| {
        let running = scratch.run_call(&device.node, &[&in_one_piece, &[&destroy]]).start();
        wait_for_writes(&running, 1 << 20);
        running.signal(Signal::INT);
        let ended = running.end();
        (ended.exit_code() == Some(130)).then_some(ended)
    });
    let run = stopped.expect("one of twenty is stopped while it writes").json();
    assert_eq!(statuses(&run), [("fill", "done")]);
    assert!(value(&run, "fill.whole.time_s") > 0.0);
    assert!(stamped(&image).iter().all(|&is_stamped| is_stamped), "a gap");
}

/// A stop while the beginning is rewritten to flush a cache: it is repeated, or the cache could answer for data that
/// the drive lost.
#[test]
fn resumed_verify_flushes_the_cache_again() {
    let Some(OnLoop { scratch, device, destroy, .. }) = OnLoop::of_noise(256) else { return };
    let pushing = [VERIFY, &["--set=verify.cache=128MiB"]].concat();
    let stopped = (0..20).find_map(|_| {
        let running = scratch.run_call(&device.node, &[&pushing, &[&destroy]]).start();
        wait_for_writes(&running, 260 * MIB);
        running.signal(Signal::INT);
        let ended = running.end();
        let run = (ended.exit_code() == Some(130)).then(|| ended.json());
        run.filter(written_once)
    });
    let stopped = stopped.expect("one of twenty is stopped before it reads");
    let reason = text(&test_of(&stopped, "verify")["reason"]);
    let again = format!("--set verify.phase=write --set verify.from={}", 192 * MIB);
    assert!(reason.ends_with(&again), "{reason}");
    let resume = ["--test=verify", "--json", "--resume", &destroy];
    let run = scratch.run(&device.node, &[&resume]).measured().json();
    assert_eq!(value(&run, "verify.write.written_bytes"), (64 * MIB) as f64);
    assert_eq!(value(&run, "verify.capacity.real_bytes"), (256 * MIB) as f64);
}

fn written_once(run: &serde_json::Value) -> bool {
    let written = array(&test_of(run, "verify")["metrics"]).iter();
    let mut written = written.filter(|metric| metric["key"] == "verify.write.written_bytes");
    let reads = text(&test_of(run, "verify")["reason"]).contains("of the read phase");
    written.next().is_some_and(|metric| metric["value"] == (256 * MIB) as f64) && !reads
}

/// Writes fail from some byte on, as with a loose cable; then the device takes them again.
#[test]
fn a_fill_that_failed_is_resumed() {
    let Some(scratch) = privileged_scratch() else { return };
    let room = ["-t", "tmpfs", "-o", "size=160M"];
    let Some(mount) = Mount::new(&scratch, "drivescope-test", &room) else { return };
    let image = mount.text("image");
    std::fs::File::create(&image).unwrap().set_len(256 * MIB).unwrap();
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let destroy = format!("--destroy={}:{}", device.name(), 256 * MIB);
    let options = ["--test=fill", "--set=fill.mode=full", "--json", &destroy];
    let failed = scratch.run(&device.node, &[&options]).code(4).json();
    let reason = text(&test_of(&failed, "fill")["reason"]);
    assert!(reason.contains("write at byte") && reason.contains("with --resume"), "{reason}");
    tool("mount", &["-o", "remount,size=300M", &mount.point]).unwrap();
    let options = ["--test=fill", "--json", "--resume", &destroy];
    // The failure before belongs to a curve that begins with what was written then.
    let run = scratch.run(&device.node, &[&options]).code(1).json();
    assert_eq!(statuses(&run), [("fill", "done")]);
    assert!(run["plan"]["suite"]["fill"]["from"].as_u64() > Some(0), "{run}");
    assert!(stamped(&image).iter().all(|&is_stamped| is_stamped), "a gap");
}

#[test]
fn only_runs_of_this_device_are_resumed() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::of_noise(256) else { return };
    let resume: &[&str] = &["--test=fill", "--resume"];
    // Nothing was ever begun.
    scratch.run(&device.node, &[resume, &[&destroy]]).refused_with(2, &["nothing to resume"]);
    let start = || scratch.run_call(&device.node, &[SLOW_FILL, &[&destroy]]).start();
    kill_after_a_checkpoint(&scratch, start, 0, "continue with --resume");
    // A twin is another device.
    let other = Scratch::new();
    let twin = image_of_noise(&other, 256);
    let Some(twin) = Loop::attach(&twin, &[]) else { return };
    let of_twin = format!("--destroy={}:{}", twin.name(), 256 * MIB);
    scratch.run(&twin.node, &[resume, &[&of_twin]]).refused_with(2, &["nothing to resume"]);
    // The device holds something else by now: it is refused, and nothing is written.
    std::fs::write(&image, crate::support::noise(256 << 20, 99)).unwrap();
    let before = std::fs::read(&image).unwrap();
    let ended = scratch.run(&device.node, &[resume, &["--json", &destroy]]).code(2);
    let reason = text(&test_of(&ended.json(), "fill")["reason"]).to_string();
    assert!(reason.contains("does not hold the data of seed"), "{reason}");
    assert!(std::fs::read(&image).unwrap() == before, "a refused continuation wrote");
    // The seed belongs to the stopped run.
    scratch.run(&device.node, &[resume, &["--seed=3", &destroy]]).refused_with(2, &["--seed"]);
}
