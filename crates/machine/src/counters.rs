//! The kernel's own statistics of a block device: what really reached it.

use crate::roots::{Roots, list_dir, read_text};
use std::path::Path;

/// Sectors in these statistics are 512 bytes, whatever the device's own sector.
const SECTOR_BYTES: u64 = 512;

/// Totals since the device appeared, see Documentation/block/stat.rst of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceCounters {
    pub reads: u64,
    pub read_bytes: u64,
    /// Summed over requests: waiting and service. `write_wait_ms` and `flush_wait_ms` likewise.
    pub read_wait_ms: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub write_wait_ms: u64,
    /// Now; not a total.
    pub in_flight: u64,
    /// Time with at least one request in flight.
    pub busy_ms: u64,
    /// 0 before Linux 4.18.
    pub discards: u64,
    pub discarded_bytes: u64,
    /// 0 before Linux 5.5.
    pub flushes: u64,
    /// Not part of `busy_ms`; 0 before Linux 5.5.
    pub flush_wait_ms: u64,
}

impl DeviceCounters {
    /// Sum over two devices used one after the other: their busy times add up.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        let add = |own: u64, others: u64| own + others;
        self.with(&other, add, add)
    }

    /// Two readings put together, times by `ms` and all else by `count`.
    fn with(
        &self,
        other: &Self,
        count: impl Fn(u64, u64) -> u64,
        ms: impl Fn(u64, u64) -> u64,
    ) -> Self {
        Self {
            reads: count(self.reads, other.reads),
            read_bytes: count(self.read_bytes, other.read_bytes),
            read_wait_ms: ms(self.read_wait_ms, other.read_wait_ms),
            writes: count(self.writes, other.writes),
            written_bytes: count(self.written_bytes, other.written_bytes),
            write_wait_ms: ms(self.write_wait_ms, other.write_wait_ms),
            in_flight: count(self.in_flight, other.in_flight),
            busy_ms: ms(self.busy_ms, other.busy_ms),
            discards: count(self.discards, other.discards),
            discarded_bytes: count(self.discarded_bytes, other.discarded_bytes),
            flushes: count(self.flushes, other.flushes),
            flush_wait_ms: ms(self.flush_wait_ms, other.flush_wait_ms),
        }
    }
}

/// Statistics of the disk or partition with this kernel name; `None` when it has none, or they are disabled.
///
/// Where one NVMe drive may have several controllers, requests to the disk that programs open pass to hidden disks, one
/// for each path. Only these count on every kernel: the open disk has zeros before Linux 6.3, and its partitions still
/// have. So there the whole drive is counted.
pub fn read(roots: &Roots, name: &str) -> Option<DeviceCounters> {
    let dir = roots.block_dir(name)?;
    let disk = if dir.join("partition").exists() { dir.parent()? } else { &dir };
    let paths = hidden_paths(roots, disk);
    if paths.is_empty() {
        return kept(disk).then(|| parse(&read_text(dir.join("stat"))?)).flatten();
    }
    let each = paths.iter().map(|path| read(roots, path));
    each.collect::<Option<Vec<_>>>()?.into_iter().reduce(DeviceCounters::beside)
}

/// Whether the kernel counts what a disk does: `echo 0 > queue/iostats` saves that, and leaves the totals behind.
/// Devices without queues of requests may have 0 there and count all the same, as zram does.
fn kept(disk: &Path) -> bool {
    let has_requests = disk.join("mq").is_dir();
    !has_requests || read_text(disk.join("queue/iostats")).as_deref() != Some("0")
}

