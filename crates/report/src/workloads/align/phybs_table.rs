//! The table that phybs prints, in its own columns.

use drivescope_model::{Bytes, Run, TestKind, TestResult};

const HEADER: &str = "   count    size  offset    step        msec     tps    kBps\n";

/// The passes of the run's `align` test as phybs prints them: an empty line between sizes; `kBps` counts
/// KiB. Every figure is cut to whole units, as its integer division does, in 64 bits. With several rounds
/// each figure is the median. `None` if the run has no such passes.
pub fn phybs_table(run: &Run) -> Option<String> {
    let total = run.plan.suite.align.total.0;
    let results = run.tests.iter().filter(|result| result.test == TestKind::Align);
    let passes: Vec<PhybsPass> = results.flat_map(passes).collect();
    if passes.is_empty() {
        return None;
    }
    let mut out = HEADER.to_string();
    let mut size_before = passes[0].size;
    for pass in &passes {
        if pass.size != size_before {
            out.push('\n');
            size_before = pass.size;
        }
        out.push_str(&pass.line(total));
    }
    Some(out)
}

struct PhybsPass {
    size: u64,
    offset: u64,
    usec: u64,
}

fn passes(result: &TestResult) -> impl Iterator<Item = PhybsPass> + '_ {
    result.metrics.iter().filter_map(|metric| {
        let cell = metric.key.strip_prefix("align.pass")?.strip_suffix(".pass_ms")?;
        let (size, offset) = cell.split_once("_at_")?;
        let size = size.parse::<Bytes>().ok()?.0;
        let usec = (metric.value * 1e3).round().max(1.0) as u64;
        Some(PhybsPass { size, offset: offset.parse().ok()?, usec })
    })
}

impl PhybsPass {
    /// Widths of phybs: 8 for each column, two spaces and 10 for the time.
    fn line(&self, total: u64) -> String {
        let Self { size, offset, usec } = *self;
        let count = total / size.max(1);
        let step = size * 4;
        let per_second = |n: u64| u128::from(n) * 1_000_000 / u128::from(usec);
        let (msec, tps) = (usec / 1000, per_second(count));
        let kbps = per_second(count * size) / 1024;
        format!("{count:>8}{size:>8}{offset:>8}{step:>8}  {msec:>10}{tps:>8}{kbps:>8}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_match_phybs_with_true_figures() {
        // "Benchmarking Advanced Format Drives": msec and kBps as printed, tps as 64 bits give it (printed: 138 and 2).
        for (offset, usec, line) in [
            (0, 19_503_000, "   32768    4096       0   16384       19503    1680    6720\n"),
            (512, 1_216_537_000, "   32768    4096     512   16384     1216537      26     107\n"),
        ] {
            assert_eq!(PhybsPass { size: 4096, offset, usec }.line(128 << 20), line);
        }
    }

    #[test]
    fn the_header_stands_above_its_columns() {
        let line = PhybsPass { size: 4096, offset: 0, usec: 1 << 20 }.line(128 << 20);
        assert_eq!(HEADER.len(), line.len());
    }
}
