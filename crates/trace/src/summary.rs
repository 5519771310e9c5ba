//! Sums over the requests of a trace, in one pass and little memory.

use crate::error::TraceError;
use crate::event::{EventSink, TraceEvent, TraceOp};
use crate::file::{TraceHeader, TraceTotals};
use drivescope_model::trace::{
    DirectionSummary, GAPS_FROM_S, GapClass, POINTS_MAX, ProcessShare, ServiceSummary, SizeClass,
    TraceSummary,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

/// The unit in which touched places are counted.
const REGION: u64 = 1 << 20;
/// First length of an interval; it doubles while the trace grows.
const INTERVAL_NS: u64 = 1_000_000;

#[derive(Debug, Default)]
pub struct Summarizer {
    sum: TraceSummary,
    totals: TraceTotals,
    /// Where the last read and the last write ended.
    ends: [u64; 2],
    regions: HashSet<u64>,
    sizes: BTreeMap<u64, (u64, u64)>,
    service: Service,
    last_ns: Option<u64>,
    gaps: Gaps,
    arrivals: Gaps,
    rates: Rates,
    processes: BTreeMap<u16, (u64, u64)>,
}

impl Summarizer {
    pub fn finish(mut self, header: &TraceHeader, source_totals: &TraceTotals) -> TraceSummary {
        fn direction(sum: DirectionSummary, requests: u64, bytes: u64) -> DirectionSummary {
            DirectionSummary { requests, bytes, ..sum }
        }
        let TraceTotals { reads, writes, flushes, discards, zeroes, .. } = self.totals;
        let names = |(index, (requests, bytes)): (u16, (u64, u64))| {
            let name = source_totals.processes.get(usize::from(index.checked_sub(1)?))?.clone();
            Some(ProcessShare { name, requests, bytes })
        };
        let mut processes: Vec<ProcessShare> =
            std::mem::take(&mut self.processes).into_iter().filter_map(names).collect();
        processes.sort_by_key(|process| Reverse((process.bytes, process.requests)));
        let class = |(up_to_bytes, (reads, writes))| SizeClass { up_to_bytes, reads, writes };
        let knows_ends = self.totals.has_latencies;
        TraceSummary {
            source: header.source.clone(),
            resolution_s: header.resolution_ns.unwrap_or(header.tick_ns) as f64 / 1e9,
            device_bytes: header.device_bytes,
            length_s: self.totals.end_ns as f64 / 1e9,
            requests: self.totals.events,
            reads: direction(self.sum.reads, reads, self.totals.read_bytes),
            writes: direction(self.sum.writes, writes, self.totals.written_bytes),
            flushes,
            discards,
            discarded_bytes: self.totals.discarded_bytes,
            zeroes,
            zeroed_bytes: self.totals.zeroed_bytes,
            end_bytes: self.totals.end_bytes,
            touched_bytes: self.regions.len() as u64 * REGION,
            sizes: self.sizes.into_iter().map(class).collect(),
            service: knows_ends.then(|| self.service.summary()),
            gaps: if knows_ends { self.gaps } else { self.arrivals }.classes(),
            interval_s: self.rates.interval_ns as f64 / 1e9,
            over_time: self.rates.bytes,
            processes,
            skipped: source_totals.skipped,
            reordered: source_totals.reordered,
            failed: source_totals.failed,
            lost: source_totals.lost,
            ..self.sum
        }
    }

    fn moved(&mut self, event: &TraceEvent) {
        let is_write = event.op == TraceOp::Write;
        let direction = if is_write { &mut self.sum.writes } else { &mut self.sum.reads };
        let end = &mut self.ends[usize::from(is_write)];
        direction.sequential += u64::from(*end == event.offset && event.offset > 0);
        *end = event.end();
        let class = u64::from(event.len).next_power_of_two();
        let (reads, writes) = self.sizes.entry(class).or_default();
        *if is_write { writes } else { reads } += 1;
        let last = event.end().saturating_sub(1) / REGION;
        self.regions.extend(event.offset / REGION..=last);
        self.rates.add(event.at_ns, event.len.into());
    }
}

impl EventSink for Summarizer {
    fn event(&mut self, event: &TraceEvent) -> Result<(), TraceError> {
        self.totals.add(event);
        self.sum.fua_writes += u64::from(event.fua);
        if event.moves_data() && event.len > 0 {
            self.moved(event);
        }
        if let Some(last_ns) = self.last_ns {
            self.arrivals.add(event.at_ns - last_ns);
        }
        self.last_ns = Some(event.at_ns);
        if let Some(latency_ns) = event.latency_ns {
            let idle_ns = self.service.add(event.at_ns, latency_ns);
            self.gaps.add(idle_ns);
        }
        if event.process > 0 {
            let (requests, bytes) = self.processes.entry(event.process).or_default();
            *requests += 1;
            *bytes += if event.moves_data() { u64::from(event.len) } else { 0 };
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Service {
    ends: BinaryHeap<Reverse<u64>>,
    depth_max: u64,
    /// When all requests so far have ended.
    until_ns: u64,
    busy_ns: u64,
    latency_ns: u128,
    latency_max_ns: u64,
    requests: u64,
}

impl Service {
    /// Adds a request; how long nothing was in flight before it.
    fn add(&mut self, at_ns: u64, latency_ns: u64) -> u64 {
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= at_ns) {
            self.ends.pop();
        }
        let end_ns = at_ns.saturating_add(latency_ns);
        self.ends.push(Reverse(end_ns));
        self.depth_max = self.depth_max.max(self.ends.len() as u64);
        let idle_ns = at_ns.saturating_sub(self.until_ns);
        self.busy_ns += end_ns.saturating_sub(self.until_ns.max(at_ns));
        self.until_ns = self.until_ns.max(end_ns);
        self.latency_ns += u128::from(latency_ns);
        self.latency_max_ns = self.latency_max_ns.max(latency_ns);
        self.requests += 1;
        idle_ns
    }

    fn summary(&self) -> ServiceSummary {
        ServiceSummary {
            busy_s: self.busy_ns as f64 / 1e9,
            depth_mean: self.latency_ns as f64 / self.busy_ns.max(1) as f64,
            depth_max: self.depth_max,
            lat_mean_us: self.latency_ns as f64 / self.requests.max(1) as f64 / 1e3,
            lat_max_us: self.latency_max_ns as f64 / 1e3,
        }
    }
}

/// Gaps by their length: how many, and their time in ns.
#[derive(Debug, Default)]
struct Gaps([(u64, u64); GAPS_FROM_S.len()]);

impl Gaps {
    fn add(&mut self, ns: u64) {
        if ns == 0 {
            return;
        }
        let seconds = ns as f64 / 1e9;
        let class = GAPS_FROM_S.iter().rposition(|from| seconds >= *from).unwrap_or(0);
        self.0[class].0 += 1;
        self.0[class].1 += ns;
    }

    fn classes(&self) -> Vec<GapClass> {
        let class = |(&from_s, &(count, ns))| GapClass { from_s, count, total_s: ns as f64 / 1e9 };
        GAPS_FROM_S.iter().zip(&self.0).map(class).collect()
    }
}

/// Bytes over time, in intervals that become longer.
#[derive(Debug)]
struct Rates {
    interval_ns: u64,
    bytes: Vec<u64>,
}

impl Default for Rates {
    fn default() -> Self {
        Self { interval_ns: INTERVAL_NS, bytes: Vec::new() }
    }
}

impl Rates {
    fn add(&mut self, at_ns: u64, bytes: u64) {
        while at_ns / self.interval_ns >= POINTS_MAX as u64 {
            self.bytes = self.bytes.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.interval_ns *= 2;
        }
        let index = (at_ns / self.interval_ns) as usize;
        if self.bytes.len() <= index {
            self.bytes.resize(index + 1, 0);
        }
        self.bytes[index] += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{event, read_ms};

    fn summary(events: &[TraceEvent]) -> TraceSummary {
        let mut sum = Summarizer::default();
        events.iter().for_each(|event| sum.event(event).unwrap());
        let source_totals =
            TraceTotals { processes: vec!["cp".to_string()], ..TraceTotals::default() };
        sum.finish(&TraceHeader::new("test", 1_000), &source_totals)
    }

    /// Two reads that overlap, then one after a second of silence.
    #[test]
    fn depth_busy_and_idle_time_follow_from_the_completions() {
        let found = summary(&[read_ms(0, 10), read_ms(5, 10), read_ms(1015, 5)]);
        let service = found.service.unwrap();
        assert_eq!((service.busy_s, service.depth_max), (0.02, 2));
        assert!((service.depth_mean - 1.25).abs() < 1e-9);
        assert_eq!(service.lat_max_us, 10_000.0);
        let seconds = found.gaps.iter().find(|class| class.from_s == 1.0).unwrap();
        assert_eq!((seconds.count, seconds.total_s), (1, 1.0));
        assert!((found.length_s - 1.015).abs() < 1e-9);
    }

    #[test]
    fn without_completions_gaps_are_between_the_sending() {
        let found = summary(&[event(), TraceEvent { at_ns: 2_000_000, ..event() }]);
        assert!(found.service.is_none());
        assert_eq!(found.gaps.iter().map(|class| class.count).sum::<u64>(), 1);
        assert_eq!(found.gaps[2].total_s, 0.002);
    }

    #[test]
    fn mix_sizes_locality_and_processes_are_counted() {
        fn write(at_ns: u64, offset: u64, len: u32, process: u16) -> TraceEvent {
            let op = TraceOp::Write;
            TraceEvent { at_ns, offset, len, op, process, ..event() }
        }
        let found = summary(&[
            event(),
            TraceEvent { at_ns: 1, offset: 4096, ..event() },
            write(2, 10 << 20, 6000, 1),
            write(3, (10 << 20) + 6000, 4096, 1),
            TraceEvent { at_ns: 4, op: TraceOp::Flush, len: 0, ..event() },
        ]);
        assert_eq!((found.reads.requests, found.reads.sequential), (2, 1));
        assert_eq!((found.writes.bytes, found.writes.sequential), (10_096, 1));
        assert_eq!((found.flushes, found.requests), (1, 5));
        assert_eq!((found.end_bytes, found.touched_bytes), ((10 << 20) + 10_096, 2 << 20));
        let sizes: Vec<_> =
            found.sizes.iter().map(|s| (s.up_to_bytes, s.reads, s.writes)).collect();
        assert_eq!(sizes, [(4096, 2, 1), (8192, 0, 1)]);
        let [cp] = &found.processes[..] else { panic!("one process has a name") };
        assert_eq!((cp.name.as_str(), cp.requests, cp.bytes), ("cp", 2, 10_096));
    }

    #[test]
    fn long_trace_has_few_points_and_all_bytes() {
        let hours: Vec<TraceEvent> =
            (0..100_000u64).map(|i| TraceEvent { at_ns: i * 1_000_000_000, ..event() }).collect();
        let found = summary(&hours);
        assert!(found.over_time.len() <= POINTS_MAX && found.over_time.len() > POINTS_MAX / 2 - 2);
        assert_eq!(found.over_time.iter().sum::<u64>(), 100_000 * 4096);
    }
}
