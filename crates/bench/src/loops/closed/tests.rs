//! The closed loop on drives whose truth is known, in virtual time.

use super::*;
use crate::testing::{SECOND, VirtualQueue, random_reads};
use drivescope_model::cell::{Mix, Order, Shape};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn plan(depth: u32, control: &Control) -> ClosedLoop<'_> {
    ClosedLoop { ramp_ns: 100_000_000, ..random_reads(depth, 1, control) }
}

/// A second of reads after the ramp, of a drive that serves as many at a time.
fn read(depth: u32, service: impl FnMut(&IoRequest, u64) -> Result<u64, i32>) -> Recorder {
    let control = Control::default();
    let mut drive = VirtualQueue::new(depth + 1, depth as usize, service);
    plan(depth, &control).run(&mut drive).unwrap()
}

fn iops(record: &Recorder) -> f64 {
    record.ops as f64 * 1e9 / record.elapsed_ns() as f64
}

#[test]
fn reads_are_batched_by_depth_or_blocking() {
    for (depth, may_block, most) in [(8, false, 2), (8, true, 4), (32, false, 4)] {
        let control = Control::default();
        let mut drive =
            VirtualQueue::new(depth + 1, depth as usize, |_: &IoRequest, _| Ok(100_000));
        let send_together = send_together(depth, may_block);
        ClosedLoop { send_together, ..plan(depth, &control) }.run(&mut drive).unwrap();
        assert_eq!(drive.batch_max, most);
    }
}

#[test]
fn depth_one_shows_service_time_and_its_inverse() {
    let control = Control::default();
    let mut drive = VirtualQueue::new(2, 1, |_: &IoRequest, _| Ok(100_000));
    let record = plan(1, &control).run(&mut drive).unwrap();
    assert_eq!(record.ops, 10_000);
    assert_eq!(record.elapsed_ns(), 1_000_000_000);
    let p50 = record.latencies.value_at_quantile(0.5);
    assert!(p50.abs_diff(100_000) <= 100, "{p50}");
    assert_eq!(control.progress(), (10_000, 10_000 * 4096));
}

/// A request of 1 ms after each pause of 3 ms: 250/s, of which the latency has no part of the pause.
#[test]
fn pauses_are_part_of_the_rate_alone() {
    let control = Control::default();
    let mut drive = VirtualQueue::new(2, 1, |_: &IoRequest, _| Ok(1_000_000));
    let load = ClosedLoop { think_ns: 3_000_000, time_ns: 997_000_000, ..plan(1, &control) };
    let record = load.run(&mut drive).unwrap();
    // The round may end before a pause does.
    assert!((iops(&record) - 250.0).abs() <= 1.0, "{}", iops(&record));
    assert!(record.latencies.max().abs_diff(1_000_000) <= 1_000);
    assert!((drive.depth_mean() - 0.25).abs() < 0.01);
}

#[test]
fn requests_of_several_sizes_count_their_bytes() {
    let control = Control::default();
    let mut drive = VirtualQueue::new(9, 4, |request: &IoRequest, _| Ok(u64::from(request.len)));
    let shape: Shape = "rnd4k60-64k40_q4t1".parse().unwrap();
    let sizes = RequestSizes::new(&shape, 3);
    let record =
        ClosedLoop { sizes, time_ns: SECOND, ..plan(4, &control) }.run(&mut drive).unwrap();
    let bytes = |of: &dyn Fn(&&IoRequest) -> bool| -> u64 {
        drive.served.iter().filter(|it| of(it)).map(|it| u64::from(it.len)).sum()
    };
    assert_eq!(record.sent_bytes, bytes(&|_| true));
    let large = bytes(&|it| it.len == 65_536) as f64 / record.sent_bytes as f64;
    assert!((large - 0.914).abs() < 0.01, "40 % of the requests have {large} of the bytes");
    // Four at a time, a nanosecond for each byte.
    let rate = record.bytes as f64 * 1e9 / record.elapsed_ns() as f64;
    assert!((rate / 4e9 - 1.0).abs() < 0.001, "{rate}");
}

/// 70 % of 100 requests are 60 to 80 of them.
#[test]
fn the_writes_of_a_mix_are_counted() {
    let control = Control::default();
    for (mix, seed) in [("mix70", 1), ("mix70", 2), ("mix1", 3), ("read", 4), ("write", 5)] {
        let mut drive = VirtualQueue::new(9, 8, |_: &IoRequest, _| Ok(10_000_000));
        let offsets = Offsets::new(Order::Rnd, 0..1 << 30, 4096, mix.parse().unwrap(), 0.0, seed);
        let load = ClosedLoop { offsets, ..plan(4, &control) };
        let record = load.run(&mut drive).unwrap();
        let writes = drive.served.iter().filter(|request| request.op == IoOp::Write).count() as u64;
        let all = drive.served.len() as u64;
        assert_eq!((record.requests, record.sent_bytes), (all, all * 4096), "{mix}");
        assert_eq!(record.written_bytes, writes * 4096, "{mix}");
    }
}

