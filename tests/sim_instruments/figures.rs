//! The program's figures on a model, under the names that the instruments of `sim reproduce` give them: bytes,
//! seconds, and per second.

use crate::support::Scratch;
use crate::support::json::{array, metrics, test_of, text};
use drivescope_sim::host::HostParams;
use drivescope_sim::host::instruments::{Dd, TinyWrites, dd_buffered, tiny_writes};
use drivescope_sim::library::{BUILT_IN, Drive, Kind, Model, Start};
use drivescope_sim::link::Link;
use drivescope_sim::reproduce::Figures;
use serde_json::Value;
use std::ops::Range;

const MB: f64 = 1e6;

/// Runs the program on a target and returns the document.
fn measure(scratch: &Scratch, target: &str, options: &[&str]) -> Value {
    scratch.run(target, &[&["--json", "--no-save", "--seed=1"], options]).code(0).json()
}

/// The rounds of a metric.
fn rounds(run: &Value, key: &str) -> Vec<f64> {
    let found = metrics(run).find(|metric| metric["key"] == key);
    let found = found.unwrap_or_else(|| panic!("no metric {key}"));
    array(&found["rounds"]).iter().filter_map(Value::as_f64).collect()
}

/// A metric of a run with one round.
fn one(run: &Value, key: &str) -> f64 {
    let rounds = rounds(run, key);
    assert_eq!(rounds.len(), 1, "{key}");
    rounds[0]
}

/// A curve over the drive: its stretches, and the rate of each in bytes per second. The last one ends at `end`.
fn curve(run: &Value, test: &str, key: &str, end: u64) -> Vec<(Range<f64>, f64)> {
    let series = array(&test_of(run, test)["series"]);
    let found = series.iter().find(|series| series["key"] == key).expect("the curve is there");
    let numbers = |name: &str| array(&found[name]).iter().filter_map(Value::as_f64);
    let starts: Vec<f64> = numbers("x").collect();
    let ends = starts.iter().skip(1).copied().chain([end as f64]);
    let ranges = starts.iter().zip(ends).map(|(&from, to)| from..to);
    ranges.zip(numbers("y").map(|rate| rate * MB)).collect()
}

