//! The open loop on drives whose truth is known, in virtual time.

use super::*;
use crate::testing::{SECOND, VirtualQueue};
use drivescope_model::cell::{Mix, Order};

fn plan(arrivals: Arrivals, rate: f64, seconds: u64, control: &Control) -> OpenLoop<'_> {
    OpenLoop {
        schedule: Schedule::new(arrivals, rate, 5),
        block_bytes: 4096,
        offsets: Offsets::new(Order::Rnd, 0..1 << 30, 4096, Mix::READ, 0.0, 1),
        ramp_ns: 0,
        time_ns: seconds * SECOND,
        control,
    }
}

#[test]
fn fixed_rate_within_capacity_has_service_latency() {
    let control = Control::default();
    let mut drive = VirtualQueue::new(129, 1, |_: &IoRequest, _| Ok(1_000_000));
    let record = plan(Arrivals::Fixed, 500.0, 2, &control).run(&mut drive).unwrap();
    assert!(record.ops.abs_diff(1_000) <= 1, "{}", record.ops);
    assert!(record.latencies.max() <= 1_001_000, "{}", record.latencies.max());
}

/// M/D/1 with ρ = 0.5: mean wait ρs/(2(1-ρ)) = 0.5 s, so the mean latency is 1.5 service times
/// (Pollaczek–Khinchine).
#[test]
fn poisson_arrivals_queue_as_theory_says() {
    let control = Control::default();
    let mut drive = VirtualQueue::new(129, 1, |_: &IoRequest, _| Ok(1_000_000));
    let record = plan(Arrivals::Poisson, 500.0, 200, &control).run(&mut drive).unwrap();
    let mean_ms = record.latencies.mean() / 1e6;
    assert!((1.45..1.55).contains(&mean_ms), "{mean_ms}");
}

/// Coordinated omission: the drive stops for one second in a hundred. A closed loop sees one slow request; here
/// every request intended during the stall waits.
#[test]
fn a_stall_shows_in_every_request_that_waited() {
    let control = Control::default();
    let mut drive = VirtualQueue::new(129, 1, |_, at| {
        Ok(if (3 * SECOND..3 * SECOND + 1_000_000).contains(&at) { SECOND } else { 100_000 })
    });
    let record = plan(Arrivals::Fixed, 1_000.0, 10, &control).run(&mut drive).unwrap();
    let share_above = |ns: u64| {
        let below = record.latencies.count_between(0, ns) as f64;
        1.0 - below / record.latencies.len() as f64
    };
    // A thousand of ten thousand requests were intended during the stall; half of them wait 0.5 s.
    assert!((0.04..0.06).contains(&share_above(SECOND / 2)), "{}", share_above(SECOND / 2));
    assert!(record.latencies.value_at_quantile(0.999) > 950_000_000);
}

/// A ramp leaves a backlog that lasts for all of the measured time: the drive is busy nevertheless.
#[test]
fn overload_has_the_drive_rate_and_counts_unsent_requests() {
    for ramp_ns in [0, 2 * SECOND] {
        let control = Control::default();
        let mut drive = VirtualQueue::new(129, 1, |_: &IoRequest, _| Ok(10_000_000));
        let load = OpenLoop { ramp_ns, ..plan(Arrivals::Fixed, 1_000.0, 5, &control) };
        let record = load.run(&mut drive).unwrap();
        assert!(record.ops.abs_diff(500) <= 2, "{ramp_ns}: {}", record.ops);
        assert!(record.due.abs_diff(5_000) <= 1, "{ramp_ns}: {}", record.due);
        let overdue = if ramp_ns > 0 { record.ops } else { 0 };
        assert_eq!(record.overdue, overdue, "after a ramp, nothing due since is done");
        assert_eq!(record.bytes, record.ops * 4096);
        assert!(record.latencies.len() >= 4_990, "{ramp_ns}: {}", record.latencies.len());
        assert!(record.latencies.value_at_quantile(0.5) > 2 * SECOND);
    }
}
