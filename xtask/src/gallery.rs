//! The gallery: pictures of simulated drives for docs/gallery.md; and the figures that classes of drives are known by.
//! The same models always give the same files.

use crate::programs;
use crate::workspace;
use drivescope_model::Run;
use drivescope_model::units::Price;
use drivescope_report::chart::{Chart, ChartImprint, Theme, exported_svg};
use drivescope_report::{
    KnownDrive, class_strips, compare, comparison_charts, every_chart, imprint_of, price_charts,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// The page.
const PAGE: &str = "docs/gallery.md";
/// Folder of its pictures.
const FOLDER: &str = "docs/gallery";
/// Figures of the models, for the ranges of classes.
const KNOWN_DRIVES: &str = "crates/report/src/drive_class/known_drives.tsv";
/// Difference that makes none, as `compare` has it.
const BAND: f64 = 0.03;

/// A measurement that pictures are drawn of.
struct GalleryRun {
    name: &'static str,
    target: &'static str,
    options: &'static [&'static str],
    /// An example price of such a drive in USD, marked as an example.
    example_usd: f64,
}

const STANDARD: &[&str] = &["--suite=standard"];
/// Charts of comparisons.
const COMPARED_TESTS: &[&str] = &[
    "--suite=standard",
    "--test=surface",
    "--test=transfer",
    "--cells=rnd4k_q1t1.read,seq1m_q1t1.read",
    "--rounds=3",
];

const RUNS: [GalleryRun; 11] = [
    GalleryRun { name: "usb-16tb", target: "sim:usb-16tb", options: STANDARD, example_usd: 260.0 },
    compared("wd40efrx", "sim:wd40efrx", 95.0),
    compared("archive-8tb", "sim:st8000as0002-smr", 110.0),
    compared("870evo", "sim:samsung-870evo-1tb", 85.0),
    compared("xg6", "sim:toshiba-xg6-1tb", 75.0),
    GalleryRun {
        name: "align",
        target: "sim:wd20ears",
        options: &["--suite=phybs"],
        example_usd: 0.0,
    },
    GalleryRun {
        name: "geometry",
        target: "sim:usb-16tb",
        options: &["--test=geometry"],
        example_usd: 0.0,
    },
    GalleryRun {
        name: "files",
        target: "sim:usb-16tb",
        options: &["--test=fill-files"],
        example_usd: 0.0,
    },
    GalleryRun {
        name: "copy",
        target: "sim:wd40efrx",
        options: &["--test=copy", "--rounds=3"],
        example_usd: 0.0,
    },
    GalleryRun {
        name: "apps",
        target: "sim:hgst-7k1000",
        options: &["--test=apps"],
        example_usd: 0.0,
    },
    GalleryRun {
        name: "steady",
        target: "sim:samsung-860evo-250",
        options: &["--suite=snia-pts-wsat", "--size=8GiB"],
        example_usd: 0.0,
    },
];

const fn compared(name: &'static str, target: &'static str, example_usd: f64) -> GalleryRun {
    GalleryRun { name, target, options: COMPARED_TESTS, example_usd }
}

/// Runs to compare with the first one.
const COMPARED: [&str; 5] = ["wd40efrx", "usb-16tb", "archive-8tb", "870evo", "xg6"];

/// A picture: the run that it is drawn of, `compare` for several, and the chart.
const PICTURES: [(&str, &str, &str); 16] = [
    (
        "usb-16tb",
        "surface-position",
        "The rate of a disk falls towards its inner tracks; a single access takes as long anywhere.",
    ),
    (
        "usb-16tb",
        "surface-distance",
        "What a jump costs: the farther the arm travels, the longer, plus up to one turn of the platter.",
    ),
    ("usb-16tb", "transfer-grid", "All rates at a glance, by shape and direction."),
    (
        "usb-16tb",
        "transfer-depth",
        "A disk gains from a queue, as long as it may choose the order.",
    ),
    (
        "usb-16tb",
        "latency-load",
        "Waiting under load: the nearer to the drive's limit, the longer the queue.",
    ),
    ("usb-16tb", "class-small-reads", "Where a drive stands among those of known classes."),
    (
        "align",
        "align-map",
        "Sectors of 4096 bytes that say 512: a write that begins off a boundary costs turns of the platter.",
    ),
    (
        "geometry",
        "geometry-zones",
        "Zones that the disk does not report, found by the size of its tracks from one read in a thousand.",
    ),
    (
        "geometry",
        "geometry-seek",
        "How long the arm moves, from the times of reads alone: overhead and rotation are taken off.",
    ),
    (
        "files",
        "fill-files-position",
        "15,000 files of 1 GB on an empty disk: where each lies decides its rate, not how full the disk is.",
    ),
    (
        "copy",
        "copy",
        "Reading and writing on one disk costs more than both: the arm goes to and fro.",
    ),
    (
        "apps",
        "apps",
        "What is left to gain with a faster drive: applications compute most of the time, except those that wait for \
         every flush.",
    ),
    (
        "steady",
        "steady-written",
        "Random writes from a purge on: the rate falls as the fast cache and the spare blocks run out.",
    ),
    ("compare", "compare-surface", "Five drives over their length."),
    ("compare", "compare-tails", "Small reads of five drives: disks and SSDs are worlds apart."),
    (
        "compare",
        "compare-price",
        "Space or speed. The prices are examples, made up for this picture; `run --price` gives yours.",
    ),
];

