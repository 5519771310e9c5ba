//! Drives that this machine's kernel may not have: a guest with Debian's kernel, in QEMU, where drivescope meets
//! volumes, arrays, exports, failing drives and power cuts. docs/lab.md says how to use it.
#![expect(
    clippy::disallowed_methods,
    reason = "the lab makes images and folders of its own below target/lab"
)]

mod boot;
mod cases;
mod image;
mod judge;
mod power_cut;
mod share;
mod table;
mod write_log;

use boot::{Boot, GateDrives};
use cases::Case;
use image::Guest;
use share::SharedFolder;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};
use table::{CaseOutcome, Row, Table};

/// No pass takes longer on the slowest machine that builds the project; a longer one hangs.
const LONGEST: Duration = Duration::from_secs(90 * 60);
/// How often the host looks for results.
const LOOK: Duration = Duration::from_millis(300);
/// Guests that run cases side by side; each works mostly on one processor.
const GUESTS: usize = 2;
/// Power cuts of the short and the long pass.
const CUTS: [u64; 2] = [1, 12];

const USAGE: &str =
    "usage: cargo xtask lab [--long] [--only TEXT] [--program FILE] [--make] [--keep] [--list]";

/// The task of one call.
#[derive(Debug, Default)]
struct Options {
    long: bool,
    only: Option<String>,
    /// A build that is there already.
    program: Option<PathBuf>,
    /// Only the guest is made.
    make: bool,
    /// Keep the guest's files.
    keep: bool,
    list: bool,
}

impl Options {
    fn new(args: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match *arg {
                "--long" => options.long = true,
                "--keep" => options.keep = true,
                "--make" => options.make = true,
                "--list" => options.list = true,
                "--only" => options.only = Some(rest.next().ok_or(USAGE)?.to_string()),
                "--program" => options.program = Some(rest.next().ok_or(USAGE)?.into()),
                _ => return Err(USAGE.to_string()),
            }
        }
        Ok(options)
    }

    /// Whether a case of this name takes part.
    fn wants(&self, name: &str, long: bool) -> bool {
        match &self.only {
            Some(text) => name.contains(text.as_str()),
            None => self.long || !long,
        }
    }

    fn cases(&self) -> Vec<&'static Case> {
        cases::all().filter(|case| self.wants(case.name, case.long)).collect()
    }
}

/// Runs the cases and prints one row for each; an error if one fails.
pub fn run(args: &[&str]) -> Result<(), String> {
    let options = Options::new(args)?;
    let cases = options.cases();
    if options.list {
        cases.iter().for_each(|case| println!("{:<28} {}", case.name, case.expect));
        return Ok(());
    }
    let guest = Guest::new(options.program.as_deref())?;
    if options.make {
        return Ok(());
    }
    let cuts =
        if options.wants(power_cut::NAME, false) { CUTS[usize::from(options.long)] } else { 0 };
    let mut table = Table::default();
    let (rows, shown) = mpsc::channel();
    let (guest, options) = (&guest, &options);
    let ended: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let parts =
            (0..GUESTS).map(|part| cases.iter().copied().skip(part).step_by(GUESTS).collect());
        let of_cases = parts.map(|part: Vec<&'static Case>| {
            let rows = rows.clone();
            scope.spawn(move || run_cases(guest, options, &part, &rows))
        });
        let mut threads: Vec<_> = of_cases.collect();
        threads.push(scope.spawn(move || power_cut::run(guest, cuts, &rows)));
        shown.iter().for_each(|row| table.add(&row));
        threads.into_iter().map(|it| it.join().expect("no thread of the lab panics")).collect()
    });
    ended.into_iter().collect::<Result<(), String>>()?;
    table.end()
}

/// All these cases in one boot.
fn run_cases(
    guest: &Guest,
    options: &Options,
    cases: &[&'static Case],
    rows: &Sender<Row>,
) -> Result<(), String> {
    if cases.is_empty() {
        return Ok(());
    }
    let share = SharedFolder::new(&guest.folder, &guest.program)?;
    for (number, case) in cases.iter().enumerate() {
        share.add_case(number, case.name, &case.script())?;
    }
    let drives = GateDrives::new(&share)?;
    let mut running = Boot::start(guest, &share, &drives.arguments())?;
    let begin = Instant::now();
    for (number, case) in cases.iter().enumerate() {
        let out = share.out(number, case.name);
        while !out.has("end") && running.is_alive()? && begin.elapsed() < LONGEST {
            std::thread::sleep(LOOK);
        }
        let outcome = if out.has("end") {
            judge::judge(case, &out)
        } else {
            CaseOutcome::failed(format!("the guest never came to it; {}", share.last_words()))
        };
        // The receiver ends only if this thread should end as well.
        let _ =
            rows.send(Row { name: case.name.into(), expected: case.expect.to_string(), outcome });
    }
    if options.keep {
        println!("what the guest left is in {}", share.keep().display());
    }
    Ok(())
}
