//! The rate of reads in order after random writes: the state after writing, a figure of its own. A disk with shingled
//! tracks cannot write in place and keeps random writes in a cache on disk, so it reads such places slowly, piece by
//! piece; a conventional disk has everything in place (Aghayev and Desnoyers, Skylight, FAST 2015).

use super::places::{BLOCKS_MIN, CellPlaces};
use crate::error::BenchError;
use crate::judging::rate_drop::is_mechanical;
use crate::judging::round::Round;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::phase::{self, Load};
use crate::plan::expected_speed::ExpectedSpeed;
use crate::plan::plan_context::PlanContext;
use crate::session::{Progress, Session};
use drivescope_model::cell::{Cell, Mix, Order, Shape};
use drivescope_model::document::Limiter;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_model::options::Suite;
use drivescope_model::plan::Cost;
use drivescope_model::units::{Bytes, Secs};
use drivescope_stats::summary;
use std::ops::Range;

/// Rounds of reads, each of a stretch of its own: a buffer may still hold the stretch of the round before.
const ROUNDS: u32 = 3;
/// Bytes of each stretch at most, half a second of a disk.
const STRETCH: u64 = 64 << 20;
/// Bytes of a stretch for each random write: reading it costs a shingled disk a turn or two, and the bytes around it
/// 3 ms. More writes would only give the disk a reason to clean up.
const BYTES_PER_WRITE: u64 = 512 << 10;
const WRITE_BYTES: u64 = 4096;
/// Longest time of all writes: enough for the slowest disk.
const WRITING: Secs = Secs(2.0);
/// Rounds of a first look are shorter than this.
const ROUND_MIN: Secs = Secs(0.5);
/// Sequential reads of a disk repeat within a few percent; pieces that lie elsewhere cost much more.
const READS_KEPT_MAX: f64 = 0.85;

/// Whether there is time for this measurement: a first look has one round, or short ones.
pub(super) fn has_time(suite: &Suite) -> bool {
    suite.rounds > 1 && suite.transfer.time >= ROUND_MIN
}

/// The cell whose reads are repeated: the first that reads in order, where another one writes at random.
pub(super) fn repeated(cells: &[Cell]) -> Option<Cell> {
    let writes = cells.iter().any(|cell| cell.shape.order == Order::Rnd && cell.mix.writes());
    let reads = |cell: &&Cell| {
        cell.shape.order == Order::Seq && cell.shape.is_plain() && cell.mix == Mix::READ
    };
    cells.iter().find(reads).copied().filter(|_| writes)
}

/// Bytes of a stretch for `cell` in a part of `part_bytes`; `None` where the part is too small.
fn stretch_bytes(cell: &Cell, part_bytes: u64) -> Option<u64> {
    let block = cell.shape.block.0;
    let stretch = (part_bytes / u64::from(ROUNDS)).min(STRETCH) / block * block;
    (stretch >= block * BLOCKS_MIN / 2).then_some(stretch)
}

/// The cost on a disk. Other drives are not measured.
pub(super) fn cost(cells: &[Cell], places: &CellPlaces, context: &PlanContext<'_>) -> Cost {
    let Range { start, end } = places.written;
    let ExpectedSpeed { mb_s, iops, .. } = context.typical;
    let has_reason = context.is_disk() && has_time(context.suite);
    let repeated = repeated(cells).filter(|_| has_reason);
    let Some(stretch) = repeated.and_then(|cell| stretch_bytes(&cell, end - start)) else {
        return Cost::default();
    };
    let all = stretch * u64::from(ROUNDS);
    let writes = (all / BYTES_PER_WRITE) as f64;
    Cost {
        // The control reads unwritten data four times.
        seconds: (writes / iops).min(WRITING.0) + (all + 4 * stretch) as f64 / (mb_s * 1e6),
        read_bytes: all + 4 * stretch,
        written_bytes: writes as u64 * WRITE_BYTES,
        computed_s: 0.0,
    }
}

