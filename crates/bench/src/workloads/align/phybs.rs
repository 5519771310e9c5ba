//! phybs, as FreeBSD's tools/tools/phybs runs it (Dag-Erling Smørgrav, 2010): passes of strided accesses,
//! not synced, with all arithmetic in 64 bits.

use super::offset_groups::{Estimate, OffsetGroups, split};
use super::physical_sector::{BlockSizeResult, Boundaries, compared, interpret};
use super::write_area::{AccessPattern, WriteArea};
use crate::error::BenchError;
use crate::io::queue::IoOp;
use crate::judging::test_record::TestRecord;
use crate::session::Session;
use drivescope_model::options::AlignOptions;
use drivescope_model::patterns::phybs::{PASS_BYTES, pass, passes};
use drivescope_model::units::Bytes;
use drivescope_stats::trimmed_mean::TrimmedMean;
use drivescope_stats::{interval, summary};

/// Two passes of the same kind agree to this share: published passes of one drive mostly do.
const PASS_ERROR: f64 = 0.03;
/// A pass off the boundaries takes at least this many times as long: reading before writing cannot cost less
/// where nothing is synced, and erratic passes of drives with small sectors stay below.
const RATIO_MIN: f64 = 2.0;

/// Passes of fewer bytes may end in the drive's write cache. The largest of the disks whose sectors phybs was
/// made for had 64 MB; a pass of twice that, as published, is mostly written to the medium.
const TOTAL_MIN: u64 = PASS_BYTES;

/// Smaller blocks are never aligned to the sectors that most drives have.
const BLOCK_MIN: u64 = 4096;

/// One pass, in all its rounds.
#[derive(Debug, Clone, PartialEq)]
struct TimedPass {
    size: u64,
    offset: u64,
    ns: Vec<f64>,
}

impl TimedPass {
    fn cell(&self) -> String {
        format!("pass{}_at_{}", Bytes(self.size).short(), self.offset)
    }
}

pub fn block_sizes(options: &AlignOptions, sector: u64) -> Vec<u64> {
    let passes = passes(options.min.0.max(sector), options.max.0, sector);
    passes.into_iter().map(|(size, _)| size).collect()
}

/// Runs all passes of all rounds; their figures are in the record even if a pass fails.
pub fn run(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    site: &mut WriteArea,
) -> Result<Vec<BlockSizeResult>, BenchError> {
    let options = session.plan.suite.align.clone();
    let sizes = passes(options.min.0.max(site.step), options.max.0, site.step);
    let mut all: Vec<TimedPass> = sizes
        .into_iter()
        .map(|(size, offset)| TimedPass { size, offset, ns: Vec::new() })
        .collect();
    let result = run_rounds(session, record, site, &options, &mut all);
    for pass in all.iter().filter(|pass| !pass.ns.is_empty()) {
        report(record, pass, options.total.0);
    }
    result.map(|()| match blind_to_sectors(&options) {
        Some(why) => hide(judge(&all, site.step), &why),
        None => judge(&all, site.step),
    })
}

fn run_rounds(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    site: &mut WriteArea,
    options: &AlignOptions,
    all: &mut [TimedPass],
) -> Result<(), BenchError> {
    let suite = &session.plan.suite;
    let (rounds, pause) = (suite.rounds, suite.pause);
    let op = if options.mix.writes() { IoOp::Write } else { IoOp::Read };
    for round in 1..=rounds {
        for one in all.iter_mut() {
            session.pause(pause)?;
            let cell = one.cell();
            session.phase_started(&cell, round, rounds);
            let places: Vec<u64> =
                pass(site.span.start, one.size, one.offset, options.total.0).collect();
            let originals = match op {
                IoOp::Write => site.originals(session, &places, one.size)?,
                _ => None,
            };
            let way = AccessPattern {
                reads_first: reads_first(options),
                ..AccessPattern::of(&cell, round, one.size, op)
            };
            let data = originals.as_deref();
            let (_, ns) = site.access(session, record, way, places.clone(), data)?;
            one.ns.push(ns as f64);
            site.compare(session, &places, one.size, data)?;
        }
    }
    Ok(())
}

/// Whether each block is read and then written, as phybs does with -rw.
pub fn reads_first(options: &AlignOptions) -> bool {
    options.mix.writes() && options.mix.read_percent() > 0
}

