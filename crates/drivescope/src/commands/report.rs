//! `report`: a run, several side by side, or a drive over its runs, as a page, a chart, a table, or a folder of it all.

mod folder;
mod known;

use super::history::{WantedRuns, history_of};
use crate::arguments::{ChartFormat, ReportArguments};
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::{baseline_first, named_runs};
use crate::store_access::open_existing;
use drivescope_bench::workloads::WORKLOADS;
use drivescope_drive::document_file::DocumentFile;
use drivescope_model::{Run, TestResult};
use drivescope_report::chart::{Chart, ChartImprint, Theme, exported_svg};
use drivescope_report::export::csv::metrics_csv;
use drivescope_report::export::markdown::run_markdown;
use drivescope_report::page::{comparison_page, history_page, page_among};
use drivescope_report::{
    anonymized, class_strips, comparison_charts, every_chart, history_charts, imprint_of,
    imprint_of_history,
};
use std::path::Path;

/// The default of `compare`.
const BAND: f64 = 0.03;
const HISTORY_MAX: u32 = 1_000;
/// In place of a chart's name.
const EVERY_CHART: &str = "all";

pub fn report(arguments: &ReportArguments) -> Result<Code, Failure> {
    let subject = subject(arguments)?;
    let path = arguments.output.as_path();
    let (chart, format) = (arguments.chart.as_deref(), arguments.format);
    if chart == Some(EVERY_CHART) {
        if !folder::is_folder(path) {
            return Err(Failure::usage("--chart all writes several files: name a folder, -o DIR/"));
        }
        folder::write_charts(&subject, path, format.unwrap_or_default(), arguments.force)?;
    } else if format.is_some() {
        return Err(Failure::usage("--format is for --chart all; else the ending of FILE says it"));
    } else if folder::is_folder(path) {
        if chart.is_some() {
            let message = "a folder has every chart: use --chart all, or name an .svg or .png file";
            return Err(Failure::usage(message));
        }
        folder::write(&subject, path, arguments.force)?;
    } else {
        let contents = contents(&subject, path, chart)?;
        DocumentFile::named(path, arguments.force)?.write_bytes(&contents)?;
    }
    output::print_wrapped(&drivescope_report::clean(&format!("wrote {}", path.display())));
    Ok(Code::Ok)
}

struct Subject {
    runs: Vec<Run>,
    /// In place of runs.
    history: Option<drivescope_report::DriveHistory>,
    /// Drives for comparison with a run.
    known: Vec<drivescope_report::KnownDrive>,
}

fn subject(arguments: &ReportArguments) -> Result<Subject, Failure> {
    let store = arguments.store.store.as_deref();
    let anonymous = |run: Run| if arguments.anonymize { anonymized(&run) } else { run };
    if let Some(drive) = &arguments.history {
        let wanted = WantedRuns { drive, suite: None, limit: HISTORY_MAX };
        let history = Some(history_of(&open_existing(store)?, wanted, anonymous)?);
        return Ok(Subject { runs: Vec::new(), history, known: Vec::new() });
    }
    let mut runs = named_runs(&arguments.runs, store)?;
    if let Some(name) = &arguments.baseline {
        baseline_first(&mut runs, name, store)?;
    }
    let known = if runs.len() == 1 { known::drives(store, &runs[0]) } else { Vec::new() };
    Ok(Subject { runs: runs.into_iter().map(anonymous).collect(), history: None, known })
}

impl Subject {
    fn page(&self) -> String {
        match (&self.history, self.runs.as_slice()) {
            (Some(history), _) => history_page(history, |_| None).alone(),
            (None, [run]) => page_among(run, &self.known, question).alone(),
            (None, runs) => {
                let comparison = drivescope_report::compare(runs, BAND, false);
                comparison_page(&comparison, runs, question, |_| None).alone()
            }
        }
    }

