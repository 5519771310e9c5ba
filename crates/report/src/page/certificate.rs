//! The page of a check: a certificate for the one who sells or keeps the drive, on one or two sheets of paper.

use super::{document, figure, health};
use crate::chart::Chart;
use crate::chart::plain_words::capitalized;
use crate::text::minute;
use crate::verdict::keep::{outcome_words, words};
use crate::workloads::charts;
use drivescope_model::decision::{Advice, Decision, PartOutcome};
use drivescope_model::document::{Run, Series};
use drivescope_model::drive::Drive;
use drivescope_model::number::{one_decimal, whole};
use drivescope_model::plan::WriteLevel;
use drivescope_model::{Bytes, Secs, TestKind};
use maud::{Markup, html};

/// What a check cannot see, whatever it reads.
const NOT_SEEN: [&str; 3] = [
    "A check is about the day on which it was made: a drive may fail the day after.",
    "Without --destroy it only reads: a capacity that is not there, and flushes that are not done, stay unseen.",
    "Places that were never written, as on a new SSD, are answered without their flash being read.",
];

/// Everything but the frame of the page.
pub(super) fn certificate(run: &Run, decision: &Decision, name: &str) -> Markup {
    html! {
        header {
            p.small { "drivescope check · " (minute(&run.started_at))
                @if run.simulated { " · " span.badge { "simulated drive" } }
            }
            h1 { (name) }
            p.answer { strong { (capitalized(words(decision.advice))) } (because(decision.advice)) }
            @if !decision.reasons.is_empty() {
                ul { @for reason in &decision.reasons {
                    li { (reason.because)
                        @if !reason.seen.is_empty() { ": " (reason.seen) }
                        @if !reason.settle.is_empty() { br; span.small { (reason.settle) " " code { (reason.command) } } }
                    }
                } }
            }
        }
        section {
            h2 { "The drive" }
            dl.facts { @for (name, value) in identity(run) { dt { (name) } dd { (value) } } }
        }
        section {
            h2 { "What was tested" }
            div.scroll tabindex="0" role="region" aria-label="What was tested" {
                table.checked {
                    tbody { @for part in &decision.parts { tr {
                        th scope="row" { (capitalized(&part.part)) }
                        td { (outcome(part.outcome)) }
                        td { (part.result) }
                    } } }
                }
            }
            p.small { (how(run)) }
        }
        @let drawn = surface_chart(run);
        @if let Some(chart) = &drawn { section { div.charts { (figure(chart)) } } }
        (health::health(run))
        section {
            h2 { "What a check does not show" }
            ul { @for line in NOT_SEEN { li { (line) } } }
        }
        (document::download(run))
    }
}

fn because(advice: Advice) -> &'static str {
    match advice {
        Advice::Keep => ": nothing that was tested speaks against it.",
        Advice::NotSure => ", because",
        Advice::SendBack => ":",
    }
}

fn outcome(outcome: PartOutcome) -> Markup {
    html! {
        @if outcome == PartOutcome::Bad { strong { (outcome_words(outcome)) } }
        @else { (outcome_words(outcome)) }
    }
}

fn identity(run: &Run) -> Vec<(&'static str, String)> {
    let drive = run.drive.as_ref();
    let of = |get: fn(&Drive) -> Option<String>| drive.and_then(get);
    let capacity = drive.map_or(run.target.size_bytes, |drive| drive.capacity_bytes);
    let all = [
        ("Model", of(|drive| drive.model.clone())),
        ("Serial number", of(|drive| drive.serial.clone())),
        ("Firmware", of(|drive| drive.firmware.clone())),
        ("Capacity", Some(format!("{} ({} bytes)", Bytes(capacity), whole(capacity)))),
        ("Link", of(|drive| drive.link.as_ref().map(|link| link.name.clone()))),
        ("Tested as", Some(run.target.path.clone())),
        ("Begun", Some(to_the_second(&run.started_at))),
        ("Took", Some(Secs(run.elapsed_s).to_string())),
        ("Temperature", run.temperature.as_ref().and_then(temperatures)),
        ("Program", Some(format!("{} {}", run.tool.name, run.tool.version))),
        ("Run", Some(run.id.clone())),
        ("Label", run.label.clone()),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?.trim().to_string()))).collect()
}

/// `2026-11-29 13:59:29 +01:00`.
fn to_the_second(started_at: &str) -> String {
    let (date_and_time, rest) = started_at.split_at_checked(19).unwrap_or((started_at, ""));
    let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let zone = if matches!(zone, "Z" | "+00:00") { "UTC" } else { zone };
    format!("{} {zone}", date_and_time.replace('T', " "))
}

/// `31 to 44 °C in 1,208 readings`.
fn temperatures(series: &Series) -> Option<String> {
    let most = series.y.iter().copied().reduce(f64::max)?;
    let least = series.y.iter().copied().reduce(f64::min)?;
    let count = whole(series.y.len() as u64);
    Some(format!("{} to {} °C in {count} readings", one_decimal(least), one_decimal(most)))
}

fn how(run: &Run) -> String {
    let is_written = run.plan.active().any(|test| test.writes == WriteLevel::Destroy);
    let tests = run.plan.active().map(|test| test.test.name()).collect::<Vec<_>>().join(", ");
    let writes = if is_written {
        "the drive was written, and its old contents are lost"
    } else {
        "nothing was written"
    };
    format!("Tests: {tests}; {writes}.")
}

fn surface_chart(run: &Run) -> Option<Chart> {
    let result = run.tests.iter().find(|result| result.test == TestKind::Surface)?;
    charts(result).into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_by_people() {
        assert_eq!(to_the_second("2026-11-29T13:59:29.081044+00:00"), "2026-11-29 13:59:29 UTC");
        assert_eq!(to_the_second("2026-11-29T13:59:29.08+05:30"), "2026-11-29 13:59:29 +05:30");
    }
}
