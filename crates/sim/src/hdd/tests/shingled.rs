//! Shingled drives: the head's movements, and the bands cleaned.

use super::host::Host;
use super::{bands, mechanism_of, small_drive, zone};
use crate::device::RequestKind::{Flush, Read, Trim, Write};
use crate::hdd::params::{HddParams, RmwParams, SmrParams, ZoneParams};
use crate::hdd::{HddFaults, SlowRegion};

const MIB: u64 = 1 << 20;
const LOG_BYTES: u64 = 64 * MIB;
/// Far from the log, and the beginning of a band.
const FAR: u64 = 3600 * MIB;

/// Bands of 4 MiB, each of them one track, so that every one can begin a stream.
fn shingled() -> HddParams {
    let mut params = small_drive();
    params.zones = ZoneParams::Table { list: vec![zone(243, (4 * MIB / 512) as u32)] };
    params.read_cache.segments = 0;
    params.smr = Some(bands(100.0));
    params
}

fn shingled_with(change: impl FnOnce(&mut SmrParams)) -> HddParams {
    let mut params = shingled();
    change(params.smr.as_mut().unwrap());
    params
}

#[test]
fn head_moves_to_neighbour_sector_in_log() {
    let params = shingled_with(|smr| smr.clean_idle_ms = 1e9);
    let parts = mechanism_of(&params);
    let far = parts.layout().locate((FAR + LOG_BYTES) / 512).cylinder;
    let move_ns = parts.seek().time(far);
    // no wait for the platter is as long
    assert!(move_ns > parts.rotation().period() + 1_000_000, "{move_ns}");
    let mut host = Host::new(&params);
    host.one(Write, FAR + 4096, 4096);
    host.one(Flush, 0, 0);
    host.one(Read, FAR, 4096);
    for offset in [FAR + 4096, FAR + 8192] {
        let time = host.one(Read, offset, 4096);
        assert!(time > move_ns, "{time} of {move_ns} ns at {offset}");
    }
}

#[test]
fn partial_sector_is_read_before_it_is_logged() {
    let mut params = shingled_with(|smr| smr.clean_idle_ms = 1e9);
    params.physical_sector_bytes = 4096;
    params.read_modify_write = Some(RmwParams { batch_sectors: 8, gap_ms: 0.0 });
    params.zones = small_drive().zones;
    // to the log and back; the sector's rest may be at home, or in the log since the last time
    let flushed = |faults: HddFaults, offset: u64, enabled: bool| {
        let mut params = params.clone();
        params.write_cache.enabled = enabled;
        let mut host = Host::new(&params);
        host.disk.set_faults(faults);
        host.one(Write, 0, 4096);
        host.one(Flush, 0, 0);
        let from = host.now;
        host.one(Write, FAR + offset, 4096);
        host.one(Flush, 0, 0);
        host.now - from
    };
    for enabled in [true, false] {
        let whole = flushed(HddFaults::default(), 0, enabled);
        assert!(whole < 12_000_000, "{whole}");
        let partial = flushed(HddFaults::default(), 512, enabled);
        assert!(partial > 28_000_000, "{partial}");
        let hidden = HddFaults { no_read_modify_write: true, ..HddFaults::default() };
        assert!(flushed(hidden, 512, enabled) < 12_000_000);
    }
}

#[test]
fn a_stream_into_bands_meets_bad_spots() {
    fn time(faults: HddFaults) -> u64 {
        let mut params = shingled();
        params.interface_mb_s = 2000.0;
        let mut host = Host::new(&params);
        host.disk.set_faults(faults);
        host.run(1, (0..64).map(|i| (Write, FAR + i * MIB, MIB)));
        host.one(Flush, 0, 0);
        assert_eq!(host.disk.shingle_cache_bytes(), 0, "all of it went to bands");
        host.now
    }
    let slow = SlowRegion { offset: FAR, len: 64 * MIB, extra_revolutions: 2 };
    let further = time(HddFaults { slow_region: Some(slow), ..HddFaults::default() });
    let healthy = time(HddFaults::default());
    // at least as many writes to the medium as tracks, two turns of 10 ms each
    assert!(further > healthy + 15 * 20_000_000, "{further} beside {healthy}");
}

#[test]
fn cleaning_reads_log_and_band_then_writes_band() {
    let params = shingled_with(|smr| smr.band_mib = 40);
    let parts = mechanism_of(&params);
    let home = (FAR + LOG_BYTES) / 512;
    let move_ns = parts.seek().time(parts.layout().locate(home).cylinder);
    let pass_ns = parts.layout().transfer_time(home, 40 * MIB / 512);
    let mut host = Host::new(&params);
    host.one(Write, FAR + 4096, 4096);
    host.one(Flush, 0, 0);
    // the head is at the band, from where it goes to the log and comes back
    let began = host.now + 100_000_000;
    host.one(Read, FAR, 4096);
    host.rest(10_000_000_000);
    let took = host.disk.mechanism_free - began;
    let least = 2 * (move_ns + pass_ns);
    // three waits for the platter of at most a turn, settling
    assert!((least..least + 35_000_000).contains(&took), "{took} ns beside {least}");
}

#[test]
fn append_takes_a_turn_per_stretch() {
    let flushed = |append_extents: u32| {
        let mut host = Host::new(&shingled_with(|smr| smr.append_extents = append_extents));
        host.run(1, (0..12).map(|i| (Write, FAR + i * 8 * MIB, 4096)));
        host.one(Flush, 0, 0)
    };
    for (append_extents, appends) in [(1, 12), (6, 2), (12, 1)] {
        let turns = flushed(append_extents).div_ceil(10_000_000);
        assert!((appends..appends + 2).contains(&turns), "{append_extents}: {turns} turns");
    }
}

#[test]
fn empty_log_leaves_nothing_to_clean() {
    // what a stream has written over, and what was trimmed, part of a band
    let streamed = |host: &mut Host| {
        host.run(1, (0..8).map(|i| (Write, FAR + i * MIB, MIB)));
        host.one(Flush, 0, 0);
    };
    let trimmed = |host: &mut Host| {
        host.one(Trim, FAR + MIB, 2 * MIB);
    };
    for (what, ends) in
        [("streamed", &streamed as &dyn Fn(&mut Host)), ("trimmed", &trimmed), ("left", &|_| {})]
    {
        let mut host = Host::new(&shingled());
        host.one(Write, FAR + MIB + 4096, 4096);
        host.one(Flush, 0, 0);
        ends(&mut host);
        host.rest(50_000_000);
        let before = host.disk.mechanism_free;
        host.rest(10_000_000_000);
        assert_eq!(host.disk.mechanism_free > before, what == "left", "{what}");
        assert_eq!(host.disk.shingle_cache_bytes(), 0, "{what}");
    }
}
