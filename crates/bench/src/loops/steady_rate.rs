//! The steady pace of a stretch, from the times of its completions. A disk with a full write cache answers in
//! bursts, one per track, and chance decides how much of a burst a short stretch has at either end. So the line
//! goes through the ends of pauses, which the medium sets.

use drivescope_stats::summary;

/// Fewest points of a line.
const POINTS_MIN: usize = 8;

/// Bytes done when the next ones were answered.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RatePoint {
    before: f64,
    at_ns: u64,
}

#[derive(Debug, Default)]
pub struct SteadyRate {
    answers: Vec<RatePoint>,
    bytes: u64,
}

impl SteadyRate {
    /// With memory for this many completions.
    pub fn of(completions: usize) -> Self {
        Self { answers: Vec::with_capacity(completions), bytes: 0 }
    }

    /// Keeps the memory.
    pub fn restart(&mut self) {
        self.answers.clear();
        self.bytes = 0;
    }

    /// Completions at one moment are one answer.
    pub fn add(&mut self, now_ns: u64, bytes: u64) {
        if self.answers.last().is_none_or(|last| last.at_ns < now_ns) {
            self.answers.push(RatePoint { before: self.bytes as f64, at_ns: now_ns });
        }
        self.bytes += bytes;
    }

    /// Time of `len` bytes at this pace, ns: the slope of the straight line through the ends of pauses, which are
    /// the answers that come no sooner than the mean one. `None` below eight answers.
    pub fn ns_of(&self, len: u64) -> Option<u64> {
        let slope = slope(&self.points()?);
        (slope > 0.0).then_some((slope * len as f64) as u64)
    }

    /// Time of `len` bytes at the median time between answers, ns: a disk stops for the skew at the end of each
    /// track, and chance decides how many of these stops a short stretch has. `None` below eight answers.
    pub fn step_ns_of(&self, len: u64) -> Option<u64> {
        let ns_per_byte = |pair: &[RatePoint]| {
            (pair[1].at_ns - pair[0].at_ns) as f64 / (pair[1].before - pair[0].before)
        };
        let steps: Vec<f64> = self.answers.windows(2).map(ns_per_byte).collect();
        let median = summary::median(&steps).filter(|_| steps.len() + 1 >= POINTS_MIN)?;
        Some((median * len as f64) as u64)
    }

    /// By how much slower the second half of the bytes went than the first: the logarithm of the ratio of their
    /// times. `None` where either has too few points.
    pub fn drift(&self) -> Option<f64> {
        drift_of(&self.points()?, self.bytes).or_else(|| drift_of(&self.answers, self.bytes))
    }

    fn points(&self) -> Option<Vec<RatePoint>> {
        let (first, last) = (self.answers.first()?, self.answers.last()?);
        let mean = (last.at_ns - first.at_ns) / (self.answers.len() as u64 - 1).max(1);
        let after_pause = |pair: &[RatePoint]| pair[1].at_ns - pair[0].at_ns >= mean;
        let ends: Vec<RatePoint> =
            self.answers.windows(2).filter(|pair| after_pause(pair)).map(|pair| pair[1]).collect();
        // Few long pauses are the bursts of nothing in particular.
        let points = if ends.len() < POINTS_MIN { self.answers.clone() } else { ends };
        (points.len() >= POINTS_MIN).then_some(points)
    }
}

fn drift_of(points: &[RatePoint], bytes: u64) -> Option<f64> {
    let middle = bytes as f64 / 2.0;
    let (first, second) = points.split_at(points.partition_point(|at| at.before < middle));
    if first.len().min(second.len()) < POINTS_MIN {
        return None;
    }
    let ratio = slope(second) / slope(first);
    (ratio > 0.0 && ratio.is_finite()).then(|| ratio.ln())
}

/// ns per byte, by least squares.
fn slope(points: &[RatePoint]) -> f64 {
    let (count, first) = (points.len() as f64, points[0].at_ns);
    let y = |answer: &RatePoint| (answer.at_ns - first) as f64;
    let mean_x = points.iter().map(|answer| answer.before).sum::<f64>() / count;
    let mean_y = points.iter().map(y).sum::<f64>() / count;
    let (mut xx, mut xy) = (0.0, 0.0);
    for answer in points {
        let x = answer.before - mean_x;
        xx += x * x;
        xy += x * (y(answer) - mean_y);
    }
    xy / xx
}

#[cfg(test)]
mod tests;
