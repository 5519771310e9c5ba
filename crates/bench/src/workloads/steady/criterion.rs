//! When a drive is steady: the rule of the SNIA PTS over the last five points, and which rounds make a point.

use drivescope_stats::summary;
use drivescope_stats::trend::{STEADY_WINDOW, SteadyState, steady_state};
use std::ops::Range;

/// A window begins only when this many times the size of the target was written: until then a drive has blocks that
/// were never used, and is as steady as it is new.
const WRITTEN_FIRST: f64 = 1.0;

/// The rounds that are compared, and what the rule says of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    /// Which rounds, from 0.
    pub rounds: Range<usize>,
    /// Of each tracked cell; none where there are fewer points than the rule needs.
    pub states: Vec<Option<SteadyState>>,
    pub points: usize,
}

impl Window {
    /// The last points of rounds from `from` on. `written`: bytes of each round; of `figures` each tracked cell has one
    /// for each round. A point is made of as many rounds as write `per_point` bytes.
    pub fn last(figures: &[Vec<f64>], written: &[u64], from: usize, per_point: u64) -> Self {
        let points = points(written, from, per_point);
        let points = &points[points.len().saturating_sub(STEADY_WINDOW)..];
        let rounds = match (points.first(), points.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => from.min(written.len())..written.len(),
        };
        let means = |figures: &Vec<f64>| -> Option<Vec<f64>> {
            points.iter().map(|point| summary::mean(&figures[point.clone()])).collect()
        };
        let state = |figures| steady_state(&means(figures)?);
        Self { rounds, states: figures.iter().map(state).collect(), points: points.len() }
    }

    /// Whether the rule is met by all tracked cells, at the end of the last of `rounds`.
    pub fn is_steady(&self, rounds: usize) -> bool {
        let is_met = |state: &Option<SteadyState>| state.is_some_and(|state| state.reached);
        self.rounds.end == rounds && !self.states.is_empty() && self.states.iter().all(is_met)
    }
}

/// The first round before which everything was written once; none yet, if there is no such round.
pub(super) fn counts_from(prepared: u64, written: &[u64], target_bytes: u64) -> usize {
    let needed = (target_bytes as f64 * WRITTEN_FIRST) as u64;
    let mut sum = prepared;
    let before = written.iter().take_while(|bytes| {
        let is_before = sum < needed;
        sum += **bytes;
        is_before
    });
    before.count()
}

/// Rounds from `from` on, taken together until each point has written its bytes.
fn points(written: &[u64], from: usize, per_point: u64) -> Vec<Range<usize>> {
    let (mut points, mut begin, mut sum) = (Vec::new(), from, 0);
    for (round, bytes) in written.iter().enumerate().skip(from) {
        sum += bytes;
        if sum >= per_point {
            points.push(begin..round + 1);
            (begin, sum) = (round + 1, 0);
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The round in which a course of figures is found to be steady, from 1, and the mean of the window.
    fn found(course: impl Fn(usize) -> f64, rounds: usize) -> Option<(usize, f64)> {
        (1..=rounds).find_map(|count| {
            let figures: Vec<f64> = (0..count).map(&course).collect();
            let window = Window::last(&[figures], &vec![1; count], 0, 0);
            let mean = window.states[0]?.mean;
            window.is_steady(count).then_some((count, mean))
        })
    }

    /// Courses of known truth, in requests/s by round.
    #[test]
    fn only_a_flat_series_is_steady() {
        // Flat, and flat with the chance of 4 %: as soon as there are five rounds.
        assert_eq!(found(|_| 900.0, 25), Some((5, 900.0)));
        let wavers = [1.0, 1.04, 0.96, 1.03, 0.98];
        assert_eq!(found(|i| 900.0 * wavers[i % 5], 25).map(|it| it.0), Some(5));
        // Falls by 3 % from round to round: 12 % over a window, for ever.
        assert_eq!(found(|i| 900.0 * 0.97f64.powi(i as i32), 25), None);
        // The same drift, half as fast: within the rule.
        assert_eq!(found(|i| 900.0 * 0.985f64.powi(i as i32), 25).map(|it| it.0), Some(5));
        // A saw tooth of three rounds has no drift, and ranges over half of its mean.
        assert_eq!(found(|i| [1_200.0, 900.0, 700.0][i % 3], 25), None);
        // A cache that ends after eight rounds is as flat before as after: a window that is too early shows its rate.
        let cliff = |i: usize| if i < 8 { 40_000.0 } else { 3_000.0 };
        assert_eq!(found(cliff, 25), Some((5, 40_000.0)));
        // A slow approach to a rate: steady when a window changes by less than the rule allows.
        let approach = |i: usize| 1_000.0 * (1.0 + 9.0 * (-(i as f64) / 3.0).exp());
        let (round, mean) = found(approach, 25).unwrap();
        assert!((13..=20).contains(&round) && mean < 1_110.0, "{round}, {mean}");
    }

    /// Why the cliff is not missed: windows begin after everything was written once, and write it all again.
    #[test]
    fn window_begins_after_first_pass_and_spans_one() {
        // 10 units a round on a target of 100, from new: a cache of 80 units, then a third of the rate.
        let rates: Vec<f64> = (0..40).map(|i| if i < 8 { 900.0 } else { 300.0 }).collect();
        let written = [10; 40];
        let found = (1..=40).find(|&count| {
            let from = counts_from(0, &written[..count], 100);
            let window = Window::last(&[rates[..count].to_vec()], &written[..count], from, 20);
            window.is_steady(count)
        });
        assert_eq!(found, Some(20), "ten rounds to write all, and five points of two rounds");
        let window = Window::last(&[rates[..20].to_vec()], &written[..20], 10, 20);
        assert_eq!((window.rounds.clone(), window.points), (10..20, 5));
        assert_eq!(window.states[0].unwrap().mean, 300.0);
        // A drive that was prepared counts from its first round.
        assert_eq!(counts_from(200, &written, 100), 0);
        assert_eq!(counts_from(0, &[], 100), 0);
        assert_eq!(counts_from(0, &written[..3], 100), 3, "not yet");
    }

    #[test]
    fn incomplete_point_does_not_count() {
        assert_eq!(points(&[3, 3, 3, 3, 3], 0, 6), [0..2, 2..4]);
        assert_eq!(points(&[0, 0], 0, 0), [0..1, 1..2]);
        assert!(points(&[0, 0], 0, 1).is_empty());
        let window = Window::last(&[vec![1.0; 11]], &[3; 11], 0, 6);
        assert_eq!(window.rounds, 0..10);
        assert!(window.is_steady(10) && !window.is_steady(11));
        // Too few for the rule: what there is, and no verdict.
        let window = Window::last(&[vec![1.0; 3]], &[3; 3], 0, 0);
        assert_eq!((window.rounds.clone(), window.states[0]), (0..3, None));
        assert!(!window.is_steady(3));
    }
}