/// A barrier per batch would wait for the slowest of eight and reach only a third of this rate.
#[test]
fn the_depth_is_sustained_per_completion() {
    let control = Control::default();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut drive = VirtualQueue::new(9, 8, move |_: &IoRequest, _| {
        Ok((-unit(&mut random).ln() * 1e6) as u64 + 1)
    });
    let record = plan(8, &control).run(&mut drive).unwrap();
    assert_eq!(drive.depth_max, 8);
    assert!(drive.depth_mean() > 7.9, "{}", drive.depth_mean());
    // Eight servers of mean 1 ms serve 8000/s; the standard error is about 1.1 %.
    assert!((7_600.0..8_400.0).contains(&iops(&record)), "{}", iops(&record));
}

#[test]
fn the_ramp_is_not_counted() {
    let record = read(1, |_, at| Ok(if at < 100_000_000 { 1_000 } else { 1_000_000 }));
    assert!(record.ops.abs_diff(1_000) <= 1, "{}", record.ops);
}

#[test]
fn final_stall_shows_in_latency_and_rate() {
    let record = read(1, |_, at| Ok(if at >= 600_000_000 { 3_000_000_000 } else { 1_000_000 }));
    assert!(record.latencies.max() >= 2_990_000_000);
    assert!(record.gap_max_ns >= 2_990_000_000);
    // 500 in the half of the second before it, and a sixth of the one that took so long.
    assert!((499.0..501.0).contains(&iops(&record)), "{}", iops(&record));
}

/// Ten requests of 95 ms fit into a second, and half of another.
#[test]
fn round_ending_within_a_request_is_not_slowed() {
    for depth in [1, 4] {
        let control = Control::default();
        let mut drive = VirtualQueue::new(5, 4, |_: &IoRequest, _| Ok(95_000_000));
        let load = ClosedLoop { ramp_ns: 0, ..plan(depth, &control) };
        let record = load.run(&mut drive).unwrap();
        assert_eq!(record.ops, 10 * u64::from(depth));
        let ratio = iops(&record) / (f64::from(depth) / 0.095);
        assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    }
}

#[test]
fn drive_slower_than_the_round_has_a_rate() {
    let record = read(1, |_, _| Ok(5_000_000_000));
    assert_eq!(record.ops, 1);
    assert!(record.elapsed_ns() >= 4_800_000_000);
}

#[test]
fn single_errors_count_dying_drive_ends_phase() {
    let mut count = 0;
    let record = read(1, |_, _| {
        count += 1;
        if count % 100 == 0 { Err(libc::EIO) } else { Ok(1_000_000) }
    });
    assert_eq!(record.errors, 11);
    assert_eq!(record.first_error.unwrap().errno, libc::EIO);
    let dead = read(8, |_, _| Err(libc::EIO));
    assert!((ERRORS_MAX..ERRORS_MAX + 16).contains(&dead.errors), "{}", dead.errors);
    assert_eq!(read(1, |_, _| Err(libc::ENODEV)).errors, 1);
}

#[test]
fn a_stop_drains_and_returns() {
    let control = Control::default();
    control.stop();
    let mut drive = VirtualQueue::new(9, 8, |_: &IoRequest, _| Ok(1_000_000));
    plan(8, &control).run(&mut drive).unwrap();
    assert!(drive.served.len() <= 16, "{}", drive.served.len());
}

#[test]
fn the_number_of_requests_can_be_bounded() {
    let control = Control::default();
    let mut drive = VirtualQueue::new(5, 4, |_: &IoRequest, _| Ok(1_000));
    let bounded = ClosedLoop { ramp_ns: 0, ops_max: 10, ..plan(4, &control) };
    assert_eq!(bounded.run(&mut drive).unwrap().ops, 10);
    assert_eq!(drive.served.len(), 10);
}

/// Records in which order buffers are filled and requests sent, and what writes carry.
struct Watched<F> {
    drive: VirtualQueue<F>,
    steps: String,
    buffers: Vec<[u8; 4096]>,
    written: Vec<(u64, [u8; 4096])>,
}

impl<F> Watched<F> {
    fn of(drive: VirtualQueue<F>) -> Self {
        Self { drive, steps: String::new(), buffers: vec![[0; 4096]; 8], written: Vec::new() }
    }
}

impl<F: FnMut(&IoRequest, u64) -> Result<u64, i32>> IoQueue for Watched<F> {
    fn slots(&self) -> u32 {
        self.drive.slots()
    }
    fn buffer(&mut self, slot: u16) -> &mut [u8] {
        self.steps.push('f');
        &mut self.buffers[usize::from(slot)]
    }
    fn submit(&mut self, request: IoRequest) {
        self.steps.push('s');
        self.written.push((request.offset, self.buffers[usize::from(request.slot)]));
        self.drive.submit(request);
    }
    fn kick(&mut self) -> io::Result<()> {
        self.drive.kick()
    }
    fn wait_until(&mut self, at_ns: u64, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        self.drive.wait_until(at_ns, done)
    }
    fn now(&self) -> u64 {
        self.drive.now()
    }
}

