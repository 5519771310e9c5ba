//! What a layout needs to know of a drive, out of a run: rates by position, access time by part, what it must not
//! be used for.

use crate::chart::{extent, points_of};
use drivescope_model::drive::DriveKind;
use drivescope_model::{FindingId, Run, TestKind, TestResult};
use drivescope_stats::least_squares::least_squares;

const STEPS: usize = 200;
/// Rates within this share of each other are the same speed everywhere.
const SAME_SPEED: f64 = 0.05;

#[derive(Debug, Clone, Copy, PartialEq)]
struct RateSpan {
    start: f64,
    end: f64,
    mb_s: f64,
}

#[derive(Debug, Clone, PartialEq)]
enum AccessModel {
    /// The arm moves: fixed part, and movement by share of the stroke.
    Arm { fixed_ms: f64, seek_ms: Vec<(f64, f64)>, margin_ms: f64 },
    /// The same anywhere.
    Flat { ms: f64 },
}

#[derive(Debug, Clone, PartialEq)]
pub struct DriveFigures {
    pub name: String,
    pub path: String,
    pub bytes: u64,
    pub sector_bytes: u64,
    pub is_shingled: bool,
    pub flush_lies: bool,
    pub notes: Vec<String>,
    spans: Vec<RateSpan>,
    access: Option<AccessModel>,
    /// Write rate divided by read rate.
    write_share: Option<f64>,
}

/// Expected figures of a part of a drive; rates from its fastest to its slowest place.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct PartFigures {
    pub read_start_mb_s: f64,
    pub read_end_mb_s: f64,
    pub read_mean_mb_s: f64,
    /// `None` where no writes were measured.
    pub write_mean_mb_s: Option<f64>,
    /// Mean time of a random read within the part.
    pub access_ms: Option<f64>,
    /// Half the width of its 95 % interval.
    pub access_margin_ms: f64,
}

impl DriveFigures {
    /// From a run with `geometry` or `surface` on a whole drive. Errors: one line that names the test to run.
    pub fn of(run: &Run) -> Result<Self, String> {
        let drive = run.drive.as_ref();
        let path = if run.simulated {
            run.target.path.clone()
        } else {
            drive.map_or(&run.target.path, |drive| &drive.path).clone()
        };
        let name = drive.and_then(|drive| drive.model.clone()).unwrap_or_else(|| path.clone());
        let suite = &run.plan.suite;
        if suite.offset.is_some() || suite.span.0 > 0 {
            return Err(format!("run {} saw only a part of {name}; measure all of it", run.id));
        }
        let bytes = drive.map_or(run.target.size_bytes, |drive| drive.capacity_bytes);
        let mut notes = Vec::new();
        let spans = spans_of(run, bytes as f64, &mut notes).ok_or_else(|| {
            format!(
                "run {} has no rates by position; run --test geometry or surface on {path}",
                run.id
            )
        })?;
        let access = access_of(run);
        if access.is_none() {
            notes.push("access times were not measured".to_string());
        }
        let write_share = write_share(run);
        let has = |id: FindingId| run.findings.iter().any(|finding| finding.id == id);
        Ok(Self {
            name,
            path,
            bytes,
            sector_bytes: drive.map_or(512, |drive| u64::from(drive.logical_sector_bytes).max(512)),
            is_shingled: has(FindingId::Shingled),
            flush_lies: has(FindingId::FlushIgnored),
            notes,
            spans,
            access,
            write_share,
        })
    }

    pub fn depends_on_position(&self) -> bool {
        let (least, most) = extent(self.spans.iter().map(|span| span.mb_s));
        self.rotates() || least < most * (1.0 - SAME_SPEED)
    }

    pub fn rotates(&self) -> bool {
        matches!(self.access, Some(AccessModel::Arm { .. }))
    }

    pub fn part(&self, from: u64, to: u64) -> PartFigures {
        let (from, to) = (from as f64, (to as f64).max(from as f64 + 1.0));
        let overlap = |span: &RateSpan| (to.min(span.end) - from.max(span.start)).max(0.0);
        let weighed = self.spans.iter().map(|span| (overlap(span), span.mb_s));
        let touched: Vec<(f64, f64)> = weighed.filter(|(bytes, _)| *bytes > 0.0).collect();
        let bytes: f64 = touched.iter().map(|(bytes, _)| bytes).sum();
        let time: f64 = touched.iter().map(|(bytes, rate)| bytes / rate).sum();
        let read_mean_mb_s = if time > 0.0 { bytes / time } else { 0.0 };
        let (access_ms, access_margin_ms) = match &self.access {
            None => (None, 0.0),
            Some(AccessModel::Flat { ms }) => (Some(*ms), 0.0),
            Some(AccessModel::Arm { fixed_ms, seek_ms, margin_ms }) => {
                let stroke = self.tracks(from, to) / self.tracks(0.0, f64::INFINITY);
                (Some(fixed_ms + mean_seek(seek_ms, stroke)), *margin_ms)
            }
        };
        PartFigures {
            read_start_mb_s: touched.first().map_or(0.0, |(_, rate)| *rate),
            read_end_mb_s: touched.last().map_or(0.0, |(_, rate)| *rate),
            read_mean_mb_s,
            write_mean_mb_s: self.write_share.map(|share| share * read_mean_mb_s),
            access_ms,
            access_margin_ms,
        }
    }

