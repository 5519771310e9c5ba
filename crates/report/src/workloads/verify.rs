//! `verify`: one line with the real size, how many bytes to keep and how sure that is; then the rates and
//! what the sectors held.

mod free_space;

use super::WorkloadReport;
use super::facts::FoundFact;
use crate::chart::plain_words::capitalized;
use crate::terminal::{Paragraph, Role, Style, value};
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::findings::FindingId;
use drivescope_model::number::{one_decimal, rounded, whole as in_full};
use drivescope_model::{Bytes, TestKind, TestResult};

// Rates over the whole drive, of a full run.
const EVIDENCE: &[Evidence] = &[
    Evidence::of_writes(Criterion::SequentialWrites, "verify.write.mb_s"),
    Evidence::of_writes(Criterion::SequentialReads, "verify.read.mb_s"),
];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Capacity",
    headline,
    facts,
    evidence: EVIDENCE,
    suits: Some(&["backup"]),
    ..WorkloadReport::new(TestKind::Verify, table)
};

/// `Capacity: 4.00 TB are real`, or what is not.
fn headline(result: &TestResult) -> Option<String> {
    let [announced, real] = ["announced_bytes", "real_bytes"]
        .map(|quantity| bytes(result, "capacity", quantity).map(Bytes));
    let (announced, real) = (announced?, real?);
    if bytes(result, "capacity", "free_bytes").is_some() {
        return Some(free_space::headline(result, announced, real));
    }
    let whole = bytes(result, "capacity", "device_bytes").map_or(announced, Bytes);
    Some(if value(result, "fake", "module_bytes").is_some() {
        format!("Capacity: FAKE, it claims {whole} and holds {real}")
    } else if bad_bytes(result) > 0 {
        format!("Capacity: {} of {announced} did not read back", Bytes(bad_bytes(result)))
    } else if whole != announced {
        format!("Capacity: {announced} of {whole} are real, the rest is not tested")
    } else {
        format!("Capacity: all {announced} are real")
    })
}

/// The lines of the terminal, which are sentences.
fn facts(result: &TestResult) -> Vec<FoundFact> {
    let style = Style { columns: usize::MAX / 2, ..Style::PLAIN };
    let text = table(result, style);
    let words = text.trim().trim_start_matches("verify").split('\n').map(str::trim);
    words
        .filter(|words| !words.is_empty())
        .map(|words| FoundFact::new("").item(Role::Plain, capitalized(words)))
        .collect()
}

fn table(result: &TestResult, style: Style) -> String {
    if result.metrics.is_empty() {
        return String::new();
    }
    let text = verdict(result, style) + &sectors(result, style);
    text + &rates(result, style)
}

fn bytes(result: &TestResult, cell: &str, quantity: &str) -> Option<u64> {
    // Sizes are whole and below 2^53.
    value(result, cell, quantity).map(|bytes| bytes as u64)
}

fn verdict(result: &TestResult, style: Style) -> String {
    let paragraph = Paragraph::new().lead(Role::Title, "verify").lead(Role::Plain, "  ");
    let capacity = |quantity| bytes(result, "capacity", quantity);
    let (Some(announced), Some(real)) = (capacity("announced_bytes"), capacity("real_bytes"))
    else {
        return unjudged(result, paragraph, style);
    };
    if let Some(free) = capacity("free_bytes") {
        return free_space::verdict(result, paragraph, (announced, real, free)).lines(2, style);
    }
    let whole = capacity("device_bytes").map(Bytes);
    let announced_text = Bytes(announced);
    if value(result, "fake", "module_bytes").is_none() {
        let sure = value(result, "capacity", "sure_pct").unwrap_or(0.0);
        let sure_text = if sure >= 100.0 {
            "every sector checked".to_string()
        } else {
            let sure = format!("{sure:.3}");
            format!("{sure} % sure to find one if 1 % of the blocks were bad")
        };
        let bad = bad_bytes(result);
        let caches = capacity("cache_bytes").map(Bytes);
        let paragraph = if bad > 0 {
            paragraph
                .item(Role::Bad, format!("{} of {announced_text} did not read back", Bytes(bad)))
                .item(Role::Plain, "keep nothing on it")
        } else if let Some(whole) = whole {
            paragraph
                .item(Role::Good, format!("{announced_text} of {whole} are real"))
                .item(Role::Warn, "the rest is not tested: run without --size")
        } else {
            paragraph
                .item(Role::Good, format!("the capacity is real: {announced_text}"))
                .item(Role::Plain, "keep all of it")
        };
        return paragraph
            .item(Role::Dim, &sure_text)
            .items(Role::Dim, caches.map(|cache| format!("caches up to {cache} ruled out")))
            .lines(2, style);
    }
    let claimed = whole.unwrap_or(announced_text);
    let kept = one_decimal(real as f64 / claimed.0.max(1) as f64 * 100.0);
    let how = match bytes(result, "fake", "module_bytes").unwrap_or(0) {
        0 => "data written beyond that are lost".to_string(),
        module => format!("addresses repeat after {}", Bytes(module)),
    };
    paragraph
        .item(Role::Bad, format!("FAKE: claims {claimed}, holds {}", Bytes(real)))
        .item(Role::Plain, format!("use only the first {} bytes ({kept} %)", in_full(real)))
        .item(Role::Plain, &how)
        .item(Role::Dim, "certain: data were lost")
        .lines(2, style)
}

