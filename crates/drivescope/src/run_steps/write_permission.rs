//! What the user allows to be written to block devices.

use crate::arguments::RawArguments;
use crate::exit::{Code, Failure};
use drivescope_drive::Target;
use drivescope_model::gate::GateRecord;
use drivescope_model::plan::{Plan, WriteLevel};
use drivescope_model::target::TargetKind;

/// What the arguments allow.
#[derive(Debug, Clone)]
pub struct WritePermission {
    /// How block devices may be written.
    pub level: WriteLevel,
    /// What confirms that: serial numbers, or other phrases.
    pub serials: Vec<String>,
}

impl WritePermission {
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
            TargetKind::Directory => "is a directory, and is measured in a folder of its own",
            TargetKind::File => "is a file, and files are only read",
            // It has bytes to keep, but neither a serial number nor anything to put back.
            TargetKind::Simulated if self.level == WriteLevel::SameBytes => return Ok(()),
            TargetKind::Simulated => "is simulated, and nothing on this machine is written",
        };
        let options = "--write and --destroy are for block devices";
        Err(Failure::usage(format!("{path} {why}; {options}")))
    }

    /// Whether a plan uses is permitted; a claim that nothing uses would only be a risk.
    pub fn check_plan(&self, plan: &Plan) -> Result<(), Failure> {
        let most = plan.active().map(|planned| planned.writes).max();
        let what = match most {
            Some(level) if level == self.level => return Ok(()),
            Some(level) if level >= WriteLevel::SameBytes => {
                format!("needs no more than --write {}", level.name())
            }
            _ => "has no test that writes to block devices; omit --write and --destroy".into(),
        };
        Err(Failure::usage(format!("level {}: this plan {what}", self.level.name())))
    }

    /// A serial number that no target reports is a slip that must not go by unnoticed.
    pub fn check_serials(&self, records: &[GateRecord]) -> Result<(), Failure> {
        let has = |serial: &String| {
            let devices = records.iter().filter_map(|record| record.device.as_ref());
            devices.map(|device| device.phrase()).any(|phrase| phrase == *serial)
        };
        if let Some(stray) = self.serials.iter().find(|serial| !has(serial)) {
            let message =
                format!("no target reports {stray}; see drivescope list for serial numbers");
            return Err(Failure { message, code: Code::Refused });
        }
        Ok(())
    }
}
