//! Runs for tests.

use drivescope_model::cell::Mix;
use drivescope_model::document::{
    Distribution, FORMAT, GateCheck, Limiter, Metric, PhaseRecord, Rule, Run, Series, TestResult,
    TestStatus, Tool, Verdict,
};
use drivescope_model::drive::{Drive, DriveKind, Health, Link, Partition, Zoned};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::host::{Calibration, Host};
use drivescope_model::options::{
    AlignMethod, AlignOptions, Arrivals, LatencyOptions, NamedStart, PartStart, Preset, Rate,
    Suite, SurfaceOptions, SurfacePreset, SurfaceWrite, TestKind, TinyWritesOptions,
    TransferOptions,
};
use drivescope_model::options::{FillMode, FillOptions, VerifyMode, VerifyOptions, VerifyPhase};
use drivescope_model::plan::{Cost, Engine, Plan, PlannedTest, Restores, WriteLevel};
use drivescope_model::resume::{ResumePhase, ResumePoint};
use drivescope_model::target::{FileSystem, IoMode, TargetInfo, TargetKind};
use drivescope_model::units::{Bytes, Price, Secs};

fn some(text: &str) -> Option<String> {
    Some(text.to_string())
}

/// The name of an error's variant.
pub(crate) fn variant(error: &crate::StoreError) -> String {
    let text = format!("{error:?}");
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// A run in which every field is filled: no absent option, no empty list.
pub(crate) fn rich_run(id: &str) -> Run {
    Run {
        format: FORMAT,
        id: id.to_string(),
        tool: Tool { name: "drivescope".into(), version: "0.1.0".into(), build: "debug".into() },
        started_at: "2026-01-31T12:00:00.25+01:00".into(),
        elapsed_s: 61.5,
        status: TestStatus::Done,
        label: some("new cable, \"left\" port — größer"),
        price: Some(Price { amount: 99.5, currency: "EUR".into() }),
        simulated: true,
        target: target(),
        drive: Some(drive()),
        host: host(),
        calibration: Calibration {
            loop_ns_per_io: 210.5,
            loop_iops_max: 4.75e6,
            clock_ns: 21.25,
            generator_mb_s: 7_300.0,
            memory_copy_mb_s: 11_000.0,
        },
        gate: vec![GateCheck {
            check: "mounted".into(),
            passed: true,
            evidence: "not in /proc/self/mountinfo".into(),
        }],
        plan: plan(),
        tests: vec![test_result()],
        findings: vec![finding()],
        verdict: vec![verdict()],
    }
}

/// A metric with three rounds.
pub(crate) fn metric(key: &str, value: f64, unit: &str, valid: bool) -> Metric {
    Metric {
        key: key.into(),
        value,
        unit: unit.into(),
        low: value - 1.0,
        high: value + 1.0,
        rounds: vec![value - 0.5, value, value + 0.1],
        valid,
        invalid_because: vec![FindingId::AboveLink],
    }
}

fn finding() -> Finding {
    Finding::new(FindingId::Stall, "1.2 s without a completion").about("transfer.rnd4k_q1t1")
}

fn target() -> TargetInfo {
    TargetInfo {
        path: "/mnt/Data_1/100%".into(),
        kind: TargetKind::Directory,
        size_bytes: 2_000_398_934_016,
        file_system: Some(FileSystem {
            kind: "ext4".into(),
            source: "/dev/sda1".into(),
            mount_point: "/mnt/Data_1".into(),
            options: "rw,relatime".into(),
            size_bytes: 2_000_398_934_016,
            available_bytes: u64::MAX,
            read_only: true,
        }),
        stack: vec!["dm-0".into(), "sda1".into(), "sda".into()],
        system_disk: true,
        io_mode: Some(IoMode::Direct),
        io_align_bytes: 512,
    }
}

fn drive() -> Drive {
    Drive {
        name: "sda".into(),
        path: "/dev/sda".into(),
        kind: DriveKind::HardDisk,
        model: some("WDC WD20EARS-00MVWB0"),
        serial: some("WD-WCAZA1234567"),
        firmware: some("51.0AB51"),
        wwn: some("0x50014ee2b0000000"),
        capacity_bytes: 2_000_398_934_016,
        transport: "sata".into(),
        link: Some(Link {
            name: "SATA 3.0 Gb/s".into(),
            payload_mb_s: 300.0,
            possible: some("SATA 6.0 Gb/s"),
        }),
        rotational_hint: true,
        rpm: Some(5_400),
        zoned: Some(Zoned::DriveManaged),
        logical_sector_bytes: 512,
        physical_sector_bytes: 4_096,
        write_cache: some("write back"),
        scheduler: some("mq-deadline"),
        removable: true,
        read_only: true,
        temperature_c: Some(31.5),
        health: Health {
            passed: Some(true),
            power_on_hours: Some(12_345),
            wear_pct: Some(3),
            bad_sectors: Some(1),
            note: some("from a stale cache"),
        },
        partitions: vec![Partition {
            name: "sda1".into(),
            start_bytes: 1 << 20,
            size_bytes: 2_000_397_885_440,
            misaligned_bytes: 512,
            content: some("ext4"),
            mounts: vec!["/mnt/Data_1".into()],
        }],
        content: some("gpt"),
        mounts: vec!["/mnt/whole".into()],
        backing: vec!["/images/disk.img".into()],
    }
}

fn host() -> Host {
    Host {
        name: "bench1".into(),
        os: "Debian GNU/Linux 13".into(),
        kernel: "6.12.0".into(),
        cpu: "a processor".into(),
        cpus: 8,
        governor: some("performance"),
        on_battery: Some(false),
        memory_bytes: 16 << 30,
        virtualization: some("kvm"),
        clock_source: some("tsc"),
    }
}

fn tiny_writes() -> TinyWritesOptions {
    TinyWritesOptions {
        cells: vec!["seq512_write".to_string()],
        new_file: true,
        size: Bytes(1_000_000),
        write: Bytes(17),
        stream_block: Bytes(1_024),
        writes: 5_000,
        thinktime: Secs(0.01),
        time: Secs(3.5),
    }
}

fn suite() -> Suite {
    Suite {
        name: "standard".into(),
        summary: "about ten minutes".into(),
        tests: TestKind::ALL.to_vec(),
        rounds: 5,
        pause: Secs(0.1),
        size: Bytes::gib(2),
        span: Bytes::gib(3),
        offset: Some(PartStart::Named(NamedStart::End)),
        transfer: TransferOptions {
            preset: Some(Preset::PeakNvme),
            shapes: vec!["rnd4k_q4t1".parse().unwrap()],
            mixes: vec!["read".parse().unwrap(), "mix70".parse().unwrap()],
            cells: vec!["rnd4k_q1t1.write".parse().unwrap()],
            time: Secs(1.5),
            ramp: Secs(0.3),
            io_size: Bytes::gib(1),
            area: Bytes::mib(32),
        },
        latency: LatencyOptions {
            block: Bytes::kib(8),
            spans_pct: vec![100.0, 0.1],
            arrivals: Arrivals::Fixed,
            rates: vec![Rate::Iops(100.5), Rate::Share { percent: 12.5 }],
            time: Secs(2.5),
            ramp: Secs(0.7),
        },
        surface: SurfaceOptions {
            preset: SurfacePreset::GnomeDisks,
            samples: 100,
            sample: Bytes::mib(10),
            chunk: Bytes::mib(5),
            lead_in: Bytes::mib(3),
            accesses: 1_000,
            access_block: Bytes::kib(64),
            write: SurfaceWrite::Fresh,
            write_samples: 11,
            write_sample: Bytes::mib(20),
        },
        tiny_writes: tiny_writes(),
        align: AlignOptions {
            method: AlignMethod::Phybs,
            time: Secs(2.5),
            min: Bytes(2_048),
            max: Bytes(4_096),
            total: Bytes(1 << 20),
            mix: Mix::READ,
        },
        fill: FillOptions {
            mode: FillMode::Full,
            places: 33,
            share_pct: 0.25,
            burst: Some(Bytes::gib(3)),
            chunk: Bytes::kib(256),
            depth: 2,
            from: Bytes(4096),
        },
        verify: VerifyOptions {
            mode: VerifyMode::Full,
            cache: Bytes::mib(16),
            phase: VerifyPhase::Read,
            from: Bytes(8192),
        },
    }
}

fn plan() -> Plan {
    Plan {
        suite: suite(),
        seed: u64::MAX,
        engine: Engine::Threads,
        tests: vec![PlannedTest {
            test: TestKind::TinyWrites,
            writes: WriteLevel::OwnFiles,
            restores: Some(Restores {
                from_bytes: 1 << 40,
                area_bytes: 1 << 28,
                journal: "/root/.local/state/drivescope/journals".into(),
                journal_bytes: 270_000_000,
            }),
            cost: Cost { seconds: 12.25, read_bytes: 1 << 40, written_bytes: 1 << 33 },
            skip: some("the file system is read-only"),
            at_most: Some("the burst may end early".into()),
            omitted: vec!["mix70: needs a larger file".into()],
        }],
        own_folder: some("/mnt/Data_1/100%/drivescope-0123"),
        own_bytes: Bytes::gib(2),
    }
}

fn test_result() -> TestResult {
    TestResult {
        test: TestKind::Transfer,
        status: TestStatus::Interrupted,
        reason: some("SIGINT"),
        resume: Some(ResumePoint {
            seed: u64::MAX,
            at_bytes: 4096,
            phase: ResumePhase::VerifyRead,
            intact_before: true,
        }),
        elapsed_s: 33.3,
        metrics: vec![
            metric("transfer.seq1m_q8t1.read.mb_s", 110.1, "MB/s", true),
            metric("transfer.seq1m_q1t1.read.mb_s", 108.0, "MB/s", true),
            metric("transfer.seq128k_q32t1.read.mb_s", 9_999.0, "MB/s", false),
            metric("transfer.seq1m_q8t1.write.mb_s", 95.5, "MB/s", true),
            metric("transfer.rnd4k_q1t1.read.iops", 72.5, "1/s", true),
            metric("transfer.rnd4k_q1t1.read.lat_p99_us", 24_000.125, "us", true),
        ],
        series: vec![Series {
            key: "transfer.seq1m_q8t1.read.mb_s#1".into(),
            x_unit: "s".into(),
            y_unit: "MB/s".into(),
            x: vec![0.1, 0.2],
            y: vec![109.9, 110.3],
        }],
        distributions: vec![Distribution {
            key: "transfer.rnd4k_q1t1.read".into(),
            encoding: "hdr-v2-deflate-base64".into(),
            data: "HISTFAAAAB542pNpmSzMwMDAxAABzFCaEUoz2X+AMIAAQQEBAA==".into(),
            count: u64::MAX,
        }],
        phases: vec![phase()],
        findings: vec![finding()],
    }
}

fn phase() -> PhaseRecord {
    PhaseRecord {
        cell: "rnd4k_q1t1.read".into(),
        round: 1,
        start_s: 0.5,
        elapsed_s: 5.000_000_1,
        span_bytes: Some(1 << 30),
        ops: 362,
        bytes: 362 * 4_096,
        errors: 2,
        depth_mean: 0.999,
        cpu_busiest_pct: 0.75,
        cpu_user_pct: 0.25,
        cpu_sys_pct: 0.5,
        cpu_wait_pct: Some(0.5),
        cpu_others_pct: Some(2.5),
        cpu_steal_pct: Some(0.25),
        context_switches: 724,
        device_read_bytes: Some(1_482_752),
        device_written_bytes: Some(4_096),
        device_busy_pct: Some(99.5),
        temperature_c: Some(32.0),
        limiter: Limiter::FileSystem,
    }
}

fn verdict() -> Verdict {
    Verdict {
        suits: "archive".into(),
        points: Some(2),
        because: "sequential reads of 110 MB/s; 150 MB/s would give a third point".into(),
        rules: vec![Rule {
            metric: "transfer.seq1m_q8t1.read.mb_s".into(),
            what: "large reads".into(),
            value: 110.1,
            thresholds: [150.0, 100.0, 50.0],
            smaller_is_better: true,
            unit: "MB/s".into(),
            points: 2,
        }],
    }
}

#[test]
fn the_rich_run_leaves_nothing_out() {
    fn look(value: &serde_json::Value, path: &str) {
        match value {
            serde_json::Value::Null => panic!("{path} is null"),
            serde_json::Value::Array(items) => {
                assert!(!items.is_empty(), "{path} is empty");
                items.iter().for_each(|item| look(item, path));
            }
            serde_json::Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| look(field, &format!("{path}.{name}")));
            }
            _ => {}
        }
    }
    look(&serde_json::to_value(rich_run("0123456789ab")).unwrap(), "run");
}
