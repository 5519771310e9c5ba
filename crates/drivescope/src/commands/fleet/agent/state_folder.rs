//! The agent's folder: its id, a record of each job, and runs until the server has them.

use crate::exit::Failure;
use drivescope_drive::document_file::{DocumentFile, make_folders};
use drivescope_fleet::agent::JobRecord;
use drivescope_store::StoreLocation;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Serialize;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Records of ended jobs that are kept: those of the newest jobs, in case the database is restored from a backup.
const RECORDS_KEPT: usize = 2_000;

#[derive(Debug)]
pub struct AgentFolder {
    path: PathBuf,
    /// Locked as long as the agent lives.
    _own: File,
}

/// 32 hexadecimal digits.
pub fn random_id() -> Result<String, Failure> {
    let path = "/proc/sys/kernel/random/uuid";
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?;
    Ok(text.chars().filter(char::is_ascii_hexdigit).collect())
}

/// `why` without its remedy, which is for the target of a measurement.
fn unusable(why: &str) -> Failure {
    let why = why.split("; ").next().unwrap_or(why);
    Failure::usage(format!(
        "the agent cannot keep its state: {why}; name a folder that this user can make and write with --state"
    ))
}

/// Of a file system without locks nothing is known, and the server still tells two agents of one id apart.
fn lock(path: &Path) -> Result<File, Failure> {
    let folder = File::open(path)
        .map_err(|error| unusable(&format!("cannot open {}: {error}", path.display())))?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Failure::usage(format!(
            "another agent uses {}: stop that one, or name another folder with --state",
            path.display()
        ))),
        _ => Ok(folder),
    }
}

impl AgentFolder {
    /// Makes the folder if it is not there; by default it is beside the user's store. Errors: another agent uses it.
    pub fn open(named: Option<&Path>) -> Result<Self, Failure> {
        let path = match named {
            Some(path) => std::path::absolute(path).map_err(|error| {
                Failure::usage(format!("cannot find {}: {error}", path.display()))
            })?,
            None => {
                let store = StoreLocation::parse(None)?;
                let file = store.path().expect("without a name it is a file");
                file.with_file_name("agent")
            }
        };
        for part in ["jobs", "locks"] {
            make_folders(&path.join(part)).map_err(|error| unusable(&error.to_string()))?;
        }
        let own = lock(&path)?;
        Ok(Self { path, _own: own })
    }

    /// The id of this host, made at the first start.
    pub fn host_id(&self) -> Result<String, Failure> {
        let known = std::fs::read_to_string(self.path.join("id")).unwrap_or_default();
        let known = known.trim();
        if known.len() == 32 && known.chars().all(|letter| letter.is_ascii_hexdigit()) {
            return Ok(known.to_string());
        }
        let id = random_id()?;
        let file = DocumentFile::new(&self.path, "id");
        file.write(&id).map_err(|error| unusable(&error.to_string()))?;
        Ok(id)
    }

    /// Where runs are kept.
    pub fn store(&self) -> PathBuf {
        self.path.join("runs.db")
    }

    fn jobs(&self) -> PathBuf {
        self.path.join("jobs")
    }

    pub fn record(&self, id: i64) -> Option<JobRecord> {
        let text = std::fs::read_to_string(self.jobs().join(format!("{id}.json"))).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub fn keep(&self, record: &JobRecord) -> Result<(), String> {
        let text = json(record);
        let file = DocumentFile::new(&self.jobs(), &format!("{}.json", record.id));
        file.write(&text).map_err(|error| error.to_string())?;
        if record.end.is_some() {
            for name in ["toml", "ticket"] {
                let file = DocumentFile::new(&self.jobs(), &format!("{}.{name}", record.id));
                file.remove().map_err(|error| error.to_string())?;
            }
            self.forget_oldest();
        }
        Ok(())
    }

    fn forget_oldest(&self) {
        let names = std::fs::read_dir(self.jobs()).into_iter().flatten().flatten();
        let mut ids: Vec<i64> = names
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok())
            .collect();
        ids.sort_unstable();
        for id in ids.iter().rev().skip(RECORDS_KEPT) {
            // What stays is forgotten the next time.
            let _ = DocumentFile::new(&self.jobs(), &format!("{id}.json")).remove();
        }
    }

    /// Writes a file that the program of a job reads.
    pub fn write_for_job(&self, id: i64, suffix: &str, text: &str) -> Result<PathBuf, String> {
        let file = DocumentFile::new(&self.jobs(), &format!("{id}.{suffix}"));
        file.write(text).map_err(|error| error.to_string())?;
        Ok(file.path().to_path_buf())
    }

    /// A file to lock for what has no other place.
    pub fn lock_file(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.path.join("locks").join(name);
        if !path.exists() {
            DocumentFile::new(&self.path.join("locks"), name)
                .write("")
                .map_err(|error| error.to_string())?;
        }
        Ok(path)
    }
}

pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain values are JSON")
}
