//! The temperature of a drive, from the kernel's drivers drivetemp and nvme.

use super::link::nvme_controller;
use crate::block_device::{BlockDevice, numbered};
use crate::roots::{list_dir, read_number};

/// What a sensor in a drive can mean, in degrees; others are errors of a drive's firmware.
const SENSIBLE_C: std::ops::RangeInclusive<f64> = -60.0..=150.0;

/// Reading of the first sensor of the drive's hwmon device; of an NVMe drive this is the composite
/// temperature.
pub fn temperature_c(device: &BlockDevice) -> Option<f64> {
    reading_c(device, "temp1_input")
}

/// The temperature from which on the drive calls itself too hot: WCTEMP of NVMe, the recommended maximum of
/// drivetemp. `None` where the drive does not say.
pub fn warning_c(device: &BlockDevice) -> Option<f64> {
    reading_c(device, "temp1_max").filter(|&celsius| celsius > 0.0)
}

fn reading_c(device: &BlockDevice, file: &str) -> Option<f64> {
    let near = device.dir.join("device");
    let mut places = vec![near.join("hwmon"), near];
    if let Some(controller) = nvme_controller(device) {
        // Kernels before 5.17 put it below the PCI device, some right below the controller.
        places.extend([controller.join("hwmon"), controller.join("device/hwmon"), controller]);
    }
    let milli: f64 = places.iter().find_map(|place| {
        list_dir(place)
            .iter()
            .filter(|name| numbered(name, "hwmon").is_some())
            .find_map(|name| read_number(place.join(name).join(file)))
    })?;
    Some(milli / 1000.0).filter(|celsius| SENSIBLE_C.contains(celsius))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    #[test]
    fn sensors_are_found_wherever_kernels_put_them() {
        for place in ["nvme/nvme0/hwmon1", "nvme/nvme0/hwmon/hwmon1", "hwmon/hwmon1"] {
            let fake = Fake::new();
            let card = "pci0000:00/0000:02:00.0";
            fake.disk(&format!("{card}/nvme/nvme0/nvme0n1"), (259, 0), 1 << 30);
            fake.link(&format!("sys/devices/{card}/nvme/nvme0/device"), "../..");
            let device = BlockDevice::open(&fake.roots, "nvme0n1").unwrap();
            assert_eq!((temperature_c(&device), warning_c(&device)), (None, None));
            fake.file(&format!("sys/devices/{card}/{place}/temp1_input"), "38850\n");
            assert_eq!(
                (temperature_c(&device), warning_c(&device)),
                (Some(38.85), None),
                "{place}"
            );
            fake.file(&format!("sys/devices/{card}/{place}/temp1_max"), "83850\n");
            assert_eq!(warning_c(&device), Some(83.85), "{place}");
        }
    }

    #[test]
    fn readings_that_cannot_be_are_none() {
        let fake = Fake::new();
        fake.scsi_disk("pci0000:00/host0/0:0:0:0/block/sda", (8, 0), 1 << 30);
        let sensor = "sys/devices/pci0000:00/host0/0:0:0:0/hwmon/hwmon0/temp1_input";
        for (reading, expected) in
            [("31000", Some(31.0)), ("-5000", Some(-5.0)), ("-273150", None), ("hot", None)]
        {
            fake.file(sensor, reading);
            let found = temperature_c(&BlockDevice::open(&fake.roots, "sda").unwrap());
            assert_eq!(found, expected, "{reading}");
        }
    }
}
