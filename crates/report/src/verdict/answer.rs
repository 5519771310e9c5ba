//! The answer of a run in one sentence: what the drive is, how it is, and what it is good for.

use crate::verdict::criteria::Criterion;
use crate::verdict::{borderline, found_missing};
use crate::workloads::{answer_to, usable};
use drivescope_model::document::{Rule, Run, Verdict};
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::number::{latency_us, rounded, whole};
use drivescope_model::{FindingId, Severity};

/// Later rounds may change a figure of a first look by this factor.
const SLACK: f64 = 2.0;

/// Medians of a small read anywhere, the one in the heading of its test first.
const SMALL_READ_WAITS: [&str; 2] =
    ["latency.span100.lat_p50_us", "transfer.rnd4k_q1t1.read.lat_p50_us"];

/// `A SATA SSD, healthy: good for a system and databases, adequate for backups.` During the run, only what
/// later figures will hardly change. `None` without a drive, or if nothing was judged.
pub fn answer(run: &Run, is_running: bool) -> Option<String> {
    sentence(run, is_running, "")
}

/// The same with figures, for pages, which mark simulated drives themselves: `A SATA hard disk: reads 181 MB/s, …; good
/// for …`.
pub(crate) fn answer_with_figures(run: &Run) -> Option<String> {
    fn rate(words: &str, value: f64) -> String {
        format!("{words} {} MB/s", rounded(value))
    }
    let of = |criterion| answer_to(run, criterion).map(|metric| metric.value);
    let figures = [
        of(Criterion::SequentialReads).map(|value| rate("reads", value)),
        of(Criterion::SequentialWrites).map(|value| rate("writes", value)),
        SMALL_READ_WAITS
            .into_iter()
            .find_map(|key| usable(run, key))
            .map(|wait| format!("takes {} for a small read", latency_us(wait.value))),
    ];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    let figures: Vec<&str> = figures.iter().map(String::as_str).collect();
    sentence(run, false, &listed(&figures))
}

/// The kind of a drive, which begins the sentence on a page: `SATA hard disk`.
pub(crate) fn kind_words(drive: &Drive) -> String {
    what(drive, false)
}

fn sentence(run: &Run, is_running: bool, figures: &str) -> Option<String> {
    let drive = run.drive.as_ref()?;
    let what = with_article(&what(drive, run.simulated && figures.is_empty()));
    let faults = run.findings.iter().filter(|finding| finding.severity == Severity::Problem);
    let mut faults: Vec<&str> = faults.map(|finding| finding.id.spec().in_short()).collect();
    if found_missing(run).is_some() {
        faults.push(FindingId::FakeCapacity.spec().in_short());
    }
    faults.dedup();
    if !faults.is_empty() {
        return Some(format!("{what}, faulty: {}.", faults.join(", ")));
    }
    let verdicts = run.verdict.iter().filter(|verdict| !is_running || is_settled(verdict));
    let nature = nature(run);
    let Some(uses) = uses(&verdicts.collect::<Vec<_>>(), run) else {
        // What it is counts, also where nothing says yet what it is good for.
        return (!nature.is_empty()).then(|| format!("{what}{nature}{}.", health(drive)));
    };
    let gap = if figures.is_empty() { "" } else { "; " };
    Some(format!("{what}{nature}{}: {figures}{gap}{uses}{}.", health(drive), doubt(run)))
}

/// Why the figures may be those of the moment, not of the drive.
fn doubt(run: &Run) -> String {
    let words = [
        (FindingId::OtherIo, "other programs used the drive"),
        (FindingId::BusyProcessors, "other programs were busy"),
        (FindingId::IoLimited, "a control group limited the rate"),
        (FindingId::BlankTarget, "most of it was empty"),
    ];
    let warned = |id: FindingId| {
        let mut warnings = run.findings.iter().filter(|it| it.severity == Severity::Warning);
        warnings.any(|finding| finding.id == id)
    };
    let seen = words.into_iter().filter(|(id, _)| warned(*id));
    let seen: Vec<String> = seen.map(|(id, words)| format!("{words} ({id})")).collect();
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    if seen.is_empty() { String::new() } else { format!("; measured while {}", listed(&seen)) }
}

