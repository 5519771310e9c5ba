//! The tables of docs/seeds.md: the published figures of each article beside what the models give.
//!
//! Computing all figures takes minutes, so `cargo xtask seeds` keeps them in a table of the repository, which the
//! ignored test of `sim reproduce` compares with the models; `cargo xtask docs` makes the page of that table.

use crate::programs;
use crate::workspace;
use drivescope_model::number::without_trailing_zeros;
use drivescope_model::reproduction::Reproduction;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

const PUBLISHED: &str = "crates/drivescope/data/published.tsv";
const REPRODUCED: &str = "crates/drivescope/data/reproduced.tsv";
/// Page with the reasons of the cells that fail.
const REASONS_PAGE: &str = "docs/models.md";
const ARTICLES: [&str; 5] = ["000", "001", "002", "003", "004"];
const REPRODUCED_HEAD: &str = "# What the models give for the cells of published.tsv: written by cargo xtask seeds.\n\
     # The figure in the cell's unit, its difference in percent, and whether it is within the tolerance.\n";

/// A line of the table of published figures.
struct PublishedFigure<'t> {
    id: &'t str,
    article: &'t str,
    drive: &'t str,
    method: &'t str,
    condition: &'t str,
    metric: &'t str,
    op: &'t str,
    value: &'t str,
    unit: &'t str,
    reason: &'t str,
}

/// What the models give for a cell.
struct Reproduced {
    simulated: f64,
    difference_pct: f64,
    pass: bool,
}

/// Computes all figures anew and writes their table.
pub fn measure() -> Result<(), String> {
    let mut command = Command::new(programs::drivescope()?);
    command.args(["sim", "reproduce", "--json"]);
    let printed = programs::finished(command)?;
    let result: Reproduction =
        serde_json::from_str(&printed).map_err(|e| format!("sim reproduce --json: {e}"))?;
    let mut text = REPRODUCED_HEAD.to_string();
    for cell in &result.cells {
        let (Some(simulated), Some(pass)) = (cell.simulated, cell.pass) else { continue };
        let difference = cell.difference_pct.unwrap_or_default();
        let word = if pass { "within" } else { "outside" };
        let _ = writeln!(text, "{}\t{}\t{difference:.1}\t{word}", cell.id, digits(simulated));
    }
    workspace::write(REPRODUCED, &text)
}

/// The generated parts of the page: name and text.
pub fn parts() -> Result<Vec<(String, String)>, String> {
    let published_text = workspace::read(PUBLISHED)?;
    let cells = published_cells(&published_text)?;
    let reproduced_text = workspace::read(REPRODUCED)?;
    let figures = reproduced(&reproduced_text)?;
    let reasons = reasons(&workspace::read(REASONS_PAGE)?)?;
    let mut parts = vec![("count".to_string(), format!("{}.\n", count(&cells, &figures)))];
    for article in ARTICLES {
        let own: Vec<&PublishedFigure<'_>> =
            cells.iter().filter(|it| it.article == article).collect();
        parts.push((format!("figures {article}"), table(&own, &figures, &reasons)?));
    }
    Ok(parts)
}

fn published_cells(text: &str) -> Result<Vec<PublishedFigure<'_>>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("id\t"));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [id, article, drive, method, condition, metric, op, value, unit, .., reason] =
                fields[..]
            else {
                return Err(format!("{PUBLISHED}: too few fields: {line}"));
            };
            Ok(PublishedFigure {
                id,
                article,
                drive,
                method,
                condition,
                metric,
                op,
                value,
                unit,
                reason,
            })
        })
        .collect()
}

fn reproduced(text: &str) -> Result<BTreeMap<&str, Reproduced>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let wrong = || format!("{REPRODUCED}: not a figure: {line}");
            let fields: Vec<&str> = line.split('\t').collect();
            let [id, simulated, difference, word] = fields[..] else { return Err(wrong()) };
            let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
            let (simulated, difference_pct) = (number(simulated)?, number(difference)?);
            Ok((id, Reproduced { simulated, difference_pct, pass: word == "within" }))
        })
        .collect()
}

/// Names of failing cells, `*` at their end for any, and the reason.
fn reasons(page: &str) -> Result<Vec<(String, String)>, String> {
    let head = "| cells | model | reason |\n|---|---|---|\n";
    let (_, table) = page.split_once(head).ok_or(format!("{REASONS_PAGE} has no reasons"))?;
    let mut reasons = Vec::new();
    for row in table.lines().take_while(|line| line.starts_with('|')) {
        let fields: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [names, _, reason] = fields[..] else {
            return Err(format!("{REASONS_PAGE}: not three columns: {row}"));
        };
        let quoted = names.split('`').skip(1).step_by(2);
        reasons.extend(quoted.map(|name| (name.to_string(), reason.trim().to_string())));
    }
    Ok(reasons)
}

fn reason_of<'r>(id: &str, reasons: &'r [(String, String)]) -> Result<&'r str, String> {
    let is_of = |name: &str| match name.strip_suffix('*') {
        Some(start) => id.starts_with(start),
        None => id == name,
    };
    let found = reasons.iter().find(|(name, _)| is_of(name));
    let found = found.ok_or_else(|| format!("{REASONS_PAGE} does not say why {id} fails"))?;
    Ok(&found.1)
}