/// A drive that answers four writes at once gets the next four at once, not one per buffer filled.
#[test]
fn writes_that_end_together_are_replaced_together() {
    let control = Control::default();
    let drive = VirtualQueue::new(8, 4, |_: &IoRequest, _| Ok(1_000_000));
    let mut watched = Watched::of(drive);
    let offsets = Offsets::new(Order::Rnd, 0..1 << 30, 4096, Mix::WRITE, 0.0, 1);
    let writes = ClosedLoop { ramp_ns: 0, offsets, ops_max: 40, ..plan(4, &control) };
    assert_eq!(writes.run(&mut watched).unwrap().ops, 40);
    let sent: Vec<usize> =
        watched.steps.split('f').map(str::len).filter(|&together| together > 0).collect();
    assert_eq!(sent, [4; 10]);
}

/// On a fast drive or a small span a round visits a place again: a drive or file system that deduplicates need not
/// write the same data.
#[test]
fn rewritten_place_gets_other_data() {
    let control = Control::default();
    for order in [Order::Seq, Order::Rnd] {
        let mut watched = Watched::of(VirtualQueue::new(8, 4, |_: &IoRequest, _| Ok(1_000_000)));
        let offsets = Offsets::new(order, 0..4 * 4096, 4096, Mix::WRITE, 0.0, 1);
        let writes = ClosedLoop { ramp_ns: 0, offsets, ops_max: 40, ..plan(4, &control) };
        writes.run(&mut watched).unwrap();
        let mut written = watched.written;
        for (offset, data) in &written {
            assert_eq!(Payload::first_mismatch(1, data, *offset), None, "{order:?}");
        }
        written.sort_unstable();
        written.dedup();
        assert_eq!(written.len(), 40, "{order:?}");
    }
}

#[test]
fn drive_that_finishes_during_the_ramp_is_measured() {
    let control = Control::default();
    let mut drive = VirtualQueue::new(9, 8, |_: &IoRequest, _| Ok(10_000));
    let load = ClosedLoop { ops_max: 11_000, ..plan(8, &control) };
    let record = load.run(&mut drive).unwrap();
    assert_eq!(record.requests, 11_000);
    assert!((9_900..=10_000).contains(&record.ops), "{}", record.ops);
    assert!((790_000.0..810_000.0).contains(&iops(&record)), "{}", iops(&record));
}

/// Rates of rounds of 250 ms after a ramp at depth 8, over the true one: `servers` that take `ms` for each request.
fn short_rounds(
    ramp_ms: u64,
    servers: u32,
    ms: f64,
    mut times: impl FnMut(&mut Xoshiro256PlusPlus) -> f64,
) -> Vec<f64> {
    let mean_ns = ms * 1e6 * f64::from(servers);
    let rate = |seed| {
        let control = Control::default();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let service = |_: &IoRequest, _| Ok((mean_ns * times(&mut random)) as u64 + 1);
        let mut queue = VirtualQueue::new(9, servers as usize, service);
        let load =
            ClosedLoop { ramp_ns: ramp_ms * 1_000_000, time_ns: 250_000_000, ..plan(8, &control) };
        let record = load.run(&mut queue).unwrap();
        iops(&record) * ms / 1e3
    };
    (0..100).map(rate).collect()
}

/// A throttled device answers eight requests one after the other, or all together when their time has come: whole
/// requests would be up to 45 % too many or too few, the same in each round.
#[test]
fn short_deep_round_has_the_device_rate() {
    for (ramp_ms, ms) in [(50, 2.0), (50, 5.0), (50, 11.5), (50, 30.0), (0, 5.0), (0, 11.5)] {
        for servers in [1, 8] {
            let rate = short_rounds(ramp_ms, servers, ms, |_| 1.0)[0];
            assert!((rate - 1.0).abs() < 1e-3, "{ramp_ms} {servers} {ms}: {rate}");
            let rates = short_rounds(ramp_ms, servers, ms, |random| 0.9 + 0.2 * unit(random));
            let far = rates.iter().filter(|rate| (**rate - 1.0).abs() > 0.08).count();
            assert!(far <= 5, "{ramp_ms} {servers} {ms}: {rates:?}");
        }
    }
    // A drive that needs longer for a request than the round lasts.
    for servers in [1, 8] {
        let rate = short_rounds(50, servers, 60.0, |_| 1.0)[0];
        assert!((rate - 1.0).abs() < 1e-3, "{servers}: {rate}");
    }
}

/// Where times have no memory, the part done of a request says nothing of the rest: still right on average.
#[test]
fn short_random_rounds_are_right_on_average() {
    for (ramp_ms, ms) in [(50, 2.0), (50, 11.5), (50, 30.0), (0, 11.5)] {
        let rates = short_rounds(ramp_ms, 8, ms, |random| -unit(random).ln());
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        // The mean of 250/ms requests in each of 100 rounds, and of eight at each edge.
        let error = ((250.0 / ms + 16.0) / 100.0).sqrt() / (250.0 / ms);
        assert!((mean - 1.0).abs() < 3.0 * error, "{ramp_ms} {ms}: {mean} ± {error}");
    }
}

fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}
