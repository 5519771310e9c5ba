//! `sim reproduce`: published figures beside those of the models, by drive.

use crate::first_seen::distinct;
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, sections};
use drivescope_model::number::{MISSING, rounded};
use drivescope_model::reproduction::{CellResult, Kinds, Published, Reproduction, Tally};
use std::collections::BTreeMap;

/// All cells by drive, failures and missing figures with reasons, and the number that pass.
pub fn reproduction(result: &Reproduction, style: Style) -> String {
    let cells = &result.cells;
    let drives = distinct(cells.iter().map(|cell| cell.drive.as_str()));
    let of_drives = drives
        .into_iter()
        .map(|drive| of_drive(drive, cells.iter().filter(|cell| cell.drive == drive), style));
    let of_all = [failures(cells, style), without_figure(cells, style), summary(result, style)];
    sections(of_drives.chain(of_all))
}

fn of_drive<'c>(drive: &str, cells: impl Iterator<Item = &'c CellResult>, style: Style) -> String {
    let columns = vec![
        Column::left().flexible(24),
        Column::right().gap(1),
        Column::right().gap(1),
        Column::left().gap(1),
        Column::right().gap(1),
        Column::right().gap(1),
        Column::left().gap(1),
    ];
    let heads = ["published", "model", "", "diff %", "tol", ""];
    let mut table = TextTable::with_heads(columns, drive, &heads);
    for cell in cells {
        let (role, mark) = match cell.pass {
            Some(true) => (Role::Good, "ok"),
            Some(false) => (Role::Bad, "FAILS"),
            None => (Role::Dim, MISSING),
        };
        let within = cell.tolerance_pct.map(|tolerance| format!("{tolerance:.0}"));
        table.row(vec![
            TextCell::plain(&cell.id),
            TextCell::plain(published(cell)),
            TextCell::plain(cell.simulated.map_or_else(|| MISSING.to_string(), rounded)),
            TextCell::dim(&cell.unit),
            TextCell::plain(cell.difference_pct.map_or_else(String::new, signed)),
            TextCell::dim(within.unwrap_or_default()),
            TextCell::new(role, mark),
        ]);
    }
    table.render(style)
}

fn published(cell: &CellResult) -> String {
    match (cell.published, cell.op.as_str()) {
        (Published::Range([low, high]), _) => format!("{}..{}", rounded(low), rounded(high)),
        (Published::One(value), "<" | ">") => format!("{} {}", cell.op, rounded(value)),
        (Published::One(value), _) => rounded(value),
    }
}

/// `+4.2`, `-0.3`, `0.0`.
fn signed(percent: f64) -> String {
    let text = format!("{percent:+.1}");
    if matches!(text.as_str(), "+0.0" | "-0.0") { "0.0".to_string() } else { text }
}

fn failures(cells: &[CellResult], style: Style) -> String {
    let mut out = String::new();
    for (reason, ids) in by_reason(cells, Some(false)) {
        let role = if reason.is_empty() { Role::Bad } else { Role::Plain };
        let reason = if reason.is_empty() { "no reason is known" } else { reason };
        let mut paragraph = Paragraph::new().lead(Role::Bad, "fails").lead(Role::Plain, "  ");
        for id in ids {
            paragraph = paragraph.text(Role::Title, id);
        }
        out.push_str(&paragraph.text(role, "-").text(role, reason).lines(7, style));
    }
    out
}

fn without_figure(cells: &[CellResult], style: Style) -> String {
    if cells.iter().all(|cell| cell.pass.is_some()) {
        return String::new();
    }
    let reasons: Vec<String> = by_reason(cells, None)
        .into_iter()
        .map(|(reason, ids)| format!("{} - {reason}", ids.len()))
        .collect();
    let paragraph = Paragraph::new().lead(Role::Dim, "without figure").lead(Role::Plain, "  ");
    paragraph.text(Role::Dim, reasons.join("; ")).lines(16, style)
}

fn by_reason(cells: &[CellResult], pass: Option<bool>) -> BTreeMap<&str, Vec<&str>> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.pass == pass) {
        let reason = cell.reason.as_deref().unwrap_or_default();
        reasons.entry(reason).or_default().push(&cell.id);
    }
    reasons
}

fn summary(result: &Reproduction, style: Style) -> String {
    let Reproduction { reachable, passed, .. } = *result;
    if reachable == 0 {
        return Paragraph::new()
            .text(Role::Plain, "none of these cells has a figure")
            .lines(0, style);
    }
    let share = 100.0 * passed as f64 / reachable as f64;
    let text = format!("{passed} of {reachable} reachable cells within tolerance ({share:.1} %)");
    let mut lines = Paragraph::new().text(Role::Title, &text).lines(0, style);
    lines.push_str(&by_kind(&result.kinds(), style));
    let passes: Vec<&CellResult> =
        result.cells.iter().filter(|cell| cell.method == "phybs" && cell.pass.is_some()).collect();
    if !passes.is_empty() {
        let near = passes.iter().filter(|cell| is_near(cell)).count();
        let all = passes.len();
        let text = format!("of those of phybs, {near} of {all} lie within {PHYBS_PCT} %");
        lines.push_str(&Paragraph::new().text(Role::Plain, &text).lines(0, style));
    }
    lines
}

