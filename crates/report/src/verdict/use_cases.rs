//! What each use requires of a drive: the thresholds behind every verdict, and what rules a use out, as data.
//!
//! `docs/verdicts.md` is generated from this table.

use crate::verdict::criteria::Criterion;
use drivescope_model::units::Bytes;
use drivescope_model::{FindingId, Metric};

/// A value this close to a threshold meets it: no user notices 3 MB/s.
const TOLERANCE: f64 = 0.05;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Requirement {
    pub(crate) criterion: Criterion,
    /// Minimum (or maximum, where smaller is better) for three, two and one points.
    pub(crate) thresholds: [f64; 3],
    /// Without it the use is not judged.
    pub(crate) is_needed: bool,
    pub(crate) why: &'static str,
}

/// Behaviour that limits the points of a use, whatever its rates are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cap {
    pub(crate) finding: FindingId,
    /// `None`: the points cannot be known.
    pub(crate) most: Option<u8>,
    /// Part of a sentence.
    pub(crate) why: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct UseCase {
    /// `system drive`.
    pub(crate) name: &'static str,
    /// Start of the sentence with a threshold: `a system drive wants`.
    pub(crate) wants: &'static str,
    pub(crate) about: &'static str,
    pub(crate) requirements: &'static [Requirement],
    pub(crate) caps: &'static [Cap],
    /// A smaller drive gets a note; 0 where capacity does not matter.
    pub(crate) capacity_named: Bytes,
    /// The use fills the drive, so that missing capacity loses data.
    pub(crate) is_filled: bool,
}

impl Requirement {
    /// 0–3: the number of thresholds that the value meets, or misses by at most [`TOLERANCE`].
    pub fn points(&self, value: f64) -> u8 {
        let meets = |threshold: &&f64| {
            if self.criterion.smaller_is_better() {
                value <= **threshold * (1.0 + TOLERANCE)
            } else {
                value >= **threshold * (1.0 - TOLERANCE)
            }
        };
        // The thresholds go from hard to easy, so the number that are met is the number of points.
        self.thresholds.iter().filter(meets).count() as u8
    }

    /// Whether a threshold lies within the interval of a metric, or within [`TOLERANCE`] of its value, or would give
    /// other points so close to it.
    pub fn is_borderline(&self, metric: &Metric) -> bool {
        let is_near = self.thresholds.iter().any(|threshold| {
            let is_near = (metric.value - threshold).abs() <= threshold * TOLERANCE;
            is_near || (metric.low < *threshold && *threshold < metric.high)
        });
        let (fewest, most) = self.points_range(metric);
        is_near || fewest < most
    }

    /// Range of points that the next run may give: its value may be anywhere in the interval of a metric, and within
    /// [`TOLERANCE`] of its value.
    pub fn points_range(&self, metric: &Metric) -> (u8, u8) {
        let low = metric.low.min(metric.value * (1.0 - TOLERANCE));
        let high = metric.high.max(metric.value * (1.0 + TOLERANCE));
        let (a, b) = (self.points(low), self.points(high));
        (a.min(b), a.max(b))
    }
}

const fn needed(criterion: Criterion, thresholds: [f64; 3], why: &'static str) -> Requirement {
    Requirement { criterion, thresholds, is_needed: true, why }
}

/// Judged only where it was measured.
const fn optional(criterion: Criterion, thresholds: [f64; 3], why: &'static str) -> Requirement {
    Requirement { criterion, thresholds, is_needed: false, why }
}

