//! What the drive's SMART says of it before the run, and what rose during the run.

use drivescope_model::document::Series;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::health::{AttributeFailure, HEAT_WARNING, Health};
use drivescope_model::number::whole;
use drivescope_model::units::Secs;

/// Drives save their counters at different times, and some count a self-test's hour when it ends: less apart is normal.
const HOURS_APART_MAX: u64 = 24;

/// Known before the first request.
pub fn before_run(health: &Health) -> Vec<Finding> {
    let failing = failing(health);
    let disagreeing = disagreeing(health);
    let all = [(FindingId::FailingHealth, failing), (FindingId::CountersDisagree, disagreeing)];
    let seen = all.into_iter().filter(|(_, evidence)| !evidence.is_empty());
    seen.map(|(id, evidence)| Finding::new(id, evidence.join("; "))).collect()
}

/// What the drive counted more of than before the run.
pub fn risen(before: &Health, after: &Health) -> Vec<Finding> {
    let links = [("CRC errors", before.crc_errors, after.crc_errors)];
    let sectors = [
        ("reallocated sectors", before.reallocated_sectors, after.reallocated_sectors),
        ("pending sectors", before.pending_sectors, after.pending_sectors),
        (
            "offline-uncorrectable sectors",
            before.offline_uncorrectable,
            after.offline_uncorrectable,
        ),
        ("uncorrected errors", before.uncorrected_errors, after.uncorrected_errors),
    ];
    let groups = [(FindingId::LinkErrors, &links[..]), (FindingId::NewBadSectors, &sectors[..])];
    let found = groups.into_iter().filter_map(|(id, counters)| {
        let evidence: Vec<String> = counters.iter().filter_map(counter_rise).collect();
        (!evidence.is_empty()).then(|| Finding::new(id, evidence.join("; ")))
    });
    found.collect()
}

fn counter_rise((what, before, after): &(&str, Option<u64>, Option<u64>)) -> Option<String> {
    let (before, after) = (before.as_ref()?, after.as_ref()?);
    let more = after.checked_sub(*before).filter(|more| *more > 0)?;
    let (more, before, after) = (whole(more), whole(*before), whole(*after));
    Some(format!("{what}: {more} more ({before}, then {after})"))
}

/// A reading beyond the drive's limit.
pub fn too_hot(course: &Series, limit_c: f64) -> Option<Finding> {
    let readings = course.x.iter().zip(&course.y);
    let (at_s, most) = readings.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (*most > limit_c).then(|| {
        let after = Secs(*at_s);
        let evidence = format!("{most:.0} °C after {after}; the drive's limit is {limit_c:.0} °C");
        Finding::new(FindingId::Throttled, evidence)
    })
}

fn failing(health: &Health) -> Vec<String> {
    let mut evidence = Vec::new();
    evidence
        .extend((health.passed == Some(false)).then(|| "SMART's verdict is FAILED".to_string()));
    for it in health.attributes.iter().filter(|it| it.failed == Some(AttributeFailure::Now)) {
        let (value, threshold) = (it.value.map(whole), it.threshold.map(whole));
        let figures =
            value.zip(threshold).map(|(it, least)| format!(" (value {it}, threshold {least})"));
        evidence.push(format!(
            "attribute {} {} has reached its threshold{}",
            it.id,
            it.name,
            figures.unwrap_or_default()
        ));
    }
    let warnings = health.nvme.iter().flat_map(|log| &log.warnings);
    let nvme = warnings.filter(|warning| *warning != HEAT_WARNING);
    evidence.extend(nvme.map(|warning| format!("the drive warns: {warning}")));
    for (at, test) in health.self_tests.iter().enumerate() {
        // A later one of the same kind, if it ended, replaces its result.
        let is_newest = health.self_tests[..at]
            .iter()
            .all(|newer| newer.kind != test.kind || newer.passed.is_none());
        if test.passed == Some(false) && is_newest {
            let hours = test.power_on_hours.map(|hours| format!(" at {} h", whole(hours)));
            let hours = hours.unwrap_or_default();
            evidence.push(format!("self-test ({}){hours}: {}", test.kind, test.result));
        }
    }
    evidence
}

