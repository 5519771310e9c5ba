//! The folder that host and guest share: scripts go in, results come out. It goes when the pass is over.

use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The scripts that every guest runs.
const SCRIPTS: [(&str, &str); 3] = [
    ("start.sh", include_str!("guest/start.sh")),
    ("kit.sh", include_str!("guest/kit.sh")),
    ("tidy.sh", include_str!("guest/tidy.sh")),
];

/// The folder, with the images of drives beside it.
#[derive(Debug)]
pub struct SharedFolder {
    folder: TempDir,
}

/// The files that one case left there.
#[derive(Debug)]
pub struct Out {
    folder: PathBuf,
}

impl SharedFolder {
    /// A folder in this one, with the program.
    pub fn new(folder: &Path, program: &Path) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("run-").tempdir_in(folder);
        let share =
            Self { folder: folder.map_err(|e| format!("cannot make a folder for this run: {e}"))? };
        for folder in ["shared/cases", "shared/out"] {
            let path = share.folder.path().join(folder);
            std::fs::create_dir_all(&path)
                .map_err(|e| format!("cannot make {}: {e}", path.display()))?;
        }
        for (name, text) in SCRIPTS {
            write(&share.path().join(name), text)?;
        }
        std::fs::copy(program, share.path().join("drivescope"))
            .map_err(|e| format!("cannot copy the program: {e}"))?;
        Ok(share)
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("shared")
    }

    /// The folder, which stays.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// A file that the guest cannot see.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn console(&self) -> PathBuf {
        self.beside("console.log")
    }

    pub fn add_case(&self, number: usize, name: &str, script: &str) -> Result<(), String> {
        write(&self.path().join("cases").join(format!("{number:02}-{name}.sh")), script)
    }

    /// A case that the next boot shall not repeat.
    pub fn remove_case(&self, number: usize, name: &str) -> Result<(), String> {
        let path = self.path().join("cases").join(format!("{number:02}-{name}.sh"));
        std::fs::remove_file(&path).map_err(|e| format!("cannot remove {}: {e}", path.display()))
    }

    pub fn out(&self, number: usize, name: &str) -> Out {
        Out { folder: self.path().join("out").join(format!("{number:02}-{name}")) }
    }

    /// An image full of holes.
    pub fn blank_image(&self, name: &str, bytes: u64) -> Result<PathBuf, String> {
        let path = self.beside(&format!("{name}.img"));
        let made = std::fs::File::create(&path).and_then(|file| file.set_len(bytes));
        made.map(|()| path).map_err(|e| format!("cannot make the image {name}: {e}"))
    }

    /// Why the guest has ended, as far as its console tells.
    pub fn last_words(&self) -> String {
        let console = std::fs::read(self.console()).unwrap_or_default();
        let text = String::from_utf8_lossy(&console);
        let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
        let panic = text.lines().find(|line| line.contains("Kernel panic"));
        let last = panic.or_else(|| lines.next()).unwrap_or("nothing");
        format!("its console says: {last}")
    }
}

impl Out {
    pub fn has(&self, name: &str) -> bool {
        self.folder.join(name).exists()
    }

    /// A result; an error that names what is missing and the last line of the case's log.
    pub fn text(&self, name: &str) -> Result<String, String> {
        let bytes = std::fs::read(self.folder.join(name))
            .map_err(|_| format!("no {name}: {}", self.last_of("log")))?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_string())
    }

    /// An exit code.
    pub fn code(&self, name: &str) -> Result<i32, String> {
        let text = self.text(name)?;
        text.parse().map_err(|_| format!("{name} holds {text:?}"))
    }

    pub fn json(&self, name: &str) -> Result<serde_json::Value, String> {
        serde_json::from_str(&self.text(name)?)
            .map_err(|e| format!("{name} is not JSON ({e}): {}", self.last_of("run.err")))
    }

    /// The last line of a result that has lines.
    pub fn last_of(&self, name: &str) -> String {
        let bytes = std::fs::read(self.folder.join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("nothing was said")
            .trim()
            .to_string()
    }
}

/// Writes one file of the lab.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
