//! `transfer`: how fast are large transfers and small random ones, at which depth.

mod cell_order;
mod compressible;
mod places;
mod queue_gain;
mod restore_area;
mod scattered;
mod synced_cell;

use crate::error::BenchError;
use crate::io::offsets::derive_seed;
use crate::io::payload::compressible_pass;
use crate::judging::test_record::TestRecord;
use crate::loops::engine_trial;
use crate::plan::expected_speed::ExpectedSpeed;
use crate::plan::option_checks::{check_once, check_time, ensure};
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::plan::round_volume::{self, RoundLength};
use crate::session::Session;
use crate::workload::{GivenOption, Workload, shorten_rounds};
use crate::workloads::shared::buffered::evict;
use crate::workloads::shared::flush_honesty::free_flush;
use crate::workloads::shared::test_file;
use cell_order::{in_order, repeats_all, run_rounds};
use drivescope_model::cell::{Cell, Order, Shape};
use drivescope_model::options::{CellBounds, Suite, TestKind, TransferOptions};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::{Bytes, Secs, UnitError};
use places::{CellPlaces, bytes_min};
use std::ops::Range;

/// Through the page cache, random reads touch at most this part of the blocks, so that few are met twice.
const BUFFERED_PART: u64 = 16;

pub struct TransferWorkload;