    /// Tracks between two bytes, up to a factor: a track's bytes are proportional to its rate.
    fn tracks(&self, from: f64, to: f64) -> f64 {
        self.spans
            .iter()
            .map(|span| (to.min(span.end) - from.max(span.start)).max(0.0) / span.mb_s)
            .sum()
    }
}

/// Mean of a curve over two random places of a share of the stroke; their distance d has the density 2·(1 − d).
fn mean_seek(seek_ms: &[(f64, f64)], stroke: f64) -> f64 {
    fn at(i: usize) -> f64 {
        (i as f64 + 0.5) / STEPS as f64
    }
    let term = |i: usize| 2.0 * (1.0 - at(i)) * interpolated(seek_ms, at(i) * stroke);
    (0..STEPS).map(term).sum::<f64>() / STEPS as f64
}

fn interpolated(points: &[(f64, f64)], x: f64) -> f64 {
    let behind = points.partition_point(|(at, _)| *at <= x);
    match (behind.checked_sub(1).and_then(|i| points.get(i)), points.get(behind)) {
        (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (Some((_, y)), None) | (None, Some((_, y))) => *y,
        (None, None) => 0.0,
    }
}

fn test(run: &Run, kind: TestKind) -> Option<&TestResult> {
    run.tests.iter().find(|result| result.test == kind)
}

/// Zones of geometry or surface; else the samples of surface, each for the places nearest to it; else one rate for
/// flash.
fn spans_of(run: &Run, bytes: f64, notes: &mut Vec<String>) -> Option<Vec<RateSpan>> {
    for kind in [TestKind::Geometry, TestKind::Surface] {
        let Some(result) = test(run, kind) else { continue };
        let points = points_of(result, &format!("{kind}.zones.mb_s"));
        // Each zone has its two ends.
        let zones: Vec<RateSpan> = points
            .chunks_exact(2)
            .map(|ends| RateSpan { start: ends[0].0, end: ends[1].0, mb_s: ends[0].1 })
            .collect();
        if !zones.is_empty() {
            return Some(zones);
        }
    }
    let sampled = test(run, TestKind::Surface).map(|it| points_of(it, "surface.read.mb_s"));
    if let Some(points) = sampled.filter(|points| points.len() > 1) {
        let border = |i: usize| match i {
            0 => 0.0,
            i if i == points.len() => bytes,
            i => f64::midpoint(points[i - 1].0, points[i].0),
        };
        let span = |i: usize| RateSpan { start: border(i), end: border(i + 1), mb_s: points[i].1 };
        return Some((0..points.len()).map(span).filter(|span| span.end > span.start).collect());
    }
    let rate = ["seq1m_q8t1", "seq1m_q1t1"]
        .iter()
        .find_map(|cell| run.metric(&format!("transfer.{cell}.read.mb_s")))
        .filter(|metric| metric.valid)?;
    let kind = run.drive.as_ref().map(|drive| drive.kind);
    let is_flash = matches!(kind, Some(DriveKind::Ssd | DriveKind::Nvme | DriveKind::Card))
        || (run.simulated && run.drive.as_ref().is_some_and(|drive| !drive.rotational_hint));
    if !is_flash {
        return None;
    }
    notes.push("one rate for all of it, from transfer".to_string());
    Some(vec![RateSpan { start: 0.0, end: bytes, mb_s: rate.value }])
}

/// From geometry; or from single accesses of surface, whose time grows with the square root of the distance.
fn access_of(run: &Run) -> Option<AccessModel> {
    if let Some(result) = test(run, TestKind::Geometry) {
        let seek_ms: Vec<(f64, f64)> = points_of(result, "geometry.seek.ms")
            .into_iter()
            .map(|(percent, ms)| (percent / 100.0, ms))
            .collect();
        let rpm = run.metric("geometry.rotation.rpm");
        if let (false, Some(rpm)) = (seek_ms.is_empty(), rpm) {
            let overhead_us = run.metric("geometry.command.overhead_us").map_or(0.0, |it| it.value);
            let fixed_ms = overhead_us / 1e3 + 30_000.0 / rpm.value;
            let average = run.metric("geometry.seek.average_ms");
            let margin_ms = average.map_or(0.0, |it| (it.high - it.low) / 2.0);
            return Some(AccessModel::Arm { fixed_ms, seek_ms, margin_ms });
        }
        let flat = points_of(result, "geometry.map.lat_mean_us");
        if let Some((_, us)) = flat.last() {
            return Some(AccessModel::Flat { ms: us / 1e3 });
        }
    }
    let rotates =
        run.drive.as_ref().is_some_and(|drive| drive.rotational_hint || drive.rpm > Some(1));
    let sampled = test(run, TestKind::Surface).map(|it| points_of(it, "surface.access.lat_ms"));
    match sampled.filter(|points| points.len() >= 30) {
        Some(points) if rotates => {
            let rows: Vec<Vec<f64>> =
                points.iter().map(|(d, _)| vec![1.0, d.max(0.0).sqrt()]).collect();
            let times: Vec<f64> = points.iter().map(|(_, ms)| *ms).collect();
            let fit = least_squares(&rows, &times, &[])?;
            let [fixed_ms, root] = fit.coefficients[..].try_into().ok()?;
            let at = |i: usize| (i as f64 / 50.0, root * (i as f64 / 50.0).sqrt());
            let margin_ms = 2.0 * fit.standard_errors[0];
            Some(AccessModel::Arm { fixed_ms, seek_ms: (0..=50).map(at).collect(), margin_ms })
        }
        _ => {
            let mean = ["surface.access.access_mean_ms"].iter().find_map(|key| run.metric(key));
            let flash = run.metric("transfer.rnd4k_q1t1.read.lat_mean_us");
            let ms = mean.map(|it| it.value).or(flash.map(|it| it.value / 1e3))?;
            (!rotates).then_some(AccessModel::Flat { ms })
        }
    }
}

/// Sequential write rate divided by the read rate, from a test that wrote.
fn write_share(run: &Run) -> Option<f64> {
    let of = |key: &str| run.metric(key).filter(|it| it.valid).map(|it| it.value);
    let pairs = [
        ("surface.write.mean_mb_s", "surface.read.mean_mb_s"),
        ("transfer.seq1m_q8t1.write.mb_s", "transfer.seq1m_q8t1.read.mb_s"),
    ];
    let share = pairs.iter().find_map(|(write, read)| Some(of(write)? / of(read)?))?;
    Some(share.min(1.0)).filter(|share| *share > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl DriveFigures {
        pub fn disk(name: &str, bytes: u64, mb_s: f64) -> Self {
            let seek_ms = vec![(0.0, 1.0), (1.0, 15.0)];
            let access = AccessModel::Arm { fixed_ms: 5.0, seek_ms, margin_ms: 0.1 };
            Self::even(name, bytes, mb_s, access)
        }

        pub fn ssd(name: &str, bytes: u64) -> Self {
            Self::even(name, bytes, 500.0, AccessModel::Flat { ms: 0.1 })
        }

        fn even(name: &str, bytes: u64, mb_s: f64, access: AccessModel) -> Self {
            Self {
                name: name.to_string(),
                path: String::new(),
                bytes,
                sector_bytes: 512,
                is_shingled: false,
                flush_lies: false,
                notes: Vec::new(),
                spans: vec![RateSpan { start: 0.0, end: bytes as f64, mb_s }],
                access: Some(access),
                write_share: None,
            }
        }
    }

    #[test]
    fn part_has_its_own_rates_and_movements() {
        fn span(start: f64, end: f64, mb_s: f64) -> RateSpan {
            RateSpan { start, end, mb_s }
        }
        let figures = DriveFigures {
            spans: vec![span(0.0, 2e3, 200.0), span(2e3, 4e3, 100.0)],
            access: Some(AccessModel::Arm {
                fixed_ms: 5.0,
                seek_ms: vec![(0.0, 0.0), (1.0, 9.0)],
                margin_ms: 0.2,
            }),
            write_share: Some(0.9),
            ..DriveFigures::disk("", 4_000, 1.0)
        };
        let all = figures.part(0, 4_000);
        // 2·(1 − d)·9·d has the integral 3.
        assert!((all.access_ms.unwrap() - 8.0).abs() < 0.01, "{all:?}");
        assert!((all.read_mean_mb_s - 400.0 / 3.0).abs() < 1e-9);
        // The outer half of the bytes has a third of the tracks.
        let outer = figures.part(0, 2_000);
        assert!((outer.access_ms.unwrap() - 6.0).abs() < 0.01, "{outer:?}");
        assert_eq!((outer.read_start_mb_s, outer.read_end_mb_s), (200.0, 200.0));
        assert!((outer.write_mean_mb_s.unwrap() - 180.0).abs() < 1e-9);
        assert!(figures.depends_on_position() && figures.rotates());
    }
}
