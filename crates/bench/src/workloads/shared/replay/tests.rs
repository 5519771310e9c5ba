//! Replays on drives whose truth is known.

use super::feed::with_feed;
use super::footprint::Placement;
use super::steps::{Due, ReplayStep, StepCounts, StepMaker, StepRules};
use super::task::{ReplayOutcome, ReplayTask};
use crate::io::payload::Payload;
use crate::io::queue::{IoOp, IoRequest, IoTask};
use crate::loops::control::Control;
use crate::testing::{SECOND, VirtualQueue};
use drivescope_model::options::{ReplayTiming, TraceFit};
use drivescope_trace::built_in::TraceSource;
use drivescope_trace::import::ImportOptions;
use drivescope_trace::{TraceEvent, TraceOp};
use std::io::Write;
use tempfile::NamedTempFile;

const MS: u64 = 1_000_000;

/// A read of 4 KiB.
fn read(at_ms: u64, page: u64, latency_ms: u64) -> TraceEvent {
    let (op, latency_ns) = (TraceOp::Read, Some(latency_ms * MS));
    let offset = page * 4096;
    TraceEvent { at_ns: at_ms * MS, offset, len: 4096, op, fua: false, latency_ns, process: 0 }
}

fn rules(timing: ReplayTiming) -> StepRules {
    StepRules {
        timing,
        think_max_ns: u64::MAX,
        placement: Placement::Same,
        reads_only: false,
        align_bytes: 512,
    }
}

fn steps(rules: StepRules, events: &[TraceEvent]) -> (Vec<ReplayStep>, StepCounts) {
    let (mut maker, mut steps) = (StepMaker::new(rules), Vec::new());
    events.iter().for_each(|event| maker.take(event, &mut steps));
    (steps, maker.counts())
}

/// A log of fio with a read every `every_us`, which has no completions.
fn log_of(reads: u64, every_us: u64) -> (NamedTempFile, TraceSource) {
    let mut file = NamedTempFile::new().unwrap();
    let mut text = "fio version 3 iolog\n0 disk add\n0 disk open\n".to_string();
    for i in 0..reads {
        text += &format!("{} disk read {} 4096\n", i * every_us, i * 4096);
    }
    file.write_all(text.as_bytes()).unwrap();
    let path = file.path().to_path_buf();
    (file, TraceSource::File { path, options: ImportOptions::default() })
}

fn replayed(
    source: &TraceSource,
    rules: StepRules,
    depth: u32,
    queue: &mut VirtualQueue<impl FnMut(&IoRequest, u64) -> Result<u64, i32>>,
) -> ReplayOutcome {
    let control = Control::default();
    let (outcome, counts) = with_feed(source, StepMaker::new(rules), |feed| {
        let payload = Payload::new(1, 1);
        let task = ReplayTask { feed, depth, payload, expected_ns: SECOND, control: &control };
        task.run(queue).unwrap()
    });
    counts.unwrap();
    outcome
}

#[test]
fn each_timing_waits_for_what_it_should() {
    fn idle(ms: u64) -> Due {
        Due::AfterIdle(ms * MS)
    }
    fn at(ms: u64) -> Due {
        Due::At(ms * MS)
    }
    let events = [read(0, 0, 10), read(4, 1, 10), read(1_014, 2, 5)];
    let due = |rules: StepRules| -> Vec<Due> {
        steps(rules, &events).0.iter().map(|step| step.due).collect()
    };
    let dependent = rules(ReplayTiming::Dependent);
    assert_eq!(due(dependent.clone()), [idle(0), Due::AfterSend(4 * MS), idle(1_000)]);
    let capped = StepRules { think_max_ns: 25 * MS, ..dependent };
    assert_eq!(due(capped), [idle(0), Due::AfterSend(4 * MS), idle(25)]);
    let deadlines = rules(ReplayTiming::Deadlines);
    assert_eq!(due(deadlines.clone()), [at(0), at(4), at(1_014)]);
    assert_eq!(due(StepRules { think_max_ns: 0, ..deadlines }), [at(0), at(4), at(14)]);
    assert_eq!(due(rules(ReplayTiming::Asap)), [Due::AfterSend(0); 3]);
}

