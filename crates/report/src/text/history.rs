//! A drive's history: the answer in words, a row for each metric, a line for each run.

use super::runs::minute;
use crate::chart::extent;
use crate::chart::plain_words::capitalized;
use crate::dates::{clock, day_of, day_words, period};
use crate::history::{DriveHistory, MetricChange, MetricHistory, RUNS_MIN};
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, sections};
use drivescope_model::number::rounded;
use drivescope_model::units::Bytes;

/// Newest runs that are drawn and listed.
const RUNS_MAX: usize = 20;
/// A drawn metric spans at least this part of its largest value: noise must look like noise.
const SPAN_MIN: f64 = 0.2;
/// Larger changes are written as a factor, not in percent.
const TIMES_FROM: f64 = 2.0;
/// Larger latencies are shown in milliseconds.
const MS_FROM_US: f64 = 1_000.0;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ID_DIGITS: usize = 4;

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
    let simulated = if history.simulated { " · simulated drive" } else { "" };
    let text = format!(
        "{}{}{simulated} · {}",
        history.drive,
        size.unwrap_or_default(),
        counted_runs(history)
    );
    Paragraph::new().text(Role::Dim, &text).lines(0, style)
}

/// `12 runs, 5 January to 23 March 2026`.
pub(crate) fn counted_runs(history: &DriveHistory) -> String {
    match &history.runs[..] {
        [] => "no run to compare".to_string(),
        [run] => format!("1 run, {}", day_words(&run.started_at, true)),
        [first, .., last] => {
            format!("{} runs, {}", history.runs.len(), period(&first.started_at, &last.started_at))
        }
    }
}

fn answer(history: &DriveHistory, style: Style) -> String {
    let sentences = history_sentences(history).into_iter();
    sentences.map(|text| Paragraph::new().text(Role::Title, &text).lines(2, style)).collect()
}

pub(crate) fn history_sentences(history: &DriveHistory) -> Vec<String> {
    let changed: Vec<(&MetricHistory, MetricChange)> =
        history.rows.iter().filter_map(|row| Some((row, row.change?))).collect();
    // A run alone is in no row.
    let most = history.rows.iter().map(|row| row.values.len()).max().unwrap_or(1);
    let mut sentences: Vec<String> =
        changed.iter().map(|(row, it)| change_sentence(history, row, it)).collect();
    match most {
        0 | 1 => sentences.push(format!("1 comparable run; a trend needs {RUNS_MIN}.")),
        2..RUNS_MIN => sentences.push(format!(
            "{most} comparable runs; a trend needs {RUNS_MIN}. drivescope compare OLD NEW compares two runs by their \
             rounds."
        )),
        _ if changed.iter().all(|(_, change)| change.times >= 1.0) => {
            sentences.insert(0, "Nothing got worse.".to_string());
        }
        _ => {}
    }
    sentences
}

/// `Slow reads (p99): 11 % slower since 16 February (95 %: 9 to 13 %).`
fn change_sentence(history: &DriveHistory, row: &MetricHistory, change: &MetricChange) -> String {
    format!("{}: {}.", capitalized(row.what), change_clause(history, change))
}

/// `11 % slower since 16 February (95 %: 9 to 13 %)`.
pub(crate) fn change_clause(history: &DriveHistory, change: &MetricChange) -> String {
    if let Some((month, low, high)) = change.per_month {
        let change = speed_change(month, (low, high));
        return format!("steadily {} a month{}", change.0, change.1);
    }
    let (by, interval) = speed_change(change.times, change.interval);
    format!("{by} {}{interval}", since(history, change.since))
}

/// `18 % slower`; of a steady change `1.2 % slower a month`.
pub(crate) fn change_words(change: &MetricChange) -> String {
    match change.per_month {
        Some((month, low, high)) => format!("{} a month", speed_change(month, (low, high)).0),
        None => speed_change(change.times, change.interval).0,
    }
}

