//! What each use asks of a drive: the thresholds behind every verdict, as data.
//!
//! [`crate::reference::rules_markdown`] prints this table for the documentation.

/// One demand of a use on one metric.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// Keys that can answer it; the first that is present and valid counts.
    pub keys: &'static [&'static str],
    /// What is measured, in words: `random reads at depth 1`.
    pub what: &'static str,
    /// The same as a phrase around a value, which stands at `{}`: `{} random reads/s at depth 1`.
    pub phrase: &'static str,
    /// Unit of the metric and of the thresholds: `1/s`, `MB/s`, `us`.
    pub unit: &'static str,
    /// The least (the most, where smaller is better) for three, two and one points.
    pub thresholds: [f64; 3],
    /// Whether smaller is better.
    pub smaller_is_better: bool,
    /// Whether the use cannot be judged without it.
    pub needed: bool,
    /// Why these thresholds.
    pub why: &'static str,
}

/// A use of a drive and all it demands.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// The name in reports: `system drive`.
    pub name: &'static str,
    /// Beginning of the sentence that states a threshold: `a system drive wants`.
    pub wants: &'static str,
    /// What makes or breaks the use.
    pub about: &'static str,
    /// The demands; the least of their points is the use's.
    pub demands: &'static [Demand],
}

impl Demand {
    /// Points of a value, 0–3.
    pub fn points(&self, value: f64) -> u8 {
        let meets = |threshold: &&f64| {
            if self.smaller_is_better { value <= **threshold } else { value >= **threshold }
        };
        // The thresholds go from hard to easy, so the number that are met is the number of points.
        self.thresholds.iter().filter(meets).count() as u8
    }

    /// The test that measures it, as the command line names it.
    pub fn test(&self) -> &'static str {
        let key = self.keys.first().copied().unwrap_or_default();
        key.split('.').next().unwrap_or_default()
    }

    /// Whether it takes writes to measure it, which only a directory allows.
    pub fn writes(&self) -> bool {
        self.test() == "tiny-writes" || self.keys.iter().all(|key| key.contains(".write."))
    }
}

/// A demand that more is better, without which the use cannot be judged.
const fn more(
    keys: &'static [&'static str],
    words: [&'static str; 2],
    unit: &'static str,
    thresholds: [f64; 3],
    why: &'static str,
) -> Demand {
    let [what, phrase] = words;
    Demand { keys, what, phrase, unit, thresholds, smaller_is_better: false, needed: true, why }
}

/// A demand on the slowest hundredth of small reads, judged only where it was measured.
const fn tail(thresholds: [f64; 3], why: &'static str) -> Demand {
    Demand {
        keys: READ_P99,
        what: "99th percentile of a small read at depth 1",
        phrase: "one small read in a hundred takes over {}",
        unit: "us",
        thresholds,
        smaller_is_better: true,
        needed: false,
        why,
    }
}

/// The same demand, judged only where it was measured.
const fn optional(demand: Demand) -> Demand {
    Demand { needed: false, ..demand }
}

const READ_Q1: &[&str] = &["transfer.rnd4k_q1t1.read.iops", "latency.span100.iops"];
const READ_DEEP: &[&str] = &["transfer.rnd4k_q32t1.read.iops", "transfer.rnd4k_q32t16.read.iops"];
const READ_P99: &[&str] = &["latency.span100.lat_p99_us", "transfer.rnd4k_q1t1.read.lat_p99_us"];
const WRITE_Q1: &[&str] = &["transfer.rnd4k_q1t1.write.iops"];
const WRITE_ANY: &[&str] = &[
    "transfer.rnd4k_q32t1.write.iops",
    "transfer.rnd4k_q32t16.write.iops",
    "transfer.rnd4k_q1t1.write.iops",
];
const SYNCED: &[&str] = &["tiny-writes.rnd16_sync.iops"];
const STREAM_READ: &[&str] = &[
    "transfer.seq1m_q1t1.read.mb_s",
    "transfer.seq1m_q8t1.read.mb_s",
    "transfer.seq128k_q32t1.read.mb_s",
    "surface.read.mean_mb_s",
];
const STREAM_WRITE: &[&str] = &[
    "transfer.seq1m_q1t1.write.mb_s",
    "transfer.seq1m_q8t1.write.mb_s",
    "transfer.seq128k_q32t1.write.mb_s",
];
const END_READ: &[&str] = &["surface.read.end_mb_s"];

