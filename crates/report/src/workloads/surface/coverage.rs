//! How much of the drive was read, what of it could not be read or was slow, and what samples would have shown.

use super::super::facts::FoundFact;
use crate::terminal::{Paragraph, Role, Style, value};
use drivescope_model::number::{one_decimal, rounded, whole};
use drivescope_model::{Bytes, TestResult};

/// A smaller share is not worth a figure.
const SHARE_MIN_PCT: f64 = 0.01;

/// Nothing for samples of which no coverage is known.
pub(super) fn facts(result: &TestResult) -> Vec<FoundFact> {
    let lines = [read(result), seen(result), unreadable(result), slow(result)];
    lines.into_iter().flatten().collect()
}

/// The same in the terminal.
pub(super) fn lines(result: &TestResult, style: Style) -> String {
    let line = |fact: FoundFact| {
        let paragraph = Paragraph::new().lead(Role::Dim, "  ");
        let words = format!("{}: {}", fact.name, fact.words());
        paragraph.item(Role::Plain, words.trim()).lines(2, style)
    };
    facts(result).into_iter().map(line).collect()
}

/// `read: 0.8 % of the drive at 4,000 places`.
fn read(result: &TestResult) -> Option<FoundFact> {
    let share = value(result, "read", "share_pct")?;
    let of_drive = match share {
        share if share >= 100.0 => "all of the drive".to_string(),
        // Not all of it, however little is missing.
        share if share > 99.9 => "more than 99.9 % of the drive, not all".to_string(),
        share if share < SHARE_MIN_PCT => format!("less than {SHARE_MIN_PCT} % of the drive"),
        share => format!("{} % of the drive", rounded(share)),
    };
    let places = value(result, "spread", "places").map(|places| whole(places as u64));
    let places = places.map(|places| format!("{of_drive} at {places} places, at random"));
    Some(FoundFact::new("read").item(Role::Plain, places.unwrap_or(of_drive)))
}

/// What would have been seen, had it been there.
fn seen(result: &TestResult) -> Option<FoundFact> {
    let of = |quantity| value(result, "spread", quantity).filter(|share| *share < 100.0);
    let failing = of("failing_region_pct")
        .map(|share| format!("a failing region of {} % of the drive or more", rounded(share)));
    let slow = of("slow_region_pct")
        .map(|share| format!("a slow one in one piece of {} %", rounded(share)));
    let both: Vec<String> = failing.into_iter().chain(slow).collect();
    let words = format!("{} would have been seen with 98 %", both.join(", "));
    (!both.is_empty()).then(|| FoundFact::new("confidence").item(Role::Plain, words))
}

fn unreadable(result: &TestResult) -> Option<FoundFact> {
    let bytes = value(result, "unreadable", "unreadable_bytes")?;
    let stretches = value(result, "unreadable", "stretches")?;
    let fact = FoundFact::new("unreadable");
    if stretches == 0.0 {
        return Some(fact.item(Role::Plain, "none"));
    }
    let end = value(result, "unreadable", "silent_bytes").map(|first| Bytes(first as u64));
    let end = end.map(|first| format!("nothing can be read after {first}"));
    Some(fact.item(Role::Bad, places(stretches, bytes)).items(Role::Bad, end))
}

fn slow(result: &TestResult) -> Option<FoundFact> {
    let stretches = value(result, "slow", "stretches")?;
    let bytes = value(result, "slow", "slow_bytes")?;
    let words = if stretches == 0.0 { "none".to_string() } else { places(stretches, bytes) };
    let role = if stretches == 0.0 { Role::Plain } else { Role::Warn };
    Some(FoundFact::new("slow").item(role, words))
}

/// `3 places, 12.3 kB`.
fn places(stretches: f64, bytes: f64) -> String {
    let places = if stretches == 1.0 { "place" } else { "places" };
    format!("{} {places}, {}", one_decimal(stretches), Bytes(bytes as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{metric, must_have, result};
    use drivescope_model::TestKind;

    fn text(metrics: &[(&str, f64)]) -> String {
        let metrics =
            metrics.iter().map(|(key, value)| metric(&format!("surface.{key}"), &[*value]));
        let style = Style { columns: 200, ..Style::PLAIN };
        lines(&result(TestKind::Surface, metrics.collect()), style)
    }

    #[test]
    fn full_read_names_what_cannot_be_read() {
        let good = [
            ("read.share_pct", 100.0),
            ("unreadable.stretches", 0.0),
            ("unreadable.unreadable_bytes", 0.0),
            ("slow.stretches", 0.0),
            ("slow.slow_bytes", 0.0),
        ];
        must_have(&text(&good), &["read: all of the drive", "unreadable: none", "slow: none"]);
        let bad = [
            ("read.share_pct", 99.99999),
            ("unreadable.stretches", 3.0),
            ("unreadable.unreadable_bytes", 12_288.0),
            ("unreadable.silent_bytes", 67.1e6),
            ("slow.stretches", 1.0),
            ("slow.slow_bytes", 2e9),
        ];
        let text = text(&bad);
        must_have(&text, &["more than 99.9 % of the drive, not all", "3 places, 12.3 kB"]);
        must_have(&text, &["nothing can be read after 67.1 MB", "slow: 1 place, 2.00 GB"]);
    }

    #[test]
    fn samples_say_with_which_confidence() {
        let metrics = [
            ("read.share_pct", 0.8),
            ("spread.places", 4000.0),
            ("spread.failing_region_pct", 0.0978),
            ("spread.slow_region_pct", 0.075),
        ];
        let text = text(&metrics);
        must_have(&text, &["read: 0.800 % of the drive at 4,000 places, at random"]);
        must_have(&text, &["a failing region of 0.0978 % of the drive or more, a slow one"]);
        must_have(&text, &["in one piece of 0.0750 % would have been seen with 98 %"]);
        assert_eq!(super::facts(&result(TestKind::Surface, Vec::new())), []);
    }
}
