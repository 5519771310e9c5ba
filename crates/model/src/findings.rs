//! Findings: the closed, numbered list of things drivescope notices. docs/findings.md is generated from
//! [`FindingId::ALL`]; an id never changes its meaning.

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
    /// Qualifies numbers: true, but read them with caution.
    Warning,
    /// The numbers named are not the drive's; they count for no verdict.
    Invalid,
    /// The drive or its data is faulty; the program exits with 1 or 4.
    Problem,
}

impl Severity {
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
    /// How serious it is.
    pub severity: Severity,
    /// In plain words: what it means for the drive, and what to do. Fits on a line.
    pub means: &'static str,
    /// When it is raised: the rule with its thresholds.
    pub rule: &'static str,
    /// Why it occurs.
    pub cause: &'static str,
    /// What the user can do.
    pub remedy: &'static str,
}

impl FindingSpec {
    /// What it means, without what to do: `other programs held the CPU`.
    pub fn in_short(&self) -> &'static str {
        self.means.split([';', ':']).next().unwrap_or(self.means)
    }
}

macro_rules! findings {
    ($($variant:ident = $id:literal $name:literal $severity:ident means $means:literal
        rule $rule:literal cause $cause:literal remedy $remedy:literal)*) => {
        /// Every finding there is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingId {
            $(#[doc = $rule] $variant,)*
        }

        impl FindingId {
            /// By number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// What is always true of this finding.
            pub const fn spec(self) -> &'static FindingSpec {
                match self {
                    $(Self::$variant => &FindingSpec {
                        id: $id, name: $name, severity: Severity::$severity,
                        means: $means, rule: $rule, cause: $cause, remedy: $remedy,
                    },)*
                }
            }
        }
    };
}

