//! A resource that serves one user at a time: a bus, a link direction.

use std::collections::VecDeque;

use crate::device::Nanos;

/// Reservations of a serial resource. A user takes the first gap that is long enough at or after the
/// time its data are there, so that one who waits for a slow die does not hold up the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reservations {
    /// Busy spans, ascending, neither overlapping nor touching.
    busy: VecDeque<(Nanos, Nanos)>,
}

impl Reservations {
    /// Reserves `len` at the first gap from `from` on, and returns its start. `now` is the present:
    /// no later call asks for an earlier time.
    pub(crate) fn reserve(&mut self, now: Nanos, from: Nanos, len: Nanos) -> Nanos {
        while self.busy.front().is_some_and(|span| span.1 <= now) {
            self.busy.pop_front();
        }
        let last = match self.busy.back_mut() {
            Some(last) if from < last.1 => *last,
            Some(last) if from == last.1 => {
                last.1 = from + len;
                return from;
            }
            _ => {
                self.busy.push_back((from, from + len));
                return from;
            }
        };
        if from >= last.0 {
            self.insert(self.busy.len(), last.1, len);
            return last.1;
        }
        let mut index = self.busy.partition_point(|span| span.1 <= from);
        let mut start = from;
        while let Some(span) = self.busy.get(index) {
            if start + len <= span.0 {
                break;
            }
            start = start.max(span.1);
            index += 1;
        }
        self.insert(index, start, len);
        start
    }

    /// Puts a span before `index` and joins it with neighbours that it touches.
    fn insert(&mut self, index: usize, start: Nanos, len: Nanos) {
        let end = start + len;
        let joins_next = self.busy.get(index).is_some_and(|next| next.0 == end);
        let joins_previous = index > 0 && self.busy[index - 1].1 == start;
        match (joins_previous, joins_next) {
            (true, true) => {
                self.busy[index - 1].1 = self.busy[index].1;
                self.busy.remove(index);
            }
            (true, false) => self.busy[index - 1].1 = end,
            (false, true) => self.busy[index].0 = start,
            (false, false) => self.busy.insert(index, (start, end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Reservations;

    #[test]
    fn a_later_user_takes_an_earlier_gap() {
        let mut line = Reservations::default();
        assert_eq!(line.reserve(0, 1000, 10), 1000);
        assert_eq!(line.reserve(0, 100, 10), 100);
        assert_eq!(line.reserve(0, 100, 10), 110);
        assert_eq!(line.reserve(0, 995, 10), 1010, "the gap of 5 before 1000 is too short");
        assert_eq!(line.reserve(0, 995, 5), 995);
    }

    #[test]
    fn the_past_is_forgotten() {
        let mut line = Reservations::default();
        for k in 0..1000 {
            line.reserve(k * 100, k * 100, 10);
        }
        assert_eq!(line.busy.len(), 1);
    }

    proptest! {
        #[test]
        fn reservations_never_overlap(asks in prop::collection::vec((0_u64..500, 1_u64..20), 1..80)) {
            let mut line = Reservations::default();
            let mut spans: Vec<(u64, u64)> = Vec::new();
            for (from, len) in asks {
                let start = line.reserve(0, from, len);
                prop_assert!(start >= from);
                prop_assert!(spans.iter().all(|span| start + len <= span.0 || span.1 <= start));
                spans.push((start, start + len));
            }
        }
    }
}
