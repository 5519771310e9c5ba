//! Cells written a second time with data that compress: whether the drive, or a layer above it, compresses.

use crate::judging::test_record::TestRecord;
use drivescope_model::cell::{Cell, Mix};
use drivescope_model::document::Limiter;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_model::options::TransferOptions;
use drivescope_stats::interval::median_interval;
use drivescope_stats::summary;

/// Smaller gains have other causes: compressible data are made faster.
const GAIN_MIN: f64 = 1.05;
const CONFIDENCE: f64 = 0.95;

/// What part of the data compresses, in per cent, each time that a round measures `cell`. The order changes from round
/// to round: a cache that fills is then not always full for the same data.
pub(super) fn shares(cell: &Cell, options: &TransferOptions, round: u32) -> Vec<u8> {
    match options.compress {
        percent if percent == 0 || cell.mix != Mix::WRITE => vec![0],
        percent if round.is_multiple_of(2) => vec![percent, 0],
        percent => vec![0, percent],
    }
}

/// Of the metrics of `cell` with these data.
pub(super) fn name(cell: &Cell, compress: u8) -> String {
    if compress == 0 { cell.to_string() } else { format!("{cell}_compress{compress}") }
}

/// One for each cell that is written faster with data that compress.
pub(super) fn rates_follow(
    record: &TestRecord,
    options: &TransferOptions,
    cells: &[Cell],
) -> Vec<Finding> {
    let twice = cells.iter().filter(|cell| shares(cell, options, 1).len() > 1);
    twice.filter_map(|cell| rate_follows(record, cell, options.compress)).collect()
}

fn rate_follows(record: &TestRecord, cell: &Cell, compress: u8) -> Option<Finding> {
    let [plain, packed] = [0, compress].map(|compress| name(cell, compress));
    let of_drive = [Limiter::Drive, Limiter::Link, Limiter::FileSystem, Limiter::Throttling];
    if !record.rounds_of(&plain).all(|round| of_drive.contains(&round.limiter)) {
        return None;
    }
    let rates = |name: &str| -> Vec<f64> {
        record.rounds_of(name).map(|round| round.measured.mb_s()).collect()
    };
    let (slow, fast) = (rates(&plain), rates(&packed));
    let gain = summary::median(&fast)? / summary::median(&slow)?;
    let [slowly, quickly] =
        [median_interval(&slow, CONFIDENCE)?, median_interval(&fast, CONFIDENCE)?];
    // One round has no spread to compare.
    let is_shown = slow.len().min(fast.len()) > 1 && quickly.low > slowly.high;
    (is_shown && gain >= GAIN_MIN).then(|| {
        let evidence = format!(
            "{cell}: {} MB/s, and {} MB/s with data of which {compress} % compress away",
            rounded(summary::median(&slow).unwrap_or(0.0)),
            rounded(summary::median(&fast).unwrap_or(0.0)),
        );
        let of_both = Finding::new(FindingId::RateFollowsData, evidence).weighing(gain);
        of_both.about(format!("transfer.{plain}")).about(format!("transfer.{packed}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{has, round, run_on, suite_of, value};
    use drivescope_model::options::TestKind;

    const CELL: &str = "seq1m_q8t1.write";
    const MIB: u64 = 1 << 20;

    /// Of rounds with these rates in MiB/s, incompressible and compressible.
    fn found(plain: [u64; 3], packed: [u64; 3], limiter: Limiter) -> Vec<Finding> {
        let mut record = TestRecord::new(TestKind::Transfer);
        for (name, rates) in [(CELL, plain), ("seq1m_q8t1.write_compress80", packed)] {
            for rate in rates {
                let mut round = round(name, rate, MIB, Mix::WRITE);
                round.limiter = limiter;
                record.add(round);
            }
        }
        let options = TransferOptions { compress: 80, ..TransferOptions::default() };
        rates_follow(&record, &options, &[CELL.parse().unwrap()])
    }

    #[test]
    fn faster_compressible_data_are_a_finding() {
        let findings = found([200, 202, 198], [400, 404, 396], Limiter::Drive);
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(finding.id, FindingId::RateFollowsData);
        assert_eq!(
            finding.evidence,
            "seq1m_q8t1.write: 210 MB/s, and 419 MB/s with data of which 80 % compress away"
        );
        assert!(finding.concerns("transfer.seq1m_q8t1.write_compress80.mb_s"));
        assert!(finding.concerns("transfer.seq1m_q8t1.write.mb_s"));
    }

    #[test]
    fn noise_small_gains_and_a_slow_generator_are_not() {
        for (plain, packed, limiter) in [
            ([200, 202, 198], [200, 203, 199], Limiter::Drive),
            ([200, 100, 300], [400, 200, 350], Limiter::Drive),
            ([2000, 2001, 2002], [2040, 2041, 2042], Limiter::Drive),
            ([400, 404, 396], [200, 202, 198], Limiter::Drive),
            ([200, 202, 198], [400, 404, 396], Limiter::Generator),
        ] {
            assert_eq!(found(plain, packed, limiter), [], "{plain:?} {packed:?}");
        }
    }

    /// The simulated drives do not compress.
    #[test]
    fn written_twice_at_the_same_rate_where_nothing_compresses() {
        let mut suite = suite_of(TestKind::Transfer);
        (suite.rounds, suite.transfer.compress) = (3, 80);
        suite.transfer.cells =
            ["seq1m_q8t1.read", CELL, "rnd4k_q1t1.sync"].map(|cell| cell.parse().unwrap()).to_vec();
        let result = run_on("sim:pm871b-128", suite);
        let rate = |cell: &str| value(&result, &format!("transfer.{cell}.mb_s"));
        let (plain, packed) = (rate(CELL).unwrap(), rate("seq1m_q8t1.write_compress80").unwrap());
        assert!((plain / packed - 1.0).abs() < 0.05, "{plain} {packed}");
        assert!(!has(&result, FindingId::RateFollowsData));
        assert_eq!(rate("seq1m_q8t1.read_compress80"), None);
        assert_eq!(rate("rnd4k_q1t1.sync_compress80"), None);
    }
}
