//! Documents for tests, built by hand: a hard disk, an NVMe drive, memory, and runs that went wrong.

mod drives;

pub use drives::{directory, drive, hard_disk_drive, nvme_drive, worn_disk_health};

use crate::latencies::ENCODING;
use base64::Engine as _;
use drivescope_model::document::{
    Distribution, FORMAT, GateCheck, Limiter, Metric, PhaseRecord, Run, Series, Tool,
};
use drivescope_model::host::{Calibration, Host};
use drivescope_model::metrics::quantity_of;
use drivescope_model::plan::Engine;
use drivescope_model::{
    Bytes, Cost, Finding, FindingId, Plan, PlannedTest, Suite, TestKind, TestResult, TestStatus,
    WriteLevel,
};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// The value is the middle round, the interval the range of the rounds.
pub fn metric(key: &str, rounds: &[f64]) -> Metric {
    let mut sorted = rounds.to_vec();
    sorted.sort_by(f64::total_cmp);
    Metric {
        key: key.to_string(),
        value: sorted[sorted.len() / 2],
        unit: quantity_of(key).map_or("", |q| q.unit).to_string(),
        low: sorted[0],
        high: sorted[sorted.len() - 1],
        rounds: rounds.to_vec(),
        pooled: false,
        valid: true,
        invalid_because: Vec::new(),
    }
}

/// Three rounds around `value`, `spread` apart.
fn rounds(key: &str, value: f64, spread: f64) -> Metric {
    metric(key, &[value, value - spread, value + spread])
}

fn latencies(cell: &str, [p50, p99, p99_9, max]: [f64; 4]) -> Vec<Metric> {
    [("p50", p50), ("p99", p99), ("p99_9", p99_9), ("max", max)]
        .map(|(name, us)| rounds(&format!("{cell}.lat_{name}_us"), us, us / 50.0))
        .to_vec()
}

/// Cells with rate in MB/s, requests per second, and latencies.
fn transfer(cells: &[(&str, f64, f64, [f64; 4])]) -> TestResult {
    let metrics = cells.iter().flat_map(|(cell, mb_s, iops, lat)| {
        let cell = format!("transfer.{cell}");
        let rates = [
            rounds(&format!("{cell}.mb_s"), *mb_s, mb_s * 0.006),
            rounds(&format!("{cell}.iops"), *iops, iops * 0.006),
        ];
        rates.into_iter().chain(latencies(&cell, *lat))
    });
    result(TestKind::Transfer, metrics.collect())
}

fn latency_cell(cell: &str, iops: f64, offered: Option<f64>, lat: [f64; 4]) -> Vec<Metric> {
    let cell = format!("latency.{cell}");
    let mut metrics = vec![rounds(&format!("{cell}.iops"), iops, iops * 0.01)];
    metrics.extend(offered.map(|rate| metric(&format!("{cell}.offered_iops"), &[rate])));
    metrics.extend(latencies(&cell, lat));
    metrics
}

fn phases(metrics: &[Metric], limiter: Limiter) -> Vec<PhaseRecord> {
    let mut records = Vec::new();
    for metric in metrics.iter().filter(|metric| metric.key.ends_with(".iops")) {
        let cell = metric.key.trim_end_matches(".iops").split_once('.').unwrap().1;
        let block = match cell.split('_').next() {
            Some("seq1m") => 1 << 20,
            Some("rnd16") => 16,
            Some("seq512") => 512,
            _ => 4096,
        };
        for (i, iops) in metric.rounds.iter().enumerate() {
            records.push(PhaseRecord {
                cell: cell.to_string(),
                round: i as u32 + 1,
                start_s: records.len() as f64 * 5.25,
                elapsed_s: 5.0,
                span_bytes: cell.contains("_q").then_some(1 << 30),
                ops: (iops * 5.0) as u64,
                bytes: (iops * 5.0) as u64 * block,
                errors: 0,
                depth_mean: 0.998,
                cpu_busiest_pct: 3.4,
                cpu_user_pct: 0.8,
                cpu_sys_pct: 2.6,
                cpu_wait_pct: Some(0.5),
                cpu_others_pct: Some(2.5),
                cpu_steal_pct: Some(0.25),
                context_switches: 412,
                device_read_bytes: None,
                device_written_bytes: None,
                device_busy_pct: Some(99.6),
                temperature_c: Some(34.0),
                limiter,
                engine: None,
                latencies: None,
            });
        }
    }
    records
}

