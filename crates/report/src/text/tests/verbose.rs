//! `--verbose`: of runs, and of the list of drives.

use super::PLAIN;
use crate::testing::{hard_disk, hard_disk_drive, worn_disk_health};
use crate::text;
use drivescope_model::drive::Drive;
use drivescope_model::health::Health;

#[test]
fn verbose_shows_machine_cost_and_rounds() {
    let mut run = hard_disk();
    run.tests.truncate(1);
    run.tests[0].phases.truncate(3);
    insta::assert_snapshot!(text::verbose(&run, PLAIN), @r"
    machine
      processor       AMD Ryzen 5 5600G with Radeon Graphics, 12 online, governor
                      performance
      memory          31.3 GiB
      system          Debian GNU/Linux 13 (trixie), kernel 6.12.38-amd64
      clock source    tsc

    overhead of drivescope, measured at the start
      measuring loop  82.1 ns per request (at most 12,200,000 IOPS per thread)
      clock           21.9 ns per reading
      test data       6,210 MB/s per core
      memory copy     9,830 MB/s on one core

    data path
      I/O            direct, verified by a transfer; aligned to 4096 bytes
      engine         uring
      devices        sda1 on sda
      mounted from   /dev/sda1
      mount options  rw,relatime
      seed           42

    checks before the run
      ok  directory is writable - /mnt/data
      ok  free space stays above 10 % and 1 GiB - 2.10 TB free

    health of the drive (SMART)
      SMART           passed
      power-on hours  21,034

    transfer  median of 3 rounds with its 95 % interval, max over all rounds
      limited by the drive

    transfer         #  MB/s  IOPS  depth  CPU %  busy %  °C  limited by
    seq1m_q8t1.read  1   178   170  0.998    3.4    99.6  34  drive
    seq1m_q8t1.read  2   177   169  0.998    3.4    99.6  34  drive
    seq1m_q8t1.read  3   179   171  0.998    3.4    99.6  34  drive
    ");
}

#[test]
fn list_in_full_has_attributes_and_self_tests() {
    let worn = Drive {
        temperature_c: Some(38.0),
        health: worn_disk_health(),
        partitions: Vec::new(),
        ..hard_disk_drive()
    };
    let note = Some("health: run with sudo".to_string());
    let unknown = Drive {
        name: "sdb".into(),
        temperature_c: None,
        health: Health { note, ..Health::default() },
        ..worn.clone()
    };
    insta::assert_snapshot!(text::drive_list_in_full(&[worn, unknown], PLAIN), @r"
    sda  WD40EFRX-68N32N0 · hard disk · 4.00 TB · SATA 6.0 Gb/s
        serial WD-WCC7K0XXXXXX · firmware 82.00A82
        5400 rpm · 512/4096 B sectors · cache write back · scheduler mq-deadline
        SMART FAILED · 1,304 bad sectors · 38 °C · 41,207 power-on hours

        SMART                   FAILED
        power-on hours          41,207
        starts                  311
        written                 32.0 TB
        reallocated             1,288
        pending                 16
        uncorrected errors      0
        CRC errors of the link  12
        temperature             38 °C, highest ever 56 °C, limit 60 °C

        id  attribute                      raw  value  worst  threshold  failed
         5  Reallocated_Sector_Ct  1288 (10 0)      5      5         10  now

        self-test               at  result
        Extended offline  41,190 h  Completed: read failure at sector 1,953,525,160

    sdb  WD40EFRX-68N32N0 · hard disk · 4.00 TB · SATA 6.0 Gb/s
        serial WD-WCC7K0XXXXXX · firmware 82.00A82
        5400 rpm · 512/4096 B sectors · cache write back · scheduler mq-deadline
        health: run with sudo
    ");
}

#[test]
fn unknown_health_says_why_on_real_drives_only() {
    let mut run = hard_disk();
    let note = Some("health: run with sudo".to_string());
    run.drive.as_mut().unwrap().health = Health { note, ..Health::default() };
    let shown = text::verbose(&run, PLAIN);
    assert!(shown.contains("\nhealth of the drive (SMART)\n  run with sudo\n"), "{shown}");
    run.simulated = true;
    assert!(!text::verbose(&run, PLAIN).contains("SMART"));
}
