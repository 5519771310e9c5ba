//! Small drives for tests, and a closed loop that drives them.

use super::ftl::Sink;
use super::geometry::Ppn;
use super::params::{
    BufferParams, ControllerParams, FlashParams, MapParams, PortParams, SlcParams, SsdParams,
    ThermalParams,
};
use crate::device::{Nanos, RequestKind, SimDevice, SimOutcome, SimRequest};
use crate::ssd::Ssd;
use crate::testing::{ask, serve};

/// 1 GiB on 8 dies, without SLC cache or thermal part.
pub(super) fn small() -> SsdParams {
    SsdParams {
        capacity_bytes: 1 << 30,
        sector_bytes: 512,
        mapping_unit_bytes: 4096,
        spare_share: 0.28,
        controller: ControllerParams {
            queue_depth: 32,
            read_command_us: 10.0,
            write_command_us: 8.0,
            command_interval_us: 1.0,
            trim_command_us: 50.0,
            trim_us_per_gib: 100.0,
            read_ahead_kib: 0,
        },
        port: Some(port(2000.0, 1.0)),
        map: MapParams { cache_mib: 1.0 },
        buffer: BufferParams {
            size_kib: 8192,
            power_loss_protection: false,
            flush_commit_us: 1000.0,
            merge_before_ack: true,
        },
        flash: FlashParams {
            channels: 4,
            dies_per_channel: 2,
            planes_per_die: 2,
            page_kib: 16,
            pages_per_block: 24,
            bits_per_cell: 3,
            channel_mb_s: 800.0,
            read_us: vec![50.0, 60.0, 70.0],
            program_us: 1500.0,
            erase_us: 3000.0,
            slc_read_us: 30.0,
            slc_program_us: 300.0,
            suspend_us: Some(20.0),
            retry_share: 0.0,
            retry_us: 0.0,
        },
        slc: None,
        thermal: None,
    }
}

pub(super) fn small_with(change: impl FnOnce(&mut SsdParams)) -> SsdParams {
    let mut params = small();
    change(&mut params);
    params
}

pub(super) fn full(params: SsdParams) -> Ssd {
    let mut ssd = Ssd::new(params, 1).unwrap();
    ssd.precondition(1.0);
    ssd
}

/// A cache of which the dynamic part takes up to half of the free blocks.
pub(super) fn slc(static_gb: f64, dynamic_max_gb: f64, idle_before_fold_ms: f64) -> SlcParams {
    SlcParams { static_gb, dynamic_max_gb, dynamic_free_share: 0.5, idle_before_fold_ms }
}

pub(super) fn with_port(mut params: SsdParams, rate_mb_s: f64, command_us: f64) -> SsdParams {
    params.port = Some(port(rate_mb_s, command_us));
    params
}

pub(super) fn port(rate_mb_s: f64, command_us: f64) -> PortParams {
    PortParams { read_mb_s: rate_mb_s, write_mb_s: rate_mb_s, command_us, full_duplex: true }
}

/// Throttles to 0.4 at 70 °C; 4 W in the long run give 40 °C above 30 °C.
pub(super) fn thermal() -> ThermalParams {
    ThermalParams {
        ambient_c: 30.0,
        idle_w: 0.5,
        read_j_per_gb: 4.0,
        write_j_per_gb: 8.0,
        resistance_c_per_w: 10.0,
        time_constant_s: 20.0,
        throttle_start_c: 70.0,
        throttle_stop_c: 60.0,
        throttle_factor: 0.4,
    }
}

pub(super) fn request(op: RequestKind, offset: u64, len: u64) -> SimRequest {
    SimRequest { id: 0, op, offset, len, fua: false }
}

/// Submits at `now` with nothing outstanding, and returns when it is done.
pub(super) fn one(
    drive: &mut impl SimDevice,
    now: Nanos,
    op: RequestKind,
    offset: u64,
    len: u64,
) -> Nanos {
    let answer = ask(drive, now, request(op, offset, len));
    assert_eq!(answer.outcome, SimOutcome::Done);
    answer.at
}

/// Keeps `depth` requests outstanding until `count` are done; `next` gives offset and length of each.
/// Returns the time of the last completion.
pub(super) fn closed_loop<D: SimDevice>(
    drive: &mut D,
    now: Nanos,
    op: RequestKind,
    count: u64,
    depth: u64,
    mut next: impl FnMut(u64) -> (u64, u64),
) -> Nanos {
    let requests = (0..count).map(|id| {
        let (offset, len) = next(id);
        SimRequest { id, ..request(op, offset, len) }
    });
    serve(drive, now, depth as usize, requests).last().map_or(now, |last| last.answered)
}

/// Reads `count` times 4 KiB at random places of a [`small`] drive; returns the time of the last completion.
pub(super) fn random_reads(ssd: &mut Ssd, count: u64, depth: u64) -> Nanos {
    let mut offsets = Offsets(7);
    closed_loop(ssd, 0, RequestKind::Read, count, depth, |_| {
        (offsets.below((1 << 30) / 4096) * 4096, 4096)
    })
}

/// Ignores all work.
pub(super) struct NullSink;

impl Sink for NullSink {
    fn moved(&mut self, _from: Ppn, _from_slc: bool, _to: Ppn, _units: u32) {}
    fn opened(&mut self, _block: u32) {}
}

pub(super) struct Offsets(pub(super) u64);

impl Offsets {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 20) % bound
    }
}
