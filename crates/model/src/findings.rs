//! Findings: the closed, numbered list of things drivescope notices. docs/findings.md is generated
//! from [`FindingId::ALL`]; an id never changes its meaning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much a finding weighs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Qualifies numbers: true, but read them with this in mind.
    Warning,
    /// The numbers named are not the drive's; they count for no verdict.
    Invalid,
    /// The drive or its data is faulty; the program exits with 1 or 4.
    Problem,
}

impl Severity {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Invalid => "invalid",
            Self::Problem => "problem",
        }
    }
}

/// What is always true of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingSpec {
    /// Stable id, `F001`.
    pub id: &'static str,
    /// Stable short name, `page-cache`.
    pub name: &'static str,
    /// Weight.
    pub severity: Severity,
    /// When it is raised: the rule with its thresholds.
    pub rule: &'static str,
    /// What is behind it.
    pub cause: &'static str,
    /// What the user can do.
    pub remedy: &'static str,
}

macro_rules! findings {
    ($($variant:ident = $id:literal $name:literal $severity:ident
        rule $rule:literal cause $cause:literal remedy $remedy:literal)*) => {
        /// Every finding there is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingId {
            $(#[doc = $rule] $variant,)*
        }

        impl FindingId {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// What is always true of this finding.
            pub const fn spec(self) -> &'static FindingSpec {
                match self {
                    $(Self::$variant => &FindingSpec {
                        id: $id, name: $name, severity: Severity::$severity,
                        rule: $rule, cause: $cause, remedy: $remedy,
                    },)*
                }
            }
        }
    };
}