fn by_kind(kinds: &Kinds, style: Style) -> String {
    fn of(tally: Tally) -> String {
        format!("{} of {}", tally.passed, tally.reachable)
    }
    let parts = [
        ("specifications", kinds.specifications, ""),
        ("passes of phybs", kinds.phybs_passes, " (3 cells each)"),
        ("on generic models", kinds.generic_passes, ""),
        ("other measurements", kinds.measured, ""),
    ];
    let reachable = parts.into_iter().filter(|(_, tally, _)| tally.reachable > 0);
    let parts: Vec<String> =
        reachable.map(|(kind, tally, note)| format!("{kind} {}{note}", of(tally))).collect();
    if parts.len() < 2 {
        return String::new();
    }
    let tally = kinds.measurements();
    let share = 100.0 * tally.passed as f64 / tally.reachable as f64;
    let generic = if kinds.generic_passes.reachable > 0 { " and generic models" } else { "" };
    let once =
        format!("without specifications{generic}, each pass once: {} ({share:.1} %)", of(tally));
    let by_kind = format!("by kind: {}", parts.join(", "));
    let lines = [Some(by_kind), (tally.reachable > 0).then_some(once)];
    let line = |text: String| Paragraph::new().text(Role::Plain, &text).lines(0, style);
    lines.into_iter().flatten().map(line).collect()
}

/// Tolerance for phybs, whose published passes of one drive differ among themselves by more than the table's 5 %.
const PHYBS_PCT: f64 = 10.0;

fn is_near(cell: &CellResult) -> bool {
    cell.difference_pct.is_some_and(|pct| pct.abs() <= PHYBS_PCT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::must_have;

    fn cell(id: &str, pass: Option<bool>, reason: Option<&str>) -> CellResult {
        CellResult {
            id: id.into(),
            seed: "000".into(),
            drive: "wd40efrx".into(),
            models: vec!["wd40efrx".into()],
            generic: false,
            method: "fill".into(),
            condition: "-".into(),
            metric: "write_rate".into(),
            unit: "MB/s".into(),
            op: "=".into(),
            published: Published::One(181.4),
            simulated: pass.map(|_| 182.69),
            difference_pct: pass.map(|_| 0.71),
            tolerance_pct: Some(10.0),
            pass,
            reason: reason.map(str::to_string),
        }
    }

    #[test]
    fn cells_stand_by_drive_and_failures_below() {
        let other = CellResult {
            drive: "usb-16tb".into(),
            op: "<".into(),
            published: Published::One(140.0),
            tolerance_pct: None,
            ..cell("s2-usb16-gd-full-end-read", Some(false), Some("a reason that is known"))
        };
        let range = CellResult {
            published: Published::Range([63.0, 79.0]),
            ..cell("s0-xg6-asssd-4k-read-vs", Some(true), None)
        };
        let later = cell("s0-wdred-pcm8-score-vs", None, Some("the test comes later"));
        let cells = vec![cell("s0-wdred-fill-start", Some(true), None), other, range, later];
        let text = reproduction(&Reproduction::new(cells), Style::default());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn each_kind_of_cell_is_counted() {
        fn of(method: &str, metric: &str, condition: &str, pass: bool) -> CellResult {
            CellResult {
                method: method.into(),
                metric: metric.into(),
                condition: condition.into(),
                ..cell("an-id", Some(pass), Some("a reason"))
            }
        }
        let mut cells = vec![of("spec", "rpm", "-", true), of("fill", "write_rate", "-", true)];
        for (condition, tps_passes) in [("size=4096 off=0", true), ("size=4096 off=512", false)] {
            cells.extend(["msec", "kBps"].map(|metric| of("phybs", metric, condition, true)));
            cells.push(of("phybs", "tps", condition, tps_passes));
        }
        let text =
            reproduction(&Reproduction::new(cells.clone()), Style::default()).replace('\n', " ");
        must_have(
            &text,
            &[
                "7 of 8 reachable cells within tolerance (87.5 %)",
                "by kind: specifications 1 of 1, passes of phybs 1 of 2 (3 cells each), other measurements 1 of 1",
                "without specifications, each pass once: 2 of 3 (66.7 %)",
            ],
        );
        cells.push(CellResult { generic: true, ..of("phybs", "tps", "size=512 off=0", false) });
        let text = reproduction(&Reproduction::new(cells), Style::default()).replace('\n', " ");
        must_have(
            &text,
            &[
                "passes of phybs 1 of 2 (3 cells each), on generic models 0 of 1, other",
                "without specifications and generic models, each pass once: 2 of 3 (66.7 %)",
            ],
        );
    }

    #[test]
    fn a_failure_without_a_reason_says_so() {
        let result = Reproduction::new(vec![cell("s0-wdred-fill-start", Some(false), None)]);
        let text = reproduction(&result, Style::default());
        must_have(
            &text,
            &["no reason is known", "0 of 1 reachable cells within tolerance (0.0 %)"],
        );
    }
}
