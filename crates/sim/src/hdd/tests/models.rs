//! The model library against known facts of each drive.

use super::host::{Host, mean_ms, random};
use super::phybs::{self, READ, WRITE};
use crate::device::RequestKind::{Flush, Read, Trim, Write};
use crate::device::{RequestKind, SimDevice};
use crate::hdd::{HddFaults, HddParams};
use crate::library::BUILT_IN;
use crate::library::tests::text_of;

const GB: u64 = 1_000_000_000;

pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().filter(|(_, text)| text.contains("\nkind = \"hdd\"")).map(|(name, _)| *name)
}

pub fn file_of(name: &str) -> toml::Table {
    toml::from_str(text_of(name)).unwrap()
}

pub fn model(name: &str) -> HddParams {
    file_of(name)["hdd"].clone().try_into().unwrap()
}

fn host(name: &str) -> Host {
    Host::new(&model(name))
}

fn near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value / expected - 1.0).abs() <= tolerance,
        "{what}: {value:.2} where {expected:.2} is expected"
    );
}

#[test]
fn every_file_is_a_drive_under_its_own_name() {
    assert_eq!(names().count(), 13);
    for name in names() {
        let table = file_of(name);
        assert_eq!(table["name"].as_str(), Some(name));
        assert_eq!(table["kind"].as_str(), Some("hdd"));
        assert_eq!(model(name).validate(), [], "{name}");
    }
}

#[test]
fn a_model_survives_being_written_and_read() {
    for name in names() {
        let params = model(name);
        let text = toml::to_string(&params).unwrap();
        assert_eq!(toml::from_str::<HddParams>(&text).unwrap(), params, "{name}");
    }
}

#[test]
fn an_unknown_field_is_refused() {
    let text = toml::to_string(&model("wd40efrx")).unwrap();
    let error = toml::from_str::<HddParams>(&format!("rpms = 5400\n{text}")).unwrap_err();
    assert!(error.to_string().contains("rpms"), "{error}");
}

#[test]
fn phybs_on_the_drives_of_seed_004() {
    for name in ["wd20ears", "hds722020ala330", "wd4000aaks", "wd10ears"] {
        assert_eq!(phybs::missed(&model(name), name), [], "{name}");
    }
}

#[test]
fn phybs_on_wd20eads_gives_only_regular_half() {
    // 886.9 and 654.0/s where offsets 0 and 512 give 1436.5 and 1675.9: with 512-byte sectors all four
    // offsets are whole sectors, so nothing in the pattern can make these two cost twice as much
    assert_eq!(
        phybs::missed(&model("wd20eads"), "wd20eads"),
        [(WRITE, 4096, 1024), (WRITE, 4096, 2048)]
    );
}

#[test]
fn phybs_on_wd15earx_misses_one_pass() {
    // offsets 512, 1024 and 2048 read the same two sectors each, and gave 4991, 4158 and 3787/s: no one rate
    // is within 10 % of the first and of the last
    assert_eq!(phybs::missed(&model("wd15earx"), "wd15earx"), [(READ, 4096, 512)]);
}

/// Jumper 7-8 shifts the alignment by one sector: offset 3584 is aligned then, offset 0 is not.
#[test]
fn phybs_on_jumpered_wd10ears_misses_aligned_pass() {
    let mut params = model("wd10ears");
    params.alignment_shift_sectors = 1;
    // the same writes of the same kind of drive gave 1418/s without the jumper, which the model has
    assert_eq!(phybs::missed(&params, "wd10ears-jumper"), [(WRITE, 4096, 3584)]);
    let aligned = phybs::pass(&mut Host::new(&params), WRITE, 4096, 3584);
    near("as without the jumper", aligned, 1418.0, 0.10);
}

#[test]
fn every_published_pass_is_checked() {
    fn count(name: &str) -> usize {
        phybs::PUBLISHED.iter().filter(|row| row.0 == name).count()
    }
    let drives = ["wd20ears", "hds722020ala330", "wd4000aaks", "wd10ears", "wd20eads", "wd15earx"];
    assert_eq!(drives.map(count), [4, 4, 4, 4, 4, 24]);
    assert_eq!(count("wd10ears-jumper"), 4);
    assert_eq!(phybs::PUBLISHED.len(), 48);
}

/// Passes of 4 KiB at four offsets after each of twelve starts, blocks per second: least and most of all.
fn rates(name: &str, ops: &[RequestKind]) -> (f64, f64) {
    let params = model(name);
    let (offsets, mut all) = ([0, 512, 1024, 2048], Vec::new());
    for seed in 1..=12 {
        let mut host = Host::with_seed(&params, seed);
        host.disk.begin_anywhere();
        all.extend(offsets.iter().map(|&offset| phybs::pass(&mut host, ops, 4096, offset)));
    }
    let ends = |pick: fn(f64, f64) -> f64, from: f64| all.iter().copied().fold(from, pick);
    (ends(f64::min, f64::INFINITY), ends(f64::max, 0.0))
}

/// Where platter and head are at the start is the only chance that the model has. The drives gave 1437, 1676, 887 and
/// 654/s, and 4375, 4991, 4158 and 3787/s.
#[test]
fn no_start_makes_the_passes_erratic() {
    for (name, ops) in [("wd20eads", WRITE), ("wd15earx", READ)] {
        let (least, most) = rates(name, ops);
        assert!(most < 1.03 * least, "{name}: {least} to {most}");
    }
}