findings! {
    PageCache = "F001" "page-cache" Invalid
        rule "a phase that should reach the drive went through the page cache and found data there"
        cause "The kernel kept the data in memory, so the number is memory's, not the drive's."
        remedy "Through a loop device: losetup --direct-io=on NODE. Else use a file system that accepts direct I/O, or name the block device itself."
    MemoryBacked = "F002" "memory-backed" Invalid
        rule "the target is tmpfs, ramfs, zram, a RAM disk, or a loop device over one of them"
        cause "There is no drive below this target: its contents live in memory."
        remedy "Choose a directory or device on a real drive; drivescope list shows them."
    AboveLink = "F003" "above-link" Invalid
        rule "a rate is more than 2 % above what the drive's link can carry after line coding"
        cause "No drive can be faster than its link: a cache above the link answered."
        remedy "Measure the block device, or use a larger --size so that caches cannot hold it."
    AboveMemory = "F004" "above-memory" Invalid
        rule "no link is known and a rate is more than 2 % above what one core copies in memory, times the cores: all of the machine with direct I/O, those in use otherwise"
        cause "Data cannot arrive faster than memory can be written: the transfer did not happen. With direct I/O the device writes memory itself, several at once in an array, so that only all cores together are a safe bound; through the page cache the threads of the load copy. A core's speed is measured in its own processor time, so other programs do not lower it."
        remedy "Report this target's file system or driver; it answers requests without data."
    Compression = "F005" "compressing-file-system" Warning
        rule "the file system compresses or deduplicates (mount options, or file attributes)"
        cause "What reaches the drive is not what was written; drivescope writes data that cannot shrink, other programs' data may look faster."
        remedy "Measure on a directory without compression (chattr +m on btrfs), or the device."
    NetworkFs = "F006" "network-file-system" Warning
        rule "the target, the layer of an overlay that has its data, or the file of a loop device below it is on NFS, SMB, Ceph, 9p, or another file system behind a network"
        cause "Network, server and the server's caches are part of every number."
        remedy "Run drivescope on the server to measure the drive itself."
    WriteCached = "F007" "writes-cached" Warning
        rule "small random writes that wait for the drive come faster than one per revolution, or, each followed by a flush, faster than two"
        cause "The drive (or the layer above it) reports writes as done while they are in its cache; a power cut may lose them."
        remedy "Compare with the flushed figures of tiny-writes; switch the write cache off (hdparm -W0) to see the medium."
    FuseFs = "F008" "fuse-file-system" Warning
        rule "the target's file system, that of the layer of an overlay that has its data, or that of the file of a loop device below it runs in user space (FUSE)"
        cause "A program sits between the test and the drive and may cache or copy."
        remedy "Measure the device below it, or mount it with a kernel driver."
    CpuBound = "F009" "cpu-bound" Warning
        rule "one thread used 85 % or more of a core during a phase that is not on memory"
        cause "The processor, not the drive, set the pace."
        remedy "Use more threads (t4 instead of t1), --engine uring, or a faster machine."
    OtherIo = "F010" "other-io" Warning
        rule "the kernel counted over 10 % more bytes on the drive than drivescope moved, and over 4 MB; below a directory on a file system that copies on write (btrfs, bcachefs, zfs, f2fs, nilfs2) only bytes read count, since its own trees follow every write; or an array of md below the target is rebuilt, checked or reshaped when the run begins"
        cause "Another program, or the kernel for an array, used the drive during the phase."
        remedy "Stop other users of the drive (iotop shows them) and run again."
    DirectRefused = "F011" "direct-io-refused" Warning
        rule "a real transfer with O_DIRECT failed, so the page cache is in the path"
        cause "The file system has no direct I/O; drivescope evicts cached pages and checks that they are gone."
        remedy "Use a file system with direct I/O (ext4, xfs, btrfs), or the block device."
    SmallWorkingSet = "F012" "small-working-set" Warning
        rule "the span of a test is smaller than a cache below it (256 MiB is assumed for an unknown drive cache; memory, for a cached path); the parts of the span that latency shows count on rotating drives only"
        cause "The cache can hold everything the test touches, so it may answer instead of the medium."
        remedy "Use a larger --size: four times the cache or more."
    FewRounds = "F013" "few-rounds" Warning
        rule "fewer than three rounds were run"
        cause "Without repetition nothing is known about the spread; a difference may be chance."
        remedy "Use --rounds 3 or more."
    Throttled = "F014" "throttled" Warning
        rule "in most rounds of a cell the rate fell by 20 % or more and stayed down for a fifth of the round, and it is not cache-full: reads fell or slowed, or writes of a drive that does not turn went on to fall; or a phase ended with the drive as hot as it warns of, or within 10 °C of that where the rate of a fill fell"
        cause "Heat, or a limit of the host, took effect; a write cache that is full has a finding of its own."
        remedy "Look at the series of the phase and at its temperature; cool the drive, pause longer, or use --time to see what remains."
    SystemDisk = "F015" "system-disk" Note
        rule "the running system lives on the same drive"
        cause "Background work of the system shares the drive and raises the largest latencies."
        remedy "For comparisons between drives, measure drives that hold nothing else."
    PowerSave = "F016" "power-save" Warning
        rule "the frequency governor is powersave without a driver that still boosts, or the machine runs on battery"
        cause "A slow or sleeping processor adds to every latency."
        remedy "Connect power; cpupower frequency-set -g performance."
    IoError = "F017" "io-error" Problem
        rule "a request failed or transferred less than asked"
        cause "The drive, its cable or its driver refused or lost a request."
        remedy "Look at the kernel log (dmesg) and the drive's health (smartctl -a); save your data."
    BytesMissing = "F018" "bytes-missing" Invalid
        rule "the kernel counted less than 90 % of the moved bytes on the device"
        cause "A cache or layer above the device answered part of the requests."
        remedy "Name the block device itself, or use a larger --size."
    DataMismatch = "F019" "data-mismatch" Problem
        rule "data read back differs from what was written"
        cause "The drive, memory or a layer between returned wrong data."
        remedy "Do not trust this drive with data; run memtest, then drivescope verify."
    Stall = "F020" "stall" Warning
        rule "nothing completed for more than one second during a phase"
        cause "Error recovery, spin-up, garbage collection or a blocked host."
        remedy "Look at the series and the kernel log; a drive that stalls often is failing."
    Unstable = "F021" "unstable" Warning
        rule "the rounds of a rate differ by more than 25 % of their median"
        cause "Something changed between rounds: caches, heat, other load."
        remedy "Use more --rounds and a longer --time; read the interval, not the median."
    VirtualDrive = "F022" "virtual-drive" Note
        rule "the drive is a virtual machine's disk, a loop device, or made of other devices"
        cause "The host or the layer below decides what is behind it and may cache."
        remedy "Run drivescope on the host for the drive itself; here the numbers hold for this machine's view."
    RateMissed = "F023" "rate-missed" Warning
        rule "an open loop ends with more than 5 % of the requests that fell due undone, and with more than eight, and not because others held the processors while the device had little to do (F034)"
        cause "The drive cannot serve this rate; the queue, and with it the latency, grows without end."
        remedy "Read the latency as overload; use a lower rate."
    SlowLink = "F024" "slow-link" Warning
        rule "the link runs below what both ends support"
        cause "A cable, port or slot limits the drive."
        remedy "Use another port or cable; for NVMe, a slot with more lanes."
    SharedDrive = "F025" "layered-file-system" Note
        rule "the target is on an overlay, or on an encrypted or composite device"
        cause "Layers between the file and the drive add their own cost."
        remedy "For the drive's own figures, measure the device at the bottom of the stack."
    Misaligned = "F026" "misaligned-partition" Warning
        rule "the partition does not begin on a boundary of physical sectors, as the drive reports them or as align measured them; of flash that reports smaller ones and hides its own, on one of 4096 bytes"
        cause "Every small write touches two physical sectors, which the drive must read and rewrite."
        remedy "Create the partition anew at a multiple of 1 MiB."
    AboveRotation = "F027" "above-rotation" Invalid
        rule "random reads at depth 1 over the whole drive come faster than twice per revolution"
        cause "No head reaches a random sector that fast: a cache answered."
        remedy "Use a larger span; let the drive's cache be filled by something else first."
    Unflushed = "F028" "unflushed-writes" Note
        rule "writes through the page cache were counted before they reached the drive"
        cause "A program that does not sync sees memory's speed; the drive does the work later."
        remedy "Compare with the flushed figure and with the drive's own, printed beside it."
    SectorLie = "F029" "sector-size-lie" Warning
        rule "align measured a larger physical sector than the drive reports"
        cause "The drive hides its sectors from partitioning programs, which may then place partitions across them."
        remedy "Begin partitions at multiples of 1 MiB and use blocks of 4 KiB or more, whatever the drive reports."
    ShiftedSectors = "F030" "shifted-sectors" Warning
        rule "align measured that the drive's physical sectors do not begin at multiples of their size"
        cause "The drive shifts its addresses (a jumper for old systems that begin partitions at sector 63), so that the usual alignment misses the sectors."
        remedy "Remove the jumper before partitioning (contents move by a sector), or begin partitions at the shift."
    FakeCapacity = "F031" "fake-capacity" Problem
        rule "blocks that were written cannot be read back, from some address on or at a fixed distance"
        cause "The drive announces more than it has: what is written behind its real size is lost, or overwrites earlier data."
        remedy "Return it. Until then, use only a partition that ends before the real size."
    ConfinedWrites = "F032" "confined-writes" Warning
        rule "writes were confined to a part of a block device, whose contents were put back"
        cause "What is overwritten must fit into the restore journal; within a small area seeks are short and caches hold much of it."
        remedy "Use a larger --set transfer.area, or on a drive without contents --destroy SERIAL, which writes all over it."
    BlankRewritten = "F033" "blank-rewritten" Warning
        rule "surface wrote back a stretch whose bytes are all alike"
        cause "Nothing is stored there. Drives that compress, or know which blocks are erased, write such bytes faster than a file's."
        remedy "Fill the drive before, or on a drive without contents let it write fresh data: --destroy SERIAL."
    BusyProcessors = "F034" "busy-processors" Warning
        rule "a measuring thread stood ready to run without a core for more than 10 % of a round, and other programs used at least as much processor time; or the hypervisor took more than 10 % of all cores; or other programs left less than a quarter of all cores while the device had nothing to do for half of a round; or drivescope itself did not run for more than 10 % of a round"
        cause "Other programs, or other guests of the same machine, held the processors, or something stopped drivescope (a signal, a sleeping machine, the limit of a container): requests were sent and answers noticed late, which no drive is to blame for."
        remedy "Stop other programs (top shows them) and run again; on a virtual machine, measure while the host is quiet."
    ShortStroke = "F035" "short-stroke" Warning
        rule "random requests on a rotating drive stay within less than 10 % of it, because that is all a directory's test file, a file or --size gives"
        cause "The heads hardly move: most of an access is the rotation, and the drive as a whole is slower, up to twice."
        remedy "Read the access times as those of a small, dense area; for the whole drive name the block device, without --size."
    Holes = "F036" "holes" Invalid
        rule "more than 2 % of a file, or of the file behind a loop device, were never written and have no blocks on a drive"
        cause "Reading a hole needs no drive: the file system answers with zeros."
        remedy "Fill the file with data first (a copy by cp --sparse=never), or measure a directory on the same drive."
    SampledCache = "F037" "sampled-cache" Invalid
        rule "samples of fill on a disk do not become slower inwards (by 6 %, for a whole disk), over 5 % of them are 15 % off their neighbours, over 10 % change their pace by 8 %, or they take after the place visited before; on flash, fill.burst=0"
        cause "A cache took the samples, as in shingled disks and behind bridges, and a full fill soon leaves it: their rates are not the medium's. Where samples change their pace on the way and nothing else is said, heads whose rates differ may do that, too."
        remedy "Use --set fill.mode=full."
    CacheFull = "F038" "cache-full" Note
        rule "in most rounds of a cell that writes the rate fell by 20 % or more and stayed down for a fifth of the round: on a disk; on other drives if the rate stayed level after the fall and no reads of the test fell or slowed"
        cause "The drive's write cache (of flash its SLC cache) took the first writes faster than the medium can, and was full from then on. Every drive with such a cache does this."
        remedy "Read the series of the phase: its end is what the medium sustains, its beginning what a short burst gets; a longer --time weighs the medium more."
    NoQueueGain = "F039" "no-queue-gain" Warning
        rule "random reads of a drive that turns (fewer than 400 per second, one at a time) are less than 1.2 times as fast with 16 or more in flight; not of a virtual machine's disk, nor under a limit (F042): requests may be capped there"
        cause "The drive, or the bridge or driver before it, serves requests in the order in which they arrive instead of the nearest first: its command queue is off, missing or not passed on."
        remedy "For SATA see /sys/block/NAME/device/queue_depth (1: the queue is off) and use AHCI; of USB enclosures only those with UAS pass queues on."
    SlowRegion = "F040" "slow-region" Warning
        rule "surface finds two or more neighbouring places that read at less than three quarters of the rate of the tenth of the drive to either side, or parts whose random reads take twice as long as elsewhere, and finds the same when it measures them again"
        cause "The drive reads there several times before the data come, or has moved them elsewhere: worn or weak places. Steps between zones and the fall towards the inner edge of a disk are not meant."
        remedy "Look at the drive's health (smartctl -a: pending and reallocated sectors); save what lies there, then let surface or verify write the drive and look again."
    Unproven = "F041" "unproven-drive" Warning
        rule "the target's file system, that of the layer of an overlay that has its data, or that of the file of a loop device below it is FUSE, ZFS, eCryptfs or behind a network, and the kernel shows no device below it whose counters tell what a drive did; or the data pass through a volume of ZFS"
        cause "Nothing shows whether a drive answered, or a cache of the program in between, of ZFS, of this machine or of the server."
        remedy "Read the numbers as those of this mount; for the drive's own, measure the directory or device below it, or run drivescope on the server."
    IoLimited = "F042" "io-limited" Warning
        rule "a control group (cgroup) of drivescope limits reads or writes of a device below the target: io.max, blkio.throttle"
        cause "The kernel holds requests back so that the container or service stays within its limit; the drive itself may be faster."
        remedy "Run drivescope outside of it, or lift the limit (docker --device-read-bps and the like, IOReadBandwidthMax= of systemd)."
    BlankTarget = "F043" "blank-target" Warning
        rule "more than a tenth of 64 places of a block device hold nothing but 00, or FF, on a drive that does not turn; or more than a tenth of a simulated one was never written"
        cause "Nothing was written there, or it was erased (TRIM): such a drive answers reads of it without its flash, a virtual disk without its storage, and faster than data are read."
        remedy "Read the figures of reads as those of an empty drive; for those of data measure a directory on it, or a drive that was filled before."
    NetworkDrive = "F044" "network-drive" Warning
        rule "a block device below the target is reached over a network: NBD, RBD, DRBD, AoE, iSCSI, Fibre Channel, or NVMe over TCP, RDMA or Fibre Channel"
        cause "The network, and the caches of whoever serves the device at its other end, are part of every number."
        remedy "Run drivescope on the machine that has the drive, to measure the drive itself."
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec().id)
    }
}

