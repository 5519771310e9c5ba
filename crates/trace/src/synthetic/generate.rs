//! Requests with given sums. Integers only: every machine makes the same ones.

use super::SyntheticTrace;
use crate::error::TraceError;
use crate::event::{EventSink, TraceEvent, TraceOp};

/// The unit of lengths and places.
const PAGE: u64 = 4096;
/// Mean bytes that are read of a file: between the means of file sizes in 2000 and 2004 (Agrawal 2007, 108 and 189 kB).
const FILE_BYTES: u64 = 150_000;
/// Writes go to an area of this size at most: scratch files are written anew.
const WRITE_AREA_BYTES: u64 = 512 << 20;
/// Areas begin at multiples of this.
const AREA_UNIT: u64 = 1 << 20;
/// One read in this many is sent together with the next (90 % at depth 1 and 2 in AnandTech's light trace).
const READ_PAIRS: u64 = 5;
/// Writes that are sent together: the page cache writes back in batches (mean depth 4.6 in the same trace).
const WRITE_BATCH: usize = 4;
/// Requests of a batch are in flight together for this long on the drive of the trace, which takes no time.
const LATENCY_NS: u64 = 1_000;
/// Longest doublings of a think time and of a stretch above the shortest.
const THINK_DOUBLINGS: u32 = 16;
const STRETCH_DOUBLINGS: u32 = 8;

/// SplitMix64 (Steele, Lea and Flood 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// 1 half of the time, 2 a quarter, 4 an eighth, …: many short ones and few that are as long together.
    fn doubling(&mut self, doublings: u32) -> u64 {
        1 << self.next().trailing_zeros().min(doublings)
    }

    /// Fisher and Yates.
    fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// A whole in parts of these weights.
fn parts(whole: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let (mut so_far, mut given) = (0u128, 0);
    let part = |weight: &u64| {
        so_far += u128::from(*weight);
        let upto = (u128::from(whole) * so_far / sum.max(1)) as u64;
        let part = upto - given;
        given = upto;
        part
    };
    weights.iter().map(part).collect()
}

/// Requests that continue where the one before ended: lengths in pages.
type Stretch = Vec<u64>;

/// `starts` stretches with `starts + continuing` requests and `bytes` together.
fn stretches(random: &mut SplitMix, starts: u32, continuing: u32, bytes: u64) -> Vec<Stretch> {
    let requests = u64::from(starts) + u64::from(continuing);
    let weights: Vec<u64> = (0..requests).map(|_| 1 + random.below(15)).collect();
    let pages = parts((bytes / PAGE).saturating_sub(requests), &weights);
    let mut lengths = pages.into_iter().map(|pages| pages + 1);
    let weights: Vec<u64> = (0..starts).map(|_| random.doubling(STRETCH_DOUBLINGS)).collect();
    parts(continuing.into(), &weights)
        .into_iter()
        .map(|more| lengths.by_ref().take(more as usize + 1).collect())
        .collect()
}

type TracedAccess = (TraceOp, u64, u32);

/// The accesses of a stretch from page `at` on.
fn accesses(op: TraceOp, mut at: u64, stretch: Stretch) -> impl Iterator<Item = TracedAccess> {
    stretch.into_iter().map(move |pages| {
        let access = (op, at * PAGE, (pages * PAGE) as u32);
        at += pages;
        access
    })
}

/// The reads of each file: its stretches in any order, as page faults come. Files lie one after the other, with
/// a page between stretches. Also the first page after them all.
fn reads(trace: &SyntheticTrace, random: &mut SplitMix) -> (Vec<Vec<TracedAccess>>, u64) {
    let bytes = u64::from(trace.read_mb) * 1_000_000;
    let all = stretches(random, trace.random_reads, trace.sequential_reads, bytes);
    let weights: Vec<u64> = (0..(bytes / FILE_BYTES).max(1)).map(|_| 1 + random.below(7)).collect();
    let (mut page, mut stretches) = (0, all.into_iter());
    let files = parts(trace.random_reads.into(), &weights).into_iter().map(|count| {
        let place = |stretch: Stretch| {
            let at = page;
            page += stretch.iter().sum::<u64>() + 1;
            (at, stretch)
        };
        let mut placed: Vec<(u64, Stretch)> =
            stretches.by_ref().take(count as usize).map(place).collect();
        random.shuffle(&mut placed);
        let reads = placed.into_iter().flat_map(|(at, it)| accesses(TraceOp::Read, at, it));
        reads.collect()
    });
    (files.collect(), page)
}

/// Stretches of writes, anywhere in an area after `page`.
fn writes(trace: &SyntheticTrace, random: &mut SplitMix, page: u64) -> Vec<Vec<TracedAccess>> {
    let bytes = u64::from(trace.written_mb) * 1_000_000;
    let first = (page * PAGE).next_multiple_of(AREA_UNIT) / PAGE;
    let area = bytes.min(WRITE_AREA_BYTES) / PAGE;
    let all = stretches(random, trace.random_writes, trace.sequential_writes, bytes);
    let place = |stretch: Stretch| {
        let room = area.saturating_sub(stretch.iter().sum());
        let at = first + random.below(room + 1);
        accesses(TraceOp::Write, at, stretch).collect()
    };
    all.into_iter().map(place).collect()
}