impl Workload for TransferWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Transfer
    }

    fn question(&self) -> &'static str {
        "how fast are large and small transfers, by queue depth"
    }

    fn access(&self) -> &'static str {
        "in a directory: writes a file of its own; on a file: only reads; on a device: only reads, unless --write \
         restore (contents are put back) or --destroy SERIAL (contents are lost)"
    }

    fn how_to_shorten(&self, suite: &Suite) -> String {
        shorten_rounds(suite.rounds, suite.transfer.time)
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let options = &suite.transfer;
        check_once(&options.cells, "transfer names the cell")?;
        check_time(options.time)?;
        options.bounds.iter().try_for_each(|bounds| check_time(bounds.time))?;
        let cells_with_bounds: Vec<Cell> = options.bounds.iter().map(|it| it.cell).collect();
        check_once(&cells_with_bounds, "transfer.bounds names the cell")?;
        let queued =
            |cell: &&Cell| cell.mix.is_synced() && cell.shape.depth * cell.shape.threads > 1;
        if let Some(cell) = options.all_cells().iter().find(queued) {
            return Err(format!("{cell} cannot be: each write waits for its flush; use q1t1"));
        }
        ensure(options.compress <= 100, || {
            format!("transfer.compress is {} but must be 0 to 100 (per cent)", options.compress)
        })?;
        ensure(options.area.0 >= 1 << 20, || "transfer.area must be at least 1 MiB".to_string())
    }

    fn apply(&self, overrides: &Overrides, suite: &mut Suite) -> Result<(), String> {
        let options = &mut suite.transfer;
        if let Some(time) = overrides.time {
            options.time = time;
            options.bounds.iter_mut().for_each(|bounds| bounds.time = time);
        }
        let sets = |name: &str| overrides.settings.iter().any(|setting| setting.starts_with(name));
        if !overrides.cells.is_empty() {
            options.cells.clear();
        } else if ["transfer.preset=", "transfer.shapes=", "transfer.mixes="].into_iter().any(sets)
        {
            // A suite's own cells would win over the chosen shapes and directions.
            for cell in std::mem::take(&mut options.cells) {
                if !sets("transfer.preset=") && !options.shapes.contains(&cell.shape) {
                    options.shapes.push(cell.shape);
                }
            }
        }
        for text in &overrides.cells {
            if text.contains('.') {
                options.cells.push(text.parse().map_err(|error: UnitError| error.to_string())?);
            } else {
                let shape: Shape = text.parse().map_err(|error: UnitError| error.to_string())?;
                options.cells.extend(options.mixes.iter().map(|&mix| Cell { shape, mix }));
            }
        }
        Ok(())
    }

    fn timed_phases(&self, suite: &Suite) -> usize {
        let cells = suite.transfer.all_cells();
        cells.iter().map(|cell| compressible::shares(cell, &suite.transfer, 1).len()).sum()
    }

    fn reads_existing_data(&self) -> bool {
        true
    }

    fn given_options(&self, overrides: &Overrides) -> Vec<GivenOption> {
        GivenOption::among(&[("--cells", false, !overrides.cells.is_empty())])
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let options = &context.suite.transfer;
        let all = in_order(options);
        if all.is_empty() {
            return context.skipped(
                self.kind(),
                "has no cells: add some with --cells or --set transfer.preset",
            );
        }
        let restores = restore_area::of(context, options.area);
        let refused = context.write_refusal(WriteLevel::Restore).map(String::from);
        let refused = refused.or(restores.as_ref().err().cloned());
        let restores = restores.ok().flatten();
        let mut test = context.planned(self.kind());
        let area = restores.as_ref().map(|it| it.from_bytes..it.from_bytes + it.area_bytes);
        let may_write = |cell: &&Cell| refused.is_none() || !cell.mix.writes();
        let runnable: Vec<Cell> = all.iter().filter(may_write).copied().collect();
        let repeats = repeats_all(context.suite);
        let places = CellPlaces::of(&(0..context.span_bytes), area.as_ref(), &runnable, repeats);
        let mut active = Vec::new();
        // Why not, if nothing can run: once each, and the cell that asks for the least space.
        let mut reasons: Vec<String> = Vec::new();
        let mut least: Option<(Bytes, &Cell)> = None;
        for cell in &all {
            let writes = cell.mix.writes();
            let area = restores.as_ref().filter(|_| writes).map(|restores| restores.area_bytes);
            let place = places.of_cell(cell);
            let place = place.end - place.start;
            let needed = Bytes(bytes_min(&cell.shape, options));
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
                    active.push(*cell);
                    if writes && context.target.kind == TargetKind::Block {
                        test.writes = context.allowed;
                        test.restores = restores.clone();
                    }
                    for _ in compressible::shares(cell, options, 1) {
                        let cost = cell_cost(cell, place, context, &mut test);
                        test.cost = test.cost + cost;
                    }
                }
            }
        }
        if active.is_empty() {
            return context.skipped(self.kind(), why_nothing_runs(least, &reasons));
        }
        test.omitted = condense(test.omitted);
        test.cost = test.cost + scattered::cost(&active, &places, context);
        if let Some(restores) = &test.restores {
            test.cost = test.cost + restore_area::cost(restores, context);
        }
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        let suite = &session.plan.suite;
        let writable = session.may_write(WriteLevel::Restore);
        let device = session.device();
        let area = session.restore_area();
        let may_run = |cell: &Cell| writable || !cell.mix.writes();
        let all: Vec<Cell> = in_order(&suite.transfer).into_iter().filter(may_run).collect();
        let repeats = repeats_all(suite);
        let places = CellPlaces::of(&session.span(device), area.as_ref(), &all, repeats);
        let needed = |cell: &Cell| bytes_min(&cell.shape, &suite.transfer);
        let has_room = |cell: &Cell| {
            let Range { start, end } = places.of_cell(cell);
            end - start >= needed(cell)
        };
        // A plan has said so already where the target is that small.
        let span = session.span(device);
        if span.end - span.start < session.plan.own_bytes.0 {
            let large = |cell: &&Cell| span.end - span.start < needed(cell);
            for cell in suite.transfer.all_cells().iter().filter(large) {
                record.remark(format!("{cell}: the test file is too small on so slow a drive"));
            }
        }
        let align = device.align_bytes();
        let is_whole = |cell: &Cell| cell.shape.block.0.is_multiple_of(u64::from(align));
        let (active, broken): (Vec<Cell>, Vec<Cell>) =
            all.into_iter().filter(has_room).partition(is_whole);
        let left_out =
            |cell: &Cell| format!("{cell}: direct I/O here needs multiples of {align} bytes");
        condense(broken.iter().map(left_out).collect())
            .into_iter()
            .for_each(|it| record.remark(it));
        if active.is_empty() {
            return Err(BenchError::Unsuitable(record.remarks().join("; ")));
        }
        let writing = active.iter().filter(|cell| cell.mix.writes()).map(Cell::to_string);
        let writing: Vec<String> = writing.collect();
        if let Some(area) = area.clone().filter(|_| !writing.is_empty()) {
            session.save_before_images(area.clone())?;
            restore_area::notice_confined(record, &area, &writing);
        }
        run_rounds(session, &active, &places, record)?;
        scattered::measure(session, &places, &active, record)?;
        if session.is_direct()
            && queue_gain::may_gain(session.target.drive(), session.findings())
            && let Some(finding) = queue_gain::no_gain(record)
        {
            record.notice(finding);
        }
        for finding in compressible::rates_follow(record, &suite.transfer, &active) {
            record.notice(finding);
        }
        if let Some(finding) = free_flush(session, record, "rnd4k_q1t1.write", "rnd4k_q1t1.sync") {
            record.notice(finding);
        }
        // On a raw device most places still hold what was there before; `verify` is the test for it.
        let own = session.target.info().kind == TargetKind::Directory;
        if own && !writing.is_empty() {
            let seed = derive_seed(session.plan.seed, "verify", 0, 0);
            test_file::verify_sample(session, session.device(), seed)?;
        }
        Ok(())
    }
}

