//! Where within its pieces a series of rates falls from one level to another.
//!
//! The piece with the fall was written at both rates, so its own rate lies between them. Pieces hold bytes, and
//! times add up: with the share x of the bytes at the rate a and the rest at b, 1/r = x/a + (1 − x)/b.
//!
//! Reference: B. E. Hansen, "Sample Splitting and Threshold Estimation", Econometrica 68(3), 2000: the place of least
//! squares, and the interval of all places whose squares exceed them by no more than a critical value.

use crate::interval::Interval;
use crate::noise::Noise;
use crate::summary::median;

/// The likelihood ratio of the true place stays below this with 95 %: −2·ln(1 − √0.95), Hansen's table 1.
const RATIO_95: f64 = 7.352_277;
/// Estimated parameters: two levels and the place.
const ESTIMATED: usize = 3;

/// A place in pieces from the beginning of the series: 7.25 is a quarter of the bytes of the eighth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FallPlace {
    pub value: f64,
    pub interval: Interval,
}

/// A piece that may hold the fall.
struct Candidate {
    index: usize,
    /// Squared deviations of all other pieces.
    squares: f64,
    /// Times per byte before and after, over that of the piece itself.
    before: f64,
    after: f64,
}

impl Candidate {
    /// Deviations count up to `most`, so that a pause does not move the fall.
    fn of(logs: &[f64], index: usize, most: f64) -> Option<Self> {
        let own = logs[index];
        let after = median(&logs[index + 1..])?;
        let before = match index {
            // A fall within the first piece: the rate before it is not known; any higher one fits.
            0 => f64::INFINITY,
            _ => median(&logs[..index])?,
        };
        let squares_of = |part: &[f64], level: f64| -> f64 {
            part.iter().map(|log| (log - level).abs().min(most).powi(2)).sum()
        };
        let squares = squares_of(&logs[..index], before) + squares_of(&logs[index + 1..], after);
        let time = |level: f64| (own - level).exp();
        Some(Self { index, squares, before: time(before), after: time(after) })
    }

    /// The share of the piece before the fall, if it takes `time` times its measured time.
    fn share(&self, time: f64) -> f64 {
        ((self.after - time) / (self.after - self.before)).clamp(0.0, 1.0)
    }

    /// Squared deviations at the best place within the piece.
    fn least(&self) -> f64 {
        let nearest = 1.0f64.clamp(self.before, self.after.max(self.before));
        self.squares + nearest.ln().powi(2)
    }

    /// The places within the piece whose squares stay below `most`.
    fn within(&self, most: f64) -> Option<Interval> {
        let reach = (most - self.squares).max(0.0).sqrt();
        let at = |time: f64| self.index as f64 + self.share(time);
        (self.least() <= most).then(|| Interval { low: at(reach.exp()), high: at((-reach).exp()) })
    }
}

/// The place of the one fall of `rates`, pieces of bytes around it, the last two of them after it. `fall`: the
/// difference of the logarithms of both levels. `None` for fewer than three pieces, or without a fall.
pub(crate) fn fall_place(rates: &[f64], fall: f64) -> Option<FallPlace> {
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    let candidates: Vec<Candidate> = (0..logs.len().checked_sub(2)?)
        .filter_map(|index| Candidate::of(&logs, index, fall))
        .filter(|candidate| candidate.before < candidate.after)
        .collect();
    // A fall within the first piece fits whatever came before: possible, but not the estimate.
    let known = candidates.iter().filter(|candidate| candidate.index > 0);
    let best = known.min_by(|a, b| a.least().total_cmp(&b.least()))?;
    let noise = Noise::of_falling(&logs, 1)?;
    let memory = if noise.sigma > 0.0 { noise.long_run_sigma / noise.sigma } else { 1.0 };
    let free = logs.len().saturating_sub(ESTIMATED).max(1) as f64;
    // n·ln(S/S₀) is the ratio where σ is estimated, too: of few pieces it allows more.
    let most = best.least() * (1.0 + (RATIO_95 / free).exp_m1() * memory * memory);
    let ends = candidates.iter().filter_map(|candidate| candidate.within(most));
    let interval =
        ends.reduce(|a, b| Interval { low: a.low.min(b.low), high: a.high.max(b.high) })?;
    Some(FallPlace { value: best.index as f64 + best.share(1.0), interval })
}

#[cfg(test)]
mod tests {
    use crate::knee::{FLASH_FALL_MIN, Knee, knee};
    use crate::synthetic::falling_at;
    use crate::testing::assert_close;

    fn found(rates: &[f64]) -> Option<Knee> {
        let seconds: Vec<f64> = rates.iter().map(|rate| 1000.0 / rate).collect();
        knee(rates, &seconds, FLASH_FALL_MIN)
    }

    #[test]
    fn rate_of_the_mixed_piece_locates_the_fall() {
        for place in [3.0, 3.1, 3.5, 3.9, 17.25, 40.0, 40.02, 40.98] {
            let knee = found(&falling_at(place, 0.5, 64, 0.0, 0.0, 1)).unwrap();
            assert_close(knee.place, place, 1e-9);
            assert!(knee.places.contains(place) || (knee.places.low - place).abs() < 1e-9);
        }
    }

    /// Of many places and seeds, with a first fall within the first piece, too: methods.md has the table.
    #[test]
    fn intervals_contain_the_place() {
        for (n, from, to, fall, cv, phi) in [
            (64, 3.0, 40.0, 0.5, 0.02, 0.0),
            (64, 3.0, 40.0, 0.5, 0.05, 0.5),
            (64, 0.2, 1.5, 0.5, 0.02, 0.0),
            (20, 3.0, 14.0, 0.5, 0.05, 0.0),
            (256, 20.0, 200.0, 0.3, 0.1, 0.0),
        ] {
            let case = |seed: u64| {
                let place = from + (to - from) * (seed as f64 * 0.618_034).fract();
                Some((found(&falling_at(place, fall, n, cv, phi, seed))?, place))
            };
            let knees: Vec<(Knee, f64)> = (0..100).filter_map(case).collect();
            let held = knees.iter().filter(|(knee, place)| knee.places.contains(*place)).count();
            assert!(held * 100 >= knees.len() * 93, "{n} {cv} {phi}: {held} of {}", knees.len());
            assert!(knees.len() > 70, "{n} {cv} {phi}: {}", knees.len());
        }
    }

    /// A part of the first piece does not have a rate of its own.
    #[test]
    fn end_in_first_piece_may_be_anywhere_there() {
        let knee = found(&falling_at(0.6, 0.5, 64, 0.0, 0.0, 1)).unwrap();
        assert_eq!(knee.place, 1.0);
        assert!(knee.places.low < 0.6 && knee.places.high >= 1.0, "{knee:?}");
    }

    #[test]
    fn a_pause_does_not_move_the_fall() {
        let mut rates = falling_at(20.4, 0.5, 64, 0.01, 0.0, 1);
        rates[7] *= 0.1;
        rates[50] *= 0.3;
        let knee = found(&rates).unwrap();
        assert_close(knee.place, 20.4, 0.005);
        assert!(knee.places.contains(20.4) && knee.places.width() < 1.0, "{knee:?}");
    }
}
