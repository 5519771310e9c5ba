//! A fill in progress: every byte in order, or samples after a burst.

use super::sampling::{self, PLACES_MIN, Sampling};
use super::{PAGE, burst_bytes, curve, sample_check, thermal};
use crate::error::BenchError;
use crate::io::draw::Draw;
use crate::io::offsets::derive_seed;
use crate::judging::test_record::TestRecord;
use crate::loops::scan::{ScanRegion, TimedRegion};
use crate::session::Session;
use crate::workloads::shared::whole_drive::resume_check::{self, StampsNeeded};
use crate::workloads::shared::whole_drive::sample_read;
use crate::workloads::shared::whole_drive::timed_writes::{
    SoFar, WriteSettings, WrittenSum, flush, write, written_bytes,
};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::{FillOptions, TestKind};
use drivescope_model::resume::ResumePhase;
use drivescope_stats::knee::{DISK_FALL_MIN, FLASH_FALL_MIN};

/// Pieces of a full fill, each timed; longer ones where a whole drive has too many of them.
const PIECE: u64 = 256 << 20;
const PIECES_MIN: u64 = 64;
/// On flash the rate hardly follows the position, while it varies with the rows of pages that a sample
/// fills: rates there are medians over this many neighbours to each side.
const FLASH_REACH: usize = 3;
const BURST_PIECES: u64 = 1024;
const BURST_PIECE_MIN: u64 = 16 << 20;
const BURST_LEG: usize = 64;
/// A disk that needs long requests: it has no write cache or queue, a small cache, or a slow link.
const NO_ZONES: &str = "zones: this disk handles short requests at a different rate than a full fill, so samples do \
                        not show them; try --set fill.mode=full";

pub(super) struct FillRun<'s> {
    pub(super) session: &'s Session<'s>,
    pub(super) size: u64,
    /// As of [`super::disk_of`]. The rates of a disk follow the position, others what was written before.
    pub(super) disk: Option<u64>,
    pub(super) has_zones: bool,
    pub(super) manner: WriteSettings,
}

struct Wrote<'t> {
    timed: &'t [TimedRegion],
    bytes: u64,
    flush_s: Option<f64>,
}

