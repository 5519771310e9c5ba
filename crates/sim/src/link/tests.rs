//! The link over a drive whose truth is known.

mod document;

use proptest::prelude::*;

use super::*;
use crate::device::RequestKind::{Flush, Read, Trim, Write};
use crate::device::{Nanos, RequestKind, SimDevice, SimOutcome, SimRequest};
use crate::testing::{TestDrive, request, run_all, serve};

const MS: Nanos = 1_000_000;

/// A drive that takes 1 ms for everything, several at a time, and moves data in no time.
fn parallel(servers: usize) -> TestDrive {
    TestDrive::new(servers, MS, |_| 1e12)
}

fn plain(kind: LinkParams) -> LinkParams {
    LinkParams { command_us: 0.0, latency_us: 0.0, status_us: 0.0, ..kind }
}

fn scattered_reads(count: u64) -> impl Iterator<Item = SimRequest> {
    (0..count).map(|i| request(i, Read, (i * 7919 % 100_000) * 8192, 4096))
}

#[test]
fn bulk_only_serialises() {
    let mut link = LinkLayer::new(&LinkParams::usb3_bulk_only(), parallel(64)).unwrap();
    let served = serve(&mut link, 0, 32, scattered_reads(100));
    assert_eq!(link.inner().depth_seen, 1);
    let ids: Vec<u64> = served.iter().map(|one| one.id).collect();
    assert_eq!(ids, (0..100).collect::<Vec<_>>(), "bulk-only does not reorder");
    assert_eq!(served[99].answered, 100 * (MS + 100_000));
}

#[test]
fn uas_and_sata_overlap_up_to_their_depth() {
    for (params, depth) in [(LinkParams::usb3_uas(), 30), (LinkParams::sata_6g(), 32)] {
        let mut link = LinkLayer::new(&params, parallel(1000)).unwrap();
        let end = serve(&mut link, 0, 128, scattered_reads(3000))[2999].answered;
        assert_eq!(link.inner().depth_seen, depth, "{}", params.name);
        let alone = 3000 * MS;
        assert!(end < alone / 15, "{}: {end}", params.name);
    }
}

#[test]
fn nvme_goes_past_a_thousand() {
    let mut link = LinkLayer::new(&LinkParams::pcie3_x4(), parallel(5000)).unwrap();
    serve(&mut link, 0, 4096, scattered_reads(20_000));
    assert!(link.inner().depth_seen > 4000, "{}", link.inner().depth_seen);
}

#[test]
fn the_controller_caps_commands_per_second() {
    let mut link =
        LinkLayer::new(&LinkParams::usb3_uas(), TestDrive::new(64, 1000, |_| 1e12)).unwrap();
    let end = serve(&mut link, 0, 30, scattered_reads(10_000))[9999].answered;
    let per_second = 10_000.0 * 1e9 / end as f64;
    let cap = 1e6 / LinkParams::usb3_uas().command_us;
    assert!((per_second / cap - 1.0).abs() < 0.01, "{per_second} against {cap}");
}

#[test]
fn large_request_ends_with_its_last_part() {
    let params = LinkParams { max_transfer_bytes: Some(122_880), ..LinkParams::usb3_bulk_only() };
    let mut link = LinkLayer::new(&params, parallel(4)).unwrap();
    link.submit(0, request(7, Write, 4096, 1 << 20));
    let done = run_all(&mut link);
    let parts = link.inner().requests(Write);
    let lens: Vec<u64> = parts.iter().map(|&(_, len)| len).collect();
    assert_eq!(lens, [[122_880; 8].as_slice(), &[65_536]].concat());
    assert!(parts.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0));
    assert_eq!((done.len(), done[0].id), (1, 7));
    // nine commands, one after the other, of which the first moves the drive
    assert_eq!(done[0].at, 9 * 100_000 + MS);
}

#[test]
fn force_unit_access_reaches_the_drive_with_every_part() {
    let params = LinkParams { max_transfer_bytes: Some(122_880), ..LinkParams::usb3_bulk_only() };
    for fua in [true, false] {
        let mut link = LinkLayer::new(&params, parallel(4)).unwrap();
        link.submit(0, SimRequest { fua, ..request(7, Write, 4096, 1 << 20) });
        run_all(&mut link);
        assert_eq!(link.inner().log.len(), 9);
        assert!(link.inner().log.iter().all(|(_, part)| part.fua == fua), "{fua}");
    }
}

