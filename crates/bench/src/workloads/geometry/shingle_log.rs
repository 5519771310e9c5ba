//! How much a shingled disk takes at random before it has to clean: its persistent cache, or what the map of that can
//! hold (A. Aghayev and P. Desnoyers, Skylight, FAST 2015).

use super::probe::ProbeAnswer;
use super::write_cache::WriteProbe;
use crate::error::BenchError;
use drivescope_model::units::Bytes;
use drivescope_stats::summary;

/// A write, how many go out between two looks, and how many are timed together.
const CHUNK: u64 = 512 << 10;
const BATCH: usize = 64;
const BIN: usize = 8;
/// What a write cache may have taken first says nothing of the log.
const CACHED_BINS: usize = 128;
/// Cleaning rewrites a whole band for each write: a seek is never this many times slower.
const SLOWER_MIN: f64 = 4.0;

/// Bytes of random writes that were taken at full speed, each place once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogSize {
    pub bytes: f64,
    pub step: f64,
}

/// Writes at random until writes become many times slower for good; why not if they never do.
pub fn measure(
    writes: &mut WriteProbe<'_, '_>,
    most: u64,
    has_time: &dyn Fn(&WriteProbe<'_, '_>) -> bool,
) -> ProbeAnswer<LogSize, BenchError> {
    let in_bin = (BIN as u64 * CHUNK) as f64;
    let mut bins: Vec<f64> = Vec::new();
    while bins.len() as f64 * in_bin < most as f64 && has_time(writes) {
        let round = (bins.len() * BIN / BATCH) as u32 + 1;
        let places = (0..BATCH).map(|_| writes.place(CHUNK)).collect();
        let ns = writes.write("shingle_log", round, CHUNK, places, (false, false))?;
        bins.extend(ns.chunks_exact(BIN).map(|bin| bin.iter().sum::<f64>()));
        if let Some(full) = full_at(&bins) {
            let span = &writes.area.span;
            let bytes = distinct(full as f64 * in_bin, (span.end - span.start) as f64);
            return Ok(Ok(LogSize { bytes, step: in_bin }));
        }
    }
    let written = Bytes((bins.len() as f64 * in_bin) as u64);
    Ok(Err(format!(
        "{written} of random writes were taken without cleaning; use a larger geometry.cache_writes and --time"
    )))
}

/// Distinct bytes that random writes of `bytes` in all cover in a span: a block may be written more than once.
fn distinct(bytes: f64, span: f64) -> f64 {
    -span * (-bytes / span).exp_m1()
}

/// The first bin of a slow end that is as long as a batch.
fn full_at(bins: &[f64]) -> Option<usize> {
    let slow_min = BATCH / BIN;
    let usual = summary::median(bins.get(CACHED_BINS..bins.len().checked_sub(slow_min)?)?)?;
    let fast = bins.iter().rposition(|ns| *ns < SLOWER_MIN * usual)?;
    (bins.len() - fast > slow_min).then_some(fast + 1)
}

#[cfg(test)]
mod tests {
    use super::{distinct, full_at};

    #[test]
    fn block_written_twice_counts_once() {
        assert!((distinct(1e9, 1e15) / 1e9 - 1.0).abs() < 1e-5);
        assert!((distinct(10e9, 100e9) / 1e9 - 9.516).abs() < 1e-3);
    }

    #[test]
    fn the_log_is_full_where_writes_stay_slow() {
        let mut bins = vec![0.1; 120];
        bins.extend([1.0; 40]);
        assert_eq!(full_at(&bins), None);
        bins.push(9.0);
        bins.push(1.0);
        assert_eq!(full_at(&bins), None, "a single delay");
        bins.extend([8.0; 8]);
        assert_eq!(full_at(&bins), Some(162));
        assert_eq!(full_at(&[]), None);
    }
}
