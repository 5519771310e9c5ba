//! Whether samples of a disk show its medium. A shingled disk takes them into a cache that a full fill leaves
//! behind at once, and a bridge may say "disk" of flash. A write cache that is larger than the lead-in takes them
//! at the rate of the place before, from which it is still emptied. A sample that lies partly in a cache changes
//! its pace on the way.

use drivescope_model::number::rounded;
use drivescope_stats::outliers::local_outliers;
use drivescope_stats::summary::median;

/// Outer tracks hold about twice as much as inner ones. The medians of the first and the last quarter of a whole
/// disk then differ by about 40 %; less than this, in proportion to the part that was looked at, is none.
const FALL_MIN: f64 = 0.06;
/// A sample that far from its neighbours met something else than the medium.
const ODD_SHARE: f64 = 0.15;
/// Neighbours to each side.
const REACH: usize = 3;
/// At most this share of all samples may be odd: a defect, another program.
const ODD_MOST: f64 = 0.05;

/// Samples that follow the place visited before by more than this show the cache. Of 128 good ones, whose heads
/// differ by 5 %, chance gives 2 %.
const FOLLOWED_MAX: f64 = 0.03;

/// The medium has one pace: a sample whose halves are that far apart met something else for a part of its length,
/// or two heads that differ. On disks in good order that is a few of them.
const DRIFT_SHARE: f64 = 0.08;
const DRIFT_MOST: f64 = 0.1;

/// Without rotation the samples need a burst before them.
pub(super) const NO_BURST: &str =
    "without a burst first, samples of flash show its fast cache: omit fill.burst";

/// Why samples do not show the medium of a disk; `rates` in order of position over `part` of it, 0–1.
pub(super) fn of_disk(rates: &[f64], part: f64) -> Option<String> {
    let quarter = rates.len() / 4;
    let first = median(&rates[..quarter])?;
    let last = median(&rates[rates.len() - quarter..])?;
    if last > first * (1.0 - FALL_MIN * part) {
        return Some(format!(
            "{} MB/s in the first quarter and {} in the last: disks slow down inwards, so a cache answered, or this \
             is not a disk",
            rounded(first),
            rounded(last)
        ));
    }
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    let odd = local_outliers(&logs, REACH, (1.0 + ODD_SHARE).ln()).len();
    (odd as f64 > rates.len() as f64 * ODD_MOST).then(|| {
        format!(
            "{odd} of {} samples are far from their neighbours: the drive was busy with its cache",
            rates.len()
        )
    })
}

/// Why samples, positions and rates in the order of the visits, show the place before them.
pub(super) fn of_visits(visits: &[(u64, f64)]) -> Option<String> {
    (followed_share(visits)? > FOLLOWED_MAX).then(|| {
        "each sample resembles the one before it: the write cache is larger than the lead-in"
            .to_string()
    })
}

/// Why samples lie partly in a cache, by how much slower the second half of each went than its first (logarithms);
/// `None` of one whose halves have no pace, which the medium would have given them.
pub(super) fn of_halves(drifts: &[Option<f64>]) -> Option<String> {
    let limit = (1.0 + DRIFT_SHARE).ln();
    let odd = drifts.iter().filter(|drift| drift.is_none_or(|drift| drift.abs() > limit)).count();
    (odd as f64 > drifts.len() as f64 * DRIFT_MOST).then(|| {
        let (count, percent) = (drifts.len(), DRIFT_SHARE * 100.0);
        format!(
            "{odd} of {count} samples change rate by more than {percent:.0} %, or have no steady rate: a cache \
             absorbed part of them, or the heads differ"
        )
    })
}