/// Writes the figures of each model in suite `quick`, which define the classes of drives. The integration
/// test `healthy_models` sees when they are out of date.
pub fn write_known_drives() -> Result<(), String> {
    workspace::write(KNOWN_DRIVES, &known_drives(&programs::drivescope()?)?)
}

/// Writes the page and its pictures.
pub fn write() -> Result<(), String> {
    for (path, text) in files()? {
        if workspace::read(&path).ok().as_deref() != Some(&text) {
            workspace::write(&path, &text)?;
            println!("wrote {path}");
        }
    }
    Ok(())
}

/// Fails with the files that are not as they would be written now.
pub fn check() -> Result<(), String> {
    let is_stale =
        |(path, text): &(String, String)| workspace::read(path).ok().as_ref() != Some(text);
    let stale: Vec<String> = files()?.into_iter().filter(is_stale).map(|(path, _)| path).collect();
    match stale.as_slice() {
        [] => Ok(()),
        stale => Err(format!(
            "out of date: {}\ncargo xtask gallery brings them up to date",
            stale.join(", ")
        )),
    }
}

fn files() -> Result<Vec<(String, String)>, String> {
    let binary = programs::drivescope()?;
    let (mut files, mut runs) = (Vec::new(), BTreeMap::new());
    for GalleryRun { name, target, options, example_usd } in &RUNS {
        let mut run = measure(&binary, target, options)?;
        let price = Price { amount: *example_usd, currency: "USD".to_string() };
        run.price = (*example_usd > 0.0).then_some(price);
        runs.insert(*name, run);
    }
    let compared: Vec<Run> = COMPARED.iter().filter_map(|name| runs.get(name)).cloned().collect();
    let mut page = head();
    for (source, name, words) in PICTURES {
        let (charts, imprint) = match runs.get(source) {
            Some(run) => (charts_of(run), imprint_of(std::slice::from_ref(run))),
            None => (compared_charts(&compared), imprint_of(&compared)),
        };
        // The same models give the same files on any day.
        let imprint = ChartImprint { date: String::new(), ..imprint };
        let chart = charts.iter().find(|chart| chart.name == name);
        let chart = chart.ok_or_else(|| format!("{source} has no chart {name}"))?;
        let path = format!("{FOLDER}/{name}.svg");
        let _ = write!(
            page,
            "\n## {}\n\n{words}\n\n![{}](gallery/{name}.svg)\n",
            chart.title, chart.description
        );
        files.push((path, exported_svg(chart, &imprint, Theme::System)));
    }
    files.push((PAGE.to_string(), page));
    Ok(files)
}

fn head() -> String {
    "# Gallery\n\nPictures of [simulated drives](models.md), as `drivescope report` draws them of yours \
     ([reports.md](reports.md)): light or\ndark as the reader's system is. Made by `cargo xtask gallery`; \
     the same models give the same pictures.\n"
        .to_string()
}

fn charts_of(run: &Run) -> Vec<Chart> {
    class_strips(run, &[]).into_iter().chain(run.tests.iter().flat_map(every_chart)).collect()
}

/// With made-up prices, marked as such.
fn compared_charts(runs: &[Run]) -> Vec<Chart> {
    let comparison = compare(runs, BAND, false);
    let mut charts = comparison_charts(&comparison, runs);
    charts.retain(|chart| !chart.name.starts_with("compare-price"));
    charts.extend(price_charts(runs, &comparison.names, "example price"));
    charts
}

/// Figures of each model in suite `quick`.
fn known_drives(binary: &PathBuf) -> Result<String, String> {
    let mut text = "# What the models come to in suite quick with seed 1: made by cargo xtask classes. \
                    Model, class, and MB/s or requests\n# per second: reads and writes in order, small \
                    reads one at a time, small writes made safe.\n"
        .to_string();
    let mut models: Vec<String> = workspace::files(&[".toml"])?
        .into_iter()
        .filter_map(|path| {
            Some(path.strip_prefix("crates/sim/models/")?.strip_suffix(".toml")?.to_string())
        })
        .collect();
    models.sort();
    for model in models {
        let run = measure(binary, &format!("sim:{model}"), &[])?;
        // A disk that does not report its speed has no known class.
        if let Some(known) = KnownDrive::of(&run) {
            let _ = writeln!(text, "{}", known.line());
        }
    }
    Ok(text)
}

/// A run in virtual time, not stored.
fn measure(binary: &PathBuf, target: &str, options: &[&str]) -> Result<Run, String> {
    let mut command = Command::new(binary);
    command.args(["run", target, "--json", "--no-save", "--quiet", "--seed=1"]).args(options);
    let output = command.output().map_err(|e| format!("cannot start drivescope: {e}"))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{target}: {e}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_picture_and_no_other() {
        let page = workspace::read(PAGE).unwrap();
        let shown = page.matches("](gallery/").count();
        assert_eq!(shown, PICTURES.len());
        for (_, name, words) in PICTURES {
            assert!(
                page.contains(words) && page.contains(&format!("](gallery/{name}.svg)")),
                "{name}"
            );
        }
        let files = workspace::files(&[".svg"]).unwrap();
        let pictures = files.iter().filter(|path| path.starts_with(FOLDER)).count();
        assert_eq!(pictures, PICTURES.len());
    }
}
