//! What to change on this machine for a drive: settings of kernel, link and mounts, each with what shows it and
//! what it is expected to gain. A gain that was not measured is called so.

use drivescope_model::drive::{Drive, DriveKind, Partition};
use drivescope_model::number::rounded;
use drivescope_model::{FindingId, Run};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineChange {
    pub change: String,
    pub evidence: String,
    pub gain: String,
    pub command: Option<String>,
}

const UNMEASURED: &str = "not measured here; drivescope compare --ab shows it";
/// The kernel's default; less starves sequential readers of a disk.
const READ_AHEAD_KIB: u64 = 128;
/// Below this level of power management a disk parks its heads and spins down (ATA: 127 and less may stop the spindle).
const APM_MIN: u32 = 128;
/// A file system with less free space fragments what is written.
const FREE_SHARE_MIN: f64 = 0.05;

pub fn machine_changes(run: &Run) -> Vec<MachineChange> {
    let drive = run.drive.as_ref().filter(|_| !run.simulated);
    let mut changes = Vec::new();
    if let Some(drive) = drive {
        let rules = [
            flushes(run, drive),
            link(drive),
            queue(run, drive),
            scheduler(drive),
            write_cache(run, drive),
            apm(drive),
            link_power(drive),
            read_ahead(drive),
        ];
        changes.extend(rules.into_iter().flatten());
    }
    changes.extend(partitions(run));
    changes.extend(mounts(run, drive));
    changes.extend(power(run));
    changes
}

fn change(change: &str, evidence: String, gain: String, command: Option<String>) -> MachineChange {
    MachineChange { change: change.to_string(), evidence, gain, command }
}

fn found(run: &Run, id: FindingId) -> Option<&str> {
    run.findings.iter().find(|finding| finding.id == id).map(|finding| finding.evidence.as_str())
}

fn is_disk(drive: &Drive) -> bool {
    drive.kind == DriveKind::HardDisk || drive.rpm > Some(1)
}

fn flushes(run: &Run, drive: &Drive) -> Option<MachineChange> {
    let evidence = found(run, FindingId::FlushIgnored)?;
    Some(change(
        "switch the write cache off: the drive answers flushes before data are safe",
        evidence.to_string(),
        "no speed: data that programs believe to be safe survive a power cut".to_string(),
        Some(format!("hdparm -W0 {}", drive.path)),
    ))
}

fn link(drive: &Drive) -> Option<MachineChange> {
    let link = drive.link.as_ref()?;
    let possible = link.possible.as_ref()?;
    Some(change(
        "another port or cable: the link is slower than both ends can",
        format!("{} instead of {possible}", link.name),
        format!("sequential rates above {} MB/s", rounded(link.payload_mb_s)),
        None,
    ))
}

fn queue(run: &Run, drive: &Drive) -> Option<MachineChange> {
    let depth = drive.settings.drive_requests?;
    let is_ata = matches!(drive.transport.as_str(), "sata" | "sas");
    if depth > 1 || !is_ata {
        return None;
    }
    let gain = run.metric("geometry.queue.gain_ratio").map(|it| it.value);
    Some(change(
        "switch command queueing on: AHCI in the firmware's setup, or a deeper queue",
        format!("queue_depth of {} is {depth}", drive.name),
        match gain {
            Some(gain) => format!("random reads of many programs now gain {}; usual are 1.5 to 2.5", rounded(gain)),
            None => "random reads of many programs 1.5 to 2.5 times as fast on disks, more on SSDs; not measured here"
                .to_string(),
        },
        Some(format!("echo 31 > /sys/block/{}/device/queue_depth", drive.name)),
    ))
}

fn scheduler(drive: &Drive) -> Option<MachineChange> {
    let active = drive.scheduler.as_deref()?;
    let (wanted, why) = match (drive.kind, active) {
        (DriveKind::Nvme, active) if active != "none" => (
            "none",
            "an NVMe drive sorts by itself, and a scheduler costs processor time per request",
        ),
        (_, "none") if is_disk(drive) => (
            "mq-deadline",
            "a disk without a scheduler lets a stream of writes hold up reads for seconds",
        ),
        _ => return None,
    };
    Some(change(
        &format!("scheduler {wanted}: {why}"),
        format!("the scheduler of {} is {active}", drive.name),
        UNMEASURED.to_string(),
        Some(format!("echo {wanted} > /sys/block/{}/queue/scheduler", drive.name)),
    ))
}