/// Writes at random into the first part of the written span and reads that part in order. Only on a disk: other
/// drives do not fetch piece by piece. A first look has no time for it.
pub(super) fn measure(
    session: &mut Session<'_>,
    places: &CellPlaces,
    cells: &[Cell],
    record: &mut TestRecord,
) -> Result<(), BenchError> {
    let part = &places.written;
    let is_wanted = session.is_direct() && has_time(&session.plan.suite);
    let Some(cell) = repeated(cells).filter(|_| is_wanted) else { return Ok(()) };
    let stretch = stretch_bytes(&cell, part.end - part.start);
    let Some(stretch) = stretch.filter(|_| is_mechanical(record.rounds())) else { return Ok(()) };
    let area = part.start..part.start + stretch * u64::from(ROUNDS);
    write_at_random(session, area.clone())?;
    session.device().sync()?;
    let name = format!("{}.read_scattered", cell.shape);
    let load = |span: Range<u64>, round| {
        let mut load = session.load(cell.shape, Mix::READ, span, &name, round);
        load.time = session.plan.suite.transfer.time;
        load.ops_max =
            load.ops_max.min(stretch / cell.shape.block.0 / u64::from(cell.shape.threads)).max(1);
        load.studies_span = true;
        load
    };
    // Unwritten data, right before and after: a drive that is busy reads them slowly, too.
    let before = control(session, &load(places.of_cell(&cell), 0))?;
    let mut start = area.start;
    for round in 1..=ROUNDS {
        session.measure_of(&load(start..start + stretch, round), &name, (round, ROUNDS), record)?;
        start += stretch;
    }
    let after = control(session, &load(places.of_cell(&cell), 0))?;
    // A file system that writes anew elsewhere scatters the file itself.
    if !session.target.writes_its_own()
        && let Some(finding) = shingled(record, &cell, &name, before.min(after))
    {
        record.notice(finding);
    }
    Ok(())
}

fn write_at_random(session: &mut Session<'_>, area: Range<u64>) -> Result<(), BenchError> {
    let block = Bytes(u64::from(session.device().align_bytes()).max(WRITE_BYTES));
    let shape = Shape::plain(Order::Rnd, block, 32);
    let writes = (area.end - area.start) / BYTES_PER_WRITE;
    let pass = session.next_pass();
    session.check_room_to_overwrite(writes * block.0)?;
    let mut load = session.load(shape, Mix::WRITE, area, "scatter", 0);
    (load.time, load.ops_max, load.pass) = (WRITING, load.ops_max.min(writes), pass);
    unrecorded(session, &load).map(drop)
}

/// The rate of unwritten data: the better of two rounds, as an idle disk may be cleaning up.
fn control(session: &Session<'_>, load: &Load) -> Result<f64, BenchError> {
    Ok(unrecorded(session, load)?.max(unrecorded(session, load)?))
}

/// Runs a round that is not recorded; its rate in MB/s.
fn unrecorded(session: &Session<'_>, load: &Load) -> Result<f64, BenchError> {
    session.check_stop()?;
    let control = Control::default();
    let mut progress = Progress::new(session, &control);
    let measured = phase::run(session.device(), load, &control, &mut || progress.report())?;
    match measured.recorder.first_error {
        Some(failure) => Err(BenchError::Request { failure, count: measured.recorder.errors }),
        None => Ok(measured.mb_s()),
    }
}

