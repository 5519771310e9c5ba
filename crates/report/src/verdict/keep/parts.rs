//! What a check has tested, each part with its result in a line.

use super::surface_read::SurfaceRead;
use super::{COUNT_RULES, has, is_about, is_beside_blank, last_health, result_of};
use crate::verdict::capacity;
use drivescope_model::decision::{CheckedPart, PartOutcome};
use drivescope_model::document::Run;
use drivescope_model::findings::FindingId;
use drivescope_model::number::{one_decimal, whole};
use drivescope_model::options::VerifyMode;
use drivescope_model::units::Bytes;
use drivescope_model::{TestKind, TestStatus};

type PartResult = (PartOutcome, String);
type LookAtPart = fn(&Run) -> PartResult;

pub(super) fn parts(run: &Run) -> Vec<CheckedPart> {
    let all: [(&str, LookAtPart); 7] = [
        ("health", health),
        ("self-test", self_test),
        ("identity", identity),
        ("surface", surface),
        ("capacity", capacity_part),
        ("flushes", flushes),
        ("temperature", temperature),
    ];
    let part = |(part, look): (&str, LookAtPart)| {
        let (outcome, result) = look(run);
        CheckedPart { part: part.to_string(), outcome, result }
    };
    all.into_iter().map(part).collect()
}

fn bad_if(is_bad: bool) -> PartOutcome {
    if is_bad { PartOutcome::Bad } else { PartOutcome::Good }
}

fn any(run: &Run, ids: &[FindingId]) -> bool {
    ids.iter().any(|id| has(run, *id))
}

