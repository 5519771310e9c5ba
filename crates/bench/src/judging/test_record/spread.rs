//! Rounds of a cell that differ: at random, from one to the next, or more and more.

use super::TestRecord;
use crate::judging::rate_drop;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_model::units::Bytes;
use drivescope_stats::round_trend::round_fall;
use drivescope_stats::summary;

/// Share of the median.
const SPREAD_MAX: f64 = 0.25;

pub(super) struct RoundRates {
    pub rates: Vec<f64>,
    /// Standard error of each from within its round, as a share.
    pub errors: Vec<f64>,
    pub unit: &'static str,
    /// Spread by chance, given the number of requests, as a share.
    pub by_chance: f64,
}

impl TestRecord {
    /// Notices rounds that differ, with their cause where it is known: a full cache, or shingling.
    pub(super) fn notice_spread(&mut self, cell: &str, of_rounds: &RoundRates) {
        let RoundRates { rates, unit, by_chance, .. } = of_rounds;
        let (Some(low), Some(high)) = (summary::min(rates), summary::max(rates)) else { return };
        let median = summary::median(rates).unwrap_or(0.0);
        let is_explained =
            self.result.findings.iter().any(|finding| finding.id == FindingId::Shingled);
        if median <= 0.0 || is_explained {
            return;
        }
        let spread = (high - low) / median;
        let fall = self.fall_of(of_rounds);
        let is_wide = spread > SPREAD_MAX.max(*by_chance);
        if !is_wide && fall.is_none() {
            return;
        }
        let full = rate_drop::full_between_rounds(&self.rounds, cell, SPREAD_MAX, self.rotates);
        let [before, after] = [rates[0], rates[rates.len() - 1]].map(rounded);
        let [low, high] = [low, high].map(rounded);
        let is_full = is_wide && !self.is_unreliable(cell);
        let (id, evidence) = match (full.filter(|_| is_full), fall) {
            (Some(written), _) => {
                let written = Bytes(written);
                let evidence =
                    format!("{cell}: from {before} to {after} {unit} after {written} written");
                (FindingId::CacheFull, evidence)
            }
            (None, Some(share)) => {
                let pct = share * 100.0;
                let fall =
                    format!("{cell}: falls {pct:.0} % a round, from {before} to {after} {unit}");
                (FindingId::Unstable, format!("{fall}: longer rounds are needed"))
            }
            (None, None) => {
                (FindingId::Unstable, format!("{cell}: rounds range from {low} to {high} {unit}"))
            }
        };
        let finding = Finding::new(id, evidence);
        self.notice(finding.about(self.key(cell)).weighing(spread));
    }

    /// Share by which the rate falls from each round to the next. `None` for many rounds: their test waits for the
    /// end of the fall, and reports it.
    fn fall_of(&self, RoundRates { rates, errors, by_chance, .. }: &RoundRates) -> Option<f64> {
        let fall = round_fall(rates, errors).filter(|_| !self.many_rounds)?;
        let whole = 1.0 - (1.0 - fall).powi(rates.len() as i32 - 1);
        (whole > *by_chance).then_some(fall)
    }
}