    fn imprint(&self) -> ChartImprint {
        match &self.history {
            Some(history) => imprint_of_history(history),
            None => imprint_of(&self.runs),
        }
    }

    fn charts(&self) -> Vec<Chart> {
        match (&self.history, self.runs.as_slice()) {
            (Some(history), _) => history_charts(history),
            (None, [run]) => {
                let strips = class_strips(run, &self.known).into_iter();
                strips.chain(run.tests.iter().flat_map(every_chart)).collect()
            }
            (None, runs) => comparison_charts(&drivescope_report::compare(runs, BAND, false), runs),
        }
    }
}

/// The contents of a file, by its extension.
fn contents(subject: &Subject, path: &Path, chart: Option<&str>) -> Result<Vec<u8>, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_history = subject.history.is_some();
    let format = [ChartFormat::Svg, ChartFormat::Png].into_iter().find(|it| it.ending() == ending);
    if let Some(format) = format {
        return chart_bytes(&wanted_chart(subject.charts(), chart)?, &subject.imprint(), format);
    }
    let text = match (ending, chart) {
        (_, Some(_)) => return Err(Failure::usage("--chart is for .svg and .png files")),
        ("html", None) => subject.page(),
        ("csv" | "md" | "parquet", None) if is_history => {
            return Err(Failure::usage("a history is written as .html, .svg, .png or a folder"));
        }
        ("csv", None) => metrics_csv(&subject.runs),
        ("md", None) => subject.runs.iter().map(run_markdown).collect::<Vec<_>>().join("\n"),
        ("parquet", None) => return parquet(&subject.runs),
        _ => return Err(Failure::usage(unknown_ending(path))),
    };
    Ok(text.into_bytes())
}

/// A chart that stands alone.
fn chart_bytes(
    chart: &Chart,
    imprint: &ChartImprint,
    format: ChartFormat,
) -> Result<Vec<u8>, Failure> {
    match format {
        ChartFormat::Svg => Ok(exported_svg(chart, imprint, Theme::System).into_bytes()),
        ChartFormat::Png => png(chart, imprint),
    }
}

#[cfg(feature = "png")]
fn png(chart: &Chart, imprint: &ChartImprint) -> Result<Vec<u8>, Failure> {
    drivescope_report::chart::png(chart, imprint, Theme::Light).map_err(Failure::usage)
}

#[cfg(not(feature = "png"))]
fn png(_: &Chart, _: &ChartImprint) -> Result<Vec<u8>, Failure> {
    Err(Failure::usage(
        "this drivescope was built without PNG; write .svg, or build it with --features png",
    ))
}

#[cfg(feature = "parquet")]
fn parquet(runs: &[Run]) -> Result<Vec<u8>, Failure> {
    drivescope_report::export::parquet::metrics_parquet(runs).map_err(Failure::usage)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &[Run]) -> Result<Vec<u8>, Failure> {
    let message = "this drivescope was built without Parquet; write .csv, or build it with --features parquet";
    Err(Failure::usage(message))
}

fn unknown_ending(path: &Path) -> String {
    format!(
        "{} ends in none of .html, .md, .svg, .png, .csv, .parquet and /, which say what to write",
        path.display()
    )
}

/// As `tests` lists it.
fn question(result: &TestResult) -> String {
    let found = WORKLOADS.iter().find(|workload| workload.kind() == result.test);
    found.map_or(String::new(), |workload| workload.question().to_string())
}

/// Without a name, the only chart.
fn wanted_chart(mut all: Vec<Chart>, name: Option<&str>) -> Result<Chart, Failure> {
    let names = all.iter().map(|chart| chart.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = match name {
        Some(name) => all.iter().position(|chart| chart.name == name),
        None => (all.len() == 1).then_some(0),
    };
    match found {
        Some(i) => Ok(all.swap_remove(i)),
        None if all.is_empty() => Err(Failure::usage("there is nothing to draw")),
        None => Err(Failure::usage(format!("choose a chart with --chart: {names}"))),
    }
}