impl FillRun<'_> {
    fn options(&self) -> &FillOptions {
        &self.session.plan.suite.fill
    }

    pub(super) fn full(&self, record: &mut TestRecord) -> Result<(), BenchError> {
        let (session, manner) = (self.session, self.manner);
        let from = self.options().from.0 / PAGE * PAGE;
        let is_simulated = session.target.simulated().is_some();
        // A simulated drive computes the times of a fill and keeps nothing of it.
        if !is_simulated {
            resume_check::check(session, manner.data, from, StampsNeeded::All)?;
        }
        session.expect_transfers(Some(from..self.size));
        let before = self.before(from);
        let piece = piece_bytes(self.size, is_simulated, self.options().chunk.0);
        let mut sum = WrittenSum::default();
        let mut end = Ok(());
        while end.is_ok() && from + written_bytes(&sum.timed) < self.size {
            let pieces = ScanRegion::pieces(from + written_bytes(&sum.timed), self.size, piece);
            let so_far: SoFar<'_> = &|timed| self.so_far(from, &before, timed);
            end = write(session, record, "write", pieces, manner, &mut sum, Some(so_far)).flatten();
        }
        let WrittenSum { timed, bytes } = sum;
        let mut flush_s = None;
        if from + written_bytes(&timed) >= self.size {
            end = resume_check::unless_too_late(end)
                .and_then(|()| flush(session))
                .map(|seconds| flush_s = Some(seconds));
        }
        let curve = self.report(record, &before, Wrote { timed: &timed, bytes, flush_s });
        if curve.first().is_some_and(|step| step.from == 0) && end.is_ok() {
            curve::report_whole(record, &curve, flush_s);
        }
        if end.is_err() {
            let at = from + written_bytes(&timed);
            // After a failed flush the last piece is written again.
            let last = timed.last().filter(|_| at >= self.size);
            let at = last.map_or(at, |last| last.offset);
            record.resume_at(session.resume_point(ResumePhase::Fill, at));
        }
        end.and_then(|()| self.read_sample(record, from > 0))
    }

    /// Reads back a sample of the written data. A simulated drive that does not keep contents is not read.
    fn read_sample(&self, record: &mut TestRecord, any_pass: bool) -> Result<(), BenchError> {
        let Self { session, manner, size, .. } = *self;
        let keeps = session.target.simulated().is_none_or(|drive| drive.keeps_contents());
        if !keeps {
            return Ok(());
        }
        let end = sample_read::check(session, record, manner.data, size, any_pass);
        resume_check::unless_too_late(end)
    }

    /// The curve up to `from` of the run that this one continues; empty where it is not known.
    fn before(&self, from: u64) -> Vec<curve::CurveStep> {
        let curve = self.session.earlier().map(curve::of_result).unwrap_or_default();
        curve::up_to(curve, from)
    }

    /// Reports pieces in order: all, or those written by now, after those of an earlier run.
    fn report(
        &self,
        record: &mut TestRecord,
        before: &[curve::CurveStep],
        Wrote { timed, bytes, flush_s }: Wrote<'_>,
    ) -> Vec<curve::CurveStep> {
        let curve = [before, &curve::continuous(timed)].concat();
        // What was noticed of a part of the curve holds for the whole.
        let earlier = self.session.earlier().filter(|_| !before.is_empty());
        for finding in earlier.into_iter().flat_map(|earlier| &earlier.findings) {
            record.notice(finding.clone());
        }
        curve::report(record, &curve, flush_s.unwrap_or(0.0));
        self.report_written(record, "write", bytes);
        if let Some(last) = before.last() {
            record.metric("write.start_bytes", vec![last.to as f64]);
        }
        // The cache of a shingled disk ends, too, and recovers in the pause between two runs.
        match earlier.and_then(curve::knee_of_result) {
            Some(knee) => curve::report_knee(record, knee),
            None => self.report_knee(record, &curve[before.len()..]),
        }
        if self.has_zones {
            curve::report_zones(record, &curve);
        }
        curve
    }

    /// The record of a full fill as it would be if the program ended now. After its last piece, without that: a
    /// killed run that had only its end before it must leave something to resume.
    fn so_far(&self, from: u64, before: &[curve::CurveStep], timed: &[TimedRegion]) -> TestRecord {
        let mut record = TestRecord::new(TestKind::Fill);
        let is_all = from + written_bytes(timed) >= self.size;
        let timed = &timed[..timed.len() - usize::from(is_all && !timed.is_empty())];
        let wrote = Wrote { timed, bytes: written_bytes(timed), flush_s: None };
        self.report(&mut record, before, wrote);
        record.resume_at(self.session.resume_point(ResumePhase::Fill, from + written_bytes(timed)));
        record
    }

    /// Writes a small share of the target: a burst on flash, then places spread over everything.
    pub(super) fn sampled(&self, record: &mut TestRecord) -> Result<(), BenchError> {
        let sampling =
            Sampling::new(self.options(), self.size, self.disk).map_err(BenchError::Unsuitable)?;
        let mut burst = WrittenSum::default();
        let bound = burst_bytes(self.options(), self.size, self.disk.is_some());
        if bound > 0 {
            self.burst(record, bound, &mut burst)?;
        }
        let mut places = sampling.places(self.size);
        let mut tried = WrittenSum::default();
        let size = match self.disk {
            Some(_) => self.size_of_requests(record, sampling, places[0], &mut tried),
            None => Ok(sampling.chunk),
        };
        Draw::new(derive_seed(self.session.plan.seed, "fill", 1, 0)).shuffle(&mut places);
        let manner =
            WriteSettings { chunk: *size.as_ref().unwrap_or(&sampling.chunk), ..self.manner };
        let mut sum = WrittenSum::default();
        let mut end = size.map(drop);
        while end.is_ok() && sum.timed.len() < places.len() {
            let rest = places[sum.timed.len()..].to_vec();
            end = write(self.session, record, "write", rest, manner, &mut sum, None).flatten();
        }
        let WrittenSum { timed, bytes } = sum;
        self.report_written(record, "write", tried.bytes + bytes);
        let reach = if self.disk.is_some() { 0 } else { FLASH_REACH };
        let begun = self.begun(&burst.timed);
        let behind = begun.last().map_or(0, |step| step.to);
        let count = timed.iter().filter(|timed| timed.ns.is_some()).count();
        // Ended so early, what each stands for is left to chance: one would be the rate of the whole drive.
        if count < PLACES_MIN as usize {
            let all = places.len();
            record.remark(format!(
                "rates: {count} of {all} places were written, too few for a curve"
            ));
            curve::report(record, &begun, 0.0);
            return end;
        }
        let samples = curve::sampled(&timed, behind, self.size, reach);
        let doubt = self.doubt(&samples, &timed, behind);
        let curve = [&begun[..], &samples].concat();
        curve::report(record, &curve, 0.0);
        if let Some(why) = doubt {
            let finding = Finding::new(FindingId::SampledCache, why);
            let about = |finding: Finding, of| finding.about(format!("fill.write.{of}_mb_s"));
            let rates = ["start", "end", "min", "mean", "max"];
            record.notice(rates.into_iter().fold(finding, about));
            return end;
        }
        end?;
        curve::report_whole(record, &curve, None);
        // What each of the longer requests happens to lose differs from sample to sample.
        match (self.has_zones, manner.chunk > sampling.chunk) {
            (true, true) => record.remark(NO_ZONES.to_string()),
            (true, false) => curve::report_sampled_zones(record, &samples),
            (false, _) => {}
        }
        Ok(())
    }

    /// The part of the curve that a burst shows. On a disk without a cache in front of it that is nothing: its
    /// pieces are timed from end to end, and samples of the same places show the medium better.
    fn begun(&self, burst: &[TimedRegion]) -> Vec<curve::CurveStep> {
        match self.disk {
            Some(_) if !self.has_knee(burst) => Vec::new(),
            _ => curve::continuous(burst),
        }
    }

    /// Bytes per request on a disk, found at its fastest place, where the electronics are the bottleneck first.
    fn size_of_requests(
        &self,
        record: &mut TestRecord,
        sampling: Sampling,
        place: ScanRegion,
        tried: &mut WrittenSum,
    ) -> Result<u64, BenchError> {
        let trials = sampling.trials();
        // The write cache is empty before the first visit, and never again.
        for &chunk in [sampling.chunk].iter().chain(&trials) {
            let manner = WriteSettings { chunk, ..self.manner };
            write(self.session, record, "write", vec![place], manner, tried, None)??;
        }
        let times = tried.timed[1..].iter().filter_map(curve::steady_ns);
        let times: Vec<(u64, u64)> = trials.into_iter().zip(times).collect();
        Ok(sampling::shortest_as_fast(&times).unwrap_or(sampling.chunk))
    }

    /// Why the samples do not show the medium, if so. `samples`: their curve, from the end of a burst on.
    fn doubt(
        &self,
        samples: &[curve::CurveStep],
        timed: &[TimedRegion],
        behind: u64,
    ) -> Option<String> {
        let rates: Vec<f64> = samples.iter().map(|step| step.mb_s).collect();
        let visits: Vec<(u64, f64)> =
            timed.iter().filter_map(|t| Some((t.offset, curve::steady_rate(t)?))).collect();
        let drifts: Vec<Option<f64>> =
            timed.iter().filter(|t| t.ns.is_some()).map(|t| t.drift).collect();
        match self.disk {
            Some(capacity) if capacity > 0 => {
                sample_check::of_disk(&rates, (self.size - behind) as f64 / capacity as f64)
                    .or_else(|| sample_check::of_visits(&visits))
                    .or_else(|| sample_check::of_halves(&drifts))
            }
            None if behind == 0 => Some(sample_check::NO_BURST.to_string()),
            _ => None,
        }
    }

    /// Writes without a pause from the beginning on, until the rate has fallen for good or the bound is
    /// reached. Positions cannot show the end of a fast cache: it depends on what was written before.
    fn burst(
        &self,
        record: &mut TestRecord,
        bound: u64,
        sum: &mut WrittenSum,
    ) -> Result<(), BenchError> {
        let chunk = self.options().chunk.0;
        let piece = (bound / BURST_PIECES).max(BURST_PIECE_MIN).next_multiple_of(chunk);
        let mut end = Ok(());
        let mut left = ScanRegion::pieces(0, bound, piece);
        while end.is_ok() && !left.is_empty() && !self.has_knee(&sum.timed) {
            let leg = left[..left.len().min(BURST_LEG)].to_vec();
            let before = sum.timed.len();
            end = write(self.session, record, "burst", leg, self.manner, sum, None).flatten();
            left.drain(..sum.timed.len() - before);
        }
        let curve = curve::continuous(&sum.timed);
        self.report_written(record, "burst", sum.bytes);
        record.metric("burst.fall_min_pct", vec![self.fall_min() * 100.0]);
        curve::staircase(record, "burst.burst_mb_s", &curve::merged(&curve));
        self.report_knee(record, &curve);
        end
    }

    fn report_knee(&self, record: &mut TestRecord, stream: &[curve::CurveStep]) {
        if let Some(knee) = self.knee_of(stream) {
            curve::report_knee(record, knee);
            if self.disk.is_none() {
                thermal::notice(self.session, record);
            }
        }
    }

    /// Smallest fall of the rate that is the end of a cache, as a share.
    fn fall_min(&self) -> f64 {
        if self.disk.is_some() { DISK_FALL_MIN } else { FLASH_FALL_MIN }
    }

    fn knee_of(&self, stream: &[curve::CurveStep]) -> Option<curve::KneeOfBytes> {
        curve::knee_of(stream, self.fall_min(), self.options().chunk.0)
    }

    fn has_knee(&self, timed: &[TimedRegion]) -> bool {
        self.knee_of(&curve::continuous(timed)).is_some()
    }

    fn report_written(&self, record: &mut TestRecord, cell: &str, bytes: u64) {
        record.metric(&format!("{cell}.written_bytes"), vec![bytes as f64]);
    }
}

/// Length of the pieces of a full fill: short, so that it can be stopped at any time; on a simulated
/// drive as long as the curve allows, because each takes milliseconds.
fn piece_bytes(size: u64, simulated: bool, chunk: u64) -> u64 {
    let short = PIECE.min(size / PIECES_MIN).max(chunk);
    let piece = if simulated { short.max(size / 1024) } else { short };
    piece / chunk * chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_target_once() {
        for (from, to) in [(0, 10_000_000_000), (123 * PAGE, 10_000_000_000 / PAGE * PAGE)] {
            let pieces = ScanRegion::pieces(from, to, piece_bytes(to, false, 1 << 20));
            assert_eq!(pieces[0].offset, from);
            assert!(pieces.windows(2).all(|p| p[0].offset + p[0].len == p[1].offset));
            assert_eq!(pieces.last().map(|p| p.offset + p.len), Some(to));
            assert!(pieces.len() >= 60 && pieces.iter().all(|p| p.len <= PIECE));
        }
    }
}