#[test]
fn a_command_pays_controller_latency_and_status_once() {
    let params = LinkParams::usb3_uas();
    for op in [Read, Write] {
        let mut link = LinkLayer::new(&params, parallel(1)).unwrap();
        link.submit(0, request(1, op, 0, 1 << 20));
        let end = run_all(&mut link)[0].at;
        assert_eq!(link.inner().log[0].0, 35_000, "controller and latency");
        assert_eq!(end, 45_000 + MS, "and status");
    }
}

#[test]
fn statuses_of_several_commands_overlap() {
    let params = LinkParams { status_us: 40.0, ..plain(LinkParams::usb3_uas()) };
    let mut link = LinkLayer::new(&params, parallel(64)).unwrap();
    for i in 0..8 {
        link.submit(0, request(i, Read, i * 8192, 4096));
    }
    let ends: Vec<Nanos> = run_all(&mut link).iter().map(|c| c.at).collect();
    assert_eq!(ends, [MS + 40_000; 8]);
}

#[test]
fn impossible_request_fails_within_a_command_time() {
    let mut link = LinkLayer::new(&LinkParams::usb3_uas(), parallel(1)).unwrap();
    link.submit(MS, request(1, Read, 100, 512));
    let done = run_all(&mut link);
    assert_eq!((done[0].outcome, done[0].at), (SimOutcome::Invalid, MS + 30_000));
}

#[test]
fn sata_flush_and_trim_run_alone() {
    for op in [Flush, Trim] {
        waits_and_holds_back(op);
    }
}

fn waits_and_holds_back(alone: RequestKind) {
    let len = if alone == Trim { 4096 } else { 0 };
    let order = |params: LinkParams| {
        let mut link = LinkLayer::new(&plain(params), parallel(64)).unwrap();
        for i in 0..4 {
            link.submit(0, request(i, Read, i * 8192, 4096));
        }
        link.submit(0, request(4, alone, 0, len));
        link.submit(0, request(5, Read, 1 << 20, 4096));
        run_all(&mut link);
        let log = &link.inner().log;
        let at = |op: RequestKind, offset: u64| {
            log.iter().find(|(_, r)| r.op == op && r.offset == offset).expect("sent").0
        };
        (at(alone, 0), at(Read, 1 << 20))
    };
    let (alone_at, read_at) = order(LinkParams::sata_6g());
    assert!(alone_at >= MS && read_at >= alone_at + MS, "{alone:?}: {alone_at} {read_at}");
    assert_eq!(order(LinkParams::pcie3_x4()), (0, 0));
}

#[test]
fn flush_can_be_ignored_and_trim_refused() {
    let params = LinkParams { flush: NonData::Ignored, ..LinkParams::usb3_bulk_only() };
    let mut link = LinkLayer::new(&params, parallel(1)).unwrap();
    link.submit(0, request(1, Flush, 0, 0));
    link.submit(0, request(2, Trim, 0, 4096));
    let outcomes: Vec<SimOutcome> = run_all(&mut link).iter().map(|c| c.outcome).collect();
    assert_eq!(outcomes, [SimOutcome::Done, SimOutcome::Invalid]);
    assert!(link.inner().log.is_empty());
}

#[test]
fn bridge_answer_costs_a_command() {
    fn flushed(params: LinkParams) -> [u64; 2] {
        let params = LinkParams { flush: NonData::Ignored, ..params };
        let mut link = LinkLayer::new(&params, parallel(1)).unwrap();
        link.submit(0, request(1, Read, 0, 4096));
        link.submit(0, request(2, Flush, 0, 0));
        let done = run_all(&mut link);
        [1, 2].map(|id| done.iter().find(|c| c.id == id).unwrap().at)
    }
    // 70 and 30 µs: the bridge has one command at a time
    let [read, flush] = flushed(LinkParams::usb3_bulk_only());
    assert_eq!(flush, read + 100_000);
    // 30, 5 and 10 µs: it has several, and takes them one after the other
    let [read, flush] = flushed(LinkParams::usb3_uas());
    assert_eq!(flush, 75_000);
    assert!(read > flush);
}

#[test]
fn errors_of_one_part_fail_the_request() {
    for bad in [0, 1 << 20] {
        let mut drive = parallel(1);
        drive.fails = Some((bad, SimOutcome::MediaError));
        let mut link = LinkLayer::new(&plain(LinkParams::usb3_bulk_only()), drive).unwrap();
        link.submit(0, request(1, Read, 0, 2 << 20));
        link.submit(0, request(2, Read, 4 << 20, 4096));
        let done = run_all(&mut link);
        let outcomes: Vec<SimOutcome> = done.iter().map(|c| c.outcome).collect();
        assert_eq!(outcomes, [SimOutcome::MediaError, SimOutcome::Done], "the part at {bad}");
    }
}

