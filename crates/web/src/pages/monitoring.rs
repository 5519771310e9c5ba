//! The newest run of each drive as metrics, for Prometheus and other collectors.

use super::error::PageError;
use crate::site::Site;
use axum::http::header;
use axum::response::IntoResponse;
use drivescope_report::export::open_metrics::open_metrics;
use drivescope_store::{NewestRun, StoreFault};

/// What a collector asks for that knows OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text";

/// In the text format of OpenMetrics if `accepted` has it, else in the one of Prometheus: the text is both.
pub fn drive_metrics(site: &Site, accepted: &str) -> Result<impl IntoResponse + use<>, PageError> {
    let store = site.open_store()?;
    let newest = store.newest_of_drives()?;
    // A device may have had another kernel name before a boot; the newest of all comes first.
    let is_same = |one: &NewestRun, other: &NewestRun| {
        one.serial.is_some() && (&one.serial, &one.model) == (&other.serial, &other.model)
    };
    let mut runs = Vec::new();
    for (i, run) in newest.iter().enumerate() {
        if newest[..i].iter().any(|newer| is_same(newer, run)) {
            continue;
        }
        match store.get(&run.id) {
            Ok(run) => runs.push(run),
            // Removed meanwhile, or of a newer drivescope.
            Err(error) if matches!(error.fault, StoreFault::NoRun | StoreFault::Document) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let kind = if accepted.contains(OPEN_METRICS) {
        format!("{OPEN_METRICS}; version=1.0.0; charset=utf-8")
    } else {
        "text/plain; version=0.0.4; charset=utf-8".to_string()
    };
    Ok(([(header::CONTENT_TYPE, kind)], open_metrics(&runs)))
}
