//! A drive's history: the answer in words, a row for each metric, a line for each run.

use super::runs::minute;
use crate::chart::extent;
use crate::history::{DriveHistory, MetricChange, MetricHistory};
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, sections};
use drivescope_model::number::rounded;
use drivescope_model::units::Bytes;

/// Runs that are drawn and listed at most, the newest.
const RUNS_MAX: usize = 20;
/// Part of the largest value that a drawn metric spans at least: noise shall look like noise.
const SPAN_MIN: f64 = 0.2;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Digits of an id that are shown.
const ID_DIGITS: usize = 4;

/// The history as `drivescope history` prints it.
pub fn history(history: &DriveHistory, style: Style) -> String {
    sections([
        head(history, style),
        answer(history, style),
        table(history, style),
        runs(history).render(style),
        notes(history, style),
    ])
}

fn head(history: &DriveHistory, style: Style) -> String {
    let size = history.capacity_bytes.map(|bytes| format!(" · {}", Bytes(bytes)));
    let date = |i: usize| day(&history.runs[i].started_at).to_string();
    let count = match history.runs.len() {
        0 => "no run to compare".to_string(),
        1 => format!("1 run, {}", date(0)),
        n => format!("{n} runs, {} to {}", date(0), date(n - 1)),
    };
    let text = format!("{}{} · {count}", history.drive, size.unwrap_or_default());
    Paragraph::new().text(Role::Dim, &text).lines(0, style)
}

fn answer(history: &DriveHistory, style: Style) -> String {
    let sentences = history_sentences(history).into_iter();
    sentences.map(|text| Paragraph::new().text(Role::Title, &text).lines(2, style)).collect()
}

/// The same as sentences.
pub(crate) fn history_sentences(history: &DriveHistory) -> Vec<String> {
    let changed: Vec<(&MetricHistory, MetricChange)> =
        history.rows.iter().filter_map(|row| Some((row, row.change?))).collect();
    // A run alone is in no row.
    let most = history.rows.iter().map(|row| row.values.len()).max().unwrap_or(1);
    let mut sentences: Vec<String> =
        changed.iter().map(|(row, it)| change_sentence(history, row, it)).collect();
    if most < 4 {
        sentences
            .push(format!("Too few comparable runs to show a change: {most} of 4 at the least."));
    } else if changed.iter().all(|(_, change)| change.times >= 1.0) {
        sentences.insert(0, "Nothing got worse.".to_string());
    }
    sentences
}

/// `Slow reads (p99) take 1.11 times as long since 2026-02-16 (95 %: 1.09 to 1.13).`
pub(crate) fn change_sentence(
    history: &DriveHistory,
    row: &MetricHistory,
    change: &MetricChange,
) -> String {
    let word = if change.times < 1.0 { "worse" } else { "better" };
    if let Some((month, low, high)) = change.per_month {
        let percent = |times: f64| format!("{:+.1} %", (times - 1.0) * 100.0);
        let [month, low, high] = [month, low, high].map(percent);
        return format!("{}: steadily {word}, {month} a month (95 %: {low} to {high}).", row.what);
    }
    let interval = change.interval.map_or(String::new(), |(low, high)| {
        format!(" (95 %: {} to {})", rounded(low), rounded(high))
    });
    let since = day(&history.runs[change.since].started_at);
    let times = rounded(change.times);
    format!("{}: {word} since {since}, {times} times as fast as before{interval}.", row.what)
}

fn table(history: &DriveHistory, style: Style) -> String {
    if history.rows.is_empty() {
        let text = "no two of these runs have a valid headline metric in common";
        return Paragraph::new().text(Role::Dim, text).lines(0, style);
    }
    let layout = vec![
        Column::left().flexible(16),
        Column::left(),
        Column::right(),
        Column::right(),
        Column::left(),
        Column::left(),
        Column::left(),
    ];
    let heads = ["", "first", "last", "over time", "range", "change"];
    let mut table = TextTable::with_heads(layout, "", &heads);
    for row in &history.rows {
        let values: Vec<f64> = row.values.iter().map(|(_, value)| *value).collect();
        let newest = &values[values.len().saturating_sub(RUNS_MAX)..];
        let (low, high) = extent(values.iter().copied());
        let (role, change) = match row.change {
            None => (Role::Dim, "= none shown".to_string()),
            Some(it) if it.times < 1.0 => (Role::Bad, format!("▼ {}", rounded(it.times))),
            Some(it) => (Role::Good, format!("▲ {}", rounded(it.times))),
        };
        table.row(vec![
            TextCell::plain(row.what),
            TextCell::dim(&row.unit),
            TextCell::plain(rounded(values[0])),
            TextCell::plain(rounded(values[values.len() - 1])),
            TextCell::plain(drawn(newest)),
            TextCell::dim(format!("{}–{}", rounded(low), rounded(high))),
            TextCell::new(role, change),
        ]);
    }
    table.render(style)
}

/// A mark for each value, from the lowest to the highest, or a fifth of the highest where they lie closer.
fn drawn(values: &[f64]) -> String {
    let (low, high) = extent(values.iter().copied());
    let span = (high - low).max(high * SPAN_MIN);
    let bottom = f64::midpoint(low, high) - span / 2.0;
    let block = |value: &f64| BLOCKS[(((value - bottom) / span * 7.0).round() as usize).min(7)];
    values.iter().map(block).collect()
}

fn runs(history: &DriveHistory) -> TextTable {
    let layout = vec![
        Column::left(),
        Column::left(),
        Column::left(),
        Column::left().flexible(8),
        Column::left().flexible(16),
    ];
    let mut table = TextTable::new(0, layout);
    let skipped = history.runs.len().saturating_sub(RUNS_MAX);
    for run in &history.runs[skipped..] {
        table.row(vec![
            TextCell::title(shorten_id(&run.id)),
            TextCell::dim(minute(&run.started_at)),
            TextCell::plain(&run.suite),
            TextCell::plain(run.label.as_deref().unwrap_or_default()),
            TextCell::plain(run.news.join(", ")),
        ]);
    }
    table
}

fn notes(history: &DriveHistory, style: Style) -> String {
    let mut text = String::new();
    if let Some((_, why)) = history.left_out.first() {
        let ids: Vec<&str> =
            history.left_out.iter().take(3).map(|(id, _)| shorten_id(id)).collect();
        let others = history.left_out.len() - ids.len();
        let more = if others > 0 { format!(" and {others} more") } else { String::new() };
        text = format!("Left out: {}{more} ({why}). ", ids.join(", "));
    }
    if history.rows.iter().any(|row| row.change.is_some()) {
        text += "Times: how many times as fast since, above 1 is better, for latencies too. A false change among all \
                 rows has a probability of at most 5 %.";
    }
    if text.is_empty() {
        text
    } else {
        Paragraph::new().text(Role::Dim, text.trim_end()).lines(0, style)
    }
}

fn shorten_id(id: &str) -> &str {
    id.get(..ID_DIGITS).unwrap_or(id)
}

/// The date of an RFC 3339 time.
fn day(started_at: &str) -> &str {
    started_at.get(..10).unwrap_or(started_at)
}
