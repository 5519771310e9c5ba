//! Headers, plans, findings, verdicts and whole runs.

use super::{COLOUR, PLAIN};
use crate::testing::{
    directory, drive, hard_disk, hard_disk_drive, interrupted, memory, nvme, nvme_drive, one_line,
    plan,
};
use crate::text;
use crate::verdict::judge;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::target::{TargetInfo, TargetKind};
use drivescope_model::{Cost, Finding, FindingId, Plan, Run, WriteLevel};

fn judged(mut run: Run) -> Run {
    run.verdict = judge(&run);
    run
}

fn block_device() -> TargetInfo {
    TargetInfo { kind: TargetKind::Block, file_system: None, ..directory("/dev/sda", "", &["sda"]) }
}

#[test]
fn headers_show_drives_below_the_target() {
    let head = |target: &TargetInfo, drive: Option<_>| {
        text::header("drivescope 0.1.0", &plan(), target, drive.as_ref(), PLAIN)
    };
    let nfs = {
        let mut target = directory("/net/share", "nfs4", &[]);
        target.file_system.as_mut().unwrap().source = "server:/export/share".into();
        target
    };
    let file = TargetInfo {
        kind: TargetKind::File,
        size_bytes: 700_000_000,
        ..directory("/mnt/a.iso", "xfs", &["vda1", "vda"])
    };
    let sim =
        TargetInfo { kind: TargetKind::Simulated, path: "sim:wd40efrx".into(), ..block_device() };
    let encrypted = directory("/home/user/data", "btrfs", &["dm-0", "nvme0n1p2", "nvme0n1"]);
    let out = [
        head(&directory("/mnt/data", "ext4", &["sda1", "sda"]), Some(hard_disk_drive())),
        head(&block_device(), Some(hard_disk_drive())),
        head(&encrypted, Some(nvme_drive())),
        head(&directory("/tmp/x", "tmpfs", &[]), None),
        head(&nfs, None),
        head(&file, Some(drive("vda", DriveKind::Virtual, 107_374_182_400))),
        head(&TargetInfo { stack: vec![], ..sim }, None),
    ];
    insta::assert_snapshot!(out.concat(), @r"
    drivescope 0.1.0 · quick · /mnt/data
      ext4, sda1 of WD40EFRX-68N32N0, 4.00 TB, SATA 6.0 Gb/s, SMART passed, 31 °C
    drivescope 0.1.0 · quick · /dev/sda
      WD40EFRX-68N32N0, 4.00 TB, SATA 6.0 Gb/s, SMART passed, 31 °C
    drivescope 0.1.0 · quick · /home/user/data
      btrfs, dm-0 on nvme0n1p2 of Samsung SSD 990 PRO 2TB, 2.00 TB, PCIe 3.0 x4
    drivescope 0.1.0 · quick · /tmp/x (tmpfs, in memory, no drive)
    drivescope 0.1.0 · quick · /net/share (nfs4, from server:/export/share)
    drivescope 0.1.0 · quick · /mnt/a.iso
      file of 700 MB, xfs, vda1 of vda, virtual disk, 107 GB
    drivescope 0.1.0 · quick · sim:wd40efrx (simulated drive)
    ");
}

/// It was shown as a partition of the first of its disks, on whose link.
#[test]
fn array_is_shown_with_its_members() {
    let md = Drive {
        backing: vec!["sda1".into(), "sdb1".into()],
        transport: "md".into(),
        ..drive("md0", DriveKind::Composite, 8_000_000_000_000)
    };
    let target = directory("/srv", "ext4", &["dm-0", "md0", "sda1", "sda", "sdb1", "sdb"]);
    let head = text::header("drivescope 0.1.0", &plan(), &target, Some(&md), PLAIN);
    assert!(head.contains("ext4, dm-0 of md0, composed of sda1, sdb1, 8.00 TB, md"), "{head}");
}

#[test]
fn a_plan_in_one_sentence() {
    fn only(level: WriteLevel, target: &TargetInfo) -> String {
        let mut plan = plan();
        plan.tests.truncate(1);
        plan.tests[0].writes = level;
        text::plan(&plan, target, PLAIN)
    }
    let target = directory("/mnt/data", "ext4", &["sda1", "sda"]);
    let nothing = Plan { tests: vec![plan().tests.remove(2)], ..plan() };
    let out = [
        text::plan(&plan(), &target, PLAIN),
        only(WriteLevel::Read, &block_device()),
        only(WriteLevel::SameBytes, &block_device()),
        only(WriteLevel::Restore, &block_device()),
        only(WriteLevel::Destroy, &block_device()),
        text::plan(&nothing, &target, PLAIN),
    ];
    insta::assert_snapshot!(out.concat(), @r"
    3 tests · about 70 s · writes up to 2.66 GB to its own folder, then removes it
    your files are not touched
    1 test · about 38 s · reads only · the device is opened read-only
    1 test · about 38 s · rewrites up to 2.10 GB with the same bytes
    1 test · about 38 s · overwrites up to 2.10 GB, then restores the contents
    1 test · about 38 s · overwrites up to 2.10 GB: the contents are LOST
    no test of this suite can run on this target; see --dry-run for the reasons
    ");
}

#[test]
fn rounds_shortened_for_computing_are_reported() {
    let mut plan = plan();
    plan.tests[0].round_requests = Some(20_833);
    plan.tests[0].cost.computed_s = 11.6;
    let target = TargetInfo { kind: TargetKind::Simulated, ..block_device() };
    insta::assert_snapshot!(text::plan(&plan, &target, PLAIN), @r"
    3 tests · about 70 s of drive time · simulated: about 12 s to compute
    rounds of 20,833 requests at most · nothing on this machine is read or written
    ");
    let dry = text::dry_run(&plan, &target, PLAIN);
    let expected = "shorter transfer rounds end after 20,833 requests (fewer large ones), to be computed in seconds; --set \
                simulated_requests=0 computes all of them";
    assert!(one_line(&dry).contains(expected), "{dry}");
}

#[test]
fn space_taken_by_copies_is_shown() {
    let target = directory("/mnt/data", "btrfs", &["sda1", "sda"]);
    let text = text::dry_run(&plan(), &target, PLAIN);
    let expected =
        "at most 1.07 GB at a time (up to twice that while overwriting: btrfs copies on write)";
    assert!(one_line(&text).contains(expected), "{text}");
}

#[test]
fn tests_of_user_files_have_no_time() {
    let mut plan = plan();
    plan.tests.truncate(1);
    plan.tests[0].cost = Cost { written_bytes: 9_000_000_000, ..Cost::default() };
    plan.tests[0].at_most = Some("as much as these files hold".to_string());
    let target = directory("/mnt/data", "ext4", &["sda1", "sda"]);
    let sentence = text::plan(&plan, &target, PLAIN);
    let expected = "1 test · writes up to 9.00 GB to its own folder";
    assert!(one_line(&sentence).starts_with(expected), "{sentence}");
    let dry = text::dry_run(&plan, &target, PLAIN);
    let row = dry.lines().find(|line| line.starts_with("transfer")).unwrap();
    let fields: Vec<_> = row.split_whitespace().collect();
    assert_eq!(fields[..3], ["transfer", "-", "-"], "{dry}");
}

#[test]
fn a_dry_run_says_everything() {
    let target = directory("/mnt/data", "ext4", &["sda1", "sda"]);
    insta::assert_snapshot!(text::dry_run(&plan(), &target, PLAIN), @r"
    test            time          reads         writes  may write
    transfer        38 s  about 4.20 GB  up to 2.10 GB  its own files
    latency         16 s  about 12.0 MB              -  nothing
    surface      skipped
    tiny-writes     16 s  about 52.0 MB   up to 564 MB  its own files
    total           70 s  about 4.26 GB  up to 2.66 GB

    writes    only to /mnt/data/.drivescope-7c2f01a9be44, at most 1.07 GB at a time,
              removed at the end

    skipped   surface  a directory has no positions; name the device, /dev/sda
    left out  tiny-writes  seq512_read_cold: eviction of cached pages cannot be
                proved here

    3 rounds · engine uring · seed 42
    ");
}

#[test]
fn findings_by_severity() {
    let list = [
        Finding::new(FindingId::SystemDisk, "/home lies on sda2, the same drive"),
        Finding::new(
            FindingId::FlushIgnored,
            "418 writes/s is more than 5400 rpm allows (90/s); with flush: 61/s",
        ),
        Finding::new(FindingId::CpuBound, "97 % of one core in rnd4k_q32t16.read"),
        Finding::new(FindingId::CpuBound, "95 % of one core in rnd4k_q32t16.write"),
        Finding::new(FindingId::AboveLink, "3,456 MB/s in seq1m_q8t1.read; the link carries 600"),
        Finding::new(FindingId::IoError, "2 of 824 requests failed with EIO"),
    ];
    insta::assert_snapshot!(text::findings(&list, PLAIN), @r"
    F017  problem  requests failed: save your data, check cable and health
          2 of 824 requests failed with EIO
          → Save your data; check the kernel log (dmesg) and the drive's health
            (smartctl -a).
    F003  invalid  faster than its cable, so a cache answered; use a larger --size
          3,456 MB/s in seq1m_q8t1.read; the link carries 600
          → Measure the block device, or use a --size too large for the caches.
    F007  warning  writes are acknowledged from cache: a power cut can lose them
          418 writes/s is more than 5400 rpm allows (90/s); with flush: 61/s
          → Keep no database and no system on it, or disable its write cache (hdparm
            -W0) and measure again.
    F009  warning  the CPU set the limit, not the drive; use more threads
          97 % of one core in rnd4k_q32t16.read
          95 % of one core in rnd4k_q32t16.write
          → Use more threads (t4 instead of t1), --engine uring, or a faster
            machine.
    F015  note     the running system uses this drive, too
          /home lies on sda2, the same drive
    ");
    assert_eq!(text::findings(&[], PLAIN), "");
}

#[test]
fn findings_of_a_run_take_a_line_each() {
    let mismatch = Finding::new(FindingId::DataMismatch, "sector 4,096 holds the data of sector 8");
    let list = [
        Finding::new(FindingId::SystemDisk, "/home lies on sda2"),
        Finding::new(FindingId::Throttled, "the rate fell by 31 % ".repeat(9)),
        Finding::new(FindingId::FewRounds, "1 of 3"),
        mismatch,
    ];
    insta::assert_snapshot!(text::findings_in_brief(&list, PLAIN), @r"
      ! F019  data came back wrong: do not trust this drive with data
              sector 4,096 holds the data of sector 8
      ! F014  the drive became slower under load, perhaps from heat; cool it
      ! F013  too few rounds to know the spread; use --rounds 3 or more (1 of 3)
        F015  the running system uses this drive, too (/home lies on sda2)
        rule, cause, remedy: drivescope explain F019
    ");
    assert_eq!(text::findings_in_brief(&[], PLAIN), "");
    for id in FindingId::ALL {
        let brief = text::findings_in_brief(&[Finding::new(*id, "x".repeat(80))], PLAIN);
        assert!(brief.lines().next().unwrap().ends_with(id.spec().means), "{brief}");
    }
}

#[test]
fn single_test_that_judges_no_use_shows_no_verdict() {
    let mut run = hard_disk();
    run.tests.retain(|result| result.test.name() == "tiny-writes");
    run.verdict = judge(&run);
    run.verdict.retain(|verdict| verdict.points.is_none());
    assert!(!run.verdict.is_empty());
    let shown = text::results(&run, PLAIN);
    assert!(!shown.contains("verdict") && !shown.contains("not judged"), "{shown}");
}

#[test]
fn many_observations_of_one_finding_are_counted() {
    let list: Vec<Finding> =
        (0..9).map(|i| Finding::new(FindingId::Stall, format!("1.{i} s in round {i}"))).collect();
    insta::assert_snapshot!(text::findings(&list, PLAIN), @r"
    F020  warning  nothing was answered for a second; if it repeats, save your data
          1.0 s in round 0
          1.1 s in round 1
          1.2 s in round 2
          1.3 s in round 3
          and 5 more
          → Check the series and the kernel log (dmesg); a drive that stalls often
            is failing.
    ");
}

#[test]
fn common_caution_is_shown_once() {
    let mut run = nvme();
    run.simulated = true;
    run.findings = vec![Finding::new(FindingId::NetworkFs, "nfs4 from server:/export")];
    insta::assert_snapshot!(text::verdicts(&judge(&run), PLAIN), @r"
    verdict
      system drive      ●●●  20,500 random reads/s at depth 1; a system drive wants
                             4,000 or more
      database          ●●●  1,210 small synced writes/s; a database wants 500 or
                             more
      virtual machines  ●●●  1,210 small synced writes/s; virtual machines want 500
                             or more
      media library     ●●●  · capacity not tested; sequential reads at 2,210 MB/s;
                             a media library wants 100 MB/s or more
      backup            ●●●  · capacity not tested; sequential reads at 2,210 MB/s;
                             a backup drive wants 100 MB/s or more
      Caution: network and server are included (F006). Simulated drive.
    ");
}

#[test]
fn unjudged_uses_come_last() {
    let mut run = hard_disk();
    run.tests.retain(|result| result.test.name() != "transfer");
    insta::assert_snapshot!(text::verdicts(&judge(&run), PLAIN), @r"
    verdict
      database  ○○○  76.2 random reads/s at depth 1; a database wants 5,000 or more
                     (●○○: 300)
      not judged without the test transfer: system drive, virtual machines, media
      library, backup
    ");
}

#[test]
fn a_run_of_a_hard_disk() {
    insta::assert_snapshot!(text::run_summary(&judged(hard_disk()), "7c2f01a9be44", PLAIN), @r"
    drivescope 0.1.0 · quick · /mnt/data
      ext4, sda1 of WD40EFRX-68N32N0, 4.00 TB, SATA 6.0 Gb/s, SMART passed, 31 °C
    run 7c2f01a9be44 · 2026-08-01 14:02 · 71 s · on bench1

    A SATA hard disk, healthy: good for a media library and backups, slow for a
    system and virtual machines, not for databases.

    verdict
      media library     ●●●  · end of drive, capacity not tested; sequential reads
                             at 178 MB/s; a media library wants 100 MB/s or more
      backup            ●●●  · end of drive, shingling, capacity not tested;
                             sequential writes at 172 MB/s; a backup drive wants 100
                             MB/s or more
      system drive      ●○○  149 random reads/s at depth 1; a system drive wants
                             4,000 or more (●●○: 1,500)
      virtual machines  ●○○  · shingling not tested; 412 random reads/s in a deep
                             queue; virtual machines want 10,000 or more (●●○:
                             1,000)
      database          ○○○  149 random reads/s at depth 1; a database wants 5,000
                             or more (●○○: 300)
      capacity not tested: drivescope run /mnt/data --test verify

    transfer                   read         write
    seq1m_q8t1   MB/s   178.2 ± 1.1   171.9 ± 1.0
    rnd4k_q32t1  IOPS   412.0 ± 2.5   471.0 ± 2.8
    rnd4k_q1t1   IOPS   149.0 ± 0.9   418.0 ± 2.5

    response      read p50      p99      max   write p50      p99      max
    seq1m_q8t1     47.0 ms  52.1 ms  61.4 ms     48.7 ms  55.3 ms   120 ms
    rnd4k_q32t1    77.1 ms   214 ms   402 ms     61.0 ms   244 ms   431 ms
    rnd4k_q1t1     6.61 ms  14.2 ms  24.8 ms     1.01 ms  18.8 ms  44.0 ms

    latency        span or rate          IOPS      p50      p99    p99.9      max
    span100                      76.20 ± 0.76  13.1 ms  24.8 ms  31.0 ms  61.2 ms
    span12_5                     118.0 ± 1.2   8.41 ms  16.9 ms  20.8 ms  41.0 ms
    span1                        161.0 ± 1.6   6.02 ms  12.7 ms  15.0 ms  18.3 ms
    poisson_50pct        38.1/s  38.00 ± 0.38  14.9 ms  51.0 ms  88.0 ms   131 ms
    fixed_1000          1,000/s  77.00 ± 0.77   2.40 s   4.60 s   4.61 s   4.61 s
      with a target rate, latency includes queueing; arrivals are random, so the
      rate varies slightly

    surface  skipped: a directory has no positions; name the device, /dev/sda

    tiny-writes       size  application  with flush  raw drive  cached
    rnd16_buffered    16 B      6,940/s       612/s     61.0/s  99.1 %
    rnd16_sync        16 B       60.8/s      60.8/s     61.0/s     0 %
    seq512_write              99.7 MB/s   92.1 MB/s  1.10 MB/s  98.9 %
    seq512_read_warm         2,070 MB/s           -   106 MB/s  94.9 %
    seq512_read_cold           106 MB/s           -   106 MB/s   0.4 %
      left out: seq512_read_cold: one round only, cached pages could not be evicted

    ±: 95 % interval of the median, within this run; -v shows rounds and limits

    F035  warning  only a small part of the disk was used, where seeks are short
          rnd4k_q1t1.write: random requests within 1.07 GB of a rotating drive of
          4.00 TB (0.027 %)
          → Read the access times as those of a small area; for the whole drive
            measure the block device, without --size.
    F015  note     the running system uses this drive, too
          /home lies on sda2, the same drive

    repeat: drivescope rerun 7c2f01a9be44 · all numbers: show it with --json
    ");
}

#[test]
fn a_run_in_memory() {
    insta::assert_snapshot!(text::run_summary(&judged(memory()), "7c2f01a9be44", PLAIN), @r"
    drivescope 0.1.0 · quick · /tmp/x (tmpfs, in memory, no drive)
    run 7c2f01a9be44 · 2026-08-01 14:02 · 71 s · on bench1

    verdict  not judged: no drive lies below this target (F002)

    transfer                      read            write
    seq1m_q8t1   MB/s    7,128 ± 43  !    6,876 ± 41  !
    rnd4k_q32t1  IOPS   16,480 ± 100 !   18,840 ± 110 !
    rnd4k_q1t1   IOPS    5,960 ± 36  !   16,720 ± 100 !

    response      read p50       p99       max   write p50       p99       max
    seq1m_q8t1    1.88 s !  2.08 s !  2.46 s !    1.95 s !  2.21 s !  4.80 s !
    rnd4k_q32t1   3.08 s !  8.56 s !  16.1 s !    2.44 s !  9.76 s !  17.2 s !
    rnd4k_q1t1    264 ms !  568 ms !  992 ms !   40.4 ms !  752 ms !  1.76 s !
      ! invalid: F002 memory-backed

    ±: 95 % interval of the median, within this run; -v shows rounds and limits

    F002  invalid  no drive was measured, only memory
          /tmp/x is a tmpfs
          → Choose a directory or device on a real drive; drivescope list shows
            them.

    repeat: drivescope rerun 7c2f01a9be44 · all numbers: show it with --json
    ");
}

#[test]
fn an_interrupted_run() {
    insta::assert_snapshot!(text::run_summary(&judged(interrupted()), "7c2f01a9be44", PLAIN), @r"
    drivescope 0.1.0 · quick · /mnt/data
      ext4, sda1 of WD40EFRX-68N32N0, 4.00 TB, SATA 6.0 Gb/s, SMART passed, 31 °C
    run 7c2f01a9be44 · red-A · 2026-08-01 14:02 · 23 s · on bench1

    interrupted: partial results

    A SATA hard disk, faulty: requests failed.

    verdict  ○○○ for every use: requests to it failed (F017); do not use it until
             the cause is found

    transfer  failed: read at 12,582,912: Input/output error (os error 5); 2 of
      5,006 requests failed
    transfer                  read         write
    seq1m_q8t1  MB/s   178.2 ± 1.1   171.9 ± 1.0

    response     read p50      p99      max   write p50      p99     max
    seq1m_q8t1    47.0 ms  52.1 ms  61.4 ms     48.7 ms  55.3 ms  120 ms

    latency  interrupted

    ±: 95 % interval of the median, within this run; -v shows rounds and limits

    F017  problem  requests failed: save your data, check cable and health
          2 of 824 requests failed with EIO
          → Save your data; check the kernel log (dmesg) and the drive's health
            (smartctl -a).

    repeat: drivescope rerun 7c2f01a9be44 · all numbers: show it with --json
    ");
}

#[test]
fn the_last_line() {
    assert_eq!(
        text::saved("7c2f", "", PLAIN),
        "saved as run 7c2f · show it: drivescope show 7c2f\n"
    );
    assert_eq!(
        text::saved("7c2f", " --store a.db", PLAIN),
        "saved as run 7c2f · show it: drivescope show 7c2f --store a.db\n"
    );
}

#[test]
fn colour_changes_nothing_but_colour() {
    for run in [judged(hard_disk()), judged(memory()), judged(interrupted()), judged(nvme())] {
        for (plain, colour) in [
            (text::run_summary(&run, "", PLAIN), text::run_summary(&run, "", COLOUR)),
            (text::verbose(&run, PLAIN), text::verbose(&run, COLOUR)),
        ] {
            assert!(colour.contains("\u{1b}["));
            assert_eq!(super::without_colour(&colour), plain);
        }
    }
}

#[test]
fn verdicts_in_colour() {
    let verdicts = judge(&hard_disk());
    let out = text::verdicts(&verdicts[..1], COLOUR).replace('\u{1b}', "␛");
    insta::assert_snapshot!(out, @r"
    ␛[1mverdict␛[0m
      system drive  ␛[33m●○○␛[0m  149 random reads/s at depth 1; a system drive wants 4,000
                         or more (●●○: 1,500)
    ");
}