impl Serialize for FindingId {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.spec().id)
    }
}

impl<'de> Deserialize<'de> for FindingId {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        Self::ALL
            .iter()
            .copied()
            .find(|id| id.spec().id == text)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown finding '{text}'")))
    }
}

/// Something noticed in a run. `docs/findings.md` lists everything that can be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable id.
    pub id: FindingId,
    /// Stable short name.
    pub name: String,
    /// How much it weighs.
    pub severity: Severity,
    /// What was seen, with numbers; the most serious of several observations.
    pub evidence: String,
    /// What is behind it.
    pub cause: String,
    /// What the user can do.
    pub remedy: String,
    /// Keys, or beginnings of keys (whole parts), of the metrics it concerns; absent if it concerns the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Every observation, in order, including that of `evidence`; absent if there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<String>,
    /// How grave the observation of `evidence` is among those of the same finding: a share, a ratio, a time.
    #[serde(skip)]
    weight: f64,
}

impl Finding {
    /// A finding about the whole run.
    pub fn new(id: FindingId, evidence: impl Into<String>) -> Self {
        let spec = id.spec();
        Self {
            id,
            name: spec.name.to_string(),
            severity: spec.severity,
            evidence: evidence.into(),
            cause: spec.cause.to_string(),
            remedy: spec.remedy.to_string(),
            metrics: Vec::new(),
            observations: Vec::new(),
            weight: 0.0,
        }
    }

