//! `transfer`: how fast are large transfers and small random ones, at which depth.

use super::{Context, no_writes, planned, queueing, restoring, skipped, volume};
use crate::device::Device;
use crate::error::BenchError;
use crate::layout;
use crate::offsets::derive_seed;
use crate::results::TestRecord;
use crate::session::Session;
use drivescope_model::cell::{Cell, Mix, Order, Shape};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::{TestKind, TransferOptions};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use std::ops::Range;

/// A span must hold so many blocks, or its requests meet the same ones over and over.
const BLOCKS_MIN: u64 = 16;
/// Through the page cache, random reads touch at most this part of the blocks, so that few are met twice.
const BUFFERED_PART: u64 = 16;

/// All cells in the order they run: reads, writes, mixes, as CrystalDiskMark does.
fn cells(options: &TransferOptions) -> Vec<Cell> {
    let mut mixes = options.mixes.clone();
    mixes.sort_by_key(|mix| match *mix {
        Mix::READ => 0,
        Mix::WRITE => 1,
        _ => 2,
    });
    mixes.dedup();
    let shapes = options.all_shapes();
    let mut cells: Vec<Cell> = mixes
        .into_iter()
        .flat_map(|mix| shapes.iter().map(move |&shape| Cell { shape, mix }))
        .collect();
    if !options.cells.is_empty() {
        cells = options.cells.clone();
    }
    cells
}

pub(super) fn plan(context: &Context<'_>) -> PlannedTest {
    let options = &context.suite.transfer;
    let all = cells(options);
    if all.is_empty() {
        return skipped(
            TestKind::Transfer,
            context,
            "names no cells: name some with --cells or --set transfer.preset",
        );
    }
    let restores = restoring::of(context, options.area);
    let refused = no_writes(context, WriteLevel::Restore).map(String::from);
    let refused = refused.or(restores.as_ref().err().cloned());
    let restores = restores.ok().flatten();
    let mut test = planned(TestKind::Transfer, context);
    let mut active = 0u32;
    // Why not, if nothing can run: once each, and the cell that asks for the least space.
    let mut reasons: Vec<String> = Vec::new();
    let mut least: Option<(Bytes, &Cell)> = None;
    for cell in &all {
        let writes = cell.mix.writes();
        let area = restores.as_ref().filter(|_| writes).map(|restores| restores.area_bytes);
        let needed = Bytes(cell.shape.block.0 * BLOCKS_MIN);
        let reason = match &refused {
            Some(reason) if writes => Some(reason.clone()),
            _ if context.span_bytes < needed.0 => {
                least = least.filter(|(known, _)| known.0 <= needed.0).or(Some((needed, cell)));
                Some(format!("needs {} or more", needed.binary()))
            }
            _ if area.is_some_and(|area| area < needed.0) => {
                Some(format!("needs --set transfer.area={} or more", needed.short()))
            }
            _ => None,
        };
        match reason {
            Some(reason) => {
                test.omitted.push(format!("{cell}: {reason}"));
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
            None => {
                active += 1;
                if writes && context.target.kind == TargetKind::Block {
                    test.writes = context.allowed;
                    test.restores = restores.clone();
                }
                test.cost = test.cost + cell_cost(cell, context);
            }
        }
    }
    if active == 0 {
        let reason = match least {
            Some((needed, cell)) => {
                format!("needs {} or more, enough for --cells {cell}", needed.binary())
            }
            None => reasons.join("; "),
        };
        return skipped(TestKind::Transfer, context, reason);
    }
    test.omitted = condense(test.omitted);
    if let Some(restores) = &test.restores {
        test.cost = test.cost + restoring::cost(restores, context);
    }
    test
}

/// Several cells left out for one reason become one line.
fn condense(omitted: Vec<String>) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for line in omitted {
        let (cell, reason) = line.split_once(": ").unwrap_or(("", &line));
        match lines.iter_mut().find(|(known, _)| known == reason) {
            Some((_, cells)) => cells.push(cell.to_string()),
            None => lines.push((reason.to_string(), vec![cell.to_string()])),
        }
    }
    lines.into_iter().map(|(reason, cells)| format!("{}: {reason}", cells.join(", "))).collect()
}

fn cell_cost(cell: &Cell, context: &Context<'_>) -> Cost {
    let options = &context.suite.transfer;
    let rounds = f64::from(context.suite.rounds);
    let seconds = (options.time.0 + options.ramp.0 + context.suite.pause.0) * rounds;
    let Shape { order, block, depth, threads } = cell.shape;
    let rate = context.assumed.rate(order == Order::Rnd, block.0, depth * threads);
    let bytes = rate * (options.time.0 + options.ramp.0) * rounds;
    let reads = f64::from(cell.mix.read_percent()) / 100.0;
    let written_bytes = match context.most.filter(|_| cell.mix.writes()) {
        Some(most) => {
            volume::round_bytes(cell, options, most).saturating_mul(context.suite.rounds.into())
        }
        None => (bytes * (1.0 - reads)) as u64,
    };
    Cost { seconds, read_bytes: (bytes * reads) as u64, written_bytes }
}

