//! `fill`: what happens as the drive fills: rate by position and by bytes written, zones, the end of a
//! fast cache, the time of a whole fill.

mod curve;
mod doubt;
mod heat;
mod sampling;

use super::continuing::Need;
use super::writing::{Manner, WrittenSum, flush, stretch, write, write_kept, written_bytes};
use super::{Context, continuing, no_overwriting, planned, skipped, written_mb_s};
use crate::error::BenchError;
use crate::offsets::{derive_seed, shuffle};
use crate::payload::Payload;
use crate::results::TestRecord;
use crate::scan::{Place, Timed};
use crate::session::Session;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::TestKind;
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::resume::{ResumePhase, ResumePoint};
use drivescope_model::target::TargetInfo;
use drivescope_model::units::Bytes;
use drivescope_model::whole_drive::{FillMode, FillOptions};
use drivescope_stats::knee::{DISK_FALL_MIN, FLASH_FALL_MIN};
pub(super) use sampling::PLACES_MIN;
use sampling::Sampling;

/// Pieces of a full fill, each timed; longer ones where a whole drive has too many of them.
const PIECE: u64 = 256 << 20;
/// Pieces of a full fill at least.
const PIECES_MIN: u64 = 64;
/// On flash the rate hardly follows the position, while it varies with the rows of pages that a sample
/// fills: rates there are medians over so many neighbours to each side.
const FLASH_REACH: usize = 3;
/// Pieces of the longest burst, and their length at least.
const BURST_PIECES: u64 = 1024;
const BURST_PIECE_MIN: u64 = 16 << 20;
/// Pieces after which a burst looks for its knee.
const BURST_LEG: usize = 64;
/// Share of the target that the longest burst writes unless told otherwise.
const BURST_PART: u64 = 4;
/// Said of samples of a disk to which the length of requests matters: without a write cache or a queue, with a
/// small cache, or behind a slow link.
const NO_ZONES: &str = "zones: this disk takes short requests at another pace than those of a full fill, so that \
                        samples do not show them; --set fill.mode=full may";
/// The end of a device need not be a multiple of its direct I/O unit; whole pages are.
const PAGE: u64 = 4096;

pub(super) fn plan(context: &Context<'_>) -> PlannedTest {
    if let Some(reason) = no_overwriting(context) {
        return skipped(TestKind::Fill, context, reason);
    }
    let options = &context.suite.fill;
    let (size, unit) = (context.span_bytes / PAGE * PAGE, context.target.io_align_bytes.max(1));
    if !options.chunk.0.is_multiple_of(unit.into()) {
        let better = Bytes(options.chunk.0.next_multiple_of(unit.into())).short();
        let reason = format!("moves multiples of {unit} bytes; use --set fill.chunk={better}");
        return skipped(TestKind::Fill, context, reason);
    }
    let disk = disk_of(context.drive, context.target);
    let mut test = planned(TestKind::Fill, context);
    let written = match options.mode {
        FillMode::Full if options.from.0 >= size => {
            let reason = format!("fill.from lies behind the end, {size} bytes");
            return skipped(TestKind::Fill, context, reason);
        }
        FillMode::Full => size - options.from.0,
        FillMode::Sampled => match sampling(context, size, disk) {
            Ok(sampling) => {
                let burst = burst_bytes(options, size, disk.is_some());
                test.at_most = (burst > 0).then(|| early_end(burst, size));
                sampling.bytes() + burst
            }
            Err(reason) => return skipped(TestKind::Fill, context, reason),
        },
    };
    let seconds = written as f64 / (written_mb_s(context, written) * 1e6);
    test.writes = WriteLevel::Destroy;
    test.cost = Cost { seconds, read_bytes: 0, written_bytes: written };
    test
}

/// Why the plan of a burst is a bound.
fn early_end(burst: u64, size: u64) -> String {
    let (share, burst) = (burst as f64 * 100.0 / size as f64, Bytes(burst));
    format!(
        "begins with {burst} in one go, {share:.0} % of the target, and less where the rate falls for good before"
    )
}

