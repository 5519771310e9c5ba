//! Simulated drives, whose truth is known: each test of the program finds it, findings come where something is
//! wrong and nowhere else, and bugs planted in a drive are noticed.

use crate::support::Scratch;
use crate::support::json::{array, findings, metric, metrics, test_of, text, value};
use drivescope_drive::simulated::model_file::text_of;
use drivescope_drive::simulated::spec::Spec;
use drivescope_sim::hdd::{HardDisk, ZoneRate};
use serde_json::Value;

fn measure(target: &str, options: &[&str]) -> Value {
    measure_in(&Scratch::new(), target, options, 0)
}

fn measure_in(scratch: &Scratch, target: &str, options: &[&str], code: i32) -> Value {
    let run = scratch.run(target, &[&["--json", "--no-save", "--seed=1"], options]);
    run.code(code).json()
}

#[track_caller]
fn curve(run: &Value, test: &str, key: &str) -> Vec<(f64, f64)> {
    let series = array(&test_of(run, test)["series"]);
    let found = series.iter().find(|series| series["key"] == key);
    let found = found.unwrap_or_else(|| panic!("no series {key}"));
    let numbers = |name: &str| array(&found[name]).iter().filter_map(Value::as_f64);
    numbers("x").zip(numbers("y")).collect()
}

/// The model itself, which knows the truth.
fn disk(target: &str) -> HardDisk {
    let model = Spec::parse(target).expect("a model").model;
    HardDisk::new(&model.hdd.expect("a hard disk"), 1).expect("a valid model")
}

/// Sequential read rate of `len` bytes from `offset` by the zones, MB/s.
fn true_rate(zones: &[ZoneRate], offset: u64, len: u64) -> f64 {
    let part = |zone: &ZoneRate| {
        let from = zone.offset_bytes.max(offset);
        let to = (zone.offset_bytes + zone.len_bytes).min(offset + len);
        to.saturating_sub(from) as f64 / zone.rate_mb_s
    };
    len as f64 / zones.iter().map(part).sum::<f64>()
}

const SAMPLE: u64 = 32 << 20;
const SURFACE: [&str; 5] = [
    "--test=surface",
    "--rounds=1",
    "--set=surface.sample=32MiB",
    "--set=surface.samples=65",
    "--set=surface.accesses=0",
];

/// Samples of this length must have the rates of the zones, also at both ends. Returns their number.
#[track_caller]
fn samples_of_the_zones(target: &str, run: &Value, direction: &str, len: u64) -> usize {
    let zones = disk(target).zones();
    let profile = curve(run, "surface", &format!("surface.{direction}.mb_s"));
    for &(offset, rate) in &profile {
        let truth = true_rate(&zones, offset as u64, len);
        assert!((rate / truth - 1.0).abs() < 0.02, "{target}: {rate} for {truth} at {offset}");
    }
    for (key, zone) in [("start", &zones[0]), ("end", &zones[zones.len() - 1])] {
        let seen = value(run, &format!("surface.{direction}.{key}_mb_s"));
        let off = seen / zone.rate_mb_s - 1.0;
        assert!(off.abs() < 0.04, "{target}: {seen} at the {key}, {} there", zone.rate_mb_s);
    }
    profile.len()
}

#[test]
fn surface_finds_the_zones_and_their_rates() {
    for target in ["sim:hgst-7k1000", "sim:wd40efrx", "sim:usb-16tb"] {
        let samples = samples_of_the_zones(target, &measure(target, &SURFACE), "read", SAMPLE);
        // And once more as many, at the borders of zones.
        assert!((66..=130).contains(&samples), "{target}: {samples}");
    }
}

