//! `align`: times by offset, then what they say of drive and partitions.

mod charts;
pub(super) mod phybs_table;

use super::WorkloadReport;
use super::facts::FoundFact;
use super::plain_name;
use crate::first_seen::grouped;
use crate::terminal::{
    Column, Figure, Role, Style, TextCell, TextTable, cells, find, headed, value,
};
use drivescope_model::number::rounded;
use drivescope_model::{Bytes, Metric, TestKind, TestResult};

/// A penalty below this is none that anybody would feel.
const FELT_RATIO: f64 = 1.1;

const NAME_WIDTH: usize = 9;

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Alignment",
    charts: charts::charts,
    headline,
    facts,
    name_of: |_, cell| match cell.split_once("_at_") {
        Some((size, offset)) => format!("{} at +{offset}", named(size)),
        None => plain_name(cell),
    },
    suits: Some(&[]),
    ..WorkloadReport::new(TestKind::Align, table)
};

/// `Alignment: misaligned writes take 2.47 times as long`.
fn headline(result: &TestResult) -> Option<String> {
    let times = value(result, "device", "penalty_ratio")?;
    Some(if times < FELT_RATIO {
        "Alignment: where a write begins makes no difference".to_string()
    } else {
        format!("Alignment: misaligned writes take {} times as long", rounded(times))
    })
}

fn table(result: &TestResult, style: Style) -> String {
    if result.metrics.is_empty() {
        return String::new();
    }
    let mut texts = times(result, style);
    texts.extend(facts(result).iter().map(|fact| fact.paragraph(NAME_WIDTH).lines(4, style)));
    texts
}

/// Accesses of one size: the beginnings of their cells, such as `write4k`, and each offset with its cell.
type AccessesOfSize<'r> = (&'r str, Vec<(u64, &'r str)>);

/// The measured accesses by size, in the order in which they were made.
fn groups(result: &TestResult) -> Vec<AccessesOfSize<'_>> {
    grouped(cells(result).into_iter().filter_map(|cell| {
        let (size, offset) = cell.split_once("_at_")?;
        Some((size, (offset.parse().ok()?, cell)))
    }))
}

/// One table per size: offsets from left to right.
fn times(result: &TestResult, style: Style) -> String {
    let mut out = String::new();
    for (number, (size, offsets)) in groups(result).into_iter().enumerate() {
        let title = if number == 0 { TextCell::title("align") } else { TextCell::blank() };
        // A pass of phybs counts its blocks.
        let unit = if size.starts_with("pass") { "1/s" } else { "ms" };
        let mut columns = vec![vec![title, TextCell::plain(format!("{}, {unit}", named(size)))]];
        for (offset, cell) in offsets {
            let figure = match find(result, cell, "tps") {
                Some(tps) => Figure::plain(Some(tps)),
                None => Figure::of(find(result, cell, "lat_mean_us"), |us| rounded(us / 1e3)),
            };
            columns.push(headed(&format!("+{offset}"), [figure]));
        }
        let mut layout = vec![Column::right(); columns.len()];
        layout[0] = Column::left();
        out.push_str(&TextTable::of_columns(layout, columns).render(style));
    }
    out
}

/// `write4k` is `4 KiB writes`, `pass4k` of phybs `4 KiB blocks`.
fn named(size: &str) -> String {
    fn bytes(text: &str) -> String {
        text.parse().map_or(text.to_string(), Bytes::binary)
    }
    match (size.strip_prefix("write"), size.strip_prefix("pass")) {
        (Some(block), _) => format!("{} writes", bytes(block)),
        (_, Some(block)) => format!("{} blocks", bytes(block)),
        _ => size.to_string(),
    }
}

fn facts(result: &TestResult) -> Vec<FoundFact> {
    if result.metrics.is_empty() {
        return Vec::new();
    }
    let value = |quantity| value(result, "device", quantity);
    let penalty = find(result, "device", "penalty_ratio");
    let reported = value("reported_bytes");
    let mut lines = match value("sector_bytes") {
        Some(sector) => {
            let shift = value("shift_bytes").unwrap_or(0.0);
            vec![sector_line(sector, reported), shift_line(sector, shift)]
        }
        None => vec![no_sector_line(reported, penalty.is_some())],
    };
    lines.extend(partition_lines(result));
    let of_phybs = cells(result).iter().any(|cell| cell.starts_with("pass"));
    lines.extend(penalty.map(|penalty| penalty_line(penalty, of_phybs)));
    lines
}

/// What was found beside what the drive says.
fn sector_line(sector: f64, reported: Option<f64>) -> FoundFact {
    let (role, text) = match reported {
        Some(reported) if reported < sector => {
            (Role::Bad, format!("the drive reports {reported}, which is wrong"))
        }
        Some(reported) if reported > sector => (Role::Dim, format!("the drive reports {reported}")),
        Some(_) => (Role::Dim, "as the drive reports".to_string()),
        None => (Role::Dim, String::new()),
    };
    FoundFact::new("sector").item(Role::Title, format!("{sector} bytes")).item(role, text)
}

/// What can be said where the times show no sector: `costless`, because no offset is slower than another.
fn no_sector_line(reported: Option<f64>, costless: bool) -> FoundFact {
    let (role, text) = if costless {
        (Role::Plain, "no offset is slower")
    } else {
        (Role::Warn, "physical sector not found")
    };
    let reported = reported.map(|reported| format!("the drive reports {reported}"));
    FoundFact::new("sector").item(role, text).items(Role::Dim, reported)
}

fn shift_line(sector: f64, shift: f64) -> FoundFact {
    let (role, text) = if shift > 0.0 {
        (Role::Warn, format!("{shift} bytes past multiples of {sector}"))
    } else {
        (Role::Plain, format!("at multiples of {sector}"))
    };
    FoundFact::new("starts").item(role, text)
}

/// Each partition with its start sector of 512 bytes, as partitioning programs count.
fn partition_lines(result: &TestResult) -> Vec<FoundFact> {
    let line = |name: &str| {
        let start = value(result, name, "start_bytes")?;
        let (role, alignment) = match value(result, name, "misaligned_bytes")? {
            behind if behind > 0.0 => (Role::Bad, format!("misaligned by {behind} bytes")),
            _ => (Role::Good, "aligned".to_string()),
        };
        let sector = format!("from sector {}", start / 512.0);
        let line = FoundFact::new("partition").item(Role::Plain, name).item(Role::Plain, sector);
        Some(line.item(role, alignment))
    };
    cells(result).into_iter().filter_map(line).collect()
}

/// What misaligned writes cost, with the 95 % interval where there is one. phybs compares strides of writes
/// that the drive's cache may put together if they are aligned; else each write waits for the medium.
fn penalty_line(penalty: &Metric, of_phybs: bool) -> FoundFact {
    let Metric { value, low, high, .. } = *penalty;
    let interval = if low < high {
        format!(" ({} to {})", rounded(low), rounded(high))
    } else {
        String::new()
    };
    let role = if low > FELT_RATIO { Role::Warn } else { Role::Plain };
    let writes = if of_phybs { "cached writes" } else { "synced writes" };
    let times = rounded(value);
    FoundFact::new("cost")
        .text(role, format!("misaligned {writes} take {times} times as long{interval}"))
}

#[cfg(test)]
mod tests;
