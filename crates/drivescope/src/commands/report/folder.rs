//! A report as a folder: the page, its charts, all figures and the documents, each a file.

use super::{Subject, chart_bytes};
use crate::arguments::ChartFormat;
use crate::exit::Failure;
use drivescope_drive::document_file::{DocumentFile, make_folder};
use drivescope_model::json::indented;
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
    let mut files = vec![("index.html".to_string(), subject.page().into_bytes())];
    if !subject.runs.is_empty() {
        files.push(("metrics.csv".to_string(), metrics_csv(&subject.runs).into_bytes()));
    }
    for run in &subject.runs {
        let text = indented(&run.to_json()).into_bytes();
        files.push((format!("run-{}.json", file_name(&run.id)), text));
    }
    for (name, picture) in charts(subject, ChartFormat::Svg)? {
        files.push((format!("{CHARTS}/{name}"), picture));
    }
    write_files(path, &files, may_replace)
}

/// Writes every chart into the folder, by the same rules.
pub fn write_charts(
    subject: &Subject,
    path: &Path,
    format: ChartFormat,
    may_replace: bool,
) -> Result<(), Failure> {
    let files = charts(subject, format)?;
    if files.is_empty() {
        return Err(Failure::usage("there is nothing to draw"));
    }
    write_files(path, &files, may_replace)
}

/// Every chart with the name of its file.
fn charts(subject: &Subject, format: ChartFormat) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let imprint = subject.imprint();
    let file = |chart: &drivescope_report::chart::Chart| {
        let name = format!("{}.{}", file_name(&chart.name), format.ending());
        Ok((name, chart_bytes(chart, &imprint, format)?))
    };
    subject.charts().iter().map(file).collect()
}

fn write_files(path: &Path, files: &[(String, Vec<u8>)], may_replace: bool) -> Result<(), Failure> {
    // Without a trailing slash, which would follow a link.
    let folder: std::path::PathBuf = path.components().collect();
    make_folder(&folder)?;
    if files.iter().any(|(name, _)| name.starts_with(CHARTS)) {
        make_folder(&folder.join(CHARTS))?;
    }
    let targets =
        files.iter().map(|(name, _)| DocumentFile::named(&folder.join(name), may_replace));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    for (target, (_, bytes)) in targets.iter().zip(files) {
        target.write_bytes(bytes)?;
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