/// How a target is sampled. Errors: why the samples would say nothing; completes "fill …".
fn sampling(context: &Context<'_>, size: u64, disk: Option<u64>) -> Result<Sampling, String> {
    match context.drive.and_then(|drive| drive.zoned) {
        Some(zoned) => Err(format!(
            "cannot sample a shingled disk ({} zones): its cache takes the samples, and a full fill leaves \
             it; use --set fill.mode=full",
            zoned.name()
        )),
        None => Sampling::new(&context.suite.fill, size, disk),
    }
}

/// Capacity of a disk, which is a drive that rotates or says so; 0 where the places of the target need not be
/// those of the disk: below a file, other devices or a virtual machine. `None` of all else.
fn disk_of(drive: Option<&Drive>, target: &TargetInfo) -> Option<u64> {
    let drive = drive.filter(|drive| drive.rotational_hint)?;
    let is_part = target.stack.iter().all(|name| name.starts_with(&drive.name));
    let is_itself = is_part && drive.kind != DriveKind::Virtual;
    Some(if is_itself { drive.capacity_bytes } else { 0 })
}

/// Whether positions of the target are such of a disk with zones. Behind a virtual machine's disk is what the host
/// likes, and the file of a loop device lies anywhere: steps of their rates are no zones.
fn has_zones(drive: Option<&Drive>, target: &TargetInfo) -> bool {
    let through_file = target.stack.iter().any(|name| name.starts_with("loop"));
    drive.filter(|drive| drive.rotational_hint).is_some_and(|drive| match drive.kind {
        DriveKind::Simulated => true,
        DriveKind::Virtual => false,
        _ => !through_file,
    })
}

pub(super) fn run(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    session.prepare_device()?;
    let pass = session.next_pass();
    session.pause(session.plan.suite.pause)?;
    let options = &session.plan.suite.fill;
    let data = Payload::new(session.plan.seed, pass);
    let whole = session.open_device().size_bytes();
    let size = session.span_bytes(session.open_device()) / PAGE * PAGE;
    if size < whole / PAGE * PAGE {
        let (part, whole) = (Bytes(size), Bytes(whole));
        record.remark(format!(
            "a fill of more than the first {part} of {whole}: rates and times are theirs"
        ));
    }
    let fill = Fill {
        size,
        disk: disk_of(session.target.drive(), session.target.info()),
        has_zones: has_zones(session.target.drive(), session.target.info()),
        manner: Manner { data, chunk: options.chunk.0, depth: options.depth },
        session,
    };
    match fill.session.plan.suite.fill.mode {
        FillMode::Full => fill.full(record),
        FillMode::Sampled => fill.sampled(record),
    }
}

/// One fill of one target.
struct Fill<'s> {
    session: &'s Session<'s>,
    /// Bytes that may be written.
    size: u64,
    /// As of [`disk_of`]. The rates of a disk follow the position, others what was written before.
    disk: Option<u64>,
    /// As of [`has_zones`].
    has_zones: bool,
    manner: Manner,
}

/// What a full fill wrote by now.
struct Wrote<'t> {
    /// Its pieces, in order.
    timed: &'t [Timed],
    /// Of all requests completed.
    bytes: u64,
    /// The flush behind the last byte, once that is over.
    flush_s: Option<f64>,
}