pub(super) fn run(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    let suite = &session.plan.suite;
    session.prepare_device()?;
    let writable = session.may_write(WriteLevel::Restore);
    let device = session.open_device();
    let (span, area) = (session.span(device), session.area());
    // Where a cell works: writes that are put back, only in their area.
    let place = |cell: &Cell| area.clone().filter(|_| cell.mix.writes()).unwrap_or(span.clone());
    let runs_here = |cell: &Cell| {
        let Range { start, end } = place(cell);
        (writable || !cell.mix.writes()) && end - start >= cell.shape.block.0 * BLOCKS_MIN
    };
    let (align, mut active) = (device.align_bytes(), Vec::new());
    for cell in cells(&suite.transfer).into_iter().filter(runs_here) {
        if cell.shape.block.0.is_multiple_of(u64::from(align)) {
            active.push(cell);
        } else {
            record.remark(format!("{cell}: direct I/O here moves multiples of {align} bytes"));
        }
    }
    if active.is_empty() {
        return Err(BenchError::Unsuitable(record.remarks().join("; ")));
    }
    let writing = active.iter().filter(|cell| cell.mix.writes()).map(Cell::to_string);
    let writing: Vec<String> = writing.collect();
    if let Some(area) = area.clone().filter(|_| !writing.is_empty()) {
        session.protect(area.clone())?;
        restoring::confess(record, &area, &writing);
    }
    for round in 1..=suite.rounds {
        for cell in &active {
            session.pause(suite.pause)?;
            run_cell(session, cell, round, place(cell), record)?;
        }
    }
    let kind = session.target.drive().map(|drive| drive.kind);
    if session.is_direct()
        && !queueing::may_be_capped(kind, session.findings())
        && let Some(finding) = queueing::no_gain(record)
    {
        record.notice(finding);
    }
    // On a raw device most places still hold what was there before; `verify` is the test for it.
    let own = session.target.info().kind == TargetKind::Directory;
    if own && !writing.is_empty() {
        let seed = derive_seed(session.plan.seed, "verify", 0, 0);
        layout::verify_sample(session, session.open_device(), seed)?;
    }
    Ok(())
}

fn run_cell(
    session: &mut Session<'_>,
    cell: &Cell,
    round: u32,
    span: Range<u64>,
    record: &mut TestRecord,
) -> Result<(), BenchError> {
    let options = &session.plan.suite.transfer;
    let name = cell.to_string();
    let mut load = session.load(cell.shape, cell.mix, span, &name, round);
    (load.ramp, load.time) = (options.ramp, options.time);
    if cell.mix.writes() {
        load.pass = session.next_pass();
        if let Some(most) = volume::most(session.target) {
            load.ops_max = volume::round_requests(cell, options, most);
            session.check_room_to_overwrite(volume::round_bytes(cell, options, most))?;
        }
    }
    let device = session.open_device();
    if !device.is_direct() {
        load.ramp.0 = 0.0;
        let blocks = (load.span.end - load.span.start) / cell.shape.block.0;
        let part = if cell.shape.order == Order::Seq { 1 } else { BUFFERED_PART };
        let once = (blocks / part / u64::from(cell.shape.threads)).max(1);
        load.ops_max = load.ops_max.min(once);
        leave_the_cache(device, &name, record)?;
    }
    session.measure(&load, &name, round, record)?;
    if cell.mix.writes() {
        session.open_device().sync()?;
        session.give_back_replaced()?;
    }
    Ok(())
}

/// Evicts a file that can only be read through the page cache, and proves it.
pub(super) fn leave_the_cache(
    device: &Device,
    cell: &str,
    record: &mut TestRecord,
) -> Result<(), BenchError> {
    /// Pages in use by others may stay; more than this and the cache answers.
    const RESIDENT_MAX: f64 = 0.01;
    device.evict()?;
    let test = record.test();
    let refused = "O_DIRECT was refused by a real transfer".to_string();
    record.notice(Finding::new(FindingId::DirectRefused, refused).about(test.name()));
    if let Some(share) = device.resident_share().filter(|&share| share > RESIDENT_MAX) {
        let evidence =
            format!("{cell}: {:.0} % of the file stayed in memory after eviction", share * 100.0);
        record.notice(Finding::new(FindingId::PageCache, evidence).about(format!("{test}.{cell}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner;
    use crate::testing::{run_target, suite_of};
    use drivescope_model::plan::Engine;

    #[test]
    fn cells_run_reads_first_then_writes_then_mixes() {
        let options = TransferOptions {
            shapes: vec!["seq1m_q8t1".parse().unwrap(), "rnd4k_q1t1".parse().unwrap()],
            mixes: vec!["mix70".parse().unwrap(), Mix::WRITE, Mix::READ],
            ..TransferOptions::default()
        };
        let names: Vec<String> = cells(&options).iter().map(Cell::to_string).collect();
        assert_eq!(
            names,
            [
                "seq1m_q8t1.read",
                "rnd4k_q1t1.read",
                "seq1m_q8t1.write",
                "rnd4k_q1t1.write",
                "seq1m_q8t1.mix70",
                "rnd4k_q1t1.mix70"
            ]
        );
    }

    #[test]
    fn a_suite_without_cells_is_told_so_in_a_sentence() {
        let mut suite = suite_of(TestKind::Transfer);
        (suite.transfer.preset, suite.transfer.shapes) = (None, Vec::new());
        let target = run_target("sim:wd40efrx");
        let plan = planner::plan(suite, 1, Engine::Sim, &target, false, WriteLevel::Read);
        let message = plan.unwrap_err().to_string();
        assert!(message.contains("sim:wd40efrx: transfer names no cells: "), "{message}");
    }

    #[test]
    fn reasons_are_said_once() {
        let lines = ["a: needs x", "b: needs y", "c: needs x"].map(String::from).to_vec();
        assert_eq!(condense(lines), ["a, c: needs x", "b: needs y"]);
    }
}
