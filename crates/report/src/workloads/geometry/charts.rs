//! Pictures of geometry: zones with the physical law, movements of the arm, access time over the part that is used.

use super::CONVENTIONAL;
use crate::chart::axis::PlotAxis;
use crate::chart::plot::{Beside, Ink, Layer, Plot, PlotMark};
use crate::chart::{Chart, highest, points_of, scaled, unit_of};
use crate::terminal::value;
use drivescope_model::number::{latency_us, rounded, whole};
use drivescope_model::{FindingId, TestResult};

const MEASURED: Ink = Ink::Series(0);
const MODEL: Ink = Ink::Muted;

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    [zones(result), seeks(result), accesses(result)].into_iter().flatten().collect()
}

/// `Geometry: 7,200 rpm, 30 zones, seeks of 8.05 ms, honest flushes, conventional recording`, as far as it was found.
pub(super) fn headline(result: &TestResult) -> Option<String> {
    let has = |id: FindingId| result.findings.iter().any(|finding| finding.id == id);
    let of = |cell, quantity| value(result, cell, quantity);
    let turns = of("rotation", "rpm");
    let flush = of("flush", "cost_us").map(|us| format!("a flush adds {}", latency_us(us)));
    let honest = of("write_forced", "write_ms").filter(|_| turns.is_some());
    let flush = if has(FindingId::FlushIgnored) {
        Some("flushes that are not honest".to_string())
    } else {
        honest.map(|_| "honest flushes".to_string()).or(flush)
    };
    let recording = if has(FindingId::Shingled) {
        Some("shingled recording")
    } else {
        let slowdown = of("shingling", "slowdown_ratio").filter(|ratio| *ratio < CONVENTIONAL);
        slowdown.map(|_| "conventional recording")
    };
    let gain = of("queue", "gain_ratio").filter(|_| turns.is_none());
    let found = [
        turns.map(|rpm| format!("{} rpm", whole(rpm.round() as u64))),
        of("zones", "count").map(|count| format!("{count} zones")),
        of("seek", "average_ms").map(|ms| format!("seeks of {}", latency_us(ms * 1e3))),
        flush,
        gain.map(|gain| format!("a queue gains {} times", rounded(gain))),
        recording.map(String::from),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    (!found.is_empty()).then(|| format!("Geometry: {}", found.join(", ")))
}

fn zones(result: &TestResult) -> Option<Chart> {
    let points = points_of(result, "geometry.zones.mb_s");
    let end = points.last()?.0;
    let (unit, bytes) = unit_of(end);
    let (first, last) = (rounded(points[0].1), rounded(points[points.len() - 1].1));
    let x = PlotAxis::until(&format!("position, {unit}"), end / bytes);
    let law = scaled(&points_of(result, "geometry.law.mb_s"), bytes);
    let mut plot = Plot::new(x, PlotAxis::from_zero("MB/s", highest(&points)));
    if !law.is_empty() {
        plot = plot.with_line(law, MODEL).named(MODEL, "law");
    }
    Some(Chart {
        name: "geometry-zones".to_string(),
        title: "Zones of the disk".to_string(),
        caption: "Steps: sequential rate of each zone, by the size of its tracks. Fine line: constant linear density."
            .to_string(),
        description: format!(
            "Sequential rate from {first} MB/s in the first zone to {last} MB/s in the last."
        ),
        plot: plot.with_steps(scaled(&points, bytes), MEASURED).named(MEASURED, "zones"),
    })
}

fn seeks(result: &TestResult) -> Option<Chart> {
    let curve = points_of(result, "geometry.seek.ms");
    let measured = points_of(result, "geometry.seek_measured.ms");
    let (full, most) = (*curve.last()?, highest(&curve).max(highest(&measured)));
    let marks = measured.iter().map(|at| PlotMark::point(*at)).collect();
    let x = PlotAxis::until("distance, % of the stroke", 100.0);
    let plot = Plot::new(x, PlotAxis::from_zero("ms", most))
        .with_line(curve, MODEL)
        .with(Layer::Marks { marks, ink: MEASURED })
        .named(MODEL, "curve")
        .named(MEASURED, "measured");
    let average = value(result, "seek", "average_ms").map_or("?".to_string(), rounded);
    let full = rounded(full.1);
    Some(Chart {
        name: "geometry-seek".to_string(),
        title: "Movement of the arm by distance".to_string(),
        caption: "Marks: movements without overhead and rotation. Line: the two-piece curve through them.".to_string(),
        description: format!(
            "A movement takes {average} ms on average and {full} ms over the whole drive."
        ),
        plot,
    })
}

fn accesses(result: &TestResult) -> Option<Chart> {
    let model = points_of(result, "geometry.access.ms");
    let measured = points_of(result, "geometry.access_measured.ms");
    let (first, last) = (*model.first()?, *model.last()?);
    let (unit, bytes) = unit_of(last.0);
    let most = highest(&model).max(highest(&measured));
    let x = PlotAxis::until(&format!("part that is used, from the start, {unit}"), last.0 / bytes);
    let (end, all) = ((last.0 / bytes, last.1), rounded(last.1));
    let plot = Plot::new(x, PlotAxis::from_zero("ms", most))
        .with_line(scaled(&model, bytes), MODEL)
        .with(Layer::Marks {
            marks: scaled(&measured, bytes).into_iter().map(PlotMark::point).collect(),
            ink: MEASURED,
        })
        .with_text(end, format!("{all} ms"), Ink::Text, Beside::AboveLeft)
        .named(MODEL, "model")
        .named(MEASURED, "measured");
    Some(Chart {
        name: "geometry-access".to_string(),
        title: "Access time by the part that is used".to_string(),
        caption: "Line: overhead, mean movement within the part, half a turn. Marks: means of random reads; only the last has an interval, in the figures."
            .to_string(),
        description: format!(
            "A random read takes {} ms in the first {} {unit} and {all} ms over all of it.",
            rounded(first.1),
            rounded(first.0 / bytes)
        ),
        plot,
    })
}