/// The paths to an NVMe drive that may have several: `nvme0c0n1` and `nvme0c1n1` to `nvme0n1`.
fn hidden_paths(roots: &Roots, disk: &Path) -> Vec<String> {
    let ends =
        disk.file_name().and_then(|name| name.to_str()).and_then(|name| name.rsplit_once('n'));
    let Some((subsystem, namespace)) = ends.filter(|(start, _)| start.starts_with("nvme")) else {
        return Vec::new();
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_path = |name: &String| {
        let controller = name.strip_prefix(subsystem).and_then(|rest| rest.strip_prefix('c'));
        let ends = controller.and_then(|rest| rest.split_once('n'));
        ends.is_some_and(|(number, of)| is_number(number) && of == namespace)
    };
    list_dir(&roots.sys.join("block")).into_iter().filter(is_path).collect()
}

/// What happened between two readings of one device.
///
/// `in_flight` is taken from the later one. The kernel keeps milliseconds in 32 bits, so they are
/// subtracted modulo 2^32 (49.7 days); a total that fell otherwise counts as 0: the device was
/// replaced in between.
pub fn delta(before: &DeviceCounters, after: &DeviceCounters) -> DeviceCounters {
    let ms = |after: u64, before: u64| u64::from((after as u32).wrapping_sub(before as u32));
    DeviceCounters { in_flight: after.in_flight, ..after.with(before, u64::saturating_sub, ms) }
}

/// The eleven numbers every kernel prints, and those that came later.
fn parse(text: &str) -> Option<DeviceCounters> {
    let fields: Vec<u64> =
        text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let &[
        reads,
        _,
        read,
        read_wait_ms,
        writes,
        _,
        written,
        write_wait_ms,
        in_flight,
        busy_ms,
        _,
        ..,
    ] = fields.as_slice()
    else {
        return None;
    };
    let later = |index: usize| fields.get(index).copied().unwrap_or(0);
    Some(DeviceCounters {
        reads,
        read_bytes: read.saturating_mul(SECTOR_BYTES),
        read_wait_ms,
        writes,
        written_bytes: written.saturating_mul(SECTOR_BYTES),
        write_wait_ms,
        in_flight,
        busy_ms,
        discards: later(11),
        discarded_bytes: later(13).saturating_mul(SECTOR_BYTES),
        flushes: later(15),
        flush_wait_ms: later(16),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;
    use proptest::prelude::*;

    const NOW: &str =
        "48395 8101 3837306 14339 11413 11629 1136480 3463 2 7840 18218 5163 36 274280 368 1241 46";

    #[test]
    fn fields_are_where_the_kernel_puts_them() {
        let c = parse(NOW).unwrap();
        assert_eq!((c.reads, c.read_bytes, c.read_wait_ms), (48395, 3_837_306 * 512, 14339));
        assert_eq!((c.writes, c.written_bytes, c.write_wait_ms), (11413, 1_136_480 * 512, 3463));
        assert_eq!((c.in_flight, c.busy_ms), (2, 7840));
        assert_eq!((c.discards, c.discarded_bytes, c.flushes), (5163, 274_280 * 512, 1241));
        assert_eq!(c.flush_wait_ms, 46);
    }

    #[test]
    fn old_kernels_have_eleven_fields() {
        let old = parse("1 0 8 1 2 0 16 1 0 3 4").unwrap();
        assert_eq!((old.writes, old.written_bytes, old.flushes), (2, 8192, 0));
        assert_eq!(parse("1 0 8 1 2 0 16 1 0 3"), None);
        assert_eq!(parse("1 0 8 1 2 0 x 1 0 3 4"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_device_is_read_by_its_name() {
        let fake = Fake::new();
        fake.disk("virtual/block/sda", (8, 0), 1 << 30);
        fake.partition("sda", 1, (8, 1), 2048, 2048);
        fake.attrs("sda1", &[("stat", NOW)]);
        assert_eq!(read(&fake.roots, "sda1"), parse(NOW));
        assert_eq!(read(&fake.roots, "sda"), None);
        assert_eq!(read(&fake.roots, "sdb"), None);
    }

    /// Every number was called invalid, because nothing seemed to reach the drive (F018).
    #[test]
    fn multipath_nvme_drive_is_counted_on_its_paths() {
        let fake = Fake::new();
        let zeros = "0 0 0 0 0 0 0 0 0 0 0";
        fake.disk("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", (259, 0), 1 << 30);
        fake.partition("nvme0n1", 2, (259, 1), 2048, 2048);
        let of = |name: &str| read(&fake.roots, name).map(|c| (c.reads, c.read_bytes, c.busy_ms));
        for name in ["nvme0n1", "nvme0n1p2"] {
            fake.attrs(name, &[("stat", zeros)]);
            assert_eq!(of(name), Some((0, 0, 0)), "the only disk there is");
        }
        let paths = [("nvme0c0n1", 5), ("nvme0c12n1", 6), ("nvme0c0n11", 7), ("nvme10c0n1", 8)];
        for (path, minor) in paths {
            fake.disk(&format!("pci0000:00/nvme/nvme0/{path}"), (259, minor), 1 << 30);
            fake.attrs(path, &[("hidden", "1"), ("stat", "3 0 16 9 0 0 0 0 1 7 9")]);
        }
        for name in ["nvme0n1", "nvme0n1p2"] {
            assert_eq!(of(name), Some((6, 2 * 16 * 512, 14)), "{name}");
        }
        assert_eq!(of("nvme0c12n1"), Some((3, 16 * 512, 7)));
    }

    #[test]
    fn disabled_counters_are_unknown_not_zero() {
        let fake = Fake::two_disks();
        fake.attrs("sda", &[("mq/0/cpu_list", "0")]);
        for name in ["sda", "sda1"] {
            fake.attrs(name, &[("stat", NOW)]);
            fake.attrs("sda", &[("queue/iostats", "1")]);
            assert_eq!(read(&fake.roots, name), parse(NOW));
            fake.attrs("sda", &[("queue/iostats", "0")]);
            assert_eq!(read(&fake.roots, name), None, "{name}");
        }
        fake.disk("virtual/block/zram0", (253, 0), 1 << 30);
        fake.attrs("zram0", &[("stat", NOW), ("queue/iostats", "0")]);
        assert_eq!(read(&fake.roots, "zram0"), parse(NOW), "it says so always");
    }

    #[test]
    fn milliseconds_wrap_at_32_bits() {
        let before = DeviceCounters {
            busy_ms: u64::from(u32::MAX) - 9,
            read_bytes: 1000,
            written_bytes: 9,
            ..DeviceCounters::default()
        };
        let after = DeviceCounters {
            busy_ms: 20,
            read_bytes: 1512,
            in_flight: 3,
            ..DeviceCounters::default()
        };
        let moved = delta(&before, &after);
        assert_eq!((moved.busy_ms, moved.read_bytes, moved.written_bytes), (30, 512, 0));
        assert_eq!(moved.in_flight, 3);
    }

    proptest! {
        #[test]
        fn parsing_takes_anything(text in "[0-9 x-]{0,120}") {
            let _ = parse(&text);
        }

        #[test]
        fn a_delta_added_again_gives_the_later_reading(a in 0u64..1 << 40, more in 0u64..1 << 31) {
            let before = DeviceCounters { reads: a, busy_ms: a & 0xFFFF_FFFF, ..Default::default() };
            let after = DeviceCounters {
                reads: a + more,
                busy_ms: (a + more) & 0xFFFF_FFFF,
                ..Default::default()
            };
            let moved = delta(&before, &after);
            prop_assert_eq!((moved.reads, moved.busy_ms), (more, more));
        }
    }
}