pub fn result(test: TestKind, metrics: Vec<Metric>) -> TestResult {
    let phases = phases(&metrics, Limiter::Drive);
    TestResult {
        elapsed_s: 21.0,
        metrics,
        phases,
        ..TestResult::empty(test, TestStatus::Done, None)
    }
}

pub fn series(
    key: &str,
    [x_unit, y_unit]: [&str; 2],
    points: impl IntoIterator<Item = (f64, f64)>,
) -> Series {
    let (x, y) = points.into_iter().unzip();
    Series { key: key.into(), x_unit: x_unit.into(), y_unit: y_unit.into(), x, y }
}

/// A finished test with one round of each metric; the keys are without the test.
pub fn measured(test: TestKind, metrics: &[(&str, f64)]) -> TestResult {
    let one = |(name, value): &(&str, f64)| metric(&format!("{test}.{name}"), &[*value]);
    result(test, metrics.iter().map(one).collect())
}

pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Panics unless the text has all of these parts.
#[track_caller]
pub fn must_have(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
}

/// Panics unless all lines have at most 80 columns.
#[track_caller]
pub fn must_fit(text: &str) {
    assert!(text.lines().all(|line| crate::terminal::width(line) <= 80), "{text}");
}

pub fn with_metrics(metrics: &[(&str, &[f64])]) -> Run {
    let metrics = metrics.iter().map(|(key, rounds)| metric(key, rounds)).collect();
    let mut run = hard_disk();
    run.tests = vec![result(TestKind::Transfer, metrics)];
    run.findings.clear();
    run
}

/// Latencies of a cell as a document carries them.
pub fn distribution(key: &str, latencies_ns: &[u64]) -> Distribution {
    let mut histogram = Histogram::<u64>::new_with_bounds(1, 1_000_000_000, 3).unwrap();
    latencies_ns.iter().for_each(|ns| histogram.record(*ns).unwrap());
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
    Distribution {
        key: key.to_string(),
        encoding: ENCODING.to_string(),
        data: base64::engine::general_purpose::STANDARD.encode(bytes),
        count: latencies_ns.len() as u64,
    }
}

/// A run with one percentile of a cell, `CELL.lat_p99_us`, of all rounds together.
pub fn with_latencies(key: &str, latencies_ns: &[u64]) -> Run {
    let mut sorted = latencies_ns.to_vec();
    sorted.sort_unstable();
    let p99 = sorted[(sorted.len() * 99).div_ceil(100) - 1] as f64 / 1e3;
    let mut run = with_metrics(&[(key, &[p99])]);
    let (cell, _) = key.rsplit_once('.').unwrap();
    run.tests[0].distributions.push(distribution(cell, latencies_ns));
    run
}

pub fn hard_disk_transfer() -> TestResult {
    transfer(&[
        ("seq1m_q8t1.read", 178.2, 169.9, [47_020.0, 52_100.0, 60_000.0, 61_400.0]),
        ("seq1m_q8t1.write", 171.9, 163.9, [48_700.0, 55_300.0, 98_000.0, 120_000.0]),
        ("rnd4k_q32t1.read", 1.69, 412.0, [77_100.0, 214_000.0, 390_000.0, 402_000.0]),
        ("rnd4k_q32t1.write", 1.93, 471.0, [61_000.0, 244_000.0, 410_000.0, 431_000.0]),
        ("rnd4k_q1t1.read", 0.611, 149.0, [6_610.0, 14_200.0, 21_300.0, 24_800.0]),
        ("rnd4k_q1t1.write", 1.71, 418.0, [1_010.0, 18_800.0, 30_100.0, 44_000.0]),
    ])
}