/// Why there is no statement on the capacity: not all was done, or requests failed.
fn unjudged(result: &TestResult, paragraph: Paragraph, style: Style) -> String {
    let capacity = |quantity| bytes(result, "capacity", quantity);
    if capacity("free_bytes").is_some() {
        return free_space::unjudged(result, paragraph).lines(2, style);
    }
    let has_lost = result.findings.iter().any(|finding| finding.id == FindingId::DataMismatch);
    let (role, text) = match (capacity("announced_bytes"), capacity("silent_bytes")) {
        (None, _) => {
            let text = "capacity not judged: this run did not write and read all of it";
            (Role::Warn, text.to_string())
        }
        (Some(announced), None) if has_lost => {
            let announced = Bytes(announced);
            let text = format!(
                "the drive loses data: some blocks of {announced} did not keep what was written (F019), others \
                 beyond them did; capacity not judged"
            );
            (Role::Bad, text)
        }
        (Some(announced), None) => {
            let announced = Bytes(announced);
            let text = format!(
                "capacity not judged: some blocks of {announced} could not be read or written (F017), others \
                 beyond them could; --set verify.mode=full tells more"
            );
            (Role::Bad, text)
        }
        (Some(announced), Some(0)) => {
            let text = format!(
                "nothing of {} could be written and read back: the drive is fake or broken",
                Bytes(announced)
            );
            (Role::Bad, text)
        }
        (Some(announced), Some(silent)) => {
            let text = format!(
                "nothing beyond {} ({} bytes) of {} could be written and read back: the drive is fake or \
                 broken; capacity beyond not judged",
                Bytes(silent),
                in_full(silent),
                Bytes(announced)
            );
            (Role::Bad, text)
        }
    };
    paragraph.text(role, &text).lines(2, style)
}

/// The kinds of sectors that did not read back as written.
const BAD: [&str; 4] = ["changed", "overwritten", "lost", "unreadable"];

fn held(result: &TestResult, kind: &str) -> u64 {
    bytes(result, "read", &format!("{kind}_bytes")).unwrap_or(0)
}

fn bad_bytes(result: &TestResult) -> u64 {
    BAD.into_iter().map(|kind| held(result, kind)).sum()
}

/// What the sectors held, if not all were intact.
fn sectors(result: &TestResult, style: Style) -> String {
    let of = |kind: &str| held(result, kind);
    if bad_bytes(result) == 0 {
        return String::new();
    }
    let bad = BAD.into_iter().filter(|kind| of(kind) > 0);
    Paragraph::new()
        .lead(Role::Dim, "  ")
        .item(Role::Plain, format!("{} intact", Bytes(of("intact"))))
        .items(Role::Bad, bad.map(|kind| format!("{} {kind}", Bytes(of(kind)))))
        .lines(2, style)
}

