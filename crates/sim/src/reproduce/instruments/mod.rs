//! The programs that measured the published cells, on a simulated drive.
//!
//! Each gives figures by name, in bytes, seconds, and per second. Parameters are those of the programs
//! where they are known, otherwise what is assumed stands beside them.

mod as_ssd;
mod crystaldiskmark;
mod diskinfo;
mod fill;
mod gnome_disks;
mod phybs;
mod small_writes;
mod spec;
mod transfer;

use super::figures::{Figures, Job};
use crate::hdd::params::ZoneParams;
use crate::library::{BUILT_IN, Model};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// An instrument: from a model to figures.
type Instrument = fn(&Model) -> Result<Figures, String>;

/// All instruments, by the name of the method.
const ALL: [(&str, Instrument); 11] = [
    ("spec", spec::figures),
    ("phybs", phybs::figures),
    ("gnome-disks", gnome_disks::figures),
    ("as-ssd-seq", as_ssd::sequential_figures),
    ("as-ssd-4k", as_ssd::random_figures),
    ("crystaldiskmark-realworld", crystaldiskmark::figures),
    ("diskinfo-t", diskinfo::figures),
    ("fill", fill::figures),
    ("transfer", transfer::figures),
    ("dd-buffered", small_writes::dd_figures),
    ("tiny-writes", small_writes::tiny_figures),
];

/// Runs one job.
pub(super) fn run(job: &Job) -> Result<Figures, String> {
    measure(&job.method, &model(&job.drive)?)
}

/// Runs the instrument called `method` on a drive that has just been powered on.
///
/// # Errors
/// One line: no such instrument, or a request that failed.
pub fn measure(method: &str, model: &Model) -> Result<Figures, String> {
    let found = ALL.iter().find(|(name, _)| *name == method);
    let (_, instrument) = found.ok_or(format!("no instrument '{method}'"))?;
    instrument(model).map_err(|why| format!("{method} on {}: {why}", model.name))
}

/// The model called `drive`, or its twin at another speed.
fn model(drive: &str) -> Result<Model, String> {
    let (name, twin) = drive.split_once('@').unwrap_or((drive, ""));
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    let (_, text) = found.ok_or(format!("no model '{name}'"))?;
    let model = Model::parse(name, text).map_err(|error| error.to_string())?;
    if twin.is_empty() {
        return Ok(model);
    }
    let rpm = twin.strip_suffix("rpm").and_then(|rpm| rpm.parse().ok());
    turning_at(model, rpm.ok_or(format!("'{twin}' is not a speed such as 7200rpm"))?)
}

/// The same disks and tracks under a faster or slower spindle: the rates at the head change with it.
fn turning_at(mut model: Model, rpm: f64) -> Result<Model, String> {
    let Some(params) = &mut model.hdd else {
        return Err(format!("{} does not turn", model.name));
    };
    let faster = rpm / params.rpm;
    params.rpm = rpm;
    if let ZoneParams::SquareRoot { outer_media_mb_s, inner_media_mb_s, clamp_media_mb_s, .. } =
        &mut params.zones
    {
        *outer_media_mb_s *= faster;
        *inner_media_mb_s *= faster;
        *clamp_media_mb_s = clamp_media_mb_s.map(|clamp| clamp * faster);
    }
    Ok(model)
}

/// Figures from pairs of name and value.
fn named<const N: usize>(pairs: [(&str, f64); N]) -> Figures {
    pairs.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// The same random places on every run.
fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(42)
}

/// A random multiple of `unit` below `len`.
fn random_place(random: &mut Xoshiro256PlusPlus, len: u64, unit: u64) -> u64 {
    random.random_range(0..len / unit) * unit
}