pub fn hard_disk_latency() -> TestResult {
    let mut metrics = Vec::new();
    for (cell, iops, offered, lat) in [
        ("span100", 76.2, None, [13_100.0, 24_800.0, 31_000.0, 61_200.0]),
        ("span12_5", 118.0, None, [8_410.0, 16_900.0, 20_800.0, 41_000.0]),
        ("span1", 161.0, None, [6_020.0, 12_700.0, 15_000.0, 18_300.0]),
        ("poisson_50pct", 38.0, Some(38.1), [14_900.0, 51_000.0, 88_000.0, 131_000.0]),
        ("fixed_1000", 77.0, Some(1_000.0), [2.4e6, 4.6e6, 4.61e6, 4.61e6]),
    ] {
        metrics.extend(latency_cell(cell, iops, offered, lat));
    }
    result(TestKind::Latency, metrics)
}

pub fn hard_disk_surface() -> TestResult {
    let rates = (0..64).map(f64::from).map(|i| {
        let rate = 181.4 - 100.6 * (i / 63.0).powf(1.4);
        (i * 62_500_000_000.0, rate)
    });
    let mut metrics: Vec<Metric> = [
        ("read.start", 181.2),
        ("read.end", 82.0),
        ("read.min", 80.8),
        ("read.mean", 138.4),
        ("read.max", 181.4),
        ("read.sample_mean", 145.1),
    ]
    .map(|(name, value)| rounds(&format!("surface.{name}_mb_s"), value, value * 0.004))
    .to_vec();
    for (name, value) in [("min", 1.21), ("mean", 13.4), ("max", 24.9)] {
        metrics.push(rounds(&format!("surface.access.access_{name}_ms"), value, 0.1));
    }
    let shares = (1..=300).map(|i| f64::from(i * 7 % 300) / 300.0);
    let by_distance = shares.clone().map(|share| (share, 5.5 + 12.0 * share.sqrt()));
    let by_place = shares.map(|share| (share * 4e12, 6.0 + 12.0 * share));
    TestResult {
        series: vec![
            series("surface.read.mb_s", ["bytes", "MB/s"], rates),
            series("surface.access.lat_ms", ["share", "ms"], by_distance),
            series("surface.access.position_lat_ms", ["bytes", "ms"], by_place),
        ],
        ..result(TestKind::Surface, metrics)
    }
}

pub fn hard_disk_tiny_writes() -> TestResult {
    let mut metrics = Vec::new();
    for (cell, unit, seen, flushed, drive, share) in [
        ("rnd16_buffered", "iops", 6_940.0, Some(612.0), Some(61.0), 99.1),
        ("rnd16_sync", "iops", 60.8, Some(60.8), Some(61.0), 0.0),
        ("seq512_write", "mb_s", 99.7, Some(92.1), Some(1.1), 98.9),
        ("seq512_read_warm", "mb_s", 2_066.0, None, Some(106.0), 94.9),
        ("seq512_read_cold", "mb_s", 106.4, None, Some(106.0), 0.4),
    ] {
        let key = |name: &str| format!("tiny-writes.{cell}.{name}{unit}");
        metrics.push(rounds(&key(""), seen, seen * 0.02));
        metrics.extend(flushed.map(|value| rounds(&key("flushed_"), value, 1.0)));
        metrics.extend(drive.map(|value| rounds(&key("drive_"), value, 0.5)));
        metrics.push(rounds(&format!("tiny-writes.{cell}.cache_share_pct"), share, 0.1));
    }
    metrics.push(rounds("tiny-writes.rnd4k_direct.iops", 61.0, 0.5));
    TestResult {
        reason: Some("seq512_read_cold: one round only, cached pages could not be evicted".into()),
        ..result(TestKind::TinyWrites, metrics)
    }
}

