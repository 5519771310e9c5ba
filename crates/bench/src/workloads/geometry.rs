//! `geometry`: what kind of drive is this. Rotation, zones, seeks, caches, honesty of flushes, shingling; of flash,
//! requests side by side and the reach of its map. All of it from the times of answers; whatever does not show is
//! named with the reason.

mod accesses;
mod answers;
mod bands;
mod disk;
mod flash;
mod flash_writes;
mod heads;
pub(super) mod probe;
mod read_cache;
mod rotation;
mod seeks;
mod shingle_log;
mod shingled;
mod shingling;
mod tracks;
mod write_cache;
mod zones;

use super::align::write_area::WriteArea;
use crate::error::{BenchError, is_want_of_the_host};
use crate::io::draw::Draw;
use crate::io::offsets::derive_seed;
use crate::io::queue::QueueSpec;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::phase::PhaseResult;
use crate::plan::option_checks::{check_percent, check_request, check_time};
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::Workload;
use answers::could_not_tell;
use drivescope_model::options::{Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use probe::{Probe, ProbeEnd, ProbeOutcome, ProbeTask, STREAM_DEPTH};
use write_cache::WriteProbe;

/// Less than this is a few tracks, or all of it in a cache.
const SPAN_MIN: Bytes = Bytes::mib(512);
const CHUNK_MAX: u32 = 512 << 10;
/// What questions other than zones read, about, and how long they take on a disk.
const READ_BYTES: f64 = 6e9;
const SECONDS: f64 = 150.0;
/// What questions about writes write, at most, without the ends of large caches.
const WRITTEN_BYTES: u64 = 2 << 30;

pub struct GeometryWorkload;

impl Workload for GeometryWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Geometry
    }

    fn question(&self) -> &'static str {
        "what kind of drive is this: rotation, zones, seeks, caches, honesty of flushes, shingling"
    }

    fn access(&self) -> &'static str {
        "in a directory: reads and writes a file of its own; on a file: only reads; on a device: only reads, and with \
 --write same-bytes writes back what is there to test caches and flushes"
    }

    fn how_to_shorten(&self, _suite: &Suite) -> String {
        "use a shorter --time".to_string()
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let options = &suite.geometry;
        check_time(options.time)?;
        check_request(options.block, "geometry.block")?;
        check_percent(&[options.surface_pct], "geometry.surface_pct")
    }

    fn apply(&self, overrides: &Overrides, suite: &mut Suite) -> Result<(), String> {
        suite.geometry.time = overrides.time.unwrap_or(suite.geometry.time);
        Ok(())
    }

    fn reads_existing_data(&self) -> bool {
        true
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let options = &context.suite.geometry;
        if context.span_bytes < SPAN_MIN.0 {
            return context.skipped(self.kind(), format!("needs {} or more", SPAN_MIN.binary()));
        }
        let mut test = context.planned(self.kind());
        let refusal = context.write_refusal(WriteLevel::SameBytes);
        let writes = options.writes && refusal.is_none();
        let written_bytes = if writes { WRITTEN_BYTES + options.cache_writes.0 } else { 0 };
        match (refusal, context.target.kind) {
            (Some(reason), _) if options.writes => {
                test.omitted.push(format!("write cache, flushes, shingling: {reason}"));
            }
            (None, TargetKind::Block) if options.writes => test.writes = WriteLevel::SameBytes,
            _ => {}
        }
        let filled_bytes = if writes { options.cache_writes.0 } else { 0 };
        let filling_s = filled_bytes as f64 / (context.typical.mb_s * 1e6);
        let seconds = options.time.0.min(SECONDS + filling_s);
        let surface = context.span_bytes as f64 * options.surface_pct / 100.0;
        let read =
            (surface + READ_BYTES).min(options.time.0.min(SECONDS) * context.typical.mb_s * 1e6);
        test.cost = Cost {
            seconds,
            read_bytes: read as u64,
            written_bytes,
            computed_s: context.computed_s(2.5e5),
        };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        record.needs_no_rounds();
        let block = session.plan.suite.geometry.block.0;
        let device = session.device();
        let unit = u64::from(device.align_bytes());
        if !block.is_multiple_of(unit) {
            let why = format!(
                "direct I/O here needs multiples of {unit} bytes; use --set geometry.block={}",
                block.next_multiple_of(unit)
            );
            return Err(BenchError::Unsuitable(why));
        }
        if !device.is_direct() {
            let why = "needs direct I/O: the page cache answers before the drive";
            return Err(BenchError::Unsuitable(why.to_string()));
        }
        let mut questions = Questions { session, record, block: block as u32 };
        let seed = questions.seed("rotation");
        match questions.ask("rotation", |probe| rotation::measure(probe, block as u32, seed))? {
            Ok(turn) => {
                answers::rotation(questions.record, &turn);
                disk::ask_all(&mut questions, &turn)
            }
            Err(why) => {
                could_not_tell(questions.record, "rotation", &why);
                ask_flash(&mut questions)
            }
        }
    }
}

