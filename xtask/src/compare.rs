//! `cargo xtask compare fio`: drivescope against fio on the same file and on the same served disk, in alternating
//! pairs, so that a drifting machine moves both sides alike. `compare engines`: its own choice of an engine against
//! the best of fio's. `compare budgets`: what the project requires of itself without a peer.
#![expect(
    clippy::disallowed_methods,
    reason = "comparisons set up RAM disks, models and huge pages for a while"
)]

mod budgets;
mod copy;
mod engines;
mod fio;
mod huge_pages;
mod mounted;
mod ours;
mod pgbench;
mod precision;
mod ram_disk;
mod samples;
mod served;
mod served_sql;
mod served_traces;
mod table;
mod turns;

use engines::EnginesOptions;
use fio::Memory;
use huge_pages::HugePages;
pub use ours::Drivescope;
use served::ServedDisk;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One program's figures of one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellFigures {
    /// 10^6 bytes per second.
    pub mb_s: f64,
    /// Requests per second.
    pub iops: f64,
    /// Median latency.
    pub lat_p50_us: f64,
    /// 99th percentile.
    pub lat_p99_us: f64,
    /// Processor time in user mode per request.
    pub user_ns: f64,
    /// In the kernel.
    pub sys_ns: f64,
}

impl CellFigures {
    /// Sets user CPU from nanoseconds in each second, where they were sampled.
    fn with_user_cpu(self, ns_per_s: Option<f64>) -> Self {
        Self { user_ns: ns_per_s.map_or(self.user_ns, |ns| ns / self.iops), ..self }
    }
}

/// Both programs, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// drivescope.
    pub ours: CellFigures,
    /// fio.
    pub fio: CellFigures,
    /// fio once more, right after: the machine's own variation.
    pub again: Option<CellFigures>,
}

/// Both sides of one cell, pair by pair.
#[derive(Debug)]
pub struct Pairs {
    /// Cell as drivescope writes it.
    pub cell: &'static str,
    /// One after the other.
    pub pairs: Vec<Pair>,
}

/// Cells on a file: the ones whose rates and latencies must agree.
const FILE_CELLS: [&str; 8] = [
    "seq1m_q8t1.read",
    "seq1m_q1t1.read",
    "rnd4k_q32t1.read",
    "rnd4k_q1t1.read",
    "seq1m_q8t1.write",
    "seq1m_q1t1.write",
    "rnd4k_q32t1.write",
    "rnd4k_q1t1.write",
];
/// Size of the file. Streams go round a file: on a served disk each turn has a seek, and in a
/// smaller file these made the slowest hundredth of the requests.
const SIZE_MIB: u64 = 1024;

/// Parts that can be compared alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparePart {
    /// A file on the machine's own drive.
    File,
    /// A file on a simulated hard disk served in real time.
    Served,
    /// Served drives beside their models in virtual time.
    Precision,
}

impl ComparePart {
    const ALL: [ComparePart; 3] = [ComparePart::File, ComparePart::Served, ComparePart::Precision];

    /// Its name after `--part`.
    pub fn name(self) -> &'static str {
        match self {
            ComparePart::File => "file",
            ComparePart::Served => "served",
            ComparePart::Precision => "precision",
        }
    }

    /// Default length of one measurement: on the disk a random read takes 8 ms, and a hundredth of them should be
    /// more than a few.
    fn seconds(self) -> f64 {
        match self {
            ComparePart::File => 1.0,
            ComparePart::Served => 10.0,
            ComparePart::Precision => 5.0,
        }
    }
}

/// How one program measures once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measurement {
    /// Load before the measured time.
    ramp_s: f64,
    /// The measured time.
    seconds: f64,
    /// Whether user CPU is sampled, instead of read from the kernel's ticks.
    sampled: bool,
}

impl Measurement {
    /// Without a ramp, and with the kernel's ticks.
    fn of(seconds: f64) -> Self {
        Self { ramp_s: 0.0, seconds, sampled: false }
    }
}

/// How to compare.
struct CompareOptions {
    pairs: usize,
    seconds: f64,
    folder: PathBuf,
}