pub fn hard_disk() -> Run {
    let finding = Finding::new(
        FindingId::ShortStroke,
        "rnd4k_q1t1.write: random requests within 1.07 GB of a rotating drive of 4.00 TB (0.027 %)",
    );
    let mut tests = vec![
        hard_disk_transfer(),
        hard_disk_latency(),
        TestResult::empty(
            TestKind::Surface,
            TestStatus::Skipped,
            Some("a directory has no positions; name the device, /dev/sda".into()),
        ),
        hard_disk_tiny_writes(),
    ];
    let finding = finding.about("transfer.rnd4k_q1t1.write");
    tests[0].findings.push(finding.clone());
    Run {
        format: FORMAT,
        id: "7c2f01a9be44".into(),
        tool: Tool {
            name: "drivescope".into(),
            version: "0.1.0".into(),
            build: "release".into(),
            commit: None,
            command_line: Vec::new(),
        },
        started_at: "2026-08-01T14:02:11+02:00".into(),
        elapsed_s: 71.3,
        status: TestStatus::Done,
        label: None,
        note: None,
        price: None,
        health_after: None,
        earlier_capacity: None,
        temperature: None,
        decision: None,
        together: None,
        job: None,
        simulated: false,
        target: directory("/mnt/data", "ext4", &["sda1", "sda"]),
        drive: Some(hard_disk_drive()),
        host: host(),
        calibration: Some(Calibration {
            loop_ns_per_io: 82.1,
            loop_iops_max: 12_180_000.0,
            clock_ns: 21.9,
            generator_mb_s: 6_210.0,
            memory_copy_mb_s: 9_830.0,
        }),
        gate: vec![
            check("directory is writable", true, "/mnt/data"),
            check("free space stays above 10 % and 1 GiB", true, "2.10 TB free"),
        ],
        plan: plan(),
        tests,
        findings: vec![
            Finding::new(FindingId::SystemDisk, "/home lies on sda2, the same drive"),
            finding,
        ],
        verdict: Vec::new(),
    }
}

fn check(check: &str, passed: bool, evidence: &str) -> GateCheck {
    GateCheck { check: check.into(), passed, evidence: evidence.into() }
}

fn host() -> Host {
    Host {
        name: "bench1".into(),
        os: "Debian GNU/Linux 13 (trixie)".into(),
        kernel: "6.12.38-amd64".into(),
        cpu: "AMD Ryzen 5 5600G with Radeon Graphics".into(),
        cpus: 12,
        governor: Some("performance".into()),
        on_battery: Some(false),
        memory_bytes: 33_562_812_416,
        virtualization: None,
        clock_source: Some("tsc".into()),
        ..Host::default()
    }
}

fn planned(test: TestKind, seconds: f64, read_bytes: u64, written_bytes: u64) -> PlannedTest {
    let writes = if written_bytes > 0 { WriteLevel::OwnFiles } else { WriteLevel::Read };
    let cost = Cost { seconds, read_bytes, written_bytes, computed_s: 0.0 };
    let (restores, at_most, round_requests, skip, omitted) = Default::default();
    let files_bytes = Bytes(0);
    PlannedTest {
        test,
        writes,
        restores,
        cost,
        files_bytes,
        at_most,
        round_requests,
        skip,
        omitted,
    }
}

pub fn plan() -> Plan {
    let mut surface = planned(TestKind::Surface, 0.0, 0, 0);
    surface.skip = Some("a directory has no positions; name the device, /dev/sda".into());
    let mut tiny = planned(TestKind::TinyWrites, 16.0, 52_000_000, 564_000_000);
    tiny.omitted.push("seq512_read_cold: eviction of cached pages cannot be proved here".into());
    Plan {
        suite: Suite {
            name: "quick".into(),
            summary: "about a minute: transfers, latency, surface, tiny writes".into(),
            tests: TestKind::ALL.to_vec(),
            ..Suite::default()
        },
        seed: 42,
        engine: Engine::Uring,
        tests: vec![
            planned(TestKind::Transfer, 38.0, 4_200_000_000, 2_100_000_000),
            planned(TestKind::Latency, 16.0, 12_000_000, 0),
            surface,
            tiny,
        ],
        own_folder: Some("/mnt/data/.drivescope-7c2f01a9be44".into()),
        own_bytes: Bytes::gib(1),
    }
}

