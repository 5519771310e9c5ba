//! `--dry-run`: the plans, and what the gate says about block devices.

use super::PlannedRun;
use super::before_images;
use super::claim::own_places;
use super::write_permission::WritePermission;
use crate::exit::{Code, Failure};
use crate::output;
use crate::store_access::own_file;
use drivescope_drive::Target;
use drivescope_drive::gate::{self, Confirmation, Examination, GateRequest, OwnPaths};
use drivescope_machine::Roots;
use drivescope_model::gate::GateRecord;
use drivescope_model::plan::WriteLevel;
use drivescope_model::target::TargetKind;
use drivescope_report::text;
use drivescope_store::StoreLocation;
use std::path::PathBuf;

/// The exit code says whether the gate would let the plans run.
pub fn dry_run(
    runs: &[PlannedRun],
    store: Option<&str>,
    as_json: bool,
    permission: Option<&WritePermission>,
) -> Result<Code, Failure> {
    let store = StoreLocation::parse(store).ok();
    let own = own_places(store.and_then(|location| own_file(&location)));
    let opinion = |run: &PlannedRun| opinion(&run.target, permission, &own);
    let opinions: Vec<Option<GateRecord>> = runs.iter().map(opinion).collect();
    if as_json {
        print_plans_as_json(runs, &opinions)
    } else {
        print_plans(runs, &opinions, permission)
    }
    let records: Vec<GateRecord> = opinions.into_iter().flatten().collect();
    before_images::check(runs)?;
    conclude(&records, permission)
}

/// Each plan, with the gate's opinion if there is one.
fn print_plans_as_json(runs: &[PlannedRun], opinions: &[Option<GateRecord>]) {
    for (run, opinion) in runs.iter().zip(opinions) {
        let mut plan = serde_json::to_value(&run.plan).expect("plans are plain data");
        if let Some(record) = opinion {
            plan["gate"] = serde_json::to_value(record).expect("records are plain data");
        }
        output::print_document(&plan);
    }
}

fn print_plans(
    runs: &[PlannedRun],
    opinions: &[Option<GateRecord>],
    permission: Option<&WritePermission>,
) {
    for (run, opinion) in runs.iter().zip(opinions) {
        let style = output::style();
        let info = run.target.info();
        let program = concat!("drivescope ", env!("CARGO_PKG_VERSION"));
        let drive = run.target.drive();
        output::print_line(&text::header(program, &run.plan, info, drive, style));
        output::print_line(&text::plan(&run.plan, info, style));
        output::print_line(&format!("\n{}", text::dry_run(&run.plan, info, style)));
        if let Some(record) = opinion {
            print_opinion(record, permission);
        }
    }
}

/// The gate's opinion of a target; `None` if it is not a block device. Without permission, the lowest writing level is
/// checked.
fn opinion(
    target: &Target,
    permission: Option<&WritePermission>,
    own: &OwnPaths,
) -> Option<GateRecord> {
    if target.info().kind != TargetKind::Block {
        return None;
    }
    let (level, serials) = match permission {
        Some(WritePermission { level, serials }) => (*level, serials.as_slice()),
        None => (WriteLevel::SameBytes, &[][..]),
    };
    let path = PathBuf::from(&target.info().path);
    let request = GateRequest { path, level, range: None, own: own.clone() };
    let report: Examination = gate::examine(&Roots::host(), request);
    Some(report.record(&Confirmation::given(serials)))
}

/// Without permission, the opinion is for information only.
fn print_opinion(record: &GateRecord, permission: Option<&WritePermission>) {
    output::print_line(&format!("\n{}", text::gate(record, output::style())));
    if permission.is_none() {
        output::print_wrapped(
            "for information only: this run does not write to the device; for the other levels add --write \
             restore or --destroy SERIAL",
        );
    }
}

/// The exit code of a dry run. Serial numbers that no device has are reported: a typing mistake must not go unnoticed
/// because another device was named correctly.
fn conclude(records: &[GateRecord], permission: Option<&WritePermission>) -> Result<Code, Failure> {
    let Some(permission) = permission else { return Ok(Code::Ok) };
    permission.check_serials(records)?;
    let all_open = records.iter().all(GateRecord::is_allowed);
    Ok(if all_open { Code::Ok } else { Code::Refused })
}
