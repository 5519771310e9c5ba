//! Whether a block is held, asked of a host that answers late now and then: a late hit looks like a miss, but a miss
//! seldom looks like a hit. So both are counted until one of them is sure, by how often known hits are late at the time
//! (the sequential test of A. Wald, 1945).

/// The wrong answer is this much less likely than the right one, as a logarithm: 1 of 900 would be wrong.
const SURE: f64 = 6.8;
/// What a known hit said fades by this factor with every one that follows: a host gets busy, and idle again.
const FADING: f64 = 0.95;
/// Where more of the known hits are late, it takes too long to distinguish late hits from misses.
const LATE_MAX: f64 = 0.6;
const TRIALS_MAX: u32 = 40;

/// How often known hits were late; the latest ones count most.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Lateness {
    late: f64,
    all: f64,
}

impl Lateness {
    pub fn add(&mut self, is_late: bool) {
        self.late = FADING * self.late + f64::from(u8::from(is_late));
        self.all = FADING * self.all + 1.0;
    }

    /// Share of hits that are late: the expected one, as none of a few does not prove that none are.
    fn share(self) -> f64 {
        (self.late + 0.5) / (self.all + 1.0)
    }

    /// Whether misses can be distinguished at all.
    pub fn is_bearable(self) -> bool {
        self.share() <= LATE_MAX
    }

    /// Slow answers in a row that are misses for sure, wherever among `answers` they come.
    pub fn misses_among(self, answers: usize) -> usize {
        let sure = SURE + (answers.max(1) as f64).ln();
        (sure / -self.share().min(LATE_MAX).ln()).ceil() as usize
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct HitCount {
    fast: u32,
    slow: u32,
}

impl HitCount {
    pub fn add(&mut self, is_fast: bool) {
        self.fast += u32::from(is_fast);
        self.slow += u32::from(!is_fast);
    }

    pub fn goes_on(self, lateness: Lateness) -> bool {
        lateness.is_bearable() && self.fast + self.slow < TRIALS_MAX
    }

    /// Whether it is held, as soon as that is sure. `chance`: share of misses that are as fast as hits.
    pub fn verdict(self, lateness: Lateness, chance: f64) -> Option<bool> {
        let late = lateness.share();
        let held = f64::from(self.fast) * ((1.0 - late) / chance).ln()
            + f64::from(self.slow) * (late / (1.0 - chance)).ln();
        (held.abs() >= SURE).then_some(held > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::draw::Draw;

    fn lateness(of_ten: u32) -> Lateness {
        let mut lateness = Lateness::default();
        (0..40).for_each(|i| lateness.add(i * 7 % 10 < of_ten));
        lateness
    }

    #[test]
    fn busy_host_needs_more_answers_than_quiet_one() {
        fn count(fast: u32, slow: u32) -> HitCount {
            HitCount { fast, slow }
        }
        let quiet = lateness(0);
        assert_eq!(count(1, 0).verdict(quiet, 0.03), None);
        assert_eq!(count(2, 0).verdict(quiet, 0.03), Some(true));
        assert_eq!(count(1, 0).verdict(quiet, 0.001), Some(true), "a miss is hardly ever as fast");
        assert_eq!(count(0, 1).verdict(quiet, 0.03), None);
        assert_eq!(count(0, 2).verdict(quiet, 0.03), Some(false));
        let busy = lateness(3);
        assert_eq!(count(0, 3).verdict(busy, 0.03), None);
        assert_eq!(count(0, 8).verdict(busy, 0.03), Some(false));
        assert_eq!(count(4, 2).verdict(busy, 0.03), Some(true));
        assert!(busy.is_bearable() && !lateness(8).is_bearable());
        assert!(quiet.misses_among(1) == 2 && busy.misses_among(1) > 4);
        assert!(busy.misses_among(64) > busy.misses_among(1));
    }

    /// Of blocks that are held or not, as many are judged wrong as said, however late the host is.
    #[test]
    fn wrong_verdicts_are_as_rare_as_designed() {
        for (late_share, chance) in [(0.0, 0.06), (0.1, 0.03), (0.25, 0.06), (0.4, 0.03)] {
            let mut draw = Draw::new(5);
            let mut lateness = Lateness::default();
            (0..16).for_each(|_| lateness.add(draw.share() < late_share));
            let (mut wrong, mut unsure) = (0, 0);
            for i in 0..2_000 {
                let is_held = i % 2 == 0;
                let mut count = HitCount::default();
                let verdict = loop {
                    let fast_share = if is_held { 1.0 - late_share } else { chance };
                    let is_fast = draw.share() < fast_share;
                    count.add(is_fast);
                    if !is_fast {
                        lateness.add(draw.share() < late_share);
                    }
                    match count.verdict(lateness, chance) {
                        None if count.goes_on(lateness) => {}
                        verdict => break verdict,
                    }
                };
                wrong += usize::from(verdict == Some(!is_held));
                unsure += usize::from(verdict.is_none());
            }
            println!("{late_share}: {wrong} wrong, {unsure} unsure of 2000");
            assert!(wrong <= 10, "{late_share}: {wrong} of 2000");
            assert!(late_share > 0.3 || unsure <= 20, "{late_share}: {unsure} of 2000");
        }
    }
}