const W_READ_Q1: [&str; 2] = ["random reads at depth 1", "{} random reads/s at depth 1"];
const W_READ_DEEP: [&str; 2] =
    ["random reads in a deep queue", "{} random reads/s in a deep queue"];
const W_WRITE_Q1: [&str; 2] = ["random writes at depth 1", "{} random writes/s at depth 1"];
const W_WRITE: [&str; 2] = ["random writes", "{} random writes/s"];
const W_SYNCED: [&str; 2] = ["small synced writes", "{} small synced writes/s"];
const W_STREAM_READ: [&str; 2] = ["sequential reads", "sequential reads at {}"];
const W_STREAM_WRITE: [&str; 2] = ["sequential writes", "sequential writes at {}"];
const W_END_READ: [&str; 2] = ["reads at the end of the drive", "reads at its end at {}"];

/// The five uses, in the order of reports.
pub const USES: &[Use] = &[
    Use {
        name: "system drive",
        wants: "a system drive wants",
        about: "Starting a system or a program is a chain of small reads, each waiting for the one \
                before it; installing updates is a chain of small writes.",
        demands: SYSTEM,
    },
    Use {
        name: "database",
        wants: "a database wants",
        about: "A lookup is a chain of page reads; a commit is not done before the drive says the \
                log is safe.",
        demands: DATABASE,
    },
    Use {
        name: "virtual machines",
        wants: "virtual machines want",
        about: "Many guests mix their requests, so the drive sees random reads and writes in a \
                queue, and each guest waits for all the others.",
        demands: GUESTS,
    },
    Use {
        name: "media library",
        wants: "a media library wants",
        about: "Few long streams, read in order, that must never pause.",
        demands: MEDIA,
    },
    Use {
        name: "backup",
        wants: "a backup drive wants",
        about: "Large amounts written in order at night, and read back once when it matters.",
        demands: BACKUP,
    },
];

const SYSTEM: &[Demand] = &[
    more(
        READ_Q1,
        W_READ_Q1,
        "1/s",
        [4_000.0, 1_500.0, 60.0],
        "4,000 and 1,500 are what the SD Association's application classes A2 and A1 demand of a \
         card that programs run from; 60 is a 5400 rpm disk, from which systems start, slowly",
    ),
    more(
        WRITE_Q1,
        W_WRITE_Q1,
        "1/s",
        [2_000.0, 500.0, 60.0],
        "2,000 and 500 are the writes of classes A2 and A1; 60 is a 5400 rpm disk without its cache",
    ),
    optional(more(
        STREAM_READ,
        W_STREAM_READ,
        "MB/s",
        [400.0, 100.0, 25.0],
        "a program of 500 MB loads in 1.25 s, 5 s or 20 s",
    )),
    tail(
        [2_000.0, 20_000.0, 100_000.0],
        "100 ms is the longest wait that people take for an immediate answer; opening a program \
         takes dozens of reads, so a fiftieth of it stays unnoticed",
    ),
];

const DATABASE: &[Demand] = &[
    more(
        READ_Q1,
        W_READ_Q1,
        "1/s",
        [5_000.0, 1_500.0, 300.0],
        "a lookup of five dependent pages takes 1 ms at 5,000/s, 3.3 ms at 1,500/s and 17 ms at \
         300/s; a 7200 rpm disk stays below 240/s even when it need not seek",
    ),
    more(
        SYNCED,
        W_SYNCED,
        "1/s",
        [500.0, 120.0, 50.0],
        "every commit waits for one: etcd asks for 500/s under heavy load and 50/s at the least; \
         120 is one per revolution at 7200 rpm",
    ),
    optional(more(
        READ_DEEP,
        W_READ_DEEP,
        "1/s",
        [50_000.0, 5_000.0, 300.0],
        "fifty sessions with 1,000, 100 or 6 page reads per second each; a hard disk with command \
         queueing reaches a few hundred",
    )),
    tail(
        [1_000.0, 10_000.0, 20_000.0],
        "SQL Server's guidance calls reads below 10 ms very good and above 20 ms slow; flash \
         stays below 1 ms",
    ),
];

