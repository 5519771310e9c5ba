//! Whether this run or an earlier one tested the capacity of a drive, and the command to test it.

use drivescope_model::Run;
use drivescope_model::document::EarlierCapacity;
use drivescope_model::shell::quoted;
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;

/// A target of this share of the drive is the whole drive: a few blocks at its end may be left out.
const WHOLE_SHARE: f64 = 0.99;
pub(super) const NAME: &str = "capacity";

/// Whether this run or an earlier one has tested all of the drive.
pub(super) fn is_tested(run: &Run) -> bool {
    let drive_bytes = run.drive.as_ref().map_or(0, |drive| drive.capacity_bytes);
    let is_whole = |found: EarlierCapacity| {
        found.is_of_free_space || found.announced_bytes as f64 >= WHOLE_SHARE * drive_bytes as f64
    };
    tested_capacity(run).is_some_and(is_whole) || run.earlier_capacity.is_some()
}

/// `Capacity tested in 57.2 GB of free space`, if only the files of a directory did.
pub(super) fn tested_in_free_space(run: &Run) -> Option<String> {
    let own = tested_capacity(run);
    let found = own.as_ref().or(run.earlier_capacity.as_ref());
    let found = found.filter(|found| found.is_of_free_space)?;
    Some(format!("Capacity tested in {} of free space only", Bytes(found.announced_bytes)))
}

/// Capacity of the whole target from a run of `verify`; `None` if it was not tested or not judged.
pub fn tested_capacity(run: &Run) -> Option<EarlierCapacity> {
    let bytes = |quantity: &str| {
        let metric = run.metric(&format!("verify.capacity.{quantity}_bytes"))?;
        (metric.valid && metric.value >= 0.0).then_some(metric.value as u64)
    };
    let is_fake = run.metric("verify.fake.module_bytes").is_some();
    let (announced, free) = (bytes("announced")?, bytes("free"));
    // Of a directory, all that is free can be tested.
    let is_of_free_space = free.is_some_and(|free| announced >= free);
    // Missing capacity counts, whatever part was tested.
    let announced_bytes = match bytes("device") {
        Some(whole) if is_fake => whole,
        Some(_) if !is_of_free_space => return None,
        None if free.is_some() && !is_of_free_space => return None,
        _ => announced,
    };
    Some(EarlierCapacity {
        run: run.id.clone(),
        started_at: run.started_at.clone(),
        announced_bytes,
        real_bytes: bytes("real")?,
        is_of_free_space,
    })
}

/// An earlier run that found less than the drive announces.
pub(crate) fn found_missing(run: &Run) -> Option<&EarlierCapacity> {
    run.earlier_capacity.as_ref().filter(|found| found.real_bytes < found.announced_bytes)
}

/// `capacity not tested: drivescope run /dev/sdb --test verify --destroy SERIAL (erases the drive)`, if a verdict lacks
/// it and the drive is known. In a directory the test fills free space, and erases nothing.
pub(crate) fn remedy(run: &Run) -> Option<String> {
    if !run.verdict.iter().any(|verdict| verdict.not_tested.iter().any(|name| name == NAME)) {
        return None;
    }
    let drive = run.drive.as_ref()?;
    let command = match run.target.kind {
        TargetKind::Simulated | TargetKind::Directory => {
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