/// Why no cell can run: the one that asks for the least space, or all reasons.
fn why_nothing_runs(least: Option<(Bytes, &Cell)>, reasons: &[String]) -> String {
    match least {
        Some((needed, cell)) => {
            format!("needs {} or more, enough for --cells {cell}", needed.binary())
        }
        None => reasons.join("; "),
    }
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

/// How long a round of a writing cell is.
fn length(options: &TransferOptions, bounds: CellBounds) -> RoundLength {
    let time = Secs(bounds.time.0 + bounds.ramp.0);
    RoundLength { time, write_once: options.write_once }
}

fn io_size(bounds: CellBounds) -> Option<u64> {
    (bounds.io_size.0 > 0).then_some(bounds.io_size.0)
}

fn cell_cost(
    cell: &Cell,
    place_bytes: u64,
    context: &PlanContext<'_>,
    test: &mut PlannedTest,
) -> Cost {
    let options = &context.suite.transfer;
    let bounds = options.bounds_of(cell);
    let rounds = f64::from(context.suite.rounds);
    let Shape { order, block, depth, threads } = cell.shape;
    let rate = context.typical.rate(order == Order::Rnd, block.0, depth * threads);
    let busy = bounds.time.0 + bounds.ramp.0;
    let computed_as = round_volume::computed_as(block.0) as f64;
    let busy = busy * context.timed_round(test, rate * busy / block.0 as f64 * computed_as);
    let mut bytes = rate * busy * rounds;
    let drain_s = context.drain_s(cell);
    let mut seconds = (busy + drain_s + context.suite.pause.0) * rounds;
    if let Some(most) = io_size(bounds) {
        bytes = bytes.min(most as f64 * rounds);
        seconds = seconds.min(bytes / rate + context.suite.pause.0 * rounds);
    }
    seconds += context.trial_s(cell) + drain_s;
    let reads = f64::from(cell.mix.read_percent()) / 100.0;
    let written_bytes = match context.fastest.filter(|_| cell.mix.writes()) {
        Some(fastest) => {
            let round =
                round_volume::round_bytes(cell, length(options, bounds), fastest, place_bytes);
            let round = round.min(io_size(bounds).unwrap_or(u64::MAX));
            let trial = engine_trial::bytes_max(cell.shape, cell.mix);
            round.saturating_mul(context.suite.rounds.into()).saturating_add(trial)
        }
        None => (bytes * (1.0 - reads)) as u64,
    };
    let requests = bytes / block.0 as f64 * computed_as;
    let computed_s = match order {
        Order::Rnd => context.computed_random_s(requests),
        Order::Seq => context.computed_s(requests),
    };
    Cost { seconds, read_bytes: (bytes * reads) as u64, written_bytes, computed_s }
}

fn run_cell(
    session: &mut Session<'_>,
    cell: &Cell,
    round: u32,
    span: Range<u64>,
    compress: u8,
    record: &mut TestRecord,
) -> Result<(), BenchError> {
    let options = &session.plan.suite.transfer;
    let bounds = options.bounds_of(cell);
    let name = compressible::name(cell, compress);
    let mut load = session.load(cell.shape, cell.mix, span, &name, round);
    if session.round_requests().is_some() {
        load.ops_max = round_volume::shortened(load.ops_max, cell.shape);
    }
    (load.ramp, load.time) = (bounds.ramp, bounds.time);
    if cell.mix.writes() {
        load.pass = compressible_pass(session.next_pass(), compress);
        if let Some(fastest) = ExpectedSpeed::upper_bound(session.target) {
            let place = load.span.end - load.span.start;
            let length = length(options, bounds);
            load.ops_max = round_volume::round_requests(cell, length, fastest, place);
            let bytes = round_volume::round_bytes(cell, length, fastest, place);
            let trial = engine_trial::bytes_max(cell.shape, cell.mix);
            session.check_room_to_overwrite(bytes.saturating_add(trial))?;
        }
    }
    if let Some(bytes) = io_size(bounds) {
        let requests = bytes / cell.shape.block.0 / u64::from(cell.shape.threads);
        load.ops_max = load.ops_max.min(requests.max(1));
    }
    if cell.mix.is_synced() {
        synced_cell::measure(session, &load, &name, round, record)?;
        return session.free_replaced_blocks();
    }
    let device = session.device();
    if !device.is_direct() {
        load.ramp.0 = 0.0;
        let blocks = (load.span.end - load.span.start) / cell.shape.block.0;
        let part = if cell.shape.order == Order::Seq { 1 } else { BUFFERED_PART };
        let once = (blocks / part / u64::from(cell.shape.threads)).max(1);
        load.ops_max = load.ops_max.min(once);
        evict(device, &name, record)?;
    }
    session.measure(&load, &name, round, record)?;
    if cell.mix.writes() {
        session.device().sync()?;
        session.free_replaced_blocks()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{changed_model, plan_of, run_at, run_on, run_target, suite_of, value};
    use crate::{planner, suites};
    use drivescope_model::cell::Mix;
    use drivescope_model::plan::Engine;
    use drivescope_stats::summary;

    #[test]
    fn cells_run_reads_first_then_writes_then_mixes() {
        let options = TransferOptions {
            shapes: vec!["seq1m_q8t1".parse().unwrap(), "rnd4k_q1t1".parse().unwrap()],
            mixes: vec!["mix70".parse().unwrap(), Mix::WRITE, Mix::READ],
            ..TransferOptions::default()
        };
        let names: Vec<String> = options.all_cells().iter().map(Cell::to_string).collect();
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
    fn bounded_round_ends_with_its_bytes() {
        let mut suite = suite_of(TestKind::Transfer);
        (suite.rounds, suite.span) = (1, Bytes::gib(1));
        suite.transfer.cells = vec!["seq16m_q1t1.write".parse().unwrap()];
        (suite.transfer.io_size, suite.transfer.ramp) = (Bytes::gib(1), Secs(0.0));
        suite.transfer.time = Secs(3_600.0);
        let planned = plan_of(&run_target("sim:wd40efrx"), suite.clone());
        assert!(planned.cost.seconds < 20.0 && planned.cost.written_bytes == 1 << 30);
        let result = run_on("sim:wd40efrx", suite);
        // 1 GiB at 180 MB/s
        assert!((5.0..7.0).contains(&result.elapsed_s), "{}", result.elapsed_s);
    }

    #[test]
    fn each_cell_keeps_its_own_bounds() {
        let mut suite = suite_of(TestKind::Transfer);
        (suite.rounds, suite.span) = (1, Bytes::gib(1));
        let cells = ["seq1m_q1t1.read", "rnd4k_q1t1.read"].map(|it| it.parse::<Cell>().unwrap());
        suite.transfer.cells = cells.to_vec();
        (suite.transfer.time, suite.transfer.ramp) = (Secs(1.0), Secs(0.0));
        let bounds = CellBounds {
            cell: cells[0],
            time: Secs(60.0),
            ramp: Secs(0.0),
            io_size: Bytes::mib(64),
        };
        suite.transfer.bounds = vec![bounds];
        let result = run_on("sim:wd40efrx", suite.clone());
        let ops = |name: &str| result.phases.iter().find(|it| it.cell == name).unwrap().ops;
        assert_eq!(ops("seq1m_q1t1.read"), 64);
        let random = ops("rnd4k_q1t1.read");
        assert!((60..250).contains(&random), "{random} in one second of a disk");
        let overrides = Overrides { time: Some(Secs(0.5)), ..Overrides::default() };
        TransferWorkload.apply(&overrides, &mut suite).unwrap();
        assert_eq!(suite.transfer.bounds[0].time, Secs(0.5));
        suite.transfer.bounds.push(bounds);
        assert!(TransferWorkload.check(&suite).unwrap_err().contains("bounds names the cell"));
    }

    /// Each of 512 requests takes three seconds, while the disk completes 160 of them per second.
    #[test]
    fn threads_waiting_for_their_turn_are_not_stalled() {
        let mut suite = suite_of(TestKind::Transfer);
        suite.transfer.cells = vec!["rnd4k_q32t16.read".parse().unwrap()];
        suite.transfer.time = Secs(10.0);
        let findings = run_on("sim:wd40efrx", suite).findings;
        assert_eq!(findings, []);
    }

    /// The truth is the median over all seeds. Fewer than 89 of 100 intervals of 95 % hold it once in 200 cases.
    #[test]
    fn intervals_of_a_hundred_seeds_contain_the_truth() {
        let mut suite = suite_of(TestKind::Transfer);
        suite.rounds = 3;
        suite.transfer.cells = vec!["rnd4k_q1t1.read".parse().unwrap()];
        (suite.transfer.time, suite.transfer.ramp) = (Secs(2.0), Secs(0.0));
        let runs: Vec<_> = (0..100)
            .map(|seed| run_at(&run_target("sim:wd40efrx"), suite.clone(), seed, false).metrics)
            .collect();
        for quantity in ["iops", "lat_mean_us", "lat_p50_us", "lat_p90_us"] {
            let key = format!("transfer.rnd4k_q1t1.read.{quantity}");
            let of_key = || runs.iter().flatten().filter(|metric| metric.key == key);
            let rounds: Vec<f64> = of_key().flat_map(|metric| metric.rounds.clone()).collect();
            let truth = summary::median(&rounds).unwrap();
            let hits = of_key().filter(|m| m.low <= truth && truth <= m.high).count();
            println!("{quantity}: {hits} of 100 intervals contain {truth:.1}");
            assert!(hits >= 89, "{quantity}: {hits}");
        }
    }

    #[test]
    fn blocks_below_a_sector_are_left_out_in_one_line() {
        let sectors = [
            ("reported_logical_sector_bytes", "reported_logical_sector_bytes = 4096"),
            ("logical_sector_bytes", "logical_sector_bytes = 4096"),
        ];
        let (_file, target) = changed_model("wd40efrx", &sectors);
        let mut suite = suites::find("atto", None).unwrap();
        suite
            .transfer
            .cells
            .retain(|cell| [512, 2048, 4096, 64 << 20].contains(&cell.shape.block.0));
        let result = run_on(target, suite);
        assert_eq!(
            result.reason.as_deref(),
            Some(
                "seq512_q4t1.write, seq512_q4t1.read, seq2k_q4t1.write, seq2k_q4t1.read: direct I/O here needs \
                 multiples of 4096 bytes"
            )
        );
        for cell in ["seq4k_q4t1.write", "seq64m_q4t1.read"] {
            assert!(value(&result, &format!("transfer.{cell}.mb_s")).is_some(), "{cell}");
        }
    }

    #[test]
    fn suite_without_cells_gets_a_clear_error() {
        let mut suite = suite_of(TestKind::Transfer);
        (suite.transfer.cells, suite.transfer.shapes) = (Vec::new(), Vec::new());
        let target = run_target("sim:wd40efrx");
        let plan = planner::plan(suite, 1, Engine::Sim, &target, false, WriteLevel::Read);
        let message = plan.unwrap_err().to_string();
        assert!(message.contains("sim:wd40efrx: transfer has no cells: "), "{message}");
    }

    #[test]
    fn reasons_are_listed_once() {
        let lines = ["a: needs x", "b: needs y", "c: needs x"].map(String::from).to_vec();
        assert_eq!(condense(lines), ["a, c: needs x", "b: needs y"]);
    }
}