#[test]
fn without_read_modify_write_misalignment_is_free() {
    let mut host = host("wd20ears");
    host.disk.set_faults(HddFaults { no_read_modify_write: true, ..HddFaults::default() });
    // two sectors are written where one would do, but none is waited for: 27 without the fault
    let misaligned = phybs::pass(&mut host, WRITE, 4096, 512);
    assert!(misaligned > 1000.0, "{misaligned}");
}

#[test]
fn rates_at_both_ends_are_those_of_the_zones() {
    // so much that what the write cache still holds is little, and within the outermost and innermost zone
    let span: u64 = 8 << 30;
    for name in ["wd40efrx", "hgst-7k1000", "wd40ezrz", "usb-16tb"] {
        let mut host = host(name);
        let capacity = host.disk.capacity_bytes();
        let zones = host.disk.zones();
        let last = (capacity - 9 * GB) / (1 << 20) * (1 << 20);
        for (offset, zone) in [(0, zones[0]), (last, zones[zones.len() - 1])] {
            assert!(
                zone.offset_bytes <= offset && offset + span <= zone.offset_bytes + zone.len_bytes
            );
            let rate = host.sequential_mb_s(Write, offset, span, 1 << 20);
            near(&format!("{name} at {offset}"), rate, zone.rate_mb_s, 0.01);
            host.rest(10 * GB);
        }
    }
}

#[test]
fn a_whole_pass_takes_so_many_hours() {
    for (name, hours) in
        [("wd40efrx", 8.48), ("hgst-7k1000", 2.58), ("wd40ezrz", 8.8), ("usb-16tb", 21.7)]
    {
        near(name, host(name).disk.full_pass_s() / 3600.0, hours, 0.05);
    }
}

#[test]
fn the_rate_of_a_drive_80_percent_full() {
    let disk = host("wd40ezrz").disk;
    near("wd40ezrz", disk.rate_mb_s_at(disk.capacity_bytes() / 10 * 8), 105.0, 0.05);
}

fn access_ms(name: &str, from: u64, to: u64) -> f64 {
    mean_ms(&host(name).run(1, random(Read, from / 4096 * 4096, to / 4096 * 4096, 4096, 4000)))
}

#[test]
fn random_access_by_region() {
    let capacity = model("usb-16tb").capacity_bytes;
    near("whole disk", access_ms("usb-16tb", 0, capacity), 12.2, 0.05);
    near("first 2 TB", access_ms("usb-16tb", 0, 2000 * GB), 7.9, 0.10);
    near("last 2 TB", access_ms("usb-16tb", capacity - 2000 * GB, capacity), 8.9, 0.10);
    // a 4K figure of 0.6 MB/s over a 1 GB file, printed with one digit: 0.55 to 0.65
    for name in ["wd40efrx", "hgst-7k1000"] {
        let rate = 4.096 / access_ms(name, 0, GB);
        assert!((0.55..0.65).contains(&rate), "{name}: {rate}");
    }
    // 9.28 ms with the bridge, which takes 0.1 ms of it
    near("easystore", access_ms("easystore-2tb", 0, GB / 2) + 0.1, 9.28, 0.10);
}

#[test]
fn archive_drive_is_fast_until_cache_full() {
    fn rate(host: &mut Host, count: usize) -> f64 {
        let begun = host.now;
        let offsets = host.anywhere(Write, 4096, count + begun as usize % 7);
        let sent = offsets.len();
        host.run(1, offsets);
        sent as f64 / ((host.now - begun) as f64 / 1e9)
    }
    let mut params = model("st8000as0002-smr");
    // the same drive with a small map, so that the test is short
    params.smr.as_mut().unwrap().map_extents = 5000;
    let mut host = Host::new(&params);
    let fresh = rate(&mut host, 4000);
    assert!(fresh > 300.0, "{fresh}");
    rate(&mut host, 3000);
    let steady = rate(&mut host, 300);
    assert!((0.3..10.0).contains(&steady), "{steady}");
    assert!(host.disk.shingle_cache_bytes() > 0);
    host.rest(3600 * 5 * GB);
    assert_eq!(host.disk.shingle_cache_bytes(), 0);
}

#[test]
fn trim_frees_an_archive_drives_cache_without_cleaning() {
    let mut host = host("st8000as0002-smr");
    host.run(1, random(Write, 0, 100 * GB / 4096 * 4096, 4096, 500));
    host.one(Flush, 0, 0);
    assert_eq!(host.disk.shingle_cache_bytes(), 500 * 4096);
    host.one(Trim, 0, 200 * GB / 4096 * 4096);
    assert_eq!(host.disk.shingle_cache_bytes(), 0);
}

#[test]
fn an_archive_drive_streams_past_its_cache() {
    let mut host = host("st8000as0002-smr");
    let rate = host.sequential_mb_s(Write, 0, 4 * GB / (1 << 20) * (1 << 20), 1 << 20);
    near("stream", rate, 190.0, 0.05);
    assert_eq!(host.disk.shingle_cache_bytes(), 0);
}
