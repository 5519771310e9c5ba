//! `cargo xtask compare engines`: drivescope with the engine that it chooses itself, against the best of fio's
//! engines with the same depth and jobs, on file systems and RAM disks.

use super::fio::{self, FioEngine, Memory};
use super::mounted::Mounted;
use super::ours::Drivescope;
use super::ram_disk::RamDisk;
use super::turns::middle;
use super::{CellFigures, Measurement, SIZE_MIB, table};
use std::fmt::Write as _;
use std::path::Path;

/// Cells of file systems; block devices have only those that read.
const CELLS: [&str; 6] = [
    "rnd4k_q1t1.read",
    "rnd4k_q32t1.read",
    "rnd4k_q1t1.write",
    "rnd4k_q32t1.write",
    "seq1m_q8t1.read",
    "seq1m_q8t1.write",
];
const FILE_SYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// The least rate of the default, as a share of the best.
const RATE_MIN: f64 = 0.95;
/// The most user CPU for a random read, as a share of the best's; not compared for writes, each with fresh data.
const USER_MAX_Q1: f64 = 0.50;
const USER_MAX_DEEP: f64 = 0.35;

/// The budget of a cell, if it has one.
fn user_max(cell: &str) -> Option<f64> {
    let is_random_read = cell.starts_with("rnd") && cell.ends_with(".read");
    is_random_read.then_some(if cell.contains("_q1t") { USER_MAX_Q1 } else { USER_MAX_DEEP })
}

/// How often and how long each is measured, and where images of file systems lie.
pub struct EnginesOptions<'o> {
    /// Rounds, each of which has every program once.
    pub rounds: usize,
    /// How each program measures.
    pub each: Measurement,
    /// On the drive to be measured.
    pub folder: &'o Path,
    /// Only pairs `PLACE CELL` that contain this text.
    pub only: &'o str,
}

impl EnginesOptions<'_> {
    /// Which of [`CELLS`] to measure at `place`: sampled ones have a budget of user CPU.
    fn chosen(&self, place: &str) -> Vec<&'static str> {
        let is_chosen = |cell: &&&str| {
            let is_judged = !self.each.sampled || user_max(cell).is_some();
            is_judged && format!("{place} {cell}").contains(self.only)
        };
        CELLS.iter().filter(is_chosen).copied().collect()
    }
}

/// One cell in one place, round by round.
struct Measured {
    place: String,
    cell: &'static str,
    /// The engine that drivescope chose in each round.
    engines: Vec<String>,
    ours: Vec<CellFigures>,
    /// Figures of each of fio's engines.
    fio: Vec<(FioEngine, Vec<CellFigures>)>,
}

/// Measures everything that can be set up here, and makes the table.
pub fn section(drivescope: &Drivescope, options: &EnginesOptions<'_>) -> Result<String, String> {
    let mut all = Vec::new();
    for kind in FILE_SYSTEMS {
        if options.chosen(kind).is_empty() {
            continue;
        }
        match Mounted::make(kind, options.folder, 8 * SIZE_MIB) {
            Ok(mounted) => on_file_system(drivescope, options, kind, &mounted, &mut all)?,
            Err(why) => eprintln!("SKIPPED: {kind}: {why}"),
        }
    }
    for create in [RamDisk::zram, RamDisk::loop_on_tmpfs] {
        match create(SIZE_MIB) {
            Ok(disk) => {
                let cells = options.chosen(disk.name()).into_iter();
                for cell in cells.filter(|cell| cell.ends_with(".read")) {
                    let place = disk.name().to_string();
                    all.push(measure(drivescope, options, place, cell, disk.path(), None)?);
                }
            }
            Err(why) => eprintln!("SKIPPED: a RAM disk: {why}"),
        }
    }
    Ok(text(&all, options))
}

fn on_file_system(
    drivescope: &Drivescope,
    options: &EnginesOptions<'_>,
    kind: &str,
    mounted: &Mounted,
    all: &mut Vec<Measured>,
) -> Result<(), String> {
    let file = mounted.folder().join("drivescope-compare.dat");
    for cell in options.chosen(kind) {
        fio::lay_out(&file, SIZE_MIB)?;
        let writes = cell.ends_with(".write");
        let folder = writes.then(|| mounted.folder());
        all.push(measure(drivescope, options, kind.to_string(), cell, &file, folder)?);
    }
    Ok(())
}

/// All programs in turn, after a round that is not counted. Of writes, drivescope makes a file of its own in
/// `folder`.
fn measure(
    drivescope: &Drivescope,
    options: &EnginesOptions<'_>,
    place: String,
    cell: &'static str,
    file: &Path,
    folder: Option<&Path>,
) -> Result<Measured, String> {
    let mut ours = Vec::new();
    let mut fio: Vec<(FioEngine, Vec<CellFigures>)> =
        FioEngine::ALL.map(|engine| (engine, Vec::new())).into();
    let mut engines = Vec::new();
    for round in 0..=options.rounds {
        let size_mib = if folder.is_some() { SIZE_MIB } else { 0 };
        let target = folder.unwrap_or(file);
        let each = options.each;
        let (figures, chosen) = drivescope.measure_with_its_choice(target, cell, size_mib, each)?;
        if round > 0 {
            ours.push(figures);
            engines.push(chosen);
        }
        for (engine, of_engine) in &mut fio {
            if folder.is_some() {
                // As drivescope does: a drive that has just taken a whole file takes the next writes more slowly.
                fio::lay_out(file, SIZE_MIB)?;
            }
            let memory = if folder.is_some() { Memory::Fresh } else { Memory::Malloc };
            let figures = fio::measure_with(*engine, file, cell, memory, each)?;
            if round > 0 {
                of_engine.push(figures);
            }
        }
    }
    let measured = Measured { place, cell, engines, ours, fio };
    // Printed now, because the next cells may fail after a long time.
    eprintln!("{}", measured.row(options.each.sampled));
    Ok(measured)
}

