//! The loop on drives whose truth is known.

use super::*;
use crate::testing::{SECOND, VirtualQueue};
use drivescope_model::watch::{WatchSecond, step_of};

const MS: u64 = 1_000_000;

/// Lines and summary of a drive whose reads take the time of `service`, or fail.
fn lines_and_summary(
    options: WatchOptions,
    service: impl FnMut(&IoRequest, u64) -> Result<u64, i32>,
) -> (Vec<WatchLine>, WatchSummary) {
    let (sender, sightings) = sync_channel(1_000);
    let offsets = Offsets::new(Order::Rnd, 0..1 << 30, 4096, Mix::READ, 0.0, 1);
    let control = Control::default();
    let task = WatchLoop { options, offsets, sightings: sender, control: &control };
    task.run(&mut VirtualQueue::new(1, 1, service)).unwrap();
    let mut tally = WatchTally::new(0, |_| None);
    let mut lines: Vec<WatchLine> =
        sightings.try_iter().flat_map(|sighting| tally.take(sighting)).collect();
    lines.extend(tally.end());
    (lines, tally.summary())
}

fn options() -> WatchOptions {
    let time_ns = 10 * SECOND;
    WatchOptions { block_bytes: 4096, interval_ns: 0, count: u64::MAX, time_ns }
}

fn seconds(lines: &[WatchLine]) -> Vec<&WatchSecond> {
    let mut seconds = Vec::new();
    for line in lines {
        if let WatchLine::Second(second) = line {
            seconds.push(second);
        }
    }
    seconds
}

fn stalls(lines: &[WatchLine]) -> Vec<(f64, f64)> {
    let stall = |line: &WatchLine| match line {
        WatchLine::Stall(read) => Some((read.start_s.round(), read.lat_us / 1e6)),
        _ => None,
    };
    lines.iter().filter_map(stall).collect()
}

#[test]
fn each_second_has_its_reads_and_latencies() {
    let (lines, summary) = lines_and_summary(options(), |_, _| Ok(5 * MS));
    let seconds = seconds(&lines);
    assert_eq!((lines.len(), seconds.len(), summary.reads), (10, 10, 2_000));
    for second in seconds {
        assert_eq!((second.reads, second.errors, second.iops), (200, 0, 200.0));
        assert!((second.lat_p50_us.unwrap() / 5_000.0 - 1.0).abs() < 0.001);
        assert_eq!(second.steps[step_of(5_000.0)], 200);
    }
    assert_eq!((summary.stalls, summary.errors, summary.elapsed_s), (0, 0, 10.0));
    assert!((summary.stall_from_us / 50_000.0 - 1.0).abs() < 0.001, "10 medians, and the floor");
}

#[test]
fn only_stalls_are_reported_before_their_second() {
    // 3 s of silence after the 4th second, and 80 ms somewhere, on a drive of 12 ms.
    fn service(_: &IoRequest, start: u64) -> Result<u64, i32> {
        Ok(match start / MS {
            4_000..4_012 => 3_000 * MS,
            8_000..8_012 => 80 * MS,
            _ => 12 * MS,
        })
    }
    let (lines, summary) = lines_and_summary(options(), service);
    assert_eq!(stalls(&lines), [(4.0, 3.0)]);
    assert_eq!((summary.stalls, summary.stalled_s), (1, 3.0));
    let slowest = summary.slowest.unwrap();
    assert_eq!((slowest.start_s.round(), slowest.lat_us), (4.0, 3e6));
    assert!((slowest.medians - 250.0).abs() < 1.0, "{}", slowest.medians);
    let at = lines.iter().position(|line| matches!(line, WatchLine::Stall(_))).unwrap();
    let WatchLine::Second(after) = &lines[at + 1] else { panic!("{lines:?}") };
    assert!(after.elapsed_s >= 3.0 && after.lat_max_us == Some(3e6), "{after:?}");
}

#[test]
fn waking_drive_stalls_once_usual_is_known() {
    let service = |_: &IoRequest, start: u64| Ok(if start == 0 { 8 * SECOND } else { 10 * MS });
    let (lines, summary) = lines_and_summary(options(), service);
    assert_eq!((stalls(&lines), summary.stalls), (vec![(0.0, 8.0)], 1));
    assert!(matches!(lines[0], WatchLine::Second(_)), "judged with the next second: {lines:?}");
    // Of a drive that is slow throughout, none is.
    let (lines, summary) = lines_and_summary(options(), |_, _| Ok(400 * MS));
    assert_eq!((stalls(&lines), summary.stalls, summary.reads), (vec![], 0, 25));
}

#[test]
fn failed_reads_are_reported_then_the_drive_rests() {
    let mut count = 0;
    let service = |_: &IoRequest, _| {
        count += 1;
        if count % 100 == 0 { Err(libc::EIO) } else { Ok(10 * MS) }
    };
    let (lines, summary) = lines_and_summary(options(), service);
    // 0.99 s of reads and 1 s of rest, five times.
    assert_eq!((summary.errors, summary.reads), (5, 500));
    let errors = lines.iter().filter(|line| matches!(line, WatchLine::Error(_))).count();
    assert_eq!(errors, 5);
    assert_eq!(seconds(&lines).iter().map(|second| second.errors).sum::<u64>(), 5);
}

#[test]
fn lost_drive_ends_watch_with_results_so_far() {
    let service =
        |_: &IoRequest, start: u64| if start > 2 * SECOND { Err(libc::ENODEV) } else { Ok(MS) };
    let (lines, summary) = lines_and_summary(options(), service);
    assert_eq!((summary.errors, summary.elapsed_s.round()), (1, 2.0));
    assert!(summary.reads > 1_900 && seconds(&lines).len() == 3, "{lines:?}");
}

#[test]
fn interval_is_between_reads_and_count_ends_it() {
    let hourly = WatchOptions { interval_ns: 2 * SECOND, count: 4, time_ns: u64::MAX, ..options() };
    let mut sent = Vec::new();
    let (lines, summary) = lines_and_summary(hourly, |_, start| {
        sent.push(start / SECOND);
        Ok(5 * MS)
    });
    assert_eq!((sent, summary.reads), (vec![0, 2, 4, 6], 4));
    assert!(seconds(&lines).iter().map(|second| second.reads).sum::<u64>() == 4, "{lines:?}");
}