/// The five uses, in the order of reports.
pub(crate) const USE_CASES: &[UseCase] = &[
    UseCase {
        name: "system drive",
        wants: "a system drive wants",
        about: "Starting a system or a program is a chain of small reads, each waiting for the one \
                before it; installing updates is a chain of small writes.",
        requirements: SYSTEM,
        caps: &[
            SLOW_REGION,
            Cap { most: Some(1), ..SHINGLED },
            Cap {
                finding: FindingId::FlushIgnored,
                most: Some(1),
                why: "flushes are acknowledged before data are safe, so a power cut can damage the file system",
            },
        ],
        capacity_named: Bytes(0),
        is_filled: false,
    },
    UseCase {
        name: "database",
        wants: "a database wants",
        about: "A lookup is a chain of page reads; a commit is not done before the drive says the \
                log is safe.",
        requirements: DATABASE,
        caps: &[SLOW_REGION, SHINGLED, FLUSH_IGNORED, FREE_FLUSH, SLOW_WHEN_STEADY],
        capacity_named: Bytes(0),
        is_filled: false,
    },
    UseCase {
        name: "virtual machines",
        wants: "virtual machines want",
        about: "Many guests mix their requests, so the drive sees random reads and writes in a \
                queue, and each guest waits for all the others.",
        requirements: GUESTS,
        caps: &[SLOW_REGION, SHINGLED, FLUSH_IGNORED, FREE_FLUSH, SLOW_WHEN_STEADY],
        capacity_named: SMALL,
        is_filled: false,
    },
    UseCase {
        name: "media library",
        wants: "a media library wants",
        about: "Few long streams, read in order, that must never pause.",
        requirements: MEDIA,
        caps: &[SLOW_REGION],
        capacity_named: SMALL,
        is_filled: true,
    },
    UseCase {
        name: "backup",
        wants: "a backup drive wants",
        about: "Large amounts written in order at night, and read back once when it matters.",
        requirements: BACKUP,
        caps: &[
            SLOW_REGION,
            Cap {
                finding: FindingId::Shingled,
                most: Some(2),
                why: "a shingled drive takes large files well, and slows down when they are replaced",
            },
        ],
        capacity_named: SMALL,
        is_filled: true,
    },
];

/// Half the capacity of the smallest new disks.
const SMALL: Bytes = Bytes(500_000_000_000);

const SLOW_REGION: Cap = Cap {
    finding: FindingId::SlowRegion,
    most: Some(1),
    why: "a part of the drive reads slowly, which may be its beginning to fail: check its health",
};

const SHINGLED: Cap = Cap {
    finding: FindingId::Shingled,
    most: Some(0),
    why: "a shingled drive nearly stops under long random writing",
};

const FLUSH_IGNORED: Cap = Cap {
    finding: FindingId::FlushIgnored,
    most: Some(0),
    why: "flushes are acknowledged before data are safe, so a power cut loses commits",
};

const FREE_FLUSH: Cap = Cap {
    finding: FindingId::FreeFlush,
    most: None,
    why: "a flush costs nothing, so the drive has power-loss protection or loses commits in a power cut, which is not \
          tested",
};

const SLOW_WHEN_STEADY: Cap = Cap {
    finding: FindingId::SlowWhenSteady,
    most: Some(2),
    why: "it keeps less than half of its rate when it writes all day",
};

const SYSTEM: &[Requirement] = &[
    needed(
        Criterion::RandomReadsQ1,
        [4_000.0, 1_500.0, 60.0],
        "4,000 and 1,500 are what the SD Association's application classes A2 and A1 demand of a \
         card that programs run from; 60 is a 5400 rpm disk, from which systems start, slowly",
    ),
    needed(
        Criterion::RandomWritesQ1,
        [2_000.0, 500.0, 60.0],
        "2,000 and 500 are the writes of classes A2 and A1; 60 is a 5400 rpm disk without its cache",
    ),
    optional(
        Criterion::SequentialReads,
        [400.0, 100.0, 25.0],
        "a program of 500 MB loads in 1.25 s, 5 s or 20 s",
    ),
    optional(
        Criterion::RandomReadP99,
        [2_000.0, 20_000.0, 100_000.0],
        "100 ms is the longest wait that people take for an immediate answer; opening a program \
         takes dozens of reads, so a fiftieth of it stays unnoticed",
    ),
];

const DATABASE: &[Requirement] = &[
    needed(
        Criterion::RandomReadsQ1,
        [5_000.0, 1_500.0, 300.0],
        "a lookup of five dependent pages takes 1 ms at 5,000/s, 3.3 ms at 1,500/s and 17 ms at \
         300/s; a 7200 rpm disk stays below 240/s even when it need not seek",
    ),
    needed(
        Criterion::SyncedWrites,
        [500.0, 120.0, 50.0],
        "every commit waits for one: etcd asks for 500/s under heavy load and 50/s at the least; \
         120 is one per revolution at 7200 rpm",
    ),
    optional(
        Criterion::RandomReadsDeep,
        [50_000.0, 5_000.0, 300.0],
        "fifty sessions with 1,000, 100 or 6 page reads per second each; a hard disk with command \
         queueing reaches a few hundred",
    ),
    optional(
        Criterion::RandomReadP99,
        [1_000.0, 10_000.0, 20_000.0],
        "SQL Server's guidance calls reads below 10 ms very good and above 20 ms slow; flash \
         stays below 1 ms",
    ),
];

