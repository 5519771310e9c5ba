//! A comparison: the answer in words, then its figures.

mod table;

pub(crate) use table::metric_unit;

use crate::comparison::{ComparedMetric, MetricRatio, RunComparison};
use crate::terminal::{Paragraph, Role, Style, sections};
use drivescope_model::metrics::quantity_of;
use drivescope_model::number::{one_decimal, rounded};
use drivescope_stats::ratio::RatioOutcome;

/// Most drives that are compared in a sentence each.
const DRIVES_MAX: usize = 3;
/// Most rows of a group that a sentence names.
const NAMED_MAX: usize = 3;

pub fn comparison(comparison: &RunComparison, style: Style) -> String {
    sections([
        answer(comparison, style),
        warnings(comparison, style),
        table::table(comparison, style),
        left_out(comparison, style),
        table::besides(comparison, style),
        notes(comparison, style),
    ])
}

fn answer(comparison: &RunComparison, style: Style) -> String {
    let lines = sentences(comparison).into_iter();
    let lines = lines.map(|text| Paragraph::new().text(Role::Title, &text).lines(2, style));
    let simulated =
        simulated(comparison).map(|text| Paragraph::new().text(Role::Dim, &text).lines(2, style));
    simulated.into_iter().chain(lines).collect()
}

/// What a mark beside the title says where some runs are of models.
pub(crate) fn simulated_badge(comparison: &RunComparison) -> &'static str {
    if comparison.simulated.contains(&false) {
        "some drives are simulated"
    } else {
        "simulated drives"
    }
}

/// Says that figures come from models.
fn simulated(comparison: &RunComparison) -> Option<String> {
    let names = comparison.names.iter().zip(&comparison.simulated);
    let simulated: Vec<&str> =
        names.filter(|(_, is)| **is).map(|(name, _)| name.as_str()).collect();
    match simulated.len() {
        0 => None,
        all if all == comparison.names.len() => {
            Some("Simulated drives: figures of models.".to_string())
        }
        1 => Some(format!("{} is a simulated drive.", simulated[0])),
        _ => Some(format!("Simulated drives: {}.", simulated.join(", "))),
    }
}

/// A sentence for each run but the first.
pub(crate) fn sentences(comparison: &RunComparison) -> Vec<String> {
    if comparison.rows.is_empty() {
        return vec!["These runs have no valid metric in common.".to_string()];
    }
    if comparison.names.len() > DRIVES_MAX {
        return vec![leaders(comparison)];
    }
    let others = comparison.names.iter().enumerate().skip(1);
    others.map(|(i, name)| sentence(comparison, i - 1, name)).collect()
}

/// `Best by the median: A in reads in order (3,250 MB/s), writes in order (1,430 MB/s); B in …`; where one leads
/// everywhere, with the next of each headline figure.
fn leaders(comparison: &RunComparison) -> String {
    let names = &comparison.names;
    let mut leaders: Vec<(usize, Vec<&ComparedMetric>)> = Vec::new();
    for row in &comparison.rows {
        let Some(best) = best_of(row) else { continue };
        match leaders.iter_mut().find(|(i, _)| *i == best) {
            Some((_, rows)) => rows.push(row),
            None => leaders.push((best, vec![row])),
        }
    }
    match leaders.as_slice() {
        [] => "All have the same medians.".to_string(),
        [(best, rows)] if rows.len() == comparison.rows.len() => {
            let figures = rows.iter().step_by(rows.len().div_ceil(NAMED_MAX));
            let figures = figures.map(|row| {
                let next = with_unit(row, second_of(row, *best));
                format!("{} {} (next {next})", row.what, with_unit(row, row.values[*best]))
            });
            let figures: Vec<String> = figures.collect();
            format!("{} is best in everything compared: {}.", names[*best], figures.join(", "))
        }
        _ => {
            let part = |(i, rows): &(usize, Vec<&ComparedMetric>)| {
                let figure =
                    |row: &&ComparedMetric| format!("{} ({})", row.what, with_unit(row, row.values[*i]));
                format!("{} in {}", names[*i], rows.iter().map(figure).collect::<Vec<_>>().join(", "))
            };
            let parts: Vec<String> = leaders.iter().map(part).collect();
            format!("Best by the median: {}.", parts.join("; "))
        }
    }
}

/// `3,250 MB/s`, `11,500/s`.
fn with_unit(row: &ComparedMetric, value: f64) -> String {
    let (unit, divisor) = metric_unit(row);
    let space = if unit.starts_with('/') { "" } else { " " };
    format!("{}{space}{unit}", rounded(value / divisor))
}

/// The best value of the others.
fn second_of(row: &ComparedMetric, best: usize) -> f64 {
    let smaller_is_better = quantity_of(&row.key).is_some_and(|it| it.smaller_is_better);
    let others = row.values.iter().enumerate().filter(|(i, _)| *i != best).map(|(_, value)| *value);
    if smaller_is_better { others.fold(f64::INFINITY, f64::min) } else { others.fold(0.0, f64::max) }
}