/// A finding if most stretches with random writes (a disk may clean one up) are slower than unwritten data.
fn shingled(record: &TestRecord, cell: &Cell, name: &str, control_mb_s: f64) -> Option<Finding> {
    let rounds = record.rounds();
    let of = |name: &str| rounds.iter().filter(|round| round.cell == name).collect::<Vec<_>>();
    let fresh: Vec<f64> = of(&cell.to_string()).into_iter().map(rate).collect();
    let (fresh, scattered) = (summary::median(&fresh)?, of(name));
    let limit = READS_KEPT_MAX * fresh;
    let is_slow = |round: &&Round| rate(round) < limit && round.limiter != Limiter::OtherPrograms;
    let slow = scattered.iter().filter(|round| is_slow(round)).count();
    (control_mb_s >= limit && 2 * slow > scattered.len()).then(|| {
        let rates: Vec<f64> = scattered.into_iter().map(rate).collect();
        let evidence = format!(
            "{cell}: {} MB/s, and {} MB/s where data had been written at random",
            rounded(fresh),
            rounded(summary::median(&rates).unwrap_or(0.0))
        );
        Finding::new(FindingId::Shingled, evidence).about("transfer")
    })
}

fn rate(round: &Round) -> f64 {
    round.measured.mb_s()
}

#[cfg(test)]
mod tests {
    use crate::testing::{every, has, run_at, run_target, suite_of, value};
    use drivescope_model::findings::FindingId;
    use drivescope_model::options::TestKind;
    use drivescope_model::units::Bytes;

    /// As in a directory, and on a whole drive.
    const SPANS: [Bytes; 2] = [Bytes::mib(512), Bytes(0)];

    #[test]
    fn only_shingled_disks_are_named() {
        for (model, is_shingled) in [
            ("st8000as0002-smr", true),
            ("easystore-2tb", true),
            ("wd40efrx", false),
            ("wd20ears?fault=flush-lies", false),
            ("usb-16tb", false),
            ("hgst-7k1000", false),
        ] {
            for (seed, &span) in
                every(2, &[1, 2, 3]).flat_map(|&seed| SPANS.iter().map(move |span| (seed, span)))
            {
                let mut suite = suite_of(TestKind::Transfer);
                (suite.rounds, suite.span) = (3, span);
                let sign = if model.contains('?') { '&' } else { '?' };
                let target = run_target(format!("sim:{model}{sign}seed={seed}"));
                let result = run_at(&target, suite, seed, false);
                let case = format!("{model}, seed {seed}, {span}: {:?}", result.findings);
                assert_eq!(has(&result, FindingId::Shingled), is_shingled, "{case}");
                let of =
                    |cell| value(&result, &format!("transfer.seq1m_q8t1.{cell}.mb_s")).unwrap();
                let kept = of("read_scattered") / of("read");
                assert_eq!(kept < 0.7, is_shingled, "{kept} of {case}");
            }
        }
    }

    #[test]
    fn sequential_reads_count_despite_earlier_writes() {
        for model in ["st8000as0002-smr", "easystore-2tb"] {
            for span in SPANS {
                let rate = |cells: &[&str]| {
                    let mut suite = suite_of(TestKind::Transfer);
                    suite.span = span;
                    suite.transfer.cells = cells.iter().map(|cell| cell.parse().unwrap()).collect();
                    let result = run_at(&run_target(format!("sim:{model}")), suite, 1, false);
                    assert!(!has(&result, FindingId::Unstable), "{model}: {:?}", result.findings);
                    value(&result, "transfer.seq1m_q1t1.read.mb_s").unwrap()
                };
                let alone = rate(&["seq1m_q1t1.read"]);
                let writes =
                    ["seq1m_q1t1.read", "seq1m_q8t1.write", "rnd4k_q32t1.write", "rnd4k_q1t1.sync"];
                let beside = rate(&writes);
                assert!(
                    (beside / alone - 1.0).abs() < 0.03,
                    "{model}, {span}: {alone} and {beside}"
                );
            }
        }
    }

    #[test]
    fn flash_needs_no_scattered_data_check() {
        let result = run_at(&run_target("sim:pm871b-128"), suite_of(TestKind::Transfer), 1, false);
        assert_eq!(value(&result, "transfer.seq1m_q8t1.read_scattered.mb_s"), None);
    }
}
