//! What the model itself says of the drive: its data sheet.

use super::Figures;
use crate::library::Model;

/// `capacity`, `physical_sector` (the real one), and of hard disks `rpm`.
pub(super) fn figures(model: &Model) -> Result<Figures, String> {
    let mut figures = Figures::new();
    let mut keep = |key: &str, value: f64| figures.insert(key.to_string(), value).is_none();
    keep("capacity", model.capacity_bytes() as f64);
    if let Some(hdd) = &model.hdd {
        keep("rpm", hdd.rpm);
        keep("physical_sector", f64::from(hdd.physical_sector_bytes));
    }
    Ok(figures)
}