/// Requests that are sent together.
fn batches(random: &mut SplitMix, jobs: Vec<Vec<TracedAccess>>) -> Vec<Vec<TracedAccess>> {
    let mut batches: Vec<Vec<TracedAccess>> = Vec::new();
    for job in jobs {
        let is_write = job.first().is_some_and(|(op, ..)| *op == TraceOp::Write);
        let mut rest = job.as_slice();
        while !rest.is_empty() {
            let wanted =
                if is_write { WRITE_BATCH } else { 1 + usize::from(random.below(READ_PAIRS) == 0) };
            let (batch, others) = rest.split_at(wanted.min(rest.len()));
            batches.push(batch.to_vec());
            rest = others;
        }
    }
    batches
}

pub(super) fn generate(trace: &SyntheticTrace, sink: &mut dyn EventSink) -> Result<(), TraceError> {
    // FNV-1a: each name has numbers of its own.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut random = SplitMix(trace.name.bytes().fold(0xcbf2_9ce4_8422_2325, hash));
    let (mut jobs, page) = reads(trace, &mut random);
    jobs.extend(writes(trace, &mut random, page));
    random.shuffle(&mut jobs);
    let batches = batches(&mut random, jobs);
    let weights: Vec<u64> = batches.iter().map(|_| random.doubling(THINK_DOUBLINGS)).collect();
    let thoughts = parts(trace.think_us(), &weights);
    let mut at_ns = 0;
    for (batch, think_us) in batches.into_iter().zip(thoughts) {
        at_ns += think_us * 1_000;
        for (op, offset, len) in batch {
            let latency_ns = Some(LATENCY_NS);
            let event = TraceEvent { at_ns, offset, len, op, fua: false, latency_ns, process: 0 };
            sink.event(&event)?;
        }
        at_ns += LATENCY_NS;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::SYNTHETIC;
    use super::*;
    use crate::file::TraceHeader;
    use crate::profile::TraceProfile;
    use crate::summary::Summarizer;

    /// Operations, bytes, the split into those that continue and others, and the think time are the published ones.
    #[test]
    fn each_trace_has_the_published_sums() {
        for trace in &SYNTHETIC {
            fn mb(bytes: u64) -> u32 {
                (bytes as f64 / 1e6).round() as u32
            }
            let mut sums = Summarizer::default();
            trace.generate(&mut sums).unwrap();
            let found = sums.finish(&TraceHeader::new("synthetic", 1_000), &Default::default());
            let name = trace.name;
            let [continuing_reads, continuing_writes] =
                [trace.sequential_reads, trace.sequential_writes].map(u64::from);
            assert_eq!(found.reads.sequential, continuing_reads, "{name}");
            assert_eq!(found.reads.requests, continuing_reads + u64::from(trace.random_reads));
            assert_eq!(found.writes.requests, continuing_writes + u64::from(trace.random_writes));
            // Two stretches may meet by chance.
            let by_chance = found.writes.sequential - continuing_writes;
            assert!(by_chance <= 2, "{name}: {by_chance}");
            assert_eq!(mb(found.reads.bytes), trace.read_mb, "{name}");
            assert_eq!(mb(found.writes.bytes), trace.written_mb, "{name}");
            let read = |sink: &mut dyn EventSink| {
                trace.generate(sink)?;
                Ok(Default::default())
            };
            let profile = TraceProfile::of(read, u64::MAX).unwrap();
            let think_ratio = profile.think_ns as f64 / 1e3 / trace.think_us() as f64;
            assert!((think_ratio - 1.0).abs() < 1e-3, "{name}: {think_ratio}");
            assert!(profile.totals.longest_bytes <= 1 << 20, "{name}");
            assert!(profile.totals.end_bytes < 3 << 29, "{}", profile.totals.end_bytes);
        }
    }

    /// The rest of the published busy time is small beside the published 43.75 s.
    #[test]
    fn think_times_leave_the_published_busy_time() {
        fn of(value: fn(&SyntheticTrace) -> u64) -> u64 {
            SYNTHETIC.iter().map(value).sum::<u64>()
        }
        let whole_us = of(|trace| u64::from(trace.published_ms) * 1_000);
        let busy_s = (whole_us - of(SyntheticTrace::think_us)) as f64 / 1e6;
        assert!((busy_s / 43.75 - 1.0).abs() < 0.01, "{busy_s}");
    }

    /// The same on every machine and in every version: a change would make results incomparable.
    #[test]
    fn the_requests_are_always_the_same() {
        let mut hash = 0u64;
        let mut take = |event: &TraceEvent| {
            let mixed =
                event.at_ns ^ event.offset.rotate_left(20) ^ u64::from(event.len).rotate_left(40);
            hash = hash.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mixed;
            Ok(())
        };
        SYNTHETIC.iter().for_each(|trace| trace.generate(&mut take).unwrap());
        assert_eq!(hash, 9_566_530_693_367_906_523);
    }
}