/// Think time before a write that is left out is not lost, and what is not aligned grows to whole sectors.
#[test]
fn omitted_and_altered_requests_are_counted() {
    let write = |at_ms, fua| TraceEvent { op: TraceOp::Write, fua, ..read(at_ms, 9, 1) };
    let flush = TraceEvent { op: TraceOp::Flush, len: 0, offset: 0, ..read(21, 0, 1) };
    let odd = TraceEvent { offset: 5_000, len: 100, ..read(30, 0, 1) };
    let long = TraceEvent { len: 20 << 20, ..read(40, 0, 1) };
    let discard = TraceEvent { op: TraceOp::Discard, ..read(50, 0, 1) };
    let all = [write(10, true), flush, odd, long, discard];
    let (whole, counts) = steps(rules(ReplayTiming::Dependent), &all);
    let ops: Vec<IoOp> = whole.iter().map(|step| step.op).collect();
    use IoOp::{Read, Sync, WriteThrough};
    assert_eq!(ops, [WriteThrough, Sync, Read, Read, Read, Read]);
    assert_eq!((whole[2].offset, whole[2].len), (4608, 512));
    let lengths: Vec<u32> = whole[3..].iter().map(|step| step.len >> 20).collect();
    assert_eq!(lengths, [8, 8, 4]);
    assert_eq!((counts.steps, counts.altered, counts.discards), (6, 2, 1));
    let reads_only = StepRules { reads_only: true, ..rules(ReplayTiming::Dependent) };
    let (reads, counts) = steps(reads_only, &all);
    assert_eq!(counts.not_written, 2);
    assert_eq!(reads[0].due, Due::AfterIdle(28 * MS), "10 + 10 + 8 ms of thinking");
}

/// An hour of requests, 50 a second, on a drive that takes 3 ms for each: none is late, and nothing drifts.
#[test]
fn an_hour_of_deadlines_does_not_drift() {
    let (_file, source) = log_of(180_000, 20_000);
    let mut drive = VirtualQueue::new(9, 1, |_: &IoRequest, _| Ok(3 * MS));
    let outcome = replayed(&source, rules(ReplayTiming::Deadlines), 8, &mut drive);
    assert_eq!(outcome.recorder.ops, 180_000);
    assert_eq!(outcome.lag.delays.max(), 0);
    assert_eq!(outcome.recorder.elapsed_ns(), 179_999 * 20 * MS + 3 * MS);
    assert_eq!(outcome.busy_ns, 180_000 * 3 * MS);
    assert_eq!(outcome.recorder.gap_max_ns / MS, 3, "what was not asked is no silence");
    assert!(drive.served.windows(2).all(|pair| pair[0].offset + 4096 == pair[1].offset));
}

/// A drive of half the rate: requests wait for a place in the queue, and the delay is reported.
#[test]
fn slow_drive_delays_requests_by_depth() {
    let (_file, source) = log_of(100, 1_000);
    let mut drive = VirtualQueue::new(3, 1, |_: &IoRequest, _| Ok(2 * MS));
    let outcome = replayed(&source, rules(ReplayTiming::Deadlines), 2, &mut drive);
    assert_eq!((outcome.recorder.ops, drive.depth_max), (100, 2));
    assert_eq!(outcome.recorder.elapsed_ns(), 200 * MS);
    let [depth, reading, machine] = outcome.lag.late;
    assert!(depth > 90 && reading + machine == 0, "{:?}", outcome.lag.late);
    assert_eq!(outcome.lag.last_ns, 97 * MS, "sent when the one two before it was done");
    let mut fast = VirtualQueue::new(3, 1, |_: &IoRequest, _| Ok(2 * MS));
    let asap = replayed(&source, rules(ReplayTiming::Asap), 1, &mut fast);
    assert_eq!((asap.recorder.elapsed_ns(), fast.depth_max), (200 * MS, 1));
}

#[test]
fn bad_sector_is_counted_lost_drive_ends_trace() {
    let (_file, source) = log_of(100, 1_000);
    for (errno, done) in [(libc::EIO, 99), (libc::ENODEV, 10)] {
        let bad = move |request: &IoRequest, _| match request.offset {
            40_960 => Err(errno),
            _ => Ok(MS / 10),
        };
        let mut drive = VirtualQueue::new(9, 1, bad);
        let recorder = replayed(&source, rules(ReplayTiming::Deadlines), 8, &mut drive).recorder;
        assert_eq!((recorder.ops, recorder.errors), (done, 1));
        assert_eq!(recorder.first_error.unwrap().offset, 40_960);
    }
}

#[test]
fn oversized_trace_is_packed_or_refused() {
    let mut file = NamedTempFile::new().unwrap();
    let log = "fio version 3 iolog\n1 d read 1099511627776 4096\n2 d read 0 8192\n3 d write 1099511631872 4096\n";
    file.write_all(log.as_bytes()).unwrap();
    let path = file.path().to_path_buf();
    let source = TraceSource::File { path, options: ImportOptions::default() };
    let end = (1 << 40) + 8192;
    let choose = |room, fit| Placement::choose(&source, end, room, fit);
    assert_eq!(choose(end, TraceFit::Exact).unwrap(), Placement::Same);
    let refused = choose(1 << 30, TraceFit::Exact).unwrap_err().to_string();
    assert!(refused.contains("1099511635968") && refused.contains("apps.fit=pack"), "{refused}");
    for (room, far) in [(2 << 20, 1 << 20), (128 << 10, 64 << 10), (16 << 10, 8 << 10)] {
        let placement = choose(room, TraceFit::Pack).unwrap();
        assert_eq!([0, 4096, 1 << 40].map(|at| placement.place(at)), [0, 4096, far], "{room}");
    }
    assert!(choose(12 << 10, TraceFit::Pack).unwrap_err().to_string().contains("16 KiB"));
}