fn health(run: &Run) -> PartResult {
    let Some(last) = last_health(run) else {
        let note = run.drive.as_ref().and_then(|drive| drive.health.note.clone());
        let note = note.unwrap_or_else(|| "no drive is known below this target".to_string());
        return (
            PartOutcome::NotTested,
            note.strip_prefix("health: ").unwrap_or(&note).to_string(),
        );
    };
    let counts = COUNT_RULES.iter().any(|it| (it.count)(last).is_some_and(|n| n >= it.least));
    let ids = [FindingId::FailingHealth, FindingId::NewBadSectors, FindingId::LinkErrors];
    let verdict = last.passed.map(|passed| if passed { "SMART passed" } else { "SMART FAILED" });
    let count = |what: &str, count: Option<u64>| Some(format!("{} {what}", whole(count?)));
    let facts = [
        verdict.map(str::to_string),
        count("h", last.power_on_hours),
        count("reallocated", last.reallocated_sectors),
        count("pending", last.pending_sectors),
        count("uncorrected", last.uncorrected_errors),
        count("CRC errors", last.crc_errors),
        count("% of endurance", last.wear_pct),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    (bad_if(counts || any(run, &ids)), facts.join(", "))
}

fn self_test(run: &Run) -> PartResult {
    let Some(result) = result_of(run, TestKind::SelfTest) else {
        return (PartOutcome::NotTested, "not part of this run".to_string());
    };
    let Some(test) = &result.self_test else {
        let why = match result.status {
            TestStatus::Interrupted => "interrupted".to_string(),
            _ => result.reason.clone().unwrap_or_else(|| "without a result".to_string()),
        };
        return (PartOutcome::NotTested, why);
    };
    let place = test.first_bad_sector.map(|sector| format!(" at sector {}", whole(sector)));
    let outcome = test.passed.map_or(PartOutcome::NotTested, |passed| bad_if(!passed));
    (outcome, format!("{}: {}{}", test.kind, test.result, place.unwrap_or_default()))
}

fn identity(run: &Run) -> PartResult {
    let Some(drive) = &run.drive else {
        return (PartOutcome::NotTested, "no drive is known below this target".to_string());
    };
    let serial = drive.serial.as_deref().map_or("without a serial number".to_string(), |serial| {
        format!("serial {}", serial.trim())
    });
    let model = drive.model.as_deref().unwrap_or("unknown model").trim();
    let facts = format!("{model}, {serial}, {}", Bytes(drive.capacity_bytes));
    if has(run, FindingId::CountersDisagree) {
        return (PartOutcome::Bad, format!("{facts}; its counters contradict each other"));
    }
    (bad_if(has(run, FindingId::VirtualDrive)), facts)
}

fn surface(run: &Run) -> PartResult {
    let read = SurfaceRead::of(run);
    let size = Bytes(run.target.size_bytes);
    let ids = [FindingId::DriveGone, FindingId::IoError, FindingId::SlowRegion, FindingId::Stall];
    let about = |id: &FindingId| {
        run.findings.iter().find(|it| it.id == *id && is_about(it, TestKind::Surface))
    };
    let counts = |id: &&FindingId| **id != FindingId::SlowRegion || !is_beside_blank(run);
    if let Some(found) = ids.iter().filter(counts).find_map(about) {
        return (PartOutcome::Bad, format!("{} ({})", found.evidence, found.id));
    }
    let outcome = if read.is_nothing() { PartOutcome::NotTested } else { bad_if(!read.is_whole()) };
    let blank = if has(run, FindingId::BlankTarget) {
        "; much of it was never written, which hides slow places"
    } else {
        ""
    };
    (outcome, read.result(size) + blank)
}

fn capacity_part(run: &Run) -> PartResult {
    if let Some(found) = run.findings.iter().find(|it| it.id == FindingId::FakeCapacity) {
        return (PartOutcome::Bad, format!("{} ({})", found.evidence, found.id));
    }
    let wrong = run.findings.iter().find(|it| it.id == FindingId::DataMismatch);
    if let Some(found) = wrong {
        return (PartOutcome::Bad, format!("{} ({})", found.evidence, found.id));
    }
    match (capacity::tested_capacity(run), &run.earlier_capacity) {
        (Some(found), _) => {
            let how = match run.plan.suite.verify.mode {
                VerifyMode::Full => "all of it written and read back",
                VerifyMode::Quick => "written and read back in samples",
            };
            (PartOutcome::Good, format!("{}, {how}", Bytes(found.real_bytes)))
        }
        (None, Some(earlier)) => {
            let is_missing = earlier.real_bytes < earlier.announced_bytes;
            let bytes = Bytes(earlier.real_bytes);
            (bad_if(is_missing), format!("{bytes} kept, as run {} found", earlier.run))
        }
        (None, None) => (PartOutcome::NotTested, "needs --destroy SERIAL".to_string()),
    }
}

fn flushes(run: &Run) -> PartResult {
    let ids = [FindingId::FlushIgnored, FindingId::FreeFlush];
    if let Some(found) = run.findings.iter().find(|it| ids.contains(&it.id)) {
        return (PartOutcome::Bad, format!("{} ({})", found.evidence, found.id));
    }
    let synced = run.metric("transfer.rnd4k_q1t1.sync.iops");
    match synced.filter(|metric| metric.valid) {
        Some(_) => (PartOutcome::Good, "a flush waits for the medium".to_string()),
        None => (PartOutcome::NotTested, "needs --destroy SERIAL".to_string()),
    }
}

fn temperature(run: &Run) -> PartResult {
    let before = run.drive.as_ref().map(|drive| &drive.health);
    let ends = [before, run.health_after.as_ref()].into_iter().flatten();
    let ends = ends.filter_map(|health| health.now_c);
    let course = run.temperature.iter().flat_map(|series| series.y.iter().copied());
    let all: Vec<f64> = ends.chain(course).filter(|celsius| celsius.is_finite()).collect();
    let Some(most) = all.iter().copied().reduce(f64::max) else {
        return (PartOutcome::NotTested, "the drive reports none".to_string());
    };
    let least = all.iter().copied().fold(most, f64::min);
    let limit = last_health(run).and_then(|health| health.limit_c);
    let words = match limit {
        Some(limit) => format!(", limit {} °C", one_decimal(limit)),
        None => String::new(),
    };
    let is_hot = limit.is_some_and(|limit| most > limit);
    let [least, most] = [least, most].map(one_decimal);
    let range = if least == most { most } else { format!("{least} to {most}") };
    (bad_if(is_hot), format!("{range} °C{words}"))
}