/// A disk with its write cache off writes one request per revolution.
fn write_cache(run: &Run, drive: &Drive) -> Option<MachineChange> {
    let is_off = drive.write_cache.as_deref() == Some("write through") && is_disk(drive);
    if !is_off || drive.transport != "sata" || found(run, FindingId::FlushIgnored).is_some() {
        return None;
    }
    let flushed = run.metric("geometry.write_flushed.write_ms").map(|it| it.value);
    Some(change(
        "switch the write cache on, if file systems and databases flush (all usual ones do)",
        format!("{} writes through its cache", drive.name),
        match flushed {
            Some(ms) => {
                format!("a small write takes {} ms now; with a cache a few tenths", rounded(ms))
            }
            None => UNMEASURED.to_string(),
        },
        Some(format!("hdparm -W1 {}", drive.path)),
    ))
}

fn apm(drive: &Drive) -> Option<MachineChange> {
    let level = drive.settings.apm_level.filter(|level| (1..APM_MIN).contains(level))?;
    Some(change(
        "less power saving: the disk parks its heads and may stop between requests",
        format!("level {level} of advanced power management"),
        "no waits of seconds after a pause; fewer load cycles".to_string(),
        Some(format!("hdparm -B 254 {}", drive.path)),
    ))
}

fn link_power(drive: &Drive) -> Option<MachineChange> {
    let policy = drive.settings.link_power_policy.as_deref()?;
    policy.starts_with("min_power").then(|| {
        change(
            "a link that sleeps less deeply, where latency matters more than power",
            format!("link_power_management_policy is {policy}"),
            UNMEASURED.to_string(),
            None,
        )
    })
}

fn read_ahead(drive: &Drive) -> Option<MachineChange> {
    let kib =
        drive.settings.read_ahead_kib.filter(|kib| *kib < READ_AHEAD_KIB && is_disk(drive))?;
    Some(change(
        "a longer read-ahead for programs that read files in order",
        format!("read_ahead_kb of {} is {kib}", drive.name),
        UNMEASURED.to_string(),
        Some(format!("echo 1024 > /sys/block/{}/queue/read_ahead_kb", drive.name)),
    ))
}

/// Partitions that F026 is about, also those of a simulated drive.
fn partitions(run: &Run) -> Vec<MachineChange> {
    let penalty = run.metric("align.device.penalty_ratio").map(|it| it.value);
    let all = run.drive.iter().flat_map(|drive| &drive.partitions);
    let misaligned = all.filter(|partition| !partition.is_extended()).filter(|partition| {
        let measured = run.metric(&format!("align.{}.misaligned_bytes", partition.name));
        measured.map_or(partition.misaligned_bytes as f64, |it| it.value) > 0.0
    });
    let begins = |it: &Partition| format!("{} begins at byte {}", it.name, it.start_bytes);
    let mut evidence: Vec<String> = misaligned.map(begins).collect();
    if evidence.is_empty() {
        // A layer below, whose partitions are not known.
        evidence.extend(found(run, FindingId::Misaligned).map(str::to_string));
    }
    let gain = || match penalty {
        Some(ratio) => format!("small synced writes now take {} times as long", rounded(ratio)),
        None => "not measured here; run --test align shows it".to_string(),
    };
    let words = "begin this partition at a multiple of 1 MiB (back up, make it anew, restore)";
    evidence.into_iter().map(|evidence| change(words, evidence, gain(), None)).collect()
}

