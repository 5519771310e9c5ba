//! Lists: drives, runs, suites, tests.

use super::PLAIN;
use crate::testing::{drive, hard_disk, hard_disk_drive, nvme_drive};
use crate::text::{self, RunRow};
use drivescope_model::TestStatus;
use drivescope_model::drive::{Drive, DriveKind, Zoned};
use drivescope_model::health::Health;

/// A failing disk, a disk of a virtual machine, and things that are not drives.
fn odd_drives() -> [Drive; 6] {
    let sick = Drive {
        model: Some("ST3000DM001-1CH166".into()),
        transport: "usb".into(),
        removable: true,
        zoned: Some(Zoned::DriveManaged),
        health: Health {
            passed: Some(false),
            bad_sectors: Some(1_288),
            power_on_hours: Some(41_207),
            ..Health::default()
        },
        content: Some("crypto_LUKS".into()),
        mounts: vec!["/media/old".into()],
        ..drive("sdb", DriveKind::HardDisk, 3_000_592_982_016)
    };
    let cloud = Drive {
        transport: "virtio".into(),
        health: Health {
            note: Some("health unknown: smartctl is not installed".into()),
            ..Health::default()
        },
        rotational_hint: true,
        ..drive("vda", DriveKind::Virtual, 107_374_182_400)
    };
    let image = Drive {
        backing: vec!["/var/lib/images/debian-13-generic-amd64-daily-20260801.raw".into()],
        ..drive("loop0", DriveKind::Loop, 2_147_483_648)
    };
    let zram =
        Drive { mounts: vec!["[SWAP]".into()], ..drive("zram0", DriveKind::Memory, 8_589_934_592) };
    let raid = Drive {
        backing: vec!["sda1".into(), "sdb1".into()],
        content: Some("xfs".into()),
        ..drive("md0", DriveKind::Composite, 3_000_000_000_000)
    };
    let empty = drive("sr0", DriveKind::Optical, 0);
    [sick, cloud, raid, image, zram, empty]
}

