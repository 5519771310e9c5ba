//! The ceiling of every rate: the link of the drive, or memory where no link is known. For rates of rounds, and for
//! rates that tests compute themselves.

use super::Environment;
use crate::judging::round::Round;
use drivescope_model::document::{Metric, TestResult};
use drivescope_model::findings::{Finding, FindingId, is_under};
use drivescope_model::number::rounded;

/// Tolerance of clocks and counters of two devices.
const CEILING_SLACK: f64 = 1.02;
/// A copy moves each byte through memory twice; a rate from or into memory counts it once.
const COPY_MOVES: f64 = 2.0;
/// Quantities that stand for their whole cell: if they cannot be true, its times cannot either.
const OF_THE_CELL: [&str; 2] = ["mb_s", "mean_mb_s"];

/// A round that is faster than the way to the drive, or than memory.
pub(super) fn above_ceiling(round: &Round, environment: &Environment) -> Option<Finding> {
    // The bytes of a round are certain to within one request: at least this share.
    let certain = 1.0 - (round.measured.recorder.ops.max(1) as f64).recip();
    let rate = round.measured.mb_s() * certain;
    if round.is_of_memory() {
        return above_memory(&round.cell, rate, COPY_MOVES, environment.cores, environment);
    }
    if environment.link_mb_s.is_some() {
        // PCIe and USB 3 carry reads and writes side by side, SATA one or the other.
        let one_way = rate * if environment.duplex { busier_way(round) } else { 1.0 };
        return above_link(&round.cell, one_way, environment);
    }
    above_memory(&round.cell, rate, 1.0, copying_cores(round, environment), environment)
}

/// Checks rates that tests have computed themselves. `of_memory`: keys of rates and of cells that the page cache
/// answers on purpose. `directions`: in which the bytes of a rate cross a link at once.
pub(crate) fn of_figures(
    result: &TestResult,
    of_memory: &[String],
    directions: f64,
    environment: &Environment,
) -> Vec<Finding> {
    if environment.memory_backed || environment.has_holes {
        return Vec::new(); // the run says once that no number is a drive's
    }
    let is_of_memory = |key: &str| of_memory.iter().any(|known| is_under(key, known));
    let check = |metric: &Metric| {
        let rate = match metric.unit.as_str() {
            // An estimate is impossible if its whole interval is.
            "MB/s" if metric.rounds.len() < 2 => metric.low,
            "MB/s" => metric.value,
            "KiB/s" => metric.value * 1024.0 / 1e6,
            _ => return None,
        };
        let name = metric.key.split_once('.').map_or(metric.key.as_str(), |(_, name)| name);
        let found = if is_of_memory(&metric.key) {
            above_memory(name, rate, COPY_MOVES, environment.cores, environment)
        } else if environment.link_mb_s.is_some() {
            above_link(name, rate / directions, environment)
        } else {
            above_memory(name, rate, 1.0, environment.cores, environment)
        };
        found.map(|finding| finding.about(concerned(&metric.key)))
    };
    result.metrics.iter().filter_map(check).collect()
}

/// The metrics that cannot be true with this one: all of the cell, or it alone.
fn concerned(key: &str) -> &str {
    let (cell, quantity) = key.rsplit_once('.').unwrap_or((key, ""));
    if OF_THE_CELL.contains(&quantity) { cell } else { key }
}

fn above_link(name: &str, rate: f64, environment: &Environment) -> Option<Finding> {
    let link = environment.link_mb_s?;
    let evidence =
        || format!("{name}: {} MB/s over a link of {} MB/s", rounded(rate), rounded(link));
    (rate > link * CEILING_SLACK)
        .then(|| Finding::new(FindingId::AboveLink, evidence()).weighing(rate))
}

/// Above what `cores` can copy, times the part of a copy that the rate needs.
fn above_memory(
    name: &str,
    rate: f64,
    moves: f64,
    cores: u32,
    environment: &Environment,
) -> Option<Finding> {
    let ceiling = |copy_mb_s: f64| copy_mb_s * f64::from(cores) * moves;
    if rate <= ceiling(environment.memory_copy_mb_s) * CEILING_SLACK {
        return None;
    }
    let memory = ceiling(environment.memory_copy_mb_s.max((environment.memory_copy_again)()));
    let of = if cores == 1 { "one CPU".to_string() } else { format!("{cores} CPUs") };
    let what = if moves > 1.0 { "move" } else { "copy" };
    let evidence = || {
        format!("{name}: {} MB/s, but {of} can {what} only {} MB/s", rounded(rate), rounded(memory))
    };
    (rate > memory * CEILING_SLACK)
        .then(|| Finding::new(FindingId::AboveMemory, evidence()).weighing(rate))
}

/// Share of a round's bytes in the busier direction.
fn busier_way(round: &Round) -> f64 {
    let reads = round.load.as_ref().map_or(100, |load| load.mix.read_percent());
    f64::from(reads.max(100 - reads)) / 100.0
}

/// Cores that can move a round's bytes through memory. With direct I/O the device does it, and several at once
/// below an array, so that only the whole machine bounds it; through the page cache the threads of the load copy.
fn copying_cores(round: &Round, environment: &Environment) -> u32 {
    let threads = round.load.as_ref().map_or(1, |load| load.shape.threads);
    if environment.direct { environment.cores } else { threads.min(environment.cores) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::test_record::TestRecord;
    use crate::judging::validity::tests::environment;
    use drivescope_model::options::TestKind;

    fn invalid(test: TestKind, figures: &[(&str, f64)], environment: &Environment) -> Vec<String> {
        let mut record = TestRecord::new(test);
        record.answers_from_memory("again");
        for (key, value) in figures {
            record.metric(key, vec![*value]);
        }
        let of_memory = record.of_memory();
        let result = record.finish(3);
        let found = of_figures(&result, &of_memory, 1.0, environment);
        found.into_iter().flat_map(|finding| finding.metrics).collect()
    }

    #[test]
    fn own_figures_above_the_link_are_invalid() {
        fn of(figures: &[(&str, f64)]) -> Vec<String> {
            invalid(TestKind::ReadFiles, figures, &environment())
        }
        assert_eq!(of(&[("read.mean_mb_s", 26_200.0)]), ["read-files.read"], "the whole cell");
        let fastest = of(&[("read.max_mb_s", 650.0), ("read.mean_mb_s", 500.0)]);
        assert_eq!(fastest, ["read-files.read.max_mb_s"]);
        assert!(of(&[("read.mean_mb_s", 600.0), ("read.files", 9e9)]).is_empty());
        assert!(of(&[("again.mean_mb_s", 6_000.0)]).is_empty(), "memory answers on purpose");
        let beyond_memory = of(&[("again.mean_mb_s", 60_000.0)]);
        assert_eq!(beyond_memory, ["read-files.again"]);
    }

    #[test]
    fn own_figures_without_link_are_compared_with_memory() {
        let unknown = Environment { link_mb_s: None, ..environment() };
        let of = |rate| invalid(TestKind::Copy, &[("large.copy.mb_s", rate)], &unknown);
        assert_eq!(of(26_200.0), ["copy.large.copy"]);
        assert!(of(9_000.0).is_empty());
    }
}
