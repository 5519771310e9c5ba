//! The questions to a disk, once it is known how fast it turns.

use super::answers::{self, could_not_tell};
use super::flash::random_reads;
use super::heads;
use super::probe::{Probe, ProbeEnd};
use super::seeks::{self, SeekProfile};
use super::shingling::{self, AREA, RecordingKind};
use super::tracks::TrackReader;
use super::write_cache::{FILLING_MAX, WriteProbe};
use super::zones::{self, ZoneBudget, ZoneMap};
use super::{Questions, accesses, ask, is_alone, read_cache, shingled};
use crate::error::BenchError;
use crate::session::Session;
use drivescope_model::target::{FileSystem, TargetKind};
use drivescope_model::units::Secs;
use drivescope_stats::common_period::CommonPeriod;

const ZONES_SHARE: f64 = 0.4;
/// Least that zones may read: a few tenths of a per cent of a small drive hold no track.
const ZONES_BYTES_MIN: u64 = 240 << 20;
/// Tracks that are read to see the pauses between them.
const SKEW_TRACKS: f64 = 40.0;
/// Rounds that show what a queue gains, and the time of each.
const QUEUE_ROUNDS: usize = 3;
const QUEUE_TIME: Secs = Secs(2.5);
/// A queue as deep as SATA has it.
const QUEUE_DEPTH: u32 = 32;
const CHUNK: u32 = 512 << 10;
const FORGET_BYTES: u64 = 384 << 20;

pub fn ask_all(questions: &mut Questions<'_, '_>, turn: &CommonPeriod) -> Result<(), BenchError> {
    let turn_ns = turn.period;
    let mut reader = TrackReader::new(turn_ns, turn.jitter);
    if let Some(map) = ask_zones(questions, &mut reader)? {
        ask_heads(questions, &mut reader, &map)?;
        ask_seeks(questions, &mut reader, &map)?;
        ask_accesses(questions)?;
    }
    ask_read_cache(questions, turn_ns)?;
    ask_queue(questions)?;
    // What fills the write cache would fill the log of a shingled disk.
    if ask_shingling(questions)? {
        shingled::ask_bands(questions, turn_ns)?;
        let cached_bytes = ask_writes(questions, turn_ns)?;
        return shingled::ask_log(questions, cached_bytes);
    }
    ask_writes(questions, turn_ns)?;
    Ok(())
}

fn ask_zones(
    questions: &mut Questions<'_, '_>,
    reader: &mut TrackReader,
) -> Result<Option<ZoneMap>, BenchError> {
    let session = &questions.session;
    if !matches!(session.target.info().kind, TargetKind::Block | TargetKind::Simulated) {
        let why = "a file is only a part of the drive, wherever that is; measure the device";
        could_not_tell(questions.record, "zones and seeks", why);
        return Ok(None);
    }
    let options = &session.plan.suite.geometry;
    let span = session.span_bytes(session.device());
    let share = (span as f64 * options.surface_pct / 100.0) as u64;
    let budget = ZoneBudget {
        bytes: share.max(ZONES_BYTES_MIN),
        until_ns: session.now_ns() + (options.time.0 * ZONES_SHARE * 1e9) as u64,
    };
    let found = questions.ask("zones", |probe| {
        let map = zones::measure(probe, reader, budget)?;
        let tracks = if map.is_ok() { reader.look_at(probe, 0, SKEW_TRACKS)? } else { None };
        Ok((map, tracks))
    })?;
    match found {
        (Ok(map), tracks) => {
            answers::zones(questions.record, &map);
            if let Some(tracks) = tracks {
                answers::skews(questions.record, &tracks);
            }
            Ok(Some(map))
        }
        (Err(why), _) => {
            could_not_tell(questions.record, "zones and seeks", &why);
            Ok(None)
        }
    }
}

fn ask_heads(
    questions: &mut Questions<'_, '_>,
    reader: &mut TrackReader,
    map: &ZoneMap,
) -> Result<(), BenchError> {
    if !questions.has_time_for("heads") {
        return Ok(());
    }
    let found = questions.ask("heads", |probe| heads::measure(probe, reader, map))?;
    questions.tell("heads", found, answers::heads);
    Ok(())
}

fn ask_seeks(
    questions: &mut Questions<'_, '_>,
    reader: &mut TrackReader,
    map: &ZoneMap,
) -> Result<(), BenchError> {
    if !questions.has_time_for("seeks") {
        return Ok(());
    }
    let (block, seed, turn_ns) = (questions.block, questions.seed("seeks"), reader.turn_ns);
    let found = questions.ask("seek", |probe| seeks::measure(probe, reader, map, block, seed))?;
    questions.tell("seeks", found, |record, profile: SeekProfile| {
        answers::seeks(record, &profile, map, turn_ns);
    });
    Ok(())
}

fn ask_accesses(questions: &mut Questions<'_, '_>) -> Result<(), BenchError> {
    if !questions.has_time_for("access time by span") {
        return Ok(());
    }
    let (block, seed) = (questions.block, questions.seed("accesses"));
    let points = questions.ask("access", |probe| accesses::measure(probe, block, seed))?;
    answers::accesses(questions.record, &points);
    Ok(())
}

