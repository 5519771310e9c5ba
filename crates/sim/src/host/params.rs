//! The parameters of the host: costs of system calls and memory, and the kernel's cache settings.
//!
//! Defaults of the kernel's settings come from Linux: `dirty_*` in Documentation/admin-guide/sysctl/vm.rst
//! (values in mm/page-writeback.c and fs/fs-writeback.c), `read_ahead_kb`, `max_sectors_kb` and `nr_requests`
//! in Documentation/ABI/stable/sysfs-block.

use serde::{Deserialize, Serialize};

use crate::device::{Nanos, whole_ns};
use crate::param_problem::ParamProblem;

/// Bytes in a page, the unit of the page cache.
pub const PAGE_BYTES: u64 = 4096;

/// The host. Times are microseconds, rates decimal, memory binary. Every request runs in a thread of its
/// own on a core of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostParams {
    /// Memory that can hold file data, free and page cache together. Assumed: 8 GiB.
    pub cache_bytes: u64,
    /// From user to kernel and back, µs. Assumed: 0.25, a desktop with the usual mitigations.
    pub syscall_us: f64,
    /// Further work of a buffered read before the first page, µs. Assumed.
    pub read_path_us: f64,
    /// Further work of a buffered write: locks, time stamps, µs. Assumed.
    pub write_path_us: f64,
    /// Further work of a direct read or write: pinning pages, building the request, µs. Assumed.
    pub direct_path_us: f64,
    /// Work for each page that is looked up, found or inserted, µs. Assumed.
    pub page_us: f64,
    /// Further work of a read or write that had to wait for a page from the drive: request, interrupt, waking
    /// up, µs. Assumed: 0, within the paths above.
    pub page_in_us: f64,
    /// Rate of copying between user and kernel, GB/s. Assumed: one core of a desktop.
    pub copy_gb_s: f64,
    /// Largest read-ahead, KiB. Linux: 128 (`read_ahead_kb`).
    pub read_ahead_kib: u64,
    /// Largest request that cached reads and write-back send, KiB. Linux: 1280 (`max_sectors_kb`).
    pub request_max_kib: u64,
    /// Requests that write-back keeps at the device at once. Linux: 64 on SATA (`nr_requests`).
    pub write_requests: u32,
    /// Dirty share of the memory above which write-back begins, %. Linux: 10.
    pub dirty_background_ratio_pct: f64,
    /// Dirty share of the memory that writers cannot exceed, %. Linux: 20.
    pub dirty_ratio_pct: f64,
    /// Age at which a dirty page is due for writing, s. Linux: 30 (`dirty_expire_centisecs` 3000).
    pub dirty_expire_s: f64,
    /// Interval at which write-back looks for such pages, s. Linux: 5 (`dirty_writeback_centisecs` 500).
    pub dirty_writeback_s: f64,
    /// Write rate that throttling assumes before it has measured one, MB/s. Linux: 100 MiB/s (`INIT_BW`).
    pub initial_write_mb_s: f64,
}

impl Default for HostParams {
    fn default() -> Self {
        Self {
            cache_bytes: 8 << 30,
            syscall_us: 0.25,
            read_path_us: 0.25,
            write_path_us: 0.5,
            direct_path_us: 1.5,
            page_us: 0.15,
            page_in_us: 0.0,
            copy_gb_s: 8.0,
            read_ahead_kib: 128,
            request_max_kib: 1280,
            write_requests: 64,
            dirty_background_ratio_pct: 10.0,
            dirty_ratio_pct: 20.0,
            dirty_expire_s: 30.0,
            dirty_writeback_s: 5.0,
            initial_write_mb_s: 104.8576,
        }
    }
}

