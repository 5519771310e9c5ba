//! Whether a disk keeps random writes elsewhere: shingled tracks cannot be written in place.
//!
//! Reading in order what was written meanwhile tells: a conventional disk has it in place, a shingled one fetches it
//! piece by piece from its cache on disk (Aghayev and Desnoyers, Skylight, FAST 2015).

use crate::phase::LoopMode;
use crate::rate_drop::is_mechanical;
use crate::round::Round;
use crate::test_record::TestRecord;
use drivescope_model::cell::Order;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_stats::summary;

/// Sequential reads of a disk repeat within a few percent; pieces that lie elsewhere cost much more.
const READS_KEPT_MAX: f64 = 0.85;
/// Random reads that keep this share show that nobody else used the disk.
const ALONE_MIN: f64 = 0.8;

/// A finding if sequential reads are slower in most rounds after the first, whose writes came behind them.
pub(super) fn shingled(record: &TestRecord) -> Option<Finding> {
    let rounds = record.rounds();
    let random_writes = rounds.iter().any(|round| {
        let load = round.load.as_ref();
        load.is_some_and(|load| load.shape.order == Order::Rnd && load.mix.writes())
    });
    if !random_writes || !is_mechanical(rounds) {
        return None;
    }
    let random = of_reads(rounds, Order::Rnd)?;
    if random.iter().any(|round| rate(round) < ALONE_MIN * rate(random[0])) {
        return None;
    }
    let (first, later) = of_reads(rounds, Order::Seq)?
        .split_first()
        .map(|(first, later)| (*first, later.to_vec()))?;
    let typical = summary::median(&later.iter().map(|round| rate(round)).collect::<Vec<_>>())?;
    (typical < READS_KEPT_MAX * rate(first)).then(|| {
        let evidence = format!(
            "{}: {} MB/s at first, and {} MB/s once the area had been written at random",
            first.cell,
            rounded(rate(first)),
            rounded(typical)
        );
        Finding::new(FindingId::Shingled, evidence).about("transfer")
    })
}

fn rate(round: &Round) -> f64 {
    round.measured.mb_s()
}

/// All rounds of the first cell of closed reads in an order.
fn of_reads(rounds: &[Round], order: Order) -> Option<Vec<&Round>> {
    let first = rounds.iter().find(|round| {
        round.load.as_ref().is_some_and(|load| {
            let reads = load.mode == LoopMode::Closed && load.mix.read_percent() == 100;
            reads && load.shape.order == order
        })
    })?;
    Some(rounds.iter().filter(|round| round.cell == first.cell).collect())
}

#[cfg(test)]
mod tests {
    use crate::testing::{run_at, run_target, suite_of};
    use drivescope_model::findings::FindingId;
    use drivescope_model::options::TestKind;
    use drivescope_model::units::Bytes;

    #[test]
    fn shingled_disks_are_named_and_conventional_ones_are_not() {
        for (model, is_shingled) in [
            ("st8000as0002-smr", true),
            ("easystore-2tb", true),
            ("wd40efrx", false),
            ("wd20ears", false),
            ("usb-16tb", false),
            ("hgst-7k1000", false),
        ] {
            for seed in 1..=3 {
                let mut suite = suite_of(TestKind::Transfer);
                (suite.rounds, suite.span) = (3, Bytes::gib(1));
                let result =
                    run_at(&run_target(format!("sim:{model}?seed={seed}")), suite, seed, false);
                let ids: Vec<FindingId> = result.findings.iter().map(|f| f.id).collect();
                assert_eq!(ids.contains(&FindingId::Shingled), is_shingled, "{model}: {ids:?}");
                assert!(!ids.contains(&FindingId::Unstable), "{model}: one cause, one finding");
            }
        }
    }
}
