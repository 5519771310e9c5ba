//! What the model itself says of the drive: its data sheet.

use super::Figures;
use crate::library::Model;
use crate::link::LinkKind;

/// SATA sends 10 bits for a byte (8b/10b).
const LINE_BYTES_PER_BYTE: f64 = 10.0 / 8.0;
/// The MB of a buffer on a data sheet are MiB; they are compared with such MB.
const SHEET_MB: f64 = 1e6;

/// `capacity`, `physical_sector` (the real one), and where the model has them `rpm`, `form_factor`, `cache`
/// and `link_rate` (on the line).
pub(super) fn figures(model: &Model) -> Result<Figures, String> {
    let mut figures = Figures::new();
    let mut keep = |key: &str, value: Option<f64>| {
        figures.extend(value.map(|value| (key.to_string(), value)));
    };
    let hdd = model.hdd.as_ref();
    keep("capacity", Some(model.capacity_bytes() as f64));
    keep("rpm", hdd.map(|hdd| hdd.rpm));
    keep("physical_sector", hdd.map(|hdd| f64::from(hdd.physical_sector_bytes)));
    keep("form_factor", model.data_sheet.form_factor_inch);
    keep("cache", model.data_sheet.buffer_mib.map(|mib| f64::from(mib) * SHEET_MB));
    let sata = (model.link.kind == LinkKind::Sata).then_some(model.link.rate_mb_s);
    keep("link_rate", sata.map(|rate| rate * 1e6 * LINE_BYTES_PER_BYTE));
    Ok(figures)
}
