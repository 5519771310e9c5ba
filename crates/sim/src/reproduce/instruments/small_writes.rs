//! Seed 001: `dd` with blocks of 512 bytes, and a script of tiny writes, through the page cache of the
//! article's laptop.

use super::super::pc::built;
use super::{Figures, named};
use crate::host::instruments::{Dd, TinyWrites, dd_buffered, tiny_writes};
use crate::host::params::HostParams;
use crate::library::{Kind, Model};

/// How often the script wrote: on the external disk, on the laptop's own SSD.
const HDD_WRITES: u64 = 1_000;
const SSD_WRITES: u64 = 100_000;

/// `write_elapsed`, `write_rate`, `write_iops`, and the same of reading the file (`read_…`).
pub(super) fn dd_figures(model: &Model) -> Result<Figures, String> {
    let dd = Dd::SEED_001;
    let times = dd_buffered(built(model, 0.0)?, &HostParams::laptop_2015(), &dd)
        .map_err(|why| why.to_string())?;
    let (blocks, bytes) = (dd.blocks as f64, (dd.blocks * dd.block_bytes) as f64);
    Ok(named([
        ("write_elapsed", times.write_s),
        ("write_rate", bytes / times.write_s),
        ("write_iops", blocks / times.write_s),
        ("read_elapsed", times.read_s),
        ("read_rate", bytes / times.read_s),
        ("read_iops", blocks / times.read_s),
    ]))
}

/// `elapsed` and `write_iops` of the script.
pub(super) fn tiny_figures(model: &Model) -> Result<Figures, String> {
    let writes = if model.kind == Kind::Hdd { HDD_WRITES } else { SSD_WRITES };
    let script = TinyWrites::seed_001(writes);
    let elapsed = tiny_writes(built(model, 0.0)?, &HostParams::laptop_2015(), &script)
        .map_err(|why| why.to_string())?;
    Ok(named([("elapsed", elapsed), ("write_iops", writes as f64 / elapsed)]))
}
