//! What the user allows to be written to block devices.

use crate::arguments::RawArguments;
use crate::exit::{Code, Failure};
use drivescope_drive::Target;
use drivescope_drive::gate::{self, GateRequest, OwnPaths};
use drivescope_machine::Roots;
use drivescope_model::gate::GateRecord;
use drivescope_model::plan::{Plan, WriteLevel};
use drivescope_model::shell::quoted;
use drivescope_model::target::TargetKind;
use std::path::PathBuf;

/// The refusal of a plan that needs a raw write, with the command that allows it, including the serial number.
pub fn with_command(refusal: Failure, target: &Target) -> Failure {
    let levels = [
        ("--write same-bytes", None),
        ("--write restore", Some(':')),
        ("--destroy SERIAL", Some(' ')),
    ];
    let Some((option, phrase)) =
        levels.into_iter().find(|(option, _)| refusal.message.contains(option))
    else {
        return refusal;
    };
    let path = PathBuf::from(&target.info().path);
    let own = OwnPaths::default();
    let request = GateRequest { path, level: WriteLevel::Destroy, range: None, own };
    let examination = gate::examine(&Roots::host(), request);
    let Some(device) = examination.device() else { return refusal };
    let option = option.trim_end_matches(" SERIAL");
    let option = match phrase {
        Some(between) => format!("{option}{between}{}", quoted(&device.phrase())),
        None => option.to_string(),
    };
    let words = std::env::args().skip(1).map(|word| quoted(&word).to_string());
    let words = words.collect::<Vec<_>>().join(" ");
    Failure {
        message: format!("{}; type: drivescope {words} {option}", refusal.message),
        ..refusal
    }
}

#[derive(Debug, Clone)]
pub struct WritePermission {
    pub level: WriteLevel,
    /// Confirmations: serial numbers, or other phrases.
    pub serials: Vec<String>,
}

impl WritePermission {
    /// `None`, the default, allows no raw writes.
    pub fn of(arguments: &RawArguments) -> Option<Self> {
        if !arguments.destroy.is_empty() {
            let serials = arguments.destroy.clone();
            return Some(Self { level: WriteLevel::Destroy, serials });
        }
        let write = arguments.write.clone()?;
        Some(Self { level: write.level, serials: write.serial.into_iter().collect() })
    }

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

    /// Refuses a plan that needs more, or that does not use the permission: an unused claim is only a risk.
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

    /// A serial number that no target has is a mistake that must not go unnoticed.
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
