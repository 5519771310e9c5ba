//! Whether this run or an earlier one tested the capacity of a drive, and the command to test it.

use drivescope_model::Run;
use drivescope_model::document::EarlierCapacity;
use drivescope_model::shell::quoted;
use drivescope_model::target::TargetKind;

/// A target of this share of the drive is the whole drive: a few blocks at its end may be left out.
const WHOLE_SHARE: f64 = 0.99;
pub(super) const NAME: &str = "capacity";

/// Whether this run or an earlier one has tested all of the drive.
pub(super) fn is_tested(run: &Run) -> bool {
    let drive_bytes = run.drive.as_ref().map_or(0, |drive| drive.capacity_bytes);
    tested_capacity(run)
        .is_some_and(|found| found.announced_bytes as f64 >= WHOLE_SHARE * drive_bytes as f64)
        || run.earlier_capacity.is_some()
}

/// Capacity of the whole target from a run of `verify`; `None` if it was not tested or not judged.
pub fn tested_capacity(run: &Run) -> Option<EarlierCapacity> {
    let bytes = |quantity: &str| {
        let metric = run.metric(&format!("verify.capacity.{quantity}_bytes"))?;
        (metric.valid && metric.value >= 0.0).then_some(metric.value as u64)
    };
    let is_fake = run.metric("verify.fake.module_bytes").is_some();
    // Missing capacity counts, whatever part was tested.
    let announced_bytes = match bytes("device") {
        None => bytes("announced")?,
        Some(whole) if is_fake => whole,
        Some(_) => return None,
    };
    Some(EarlierCapacity {
        run: run.id.clone(),
        started_at: run.started_at.clone(),
        announced_bytes,
        real_bytes: bytes("real")?,
    })
}

/// An earlier run that found less than the drive announces.
pub(crate) fn found_missing(run: &Run) -> Option<&EarlierCapacity> {
    run.earlier_capacity.as_ref().filter(|found| found.real_bytes < found.announced_bytes)
}

/// `capacity not tested: drivescope run /dev/sdb --test verify --destroy SERIAL (erases the drive)`, if a verdict lacks
/// it and the drive is known.
pub(crate) fn remedy(run: &Run) -> Option<String> {
    let lacks = |name: &String| name == NAME;
    if !run.verdict.iter().any(|verdict| verdict.not_tested.iter().any(lacks)) {
        return None;
    }
    let drive = run.drive.as_ref()?;
    let command = match run.target.kind {
        TargetKind::Simulated => {
            format!("drivescope run {} --test verify", quoted(&run.target.path))
        }
        _ => {
            let serial = drive.serial.as_deref().map_or("SERIAL", str::trim);
            let name = drive.name.trim_start_matches("/dev/");
            format!(
                "drivescope run {} --test verify --destroy {} (erases the drive)",
                quoted(&format!("/dev/{name}")),
                quoted(serial)
            )
        }
    };
    Some(format!("capacity not tested: {command}"))
}