/// `SATA SSD`, `simulated USB hard disk`.
fn what(drive: &Drive, is_simulated: bool) -> String {
    let link = match drive.transport.as_str() {
        _ if drive.has_sata_link() => "SATA ",
        "sas" => "SAS ",
        "usb" => "USB ",
        _ => "",
    };
    let rotates = drive.rotational_hint || drive.rpm > Some(1);
    let name = match drive.kind {
        DriveKind::Simulated if rotates => format!("{link}hard disk"),
        DriveKind::HardDisk => format!("{link}hard disk"),
        DriveKind::Simulated if drive.transport == "nvme" => "NVMe SSD".to_string(),
        DriveKind::Nvme => "NVMe SSD".to_string(),
        DriveKind::Ssd | DriveKind::Simulated => format!("{link}SSD"),
        DriveKind::Card => "memory card".to_string(),
        DriveKind::Optical => "optical drive".to_string(),
        DriveKind::Virtual => "virtual disk".to_string(),
        DriveKind::Loop => "loop device".to_string(),
        DriveKind::Memory => "RAM disk".to_string(),
        DriveKind::Composite => "composite drive".to_string(),
        DriveKind::Unknown => format!("{link}drive"),
    };
    if is_simulated { format!("simulated {name}") } else { name }
}

fn with_article(what: &str) -> String {
    // As they are spoken: en-vee-em-ee, ess-ess-dee.
    let an = ["NVMe", "SSD", "optical"].iter().any(|begin| what.starts_with(begin));
    format!("{} {what}", if an { "An" } else { "A" })
}

/// Properties that the name does not show, and that decide its uses.
fn nature(run: &Run) -> String {
    let has = |id: FindingId| run.findings.iter().any(|finding| finding.id == id);
    let words = [
        (FindingId::Shingled, ", shingled"),
        (FindingId::FlushIgnored, ", which answers flushes before data are safe"),
    ];
    words.into_iter().filter(|(id, _)| has(*id)).map(|(_, words)| words).collect()
}

/// Empty if unknown.
fn health(drive: &Drive) -> String {
    match (drive.health.passed, drive.health.bad_sectors) {
        (Some(false), _) => ", failing by its own account".to_string(),
        (_, Some(bad)) if bad > 0 => format!(", with {} bad sectors", whole(bad)),
        (Some(true), _) => ", healthy".to_string(),
        _ => String::new(),
    }
}

/// `good for a system and databases, adequate for backups`, and what the next run may change.
fn uses(verdicts: &[&Verdict], run: &Run) -> Option<String> {
    let judged: Vec<(&str, u8)> =
        verdicts.iter().filter_map(|v| Some((v.suits.as_str(), v.points?))).collect();
    let clauses = clauses(&judged, run.verdict.len())?;
    let near = verdicts.iter().filter(|v| v.points.is_some() && v.borderline.is_some());
    let near: Vec<String> = near
        .map(|verdict| {
            let name = phrase(&verdict.suits);
            let words = borderline::of_verdict(verdict, run);
            words.map_or_else(|| name.to_string(), |words| format!("{name}: {words}"))
        })
        .collect();
    Some(match near.as_slice() {
        [] => clauses,
        near => format!("{clauses} (borderline for {})", near.join("; for ")),
    })
}

