//! A request of 8 ms as fio sees it: never less, and hardly more than this machine adds by itself.
//!
//! What the machine adds is measured in the same seconds: how much too late a thread that sleeps 8 ms
//! wakes up, and what the path to the drive costs. On a busy machine both grow with what is tested.

use super::*;
use std::sync::atomic::AtomicBool;

/// How many times what is measured beside it a request may take longer than the model says. A sound server
/// stays below 2 on a machine with five times as many busy threads as processors; one whose clock is a
/// millisecond late, planted for a trial, was above 10.
const SHARE: u64 = 3;
/// A neighbour's burst spoils one attempt; being late as a rule spoils all.
const ATTEMPTS: usize = 5;

/// What fio measures in two seconds of direct 4 KiB reads at depth 1: shortest and median, ns.
fn fio(target: &Path) -> [u64; 2] {
    let name = format!("--filename={}", target.display());
    let arguments = ["--name=job", &name, "--direct=1", "--ioengine=psync", "--bs=4k"];
    // fio's own clock is the processor's counter; this one is the server's too.
    let clock = ["--clocksource=clock_gettime", "--rw=randread", "--runtime=2", "--time_based"];
    let output = ["--lat_percentiles=1", "--output-format=json", "--allow_file_create=0"];
    let json = run("fio", &[&arguments[..], &clock, &output, &["--size=256m"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let lat = &json["jobs"][0]["read"]["lat_ns"];
    [&lat["min"], &lat["percentile"]["50.000000"]].map(|value| value.as_u64().unwrap())
}

/// Median of how much too late a thread wakes up that sleeps 8 ms again and again until `stop`, ns.
fn oversleeping(stop: &AtomicBool) -> u64 {
    let mut late = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let start = Instant::now();
        std::thread::sleep(SLOW);
        late.push((start.elapsed() - SLOW).as_nanos() as u64);
    }
    late.sort_unstable();
    late[late.len() / 2]
}

/// fio's figures, and what the machine added to a sleep meanwhile.
fn beside_a_sleeper(target: &Path) -> ([u64; 2], u64) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| oversleeping(&stop));
        let seen = fio(target);
        stop.store(true, Ordering::Relaxed);
        (seen, sleeper.join().unwrap())
    })
}

#[test]
fn a_request_of_8_ms_is_8_ms_and_what_the_machine_adds() {
    if !can_run(true) {
        return;
    }
    if !has("fio") {
        return skip_loudly("no fio");
    }
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let place = Place::new();
        let server = place.serve_block(slow(1));
        let ([min, p50], asleep) = beside_a_sleeper(&server.block_device().unwrap());
        let report = server.stop();
        let model = SLOW.as_nanos() as u64;
        assert!(min >= model, "{min} ns is less than the model's");
        let added = p50.saturating_sub(model);
        let path = report.device_path.unwrap().p50_ns;
        // The second is what the server says itself that it adds.
        let sound =
            added <= SHARE * (asleep + path) && added <= SHARE * (report.lateness_p50_ns + path);
        if sound {
            return;
        }
        seen.push(format!("fio {added} ns more, a sleep {asleep} ns, path {path} ns: {report}"));
    }
    panic!("fio sees more than this machine adds:\n{}", seen.join("\n"));
}