/// Why passes of this kind show no sector, whatever their times: `None` where they do.
fn blind_to_sectors(options: &AlignOptions) -> Option<String> {
    if !options.mix.writes() {
        let why = "reads hide it because drives read ahead; use --set align.mix=write";
        return Some(why.to_string());
    }
    if reads_first(options) {
        let why = "reading each block first spares the drive to read it; use --set align.mix=write";
        return Some(why.to_string());
    }
    if options.max.0 < BLOCK_MIN {
        let (max, enough) = (options.max.binary(), Bytes(BLOCK_MIN).short());
        return Some(format!(
            "blocks of up to {max} show no larger sector; use --set align.max={enough}"
        ));
    }
    (options.total.0 < TOTAL_MIN).then(|| {
        let (total, enough) = (options.total.binary(), Bytes(TOTAL_MIN).short());
        format!(
            "passes of {total} may fit in the drive's cache; use --set align.total={enough} or more"
        )
    })
}

/// The times without what they seem to say of sectors.
fn hide(mut seen: Vec<BlockSizeResult>, why: &str) -> Vec<BlockSizeResult> {
    for seen in &mut seen {
        seen.boundaries = Boundaries::Hidden(why.to_string());
        seen.penalty = None;
    }
    seen
}

/// phybs' three figures of a pass: wall time, requests per second, and what it calls kBps.
fn report(record: &mut TestRecord, pass: &TimedPass, total: u64) {
    let requests = (total / pass.size) as f64;
    let kib = requests * pass.size as f64 / 1024.0;
    let cell = pass.cell();
    let per_round = |figure: &dyn Fn(f64) -> f64| pass.ns.iter().map(|&ns| figure(ns)).collect();
    record.metric(&format!("{cell}.pass_ms"), per_round(&|ns| ns / 1e6));
    record.metric(&format!("{cell}.tps"), per_round(&|ns| requests * 1e9 / ns));
    record.metric(&format!("{cell}.kib_s"), per_round(&|ns| kib * 1e9 / ns));
}

/// What the passes of each size show. Sizes that disagree show nothing.
fn judge(all: &[TimedPass], sector: u64) -> Vec<BlockSizeResult> {
    fn found(seen: &BlockSizeResult) -> Option<(u64, u64)> {
        match seen.boundaries {
            Boundaries::Found { sector, shift } => Some((sector, shift % sector)),
            _ => None,
        }
    }
    let mut seen: Vec<BlockSizeResult> = all
        .chunk_by(|a, b| a.size == b.size)
        .filter(|group| group.len() > 1)
        .map(|group| judge_size(group, sector))
        .collect();
    if let (true, Some(pass)) = (seen.is_empty(), all.first()) {
        seen.push(alone(pass));
    }
    let first = seen.iter().find_map(found);
    let contradiction = seen.iter().filter_map(found).any(|other| Some(other) != first);
    if contradiction {
        let why = "passes of different sizes show different sectors".to_string();
        seen.iter_mut().for_each(|seen| seen.boundaries = Boundaries::Hidden(why.clone()));
    }
    seen
}

/// What a pass without others of its size shows.
fn alone(pass: &TimedPass) -> BlockSizeResult {
    let why = "passes with one offset each cannot be compared; use a larger align.max";
    let boundaries = Boundaries::Hidden(why.to_string());
    let (times, split) = (Vec::new(), OffsetGroups::default());
    BlockSizeResult {
        block: pass.size,
        times,
        split,
        boundaries,
        error_share: PASS_ERROR,
        penalty: None,
    }
}

fn judge_size(group: &[TimedPass], sector: u64) -> BlockSizeResult {
    let points: Vec<(u64, TrimmedMean)> = group
        .iter()
        .filter_map(|pass| {
            let mean = summary::mean(&pass.ns)?;
            Some((pass.offset, TrimmedMean { mean, error: mean * PASS_ERROR }))
        })
        .collect();
    let block = group[0].size;
    let split = split(&points, RATIO_MIN);
    let boundaries = if split.slow.is_empty() {
        Boundaries::Alike { resolution: RATIO_MIN - 1.0 }
    } else {
        interpret(&split, block, sector)
    };
    let penalty = penalty(group, &compared(&split));
    BlockSizeResult {
        block,
        times: Vec::new(),
        boundaries,
        error_share: PASS_ERROR,
        penalty,
        split,
    }
}