/// `all`: number of uses, with or without a verdict.
fn clauses(judged: &[(&str, u8)], all: usize) -> Option<String> {
    if judged.is_empty() {
        return None;
    }
    if judged.len() == all && all > 1 && judged.iter().all(|(_, points)| *points == 3) {
        return Some("good for every use".to_string());
    }
    let groups = [(3, "good for"), (2, "adequate for"), (1, "slow for"), (0, "not for")];
    let clauses = groups.into_iter().filter_map(|(points, words)| {
        let names = judged.iter().filter(|(_, p)| *p == points).map(|(name, _)| phrase(name));
        let names: Vec<&str> = names.collect();
        (!names.is_empty()).then(|| format!("{words} {}", listed(&names)))
    });
    Some(clauses.collect::<Vec<_>>().join(", "))
}

/// The short form in the sentence: `a system` for `system drive`.
fn phrase(suits: &str) -> &str {
    match suits {
        "system drive" => "a system",
        "database" => "databases",
        "media library" => "a media library",
        "backup" => "backups",
        other => other,
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        names => names.concat(),
    }
}

/// Whether the points stay the same if each figure changes by [`SLACK`].
fn is_settled(verdict: &Verdict) -> bool {
    let least = |slack: f64| verdict.rules.iter().map(|rule| points(rule, slack)).min();
    verdict.points.is_some() && least(SLACK) == least(1.0 / SLACK)
}