fn disagreeing(health: &Health) -> Vec<String> {
    let Some(hours) = health.power_on_hours else { return Vec::new() };
    let tested = health.self_tests.iter().filter_map(|test| test.power_on_hours).max();
    let farm = health.farm.as_ref();
    let others = [
        ("a self-test", tested),
        ("FARM", farm.and_then(|farm| farm.power_on)),
        ("FARM, platters turning,", farm.and_then(|farm| farm.spinning)),
        ("FARM, heads flying,", farm.and_then(|farm| farm.head_flight)),
    ];
    // The first of the largest.
    let largest = others.into_iter().rev().max_by_key(|(_, other)| *other);
    let larger = largest.and_then(|(what, other)| {
        let other = other.filter(|other| *other > hours.saturating_add(HOURS_APART_MAX))?;
        Some(format!("SMART counts {} hours, {what} {}", whole(hours), whole(other)))
    });
    larger.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::health::{FarmHours, NvmeHealth, SelfTest, SmartAttribute};

    fn new_drive() -> Health {
        Health {
            passed: Some(true),
            power_on_hours: Some(20),
            crc_errors: Some(12),
            reallocated_sectors: Some(0),
            pending_sectors: Some(0),
            uncorrected_errors: Some(0),
            ..Health::default()
        }
    }

    fn test(kind: &str, passed: Option<bool>, hours: u64) -> SelfTest {
        SelfTest {
            kind: kind.to_string(),
            result: "Completed: read failure".to_string(),
            passed,
            power_on_hours: Some(hours),
            first_bad_sector: None,
        }
    }

    #[track_caller]
    fn only(found: &[Finding], id: FindingId, evidence: &str) {
        let all: Vec<_> = found.iter().map(|it| (it.id, it.evidence.as_str())).collect();
        assert_eq!(all, [(id, evidence)]);
    }

    #[test]
    fn rising_crc_errors_blame_the_cable() {
        let after = Health { crc_errors: Some(15), ..new_drive() };
        let found = risen(&new_drive(), &after);
        let evidence = "CRC errors: 3 more (12, then 15)";
        only(&found, FindingId::LinkErrors, evidence);
        assert!(found[0].remedy.contains("cable"));
        assert_eq!(risen(&after, &new_drive()), []);
        assert_eq!(risen(&after, &after), []);
        assert_eq!(risen(&Health::default(), &after), [], "nothing is known of the time before");
    }

    #[test]
    fn rising_sectors_and_media_errors_are_counted() {
        let after =
            Health { pending_sectors: Some(8), reallocated_sectors: Some(1), ..new_drive() };
        let evidence =
            "reallocated sectors: 1 more (0, then 1); pending sectors: 8 more (0, then 8)";
        only(&risen(&new_drive(), &after), FindingId::NewBadSectors, evidence);
        let after = Health { uncorrected_errors: Some(2), ..new_drive() };
        let evidence = "uncorrected errors: 2 more (0, then 2)";
        only(&risen(&new_drive(), &after), FindingId::NewBadSectors, evidence);
    }

    #[test]
    fn new_drive_with_old_logs_is_not_new() {
        let tests = vec![test("Short offline", Some(true), 30_512)];
        let old = Health { self_tests: tests, ..new_drive() };
        let evidence = "SMART counts 20 hours, a self-test 30,512";
        only(&before_run(&old), FindingId::CountersDisagree, evidence);
        let farm = FarmHours { power_on: Some(44), spinning: Some(25), head_flight: Some(45) };
        let old = Health { farm: Some(farm), ..new_drive() };
        let evidence = "SMART counts 20 hours, FARM, heads flying, 45";
        only(&before_run(&old), FindingId::CountersDisagree, evidence);
        let tests = vec![test("Short offline", Some(true), 21)];
        assert_eq!(before_run(&Health { self_tests: tests, ..new_drive() }), []);
    }

    #[test]
    fn each_sign_of_failure_is_named() {
        fn attribute(failed: Option<AttributeFailure>) -> SmartAttribute {
            SmartAttribute {
                id: 5,
                name: "Reallocated_Sector_Ct".to_string(),
                raw: "1288".to_string(),
                value: Some(1),
                worst: Some(1),
                threshold: Some(140),
                failed,
            }
        }
        let failed = Health { passed: Some(false), ..new_drive() };
        only(&before_run(&failed), FindingId::FailingHealth, "SMART's verdict is FAILED");
        let with = |failed| Health { attributes: vec![attribute(failed)], ..new_drive() };
        let evidence =
            "attribute 5 Reallocated_Sector_Ct has reached its threshold (value 1, threshold 140)";
        let found = before_run(&with(Some(AttributeFailure::Now)));
        only(&found, FindingId::FailingHealth, evidence);
        assert_eq!(before_run(&with(Some(AttributeFailure::Past))), []);
        let warnings = vec![HEAT_WARNING.to_string(), "it takes no more writes".to_string()];
        let nvme = Some(NvmeHealth { warnings, ..NvmeHealth::default() });
        let found = before_run(&Health { nvme, ..new_drive() });
        only(&found, FindingId::FailingHealth, "the drive warns: it takes no more writes");
    }

    #[test]
    fn failed_self_test_counts_until_one_of_its_kind_passes() {
        let failed = test("Short offline", Some(false), 12);
        for (newer, counts) in [
            (test("Short offline", Some(true), 13), false),
            (test("Short offline", None, 13), true),
            (test("Extended offline", Some(true), 13), true),
        ] {
            let health = Health { self_tests: vec![newer, failed.clone()], ..new_drive() };
            let found = before_run(&health);
            assert_eq!(!found.is_empty(), counts, "{found:?}");
        }
    }
}