const GUESTS: &[Demand] = &[
    more(
        READ_DEEP,
        W_READ_DEEP,
        "1/s",
        [10_000.0, 1_000.0, 150.0],
        "sizing guides for virtual desktops count 10 to 20 requests/s per guest in use and \
         hundreds while one starts: 150 is ten quiet guests, 1,000 five that start at once, \
         10,000 fifty",
    ),
    more(
        WRITE_ANY,
        W_WRITE,
        "1/s",
        [5_000.0, 500.0, 75.0],
        "guests write at least half of the time (sizing guides count up to nine tenths), so half \
         of what is asked of reads",
    ),
    optional(more(
        SYNCED,
        W_SYNCED,
        "1/s",
        [500.0, 120.0, 30.0],
        "every guest's journal flushes a few times per second: 30 is ten guests, 120 forty, 500 \
         also a database in one of them",
    )),
    tail(
        [5_000.0, 30_000.0, 100_000.0],
        "guests wait for each other: at 100 ms a guest already feels frozen, at 30 ms it feels \
         like a disk of its own",
    ),
];

const MEDIA: &[Demand] = &[
    more(
        STREAM_READ,
        W_STREAM_READ,
        "MB/s",
        [100.0, 50.0, 20.0],
        "an Ultra HD Blu-ray stream is at most 18 MB/s (144 Mbit/s): five streams, or a full \
         gigabit network; two streams; one",
    ),
    optional(more(
        END_READ,
        W_END_READ,
        "MB/s",
        [100.0, 50.0, 20.0],
        "a hard disk is about half as fast at its end, where a full library lives",
    )),
    tail(
        [50_000.0, 250_000.0, 1_000_000.0],
        "a jump within a film takes a few reads; a player's buffer of one second hides a wait of \
         up to one second, not more",
    ),
];

const BACKUP: &[Demand] = &[
    more(
        STREAM_WRITE,
        W_STREAM_WRITE,
        "MB/s",
        [100.0, 40.0, 12.0],
        "1 TB is written within three hours at 100 MB/s, within a night of seven hours at 40, and \
         within a day at 12",
    ),
    more(
        STREAM_READ,
        W_STREAM_READ,
        "MB/s",
        [100.0, 40.0, 12.0],
        "the same for reading it all back",
    ),
    optional(more(
        END_READ,
        W_END_READ,
        "MB/s",
        [80.0, 30.0, 10.0],
        "a full drive ends on its slowest tracks; they may be a little slower than the rest",
    )),
];

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::metrics::quantity_of;

    #[test]
    fn every_demand_names_real_metrics_and_ordered_thresholds() {
        for demand in USES.iter().flat_map(|u| u.demands) {
            let [three, two, one] = demand.thresholds;
            assert_eq!(demand.smaller_is_better, three < two, "{}", demand.what);
            assert_eq!(demand.smaller_is_better, two < one, "{}", demand.what);
            assert!(demand.phrase.contains("{}") && !demand.why.is_empty(), "{}", demand.what);
            for key in demand.keys {
                let quantity = quantity_of(key).unwrap();
                assert_eq!(quantity.unit, demand.unit, "{key}");
                assert_eq!(quantity.smaller_is_better, demand.smaller_is_better, "{key}");
            }
        }
    }

    #[test]
    fn every_use_has_a_demand_it_cannot_be_judged_without() {
        for a_use in USES {
            assert!(a_use.demands.iter().any(|demand| demand.needed), "{}", a_use.name);
        }
    }

    #[test]
    fn points_count_the_thresholds_that_are_met() {
        let reads = &DATABASE[0];
        for (value, points) in
            [(299.9, 0), (300.0, 1), (1_499.0, 1), (1_500.0, 2), (5_000.0, 3), (f64::NAN, 0)]
        {
            assert_eq!(reads.points(value), points, "{value}");
        }
        let slowest = DATABASE.last().unwrap();
        for (value, points) in [(20_001.0, 0), (20_000.0, 1), (10_000.0, 2), (1_000.0, 3)] {
            assert_eq!(slowest.points(value), points, "{value}");
        }
    }
}
