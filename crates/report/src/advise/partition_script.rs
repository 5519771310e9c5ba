//! The commands that would make a layout: a script for sfdisk. Nothing here runs them.

use super::{DataLayout, DriveFigures, PlacedPartition};
use std::fmt::Write;

/// Type of partitions that Windows and macOS are to see (Microsoft basic data, UEFI specification 2.10).
const BASIC_DATA: &str = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7";
/// For drives without a device name, such as simulated ones.
const PLACEHOLDER: &str = "/dev/DRIVE";

/// A script for `sfdisk`, and the commands around it, for one drive. `None` if it has no partitions in the layout.
pub fn partition_script(
    drives: &[DriveFigures],
    layout: &DataLayout,
    drive: usize,
) -> Option<String> {
    let own: Vec<&PlacedPartition> =
        layout.placements.iter().filter(|it| it.drive == drive).collect();
    let figures = drives.get(drive).filter(|_| !own.is_empty())?;
    let device = if figures.path.starts_with("/dev/") { &figures.path } else { PLACEHOLDER };
    let mut script = format!(
        "# {}: sfdisk {device} < this file ERASES the partition table of {device}.\n\
         # First look at what is there: lsblk -o NAME,SIZE,MODEL,SERIAL,MOUNTPOINTS {device}\n\
         label: gpt\nunit: sectors\nsector-size: {}\n",
        figures.name, figures.sector_bytes
    );
    for placement in &own {
        let (start, size) = (
            placement.start / figures.sector_bytes,
            (placement.end - placement.start) / figures.sector_bytes,
        );
        let kind = match placement.need.file_system.as_deref() {
            Some("exfat" | "ntfs" | "fat32") => BASIC_DATA,
            Some("swap") => "swap",
            _ => "linux",
        };
        let name = &placement.need.name;
        let _ = writeln!(script, "start={start}, size={size}, type={kind}, name=\"{name}\"");
    }
    for (number, placement) in (1..).zip(&own) {
        let _ = writeln!(script, "# {}", make_file_system(placement, device, number));
    }
    Some(script)
}

fn make_file_system(placement: &PlacedPartition, device: &str, number: u32) -> String {
    let node = if device.ends_with(|c: char| c.is_ascii_digit()) {
        format!("{device}p{number}")
    } else {
        format!("{device}{number}")
    };
    let (command, label_max) = match placement.need.file_system.as_deref().unwrap_or("ext4") {
        "exfat" => ("mkfs.exfat -L", 11),
        "ntfs" => ("mkfs.ntfs --quick --label", 32),
        "fat32" => ("mkfs.fat -F 32 -n", 11),
        "xfs" => ("mkfs.xfs -L", 12),
        "btrfs" => ("mkfs.btrfs --label", 36),
        "f2fs" => ("mkfs.f2fs -l", 36),
        "swap" => ("mkswap --label", 15),
        _ => ("mkfs.ext4 -L", 16),
    };
    let label: String = placement.need.name.chars().take(label_max).collect();
    format!("{command} '{label}' {node}")
}