const GUESTS: &[Requirement] = &[
    needed(
        Criterion::RandomReadsDeep,
        [10_000.0, 1_000.0, 150.0],
        "sizing guides for virtual desktops count 10 to 20 requests/s per guest in use and \
         hundreds while one starts: 150 is ten quiet guests, 1,000 five that start at once, \
         10,000 fifty",
    ),
    needed(
        Criterion::RandomWrites,
        [5_000.0, 500.0, 75.0],
        "guests write at least half of the time (sizing guides count up to nine tenths), so half \
         of what is asked of reads",
    ),
    optional(
        Criterion::SyncedWrites,
        [500.0, 120.0, 30.0],
        "every guest's journal flushes a few times per second: 30 is ten guests, 120 forty, 500 \
         also a database in one of them",
    ),
    optional(
        Criterion::RandomReadP99,
        [5_000.0, 30_000.0, 100_000.0],
        "guests wait for each other: at 100 ms a guest already feels frozen, at 30 ms it feels \
         like a disk of its own",
    ),
];

const MEDIA: &[Requirement] = &[
    needed(
        Criterion::SequentialReads,
        [100.0, 50.0, 20.0],
        "an Ultra HD Blu-ray stream is at most 18 MB/s (144 Mbit/s): five streams, or a full \
         gigabit network; two streams; one",
    ),
    optional(
        Criterion::ReadsAtEnd,
        [54.0, 36.0, 18.0],
        "a hard disk is about half as fast at its end, where a full library lives: three streams, two, one",
    ),
    optional(
        Criterion::RandomReadP99,
        [50_000.0, 250_000.0, 1_000_000.0],
        "a jump within a film takes a few reads; a player's buffer of one second hides a wait of \
         up to one second, not more",
    ),
];

const BACKUP: &[Requirement] = &[
    needed(
        Criterion::SequentialWrites,
        [100.0, 40.0, 12.0],
        "1 TB is written within three hours at 100 MB/s, within a night of seven hours at 40, and \
         within a day at 12",
    ),
    needed(Criterion::SequentialReads, [100.0, 40.0, 12.0], "the same for reading it all back"),
    optional(
        Criterion::ReadsAtEnd,
        [80.0, 30.0, 10.0],
        "a full drive ends on its slowest tracks; they may be a little slower than the rest",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::evidence;

    #[test]
    fn every_requirement_has_evidence_and_ordered_thresholds() {
        let requirements = USE_CASES.iter().flat_map(|use_case| use_case.requirements);
        for Requirement { criterion, thresholds, why, .. } in requirements {
            let [three, two, one] = *thresholds;
            let smaller_is_better = criterion.smaller_is_better();
            assert_eq!(smaller_is_better, three < two, "{}", criterion.name());
            assert_eq!(smaller_is_better, two < one, "{}", criterion.name());
            assert!(criterion.phrase().contains("{}") && !why.is_empty(), "{}", criterion.name());
            assert!(evidence(*criterion).next().is_some(), "{}", criterion.name());
        }
    }

    #[test]
    fn every_use_has_a_needed_requirement() {
        for a_use in USE_CASES {
            assert!(
                a_use.requirements.iter().any(|requirement| requirement.is_needed),
                "{}",
                a_use.name
            );
        }
    }

    #[test]
    fn points_count_the_thresholds_that_are_met() {
        let reads = &DATABASE[0];
        for (value, points) in
            [(284.9, 0), (285.1, 1), (1_424.0, 1), (1_426.0, 2), (4_751.0, 3), (f64::NAN, 0)]
        {
            assert_eq!(reads.points(value), points, "{value}");
        }
        let slowest = DATABASE.last().unwrap();
        for (value, points) in [(21_001.0, 0), (20_999.0, 1), (10_499.0, 2), (1_049.0, 3)] {
            assert_eq!(slowest.points(value), points, "{value}");
        }
    }
}
