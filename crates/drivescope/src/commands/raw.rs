//! Raw writes to block devices: what the user allows, and what the gate says to it.

use super::ask::Terminal;
use crate::arguments::RawArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_drive::gate::{self, Confirmation, Looks, OwnPlaces, RawDisk, Report, Request};
use drivescope_drive::{Target, journal};
use drivescope_machine::Roots;
use drivescope_model::document::GateCheck;
use drivescope_model::gate::{Check, GateRecord, Outcome};
use drivescope_model::plan::{Plan, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_report::text;
use std::path::PathBuf;

/// What the arguments allow.
#[derive(Debug, Clone)]
pub struct Allowed {
    level: WriteLevel,
    serials: Vec<String>,
}

impl Allowed {
    /// `None` when nothing may be written raw, which is the default.
    pub fn of(arguments: &RawArguments) -> Option<Self> {
        if !arguments.destroy.is_empty() {
            let serials = arguments.destroy.clone();
            return Some(Self { level: WriteLevel::Destroy, serials });
        }
        let write = arguments.write.clone()?;
        Some(Self { level: write.level, serials: write.serial.into_iter().collect() })
    }

    /// Whether raw writes to this target make sense.
    pub fn check_target(&self, target: &Target) -> Result<(), Failure> {
        let path = &target.info().path;
        let why = match target.info().kind {
            TargetKind::Block => return Ok(()),
            TargetKind::Directory => "is a directory, which is measured in a folder of its own",
            TargetKind::File => "is a file, which is only read",
            // It has bytes to keep, but neither a serial number nor anything to put back.
            TargetKind::Simulated if self.level == WriteLevel::SameBytes => return Ok(()),
            TargetKind::Simulated => "is simulated, and nothing of this machine is written",
        };
        let options = "--write and --destroy are for block devices";
        Err(Failure::usage(format!("{path} {why}; {options}")))
    }

    /// How block devices may be written.
    pub fn level(&self) -> WriteLevel {
        self.level
    }

    /// Whether a plan uses what was allowed; a claim without a use would only be a risk.
    pub fn check_plan(&self, plan: &Plan) -> Result<(), Failure> {
        let most = plan.active().map(|planned| planned.writes).max();
        let what = match most {
            Some(level) if level == self.level => return Ok(()),
            Some(level) if level >= WriteLevel::SameBytes => {
                format!("needs no more than --write {}", level.name())
            }
            _ => {
                "has no test that writes to block devices; leave --write and --destroy away".into()
            }
        };
        Err(Failure::usage(format!("level {}: this plan {what}", self.level.name())))
    }
}

/// Refuses two partitions of one disk: each claim takes the lock of the whole, so the call would be in its own
/// way.
pub fn check_lock(roots: &Roots, one: &Target, other: &Target) -> Result<(), Failure> {
    let name = |target: &Target| {
        let is_block = target.info().kind == TargetKind::Block;
        target.stack().names.first().filter(|_| is_block).cloned()
    };
    let names = name(one).zip(name(other));
    let disk = names.and_then(|(one, other)| gate::common_disk(roots, &one, &other));
    let Some(disk) = disk else { return Ok(()) };
    let (one, other) = (&one.info().path, &other.info().path);
    let both =
        format!("{one} and {other} are partitions of {disk}, and a claim locks the whole disk");
    Err(Failure::usage(format!("{both}; write to one in a call")))
}

/// Looks at a device that is to be written. Nothing is opened for writing, and nothing stays open.
pub fn look(target: &Target, allowed: &Allowed, own: &OwnPlaces) -> Report {
    let path = PathBuf::from(&target.info().path);
    let request = Request { path, level: allowed.level, range: None, own: own.clone() };
    gate::examine(&Roots::host(), request)
}

/// What confirms that this device may be written: what the options say or, where they say nothing, nothing
/// else speaks against it and somebody is there, what is typed after the plan was shown.
///
/// Errors: no answer.
pub fn confirm(
    plan: &Plan,
    target: &Target,
    report: &Report,
    allowed: &Allowed,
    terminal: Option<&Terminal>,
) -> Result<Confirmation, Failure> {
    let missing = report.missing_phrase().filter(|_| allowed.serials.is_empty());
    let (Some(phrase), Some(terminal)) = (missing, terminal) else {
        return Ok(Confirmation::given(&allowed.serials));
    };
    let style = output::style();
    output::show(&text::dry_run(plan, target.info(), style));
    let record = report.record(&Confirmation::typed(&phrase));
    let shown = ["identity", "answer", "signatures", "blankness"];
    for check in record.checks.iter().filter(|check| shown.contains(&&*check.name)) {
        output::note_under(&format!("{:<12}{}", check.name, check.evidence), 12);
    }
    let fate = match allowed.level {
        WriteLevel::Destroy => "lose its contents",
        _ => "be written for a while",
    };
    let path = &target.info().path;
    let question = format!("To let {path} {fate}, type {phrase}; anything else stops:");
    Ok(Confirmation::typed(&terminal.ask(path, &question)?))
}

/// Claims a device for writing, or refuses with every reason.
pub fn claim(
    target: &Target,
    report: Report,
    confirmation: &Confirmation,
) -> Result<RawDisk, Failure> {
    gate::claim(&Roots::host(), report, confirmation).map_err(|refusal| {
        let path = &target.info().path;
        for reason in refusal.to_string().lines() {
            output::note(reason);
        }
        let checks = match refusal.record.refusals().count() {
            1 => "one check refuses, told above".to_string(),
            count => format!("{count} checks refuse, told above"),
        };
        let message = format!("{path} is not written: {checks}; --dry-run shows all of them");
        Failure { message, code: Code::Refused }
    })
}

/// The gate's record as the run document keeps its checks.
pub fn checks(record: &GateRecord) -> Vec<GateCheck> {
    let level = GateCheck {
        check: "level".to_string(),
        passed: true,
        evidence: record.level.name().to_string(),
    };
    let of = |check: &Check| GateCheck {
        check: check.name.clone(),
        passed: check.outcome != Outcome::Refused,
        evidence: match check.outcome {
            Outcome::Unknown => format!("unknown: {}", check.evidence),
            _ => check.evidence.clone(),
        },
    };
    std::iter::once(level).chain(record.checks.iter().map(of)).collect()
}

/// The looks at a claimed device as the run document keeps them.
pub fn looks(made: &Looks) -> GateCheck {
    let Looks { made, whole, last, refused } = made;
    let found = if *refused { "somebody had come to use it" } else { "nobody had come to use it" };
    let evidence = format!(
        "{made} while it could be written, {whole} of them at everybody; the last {:.1} s after the claim: \
         {found}",
        last.as_secs_f64()
    );
    GateCheck { check: "looks".to_string(), passed: !refused, evidence }
}

/// What the gate says about one target; `None` for what is no block device.
///
/// Without anything allowed, the lowest level that writes is looked at.
pub fn opinion(target: &Target, allowed: Option<&Allowed>, own: &OwnPlaces) -> Option<GateRecord> {
    if target.info().kind != TargetKind::Block {
        return None;
    }
    let (level, serials) = match allowed {
        Some(Allowed { level, serials }) => (*level, serials.as_slice()),
        None => (WriteLevel::SameBytes, &[][..]),
    };
    let path = PathBuf::from(&target.info().path);
    let request = Request { path, level, range: None, own: own.clone() };
    let report: Report = gate::examine(&Roots::host(), request);
    Some(report.record(&Confirmation::given(serials)))
}

/// Prints what the gate says. Without anything allowed it is only for information.
pub fn print(record: &GateRecord, allowed: Option<&Allowed>) {
    output::print_line(&format!("\n{}", text::gate(record, output::style())));
    if allowed.is_none() {
        output::tell(
            "only for information, this run does not write to the device; see the other levels with \
             --write restore and --destroy SERIAL",
        );
    }
}

/// The exit code of a dry run, and serial numbers that no device has: a slip of the keyboard must not
/// go by unnoticed because another device was named rightly.
pub fn conclude(records: &[GateRecord], allowed: Option<&Allowed>) -> Result<Code, Failure> {
    let Some(allowed) = allowed else { return Ok(Code::Ok) };
    check_serials(records, allowed)?;
    let all_open = records.iter().all(GateRecord::is_allowed);
    Ok(if all_open { Code::Ok } else { Code::Refused })
}

/// A serial number that no target reports is a slip that must not go by unnoticed.
pub fn check_serials(records: &[GateRecord], allowed: &Allowed) -> Result<(), Failure> {
    let has = |serial: &String| {
        let devices = records.iter().filter_map(|record| record.device.as_ref());
        devices.map(|device| device.phrase()).any(|phrase| phrase == *serial)
    };
    if let Some(stray) = allowed.serials.iter().find(|serial| !has(serial)) {
        let message = format!("no target reports {stray}; see drivescope list for serial numbers");
        return Err(Failure { message, code: Code::Refused });
    }
    Ok(())
}

/// What the program keeps and must not overwrite.
pub fn own_places(store: Option<PathBuf>) -> OwnPlaces {
    OwnPlaces { store, journal: journal::state_folder().ok() }
}
