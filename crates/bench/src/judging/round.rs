//! One round of one cell.

use crate::io::cpu_usage::CpuUsage;
use crate::judging::cpu_split::CpuSplit;
use crate::loops::phase::{Load, LoopMode, PhaseResult};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drivescope_machine::counters::DeviceCounters;
use drivescope_machine::processors::CoreTimes;
use drivescope_model::document::{Limiter, PhaseRecord, Series};
use drivescope_model::metrics::PERCENTILES;
use drivescope_model::options::TestKind;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// `hdr-v2-deflate-base64`.
pub(crate) fn encoded(latencies: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(latencies, &mut bytes)
        .expect("writing to a vector does not fail");
    STANDARD.encode(bytes)
}

/// How the page cache takes part in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Bypassed, or in the path only because direct I/O was refused.
    Past,
    /// Reads through it on purpose.
    Reads,
    Writes,
    /// Each write through it waits until it is on the drive.
    SyncedWrites,
}

#[derive(Debug, Clone)]
pub struct Round {
    pub cell: String,
    pub round: u32,
    /// After the start of the run.
    pub start_s: f64,
    /// Between the two readings of the device's counters.
    pub window_s: f64,
    pub measured: PhaseResult,
    pub load: Option<Load>,
    /// Bytes asked of the drive, ramps and lead-ins included: read and written. `None`: unknown, with the page
    /// cache in the path.
    pub asked: Option<(f64, f64)>,
    /// Over the round: of the uppermost block device, of the drive, and of the drive with a loop device's file.
    pub top: Option<DeviceCounters>,
    pub disk: Option<DeviceCounters>,
    pub below_loop: Option<DeviceCounters>,
    pub cores: Option<CoresTaken>,
    pub temperature_c: Option<f64>,
    pub limiter: Limiter,
    pub cache: Cache,
    /// Failed requests ended it: it counts for no figure.
    pub is_cut_short: bool,
    /// The test computes its metrics itself: the round is only a phase of the record.
    pub own_metrics: bool,
    /// Replaces the limiter found by the rules for requests.
    pub own_limiter: Option<Limiter>,
    /// The quantity that its requests per second are.
    pub counts: &'static str,
    pub extra: Vec<(&'static str, f64)>,
}

/// Each name once, in the order of the first.
pub(crate) fn distinct<T: PartialEq>(names: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

impl Round {
    /// All numbers of the round by quantity; only percentiles that `requests`, the fewest of a round of its cell,
    /// can support.
    pub(crate) fn quantities(&self, requests: u64) -> Vec<(&'static str, f64)> {
        let measured = &self.measured;
        let latencies = &measured.recorder.latencies;
        let mut all = vec![
            ("mb_s", measured.mb_s()),
            (self.counts, measured.iops()),
            ("lat_mean_us", latencies.mean() / 1e3),
        ];
        let held =
            PERCENTILES.iter().filter(|percentile| requests >= percentile.round_requests_min());
        all.extend(held.map(|percentile| {
            (percentile.key, latencies.value_at_quantile(percentile.share) as f64 / 1e3)
        }));
        all.push(("lat_max_us", latencies.max() as f64 / 1e3));
        if let Some(Load { mode: LoopMode::Open { rate, .. }, .. }) = &self.load {
            all.push(("offered_iops", *rate));
        }
        all.extend_from_slice(&self.extra);
        all
    }

    pub fn block_bytes(&self) -> u64 {
        let recorder = &self.measured.recorder;
        recorder.bytes / recorder.ops.max(1)
    }

    pub(crate) fn record(&self, split: CpuSplit) -> PhaseRecord {
        let (measured, cpu_cost) = (&self.measured, &self.measured.cpu_cost);
        let percent = |ns: u64| ns as f64 / cpu_cost.wall_ns.max(1) as f64 * 100.0;
        let cpu_pct = percent(cpu_cost.usage.cpu_ns);
        PhaseRecord {
            cell: self.cell.clone(),
            round: self.round,
            start_s: self.start_s,
            elapsed_s: measured.elapsed_s(),
            span_bytes: self.load.as_ref().map(|load| load.span.end - load.span.start),
            ops: measured.recorder.ops,
            bytes: measured.recorder.bytes,
            errors: measured.recorder.errors,
            depth_mean: measured.depth_mean().min(self.depth_max()),
            cpu_busiest_pct: percent(cpu_cost.busiest_cpu_ns),
            cpu_user_pct: cpu_pct * split.share,
            cpu_sys_pct: cpu_pct * split.of_kernel().share,
            cpu_wait_pct: cpu_cost.wait_ns.map(percent),
            cpu_others_pct: self.cores.map(|cores| cores.others_pct()),
            cpu_steal_pct: self.cores.map(|cores| cores.steal_pct()),
            context_switches: cpu_cost.usage.switches,
            device_read_bytes: self.top.map(|t| t.read_bytes),
            device_written_bytes: self.top.map(|t| t.written_bytes),
            device_busy_pct: self.busy_pct(),
            temperature_c: self.temperature_c,
            limiter: self.limiter,
            engine: measured.engine,
            latencies: (!measured.recorder.latencies.is_empty())
                .then(|| encoded(&measured.recorder.latencies)),
        }
    }

    /// Most requests in flight. The latency of one that outlives a short round counts whole, so that Little's law
    /// would give more.
    fn depth_max(&self) -> f64 {
        let closed = self.load.as_ref().filter(|load| load.mode == LoopMode::Closed);
        closed.map_or(f64::INFINITY, |load| f64::from(load.shape.depth * load.shape.threads))
    }

    pub fn busy_pct(&self) -> Option<f64> {
        self.top.map(|top| (top.busy_ms as f64 / self.window_s / 10.0).min(100.0))
    }

    /// Whether the page cache is in the path because the cell is about it.
    pub fn cached_on_purpose(&self) -> bool {
        self.cache != Cache::Past
    }

    /// Whether memory answers it on purpose: unlike synced writes, it need not reach the drive.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self.cache, Cache::Reads | Cache::Writes)
    }

    /// Whole intervals only.
    pub fn rates_mb_s(&self) -> Vec<f64> {
        let recorder = &self.measured.recorder;
        let seen_ns = recorder.elapsed_ns().min(recorder.window_ns());
        let whole = (seen_ns / recorder.interval_ns) as usize;
        let seconds = recorder.interval_ns as f64 / 1e9;
        let intervals = recorder.intervals.iter().take(whole);
        intervals.map(|interval| interval.bytes as f64 / seconds / 1e6).collect()
    }

    pub(crate) fn series(&self, test: TestKind) -> Series {
        let y = self.rates_mb_s();
        let seconds = self.measured.recorder.interval_ns as f64 / 1e9;
        Series {
            key: format!("{test}.{}.mb_s#{}", self.cell, self.round),
            x_unit: "s".to_string(),
            y_unit: "MB/s".to_string(),
            x: (0..y.len()).map(|i| (i as f64 + 0.5) * seconds).collect(),
            y,
        }
    }
}

/// What others had of the processors between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CoresTaken {
    /// Other programs and interrupts.
    pub others_ns: u64,
    /// The part of `others_ns` that was neither the kernel's own work nor its work for a program.
    pub programs_ns: u64,
    /// The hypervisor ran other guests.
    pub steal_ns: u64,
    /// Of all cores.
    pub total_ns: u64,
}

impl CoresTaken {
    pub fn of(all: CoreTimes, own: CpuUsage) -> Self {
        let others_ns = all.busy_ns.saturating_sub(own.cpu_ns);
        let programs_ns = all.programs_ns.saturating_sub(own.user_ns).min(others_ns);
        Self { others_ns, programs_ns, steal_ns: all.steal_ns, total_ns: all.total_ns }
    }

    /// The work of a program that serves the file system is not another program's.
    #[must_use]
    pub fn by_the_file_system(self) -> Self {
        Self { programs_ns: 0, ..self }
    }

    /// Percent of all cores.
    pub fn others_pct(self) -> f64 {
        self.others_ns as f64 / self.total_ns.max(1) as f64 * 100.0
    }

    /// Percent of all cores.
    pub fn steal_pct(self) -> f64 {
        self.steal_ns as f64 / self.total_ns.max(1) as f64 * 100.0
    }
}
