//! `run --fio`: the job file, its included files and variables, and what it asks for besides a suite.

use crate::arguments::{EngineName, RunArguments};
use crate::exit::Failure;
use crate::output;
use drivescope_bench::plan::fio_job::{self, FioSuite, JobSource};
use drivescope_drive::target::check_answers;
use drivescope_report::clean;
use std::io::Read;
use std::path::Path;

/// Far above any job file, and far below what memory holds.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// Files of this machine, and the environment of this process.
struct JobFiles;

impl JobSource for JobFiles {
    fn text(&self, path: &Path) -> Result<String, String> {
        check_answers(path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
        let mut file = file.take(FILE_MAX_BYTES + 1);
        file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        if bytes.len() as u64 > FILE_MAX_BYTES {
            return Err("it is longer than 1 MiB".to_string());
        }
        // Comments may be in any encoding.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// Errors: the line that is wrong, or has no equal.
pub fn read(path: &Path) -> Result<FioSuite, Failure> {
    Ok(fio_job::suite(&path.display().to_string(), &JobFiles)?)
}

/// Takes its engine and size where the command line has none.
pub fn fill_in(fio: &FioSuite, arguments: &mut RunArguments) {
    arguments.engine = arguments.engine.or(fio.engine.and_then(EngineName::of));
    arguments.size = arguments.size.or(fio.size);
}

pub fn print_notes(notes: &[String], quiet: bool) {
    for note in notes.iter().filter(|_| !quiet) {
        output::remark(&clean(note));
    }
}
