//! `fleet outliers`: a row for each odd drive, what is odd about it, and what was compared.

use crate::fleet_outliers::{FleetOutliers, OddDrive};
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, sections};
use drivescope_model::number::{one_decimal, rounded, whole};
use drivescope_stats::peers::GROUP_MIN;

/// More models with too few drives are counted.
const SMALL_MAX: usize = 6;

pub fn fleet_outliers(outliers: &FleetOutliers, style: Style) -> String {
    let notes = outlier_notes(outliers);
    let notes = notes.iter().map(|note| Paragraph::new().text(Role::Dim, note).lines(0, style));
    sections([
        Paragraph::new().text(Role::Title, outlier_sentence(outliers)).lines(0, style),
        rows(&outliers.odd, style),
        notes.collect(),
    ])
}

/// The names of each drive, then each reason on a line of its own.
fn rows(odd: &[OddDrive], style: Style) -> String {
    let layout = vec![
        Column::left().flexible(8),
        Column::left().flexible(8),
        Column::left().flexible(12),
        Column::left().flexible(8),
        Column::left(),
    ];
    let mut table = TextTable::new(0, layout);
    for it in odd {
        let q = it.q_value.map_or_else(|| "seen".to_string(), |q| format!("q {}", q_words(q)));
        table.row(vec![
            TextCell::title(&it.host),
            TextCell::title(&it.drive),
            TextCell::plain(it.model.as_deref().unwrap_or_default()),
            TextCell::plain(it.serial.as_deref().unwrap_or_default()),
            TextCell::dim(q),
        ]);
    }
    let reason = |words: &str| {
        Paragraph::new().lead(Role::Plain, "    ").text(Role::Plain, words).lines(6, style)
    };
    let names = table.render(style);
    let with_reasons = |(name, it): (&str, &OddDrive)| -> String {
        let reasons: String = it.reasons.iter().map(|it| reason(&it.words)).collect();
        format!("{name}\n{reasons}")
    };
    names.lines().zip(odd).map(with_reasons).collect()
}

/// `0.003`, `< 0.001`.
pub(crate) fn q_words(q: f64) -> String {
    if q < 0.001 { "< 0.001".to_string() } else { format!("{q:.3}") }
}

fn count(number: usize, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {what}{ending}", whole(number as u64))
}

/// `3 of 480 drives are odd.`
pub(crate) fn outlier_sentence(outliers: &FleetOutliers) -> String {
    let all = count(outliers.drives, "drive");
    match outliers.odd.len() {
        0 if outliers.drives == 0 => "No drives: the store has no finished run of one.".to_string(),
        0 => format!("None of {all} is odd."),
        1 => format!("1 of {all} is odd."),
        odd => format!("{} of {all} are odd.", whole(odd as u64)),
    }
}

/// What was compared with what, and how far the list can be relied on.
pub(crate) fn outlier_notes(outliers: &FleetOutliers) -> Vec<String> {
    let mut notes = Vec::new();
    for (host, odd, all) in &outliers.odd_hosts {
        notes.push(format!(
            "{odd} of the {all} drives of {host} are odd: look at the host first (cooling, controller, other load)."
        ));
    }
    for group in &outliers.groups {
        let is_of = |odd: &&OddDrive| {
            odd.q_value.is_some()
                && odd.model.as_deref() == Some(&*group.model)
                && odd.firmware.as_deref().unwrap_or_default()
                    == group.firmware.as_deref().unwrap_or_default()
        };
        let odd = outliers.odd.iter().filter(is_of).count();
        if odd > 2 && odd * 10 > group.drives {
            let (name, drives) = (group.name(), group.drives);
            notes.push(format!(
                "{odd} of {drives} are odd in {name}: perhaps the model has two kinds of drives."
            ));
        }
    }
    let groups = count(outliers.groups.len(), "group");
    notes.push(format!(
        "Compared: {} in {groups} of one model, firmware and suite, in their valid figures of the newest run. By \
         figures, at most {} % of the drives that are called odd are expected to be healthy; q is the smallest such \
         rate at which the drive is one of them. Measure a drive again before you replace it.",
        count(outliers.compared, "drive"),
        one_decimal(outliers.fdr * 100.0),
    ));
    if !outliers.too_small.is_empty() {
        let listed = outliers.too_small.iter().take(SMALL_MAX);
        let mut listed: Vec<String> =
            listed.map(|(model, drives)| format!("{} ({drives})", model.trim())).collect();
        let more = outliers.too_small.len().saturating_sub(SMALL_MAX);
        if more > 0 {
            listed.push(format!("and {more} more models"));
        }
        notes.push(format!(
            "Too few alike to compare (fewer than {GROUP_MIN}): {}.",
            listed.join(", ")
        ));
    }
    notes
}

/// `178 MB/s`, of a group.
pub(crate) fn figure_words(value: f64, unit: &str) -> String {
    match unit {
        "us" if value >= 1e3 => format!("{} ms", rounded(value / 1e3)),
        "us" => format!("{} µs", rounded(value)),
        "1/s" => format!("{}/s", rounded(value)),
        unit => format!("{} {unit}", rounded(value)),
    }
}