fn mounts(run: &Run, drive: Option<&Drive>) -> Vec<MachineChange> {
    let Some(fs) = &run.target.file_system else { return Vec::new() };
    let has = |option: &str| fs.options.split(',').any(|it| it == option);
    let mut changes = Vec::new();
    let mut add = |what: &str, evidence: String, gain: &str, command: Option<String>| {
        changes.push(change(what, evidence, gain.to_string(), command));
    };
    let mounted = |option: &str| format!("{} is mounted with {option}", fs.mount_point);
    let remount = |option: &str| Some(format!("mount -o remount,{option} {}", fs.mount_point));
    if has("sync") {
        let gain = "each write of a program now waits for the drive";
        add(
            "mount without sync; programs that need it flush by themselves",
            mounted("sync"),
            gain,
            remount("async"),
        );
    }
    for option in ["nobarrier", "barrier=0"].into_iter().filter(|option| has(option)) {
        let gain = "no speed: the file system survives a power cut";
        add("mount with barriers", mounted(option), gain, remount("barrier=1"));
    }
    if has("strictatime") {
        let gain = "reading a file no longer writes its access time";
        add("mount with relatime", mounted("strictatime"), gain, remount("relatime"));
    }
    if has("discard") && drive.is_some_and(|drive| !is_disk(drive)) && fs.kind != "btrfs" {
        let gain = "no waits for TRIM when files are deleted; not measured here";
        add(
            "fstrim once a week instead of discard",
            mounted("discard"),
            gain,
            Some("systemctl enable fstrim.timer".into()),
        );
    }
    if fs.kind == "fuseblk" {
        let gain = "a driver in the kernel takes less processor time; not measured here";
        add(
            "mount with the kernel's driver (ntfs3 for NTFS)",
            mounted("a program in user space"),
            gain,
            None,
        );
    }
    let free = fs.available_bytes as f64 / fs.size_bytes.max(1) as f64;
    if free < FREE_SHARE_MIN && fs.size_bytes > 0 {
        let evidence = format!("{} has {} % free", fs.mount_point, rounded(free * 100.0));
        add(
            "free some space: what is written now is scattered",
            evidence,
            "sequential reads of new files",
            None,
        );
    }
    changes
}

fn power(run: &Run) -> Option<MachineChange> {
    let evidence = found(run, FindingId::PowerSave)?;
    Some(change(
        "let the processor run at full speed while it waits for the drive",
        evidence.to_string(),
        "shorter latencies of fast drives; not measured here".to_string(),
        None,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hard_disk;
    use drivescope_model::Finding;

    /// `align` had found 512-byte sectors on a drive that reports 4096, or nothing was measured of a simulated one.
    #[test]
    fn misaligned_partition_is_always_advised_against() {
        fn advises(run: &Run) -> usize {
            machine_changes(run).iter().filter(|it| it.change.contains("this partition")).count()
        }
        let mut run = hard_disk();
        run.findings = vec![Finding::new(FindingId::Misaligned, "a layer below is misaligned")];
        run.drive.as_mut().unwrap().partitions.clear();
        assert_eq!(advises(&run), 1);
        run.simulated = true;
        assert_eq!(advises(&run), 1);
        run.findings.clear();
        assert_eq!(advises(&run), 0);
        run.drive.as_mut().unwrap().partitions = vec![Partition {
            name: "sda1".to_string(),
            start_bytes: 63 * 512,
            size_bytes: 1 << 30,
            misaligned_bytes: 3584,
            content: None,
            mounts: Vec::new(),
        }];
        let sector = crate::testing::metric("align.device.sector_bytes", &[512.0]);
        run.tests.push(crate::testing::result(drivescope_model::TestKind::Align, vec![sector]));
        assert_eq!(advises(&run), 1);
    }

    #[test]
    fn costly_settings_are_named_with_evidence() {
        let mut run = hard_disk();
        let drive = run.drive.as_mut().unwrap();
        drive.kind = DriveKind::HardDisk;
        drive.transport = "sata".to_string();
        drive.write_cache = Some("write back".to_string());
        drive.scheduler = Some("mq-deadline".to_string());
        drive.settings = drivescope_model::drive::DriveSettings::default();
        if let Some(link) = &mut drive.link {
            link.possible = None;
        }
        drive.partitions.clear();
        run.target.file_system = None;
        run.findings.clear();
        assert_eq!(machine_changes(&run), [], "nothing to change");
        let drive = run.drive.as_mut().unwrap();
        drive.scheduler = Some("none".to_string());
        drive.settings.drive_requests = Some(1);
        drive.settings.apm_level = Some(96);
        let changes = machine_changes(&run);
        let said = |words: &str| changes.iter().any(|it| it.evidence.contains(words));
        assert!(said("queue_depth") && said("scheduler") && said("level 96"), "{changes:?}");
        run.simulated = true;
        assert_eq!(machine_changes(&run), [], "a simulated drive is on no machine");
    }
}
