//! `report`: a run, or several side by side, as a page, a chart or a table in a file.

use crate::arguments::ReportArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::named_runs;
use drivescope_bench::workloads::WORKLOADS;
use drivescope_drive::document_file::DocumentFile;
use drivescope_model::{Run, TestResult};
use drivescope_report::chart::{Chart, PictureSize, Theme, svg};
use drivescope_report::csv::metrics_csv;
use drivescope_report::page::{comparison_page, page};
use drivescope_report::run_markdown::run_markdown;
use drivescope_report::{anonymized, charts};
use std::path::Path;

/// The difference that makes none in practice, as `compare` has it.
const BAND: f64 = 0.03;

/// Writes the file, and says so.
pub fn report(arguments: &ReportArguments) -> Result<Code, Failure> {
    let path = arguments.output.as_path();
    let mut runs = named_runs(&arguments.runs, arguments.store.store.as_deref())?;
    if arguments.anonymize {
        runs = runs.iter().map(anonymized).collect();
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let text = match (ending, &arguments.chart, runs.as_slice()) {
        ("svg", wanted, [run]) => {
            svg(&wanted_chart(run, wanted.as_deref())?, PictureSize::WIDE, Theme::System)
        }
        ("svg", ..) => return Err(Failure::usage("a chart is of one run; name one")),
        (_, Some(_), _) => return Err(Failure::usage("--chart is for .svg files")),
        ("html", None, [run]) => page(run, question).alone(),
        ("html", None, runs) => {
            let comparison = drivescope_report::compare(runs, BAND, false);
            comparison_page(&comparison, runs, question).alone()
        }
        ("csv", None, runs) => metrics_csv(runs),
        ("md", None, runs) => runs.iter().map(run_markdown).collect::<Vec<_>>().join("\n"),
        _ => return Err(Failure::usage(unknown_ending(path))),
    };
    let file = DocumentFile::named(path, arguments.force)?;
    file.write(&text)?;
    output::tell(&drivescope_report::clean(&format!("wrote {}", path.display())));
    Ok(Code::Ok)
}

fn unknown_ending(path: &Path) -> String {
    format!("{} ends in none of .html, .md, .svg, .csv, which say what to write", path.display())
}

/// What a test asks, as `tests` lists it.
fn question(result: &TestResult) -> String {
    let found = WORKLOADS.iter().find(|workload| workload.kind() == result.test);
    found.map_or(String::new(), |workload| workload.question().to_string())
}

/// The chart with this name; without a name, the only one.
fn wanted_chart(run: &Run, name: Option<&str>) -> Result<Chart, Failure> {
    let mut all: Vec<Chart> = run.tests.iter().flat_map(charts).collect();
    let names = all.iter().map(|chart| chart.name).collect::<Vec<_>>().join(", ");
    let found = match name {
        Some(name) => all.iter().position(|chart| chart.name == name),
        None => (all.len() == 1).then_some(0),
    };
    match found {
        Some(i) => Ok(all.swap_remove(i)),
        None if all.is_empty() => Err(Failure::usage("this run has nothing to draw")),
        None => Err(Failure::usage(format!("choose a chart with --chart: {names}"))),
    }
}