fn count<'c, 't: 'c>(
    cells: impl IntoIterator<Item = &'c PublishedFigure<'t>>,
    figures: &BTreeMap<&str, Reproduced>,
) -> String {
    let found: Vec<bool> =
        cells.into_iter().filter_map(|it| Some(figures.get(it.id)?.pass)).collect();
    let passed = found.iter().filter(|pass| **pass).count();
    let share = 100.0 * passed as f64 / found.len().max(1) as f64;
    format!("{passed} of {} figures are within their tolerance ({share:.1} %)", found.len())
}

/// The cells of one article. Specifications are counted, not listed; a pass of phybs is one row for its three cells.
fn table(
    cells: &[&PublishedFigure<'_>],
    figures: &BTreeMap<&str, Reproduced>,
    reasons: &[(String, String)],
) -> Result<String, String> {
    let mut out = format!("{}.", count(cells.iter().copied(), figures));
    let listed = |it: &&&PublishedFigure<'_>| it.method != "spec" && figures.contains_key(it.id);
    let specifications =
        cells.iter().filter(|it| it.method == "spec" && figures.contains_key(it.id)).count();
    if specifications > 0 {
        let _ = write!(out, " Among them, not listed here: specifications ({specifications}).");
    }
    out.push_str("\n\n| drive | figure | published | here | difference | outside, because |\n");
    out.push_str("|---|---|---:|---:|---:|---|\n");
    for cell in cells.iter().filter(listed).filter(|it| !is_repeated(it)) {
        let Reproduced { simulated, difference_pct, pass } = &figures[cell.id];
        let why = if *pass {
            String::new()
        } else {
            format!("**outside**: {}", reason_of(cell.id, reasons)?)
        };
        let condition = cell.condition.split(" step=").next().unwrap_or_default();
        let metric = cell.metric.replace('_', " ");
        let _ = writeln!(
            out,
            "| {} | {}, {condition}: {metric} | {} | {} | {difference_pct:+.1} % | {why} |",
            cell.drive,
            cell.method,
            stated(cell)?,
            amount(*simulated, cell.unit),
        );
    }
    let missing: Vec<&&PublishedFigure<'_>> =
        cells.iter().filter(|it| !figures.contains_key(it.id)).collect();
    if !missing.is_empty() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        missing.iter().for_each(|it| *counts.entry(it.reason).or_default() += 1);
        let each: Vec<String> =
            counts.iter().map(|(reason, count)| format!("{reason} ({count})")).collect();
        let _ = writeln!(out, "\nNot compared: {}.", each.join("; "));
    }
    Ok(out)
}

/// A pass of phybs is printed as time, requests per second and rate, which are one measurement.
fn is_repeated(cell: &PublishedFigure<'_>) -> bool {
    cell.method == "phybs" && cell.op == "=" && matches!(cell.metric, "tps" | "kBps")
}

/// The published value as a reader says it.
fn stated(cell: &PublishedFigure<'_>) -> Result<String, String> {
    let value = |text: &str| {
        text.parse().map_err(|_| format!("{PUBLISHED}: {} has no number: {text}", cell.id))
    };
    if let Some((low, high)) = cell.value.split_once("..") {
        return Ok(format!("{} to {}", digits(value(low)?), amount(value(high)?, cell.unit)));
    }
    let text = amount(value(cell.value)?, cell.unit);
    Ok(match cell.op {
        "~" => format!("about {text}"),
        "<" => format!("below {text}"),
        ">" => format!("above {text}"),
        "min" => format!("lowest {text}"),
        "max" => format!("highest {text}"),
        _ => text,
    })
}

/// In the units of the screen.
fn amount(value: f64, unit: &str) -> String {
    match unit {
        "x" => format!("{} times", digits(value)),
        "1/s" => format!("{}/s", digits(value)),
        "us" => format!("{} µs", digits(value)),
        "B/s" => format!("{} MB/s", digits(value / 1e6)),
        "ms" if value >= 1e3 => format!("{} s", digits(value / 1e3)),
        "% full" => format!("{} % full", digits(value)),
        _ => format!("{} {unit}", digits(value)),
    }
}

/// Four significant digits, without zeros at the end.
fn digits(value: f64) -> String {
    const SIGNIFICANT: i32 = 4;
    if value == 0.0 {
        return "0".to_string();
    }
    let decimals = SIGNIFICANT - 1 - value.abs().log10().floor() as i32;
    let scale = 10f64.powi(decimals);
    let rounded = (value * scale).round() / scale;
    without_trailing_zeros(&format!("{rounded:.*}", decimals.max(0) as usize)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (181.4, "181.4"),
            (0.000_123_456, "0.0001235"),
            (99_996.0, "100000"),
            (2.0, "2"),
            (-1216.537, "-1217"),
        ] {
            assert_eq!(digits(value), text);
        }
        assert_eq!(amount(1_216_537.0, "ms"), "1217 s");
        assert_eq!(amount(103_458_605.0, "B/s"), "103.5 MB/s");
    }

    #[test]
    fn failing_cell_without_a_reason_is_named() {
        let page = "x\n| cells | model | reason |\n|---|---|---|\n| `a-1`, `b-*` (2) | 5; 6 | why |\n\n| c |\n";
        let reasons = reasons(page).unwrap();
        assert_eq!(reason_of("a-1", &reasons), Ok("why"));
        assert_eq!(reason_of("b-2", &reasons), Ok("why"));
        assert!(reason_of("a-12", &reasons).unwrap_err().contains("a-12"));
    }
}
