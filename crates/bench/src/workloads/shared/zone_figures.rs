//! Zones of a disk as results show them, whichever test found them.

use crate::judging::test_record::TestRecord;
use drivescope_stats::radius_law::{RadiusLaw, radius_law};

/// A stretch with one sequential rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZoneFigures {
    pub start: f64,
    pub end: f64,
    /// How far either border may be off, bytes; 0 at the ends of the drive.
    pub margin: f64,
    pub mb_s: f64,
    pub mb_s_margin: f64,
}

/// The law of constant linear density through the middles of the zones, their rates by their place in `span`.
fn law_of(zones: &[ZoneFigures], span: f64) -> Option<RadiusLaw> {
    let middle = |zone: &ZoneFigures| (f64::midpoint(zone.start, zone.end) / span, zone.mb_s);
    radius_law(&zones.iter().map(middle).collect::<Vec<_>>())
}

/// Start, end, rate and share of each zone, and the law with what the zones deviate from it.
pub fn report(record: &mut TestRecord, zones: &[ZoneFigures], span: f64) {
    for (number, zone) in (1..).zip(zones) {
        let mut estimate = |quantity: &str, value: f64, margin: f64| {
            record.estimate_within(&format!("zone{number:02}.{quantity}"), value, margin);
        };
        estimate("start_bytes", zone.start, if number > 1 { zone.margin } else { 0.0 });
        estimate("end_bytes", zone.end, if zone.end < span { zone.margin } else { 0.0 });
        estimate("mb_s", zone.mb_s, zone.mb_s_margin);
        let share = |bytes: f64| bytes / span * 100.0;
        estimate("share_pct", share(zone.end - zone.start), share(2.0 * zone.margin));
    }
    record.metric("zones.count", vec![zones.len() as f64]);
    let points = zones.iter().flat_map(|zone| [(zone.start, zone.mb_s), (zone.end, zone.mb_s)]);
    let (x, y): (Vec<f64>, Vec<f64>) = points.unzip();
    record.curve("zones.mb_s", ("bytes", "MB/s"), x.clone(), y);
    if let Some(law) = law_of(zones, span) {
        record.metric("zones.residual_pct", vec![law.residual_share * 100.0]);
        let rates = x.iter().map(|x| law.rate(x / span)).collect();
        record.curve("law.mb_s", ("bytes", "MB/s"), x, rates);
    }
}