/// The options of a comparison.
struct CompareRequest {
    parts: Vec<ComparePart>,
    pairs: usize,
    seconds: Option<f64>,
    folder: PathBuf,
    /// Instead of the release build: another build, such as one with more databases.
    program: Option<PathBuf>,
    write: bool,
    /// Engines: only pairs of place and cell that contain this text.
    only: String,
    /// Engines: user CPU by samples.
    perf: bool,
    /// Engines: load before the measured time.
    ramp_s: f64,
}

const USAGE: &str =
    "usage: cargo xtask compare fio [--part file|served|precision] [--pairs N] \
                     [--time SECONDS] [--dir DIR] [--write]
       cargo xtask compare engines [--only TEXT] [--pairs N] [--ramp SECONDS] [--time SECONDS] [--perf] [--dir DIR]
       cargo xtask compare budgets [--cold] [--write]
       cargo xtask compare copy TREE [--pairs N] [--dir DIR]
       cargo xtask compare pgbench [--pairs N] [--time SECONDS] [--dir DIR]
       cargo xtask compare sql|traces
All but budgets measure a release build made for it, or with --program PATH another one";

/// Runs the comparison; `args` follow `compare`.
pub fn run(args: &[String]) -> Result<(), String> {
    let (peer, args) = args.split_first().ok_or(USAGE)?;
    match peer.as_str() {
        "fio" => beside_fio(args),
        "engines" => {
            let (request, drivescope) = with_fio(args)?;
            let (rounds, seconds) = (request.pairs, request.seconds.unwrap_or(1.0));
            let (folder, only, sampled) = (&*request.folder, &*request.only, request.perf);
            let each = Measurement { ramp_s: request.ramp_s, seconds, sampled };
            let options = EnginesOptions { rounds, each, folder, only };
            println!("{}", engines::section(&drivescope, &options)?);
            Ok(())
        }
        "budgets" => budgets::run(args),
        "copy" => {
            let (tree, args) =
                args.split_first().filter(|(tree, _)| !tree.starts_with('-')).ok_or(USAGE)?;
            section(args, &|ours, request| {
                copy::section(ours, request.pairs, &request.folder, Path::new(tree))
            })
        }
        "pgbench" => section(args, &|ours, request| {
            let seconds = request.seconds.unwrap_or(pgbench::SECONDS).ceil() as u32;
            pgbench::section(ours, request.pairs, seconds, &request.folder)
        }),
        "sql" => section(args, &|ours, _| served_sql::section(ours)),
        "traces" => section(args, &|ours, _| served_traces::section(ours)),
        _ => Err(USAGE.to_string()),
    }
}

/// Options of a comparison with fio, which must be installed, and the program.
fn with_fio(args: &[String]) -> Result<(CompareRequest, Drivescope), String> {
    let request = parse(args).ok_or(USAGE)?;
    if Command::new("fio").arg("--version").output().is_err() {
        return Err("fio is not installed; Debian has it as the package fio".to_string());
    }
    let drivescope = program(&request)?;
    Ok((request, drivescope))
}

fn beside_fio(args: &[String]) -> Result<(), String> {
    let (request, drivescope) = with_fio(args)?;
    let mut sections = Vec::new();
    for &part in &request.parts {
        let seconds = request.seconds.unwrap_or(part.seconds());
        let folder = request.folder.clone();
        let options = CompareOptions { pairs: request.pairs, seconds, folder };
        sections.extend(measured(part, &drivescope, &options)?);
    }
    table::show(sections, request.write)
}

/// One comparison with a peer; returns its report.
type Compare<'c> = &'c dyn Fn(&Drivescope, &CompareRequest) -> Result<String, String>;

/// A comparison that prints its section.
fn section(args: &[String], compare: Compare<'_>) -> Result<(), String> {
    let request = parse(args).ok_or(USAGE)?;
    println!("{}", compare(&program(&request)?, &request)?);
    Ok(())
}

/// The program that was named, or the release binary, built for this.
fn program(request: &CompareRequest) -> Result<Drivescope, String> {
    request.program.as_deref().map_or_else(Drivescope::build, Drivescope::at)
}