/// Writes of the existing data, and of fresh data.
#[test]
fn surface_finds_zones_and_rates_by_writing() {
    const WRITTEN: u64 = 256 << 20;
    let options = [
        "--set=surface.write_samples=33",
        "--set=surface.samples=33",
        "--set=surface.accesses=0",
        "--rounds=1",
    ];
    for (target, how, writes) in [
        ("sim:hgst-7k1000", "--write=same-bytes", "same-bytes"),
        ("sim:wd40efrx", "--write=same-bytes", "same-bytes"),
        ("sim:wd40efrx", "--set=surface.write=fresh", "destroy"),
        ("sim:usb-16tb", "--set=surface.write=same-bytes", "same-bytes"),
    ] {
        let run = measure(target, &[&["--test=surface", how], &options[..]].concat());
        assert_eq!(run["plan"]["tests"][0]["writes"], writes, "{target} {how}");
        assert_eq!(samples_of_the_zones(target, &run, "write", WRITTEN), 33, "{target}");
    }
    let silent = measure("sim:wd40efrx", &[&["--test=surface"], &options[..]].concat());
    assert!(!metrics(&silent).any(|metric| text(&metric["key"]).contains(".write.")));
}

#[test]
fn latency_finds_seek_and_rotation() {
    let options = [
        "--test=latency",
        "--rounds=3",
        "--set=latency.time=20s",
        "--set=latency.spans_pct=[100,10,1]",
        "--set=latency.rates=[]",
    ];
    for target in ["sim:hgst-7k1000", "sim:wd40efrx"] {
        let model = Spec::parse(target).expect("a model").model;
        let params = model.hdd.as_ref().expect("a hard disk");
        let disk = disk(target);
        let run = measure(target, &options);
        let turn_ms = 60e3 / params.rpm;
        for percent in [100, 10, 1] {
            let span = params.capacity_bytes / 100 * percent;
            let transfer_ms = 4096.0 / disk.rate_mb_s_at(span / 2) / 1e3;
            let truth_ms = params.read_miss_overhead_ms
                + disk.mean_seek_ms_in(0, span, 400)
                + turn_ms / 2.0
                + transfer_ms;
            let cell =
                |quantity: &str| value(&run, &format!("latency.span{percent}.{quantity}")) / 1e3;
            let mean_ms = cell("lat_mean_us");
            let off = mean_ms / truth_ms - 1.0;
            assert!(off.abs() < 0.03, "{target}: {mean_ms} for {truth_ms} ms over {percent} %");
            if percent == 1 {
                // Where all seeks are short, the angle decides: it is uniform over a turn.
                let spread = (cell("lat_p90_us") - cell("lat_p50_us")) / turn_ms;
                assert!((0.34..0.46).contains(&spread), "{target}: {spread} of a turn");
            }
        }
    }
}

fn named<'r>(run: &'r Value, name: &str) -> Option<&'r Value> {
    array(&run["findings"]).iter().find(|finding| finding["name"] == name)
}

/// Findings that healthy drives do not raise.
#[test]
fn quick_suite_notices_heat_and_unused_queue() {
    let hot = measure("sim:corsair-mp510-240?fault=throttled", &[]);
    let evidence = text(&named(&hot, "throttled").expect("it is hot")["evidence"]);
    assert!(
        evidence.contains("80 °C at the end; the drive's warning level is 80 °C"),
        "{evidence}"
    );
    let first_come = measure("sim:wd40efrx?fault=first-come", &[]);
    assert!(named(&first_come, "no-queue-gain").is_some(), "{:?}", findings(&first_come));
}

const SEQUENTIAL_READ: [&str; 2] = ["--test=transfer", "--cells=seq1m_q8t1.read"];

#[test]
fn a_page_cache_in_the_path_is_found() {
    let options = [SEQUENTIAL_READ[0], SEQUENTIAL_READ[1], "--set=transfer.time=4s", "--size=4GiB"];
    let healthy = measure("sim:pm871b-128", &options);
    assert_eq!(findings(&healthy), [""; 0]);
    // Nothing valid was measured.
    let run = measure_in(&Scratch::new(), "sim:pm871b-128?fault=page-cache", &options, 1);
    for id in ["F001", "F003", "F011"] {
        assert!(findings(&run).contains(&id), "{id} is missing: {:?}", findings(&run));
    }
    let rate = metric(&run, "transfer.seq1m_q8t1.read.mb_s");
    assert_eq!(rate.expect("measured")["valid"], false, "memory is not the drive");
}

