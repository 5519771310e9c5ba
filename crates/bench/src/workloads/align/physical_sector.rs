//! From times at offsets to the drive's physical sector. Pure arithmetic.

use super::offset_groups::{
    Estimate, OffsetGroups, OffsetTimes, boundary, error_share, location, penalty, resolution,
    split,
};
use drivescope_model::units::Bytes;
use drivescope_stats::trimmed_mean::TrimmedMean;

/// Synced writes off a boundary must take at least this many times as long as those on it.
const RATIO_MIN: f64 = 1.1;
/// Times that would hide this are no answer: one turn more than a synced write, which takes at most two.
const HIDDEN_SHARE: f64 = 0.5;

#[derive(Debug, Clone, PartialEq)]
pub enum Boundaries {
    /// Accesses are fast on these boundaries only.
    Found {
        sector: u64,
        /// The first one, bytes behind the beginning of the target.
        shift: u64,
    },
    Alike {
        /// The share of extra time that would have been seen.
        resolution: f64,
    },
    /// No answer, and why.
    Hidden(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct BlockSizeResult {
    pub block: u64,
    /// Typical time at each offset, ns; empty where passes have figures of their own.
    pub times: Vec<(u64, TrimmedMean)>,
    pub split: OffsetGroups,
    pub boundaries: Boundaries,
    /// How surely the time of the fast offsets is known: standard error as a share.
    pub error_share: f64,
    /// Time off a boundary by time on it; where all are alike, off multiples of the block by on them.
    pub penalty: Option<Estimate>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    pub sector: Sector,
    pub penalty: Option<Estimate>,
}

/// What the accesses of all sizes say of the physical sector.
#[derive(Debug, Clone, PartialEq)]
pub enum Sector {
    Found {
        bytes: u64,
        /// Where the first one begins behind the beginning of the target, bytes.
        shift: u64,
    },
    /// No offset takes longer than another: misalignment costs nothing, be it that sectors are as small as
    /// the unit of offsets or that the drive hides the cost.
    Costless,
    Unknown(String),
}

/// What times at all offsets of a pattern of `block` bytes show, the penalty left out; offsets are `step` apart.
pub fn judge(times: &[OffsetTimes], block: u64, step: u64) -> BlockSizeResult {
    let points: Vec<_> =
        times.iter().filter_map(|at| Some((at.offset, location(&at.ns)?))).collect();
    let split = split(&points, RATIO_MIN);
    let boundaries = if split.slow.is_empty() {
        match resolution(times, &points) {
            resolution if resolution <= HIDDEN_SHARE => Boundaries::Alike { resolution },
            _ => Boundaries::Hidden(format!(
                "the times of {} writes vary so much that a difference of half would not show",
                Bytes(block).binary()
            )),
        }
    } else {
        interpret(&split, block, step)
    };
    let error_share = error_share(&points, &compared(&split).fast);
    BlockSizeResult { block, times: points, split, boundaries, error_share, penalty: None }
}

/// The same with the penalty, which takes long to resample.
pub fn judge_finally(times: &[OffsetTimes], block: u64, step: u64, seed: u64) -> BlockSizeResult {
    let seen = judge(times, block, step);
    BlockSizeResult { penalty: penalty(times, &compared(&seen.split), seed), ..seen }
}

pub fn interpret(split: &OffsetGroups, block: u64, step: u64) -> Boundaries {
    match boundary(split, block, step) {
        Some((sector, shift)) => Boundaries::Found { sector, shift },
        None => {
            let list: Vec<String> = split.fast.iter().map(u64::to_string).collect();
            Boundaries::Hidden(format!(
                "accesses of {} are fast at offsets {}, which no sector size explains",
                Bytes(block).binary(),
                list.join(", ")
            ))
        }
    }
}

/// The groups of which the penalty is made: where all are alike, the first offset and the others.
pub fn compared(split: &OffsetGroups) -> OffsetGroups {
    match split.fast.split_first() {
        Some((&first, others)) if split.slow.is_empty() => {
            OffsetGroups { fast: vec![first], slow: others.to_vec() }
        }
        _ => split.clone(),
    }
}

/// Puts the answers of all sizes, the smallest first, together.
///
/// The smallest size that shows boundaries decides; larger units, as flash has, cost less and come second.
pub fn conclude(seen: &[BlockSizeResult]) -> Conclusion {
    let hidden = seen.iter().find_map(|seen| match &seen.boundaries {
        Boundaries::Hidden(why) => Some(why.clone()),
        _ => None,
    });
    let found = seen.iter().find_map(|seen| match seen.boundaries {
        Boundaries::Found { sector, shift } => {
            Some((Sector::Found { bytes: sector, shift }, seen.penalty))
        }
        _ => None,
    });
    let (sector, penalty) = match (found, hidden) {
        (Some(found), _) => found,
        (None, Some(why)) => (Sector::Unknown(why), None),
        (None, None) if seen.is_empty() => {
            (Sector::Unknown("nothing was measured".to_string()), None)
        }
        (None, None) => (Sector::Costless, seen.iter().find_map(|seen| seen.penalty)),
    };
    Conclusion { sector, penalty }
}

/// How far `start`, a byte of the drive, lies behind a boundary of sectors that begin at `shift`.
pub fn misaligned(start: u64, sector: u64, shift: u64) -> u64 {
    (start % sector + sector - shift % sector) % sector
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(block: u64, boundaries: Boundaries) -> BlockSizeResult {
        let (times, split) = (Vec::new(), OffsetGroups::default());
        BlockSizeResult { block, times, split, boundaries, error_share: 0.0, penalty: None }
    }

    fn found(sector: u64, shift: u64) -> Boundaries {
        Boundaries::Found { sector, shift }
    }

    #[test]
    fn the_smallest_size_that_shows_boundaries_decides() {
        fn hidden() -> Boundaries {
            Boundaries::Hidden("noise".to_string())
        }
        fn unknown() -> Sector {
            Sector::Unknown("noise".to_string())
        }
        fn sector(bytes: u64, shift: u64) -> Sector {
            Sector::Found { bytes, shift }
        }
        let alike = Boundaries::Alike { resolution: 0.2 };
        for (small, large, sector) in [
            (found(4096, 512), alike.clone(), sector(4096, 512)),
            (found(4096, 0), found(16_384, 4096), sector(4096, 0)),
            (alike.clone(), found(8192, 0), sector(8192, 0)),
            (alike.clone(), alike.clone(), Sector::Costless),
            (hidden(), found(8192, 0), sector(8192, 0)),
            (hidden(), alike.clone(), unknown()),
            (alike, hidden(), unknown()),
        ] {
            let seen = [seen(4096, small), seen(16_384, large)];
            assert_eq!(conclude(&seen).sector, sector);
        }
        assert_eq!(conclude(&[]).sector, Sector::Unknown("nothing was measured".to_string()));
    }

    #[test]
    fn wild_times_hide_the_answer_with_a_reason() {
        fn wild(offset: u64) -> OffsetTimes {
            OffsetTimes { offset, ns: vec![1e6, 9e6, 30e6, 2e6, 80e6] }
        }
        let seen = judge(&[wild(0), wild(512), wild(1024)], 4096, 512);
        let Boundaries::Hidden(why) = seen.boundaries else { panic!("{seen:?}") };
        assert!(why.contains("4 KiB writes"), "{why}");
    }

    #[test]
    fn unordered_fast_offsets_are_not_a_sector() {
        let split =
            OffsetGroups { fast: vec![0, 512], slow: vec![1024, 1536, 2048, 2560, 3072, 3584] };
        let Boundaries::Hidden(why) = interpret(&split, 4096, 512) else { panic!() };
        assert!(why.contains("0, 512"), "{why}");
    }

    #[test]
    fn starts_are_measured_from_the_first_boundary() {
        for (start, sector, shift, behind) in [
            (63 * 512, 4096, 0, 3584),
            (63 * 512, 4096, 3584, 0),
            (2048 * 512, 4096, 0, 0),
            (2049 * 512, 4096, 0, 512),
            (2048 * 512, 4096, 3584, 512),
            (63 * 512, 512, 0, 0),
        ] {
            assert_eq!(misaligned(start, sector, shift), behind, "{start} {sector} {shift}");
        }
    }
}
