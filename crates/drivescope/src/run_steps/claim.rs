//! Claiming block devices: from what the gate sees and what the user confirms to devices that may be written.

use super::PlannedRun;
use super::prompt::Terminal;
use super::write_permission::WritePermission;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_drive::gate::{self, Confirmation, Examination, GateRequest, OwnPaths, RawDisk};
use drivescope_drive::{Target, journal};
use drivescope_machine::Roots;
use drivescope_model::gate::GateRecord;
use drivescope_model::plan::{Plan, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_report::text;
use std::path::PathBuf;

/// Claims every target, so that nothing is written unless everything may be; all are confirmed first.
pub fn claim_all(
    runs: &mut [PlannedRun],
    permission: &WritePermission,
    own: &OwnPaths,
    terminal: Option<&Terminal>,
) -> Result<(), Failure> {
    let mut confirmed = Vec::new();
    for run in runs.iter_mut().filter(|run| run.target.info().kind == TargetKind::Block) {
        let report = look(&run.target, permission, own);
        let confirmation = confirm(&run.plan, &run.target, &report, permission, terminal)?;
        confirmed.push((run, report, confirmation));
    }
    for (run, report, confirmation) in confirmed {
        run.claim = Some(claim(&run.target, report, &confirmation)?);
    }
    let claims = runs.iter().filter_map(|run| run.claim.as_ref());
    let records: Vec<GateRecord> = claims.map(|claim| claim.record().clone()).collect();
    permission.check_serials(&records)
}

/// Inspects a device that will be written. Nothing is opened for writing, and nothing stays open.
fn look(target: &Target, permission: &WritePermission, own: &OwnPaths) -> Examination {
    let path = PathBuf::from(&target.info().path);
    let request = GateRequest { path, level: permission.level, range: None, own: own.clone() };
    gate::examine(&Roots::host(), request)
}

/// Confirms that this device may be written: by the options or, if they do not and every other check passes, by a
/// user's answer at the terminal after the plan. Errors: no answer.
fn confirm(
    plan: &Plan,
    target: &Target,
    report: &Examination,
    permission: &WritePermission,
    terminal: Option<&Terminal>,
) -> Result<Confirmation, Failure> {
    let missing = report.missing_phrase().filter(|_| permission.serials.is_empty());
    let (Some(phrase), Some(terminal)) = (missing, terminal) else {
        return Ok(Confirmation::given(&permission.serials));
    };
    let style = output::style();
    output::show(&text::dry_run(plan, target.info(), style));
    let record = report.record(&Confirmation::typed(&phrase));
    let shown = ["identity", "answer", "signatures", "blankness"];
    for check in record.checks.iter().filter(|check| shown.contains(&&*check.name)) {
        output::note_under(&format!("{:<12}{}", check.name, check.evidence), 12);
    }
    let fate = match permission.level {
        WriteLevel::Destroy => "lose its contents",
        _ => "be overwritten and restored",
    };
    let path = &target.info().path;
    let question = format!("To let {path} {fate}, type {phrase}; anything else stops:");
    Ok(Confirmation::typed(&terminal.ask(path, &question)?))
}

/// Claims a device for writing. Errors: every reason against it.
fn claim(
    target: &Target,
    report: Examination,
    confirmation: &Confirmation,
) -> Result<RawDisk, Failure> {
    gate::claim(&Roots::host(), report, confirmation).map_err(|refusal| {
        let path = &target.info().path;
        for reason in refusal.to_string().lines() {
            output::note(reason);
        }
        let checks = match refusal.record.refusals().count() {
            1 => "refused by one check (see above)".to_string(),
            count => format!("refused by {count} checks (see above)"),
        };
        let message = format!("{path} is not written: {checks}; --dry-run shows all checks");
        Failure { message, code: Code::Refused }
    })
}

/// Paths of the program that must not be overwritten.
pub fn own_places(store: Option<PathBuf>) -> OwnPaths {
    OwnPaths { store, journal: journal::state_folder().ok() }
}