#[test]
fn a_link_that_caps_the_drive_is_found() {
    let target = "sim:samsung-860evo-1tb";
    let full = Spec::parse(target).expect("a model").model.link.payload_mb_s();
    let healthy = measure(target, &SEQUENTIAL_READ);
    assert!(!findings(&healthy).contains(&"F024"));
    let run = measure(&format!("{target}?fault=slow-link"), &SEQUENTIAL_READ);
    assert!(findings(&run).contains(&"F024"), "{:?}", findings(&run));
    let rate = value(&run, "transfer.seq1m_q8t1.read.mb_s");
    assert!((0.95..1.02).contains(&(rate * 4.0 / full)), "{rate} of {full} MB/s");
    for phase in array(&test_of(&run, "transfer")["phases"]) {
        assert_eq!(phase["limiter"], "link", "{phase}");
    }
}

#[test]
fn throttling_is_found() {
    fn rate(run: &Value) -> f64 {
        value(run, "transfer.seq1m_q8t1.read.mb_s")
    }
    // The same drive with a limit that it reaches within a round, and does not leave.
    let hot = text_of("corsair-mp510-240")
        .expect("a model")
        .replace("throttle_start_c = 80", "throttle_start_c = 46")
        .replace("throttle_stop_c = 74", "throttle_stop_c = 44");
    let scratch = Scratch::new();
    scratch.file("hot.toml", hot);
    let options = [SEQUENTIAL_READ[0], SEQUENTIAL_READ[1], "--set=transfer.time=40s", "--rounds=1"];
    let run = measure_in(&scratch, "sim:./hot.toml", &options, 0);
    assert!(findings(&run).contains(&"F014"), "{:?}", findings(&run));
    let cool = measure("sim:corsair-mp510-240", &options);
    assert!(!findings(&cool).contains(&"F014"), "{:?}", findings(&cool));
    let held = measure("sim:corsair-mp510-240?fault=throttled", &SEQUENTIAL_READ);
    let share = rate(&held) / rate(&cool);
    assert!((0.25..0.5).contains(&share), "a third of the speed: {share}");
}

#[test]
fn unreadable_region_is_located() {
    let target = "sim:hgst-7k1000?fault=failing-region";
    let run = measure_in(&Scratch::new(), target, &SURFACE, 4);
    assert!(findings(&run).contains(&"F017"), "{:?}", findings(&run));
    let middle = disk("sim:hgst-7k1000").zones().iter().map(|z| z.len_bytes).sum::<u64>() / 2;
    let profile = curve(&run, "surface", "surface.read.mb_s");
    assert!(profile.len() >= 64, "the others are read, in all rounds: {}", profile.len());
    let evidence = text(&named(&run, "io-error").expect("it is named")["evidence"]);
    assert!(evidence.contains("places could not be read, within bytes"), "{evidence}");
    let inside = |offset: f64| (offset as u64) < middle && offset as u64 + SAMPLE > middle;
    assert!(!profile.iter().any(|&(offset, _)| inside(offset)));
}

#[test]
fn a_slow_region_shows_where_it_is() {
    let target = "sim:hgst-7k1000";
    let zones = disk(target).zones();
    let capacity: u64 = zones.iter().map(|zone| zone.len_bytes).sum();
    let region = capacity / 2..capacity / 2 + capacity / 20;
    let run = measure(&format!("{target}?fault=slow-region"), &SURFACE);
    let mut slow = 0;
    for (offset, rate) in curve(&run, "surface", "surface.read.mb_s") {
        let (from, to) = (offset as u64, offset as u64 + SAMPLE);
        let share = rate / true_rate(&zones, from, SAMPLE);
        if region.contains(&from) && region.contains(&to) {
            assert!(share < 0.7, "{share} at {offset}");
            slow += 1;
        } else if to <= region.start || from >= region.end {
            assert!((0.98..1.02).contains(&share), "{share} at {offset}");
        }
    }
    assert!(slow >= 3, "{slow} places inside");
    let finding = named(&run, "slow-region").expect("it is named");
    assert_eq!(finding["severity"], "warning");
    let evidence = text(&finding["evidence"]);
    let bytes: Vec<u64> =
        evidence.split(' ').filter_map(|word| word.parse().ok()).take(2).collect();
    let beside = capacity / 64;
    assert!((region.start - SAMPLE..region.start + beside).contains(&bytes[0]), "{evidence}");
    assert!((region.end - beside..region.end + beside).contains(&bytes[1]), "{evidence}");
}