/// How fast everything was written and read, in a full run.
fn rates(result: &TestResult, style: Style) -> String {
    let rates = [("write", "written"), ("read", "read back")];
    let rates = rates.into_iter().filter_map(|(cell, what)| {
        Some(format!("{what} at {} MB/s", rounded(value(result, cell, "mb_s")?)))
    });
    let paragraph = Paragraph::new().lead(Role::Dim, "  ").items(Role::Plain, rates);
    paragraph.lines_if_words(2, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{measured, must_have};
    use drivescope_model::findings::Finding;

    fn verified(metrics: &[(&str, f64)]) -> String {
        table(&measured(TestKind::Verify, metrics), Style::default())
    }

    const ANNOUNCED: (&str, f64) = ("capacity.announced_bytes", 64e9);

    #[test]
    fn honest_drive_is_called_real_with_evidence() {
        let real = ("capacity.real_bytes", 64e9);
        let quick = verified(&[ANNOUNCED, real, ("capacity.sure_pct", 99.9966)]);
        must_have(&quick, &["the capacity is real: 64.0 GB · keep all of it", "99.997 %"]);
        let full = verified(&[ANNOUNCED, real, ("capacity.sure_pct", 100.0)]);
        assert!(full.contains("every sector checked"), "{full}");
    }

    #[test]
    fn fake_is_named_with_the_usable_bytes() {
        let text = verified(&[
            ANNOUNCED,
            ("capacity.real_bytes", 8_000_000_000.0),
            ("capacity.sure_pct", 100.0),
            ("fake.module_bytes", 8_000_000_000.0),
            ("read.intact_bytes", 8e9),
            ("read.overwritten_bytes", 56e9),
            ("read.mb_s", 90.0),
        ]);
        must_have(
            &text,
            &[
                "FAKE: claims 64.0 GB, holds 8.00 GB",
                "use only the first 8,000,000,000 bytes",
                "addresses repeat after 8.00 GB",
                "8.00 GB intact · 56.0 GB overwritten\n",
            ],
        );
    }

    #[test]
    fn lossy_drive_gets_no_advice_to_keep_all() {
        for kind in BAD {
            let text = verified(&[
                ANNOUNCED,
                ("capacity.real_bytes", 64e9),
                ("capacity.sure_pct", 100.0),
                ("read.intact_bytes", 64e9 - 512.0),
                (&format!("read.{kind}_bytes"), 512.0),
            ]);
            assert!(text.contains("512 B of 64.0 GB did not read back"), "{text}");
            assert!(!text.contains("keep all") && !text.contains("is real"), "{text}");
        }
    }

    #[test]
    fn caches_covered_by_the_search_are_named() {
        let real = ("capacity.real_bytes", 64e9);
        let cache = ("capacity.cache_bytes", f64::from(256 << 20));
        let text = verified(&[ANNOUNCED, real, ("capacity.sure_pct", 99.9966), cache]);
        assert!(text.contains("caches up to 268 MB ruled out"), "{text}");
    }

    #[test]
    fn failed_requests_are_not_fraud() {
        let text = verified(&[ANNOUNCED, ("capacity.written_bytes", 1e6)]);
        assert!(text.contains("not judged") && text.contains("F017"), "{text}");
        let text = verified(&[ANNOUNCED, ("capacity.silent_bytes", 8e9)]);
        must_have(
            &text,
            &["nothing beyond 8.00 GB (8,000,000,000 bytes) of 64.0 GB", "fake or broken"],
        );
        let none = verified(&[ANNOUNCED, ("capacity.silent_bytes", 0.0)]);
        assert!(none.contains("nothing of 64.0 GB could be written"), "{none}");
        for text in [text, none] {
            assert!(!text.contains("FAKE") && !text.contains("certain"), "{text}");
        }
    }

    #[test]
    fn lost_data_before_good_ones_are_not_fraud() {
        let mut lost = measured(TestKind::Verify, &[ANNOUNCED]);
        lost.findings.push(Finding::new(FindingId::DataMismatch, "blocks lost".to_string()));
        let text = table(&lost, Style::default());
        assert!(text.contains("the drive loses data: some blocks of 64.0 GB"), "{text}");
        assert!(!text.contains("FAKE") && !text.contains("F017"), "{text}");
    }

    #[test]
    fn half_a_run_gives_no_verdict() {
        let text = verified(&[("write.mb_s", 90.0)]);
        assert!(text.contains("not judged") && text.contains("written at 90.0 MB/s"), "{text}");
    }
}