/// The sections of a part; none, after saying why, where it cannot be measured here.
fn measured(
    part: ComparePart,
    drivescope: &Drivescope,
    options: &CompareOptions,
) -> Result<Vec<String>, String> {
    let skipped = |why: String| {
        eprintln!("SKIPPED: a served disk: {why}");
        Ok(Vec::new())
    };
    let all = match part {
        ComparePart::File => on_file(drivescope, options)?,
        ComparePart::Served => match ServedDisk::with_file_system(drivescope.path(), served::MODEL)
        {
            Ok(served) => {
                on_file(drivescope, &CompareOptions { folder: served.folder(), ..*options })?
            }
            Err(why) => return skipped(why),
        },
        ComparePart::Precision => {
            let section = precision::section(drivescope, options.seconds);
            return section.map(|section| vec![section]).or_else(skipped);
        }
    };
    Ok(table::sections(part, &all, options.pairs, options.seconds))
}

fn parse(args: &[String]) -> Option<CompareRequest> {
    let mut request = CompareRequest {
        parts: ComparePart::ALL.to_vec(),
        pairs: 5,
        seconds: None,
        folder: std::env::temp_dir(),
        program: None,
        write: false,
        only: String::new(),
        perf: false,
        ramp_s: 0.0,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--part" => {
                let name = args.next()?;
                request.parts =
                    vec![ComparePart::ALL.into_iter().find(|part| part.name() == name)?];
            }
            "--pairs" => request.pairs = args.next()?.parse().ok().filter(|&n| n > 0)?,
            "--time" => request.seconds = Some(args.next()?.parse().ok().filter(|&s| s > 0.0)?),
            "--dir" => request.folder = PathBuf::from(args.next()?),
            "--program" => request.program = Some(PathBuf::from(args.next()?)),
            "--write" => request.write = true,
            "--ramp" => request.ramp_s = args.next()?.parse().ok().filter(|&s| s >= 0.0)?,
            "--perf" => request.perf = true,
            "--only" => request.only.clone_from(args.next()?),
            _ => return None,
        }
    }
    Some(request)
}

/// Both programs on one file for reads. For writes each has a file of its own in the same folder, laid
/// out just before: drivescope writes no others.
fn on_file(drivescope: &Drivescope, options: &CompareOptions) -> Result<Vec<Pairs>, String> {
    let file = options.folder.join("drivescope-compare.dat");
    let result = file_cells(drivescope, options, &file);
    fio::remove(&file);
    result
}

fn file_cells(
    drivescope: &Drivescope,
    options: &CompareOptions,
    file: &Path,
) -> Result<Vec<Pairs>, String> {
    fio::lay_out(file, SIZE_MIB)?;
    let huge = HugePages::reserve();
    let mut all = Vec::new();
    for cell in FILE_CELLS {
        let memory = if cell.starts_with("seq1m") { Memory::Huge } else { Memory::Malloc };
        match &huge {
            Err(why) if memory == Memory::Huge => {
                eprintln!("SKIPPED: {cell} with huge pages: {why}")
            }
            _ => all.push(file_pairs(drivescope, options, file, cell, memory)?),
        }
    }
    Ok(all)
}

fn file_pairs(
    drivescope: &Drivescope,
    options: &CompareOptions,
    file: &Path,
    cell: &'static str,
    memory: Memory,
) -> Result<Pairs, String> {
    let writes = cell.ends_with(".write");
    let target = if writes { &options.folder } else { file };
    let ours = || drivescope.measure(target, cell, options.seconds, SIZE_MIB);
    let fios = || {
        if writes {
            fio::lay_out(file, SIZE_MIB)?;
        }
        fio::measure(file, cell, options.seconds, memory)
    };
    let pairs = pairs(options, |first_ours| {
        let pair = in_turn(first_ours, ours, fios)?;
        Ok(Pair { again: Some(fios()?), ..pair })
    })?;
    Ok(Pairs { cell, pairs })
}

/// Pairs in alternating order, after one that is not counted.
fn pairs(
    options: &CompareOptions,
    mut pair: impl FnMut(bool) -> Result<Pair, String>,
) -> Result<Vec<Pair>, String> {
    pair(true)?;
    (0..options.pairs).map(|i| pair(i % 2 == 0)).collect()
}

fn in_turn(
    first_ours: bool,
    ours: impl Fn() -> Result<CellFigures, String>,
    fios: impl Fn() -> Result<CellFigures, String>,
) -> Result<Pair, String> {
    if first_ours {
        let ours = ours()?;
        Ok(Pair { ours, fio: fios()?, again: None })
    } else {
        let fio = fios()?;
        Ok(Pair { ours: ours()?, fio, again: None })
    }
}