/// Points of a rule for its value times `times`.
fn points(rule: &Rule, times: f64) -> usize {
    let value = rule.value * times;
    let meets = |limit: &&f64| {
        if rule.smaller_is_better { rule.value / times <= **limit } else { value >= **limit }
    };
    rule.thresholds.iter().filter(meets).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, interrupted, memory, nvme};
    use crate::verdict::judge;
    use drivescope_model::health::Health;

    fn judged_answer(mut run: Run, is_running: bool) -> Option<String> {
        run.verdict = judge(&run);
        answer(&run, is_running)
    }

    fn judged(mut run: Run, points: [Option<u8>; 5]) -> String {
        run.verdict = judge(&run);
        for (verdict, points) in run.verdict.iter_mut().zip(points) {
            verdict.points = points;
        }
        answer(&run, false).unwrap()
    }

    #[test]
    fn sentence_names_drive_health_and_uses() {
        let healthy = Health { passed: Some(true), ..Health::default() };
        let mut ssd = nvme();
        let drive = ssd.drive.as_mut().unwrap();
        (drive.kind, drive.transport, drive.health) = (DriveKind::Ssd, "sata".into(), healthy);
        drive.link = None;
        for (points, uses) in [
            (
                [Some(3), Some(3), Some(2), Some(2), Some(2)],
                "good for a system and databases, adequate for virtual machines, a media library and backups",
            ),
            ([Some(3); 5], "good for every use"),
            (
                [Some(1), Some(0), Some(0), Some(3), Some(3)],
                "good for a media library and backups, slow for a system, not for databases and virtual machines",
            ),
            (
                [Some(3), None, None, Some(2), Some(0)],
                "good for a system, adequate for a media library, not for backups",
            ),
            (
                [Some(0); 5],
                "not for a system, databases, virtual machines, a media library and backups",
            ),
        ] {
            assert_eq!(judged(ssd.clone(), points), format!("A SATA SSD, healthy: {uses}."));
        }
    }

    #[test]
    fn sentence_names_borderline_use_and_other_programs() {
        let mut run = nvme();
        run.verdict = judge(&run);
        let rules = run.verdict[4].rules.iter();
        let metric =
            rules.map(|rule| rule.metric.clone()).find(|key| key.contains("write")).unwrap();
        let all = run.tests.iter_mut().flat_map(|test| &mut test.metrics);
        let metric = all.into_iter().find(|it| it.key == metric).unwrap();
        (metric.value, metric.low, metric.high) = (104.0, 90.0, 110.0);
        run.verdict = judge(&run);
        let sentence = answer(&run, false).unwrap();
        let words = "good for every use (borderline for backups: sequential writes at 104 MB/s, just above 100 MB/s, \
                     interval 90.0 MB/s to 110 MB/s).";
        assert!(sentence.ends_with(words), "{sentence}");
        let busy = drivescope_model::Finding::new(FindingId::BusyProcessors, "x");
        run.findings.push(busy);
        let sentence = answer(&run, false).unwrap();
        assert!(
            sentence.ends_with("; measured while other programs were busy (F034)."),
            "{sentence}"
        );
        run.findings[0].severity = Severity::Note;
        assert!(!answer(&run, false).unwrap().contains("F034"));
    }

    #[test]
    fn drive_description_follows_from_identity() {
        fn name(kind: DriveKind, transport: &str, rpm: Option<u32>, is_simulated: bool) -> String {
            let mut drive = nvme().drive.unwrap();
            (drive.kind, drive.transport, drive.rpm) = (kind, transport.into(), rpm);
            drive.link = drive.link.filter(|_| rpm.is_none());
            with_article(&what(&drive, is_simulated))
        }
        assert_eq!(name(DriveKind::Nvme, "nvme", None, false), "An NVMe SSD");
        assert_eq!(name(DriveKind::HardDisk, "usb", Some(7200), false), "A USB hard disk");
        assert_eq!(
            name(DriveKind::Simulated, "sata", Some(5400), true),
            "A simulated SATA hard disk"
        );
        assert_eq!(name(DriveKind::Simulated, "nvme", None, true), "A simulated NVMe SSD");
        // SATA's commands over PCIe, as the link of an NVMe SSD says.
        assert_eq!(name(DriveKind::Simulated, "sata", None, true), "A simulated SSD");
        assert_eq!(name(DriveKind::Virtual, "virtio", None, false), "A virtual disk");
    }

    #[test]
    fn shingling_and_lying_flushes_are_named() {
        let mut run = hard_disk();
        run.findings = [FindingId::Shingled, FindingId::FlushIgnored]
            .map(|id| drivescope_model::Finding::new(id, "x"))
            .to_vec();
        let sentence = judged_answer(run, false).unwrap();
        assert!(sentence.contains("disk, shingled, which answers flushes before"), "{sentence}");
    }

    #[test]
    fn sentence_of_a_page_has_figures_and_leaves_the_simulation_to_its_mark() {
        let mut run = hard_disk();
        run.simulated = true;
        run.verdict = judge(&run);
        let sentence = answer_with_figures(&run).unwrap();
        let figures = "hard disk, healthy: reads 178 MB/s, writes 172 MB/s and takes 13.1 ms for a small read; good for";
        assert!(sentence.contains(figures), "{sentence}");
        assert!(!sentence.contains("simulated"), "{sentence}");
        assert!(answer(&run, false).unwrap().contains("simulated"));
    }

    #[test]
    fn faults_come_first_without_drive_no_sentence() {
        let faulty = judged_answer(interrupted(), false).unwrap();
        assert!(faulty.ends_with("faulty: requests failed."), "{faulty}");
        assert_eq!(judged_answer(memory(), false), None);
    }

    #[test]
    fn first_look_names_only_clear_uses() {
        let mut run = hard_disk();
        assert!(judged_answer(run.clone(), false).unwrap().contains("backups"));
        // 171 MB/s of writes where 100 are wanted, 149 reads/s where 60 are.
        let running = judged_answer(run.clone(), true).unwrap();
        assert!(!running.contains("backups") && running.contains("databases"), "{running}");
        run.tests.clear();
        assert_eq!(judged_answer(run, true), None);
        // A use that is not sure yet does not count as good.
        let mut run = nvme();
        run.verdict = judge(&run);
        assert!(answer(&run, true).unwrap().contains("good for every use"));
        run.verdict[0].rules[0].value = run.verdict[0].rules[0].thresholds[0];
        let sure = answer(&run, true).unwrap();
        assert!(sure.contains("good for databases") && !sure.contains("a system"), "{sure}");
    }
}