/// What is found by filling it, and why it is not.
struct LongFilling {
    what: &'static str,
    unasked: &'static str,
    too_slow: &'static str,
}

struct Questions<'s, 'a> {
    session: &'s mut Session<'a>,
    record: &'s mut TestRecord,
    block: u32,
}

impl<'a> Questions<'_, 'a> {
    fn seed(&self, what: &str) -> u64 {
        derive_seed(self.session.plan.seed, what, 0, 0)
    }

    /// Whether there is time for one more question; says so if not.
    fn has_time_for(&mut self, what: &str) -> bool {
        let has = self.session.test_elapsed_s() < self.session.plan.suite.geometry.time.0;
        if !has {
            could_not_tell(self.record, what, "the time was up; use a longer --time");
        }
        has
    }

    /// What writes, if there is time for one more question that does and it is possible here; says so if not.
    fn writes_in_time(&mut self, what: &str) -> Option<WriteProbe<'_, 'a>> {
        if self.has_time_for(what) { self.writes(what) } else { None }
    }

    fn tell<T>(
        &mut self,
        what: &str,
        found: Result<T, String>,
        answer: impl FnOnce(&mut TestRecord, T),
    ) {
        match found {
            Ok(found) => answer(self.record, found),
            Err(why) => could_not_tell(self.record, what, &why),
        }
    }

    /// What fills a cache of many GB, and how much it may write: only where that is asked for, and where
    /// nothing that is there must be kept; says why not.
    fn fills(&mut self, filling: LongFilling) -> Option<(WriteProbe<'_, 'a>, u64)> {
        let LongFilling { what, unasked, too_slow } = filling;
        let most = self.session.plan.suite.geometry.cache_writes.0;
        if most == 0 {
            could_not_tell(self.record, what, unasked);
            return None;
        }
        let writes = self.writes_in_time(what)?;
        if writes.area.kept {
            could_not_tell(writes.record, what, too_slow);
            return None;
        }
        Some((writes, most))
    }

    /// Asks a question that reads, and keeps it as a phase.
    fn ask<T: Send>(
        &mut self,
        cell: &str,
        question: impl FnOnce(&mut dyn Probe) -> Result<T, ProbeEnd> + Send,
    ) -> Result<T, BenchError> {
        ask(self.session, self.record, cell, question)
    }

    /// What writes, if that is possible here; says why not.
    fn writes(&mut self, what: &str) -> Option<WriteProbe<'_, 'a>> {
        if let Some(why) = write_cache::refusal(self.session) {
            // Where the plan says so already, once is enough.
            let is_planned = self.session.plan.active().any(|test| !test.omitted.is_empty());
            if !is_planned {
                could_not_tell(self.record, what, &why);
            }
            return None;
        }
        let area = WriteArea::of(self.session);
        let draw = Draw::new(self.seed(what));
        let block = u64::from(self.block);
        Some(WriteProbe { session: self.session, record: self.record, area, block, draw })
    }
}