/// The run whose value is the best; none where all are the same.
pub(crate) fn best_of(row: &ComparedMetric) -> Option<usize> {
    let smaller_is_better = quantity_of(&row.key).is_some_and(|it| it.smaller_is_better);
    let is_better = |a: f64, b: f64| if smaller_is_better { a < b } else { a > b };
    let mut best = 0;
    for (i, value) in row.values.iter().enumerate() {
        if is_better(*value, row.values[best]) {
            best = i;
        }
    }
    row.values.iter().any(|value| *value != row.values[best]).then_some(best)
}

/// `B against A: better in random reads, Q1 (1.46 times, 1.40 to 1.52); the same within 3 % in 4 others.`
fn sentence(comparison: &RunComparison, i: usize, name: &str) -> String {
    let of = |wanted: RatioOutcome| -> Vec<(&ComparedMetric, MetricRatio)> {
        let rows = comparison.rows.iter().map(|row| (row, row.against_first[i]));
        rows.filter(|(_, ratio)| ratio.outcome == wanted).collect()
    };
    let band = one_decimal(comparison.band * 100.0);
    let count = comparison.rows.len();
    // Too few rounds say nothing about the drives.
    let mut undecided = of(RatioOutcome::NotShown);
    undecided.retain(|(_, ratio)| ratio.interval.is_some());
    let parts = [
        (of(RatioOutcome::Larger), "better".to_string()),
        (of(RatioOutcome::Smaller), "worse".to_string()),
        (of(RatioOutcome::WithinBand), format!("the same within {band} %")),
        (undecided, "no difference shown".to_string()),
    ];
    let groups: Vec<String> =
        parts.iter().filter_map(|(rows, word)| group(rows, word, count)).collect();
    if groups.is_empty() {
        return format!("{name} against {}: not enough rounds to compare.", comparison.names[0]);
    }
    format!("{name} against {}: {}.", comparison.names[0], groups.join("; "))
}

/// Rows with the same outcome: named if they are few, else their number and the farthest.
fn group(rows: &[(&ComparedMetric, MetricRatio)], word: &str, count: usize) -> Option<String> {
    let is_difference =
        matches!(rows.first()?.1.outcome, RatioOutcome::Larger | RatioOutcome::Smaller);
    let row_words = |(row, ratio): &(&ComparedMetric, MetricRatio)| {
        let factor = format!(" ({})", factor(ratio));
        format!("{}{}", row.what, if is_difference { factor } else { String::new() })
    };
    if rows.len() <= NAMED_MAX {
        return Some(format!(
            "{word} in {}",
            rows.iter().map(row_words).collect::<Vec<_>>().join(", ")
        ));
    }
    let how_many = match rows.len() {
        all if all == count => "everything compared".to_string(),
        some => format!("{some} of {count}"),
    };
    let distance = |ratio: &MetricRatio| ratio.times.ln().abs();
    let farthest = rows.iter().max_by(|a, b| distance(&a.1).total_cmp(&distance(&b.1)))?;
    let most =
        if is_difference { format!(", most in {}", row_words(farthest)) } else { String::new() };
    Some(format!("{word} in {how_many}{most}"))
}

/// `1.46 times, 1.40 to 1.52`; where only one end of the interval is known, that end.
pub(crate) fn factor(ratio: &MetricRatio) -> String {
    match ratio.interval {
        Some((low, high)) if high.is_infinite() => format!("at least {} times", rounded(low)),
        Some((0.0, high)) => format!("at most {} times", rounded(high)),
        Some((low, high)) if rounded(low) != rounded(high) => {
            format!("{} times, {} to {}", rounded(ratio.times), rounded(low), rounded(high))
        }
        _ => format!("{} times", rounded(ratio.times)),
    }
}

fn warnings(comparison: &RunComparison, style: Style) -> String {
    let texts = comparison.differences.iter().map(|it| format!("! not the same {it}"));
    texts.map(|text| Paragraph::new().text(Role::Warn, &text).lines(2, style)).collect()
}

/// Rows that are missing, each with its reason and remedy.
fn left_out(comparison: &RunComparison, style: Style) -> String {
    let texts = comparison.left_out.iter().map(|it| format!("left out: {it}"));
    texts.map(|text| Paragraph::new().text(Role::Warn, &text).lines(2, style)).collect()
}

fn notes(comparison: &RunComparison, style: Style) -> String {
    let held = match comparison.interleaved_rounds {
        Some(rounds) => format!(
            "{rounds} rounds of each, in random order. The interval holds for all rows together and after every \
             round, so that measuring may stop when it tells enough"
        ),
        None => "The interval holds for all rows together, within these runs".to_string(),
    };
    let text = format!(
        "times: how many times as fast as the first, above 1 is better, for latencies too. {held}; what changes from \
         day to day is not in it. \"not shown\" is not \"equal\": more rounds may decide."
    );
    let rows = comparison.rows.len();
    if rows == 0 { String::new() } else { Paragraph::new().text(Role::Dim, &text).lines(0, style) }
}