    /// The same with a weight, by which the gravest of several observations is chosen.
    #[must_use]
    pub fn weighing(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Whether this observation is graver than another of the same finding.
    pub fn outweighs(&self, other: &Self) -> bool {
        self.weight > other.weight
    }

    /// Number of observations.
    pub fn count(&self) -> usize {
        self.observations.len().max(1)
    }

    /// Takes in the same finding about something else: its metrics and observations, and its evidence if
    /// that is graver.
    pub fn join(&mut self, other: Self) {
        if self.observations.is_empty() {
            self.observations.push(self.evidence.clone());
        }
        if other.outweighs(self) {
            (self.evidence, self.weight) = (other.evidence.clone(), other.weight);
        }
        let Self { evidence, metrics, observations, .. } = other;
        let new = if observations.is_empty() { vec![evidence] } else { observations };
        for observation in new {
            if !self.observations.contains(&observation) {
                self.observations.push(observation);
            }
        }
        // One without metrics is about all of them.
        if self.metrics.is_empty() || metrics.is_empty() {
            self.metrics.clear();
        } else {
            let new = metrics.into_iter().filter(|prefix| !self.metrics.contains(prefix));
            self.metrics.extend(new.collect::<Vec<_>>());
        }
        if self.observations.len() == 1 {
            self.observations.clear();
        }
    }

    /// The same, about the metrics whose keys begin with `prefix`.
    #[must_use]
    pub fn about(mut self, prefix: impl Into<String>) -> Self {
        self.metrics.push(prefix.into());
        self
    }

    /// Whether it concerns the metric with this key.
    pub fn concerns(&self, key: &str) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|prefix| is_under(key, prefix))
    }
}

