//! The mean pace of something that goes in cycles, from parts of it that were stepped.

use crate::device::Nanos;

/// Parts from which a mean can be taken.
pub(crate) const PARTS_MIN: usize = 8;

/// Standard error, relative, within which a mean is known.
const KNOWN_WITHIN: f64 = 0.0007;

/// A pace below this cannot last: a cache is filling or being emptied.
const LASTING_MIN: f64 = 0.998;

/// A part that was stepped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// The time it took.
    pub time: Nanos,
    /// The least it could take in the long run, or any other measure of what was done.
    pub work: f64,
}

/// Parts of one kind, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    parts: Vec<Part>,
    /// Whether their work is the least time that they can take.
    least: bool,
}

impl Parts {
    /// None yet; `work` will be any measure.
    pub(crate) fn of_work() -> Self {
        Self::default()
    }

    /// None yet; the work will be the least time that it can take in the long run.
    pub(crate) fn of_least_times() -> Self {
        Self { least: true, ..Self::default() }
    }

    pub(crate) fn clear(&mut self) {
        self.parts.clear();
    }

    /// Adds a part; the time for each unit of work, once there are enough parts and they agree.
    pub(crate) fn add(&mut self, part: Part) -> Option<f64> {
        self.parts.push(part);
        let (mean, error) = mean(&self.parts)?;
        if self.least && mean < LASTING_MIN {
            self.parts.drain(..self.parts.len() / 2);
            return None;
        }
        (error <= KNOWN_WITHIN * mean).then_some(mean)
    }
}

/// Mean pace and its standard error, judged by the means of eight groups.
fn mean(parts: &[Part]) -> Option<(f64, f64)> {
    const GROUPS: usize = 8;
    if parts.len() < PARTS_MIN || !parts.len().is_multiple_of(GROUPS) {
        return None;
    }
    let pace = |parts: &[Part]| {
        let time: Nanos = parts.iter().map(|part| part.time).sum();
        time as f64 / parts.iter().map(|part| part.work).sum::<f64>().max(1.0)
    };
    let mean = pace(parts);
    let off = parts.chunks(parts.len() / GROUPS).map(|group| (pace(group) - mean).powi(2));
    Some((mean, (off.sum::<f64>() / (GROUPS * (GROUPS - 1)) as f64).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(parts: &mut Parts, times: impl IntoIterator<Item = Nanos>) -> Vec<Option<f64>> {
        times.into_iter().map(|time| parts.add(Part { time, work: 1000.0 })).collect()
    }

    #[test]
    fn parts_that_agree_are_known_at_once() {
        let answers = known(&mut Parts::of_work(), [1500; 8]);
        assert_eq!(answers[..7], [None; 7]);
        assert_eq!(answers[7], Some(1.5));
    }

    #[test]
    fn a_cycle_is_known_when_its_share_is() {
        // one part in five takes a turn longer: the mean is 1.02
        let times = (0..).map(|k| if k % 5 == 0 { 1100 } else { 1000 }).take(2000);
        let answers = known(&mut Parts::of_work(), times);
        let first = answers.iter().position(Option::is_some).expect("known");
        assert!(first >= 15, "{first}");
        assert!((answers[first].expect("known") - 1.02).abs() < 0.004);
    }

    #[test]
    fn what_drifts_is_not_known() {
        let answers = known(&mut Parts::of_work(), (0..80).map(|k| 1000 + k * 10));
        assert_eq!(answers, [None; 80]);
    }

    #[test]
    fn less_than_the_least_time_does_not_last() {
        // a cache takes in the first twenty parts
        let times = (0..60).map(|k| if k < 20 { 700 } else { 1200 });
        let answers = known(&mut Parts::of_least_times(), times);
        let found: Vec<f64> = answers.into_iter().flatten().collect();
        assert!(found.first().is_some_and(|pace| (pace - 1.2).abs() < 0.01), "{found:?}");
    }
}