/// `18 % slower` and ` (95 %: 15 to 21 %)`, or `2.4 times faster` and ` (95 %: 2.1 to 2.7)`.
fn speed_change(times: f64, (low, high): (f64, f64)) -> (String, String) {
    let is_slower = times < 1.0;
    let word = if is_slower { "slower" } else { "faster" };
    if !(1.0 / TIMES_FROM..TIMES_FROM).contains(&times) {
        let size = |times: f64| rounded(if is_slower { 1.0 / times } else { times });
        let (least, most) = if is_slower { (high, low) } else { (low, high) };
        let interval = format!(" (95 %: {} to {})", size(least), size(most));
        return (format!("{} times {word}", size(times)), interval);
    }
    let (least, most) = if is_slower { (high, low) } else { (low, high) };
    // Whole percents, unless both ends would be the same.
    let is_fine = |it: f64| (it - 1.0).abs() < 0.0995;
    let decimals = usize::from(is_fine(times) || percent(least, 0) == percent(most, 0));
    let ends = [least, most].map(|end| percent(end, decimals));
    let interval = match ends {
        [least, most] if least == most => " (95 %: ± < 0.1 %)".to_string(),
        [least, most] => format!(" (95 %: {least} to {most} %)"),
    };
    (format!("{} % {word}", percent(times, usize::from(is_fine(times)))), interval)
}

fn percent(times: f64, decimals: usize) -> String {
    format!("{:.decimals$}", (times - 1.0).abs() * 100.0)
}

/// `since 22 June`, with the year if the history has several; the run and its time if the run before began on the same
/// day.
fn since(history: &DriveHistory, at: usize) -> String {
    let run = &history.runs[at];
    let year = |time: &str| day_of(time).map(|day| day.year());
    let years: Vec<_> = history.runs.iter().map(|run| year(&run.started_at)).collect();
    let day = day_words(&run.started_at, years.iter().any(|it| *it != years[0]));
    let before = at.checked_sub(1).map(|before| day_of(&history.runs[before].started_at));
    if before == Some(day_of(&run.started_at)) {
        format!("since run {}, {day} {}", shorten_id(&run.id), clock(&run.started_at))
    } else {
        format!("since {day}")
    }
}

/// The unit in which the values of a row are shown, and what they are divided by.
pub(crate) fn history_unit(row: &MetricHistory) -> (&str, f64) {
    let (_, most) = extent(row.values.iter().map(|it| it.value));
    match row.unit.as_str() {
        "us" if most >= MS_FROM_US => ("ms", 1e3),
        "us" => ("µs", 1.0),
        "1/s" => ("/s", 1.0),
        unit => (unit, 1.0),
    }
}

fn without_rows(history: &DriveHistory) -> String {
    match &history.runs[..] {
        [run] => {
            let id = shorten_id(&run.id);
            format!("there is only one run to compare; measure again: drivescope rerun {id}")
        }
        _ => "no two of these runs have a valid headline metric in common".to_string(),
    }
}

fn table(history: &DriveHistory, style: Style) -> String {
    if history.rows.is_empty() {
        return Paragraph::new().text(Role::Dim, without_rows(history)).lines(0, style);
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
        let (unit, size) = history_unit(row);
        let values: Vec<f64> = row.values.iter().map(|it| it.value / size).collect();
        let newest = &values[values.len().saturating_sub(RUNS_MAX)..];
        let (low, high) = extent(values.iter().copied());
        let (role, change) = match row.change {
            None if values.len() < RUNS_MIN => (Role::Dim, "too few runs".to_string()),
            None => (Role::Dim, "= none shown".to_string()),
            Some(it) => {
                let is_slower = it.times < 1.0;
                let (role, mark) = if is_slower { (Role::Bad, '▼') } else { (Role::Good, '▲') };
                (role, format!("{mark} {}", change_words(&it)))
            }
        };
        table.row(vec![
            TextCell::plain(row.what),
            TextCell::dim(unit),
            TextCell::plain(rounded(values[0])),
            TextCell::plain(rounded(values[values.len() - 1])),
            TextCell::plain(drawn(newest)),
            TextCell::dim(format!("{}–{}", rounded(low), rounded(high))),
            TextCell::new(role, change),
        ]);
    }
    table.render(style)
}

/// A mark per value, from lowest to highest, or a fifth of the highest where they lie closer.
fn drawn(values: &[f64]) -> String {
    let (low, high) = extent(values.iter().copied());
    let span = (high - low).max(high * SPAN_MIN);
    let bottom = f64::midpoint(low, high) - span / 2.0;
    values
        .iter()
        .map(|value| BLOCKS[(((value - bottom) / span * 7.0).round() as usize).min(7)])
        .collect()
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
        text += "Slower and faster are of speeds, for latencies too: 50 % slower takes twice as long. A false change \
                 among all rows has a probability of at most 1 %.";
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
