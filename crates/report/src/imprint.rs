//! What an exported chart says of its origin: drives, date, suite, program.

use crate::chart::ChartImprint;
use crate::comparison::{name_of, names};
use crate::history::DriveHistory;
use crate::terminal::shorten;
use drivescope_model::{Bytes, Run};

/// Longest name of a drive, in characters: one line of a chart.
const NAME_MAX: usize = 60;

/// Of a chart of one run, or of several side by side, which it calls by their labels.
pub fn imprint_of(runs: &[Run]) -> ChartImprint {
    // Said once, if all are.
    let are_all = runs.len() > 1 && runs.iter().all(|run| run.simulated);
    let drive = |(run, name): (&Run, String)| {
        let model = name_of(run);
        let size = run.drive.as_ref().map_or(run.target.size_bytes, |drive| drive.capacity_bytes);
        let facts =
            described(&model, Some(size).filter(|size| *size > 0), run.simulated && !are_all);
        if name == model { facts } else { format!("{}: {facts}", shorten(&name, NAME_MAX)) }
    };
    let mut drives: Vec<String> = runs.iter().zip(names(runs)).map(drive).collect();
    if are_all {
        drives[0].insert_str(0, "Simulated drives: ");
    }
    let programs = runs.iter().map(|run| format!("{} {}", run.tool.name, run.tool.version));
    ChartImprint {
        drives,
        date: dates(runs.iter().map(|run| run.started_at.as_str())),
        method: method(runs.iter().map(|run| run.plan.suite.name.as_str()), programs),
    }
}

/// Of a chart of one drive over its runs.
pub fn imprint_of_history(history: &DriveHistory) -> ChartImprint {
    let runs = &history.runs;
    ChartImprint {
        drives: vec![described(&history.drive, history.capacity_bytes, history.simulated)],
        date: dates(runs.iter().map(|run| run.started_at.as_str())),
        method: method(
            runs.iter().map(|run| run.suite.as_str()),
            runs.iter().map(|run| run.program.clone()),
        ),
    }
}

/// `WDC WD40EFRX (4.00 TB, simulated)`, with no-break spaces in the parentheses.
fn described(name: &str, size_bytes: Option<u64>, is_simulated: bool) -> String {
    let size = size_bytes.map(|bytes| Bytes(bytes).to_string());
    let facts: Vec<String> =
        size.into_iter().chain(is_simulated.then(|| "simulated".to_string())).collect();
    let name = shorten(name, NAME_MAX);
    // The facts stay on one line.
    let facts = facts.join(", ").replace(' ', "\u{a0}");
    match name.strip_suffix(')') {
        _ if facts.is_empty() => name.into_owned(),
        // A serial number stands in parentheses already.
        Some(open) => format!("{open}, {facts})"),
        None => format!("{name} ({facts})"),
    }
}

/// The first and the last day.
fn dates<'a>(started_at: impl Iterator<Item = &'a str>) -> String {
    let days = started_at.map(|time| time.get(..10).unwrap_or(time));
    let (first, last) = days.fold((None, None), |(first, last): (Option<&str>, _), day| {
        (Some(first.map_or(day, |it| it.min(day))), last.max(Some(day)))
    });
    match (first, last) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (first, _) => first.unwrap_or_default().to_string(),
    }
}

fn method<'a>(
    suites: impl Iterator<Item = &'a str>,
    programs: impl Iterator<Item = String>,
) -> String {
    let suites = distinct(suites.filter(|it| !it.is_empty()).map(str::to_string).collect());
    let suites = (!suites.is_empty()).then(|| format!("suite {suites} · "));
    format!("{}{}", suites.unwrap_or_default(), distinct(programs.collect()))
}

fn distinct(mut all: Vec<String>) -> String {
    all.sort();
    all.dedup();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, nvme};

    #[test]
    fn simulated_drives_labels_and_days_are_named() {
        let (mut a, mut b) = (hard_disk(), nvme());
        (a.simulated, b.simulated) = (true, false);
        (a.label, b.label) = (Some("old".to_string()), None);
        a.started_at = "2026-01-05T10:00:00Z".to_string();
        b.started_at = "2026-01-03T10:00:00Z".to_string();
        (a.plan.suite.name, b.plan.suite.name) = ("quick".to_string(), "quick".to_string());
        let imprint = imprint_of(&[a.clone(), b]);
        let (old, new) = (&imprint.drives[0], &imprint.drives[1]);
        assert!(old.starts_with("old: ") && old.ends_with("TB,\u{a0}simulated)"), "{old}");
        assert!(!new.contains("simulated") && !new.contains(": "), "{new}");
        let two = imprint_of(&[a.clone(), a.clone()]).drives;
        assert!(two[0].starts_with("Simulated drives: old") && two[1].ends_with("TB)"), "{two:?}");
        assert_eq!(imprint.date, "2026-01-03 to 2026-01-05");
        let program = format!("{} {}", a.tool.name, a.tool.version);
        assert_eq!(imprint.method, format!("suite quick · {program}"));
    }
}
