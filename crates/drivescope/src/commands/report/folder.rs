//! A report as a folder: the page, its charts, all figures and the documents, each a file.

use super::Subject;
use crate::exit::Failure;
use drivescope_drive::document_file::{DocumentFile, make_folder};
use drivescope_report::chart::{PictureSize, Theme, svg};
use drivescope_report::export::csv::metrics_csv;
use std::path::Path;

const CHARTS: &str = "charts";

/// Whether the path names a folder: it ends in a slash, or is one.
pub fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}

/// Writes the folder. Other files in it stay. Existing files are replaced only with `may_replace`; otherwise nothing is
/// written if one exists.
pub fn write(subject: &Subject, path: &Path, may_replace: bool) -> Result<(), Failure> {
    let mut files = vec![("index.html".to_string(), subject.page())];
    if !subject.runs.is_empty() {
        files.push(("metrics.csv".to_string(), metrics_csv(&subject.runs)));
    }
    for run in &subject.runs {
        // A document that was read can be written.
        let text = serde_json::to_string_pretty(run).unwrap_or_default();
        files.push((format!("run-{}.json", file_name(&run.id)), text));
    }
    for chart in subject.charts() {
        let picture = svg(&chart, PictureSize::WIDE.fitting(&chart), Theme::System);
        files.push((format!("{CHARTS}/{}.svg", file_name(&chart.name)), picture));
    }
    // Without a trailing slash, which would follow a link.
    let folder: std::path::PathBuf = path.components().collect();
    make_folder(&folder)?;
    make_folder(&folder.join(CHARTS))?;
    let targets =
        files.iter().map(|(name, _)| DocumentFile::named(&folder.join(name), may_replace));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    for (target, (_, text)) in targets.iter().zip(&files) {
        target.write(text)?;
    }
    Ok(())
}

/// Makes a name from a document safe as part of a file name: it cannot lead elsewhere.
fn file_name(name: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
    name.chars().map(|letter| if is_plain(&letter) { letter } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere() {
        for (name, file) in [
            ("transfer-time-rnd4k_q1t1.read", "transfer-time-rnd4k_q1t1.read"),
            ("../../etc/passwd", "..-..-etc-passwd"),
            ("a b\u{1b}", "a-b-"),
        ] {
            assert_eq!(file_name(name), file);
        }
        assert!(is_folder(Path::new("report/")) && !is_folder(Path::new("report.html")));
    }
}