#[test]
fn drives_partitions_and_other_devices_are_listed() {
    let drives: Vec<Drive> =
        [hard_disk_drive(), nvme_drive()].into_iter().chain(odd_drives()).collect();
    insta::assert_snapshot!(text::drive_list(&drives, PLAIN), @r"
    sda  WD40EFRX-68N32N0 · hard disk · 4.00 TB · SATA 6.0 Gb/s
        serial WD-WCC7K0XXXXXX · firmware 82.00A82
        5400 rpm · 512/4096 B sectors · cache write back · scheduler mq-deadline
        SMART passed · 31 °C · 21,034 power-on hours
        sda1  3.90 TB  at 1 MiB                aligned              ext4  /mnt/data
        sda2   100 GB  at 3,900,001,049,088 B  misaligned by 512 B  ntfs

    nvme0n1  Samsung SSD 990 PRO 2TB · NVMe SSD · 2.00 TB · PCIe 3.0 x4
        both ends support PCIe 4.0 x4
        512 B sectors
        3 % of rated endurance used

    sdb  ST3000DM001-1CH166 · hard disk · 3.00 TB · USB
        removable
        rotating · drive-managed zones · 512 B sectors
        SMART FAILED · 1,288 bad sectors · 41,207 power-on hours
        crypto_LUKS · on /media/old

    vda  virtual disk (its host chooses the hardware) · 107 GB · virtio
        claims to rotate · 512 B sectors
        health unknown: smartctl is not installed

    md0  composed of sda1, sdb1 · 3.00 TB
        512 B sectors
        xfs

    loop0  loop device · 2.15 GB
        file /var/lib/images/debian-13-generic-amd64-daily-20260801.raw
        512 B sectors

    zram0  memory, not a drive · 8.59 GB
        512 B sectors
        on [SWAP]

    sr0  optical drive · no medium
    ");
    assert_eq!(text::drive_list(&[], PLAIN), "no drives found\n");
}

#[test]
fn time_distinguishes_the_runs_of_one_day() {
    fn long(id: &str) -> RunRow {
        RunRow {
            suite: "crystaldiskmark-peak-nvme".into(),
            ..row(
                id,
                "WDC WD40EFRX-68N32N0",
                "/media/me/a disk with a long name",
                "143100 MB/s · 1022400 IOPS",
            )
        }
    }
    let morning = RunRow { started_at: "2026-08-01T09:41:00+02:00".into(), ..long("7c2f00112233") };
    let out = text::runs(&[long("91b000112233"), morning], 2026, PLAIN);
    assert!(out.contains("08-01 14:02") && out.contains("08-01 09:41"), "{out}");
    assert!(out.lines().all(|line| crate::width(line) <= crate::WIDTH), "{out}");
}

fn row(id: &str, drive: &str, target: &str, headline: &str) -> RunRow {
    RunRow {
        id: id.into(),
        started_at: "2026-08-01T14:02:11+02:00".into(),
        label: None,
        suite: "quick".into(),
        drive: Some(drive.into()),
        target: target.into(),
        status: TestStatus::Done,
        headline: headline.into(),
    }
}

#[test]
fn runs_take_a_line_each() {
    let stopped = RunRow {
        label: Some("red-A".into()),
        status: TestStatus::Interrupted,
        ..row("91b0", "WD40EFRX-68N32N0", "/dev/sda", "")
    };
    let rows = [
        row("7c2f", "WD40EFRX-68N32N0", "/mnt/data", "178 MB/s · 149 IOPS"),
        stopped,
        RunRow { drive: None, ..row("03aa", "", "/tmp/x", "no drive (F002)") },
    ];
    insta::assert_snapshot!(text::runs(&rows, 2026, PLAIN), @r"
    run   started      suite  label  drive            target     result
    7c2f  08-01 14:02  quick         WD40EFR…68N32N0  /mnt/data  178 MB/s · 149 IOPS
    91b0  08-01 14:02  quick  red-A  WD40EFR…68N32N0  /dev/sda   interrupted
    03aa  08-01 14:02  quick         -                /tmp/x     no drive (F002)
    ");
    insta::assert_snapshot!(text::runs(&rows[..1], 2026, PLAIN), @r"
    run   started           suite  drive             target     result
    7c2f  2026-08-01 14:02  quick  WD40EFRX-68N32N0  /mnt/data  178 MB/s · 149 IOPS
    ");
    insta::assert_snapshot!(text::runs(&[], 2026, PLAIN), @"no runs stored yet; drivescope run . creates one");
}

#[test]
fn wide_list_of_runs_loses_columns_before_digits() {
    fn long(label: Option<&str>, suite: &str, headline: &str) -> RunRow {
        RunRow {
            label: label.map(str::to_string),
            suite: suite.into(),
            ..row(
                "7c2f00112233",
                "WDC WD40EFRX-68N32N0",
                "/media/me/a disk with a long name",
                headline,
            )
        }
    }
    fn shown(rows: &[RunRow]) -> String {
        text::runs(rows, 2026, PLAIN)
    }
    let suite = "crystaldiskmark-peak-nvme";
    let figures = "14310 MB/s · 10224 IOPS";
    let tables = [
        shown(&[long(None, "quick", "178 MB/s · 149 IOPS")]),
        shown(&[long(None, suite, figures)]),
        shown(&[long(Some("second of a pair"), suite, figures)]),
    ];
    insta::assert_snapshot!(tables.join("\n"), @r"
    run           started      drive            target           result
    7c2f00112233  08-01 14:02  WDC WD4…68N32N0  /media/…ng name  178 MB/s · 149 IOPS

    run           started      drive         target          result
    7c2f00112233  08-01 14:02  WDC WD…N32N0  /media/…g name  14310 MB/s · 10224 IOPS

    run           started      label         target          result
    7c2f00112233  08-01 14:02  second… pair  /media/…g name  14310 MB/s · 10224 IOPS
    ");
    for figures in ["1 MB/s · 10224 IOPS", "143100 MB/s · 1022400 IOPS"] {
        for label in [None, Some("before"), Some("a label of many words, as people write")] {
            for suite in ["quick", suite] {
                let out = shown(&[long(label, suite, figures)]);
                assert!(out.contains(figures), "{out}");
                assert!(out.lines().all(|line| crate::width(line) <= crate::WIDTH), "{out}");
            }
        }
    }
}

#[test]
fn suites_and_tests() {
    let suites = [
        (
            "quick".to_string(),
            "about a minute: transfers, latency, surface, tiny writes".to_string(),
        ),
        (
            "crystaldiskmark-realworld".to_string(),
            "SEQ1M Q1T1 and RND4K Q1T1 as CrystalDiskMark 9 runs them".to_string(),
        ),
    ];
    insta::assert_snapshot!(text::name_list(&suites, PLAIN), @r"
    quick                      about a minute: transfers, latency, surface, tiny
                               writes
    crystaldiskmark-realworld  SEQ1M Q1T1 and RND4K Q1T1 as CrystalDiskMark 9 runs
                               them
    ");
    let tests = [
        ("tiny-writes", "how fast are programs that write a few bytes at a time"),
        (
            "align",
            "how large are physical sectors, are partitions aligned, what does misalignment cost",
        ),
        ("verify", "is the capacity real, do data read back as written"),
    ];
    insta::assert_snapshot!(text::name_list(&tests, PLAIN), @r"
    tiny-writes  how fast are programs that write a few bytes at a time
    align        how large are physical sectors, are partitions aligned, what does
                 misalignment cost
    verify       is the capacity real, do data read back as written
    ");
}

#[test]
fn history_of_one_run_names_the_next_step() {
    let run = hard_disk();
    let command = format!("drivescope rerun {}", &run.id[..4]);
    let shown = text::history(&crate::history::history(vec![run], "disk".to_string()), PLAIN);
    assert!(shown.contains("only one run to compare") && shown.contains(&command), "{shown}");
    assert!(!shown.contains("no two of these runs"), "{shown}");
}