/// A fast NVMe drive behind dm-crypt.
pub fn nvme() -> Run {
    let mut transfer = transfer(&[
        ("seq1m_q8t1.read", 3_456.0, 3_296.0, [2_400.0, 2_610.0, 3_000.0, 4_100.0]),
        ("seq1m_q8t1.write", 3_102.0, 2_958.0, [2_700.0, 3_010.0, 4_400.0, 9_800.0]),
        ("seq1m_q1t1.read", 2_210.0, 2_107.0, [470.0, 521.0, 600.0, 1_100.0]),
        ("seq1m_q1t1.write", 2_940.0, 2_803.0, [350.0, 402.0, 690.0, 3_300.0]),
        ("rnd4k_q32t16.read", 3_450.0, 842_300.0, [606.0, 810.0, 1_040.0, 3_200.0]),
        ("rnd4k_q32t16.write", 3_080.0, 751_900.0, [680.0, 1_010.0, 2_200.0, 8_700.0]),
        ("rnd4k_q1t1.read", 84.0, 20_510.0, [47.1, 62.3, 91.0, 410.0]),
        ("rnd4k_q1t1.write", 260.0, 63_480.0, [14.2, 21.9, 44.0, 1_900.0]),
    ]);
    for phase in transfer.phases.iter_mut().filter(|p| p.cell.starts_with("rnd4k_q32t16")) {
        phase.limiter = Limiter::Cpu;
        phase.cpu_busiest_pct = 97.2;
    }
    let tiny = vec![rounds("tiny-writes.rnd16_sync.iops", 1_210.0, 30.0)];
    Run {
        target: directory("/home/user/data", "btrfs", &["dm-0", "nvme0n1p2", "nvme0n1"]),
        drive: Some(nvme_drive()),
        tests: vec![transfer, result(TestKind::TinyWrites, tiny)],
        findings: Vec::new(),
        ..hard_disk()
    }
}

/// A directory in memory: every number is invalid.
pub fn memory() -> Run {
    let mut transfer = hard_disk_transfer();
    for metric in &mut transfer.metrics {
        for value in [&mut metric.value, &mut metric.low, &mut metric.high] {
            *value *= 40.0;
        }
        metric.valid = false;
        metric.invalid_because = vec![FindingId::MemoryBacked];
    }
    for phase in &mut transfer.phases {
        phase.limiter = Limiter::Memory;
    }
    Run {
        target: directory("/tmp/x", "tmpfs", &[]),
        drive: None,
        tests: vec![transfer],
        findings: vec![Finding::new(FindingId::MemoryBacked, "/tmp/x is a tmpfs")],
        ..hard_disk()
    }
}

/// A run stopped in its second test, after an error in the first.
pub fn interrupted() -> Run {
    let mut transfer = hard_disk_transfer();
    transfer.status = TestStatus::Failed;
    transfer.reason = Some("read at 12,582,912: Input/output error (os error 5)".into());
    transfer.metrics.truncate(12);
    transfer.phases.truncate(6);
    transfer.phases[5].errors = 2;
    let latency = TestResult::empty(TestKind::Latency, TestStatus::Interrupted, None);
    Run {
        status: TestStatus::Interrupted,
        elapsed_s: 23.0,
        label: Some("red-A".into()),
        note: None,
        tests: vec![transfer, latency],
        findings: vec![Finding::new(FindingId::IoError, "2 of 824 requests failed with EIO")],
        ..hard_disk()
    }
}