const TINY: [&str; 3] = ["--test=tiny-writes", "--rounds=1", "--set=tiny-writes.time=500ms"];
const TINY_FLASH: [&str; 3] = ["--test=tiny-writes", "--rounds=1", "--set=tiny-writes.time=50ms"];

#[test]
fn tiny_writes_cause_one_drive_read_each() {
    let target = "sim:wd40efrx";
    let params = Spec::parse(target).expect("a model").model.hdd.expect("a hard disk");
    let run = measure(target, &TINY);
    // The file lies in one piece at the front of the drive; a write into a page that is not in memory reads it.
    let truth_ms = params.read_miss_overhead_ms
        + disk(target).mean_seek_ms_in(0, 512_000_000, 400)
        + 60e3 / params.rpm / 2.0;
    let mean_ms = value(&run, "tiny-writes.rnd16_buffered.lat_mean_us") / 1e3;
    assert!((mean_ms / truth_ms - 1.0).abs() < 0.08, "{mean_ms} for {truth_ms} ms");
    // A stream through the cache is read ahead: the host's calls are its cost, not the drive's.
    let streamed = value(&run, "tiny-writes.seq512_read_cold.iops");
    assert!(streamed > 20.0 * value(&run, "tiny-writes.seq_direct_read.iops"), "{streamed}");
}

#[test]
fn a_flush_that_lies_is_noticed() {
    fn about(run: &Value) -> bool {
        let found = array(&run["findings"]).iter().find(|finding| finding["id"] == "F007");
        found.is_some_and(|f| text(&f["evidence"]).contains("each flushed"))
    }
    let key = "tiny-writes.rnd4k_direct_sync.iops";
    let honest = measure("sim:wd40efrx", &TINY);
    let lying = measure("sim:wd40efrx?fault=flush-lies", &TINY);
    assert!(about(&lying) && !about(&honest), "{:?}", findings(&lying));
    // Half a turn and a short seek each: below two in a turn.
    assert!(value(&honest, key) < 2.0 * 90.0 && value(&lying, key) > 2.0 * 90.0);
    // Flash has no rotation to measure; the cost of a flush decides.
    let honest = measure("sim:samsung-860evo-1tb", &TINY_FLASH);
    let lying = measure("sim:samsung-860evo-1tb?fault=flush-lies", &TINY_FLASH);
    assert!(findings(&lying).contains(&"F045") && !findings(&honest).contains(&"F045"));
    let (honest, lying) = (value(&honest, key), value(&lying, key));
    assert!(lying > 10.0 * honest, "{lying} and {honest} flushed writes/s");
}

#[test]
fn a_drive_without_read_modify_write_is_noticed() {
    let options = ["--test=transfer", "--cells=rnd512_q1t1.write,rnd4k_q1t1.write"];
    let gain = |target: &str| {
        let run = measure(target, &options);
        let iops = |cell: &str| value(&run, &format!("transfer.{cell}.write.iops"));
        iops("rnd512_q1t1") / iops("rnd4k_q1t1")
    };
    let (honest, planted) = (gain("sim:wd20ears"), gain("sim:wd20ears?fault=no-read-modify-write"));
    assert!(honest < 0.6, "a part of a sector must be read first: {honest}");
    assert!((0.8..1.3).contains(&planted), "{planted}");
}

#[test]
fn in_order_service_is_noticed() {
    let options =
        ["--test=transfer", "--cells=rnd4k_q1t1.read,rnd4k_q32t1.read", "--set=transfer.time=5s"];
    let gain = |target: &str| {
        let run = measure(target, &options);
        let iops = |depth: &str| value(&run, &format!("transfer.rnd4k_{depth}t1.read.iops"));
        iops("q32") / iops("q1")
    };
    let (honest, planted) = (gain("sim:wd40efrx"), gain("sim:wd40efrx?fault=first-come"));
    assert!(honest > 1.6, "a queue lets the drive choose: {honest}");
    assert!((0.9..1.1).contains(&planted), "{planted}");
}
