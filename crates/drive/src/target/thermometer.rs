//! The temperature of the drive below a target, for a thread of its own.

use super::Target;
use drivescope_machine::list::{health_of, temperature_of};
use drivescope_machine::roots::Roots;
use drivescope_model::drive::Drive;

/// Reads the temperature of one drive.
pub struct Thermometer {
    roots: Roots,
    disk: String,
    /// The drive that is asked by SMART; `None`: the kernel has a sensor.
    by_smart: Option<Drive>,
}

impl Target {
    /// `None` of simulated drives, and where nothing shows a temperature.
    pub fn thermometer(&self, may_ask_smart: bool) -> Option<Thermometer> {
        if self.simulated.is_some() {
            return None;
        }
        let disk = self.stack.whole_disks.first()?.clone();
        let has_sensor = self.temperature_c().is_some();
        let by_smart = self.drive().filter(|drive| may_ask_smart && drive.health.now_c.is_some());
        let by_smart = by_smart.filter(|_| !has_sensor).cloned();
        (has_sensor || by_smart.is_some()).then(|| Thermometer {
            roots: self.roots.clone(),
            disk,
            by_smart,
        })
    }
}

impl Thermometer {
    /// Whether reading it does not disturb the drive.
    pub fn is_cheap(&self) -> bool {
        self.by_smart.is_none()
    }

    /// Degrees Celsius now; `None` while nothing answers, and of a sleeping drive.
    pub fn celsius(&self) -> Option<f64> {
        match &self.by_smart {
            Some(drive) => health_of(&self.roots, drive).now_c,
            None => temperature_of(&self.roots, &self.disk),
        }
    }
}