/// Whether no other program can disturb: in virtual time there is none.
fn is_alone(session: &Session<'_>) -> bool {
    session.target.simulated().is_some()
}

fn ask<T: Send>(
    session: &Session<'_>,
    record: &mut TestRecord,
    cell: &str,
    question: impl FnOnce(&mut dyn Probe) -> Result<T, ProbeEnd> + Send,
) -> Result<T, BenchError> {
    session.phase_started(&format!("geometry {cell}"), 1, 1);
    let device = session.device();
    let control = Control::default();
    let is_alone = is_alone(session);
    let task = ProbeTask { span: session.span(device), is_alone, question, control: &control };
    let depth = STREAM_DEPTH as u32;
    let spec = QueueSpec { depth, ahead: 1, block_bytes: CHUNK_MAX, dsync: false };
    let (worker, counters) = session.run_task(device, spec, &control, task)?;
    let ProbeOutcome { answer, mut recorder, failures } = worker.output;
    record.notice_failures(failures.iter().filter(|failure| !is_want_of_the_host(failure.errno)));
    // Single failures are named and left out; the rest of the drive still has its answers.
    recorder.first_error = None;
    let bytes = recorder.bytes as f64;
    let measured = PhaseResult { recorder, cpu_cost: worker.cpu_cost, engine: worker.engine };
    let mut kept = counters.end(session, measured, cell, 1);
    kept.asked = failures.is_empty().then_some((bytes, 0.0));
    kept.own_metrics = true;
    session.add_round(kept, record)?;
    answer.map_err(|end| match end {
        ProbeEnd::Failed(failure) => BenchError::Request { failure, count: failures.len() as u64 },
        ProbeEnd::Stopped | ProbeEnd::Queue(_) => BenchError::Interrupted,
    })
}

fn ask_flash(questions: &mut Questions<'_, '_>) -> Result<(), BenchError> {
    if questions.has_time_for("requests side by side") {
        match flash::parallelism(questions.session, questions.record)? {
            Some(found) => answers::parallelism(questions.record, &found),
            None => could_not_tell(questions.record, "requests side by side", "reads have no rate"),
        }
    }
    if questions.has_time_for("reach of the map") {
        let found = flash::map_span(questions.session, questions.record)?;
        answers::map_span(questions.record, &found);
    }
    ask_flash_writes(questions)
}

fn ask_flash_writes(questions: &mut Questions<'_, '_>) -> Result<(), BenchError> {
    if questions.has_time_for("flushes")
        && let Some(mut writes) =
            questions.writes("flushes, unit of the map, write buffer, fast cache")
    {
        if let Some(times) = writes.times()? {
            answers::writes(questions.record, &times, None);
            answers::flush_cost(questions.record, &times);
        }
    } else {
        return Ok(());
    }
    if let Some(mut writes) = questions.writes_in_time("unit of the map")
        && let Some(times) = flash_writes::mapping_unit(&mut writes)?
    {
        answers::unit(questions.record, &times);
    }
    const BUFFER: &str = "write buffer";
    if let Some(mut writes) = questions.writes_in_time(BUFFER) {
        let found = flash_writes::write_buffer(&mut writes)?;
        questions.tell(BUFFER, found, |record, fillings| answers::write_buffer(record, &fillings));
    }
    ask_fast_cache(questions)
}

/// Where the fast cache ends, if the options allow as many writes.
fn ask_fast_cache(questions: &mut Questions<'_, '_>) -> Result<(), BenchError> {
    const WHAT: &str = "size of the fast cache";
    let filling = LongFilling {
        what: WHAT,
        unasked: "it takes many GB of writes; the test fill finds it, or --set geometry.cache_writes=20GB",
        too_slow: "what is there must be kept, which is too slow; the test fill finds it, or a directory on the drive",
    };
    let Some((mut writes, most)) = questions.fills(filling) else { return Ok(()) };
    let found = flash_writes::fast_cache(&mut writes, most)?;
    questions.tell(WHAT, found, |record, found| answers::fast_cache(record, &found));
    Ok(())
}

#[cfg(test)]
mod tests;