impl Measured {
    /// fio's engine with the highest median.
    fn best(&self) -> &(FioEngine, Vec<CellFigures>) {
        let rate = |(_, all): &&(FioEngine, Vec<CellFigures>)| middle(all, |f| f.iops);
        let best = self.fio.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
        best.expect("fio has engines")
    }

    /// The engine that was chosen most often, and how often if not always.
    fn chosen(&self) -> String {
        let times = |engine: &str| self.engines.iter().filter(|it| *it == engine).count();
        let Some(engine) = self.engines.iter().max_by_key(|it| times(it)) else {
            return String::new();
        };
        let (times, all) = (times(engine), self.engines.len());
        if times == all { engine.clone() } else { format!("{engine} ({times} of {all})") }
    }

    /// The ratio of user CPU of random reads, drivescope's share, and whether it is within its budget, if it has one.
    fn user_cpu(&self) -> (String, bool) {
        let Some(most) = user_max(self.cell) else { return (String::new(), true) };
        let ratio = self.ratio(|f| f.user_ns);
        let ours_ns = middle(&self.ours, |f| f.user_ns);
        (format!("{ratio:.2} ({ours_ns:.0} ns)"), ratio <= most)
    }

    /// Its row of the table.
    fn row(&self, sampled: bool) -> String {
        let rate = self.ratio(|f| f.iops);
        let (user, is_within) = self.user_cpu();
        let fios: Vec<String> =
            self.fio.iter().map(|(_, all)| format!("{:.0}", middle(all, |f| f.iops))).collect();
        format!(
            "| {} | {} | {}: {:.0}/s | {} | {rate:.3} | {user} | {} |",
            self.place,
            self.cell,
            self.chosen(),
            middle(&self.ours, |f| f.iops),
            fios.join(" | "),
            table::yes(if sampled { is_within } else { rate >= RATE_MIN }),
        )
    }

    /// Median over the rounds of drivescope's figure by that of fio's best engine.
    fn ratio(&self, figure: impl Fn(&CellFigures) -> f64) -> f64 {
        let pairs: Vec<_> = self.ours.iter().zip(&self.best().1).collect();
        middle(&pairs, |(a, b)| figure(a) / figure(b))
    }
}

fn text(all: &[Measured], options: &EnginesOptions<'_>) -> String {
    let mut text = String::new();
    let EnginesOptions { rounds, each: Measurement { ramp_s, seconds, sampled }, .. } = *options;
    // Samples cost the programs time of their own, and without them user CPU is a few ticks: each run judges one.
    let (perf, asked) = if sampled {
        let most = format!(
            "user CPU per random read of at most {USER_MAX_Q1} at depth 1\nand {USER_MAX_DEEP} at others"
        );
        (" --perf", most)
    } else {
        ("", format!("a rate of at least {RATE_MIN}; user CPU is judged\nwith --perf"))
    };
    let _ = writeln!(
        text,
        "## The engine of each cell, against the best of fio's\n\n`cargo xtask compare engines --pairs {rounds} \
         --ramp {ramp_s} --time {seconds}{perf}`. {}\n\nfio: psync, libaio and io_uring with the same depth \
         and one job; psync has one request in flight at any depth.\nRatios are drivescope / the best of them, \
         medians over the rounds. Asked: {asked}. Every program\nmakes \
         fresh data for each write (fio: refill_buffers), to a file that was just laid out.\n",
        table::machine()
    );
    let _ = writeln!(
        text,
        "| on | cell | drivescope | psync | libaio | io_uring | rate | user CPU | within |"
    );
    let _ = writeln!(text, "|---|---|---|---|---|---|---|---|---|");
    for measured in all {
        let _ = writeln!(text, "{}", measured.row(sampled));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(iops: f64) -> CellFigures {
        let none = 1.0;
        CellFigures {
            mb_s: none,
            iops,
            lat_p50_us: none,
            lat_p99_us: none,
            user_ns: 100.0,
            sys_ns: none,
        }
    }

    #[test]
    fn the_best_engine_is_what_counts() {
        let measured = &[Measured {
            place: "zram".into(),
            cell: "rnd4k_q1t1.read",
            engines: ["uring", "threads", "threads"].map(String::from).into(),
            ours: [90.0, 100.0, 95.0].map(figures).into(),
            fio: vec![
                (FioEngine::Psync, [100.0; 3].map(figures).into()),
                (FioEngine::Libaio, [80.0, 300.0, 70.0].map(figures).into()),
            ],
        }];
        assert_eq!(measured[0].best().0, FioEngine::Psync);
        assert_eq!(measured[0].ratio(|f| f.iops), 0.95);
        let table = |sampled| {
            let each = Measurement { sampled, ..Measurement::of(1.0) };
            let folder = Path::new(".");
            text(measured, &EnginesOptions { rounds: 3, each, folder, only: "" })
        };
        let line =
            "| zram | rnd4k_q1t1.read | threads (2 of 3): 95/s | 100 | 80 | 0.950 | 1.00 (100 ns)";
        let (of_rates, of_user_cpu) = (table(false), table(true));
        assert!(of_rates.contains(&format!("{line} | yes |")), "{of_rates}");
        assert!(of_user_cpu.contains(&format!("{line} | **no** |")), "{of_user_cpu}");
    }
}