impl Fill<'_> {
    fn options(&self) -> &FillOptions {
        &self.session.plan.suite.fill
    }

    /// Writes everything from the asked position on.
    fn full(&self, record: &mut TestRecord) -> Result<(), BenchError> {
        let chunk = self.options().chunk.0;
        let from = self.options().from.0 / PAGE * PAGE;
        // A simulated drive computes the times of a fill and keeps nothing of it.
        if self.session.target.simulated().is_none() {
            continuing::check(self.session, self.manner.data, from, Need::All)?;
        }
        self.session.works_on(Some(from..self.size));
        let before = self.before(from);
        let piece = piece_bytes(self.size, self.session.target.simulated().is_some(), chunk);
        let mut sum = WrittenSum::default();
        let mut end = Ok(());
        while end.is_ok() && from + written_bytes(&sum.timed) < self.size {
            let pieces = pieces(from + written_bytes(&sum.timed), self.size, piece);
            let so_far = |new: &[Timed]| self.so_far(from, &before, &[&sum.timed, new].concat());
            let written =
                write_kept(self.session, record, "write", pieces, self.manner, Some(&so_far));
            end = written.and_then(|written| written.add_to(&mut sum));
        }
        let WrittenSum { timed, bytes } = sum;
        let mut flush_s = None;
        if from + written_bytes(&timed) >= self.size {
            end = continuing::unless_too_late(end)
                .and_then(|()| flush(self.session))
                .map(|seconds| flush_s = Some(seconds));
        }
        let curve = self.report(record, &before, Wrote { timed: &timed, bytes, flush_s });
        if curve.first().is_some_and(|step| step.from == 0) && end.is_ok() {
            curve::report_whole(record, &curve, flush_s);
        }
        if end.is_err() {
            let at = from + written_bytes(&timed);
            // A flush that failed leaves nothing behind the last piece to go on with.
            let last = timed.last().filter(|_| at >= self.size);
            record.resume_at(self.resume_point(last.map_or(at, |last| last.offset)));
        }
        end
    }

    /// The curve up to `from` of the run that this one goes on with; empty where it is not known.
    fn before(&self, from: u64) -> Vec<curve::Step> {
        let curve = self.session.earlier(TestKind::Fill).map(curve::of_result).unwrap_or_default();
        curve::up_to(curve, from)
    }

    /// What can be said of pieces in order: all of them, or those written by now, behind what an earlier run
    /// had written.
    fn report(
        &self,
        record: &mut TestRecord,
        before: &[curve::Step],
        Wrote { timed, bytes, flush_s }: Wrote<'_>,
    ) -> Vec<curve::Step> {
        let curve = [before, &curve::continuous(timed)].concat();
        // What was noticed of a part of the curve holds for the whole.
        let earlier = self.session.earlier(TestKind::Fill).filter(|_| !before.is_empty());
        for finding in earlier.into_iter().flat_map(|earlier| &earlier.findings) {
            record.notice(finding.clone());
        }
        curve::report(record, &curve, flush_s.unwrap_or(0.0));
        self.report_written(record, "write", bytes);
        if let Some(last) = before.last() {
            record.metric("write.start_bytes", vec![last.to as f64]);
        }
        // Shingled disks have a cache that ends, too. In the pause between two runs it recovers, so that a stream
        // of both has no end of it.
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
    /// killed run that had only its end before it must leave something to go on with.
    fn so_far(&self, from: u64, before: &[curve::Step], timed: &[Timed]) -> TestRecord {
        let mut record = TestRecord::new(TestKind::Fill);
        let is_all = from + written_bytes(timed) >= self.size;
        let timed = &timed[..timed.len() - usize::from(is_all && !timed.is_empty())];
        let wrote = Wrote { timed, bytes: written_bytes(timed), flush_s: None };
        self.report(&mut record, before, wrote);
        record.resume_at(self.resume_point(from + written_bytes(timed)));
        record
    }

    fn resume_point(&self, at_bytes: u64) -> ResumePoint {
        let seed = self.session.plan.seed;
        ResumePoint { seed, at_bytes, phase: ResumePhase::Fill, intact_before: false }
    }

    /// Writes a small share of the target: a burst on flash, then places spread over everything.
    fn sampled(&self, record: &mut TestRecord) -> Result<(), BenchError> {
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
        shuffle(&mut places, derive_seed(self.session.plan.seed, "fill", 1, 0));
        let manner = Manner { chunk: *size.as_ref().unwrap_or(&sampling.chunk), ..self.manner };
        let mut sum = WrittenSum::default();
        let mut end = size.map(drop);
        while end.is_ok() && sum.timed.len() < places.len() {
            let rest = places[sum.timed.len()..].to_vec();
            end = write(self.session, record, "write", rest, manner)
                .and_then(|written| written.add_to(&mut sum));
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

    /// What of the curve a burst has. Of a disk in which it met no cache nothing: its pieces are timed from end to
    /// end, and samples of the same places show the medium better.
    fn begun(&self, burst: &[Timed]) -> Vec<curve::Step> {
        match self.disk {
            Some(_) if !self.has_knee(burst) => Vec::new(),
            _ => curve::continuous(burst),
        }
    }

    /// Bytes per request on a disk, found at its fastest place: where the electronics keep up there, they do
    /// everywhere.
    fn size_of_requests(
        &self,
        record: &mut TestRecord,
        sampling: Sampling,
        place: Place,
        tried: &mut WrittenSum,
    ) -> Result<u64, BenchError> {
        let trials = sampling.trials();
        // The write cache is empty before the first visit, and never again.
        for &chunk in [sampling.chunk].iter().chain(&trials) {
            let manner = Manner { chunk, ..self.manner };
            write(self.session, record, "write", vec![place], manner)?.add_to(tried)?;
        }
        let times = tried.timed[1..].iter().filter_map(curve::steady_ns);
        let times: Vec<(u64, u64)> = trials.into_iter().zip(times).collect();
        Ok(sampling::shortest_as_fast(&times).unwrap_or(sampling.chunk))
    }

    /// Why the samples do not show the medium, if so. `samples`: their curve, which begins behind the bytes of a
    /// burst.
    fn doubt(&self, samples: &[curve::Step], timed: &[Timed], behind: u64) -> Option<String> {
        let rates: Vec<f64> = samples.iter().map(|step| step.mb_s).collect();
        let visit = |t: &Timed| Some((t.offset, curve::steady_rate(t)?));
        let visits: Vec<(u64, f64)> = timed.iter().filter_map(visit).collect();
        let drifts: Vec<Option<f64>> =
            timed.iter().filter(|t| t.ns.is_some()).map(|t| t.drift).collect();
        match self.disk {
            Some(capacity) if capacity > 0 => {
                doubt::of_disk(&rates, (self.size - behind) as f64 / capacity as f64)
                    .or_else(|| doubt::of_visits(&visits))
                    .or_else(|| doubt::of_halves(&drifts))
            }
            None if behind == 0 => Some(doubt::NO_BURST.to_string()),
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
        let mut left = pieces(0, bound, piece);
        while end.is_ok() && !left.is_empty() && !self.has_knee(&sum.timed) {
            let leg = left[..left.len().min(BURST_LEG)].to_vec();
            let before = sum.timed.len();
            end = write(self.session, record, "burst", leg, self.manner)
                .and_then(|written| written.add_to(sum));
            left.drain(..sum.timed.len() - before);
        }
        let curve = curve::continuous(&sum.timed);
        self.report_written(record, "burst", sum.bytes);
        record.metric("burst.fall_min_pct", vec![self.fall_min() * 100.0]);
        curve::staircase(record, "burst.burst_mb_s", &curve::merged(&curve));
        self.report_knee(record, &curve);
        end
    }

    /// Adds the knee of a continuous stream that began with the first step, if there is one.
    fn report_knee(&self, record: &mut TestRecord, stream: &[curve::Step]) {
        if let Some(knee) = curve::knee_of(stream, self.fall_min()) {
            curve::report_knee(record, knee);
            if self.disk.is_none() {
                heat::notice(self.session, record);
            }
        }
    }

    /// Smallest fall of the rate that is the end of a cache, as a share.
    fn fall_min(&self) -> f64 {
        if self.disk.is_some() { DISK_FALL_MIN } else { FLASH_FALL_MIN }
    }

    fn has_knee(&self, timed: &[Timed]) -> bool {
        curve::knee_of(&curve::continuous(timed), self.fall_min()).is_some()
    }

    fn report_written(&self, record: &mut TestRecord, cell: &str, bytes: u64) {
        record.metric(&format!("{cell}.written_bytes"), vec![bytes as f64]);
    }
}

/// Longest burst: as asked, or, where nothing rotates, a part of the target.
fn burst_bytes(options: &FillOptions, size: u64, rotates: bool) -> u64 {
    let usual = if rotates { 0 } else { size / BURST_PART };
    options.burst.map_or(usual, |asked| asked.0).min(size) / PAGE * PAGE
}

/// Length of the pieces of a full fill: short, so that it can be stopped at any time; on a simulated
/// drive as long as the curve allows, because each is computed at once.
fn piece_bytes(size: u64, simulated: bool, chunk: u64) -> u64 {
    let short = PIECE.min(size / PIECES_MIN).max(chunk);
    let piece = if simulated { short.max(size / 1024) } else { short };
    piece / chunk * chunk
}

/// `from..to` in pieces; the last may be shorter.
fn pieces(from: u64, to: u64, piece: u64) -> Vec<Place> {
    let starts = (from..to).step_by(piece as usize);
    starts.map(|offset| stretch(offset, piece.min(to - offset))).collect()
}

#[cfg(test)]
#[path = "fill_tests.rs"]
mod tests;