/// How much of the rate of the place before is in a rate, 0–1, if anything too little: the slope, through the
/// origin, of how far rates are from those around them, over how far those around the place before are.
fn followed_share(visits: &[(u64, f64)]) -> Option<f64> {
    let mut sorted: Vec<(u64, f64)> = visits.iter().map(|&(at, rate)| (at, rate.ln())).collect();
    sorted.sort_by_key(|&(at, _)| at);
    let around = |at: u64| {
        let i = sorted.partition_point(|&(other, _)| other < at);
        let near = &sorted[i.saturating_sub(REACH)..(i + REACH + 1).min(sorted.len())];
        median(&near.iter().map(|&(_, log)| log).collect::<Vec<_>>())
    };
    let odd = (1.0 + ODD_SHARE).ln();
    let (mut xx, mut xy) = (0.0, 0.0);
    for pair in visits.windows(2) {
        let here = around(pair[1].0)?;
        let x = around(pair[0].0)? - here;
        xx += x * x;
        // Single odd samples are another matter.
        xy += x * (pair[1].1.ln() - here).clamp(-odd, odd);
    }
    (xx > 0.0).then(|| xy / xx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::draw::Draw;

    /// 128 places of a disk whose rate falls by half in steps, as far as `part` of it goes.
    fn disk(part: f64) -> Vec<f64> {
        let rate = |i: u32| {
            let zone = (24.0 * part * f64::from(i) / 128.0).floor();
            200.0 * (1.0 - 0.75 * zone / 24.0).sqrt()
        };
        (0..128).map(rate).collect()
    }

    #[test]
    fn disks_are_believed_in_whole_and_in_part() {
        for part in [1.0, 0.5, 0.25, 0.125] {
            assert_eq!(of_disk(&disk(part), part), None, "{part}");
            let mut odd = disk(part);
            for at in [10, 11, 50, 70, 120] {
                odd[at] *= 0.3;
            }
            assert_eq!(of_disk(&odd, part), None, "five slow samples of 128");
        }
    }

    #[test]
    fn caches_are_not() {
        let flat: Vec<f64> = (0..128).map(|i| 94.0 + f64::from(i % 3) / 2.0).collect();
        assert!(of_disk(&flat, 1.0).unwrap().contains("slow down inwards"));
        assert!(of_disk(&flat, 0.25).is_some());
        let stalling: Vec<f64> = disk(1.0)
            .into_iter()
            .enumerate()
            .map(|(i, rate)| if i % 7 == 3 { rate * 0.3 } else { rate })
            .collect();
        assert!(of_disk(&stalling, 1.0).unwrap().contains("far from their neighbours"));
    }

    #[test]
    fn samples_that_change_their_pace_are_doubted() {
        fn drifts(odd: usize) -> Vec<Option<f64>> {
            let drift =
                |i| if i < odd { [Some(0.1), None][i % 2] } else { Some([0.01, -0.05][i % 2]) };
            (0..128).map(drift).collect()
        }
        assert_eq!(of_halves(&drifts(12)), None);
        let doubt = of_halves(&drifts(13)).unwrap();
        assert!(doubt.contains("13 of 128 samples change rate"), "{doubt}");
        assert!(doubt.contains("or the heads differ"), "no proof of a cache: {doubt}");
        assert_eq!(of_halves(&[]), None);
    }

    /// Rates that differ by head, and take up `share` of the place visited before.
    fn visits(share: f64, seed: u64) -> Vec<(u64, f64)> {
        let head = |i: usize| if (i * 7 + seed as usize) % 11 < 5 { 0.95 } else { 1.05 };
        let places = disk(1.0).into_iter().enumerate();
        let mut visits: Vec<_> = places.map(|(i, rate)| (i as u64, rate * head(i))).collect();
        Draw::new(seed).shuffle(&mut visits);
        let medium: Vec<f64> = visits.iter().map(|&(_, rate)| rate).collect();
        for (visit, before) in visits[1..].iter_mut().zip(medium) {
            visit.1 += share * (before - visit.1);
        }
        visits
    }

    #[test]
    fn cache_still_holding_the_last_place_shows() {
        for seed in 0..200 {
            assert_eq!(of_visits(&visits(0.0, seed)), None, "seed {seed}");
            assert!(of_visits(&visits(0.2, seed)).unwrap().contains("lead-in"), "seed {seed}");
        }
        assert_eq!(of_visits(&[]), None);
    }
}
