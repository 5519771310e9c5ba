//! `transfer`: how fast are large transfers and small random ones, at which depth.

mod cell_order;
mod compressible;
mod places;
mod queue_gain;
mod restore_area;
mod scattered;
mod synced_cell;
#[cfg(test)]
mod tests;

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
        let split = |cell: &&Cell| cell.mix.is_synced() && cell.shape.split.is_some();
        if let Some(cell) = options.all_cells().iter().find(split) {
            return Err(format!("{cell} cannot be: writes that are each flushed have one size"));
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
        let runnable: Vec<Cell> =
            all.iter().filter(|cell| refused.is_none() || !cell.mix.writes()).copied().collect();
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
        let is_whole = |cell: &Cell| {
            let sizes = cell.shape.split.iter().flat_map(|split| split.sizes());
            let mut all = sizes.map(|(size, _)| size).chain([cell.shape.block]);
            all.all(|size| size.0.is_multiple_of(u64::from(align)))
        };
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

/// The rate of threads that pause after each request, bytes/s.
fn with_pauses(rate: f64, block: Bytes, threads: u32, think_us: u32) -> f64 {
    let (bytes, think_s) = (block.0 as f64, f64::from(think_us) / 1e6);
    let each_s = bytes * f64::from(threads) / rate;
    rate * each_s / (each_s + think_s)
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
    let Shape { order, depth, threads, think_us, .. } = cell.shape;
    let block = cell.shape.mean_block();
    let rate = context.typical.rate(order == Order::Rnd, block.0, depth * threads);
    let rate = with_pauses(rate, block, threads, think_us);
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
        let requests = bytes / cell.shape.mean_block().0 / u64::from(cell.shape.threads);
        load.ops_max = load.ops_max.min(requests.max(1));
    }
    if cell.mix.is_synced() {
        synced_cell::measure(session, &load, &name, round, record)?;
        return session.free_replaced_blocks();
    }
    let device = session.device();
    if !device.is_direct() {
        load.ramp.0 = 0.0;
        let blocks = (load.span.end - load.span.start) / cell.shape.mean_block().0;
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