/// Rate of passing `range` along a curve.
fn rate_in(curve: &[(Range<f64>, f64)], range: &Range<f64>) -> f64 {
    let part = |stretch: &Range<f64>| stretch.end.min(range.end) - stretch.start.max(range.start);
    let seconds: f64 = curve.iter().map(|(s, rate)| part(s).max(0.0) / rate).sum();
    (range.end - range.start) / seconds
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The model's file, changed so that it turns at `rpm` over the same tracks, as a target.
fn twin(scratch: &Scratch, model: &str, rpm: f64) -> String {
    let shown = scratch.drivescope(&["sim", "show", model]).code(0).stdout;
    let number = |line: &str| {
        let value = line.split(['=', '#']).nth(1).and_then(|value| value.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no number in {line}"))
    };
    let old: f64 =
        shown.lines().find(|line| line.starts_with("rpm = ")).map(number).expect("a disk");
    let changed = shown.lines().map(|line| match line.split_once(" = ") {
        Some(("rpm", _)) => format!("rpm = {rpm:.1}\n"),
        Some((field, _)) if field.ends_with("_media_mb_s") => {
            format!("{field} = {:.6}\n", number(line) * rpm / old)
        }
        _ => format!("{line}\n"),
    });
    format!("sim:{}", scratch.file("twin.toml", changed.collect::<String>()))
}

/// The target for a drive as cells name it.
fn target(scratch: &Scratch, drive: &str) -> String {
    match drive.split_once('@').map(|(model, rpm)| (model, rpm.trim_end_matches("rpm"))) {
        Some((model, rpm)) => twin(scratch, model, rpm.parse().expect("a speed")),
        None => format!("sim:{drive}"),
    }
}

pub fn of_identity(scratch: &Scratch, drive: &str) -> Figures {
    let run = measure(scratch, &target(scratch, drive), &["--test=align", "--rounds=1"]);
    let identity = &run["drive"];
    let mut figures = Figures::new();
    let mut keep = |name: &str, value: Option<f64>| {
        figures.extend(value.map(|value| (name.to_string(), value)));
    };
    keep("capacity", identity["capacity_bytes"].as_f64());
    keep("rpm", identity["rpm"].as_f64());
    let sector = metrics(&run).find(|metric| metric["key"] == "align.device.sector_bytes");
    keep("physical_sector", sector.and_then(|sector| sector["value"].as_f64()));
    figures
}

pub fn of_phybs(scratch: &Scratch, drive: &str) -> Figures {
    let mut figures = Figures::new();
    let mut slowest: f64 = 0.0;
    let reads = ["--set=align.mix=read", "--set=align.min=512", "--set=align.max=4KiB"];
    let is_read_in_the_article = drive == "wd15earx";
    let ways = [("write", &reads[..0]), ("read", &reads[..])];
    for (way, options) in &ways[..if is_read_in_the_article { 2 } else { 1 }] {
        let options = [&["--suite=phybs"], *options].concat();
        let run = measure(scratch, &target(scratch, drive), &options);
        for metric in metrics(&run) {
            let key = text(&metric["key"]);
            let Some(pass) = key.strip_prefix("align.pass") else { continue };
            let (pass, quantity) = pass.split_once('.').expect("a quantity");
            let (size, offset) = pass.split_once("_at_").expect("an offset");
            let size = size.strip_suffix('k').map_or(size.to_string(), |kib| {
                (kib.parse::<u64>().expect("a size") * 1024).to_string()
            });
            let value = metric["value"].as_f64().expect("a number");
            let (name, value) = match quantity {
                "pass_ms" => ("elapsed", value / 1e3),
                "tps" => ("tps", value),
                _ => ("rate", value * 1024.0),
            };
            if *way == "write" && name == "elapsed" {
                slowest = slowest.max(value);
            }
            figures.insert(format!("{way}.{size}.{offset}.{name}"), value);
        }
    }
    figures.insert("write.slowest.elapsed".to_string(), slowest);
    figures
}

/// The whole drive, its first 2 TB, and its first 256 MB: partitions at its end are no target of the program.
pub fn of_gnome_disks(scratch: &Scratch, drive: &str) -> Figures {
    const EDGE: usize = 5;
    let mut figures = Figures::new();
    for (span, size) in [
        ("whole", &[][..]),
        ("first-2tb", &["--size=2000000000000"][..]),
        ("front-256mb", &["--size=256000000"][..]),
    ] {
        let options = [&["--suite=gnome-disks", "--write=same-bytes"], size].concat();
        let run = measure(scratch, &target(scratch, drive), &options);
        for way in ["read", "write"] {
            let curve = curve(&run, "surface", &format!("surface.{way}.mb_s"), 0);
            let rates: Vec<f64> = curve.into_iter().map(|(_, rate)| rate).collect();
            assert_eq!(rates.len(), 100, "{span}");
            let mut keep =
                |name: &str, rates| figures.insert(format!("{span}.{name}{way}_rate"), mean(rates));
            keep("", &rates[..]);
            keep("start.", &rates[..EDGE]);
            keep("end.", &rates[rates.len() - EDGE..]);
        }
        let access_us = one(&run, "surface.access.lat_mean_us");
        figures.insert(format!("{span}.access_time"), access_us / 1e6);
    }
    figures
}

/// Figures of a transfer test on a target, the best of each cell's rounds.
fn of_transfer_cells(
    scratch: &Scratch,
    target: &str,
    options: &[&str],
    cells: &[(&str, &str)],
) -> Figures {
    let names: Vec<&str> = cells.iter().map(|(cell, _)| *cell).collect();
    let cells_option = format!("--cells={}", names.join(","));
    let options = [&["--test=transfer", "--size=1GiB", &cells_option], options].concat();
    let run = measure(scratch, target, &options);
    let best = |key: &str, most: bool| {
        let rounds = rounds(&run, key).into_iter();
        if most { rounds.fold(0.0, f64::max) } else { rounds.fold(f64::INFINITY, f64::min) }
    };
    let mut figures = Figures::new();
    for (cell, name) in cells.iter().filter(|(_, name)| !name.is_empty()) {
        let metric = |quantity: &str| format!("transfer.{cell}.{quantity}");
        let dot = if name.ends_with('_') { "" } else { "." };
        figures.insert(format!("{name}{dot}rate"), best(&metric("mb_s"), true) * MB);
        figures.insert(format!("{name}{dot}iops"), best(&metric("iops"), true));
        figures.insert(format!("{name}{dot}latency"), best(&metric("lat_mean_us"), false) / 1e6);
    }
    figures
}

/// Whether a drive turns.
fn is_disk(drive: &str) -> bool {
    model(drive).kind == Kind::Hdd
}

fn model(drive: &str) -> Model {
    let found = BUILT_IN.iter().find(|(name, _)| *name == drive);
    Model::parse(drive, found.expect("a model").1).expect("models are right")
}

/// 1 GiB written in requests of 16 MiB by a full `fill`, then read in such requests by `surface`.
pub fn of_as_ssd_seq(scratch: &Scratch, drive: &str) -> Figures {
    let options = [
        "--test=fill,surface",
        "--size=1GiB",
        "--rounds=1",
        "--set=fill.mode=full",
        "--set=fill.chunk=16MiB",
        "--set=fill.depth=1",
        "--set=surface.preset=zcav",
        "--set=surface.sample=256MiB",
        "--set=surface.chunk=16MiB",
        "--set=surface.accesses=0",
    ];
    let run = measure(scratch, &format!("sim:{drive}?fill=0"), &options);
    // AS SSD does not flush.
    let written_s = one(&run, "fill.whole.time_s") - one(&run, "fill.whole.flush_s");
    let write = f64::from(1 << 30) / written_s;
    let read = one(&run, "surface.read.mean_mb_s") * MB;
    Figures::from([("write_rate".to_string(), write), ("read_rate".to_string(), read)])
}

/// The file is written before, as AS SSD does. The time before the measured one fills the drive's cache, of which
/// there is much in 20 s of a disk and little in AS SSD's whole file.
pub fn of_as_ssd_4k(scratch: &Scratch, drive: &str) -> Figures {
    let target = format!("sim:{drive}?fill=0");
    let (time, ramp) = if is_disk(drive) { ("60s", "10s") } else { ("4s", "3s") };
    let time = format!("--set=transfer.time={time}");
    let ramp = format!("--set=transfer.ramp={ramp}");
    let cells =
        [("seq512k_q1t1.write", ""), ("rnd4k_q1t1.read", "read_"), ("rnd4k_q1t1.write", "write_")];
    of_transfer_cells(scratch, &target, &["--rounds=1", &time, &ramp], &cells)
}

/// Five runs of a disk as in the article; of flash, where they are alike, three short ones.
pub fn of_crystaldiskmark(scratch: &Scratch, drive: &str) -> Figures {
    let suite = "--suite=crystaldiskmark-realworld";
    let short = ["--rounds=3", "--set=transfer.time=2s", "--set=transfer.ramp=1s"];
    let (fill, options) =
        if is_disk(drive) { (0.8, &["--rounds=5"][..]) } else { (0.5, &short[..]) };
    let cells = [
        ("seq1m_q1t1.read", "seq1m_q1t1.read"),
        ("rnd4k_q32t1.read", "rnd4k_q32t1.read"),
        ("rnd4k_q1t1.read", "rnd4k_q1t1.read"),
        ("seq1m_q1t1.write", "seq1m_q1t1.write"),
        ("rnd4k_q1t1.write", "rnd4k_q1t1.write"),
    ];
    let options = [&[suite], options].concat();
    of_transfer_cells(scratch, &format!("sim:{drive}?fill={fill}"), &options, &cells)
}

/// 100 MiB from the start in reads of 1 MiB, one at a time: four blocks of `zcav`.
pub fn of_diskinfo(scratch: &Scratch, drive: &str) -> Figures {
    let options = ["--suite=zcav", "--size=100MiB", "--set=surface.sample=25MiB"];
    let run = measure(scratch, &format!("sim:{drive}"), &options);
    Figures::from([("outside.read_rate".to_string(), one(&run, "surface.read.mean_mb_s") * MB)])
}

/// The curve of a whole fill, and where it ends.
fn fill_curve(scratch: &Scratch, target: &str) -> (Vec<(Range<f64>, f64)>, u64) {
    let options = ["--test=fill", "--rounds=1", "--set=fill.mode=full", "--set=fill.depth=8"];
    let run = measure(scratch, target, &options);
    let capacity = run["drive"]["capacity_bytes"].as_u64().expect("a size");
    (curve(&run, "fill", "fill.write.mb_s", capacity), capacity)
}

/// Hundredths of the drive, as the instrument has them.
pub fn of_fill(scratch: &Scratch, drive: &str) -> Figures {
    let target = target(scratch, drive);
    let new = if target.ends_with(".toml") { target } else { format!("{target}?fill=0") };
    let (curve, capacity) = fill_curve(scratch, &new);
    let part = capacity as f64 / 100.0;
    let rate = |n: u32| rate_in(&curve, &(f64::from(n) * part..f64::from(n + 1) * part));
    let peak = (0..100).map(rate).fold(0.0, f64::max);
    let figures = [
        ("start", rate(0)),
        ("middle", rate(50)),
        ("end", rate(99)),
        ("peak", peak),
        ("whole", rate_in(&curve, &(0.0..capacity as f64))),
    ];
    figures.into_iter().map(|(name, rate)| (format!("{name}.write_rate"), rate)).collect()
}

/// 1 GiB as the quick suite reads it; of the large disk also regions, by `surface` and by a fill.
pub fn of_transfer(scratch: &Scratch, drive: &str) -> Figures {
    let target = format!("sim:{drive}");
    let options = ["--rounds=1", "--set=transfer.time=3s", "--set=transfer.ramp=0s"];
    let cells = [("seq1m_q8t1.read", "seq1m.read_")];
    let mut figures = of_transfer_cells(scratch, &target, &options, &cells);
    if drive != "usb-16tb" {
        return figures;
    }
    let surface = ["--test=surface", "--rounds=1", "--set=surface.samples=801"];
    let run = measure(scratch, &target, &surface);
    let (writes, capacity) = fill_curve(scratch, &target);
    let reads = curve(&run, "surface", "surface.read.mb_s", capacity);
    let tb = 1e12;
    let twentieth = capacity as f64 / 20.0;
    for (way, curve) in [("read", reads), ("write", writes)] {
        for (name, range) in [
            ("front", 0.0..twentieth),
            ("back", capacity as f64 - twentieth..capacity as f64),
            ("first-2tb", 0.0..2.0 * tb),
            ("2tb-11tb", 2.0 * tb..11.0 * tb),
        ] {
            figures.insert(format!("{name}.{way}_rate"), rate_in(&curve, &range));
        }
    }
    figures
}

/// Seed 001's sizes but for the blocks of `dd`: a test with 512 bytes would take minutes.
const FILE_BYTES: u64 = 512_000_000;
const BLOCK_BYTES: u64 = 4096;
const WRITE_BYTES: u64 = 18;

/// How many tiny writes, and time for them: fewer than seed 001's, which would take a test too long.
fn tiny_count(drive: &str) -> (u64, &'static str) {
    if is_disk(drive) { (300, "3s") } else { (10_000, "1.5s") }
}

/// `read_iops` of a stream of small blocks that are not in memory, `write_iops` of writes of a few bytes, by the
/// test `tiny-writes`.
pub fn of_tiny_writes(scratch: &Scratch, drive: &str) -> Figures {
    let (writes, time) = tiny_count(drive);
    let options = [
        "--test=tiny-writes",
        "--rounds=1",
        // before each pattern, as the instrument's drive has it behind its file
        "--set=pause=60s",
        &format!("--set=tiny-writes.size={FILE_BYTES}"),
        &format!("--set=tiny-writes.stream_block={BLOCK_BYTES}"),
        &format!("--set=tiny-writes.write={WRITE_BYTES}"),
        &format!("--set=tiny-writes.writes={writes}"),
        &format!("--set=tiny-writes.time={time}"),
    ];
    let run = measure(scratch, &format!("sim:{drive}?fill=0"), &options);
    let iops = |cell: &str| one(&run, &format!("tiny-writes.{cell}.iops"));
    let (read, write) = (iops("seq512_read_cold"), iops("rnd16_buffered"));
    Figures::from([("read_iops".to_string(), read), ("write_iops".to_string(), write)])
}

/// The same by the instruments of `sim reproduce`, below the host that the program simulates, which has no script
/// that takes time of its own.
pub fn of_small_instruments(drive: &str) -> Figures {
    let built = || -> Link<Drive> {
        let start = Start { seed: 1, fill: 0.0, ..Start::default() };
        model(drive).build(&start).expect("models can be built")
    };
    let host = HostParams::default();
    let dd = Dd { block_bytes: BLOCK_BYTES, blocks: FILE_BYTES / BLOCK_BYTES };
    let times = dd_buffered(built(), &host, &dd).expect("the file fits");
    let script = TinyWrites {
        start_ms: 0.0,
        script_us: 0.0,
        file_bytes: FILE_BYTES,
        write_bytes: WRITE_BYTES,
        ..TinyWrites::seed_001(tiny_count(drive).0)
    };
    let seconds = tiny_writes(built(), &host, &script).expect("the file fits");
    let (read, write) = (dd.blocks as f64 / times.read_s, script.writes as f64 / seconds);
    Figures::from([("read_iops".to_string(), read), ("write_iops".to_string(), write)])
}
