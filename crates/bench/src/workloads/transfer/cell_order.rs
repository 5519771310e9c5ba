//! The order of cells and their rounds.

use super::compressible;
use super::places::CellPlaces;
use super::run_cell;
use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::session::Session;
use drivescope_model::cell::Cell;
use drivescope_model::options::{Suite, TransferOptions};

pub(super) fn in_order(options: &TransferOptions) -> Vec<Cell> {
    let mut cells = options.all_cells();
    if options.cell_by_cell {
        cells.sort_by_key(|cell| (cell.mix.writes(), cell.mix.read_percent()));
    }
    cells
}

pub(super) fn repeats_all(suite: &Suite) -> bool {
    suite.rounds > 1 && !suite.transfer.cell_by_cell
}

pub(super) fn run_rounds(
    session: &mut Session<'_>,
    cells: &[Cell],
    places: &CellPlaces,
    record: &mut TestRecord,
) -> Result<(), BenchError> {
    let suite = &session.plan.suite;
    let run = |cell: &Cell,
               round,
               session: &mut Session<'_>,
               record: &mut TestRecord|
     -> Result<(), BenchError> {
        for compress in compressible::shares(cell, &suite.transfer, round) {
            session.pause(suite.pause)?;
            run_cell(session, cell, round, places.of_cell(cell), compress, record)?;
        }
        Ok(())
    };
    if suite.transfer.cell_by_cell {
        for cell in cells {
            (1..=suite.rounds).try_for_each(|round| run(cell, round, session, record))?;
        }
        return Ok(());
    }
    for round in 1..=suite.rounds {
        if !session.has_time_for(round, record) {
            break;
        }
        cells.iter().try_for_each(|cell| run(cell, round, session, record))?;
    }
    Ok(())
}