#[test]
fn a_hidden_head_shifts_the_drive_under_the_host() {
    let mut params = LinkParams::usb3_uas();
    params.bridge.hidden_head_bytes = 1024;
    let mut link = LinkLayer::new(&params, parallel(1)).unwrap();
    let capacity = (1 << 40) - 1024;
    assert_eq!(link.capacity_bytes(), capacity);
    link.submit(0, request(1, Read, capacity - 512, 512));
    link.submit(0, request(2, Read, capacity, 512));
    let mut outcomes: Vec<_> = run_all(&mut link).iter().map(|c| (c.id, c.outcome)).collect();
    outcomes.sort_by_key(|&(id, _)| id);
    assert_eq!(outcomes, [(1, SimOutcome::Done), (2, SimOutcome::Invalid)]);
    params.bridge.hidden_head_bytes = 100;
    let problem = LinkLayer::new(&params, parallel(1)).unwrap_err();
    assert_eq!(problem.field, "bridge.hidden_head_bytes");
}

#[test]
fn bridges_hide_the_tail_and_change_the_sector() {
    let mut params = LinkParams::usb3_uas();
    params.bridge.logical_sector_bytes = Some(4096);
    params.bridge.hidden_tail_bytes = 5000;
    let mut link = LinkLayer::new(&params, parallel(1)).unwrap();
    let capacity = (1 << 40) - 8192;
    assert_eq!((link.capacity_bytes(), link.sector_bytes()), (capacity, 4096));
    link.submit(0, request(1, Read, 512, 512));
    link.submit(0, request(2, Read, capacity, 4096));
    link.submit(0, request(3, Read, capacity - 4096, 4096));
    let mut outcomes: Vec<_> = run_all(&mut link).iter().map(|c| (c.id, c.outcome)).collect();
    outcomes.sort_by_key(|&(id, _)| id);
    assert_eq!(
        outcomes,
        [(1, SimOutcome::Invalid), (2, SimOutcome::Invalid), (3, SimOutcome::Done)]
    );

    let mut four_k_native = parallel(1);
    four_k_native.sector_bytes = 4096;
    params.bridge.logical_sector_bytes = Some(512);
    let problem =
        LinkLayer::new(&params, four_k_native).expect_err("cannot write part of a sector");
    assert_eq!(problem.field, "bridge.logical_sector_bytes");
}

proptest! {
    #[test]
    fn command_reaches_drive_after_controller_and_latency(
        gaps_us in prop::collection::vec(0u64..200, 1..30),
    ) {
        let mut link = LinkLayer::new(&LinkParams::usb3_uas(), TestDrive::new(3, 100_000, |_| 200.0)).unwrap();
        let (mut now, mut free_at) = (0, 0);
        let mut expected = Vec::new();
        for (id, gap_us) in (0..).zip(gaps_us) {
            now += gap_us * 1000;
            link.submit(now, request(id, Read, id << 20, 4096));
            free_at = now.max(free_at) + 30_000;
            expected.push((free_at + 5_000, id << 20));
        }
        run_all(&mut link);
        let arrived: Vec<_> = link.inner().log.iter().map(|(at, r)| (*at, r.offset)).collect();
        prop_assert_eq!(arrived, expected);
    }

    #[test]
    fn requests_end_once_in_order_and_reach_drive(
        list in prop::collection::vec((0u64..1000, 1u64..2000, any::<bool>(), 0u64..500), 1..60),
        which in 0usize..4,
    ) {
        let params = [
            LinkParams::sata_6g(),
            LinkParams::pcie3_x4(),
            LinkParams::usb3_bulk_only(),
            LinkParams::usb3_uas(),
        ][which].clone();
        let mut link = LinkLayer::new(&params, TestDrive::new(3, 100_000, |_| 200.0)).unwrap();
        let mut now = 0;
        let mut sent = 0;
        let mut done = Vec::new();
        for (id, &(place, sectors, write, gap_us)) in list.iter().enumerate() {
            now += gap_us * 1000;
            link.advance(now, &mut done);
            let op = if write { Write } else { Read };
            link.submit(now, request(id as u64, op, place << 20, sectors * 512));
            sent += sectors * 512;
        }
        done.extend(run_all(&mut link));
        prop_assert_eq!(link.inner().bytes_read + link.inner().bytes_written, sent);
        prop_assert!(done.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let mut ids: Vec<u64> = done.iter().map(|c| c.id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..list.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(link.next_completion(), None);
    }
}
