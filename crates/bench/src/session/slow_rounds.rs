//! A drive that is slower than planned has fewer rounds: a first look must not take an hour.

use super::Session;
use crate::judging::test_record::TestRecord;
use crate::plan::time_limit::time_limit_s;
use drivescope_model::units::Secs;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RoundsOver {
    count: u32,
    all: u32,
    elapsed_s: f64,
}

impl RoundsOver {
    /// Time of all rounds at this pace.
    pub(super) fn whole_s(self) -> f64 {
        self.elapsed_s * f64::from(self.all) / f64::from(self.count.max(1))
    }
}

impl Session<'_> {
    /// Whether `round` may begin; if not, `record` says why. The first always may. Suites that repeat an instrument
    /// have all rounds, and so has a run whose user asked for a number of rounds.
    pub(crate) fn has_time_for(&self, round: u32, record: &mut TestRecord) -> bool {
        let (over, all) = (round - 1, self.plan.suite.rounds);
        if over == 0 {
            return true;
        }
        let elapsed_s = self.test_elapsed_s();
        self.test.rounds_over.set(Some(RoundsOver { count: over, all, elapsed_s }));
        let planned_s = self.test.expected_s;
        let is_late = elapsed_s > time_limit_s(planned_s);
        if !is_late || !self.may_be_shortened {
            return true;
        }
        let (took, planned) = (Secs(elapsed_s), Secs(planned_s));
        record.remark(format!(
            "{} of {all} rounds: the drive is slow, the others took {took} where {planned} were planned for all",
            all - over
        ));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_rounds_predict_the_total_time() {
        assert_eq!(RoundsOver { count: 2, all: 6, elapsed_s: 50.0 }.whole_s(), 150.0);
    }
}