findings! {
    PageCache = "F001" "page-cache" Invalid means "memory answered, not the drive; use direct I/O, or the device"
        rule "a phase meant for the drive went through the page cache and found its data there"
        cause "The kernel kept the data in memory, so the number is that of memory, not of the drive."
        remedy "For a loop device: losetup --direct-io=on NODE. Otherwise use a file system with direct I/O, or measure the block device."
    MemoryBacked = "F002" "memory-backed" Invalid means "no drive was measured, only memory"
        rule "the target is tmpfs, ramfs, zram, a RAM disk, or a loop device over one of them"
        cause "No drive lies below this target: its contents are in memory."
        remedy "Choose a directory or device on a real drive; drivescope list shows them."
    AboveLink = "F003" "above-link" Invalid means "faster than its cable, so a cache answered; use a larger --size"
        rule "a rate is more than 2 % above what the drive's link can carry after line coding"
        cause "No drive is faster than its link: a cache above the link answered."
        remedy "Measure the block device, or use a --size too large for the caches."
    AboveMemory = "F004" "above-memory" Invalid means "faster than memory, so no data moved; report this file system"
        rule "no link is known, and a rate is more than 2 % above memory speed: what one CPU copies, times all CPUs with direct I/O, or times the CPUs in use without it"
        cause "Data cannot arrive faster than memory can be written, so the transfer did not happen. With direct I/O devices write memory themselves, several at once in an array, so only all CPUs together are a safe bound; through the page cache the measuring threads copy. The copying speed of a CPU is measured in CPU time, so other programs do not lower it."
        remedy "Report this target's file system or driver: it answers requests without data."
    Compression = "F005" "compressing-file-system" Warning means "the file system compresses; other data may be faster"
        rule "the file system compresses or deduplicates (mount options, or file attributes)"
        cause "What reaches the drive is not what was written. drivescope writes incompressible data; other programs may see higher rates."
        remedy "Measure a directory without compression (chattr +m on btrfs), or the device."
    NetworkFs = "F006" "network-file-system" Warning means "network and server are included; run it on the server"
        rule "the target, the overlay layer that holds its data, or the file of a loop device below it is on NFS, SMB, Ceph, 9p or another network file system"
        cause "Every number includes the network, the server and the server's caches."
        remedy "Run drivescope on the server to measure the drive itself."
    FlushIgnored = "F007" "flush-ignored" Warning means "writes are acknowledged from cache: a power cut can lose them"
        rule "small random writes to a rotating drive, each followed by a flush, complete faster than two per revolution, by more than chance makes of so few (500/s, as at 15,000 rpm, where the drive does not report its speed and its random reads are as slow as those of a disk); or writes of one sector, each flushed or with force unit access, take less than half a turn (geometry)"
        cause "The drive, or a bridge or host in front of it, acknowledges flushes while data are still in a cache. A power cut loses data that programs believe to be safe, and can damage databases and file systems."
        remedy "Keep no database and no system on it, or disable its write cache (hdparm -W0) and measure again."
    FuseFs = "F008" "fuse-file-system" Warning means "a program between test and drive may cache; measure below it"
        rule "the target's file system, that of the overlay layer that holds its data, or that of the file of a loop device below it runs in user space (FUSE)"
        cause "A program between the test and the drive may cache or copy."
        remedy "Measure the device below it, or mount it with a kernel driver."
    CpuBound = "F009" "cpu-bound" Warning means "the CPU set the limit, not the drive; use more threads"
        rule "one thread used 85 % or more of a CPU during a phase that is not in memory"
        cause "The CPU, not the drive, limited the rate."
        remedy "Use more threads (t4 instead of t1), --engine uring, or a faster machine."
    OtherIo = "F010" "other-io" Warning means "other programs used the drive; stop them and run again"
        rule "the kernel counted over 10 % and over 4 MB more on the drive than drivescope moved (only reads count in a directory on a copy-on-write file system: btrfs, bcachefs, zfs, f2fs, nilfs2, whose own metadata follows every write); or an md array below the target is being rebuilt, checked or reshaped, or another drivescope measures the drive, when the run starts; a note if for at most 2 % of the measured time"
        cause "Another program used the drive during the phase, or the kernel did so for an array."
        remedy "Stop other users of the drive (iotop shows them) and run again."
    DirectRefused = "F011" "direct-io-refused" Warning means "without direct I/O, memory is in the path; use the device"
        rule "a real transfer with O_DIRECT failed, so the page cache is in the path"
        cause "The file system has no direct I/O. drivescope evicts cached pages and checks that they are gone."
        remedy "Use a file system with direct I/O (ext4, xfs, btrfs), or the block device."
    SmallWorkingSet = "F012" "small-working-set" Warning means "a cache can hold this little data; use a larger --size"
        rule "a test works on less data than a cache below it holds (256 MiB for a drive whose cache is unknown; memory for a cached path); the smaller spans of latency count on rotating drives only, surface where its samples overlap"
        cause "The cache can hold everything that the test touches, and answer instead of the medium."
        remedy "Use a larger --size: at least four times the cache."
    FewRounds = "F013" "few-rounds" Warning means "too few rounds to know the spread; use --rounds 3 or more"
        rule "fewer than three rounds were run, unless a built-in suite repeats a tool that runs fewer"
        cause "Without repetition the spread is unknown; a difference may be chance."
        remedy "Use --rounds 3 or more."
    Throttled = "F014" "throttled" Warning means "the drive became slower under load, perhaps from heat; cool it"
        rule "in most rounds of a cell the rate dropped by 20 % or more for at least a fifth of the round, and cache-full does not explain it: reads dropped or slowed, or writes of a drive without rotation kept dropping; or a phase ended with the drive at its warning temperature, or within 10 °C of it where the rate of a fill dropped"
        cause "The drive became hot, or the host limited it. A full write cache has a finding of its own (F038)."
        remedy "Check the series and the temperature of the phase; cool the drive, pause longer, or use a longer --time to see the sustained rate."
    SystemDisk = "F015" "system-disk" Note means "the running system uses this drive, too"
        rule "the running system is on the same drive, which is a drive for itself; else F022 says so"
        cause "Background work of the system shares the drive and raises the highest latencies."
        remedy "To compare drives, measure ones that hold nothing else."
    PowerSave = "F016" "power-save" Warning means "the CPU saves power, which adds to every wait; connect power"
        rule "the frequency governor is powersave without a driver that still boosts, or the machine runs on battery"
        cause "A slow or sleeping CPU adds to every latency."
        remedy "Connect power; cpupower frequency-set -g performance."
    IoError = "F017" "io-error" Problem means "requests failed: save your data, check cable and health"
        rule "a request failed, or transferred less than requested"
        cause "The drive, its cable or its driver refused or lost a request."
        remedy "Save your data; check the kernel log (dmesg) and the drive's health (smartctl -a)."
    BytesMissing = "F018" "bytes-missing" Invalid means "a cache above the drive answered; measure the device"
        rule "the kernel counted less than 90 % of the moved bytes on the device"
        cause "A cache or layer above the device answered some of the requests."
        remedy "Measure the block device, or use a larger --size."
    DataMismatch = "F019" "data-mismatch" Problem means "data came back wrong: do not trust this drive with data"
        rule "data read back differs from what was written"
        cause "The drive, memory or a layer in between returned wrong data."
        remedy "Do not trust this drive with data; run memtest, then the test verify."
    Stall = "F020" "stall" Warning means "nothing was answered for a second; if it repeats, save your data"
        rule "nothing completed for more than one second during a phase"
        cause "Error recovery, spin-up, garbage collection or a blocked host."
        remedy "Check the series and the kernel log (dmesg); a drive that stalls often is failing."
    Unstable = "F021" "unstable" Warning means "rounds differ: quote the range, or repeat for longer"
        rule "the rounds of a rate differ by more than 25 % of their median, or fall from each to the next by a tenth or more in all, closer along a line than chance makes them"
        cause "Something changed between rounds: caches, temperature, other load."
        remedy "Results vary: repeat for longer (--rounds, --time), and quote the range."
    VirtualDrive = "F022" "virtual-drive" Note means "a virtual drive: the layer below decides, and may cache"
        rule "the drive is a virtual machine's disk, a loop device, or composed of other devices"
        cause "The host or the layer below decides what is behind it, and may cache."
        remedy "Run drivescope on the host to measure the drive; these results describe what this machine sees."
    RateMissed = "F023" "rate-missed" Warning means "the drive cannot serve this rate; use a lower one"
        rule "an open loop ends with more than 5 % of the due requests, and more than eight, not completed, unless other programs held the CPU while the device had little to do (F034)"
        cause "The drive cannot serve this rate; the queue, and with it the latency, grows without bound."
        remedy "Read this latency as overload; use a lower rate."
    SlowLink = "F024" "slow-link" Warning means "the link is slower than the drive; use another port or cable"
        rule "the link runs slower than both ends support"
        cause "A cable, port or slot limits the drive."
        remedy "Use another port or cable; for NVMe, a slot with more lanes."
    SharedDrive = "F025" "layered-file-system" Note means "layers between file and drive add their own time"
        rule "the target is on an overlay, or on an encrypted or composite device"
        cause "Layers between the file and the drive add their own cost."
        remedy "To measure the drive itself, use the device at the bottom of the stack."
    Misaligned = "F026" "misaligned-partition" Warning means "small writes take longer; recreate the partition aligned"
        rule "the partition does not start on a physical sector, as the drive reports it or as align measured it; for flash that reports smaller sectors, not on a multiple of 4096 bytes"
        cause "Every small write touches two physical sectors, which the drive must read and rewrite."
        remedy "Recreate the partition at a multiple of 1 MiB."
    AboveRotation = "F027" "above-rotation" Invalid means "faster than heads move: a cache answered; use a larger span"
        rule "random reads at depth 1 over the whole drive complete faster than two per revolution, by more than chance makes of so few"
        cause "No head reaches a random sector that fast: a cache answered."
        remedy "Use a larger span, and displace the drive's cache with other data first."
    Unflushed = "F028" "unflushed-writes" Note means "buffered writes were not yet on the drive; see the flushed rate"
        rule "small random writes through the page cache were faster than the raw drive, and not all were on it at the end"
        cause "A program that does not sync sees the speed of memory; the drive writes later."
        remedy "Compare with the flushed rate and with that of the raw drive, shown beside it."
    SectorLie = "F029" "sector-size-lie" Warning means "sectors are larger than reported; align partitions to 1 MiB"
        rule "align measured a larger physical sector than the drive reports; not for flash, where mapping units of 4 KiB and more behind reported sectors of 512 bytes are normal"
        cause "The drive hides its sectors from partitioning tools, which may then misalign partitions."
        remedy "Start partitions at multiples of 1 MiB and use blocks of 4 KiB or more, whatever the drive reports."
    ShiftedSectors = "F030" "shifted-sectors" Warning means "sectors are shifted, so the usual alignment misses them"
        rule "align measured that the drive's physical sectors do not start at multiples of their size"
        cause "The drive shifts its addresses (a jumper for old systems that start partitions at sector 63), so the usual alignment misses the sectors."
        remedy "Remove the jumper before partitioning (contents move by one sector), or start partitions at the shift."
    FakeCapacity = "F031" "fake-capacity" Problem means "the drive holds less than it claims; return it"
        rule "blocks that were written cannot be read back, from some address on or at a fixed distance"
        cause "The drive reports more capacity than it has: data written beyond its real size is lost, or overwrites earlier data."
        remedy "Return it. Until then, use only a partition that ends before the real size."
    ConfinedWrites = "F032" "confined-writes" Warning means "only a small area was written, where a drive may be faster"
        rule "writes were confined to a part of a block device, whose contents were then restored"
        cause "What is overwritten must fit into the restore journal. Within a small area seeks are short, and caches hold much of it."
        remedy "Use a larger --set transfer.area, or on a drive without contents --destroy SERIAL, which writes all over it."
    BlankRewritten = "F033" "blank-rewritten" Warning means "blank data were rewritten, which some drives do faster"
        rule "surface wrote back a section whose bytes are all the same"
        cause "Nothing is stored there. Drives that compress, or track erased blocks, write such data faster than real files."
        remedy "Fill the drive first, or write fresh data to a drive without contents: --destroy SERIAL."
    BusyProcessors = "F034" "busy-processors" Warning means "other programs held the CPU; stop them and run again"
        rule "a measuring thread waited for a CPU for more than 10 % of a round while other programs used at least as much CPU time; or the hypervisor took more than 10 % of all CPUs; or other programs left less than a quarter of all CPUs while the device was idle for half of a round; or drivescope itself did not run for more than 10 % of a round; a note if for at most 2 % of the measured time"
        cause "Other programs or other guests of the same machine held the CPU, or something stopped drivescope (a signal, suspend, a container limit). Requests were sent late and completions noticed late, which is not the fault of the drive."
        remedy "Stop other programs (top shows them) and run again; on a virtual machine, measure while the host is idle."
    ShortStroke = "F035" "short-stroke" Warning means "only a small part of the disk was used, where seeks are short"
        rule "random requests on a rotating drive cover less than 10 % of it: all that a directory's test file, a file or --size offers"
        cause "The heads hardly move, so an access is mostly rotation. Over the whole drive, access takes up to twice as long."
        remedy "Read the access times as those of a small area; for the whole drive measure the block device, without --size."
    Holes = "F036" "holes" Invalid means "the file has holes, which no drive has to read; fill it first"
        rule "more than 2 % of a file, or of the file behind a loop device, was never written: SEEK_HOLE finds no data there"
        cause "Reading a hole needs no drive: the file system answers with zeros."
        remedy "Fill the file with data first (cp --sparse=never), or measure a directory on the same drive."
    SampledCache = "F037" "sampled-cache" Invalid means "a cache took the samples; use --set fill.mode=full"
        rule "samples of fill on a disk do not become slower towards the inner edge (by 6 %, for a whole disk), over 5 % of them differ by 15 % from their neighbours, over 10 % change their rate by 8 %, or they follow the place visited before; on flash, fill.burst=0"
        cause "A cache took the samples, as in shingled disks and behind bridges, and a full fill soon exceeds it: these are not the rates of the medium. If samples only change their rate part-way, heads of different speed may be the cause."
        remedy "Use --set fill.mode=full."
    CacheFull = "F038" "cache-full" Note means "long writes are slower than the first: the write cache fills"
        rule "in most rounds of a write cell the rate dropped by 20 % or more for at least a fifth of the round: on a disk, after more than 256 MiB (less is the buffer that every disk has); on other drives, if the rate stayed level afterwards; or from one round to the next the rate fell by more than 25 % for good; and no reads of the test dropped or slowed"
        cause "The drive's write cache (on flash, its SLC cache) took the first writes faster than the medium can, and was then full. Every drive with such a cache does this."
        remedy "Read the series of the phase: its end is the sustained rate, its start what a short burst gets. A longer --time gives the medium more weight."
    NoQueueGain = "F039" "no-queue-gain" Warning means "queued requests are not sorted; check the command queue"
        rule "random reads of a drive that is known to rotate (fewer than 400 per second at depth 1) gain less than a factor of 1.2 at depth 16 or more; not checked on a virtual machine's disk, a loop device, or under a limit (F042), where requests may be capped"
        cause "The drive, or a bridge or driver in front of it, serves requests in order of arrival instead of nearest first: its command queue is off, missing or not passed on."
        remedy "For SATA check /sys/block/NAME/device/queue_depth (1: the queue is off) and use AHCI; USB enclosures pass queues on only with UAS."
    SlowRegion = "F040" "slow-region" Warning means "a part of the drive reads slowly; save its data, check its health"
        rule "surface finds a stretch (two or more neighbouring places, and most of five between them) that reads at less than three quarters of the rate of the surrounding tenth of the drive, or parts where random reads take twice as long as elsewhere, and measuring again confirms it"
        cause "The drive retries reads there, or has moved the data elsewhere: worn or weak places. Steps between zones and the decline towards the inner edge of a disk do not count."
        remedy "Check the drive's health (smartctl -a: pending and reallocated sectors); save the data there, then let surface or verify write the drive and measure again."
    Unproven = "F041" "unproven-drive" Warning means "nothing proves that a drive answered, and not a cache"
        rule "the target's file system, that of the overlay layer that holds its data, or that of the file of a loop device below it is FUSE, ZFS, eCryptfs or a network file system, and the kernel shows no device below it with I/O counters; or the data pass through a ZFS volume"
        cause "Nothing proves that a drive answered: it may have been a cache of the program in between, of ZFS, of this machine or of the server."
        remedy "Read the results as those of this mount; to measure the drive, use the directory or device below it, or run drivescope on the server."
    IoLimited = "F042" "io-limited" Warning means "the container or service is limited; the drive may be faster"
        rule "a control group (cgroup) of drivescope limits reads or writes of a device below the target: io.max, blkio.throttle"
        cause "The kernel delays requests to keep the container or service within its limit; the drive may be faster."
        remedy "Run drivescope outside the group, or lift the limit (docker --device-read-bps and the like, IOReadBandwidthMax= of systemd)."
    BlankTarget = "F043" "blank-target" Warning means "mostly empty: reading data may be slower than this"
        rule "more than a tenth of 64 places of a block device hold nothing but 00, or FF, on a drive without rotation; or more than a tenth of a simulated drive was never written"
        cause "Nothing was written there, or it was erased (TRIM). Such drives answer these reads without their flash, virtual disks without their storage: faster than they read data."
        remedy "Read the results of reads as those of an empty drive; to include data, measure a directory on it, or fill the drive first."
    NetworkDrive = "F044" "network-drive" Warning means "a network is in between; run drivescope where the drive is"
        rule "a block device below the target is reached over a network: NBD, RBD, DRBD, AoE, iSCSI, Fibre Channel, or NVMe over TCP, RDMA or Fibre Channel"
        cause "Every number includes the network and the caches of the server at its other end."
        remedy "Run drivescope on the machine that has the drive, to measure the drive itself."
    FreeFlush = "F045" "free-flush" Note means "flushes cost nothing: safe only with power-loss protection"
        rule "on a drive without rotation that reports a volatile write cache, flushing a small write takes less than 100 µs; not checked on virtual disks"
        cause "Flash needs longer to store a page. Either the drive has power-loss protection and its cache is safe, or it ignores flushes: only a power cut tells."
        remedy "Look for power-loss protection in the data sheet; without it, keep no database on the drive."
    Shingled = "F046" "shingled" Warning means "shingled tracks: good for large files, slow at random writing"
        rule "a rotating drive reports shingled zones; or transfer reads an area in order at least 15 % slower in most rounds after it was written at random, while what was not written keeps its rate right before and after (not on a copy-on-write file system); or geometry reads all of five such areas at less than two thirds of the rate of those beside them"
        cause "The tracks overlap, so the drive keeps random writes elsewhere and later rewrites whole bands. Long random writing, synced writes and rebuilding an array become very slow."
        remedy "Use it for large files that are written once: backups, media, archives. Do not mix it with other drives in an array."
    CopiedByReference = "F047" "copied-by-reference" Invalid means "nothing was copied; set copy.method=read-write"
        rule "copies of `copy` share their extents with the originals (FIEMAP), or the device wrote less than 90 % of the copied bytes by the end of the final flush"
        cause "The file system did not copy: it noted where the original lies (reflink, on btrfs and XFS), compressed, or found the same data."
        remedy "Use --set copy.method=read-write on a file system without compression and deduplication."
    FilesInMemory = "F048" "files-in-memory" Warning means "files were still in memory; close programs that use them"
        rule "more than 2 % of the files of a cold phase were still in memory before it, by cachestat; or the kernel does not report it"
        cause "Another program holds them (mapped files, an index service), or the kernel could not be asked: it tells owners and writers only."
        remedy "Close programs that use these files; reboot before read-files with files kept by --keep."
    SourceLimits = "F049" "source-limits" Note means "the source was the limit; the target may be faster"
        rule "a copy from another drive ran at more than 85 % of the rate at which the source alone was read"
        cause "The source sets the pace: the target may be faster."
        remedy "Copy from a faster drive (--from), or from memory, to see what the target can take."
    ScatteredFiles = "F050" "scattered-files" Note means "files were laid in pieces; their rates are of several places"
        rule "extents of a file of fill-files or read-files span more than 1 % of the drive"
        cause "The file system filled gaps: towards the end of its space, a file is laid in pieces over much of the drive, and its rate is no longer that of one place."
        remedy "Read the rate over the position (chart), where such files are marked, not over the order of the files."
    TraceLate = "F051" "trace-late" Warning means "replayed late: an application would need at least this long"
        rule "a trace is replayed at its own times, and more than 1 % of its requests were sent over 10 ms late, or it ended over 1 % and 10 ms later than due"
        cause "The times of the recording were not kept: the drive had as many requests in flight as allowed, the machine was busy, or the trace could not be read fast enough; the evidence says which."
        remedy "Read the time of the trace as a lower bound of what the application would need; raise apps.depth, replay on an idle machine, or use timing dependent."
    NotSteady = "F052" "not-steady" Warning means "the drive still changes; measure longer for its steady rate"
        rule "the last five points of a tracked cell of steady range over more than 20 % of their mean, or the line through them rises or falls by more than 10 % of it, or fewer were measured, when its rounds ended; or shortened rounds on simulated flash wrote less than a tenth of it"
        cause "The drive still changes: its cache or spare blocks are not used up yet, it cleans up in waves, becomes hot, or something else uses it."
        remedy "Read the curve of the rounds, not the figures; use more rounds (steady.rounds_max) or a longer --time (on a simulated drive, simulated_requests=0), and let nothing else use the drive."
    SlowWhenSteady = "F053" "slow-when-steady" Note means "constant writing leaves less than half of its first rate"
        rule "a tracked cell of steady keeps less than half of the rate of its first round"
        cause "A drive that has free blocks, or an empty cache, is faster than one that has to clean up for every write. Short tests, and the data sheet, show the first."
        remedy "Compare drives by their steady rates where they write all day. Leave part of the drive without partition, and let the system discard (fstrim), to keep it nearer to the first rate."
    TableInMemory = "F054" "table-in-memory" Note means "the table fits into memory, where a running database keeps it"
        rule "the table of sql is smaller than the memory of this machine, or than the buffers of the database"
        cause "The test reads it from the drive because it empties the caches before; a database that has run for a while would answer from memory."
        remedy "For a database larger than memory, use a --size above it."
    CommitNotDurable = "F055" "commit-not-durable" Warning means "not safe at once: a power cut can lose commits"
        rule "a commit of one client takes less than 80 % of the time in which 8 KiB are written to a file beside the database and flushed (medians), and the drive saw less than one flush in two commits where it counts them"
        cause "The database says that a transaction is committed before the drive has it: its settings, or a layer between, do not wait for the flush. A power cut loses what was committed last."
        remedy "Leave sql.durability at full; on a server of your own look at synchronous_commit, fsync, innodb_flush_log_at_trx_commit, PRAGMA synchronous."
    StatementErrors = "F056" "statement-errors" Warning means "statements failed; figures are of those that did not"
        rule "statements of --query failed; the first one is shown"
        cause "The statement, its parameters, or the database."
        remedy "Try the statement by hand; figures are those of the statements that did not fail."
    FailingHealth = "F057" "failing-health" Problem means "the drive expects to fail: save your data, replace it"
        rule "SMART's overall verdict is FAILED; a SMART attribute is at or below its threshold now; an NVMe drive warns of more than its temperature; or the newest self-test of its kind failed"
        cause "The drive counts its own errors and spare parts, and holds them against limits of its maker."
        remedy "Save your data and replace the drive; drivescope list -v shows which figure is beyond its limit."
    LinkErrors = "F058" "link-errors" Warning means "damaged transfers: replace the cable"
        rule "the drive counted more CRC errors of its link after the run than before (attribute 199, or the transport statistics)"
        cause "A cable, plug, backplane or port damages transfers. They are repeated, which costs time; the medium is not the cause."
        remedy "Replace the cable or use another port, and run again: the count never falls, but must not rise."
    NewBadSectors = "F059" "new-bad-sectors" Problem means "the drive lost sectors during the run: save your data, replace it"
        rule "the drive counted more reallocated, pending or offline-uncorrectable sectors, or more uncorrected errors (media errors of NVMe), after the run than before"
        cause "Places of the medium could not be read or written while the test used them."
        remedy "Save your data; run drivescope run DRIVE --test surface and smartctl -t long, and replace the drive if the counts rise again."
    CountersDisagree = "F060" "counters-disagree" Warning means "it is older than it says"
        rule "a self-test, or the FARM log of a SATA disk of Seagate's (power-on, spindle, head flight), has over 24 hours more than the power-on hours of SMART"
        cause "Counters that only rise disagree if one was set back, as sellers of used drives do; or after a firmware update that starts one anew."
        remedy "Ask the seller, and the maker whether its warranty still runs; judge the age of the drive by the larger figure."
    RateFollowsData = "F061" "rate-follows-data" Warning means "the drive or a layer compresses: other data are written faster"
        rule "transfer.compress is above 0, and a cell writes compressible data at least 5 % faster than incompressible data; the 95 % intervals of the two rates do not overlap, and nothing but drive, link or file system limited the incompressible rounds"
        cause "The drive's controller, the file system or another layer between compresses what is written. Rates of programs then lie between the two figures, by how well their data compress; a tool that writes zeros or repeated patterns shows a rate that no photo, film or encrypted file reaches."
        remedy "Count on the rate of incompressible data, which drivescope writes by default and judges by. Be careful with figures of tools that write compressible data."
    SharedPath = "F063" "shared-path" Invalid means "drives measured together share a path: measure this one alone"
        rule "with --together, all drives at once reached less than 90 % of the sum of each alone, and the figure is at least half of what was left to this drive then"
        cause "The data of several drives pass through one hub, controller, expander, link, or the processors. The figure is what the path left to this drive, not what the drive can do."
        remedy "Run without --together for the drive's own figures; the sentence of the run says which path is the limit."
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
    /// Why it occurs.
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
    weight: Weight,
}

/// It is not written to documents, and does not make two findings differ.
#[derive(Debug, Clone, Copy, Default)]
struct Weight(f64);

impl PartialEq for Weight {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Finding {
    /// About the whole run.
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
            weight: Weight::default(),
        }
    }

    /// Of several observations the one with the largest weight is the evidence.
    #[must_use]
    pub fn weighing(mut self, weight: f64) -> Self {
        self.weight = Weight(weight);
        self
    }

    pub fn outweighs(&self, other: &Self) -> bool {
        self.weight.0 > other.weight.0
    }

    pub fn count(&self) -> usize {
        self.observations.len().max(1)
    }

    /// Adds the same finding about something else: its metrics and observations, and its evidence if that weighs
    /// more.
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

    /// Limits it to the metrics whose keys begin with `prefix`.
    #[must_use]
    pub fn about(mut self, prefix: impl Into<String>) -> Self {
        self.metrics.push(prefix.into());
        self
    }

    pub fn concerns(&self, key: &str) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|prefix| is_under(key, prefix))
    }
}

/// Whether `key` is `prefix` or lies below it (`a.b` is above `a.b.c`, not above `a.bc`).
pub fn is_under(key: &str, prefix: &str) -> bool {
    key.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests;