/// Mean time of slow passes by that of fast ones; with a single round without an interval.
fn penalty(group: &[TimedPass], split: &OffsetGroups) -> Option<Estimate> {
    let rounds = group.iter().map(|pass| pass.ns.len()).min()?;
    let mean = |offsets: &[u64], round: usize| {
        let of = group.iter().filter(|pass| offsets.contains(&pass.offset));
        summary::mean(&of.map(|pass| pass.ns[round]).collect::<Vec<_>>())
    };
    let ratios: Option<Vec<f64>> =
        (0..rounds).map(|i| Some(mean(&split.slow, i)? / mean(&split.fast, i)?)).collect();
    let ratios = ratios?;
    let value = summary::median(&ratios)?;
    let ends = interval::median_interval(&ratios, 0.95)?;
    Some(Estimate { value, low: ends.low, high: ends.high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::align::physical_sector::{Sector, conclude};

    /// The published times of 32,768 writes of 4 KiB at 0, 512, 1024 and 2048, ms ("Benchmarking Advanced Format
    /// Drives"), and the sector of the drive.
    const PUBLISHED: [(&str, [f64; 4], u64); 4] = [
        ("WD20EARS", [19_503.0, 1_216_537.0, 1_213_479.0, 1_214_623.0], 4096),
        ("WD10EARS", [23_105.0, 79_285.0, 75_814.0, 79_920.0], 4096),
        ("HDS722020ALA330", [8_803.0, 8_701.0, 8_735.0, 8_705.0], 512),
        ("WD4000AAKS", [21_348.0, 21_674.0, 20_799.0, 21_031.0], 512),
    ];

    fn group(size: u64, offsets: &[u64], ms: &[f64]) -> Vec<TimedPass> {
        let pass = |(&offset, &ms): (&u64, &f64)| TimedPass { size, offset, ns: vec![ms * 1e6] };
        offsets.iter().zip(ms).map(pass).collect()
    }

    #[test]
    fn published_passes_give_the_published_verdicts() {
        for (name, ms, sector) in PUBLISHED {
            let seen = judge(&group(4096, &[0, 512, 1024, 2048], &ms), 512);
            let conclusion = conclude(&seen);
            let expected = match sector {
                512 => Sector::Costless,
                bytes => Sector::Found { bytes, shift: 0 },
            };
            assert_eq!(conclusion.sector, expected, "{name}");
            let penalty = conclusion.penalty.unwrap().value;
            let expected = (ms[1] + ms[2] + ms[3]) / 3.0 / ms[0];
            assert!((penalty / expected - 1.0).abs() < 1e-12, "{name}: {penalty}");
        }
    }

    #[test]
    fn erratic_drive_is_not_called_4_kib() {
        // 20 s, 23 s, 37 s and 50 s: no step of a factor of two
        let ms = [22_811.0, 19_552.0, 36_945.0, 50_102.0];
        let seen = judge(&group(4096, &[0, 512, 1024, 2048], &ms), 512);
        assert_eq!(conclude(&seen).sector, Sector::Costless);
    }

    #[test]
    fn passes_at_one_offset_show_nothing() {
        let options = AlignOptions { max: Bytes(512), ..AlignOptions::default() };
        let only = group(512, &[0], &[9.0]);
        let why = |seen: &[BlockSizeResult]| match conclude(seen).sector {
            Sector::Unknown(why) => why,
            sector => panic!("{sector:?}"),
        };
        assert!(why(&judge(&only, 512)).contains("with one offset each"));
        let blind = blind_to_sectors(&AlignOptions { total: Bytes(TOTAL_MIN), ..options }).unwrap();
        assert_eq!(why(&hide(judge(&only, 512), &blind)), blind);
        // Beside others they do not count.
        let all = [only, group(1024, &[0, 512], &[1.0, 1.0])].concat();
        assert_eq!(conclude(&judge(&all, 512)).sector, Sector::Costless);
    }

    #[test]
    fn sizes_must_agree() {
        fn sector(passes: &[Vec<TimedPass>]) -> Sector {
            conclude(&judge(&passes.concat(), 512)).sector
        }
        let four = group(4096, &[0, 512, 1024, 2048], &[1.0, 9.0, 9.0, 9.0]);
        let eight = group(8192, &[0, 512, 1024, 2048, 4096], &[1.0, 9.0, 9.0, 9.0, 1.0]);
        let other = group(8192, &[0, 512, 1024, 2048, 4096], &[1.0, 9.0, 1.0, 1.0, 1.0]);
        assert_eq!(sector(&[four.clone(), eight]), Sector::Found { bytes: 4096, shift: 0 });
        let Sector::Unknown(why) = sector(&[four, other]) else { panic!() };
        assert!(why.contains("different sectors"), "{why}");
    }
}