impl HostParams {
    /// The laptop of "Hard Drive Metrics That Matter" (2015, macOS). Costs are fitted on its two `dd bs=512` runs,
    /// each two system calls
    /// a block: 4.95 µs a block written and 3.27 µs a block read; the share of the bare system call is assumed.
    /// What a missing page costs the kernel is what `time` printed under the script of tiny writes: 26.8 µs of
    /// system time a write, of which the other costs are 4.9, for the 69 % of the writes that meet a missing page.
    /// Read-ahead is three of the largest transfers of 1 MiB (`PREFETCH` in bsd/vfs/vfs_cluster.c of XNU). The
    /// rest is Linux's: what macOS does when it notes more than 401 dirty regions of 1 MiB (`vfs_drt`: the writer
    /// itself sends pages away), and its write-behind of sequential writers, are not modelled.
    pub fn laptop_2015() -> Self {
        Self {
            syscall_us: 1.1,
            read_path_us: 0.86,
            write_path_us: 2.53,
            page_in_us: 31.7,
            read_ahead_kib: 3072,
            request_max_kib: 1024,
            ..Self::default()
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The first field that cannot be, and why.
    pub fn validate(&self) -> Result<(), ParamProblem> {
        let below_limit = self.dirty_ratio_pct * 0.99;
        for (field, value, low, high) in [
            ("syscall_us", self.syscall_us, 0.0, 1e6),
            ("read_path_us", self.read_path_us, 0.0, 1e6),
            ("write_path_us", self.write_path_us, 0.0, 1e6),
            ("direct_path_us", self.direct_path_us, 0.0, 1e6),
            ("page_us", self.page_us, 0.0, 1e6),
            ("page_in_us", self.page_in_us, 0.0, 1e6),
            ("copy_gb_s", self.copy_gb_s, 1e-3, 1e4),
            ("initial_write_mb_s", self.initial_write_mb_s, 1e-3, 1e6),
            ("dirty_expire_s", self.dirty_expire_s, 0.0, 1e6),
            ("dirty_writeback_s", self.dirty_writeback_s, 1e-3, 1e6),
            ("dirty_ratio_pct", self.dirty_ratio_pct, 0.01, 90.0),
            ("dirty_background_ratio_pct", self.dirty_background_ratio_pct, 0.0, below_limit),
            ("cache_bytes", self.cache_bytes as f64, (1 << 20) as f64, (1u64 << 50) as f64),
            ("read_ahead_kib", self.read_ahead_kib as f64, 0.0, 1e6),
            ("request_max_kib", self.request_max_kib as f64, 4.0, 1e6),
            ("write_requests", self.write_requests.into(), 1.0, 65_536.0),
        ] {
            if !(low..=high).contains(&value) {
                return Err(ParamProblem::new(field, format!("is {value}; give {low} to {high}")));
            }
        }
        Ok(())
    }
}

/// The costs in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    pub syscall: Nanos,
    pub read: Nanos,
    pub write: Nanos,
    pub direct: Nanos,
    pub page: Nanos,
    pub page_in: Nanos,
    ns_per_byte: f64,
}

impl Costs {
    pub(super) fn new(params: &HostParams) -> Self {
        Self {
            syscall: to_ns(params.syscall_us),
            read: to_ns(params.syscall_us + params.read_path_us),
            write: to_ns(params.syscall_us + params.write_path_us),
            direct: to_ns(params.syscall_us + params.direct_path_us),
            page: to_ns(params.page_us),
            page_in: to_ns(params.page_in_us),
            ns_per_byte: 1.0 / params.copy_gb_s,
        }
    }

    /// Looking up one page and copying some of it.
    pub(super) fn copy(&self, bytes: u64) -> Nanos {
        self.page + whole_ns(bytes as f64 * self.ns_per_byte)
    }
}

fn to_ns(us: f64) -> Nanos {
    (us * 1000.0).round() as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_files_name_only_what_differs() {
        assert_eq!(HostParams::default().validate(), Ok(()));
        assert_eq!(HostParams::laptop_2015().validate(), Ok(()));
        let params: HostParams = toml::from_str("read_ahead_kib = 4096").expect("parses");
        assert_eq!(params, HostParams { read_ahead_kib: 4096, ..HostParams::default() });
        assert!(toml::from_str::<HostParams>("read_ahead_kb = 4096").is_err());
    }

    #[test]
    fn impossible_values_name_their_field() {
        type Spoil = fn(&mut HostParams);
        let cases: [(&str, Spoil); 5] = [
            ("dirty_background_ratio_pct", |p| p.dirty_background_ratio_pct = 20.0),
            ("dirty_ratio_pct", |p| p.dirty_ratio_pct = f64::NAN),
            ("copy_gb_s", |p| p.copy_gb_s = 0.0),
            ("write_requests", |p| p.write_requests = 0),
            ("cache_bytes", |p| p.cache_bytes = 4096),
        ];
        for (field, spoil) in cases {
            let mut params = HostParams::default();
            spoil(&mut params);
            assert_eq!(params.validate().expect_err(field).field, field);
        }
    }
}
