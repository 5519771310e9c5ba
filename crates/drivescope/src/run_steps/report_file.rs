//! `-o FILE`: the page of a run, written when it has ended.

use crate::exit::Failure;
use drivescope_bench::workloads;
use drivescope_drive::document_file::DocumentFile;
use drivescope_model::Run;
use drivescope_model::shell::quoted;
use drivescope_report::export::markdown::run_markdown;
use drivescope_report::page::page;
use std::path::Path;

pub struct ReportFile {
    file: DocumentFile,
    contents: fn(&Run) -> String,
}

impl ReportFile {
    /// Not made yet. Errors: it is there already, its folder is missing, its ending says no format, or several runs
    /// would have to share it.
    pub fn named(path: &Path, runs: usize) -> Result<Self, Failure> {
        let shown = quoted(&path.display().to_string());
        let contents = match path.extension().and_then(|ending| ending.to_str()) {
            Some("html") => html as fn(&Run) -> String,
            Some("md") => run_markdown,
            _ => {
                let message = format!("-o {shown}: name a file that ends in .html or .md");
                return Err(Failure::usage(message));
            }
        };
        if runs > 1 {
            let message =
                format!("-o {shown} is for one run: name one target, or use drivescope report");
            return Err(Failure::usage(message));
        }
        if path.symlink_metadata().is_ok() {
            return Err(Failure::usage(format!("{shown} is there already: name another file")));
        }
        Ok(Self { file: DocumentFile::named(path, false)?, contents })
    }

    /// Errors: the folder cannot be written, or is full.
    pub fn write(&self, run: &Run) -> Result<(), Failure> {
        self.file.write(&(self.contents)(run)).map_err(Failure::from)
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

fn html(run: &Run) -> String {
    page(run, |result| workloads::find(result.test).question().to_string()).alone()
}