/// Whether `key` is `prefix` or lies below it (`a.b` is above `a.b.c`, not above `a.bc`).
fn is_under(key: &str, prefix: &str) -> bool {
    key.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbered_without_gaps_and_names_are_unique() {
        for (i, id) in FindingId::ALL.iter().enumerate() {
            assert_eq!(id.spec().id, format!("F{:03}", i + 1));
            assert!(
                FindingId::ALL[i + 1..].iter().all(|other| other.spec().name != id.spec().name)
            );
            assert!(!id.spec().rule.is_empty() && !id.spec().remedy.is_empty());
        }
    }

    #[test]
    fn a_finding_concerns_keys_below_its_prefix_only() {
        let finding = Finding::new(FindingId::AboveLink, "x").about("transfer.rnd4k_q1t1");
        assert!(finding.concerns("transfer.rnd4k_q1t1.read.iops"));
        assert!(!finding.concerns("transfer.rnd4k_q1t16.read.iops"));
        assert!(Finding::new(FindingId::MemoryBacked, "x").concerns("anything"));
    }

    #[test]
    fn the_gravest_of_several_observations_is_the_evidence_and_all_are_kept() {
        let seen = |evidence: &str, weight| {
            Finding::new(FindingId::CpuBound, evidence).about(evidence).weighing(weight)
        };
        let mut all = seen("a", 0.86);
        all.join(seen("b", 0.99));
        all.join(seen("c", 0.90));
        assert_eq!(all.evidence, "b");
        assert_eq!(all.observations, ["a", "b", "c"]);
        assert_eq!((all.count(), all.metrics.len()), (3, 3));
        let mut once = seen("a", 1.0);
        once.join(seen("a", 1.0));
        assert_eq!((once.count(), once.observations.len()), (1, 0));
    }

    /// That a partition is misaligned was said of all figures, until a test found the same of its own.
    #[test]
    fn what_is_about_every_metric_stays_so() {
        let of_all = || Finding::new(FindingId::Misaligned, "sda1 begins at sector 63");
        let of_test = || Finding::new(FindingId::Misaligned, "x").about("align.sector");
        for (mut first, second) in [(of_all(), of_test()), (of_test(), of_all())] {
            first.join(second);
            assert!(first.concerns("transfer.rnd4k_q1t1.write.iops"), "{first:?}");
            assert_eq!(first.observations.len(), 2);
        }
    }

    #[test]
    fn findings_survive_json() {
        let finding = Finding::new(FindingId::Stall, "1.2 s without a completion");
        let text = serde_json::to_string(&finding).unwrap();
        assert!(text.contains("\"F020\""));
        assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), finding);
    }
}
