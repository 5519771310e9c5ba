//! Medians of ratios, as a table in Markdown.

use super::{CellFigures, ComparePart, Pair, Pairs};
use crate::workspace;
use std::fmt::Write as _;

/// Limits for a cell on a file: rates within 5 %, percentiles within 10 %.
const RATE_BAND: f64 = 0.05;
const LATENCY_BAND: f64 = 0.10;

/// The head of the document.
const HEAD: &str = "# Performance

This page compares drivescope with fio: how close its figures are, and what the tool itself costs.
`cargo xtask compare fio --write` makes it; each section names its part and options. Medians of alternating pairs;
ratios are drivescope / fio. fio: io_uring, fixed buffers, registered file, direct, `lat` percentiles. drivescope:
io_uring, one round, no ramp. Reads are of one file of 1 GiB; for writes each program lays out a file of its own in the
same folder just before; drivescope makes fresh data for every request, fio changes a part of its own
(`scramble_buffers`, its default; with `refill_buffers` it may make them more slowly than a drive takes them).
What needs no fio is made by `cargo xtask compare budgets --write`.
";

/// The sections of a part, each beginning with its heading.
pub fn sections(part: ComparePart, all: &[Pairs], pairs: usize, seconds: f64) -> Vec<String> {
    let made = format!("`--part {} --pairs {pairs} --time {seconds}`. {}", part.name(), machine());
    match part {
        ComparePart::File => {
            let title = "The same file: rates within 5 %, percentiles within 10 %";
            vec![on_file(title, "", all, &made)]
        }
        ComparePart::Served => {
            let title =
                "The same file on a served hard disk: rates within 5 %, percentiles within 10 %";
            let why = format!(
                "The disk is the model {} in real time (`drivescope sim mount --block`, ext4): both \
                 programs\nmeet the same latencies, and those are long beside what a shared machine \
                 does to them.\n",
                super::served::MODEL
            );
            vec![on_file(title, &why, all, &made)]
        }
        // It has no pairs, and writes its own.
        ComparePart::Precision => Vec::new(),
    }
}

fn on_file(title: &str, why: &str, all: &[Pairs], made: &str) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "## {title}\n\n{made}\n");
    if !why.is_empty() {
        let _ = writeln!(text, "{why}");
    }
    let _ = writeln!(
        text,
        "The last column is what fio gives against itself, one measurement after the other, by the \
         same rule:\nwhere that leaves the limits, this machine cannot show the difference.\n"
    );
    let _ = writeln!(
        text,
        "| cell | drivescope | fio | rate | p50 | p99 | within | fio / fio: rate, p50, p99 |"
    );
    let _ = writeln!(text, "|---|---|---|---|---|---|---|---|");
    for cell in all {
        let [rate, p50, p99] = ratios(cell, |pair| Some((pair.ours, pair.fio)));
        let within = within([rate, p50, p99]);
        let itself = ratios(cell, |pair| Some((pair.again?, pair.fio)));
        let (ours, fios) = (ours(cell, |f| f.mb_s), fios(cell, |f| f.mb_s));
        let _ = writeln!(
            text,
            "| {} | {ours:.1} MB/s | {fios:.1} MB/s | {rate:.3} | {p50:.3} | {p99:.3} | {} | \
             {:.3}, {:.3}, {:.3} |",
            cell.cell,
            yes(within),
            itself[0],
            itself[1],
            itself[2]
        );
    }
    text
}

/// Whether a limit is kept, as tables say it.
pub fn yes(within: bool) -> &'static str {
    if within { "yes" } else { "**no**" }
}

fn ours(cell: &Pairs, of: impl Fn(&CellFigures) -> f64) -> f64 {
    median(cell.pairs.iter().map(|pair| of(&pair.ours)).collect())
}

fn fios(cell: &Pairs, of: impl Fn(&CellFigures) -> f64) -> f64 {
    median(cell.pairs.iter().map(|pair| of(&pair.fio)).collect())
}

/// Rate, median and 99th percentile of one side against the other, medians of the pairs.
fn ratios(cell: &Pairs, sides: impl Fn(&Pair) -> Option<(CellFigures, CellFigures)>) -> [f64; 3] {
    [|f: &CellFigures| f.mb_s, |f: &CellFigures| f.lat_p50_us, |f: &CellFigures| f.lat_p99_us].map(
        |of| median(cell.pairs.iter().filter_map(&sides).map(|(a, b)| of(&a) / of(&b)).collect()),
    )
}

fn within([rate, p50, p99]: [f64; 3]) -> bool {
    (rate - 1.0).abs() <= RATE_BAND
        && (p50 - 1.0).abs() <= LATENCY_BAND
        && (p99 - 1.0).abs() <= LATENCY_BAND
}

/// Median; not a number if there is nothing.
pub fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// The machine, as far as it matters.
pub fn machine() -> String {
    fn read(path: &str) -> String {
        std::fs::read_to_string(path).unwrap_or_default()
    }
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": "));
    let cpu = model.map_or("unknown processor", |(_, name)| name);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let virtual_machine = if cpuinfo.contains("hypervisor") { ", a virtual machine" } else { "" };
    format!("Machine: {cpu}, {cpus} processors{virtual_machine}, Linux {}.", kernel.trim())
}

/// Prints sections, or puts them into docs/performance.md in place of those with the same headings; the others stay
/// as they are.
pub fn show(new: Vec<String>, write: bool) -> Result<(), String> {
    if !write {
        println!("{}", new.join("\n"));
        return Ok(());
    }
    let path = workspace::root().join("docs/performance.md");
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(&path, merged(&old, new))
        .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

fn merged(old: &str, new: Vec<String>) -> String {
    let mut sections: Vec<String> =
        old.split("\n## ").skip(1).map(|section| format!("## {}\n", section.trim_end())).collect();
    for section in new {
        match sections.iter_mut().find(|old| heading(old) == heading(&section)) {
            Some(old) => *old = section,
            None => sections.push(section),
        }
    }
    format!("{HEAD}\n{}", sections.join("\n"))
}

fn heading(section: &str) -> String {
    section.lines().next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_section_replaces_the_old_one() {
        let first = merged("", vec!["## a\n\n1\n".into(), "## b\n\n2\n".into()]);
        let second = merged(&first, vec!["## b\n\n3\n".into(), "## c\n\n4\n".into()]);
        assert_eq!(second, format!("{HEAD}\n## a\n\n1\n\n## b\n\n3\n\n## c\n\n4\n"));
    }

    #[test]
    fn medians_of_ratios_are_of_pairs() {
        fn figures(mb_s: f64) -> CellFigures {
            CellFigures {
                mb_s,
                iops: 1.0,
                lat_p50_us: 1.0,
                lat_p99_us: 1.0,
                user_ns: 1.0,
                sys_ns: 1.0,
            }
        }
        let pairs = [(100.0, 100.0), (220.0, 200.0), (30.0, 10.0)]
            .map(|(a, b)| Pair { ours: figures(a), fio: figures(b), again: None })
            .to_vec();
        let cell = Pairs { cell: "seq1m_q8t1.read", pairs };
        let [rate, ..] = ratios(&cell, |pair| Some((pair.ours, pair.fio)));
        assert!((rate - 1.1).abs() < 1e-12);
        assert_eq!(median(vec![1.0, 4.0, 2.0, 3.0]), 2.5);
    }
}