fn ask_read_cache(questions: &mut Questions<'_, '_>, turn_ns: f64) -> Result<(), BenchError> {
    if !questions.has_time_for("read cache") {
        return Ok(());
    }
    let (block, seed) = (questions.block, questions.seed("read cache"));
    let found = questions.ask("read_cache", |probe| {
        let hits = match read_cache::hits(probe, turn_ns, seed)? {
            Ok(hits) => hits,
            Err(why) => return Ok(Err(why)),
        };
        Ok(Ok((hits, read_cache::held(probe, hits, (block, turn_ns), seed)?)))
    })?;
    questions.tell("read cache and link", found, |record, (hits, held)| {
        answers::hits(record, &hits);
        answers::held(record, &held);
    });
    Ok(())
}

fn ask_queue(questions: &mut Questions<'_, '_>) -> Result<(), BenchError> {
    if !questions.has_time_for("gain of a queue") {
        return Ok(());
    }
    let (session, record) = (&*questions.session, &mut *questions.record);
    let span = session.span(session.device());
    let (mut alone, mut deep) = (Vec::new(), Vec::new());
    for _ in 0..QUEUE_ROUNDS {
        alone.push(random_reads(session, record, "rnd_q1.read", span.clone(), 1, QUEUE_TIME)?);
        let cell = format!("rnd_q{QUEUE_DEPTH}.read");
        deep.push(random_reads(session, record, &cell, span.clone(), QUEUE_DEPTH, QUEUE_TIME)?);
    }
    answers::queue_gain(record, &alone, &deep);
    Ok(())
}

/// Returns how many bytes of writes the drive has in its memory at most.
fn ask_writes(questions: &mut Questions<'_, '_>, turn_ns: f64) -> Result<f64, BenchError> {
    const WHAT: &str = "write cache and flushes";
    const CACHE: &str = "size of the write cache";
    let Some(mut writes) = questions.writes_in_time(WHAT) else { return Ok(0.0) };
    let Some(times) = writes.times()? else { return Ok(0.0) };
    let is_cached = times.cached.ns < turn_ns / 2.0;
    let filled = if is_cached { Some(writes.cache_fillings()?) } else { None };
    answers::writes(questions.record, &times, Some(turn_ns));
    match filled {
        Some(Ok(fillings)) => {
            answers::write_cache(questions.record, &fillings);
            return Ok(fillings.iter().map(|it| it.bytes).fold(0.0, f64::max));
        }
        Some(Err(why)) => {
            could_not_tell(questions.record, CACHE, &why);
            return Ok(FILLING_MAX as f64);
        }
        None => could_not_tell(
            questions.record,
            CACHE,
            "writes wait for the medium: the write cache is off, or there is none",
        ),
    }
    Ok(0.0)
}

fn ask_shingling(questions: &mut Questions<'_, '_>) -> Result<bool, BenchError> {
    const WHAT: &str = "shingling";
    if !questions.has_time_for(WHAT) {
        return Ok(false);
    }
    if questions.session.target.data_system().is_some_and(FileSystem::copies_on_write) {
        let why = "this file system moves what is overwritten itself (copy on write)";
        could_not_tell(questions.record, WHAT, why);
        return Ok(false);
    }
    let Some(mut writes) = questions.writes(WHAT) else { return Ok(false) };
    let start = writes.area.span.start;
    let found = shingling::measure(&mut writes, |writes, from, len| {
        let WriteProbe { session, record, area, .. } = writes;
        if area.kept {
            forget(session, record)?;
        }
        let at = from - start;
        ask(session, record, "shingling", |probe| stream_ns(probe, at, len))
    })?;
    match found {
        Some(slowdown) => {
            let takes_trim = shingled::takes_trim(questions.session);
            let is_alone = is_alone(questions.session);
            answers::shingling(questions.record, &slowdown, takes_trim, is_alone);
            Ok(slowdown.recording() == RecordingKind::Shingled)
        }
        None => {
            could_not_tell(questions.record, WHAT, "there is too little room");
            Ok(false)
        }
    }
}

/// Reads something else, so that the cache holds nothing of an area.
fn forget(
    session: &Session<'_>,
    record: &mut crate::judging::test_record::TestRecord,
) -> Result<(), BenchError> {
    ask(session, record, "shingling", |probe| {
        let at = (probe.span() / 2).saturating_sub(FORGET_BYTES + 2 * AREA);
        let len = FORGET_BYTES.min(probe.span() / 4);
        stream_ns(probe, at, len).map(|_| ())
    })
}

fn stream_ns(probe: &mut dyn Probe, at: u64, len: u64) -> Result<Option<f64>, ProbeEnd> {
    let ends = probe.stream(at, CHUNK, (len / u64::from(CHUNK)) as usize)?;
    // From the first answer on, without the seek to it.
    Ok(ends.first().zip(ends.last()).map(|(first, last)| (last - first) as f64))
}
