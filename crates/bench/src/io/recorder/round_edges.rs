//! Requests in flight when a round of a closed loop begins and ends, and how much of them belongs to it. Without
//! that, a short round of a deep queue is wrong by a batch of eight where a device answers eight together.

use hdrhistogram::Histogram;

/// A request in flight at an edge of the measured time.
#[derive(Debug, Clone, Copy)]
struct AcrossEdge {
    /// The part of its time after the edge.
    remaining_ns: u64,
    latency_ns: u64,
}

impl AcrossEdge {
    /// The share done before the edge, at an even pace.
    fn done(self) -> f64 {
        1.0 - self.remaining_ns.min(self.latency_ns) as f64 / self.latency_ns.max(1) as f64
    }

    /// With the usual time of a request instead of its own.
    fn done_of(self, usual_ns: u64) -> f64 {
        (1.0 - self.remaining_ns as f64 / usual_ns.max(1) as f64).max(0.0)
    }
}

/// Both edges of one worker's round. Each has at most as many requests as the queue is deep.
#[derive(Debug, Clone, Default)]
pub(super) struct RoundEdges {
    start: Vec<AcrossEdge>,
    /// In flight at the end; `remaining_ns` counts from the start of the measured time.
    late: Vec<AcrossEdge>,
    /// Of requests that the loop began with and that completed after the start.
    first_ns: Vec<u64>,
}

impl RoundEdges {
    pub(super) fn of_depth(depth: u32) -> Self {
        let room = depth as usize;
        Self {
            start: Vec::with_capacity(room),
            late: Vec::with_capacity(room),
            first_ns: Vec::with_capacity(room),
        }
    }

    pub(super) fn is_closed_loop(&self) -> bool {
        self.start.capacity() > 0
    }

    /// One of the first requests completed, `since_start_ns` after the start.
    pub(super) fn first(&mut self, since_start_ns: u64, latency_ns: u64) {
        push(&mut self.first_ns, latency_ns);
        if latency_ns < since_start_ns {
            self.at_start(since_start_ns, latency_ns);
        }
    }

    /// In flight at the start.
    #[cold]
    pub(super) fn at_start(&mut self, remaining_ns: u64, latency_ns: u64) {
        push(&mut self.start, AcrossEdge { remaining_ns, latency_ns });
    }

    /// Completed after the end, `since_start_ns` after the start.
    pub(super) fn late(&mut self, since_start_ns: u64, latency_ns: u64) {
        if latency_ns >= since_start_ns {
            self.at_start(since_start_ns, latency_ns);
        }
        push(&mut self.late, AcrossEdge { remaining_ns: since_start_ns, latency_ns });
    }

    /// Requests done within the `window_ns` of the round beyond those that completed in it: a part of the late ones,
    /// less the part of the others that was done before. A part is a share of the request's own time. The first
    /// requests of the loop had a shorter queue, so where some were in flight at the start, the remaining time of each
    /// request is compared with the usual time of all later ones.
    pub(super) fn parts(&self, window_ns: u64, latencies: &Histogram<u64>) -> f64 {
        let at_end = |late: &AcrossEdge| AcrossEdge {
            remaining_ns: late.remaining_ns.saturating_sub(window_ns),
            ..*late
        };
        let usual_ns = (!self.first_ns.is_empty()).then(|| self.usual_ns(latencies));
        let done = |across: AcrossEdge| match usual_ns {
            Some(usual_ns) => across.done_of(usual_ns),
            None => across.done(),
        };
        let within: f64 = self.late.iter().map(|late| done(at_end(late))).sum();
        let before: f64 = self.start.iter().map(|across| done(*across)).sum();
        within - before
    }

    /// Work done before the start, in requests: a share of each in flight then, by its own time.
    pub(super) fn before(&self) -> f64 {
        self.start.iter().map(|across| across.done()).sum()
    }

    /// Median latency of the round's requests without the first ones; the largest where there are no others.
    fn usual_ns(&self, latencies: &Histogram<u64>) -> u64 {
        let later = latencies.len().saturating_sub(self.first_ns.len() as u64);
        let mut count = 0;
        for step in latencies.iter_recorded() {
            count += step.count_at_value();
            let value = step.value_iterated_to();
            let first = self.first_ns.iter().filter(|&&first| first <= value).count() as u64;
            if later > 0 && 2 * count.saturating_sub(first) >= later {
                return value;
            }
        }
        latencies.max()
    }
}

fn push<T>(list: &mut Vec<T>, value: T) {
    if list.len() < list.capacity() {
        list.push(value);
    }
}
