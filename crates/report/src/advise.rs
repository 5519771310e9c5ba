//! Advice from runs: where on which drives data should lie, and what to change on the machine. Pure functions of
//! documents; nothing here changes a drive.

mod drive_figures;
mod layout;
mod machine;
mod partition_script;

pub use drive_figures::DriveFigures;
pub use layout::{DataLayout, PlacedPartition, place};
pub use machine::{MachineChange, machine_changes};
pub use partition_script::partition_script;

use drivescope_model::units::Bytes;
use serde::Serialize;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DataUse {
    /// Random reads and writes that users wait for: systems, virtual machines, databases, games.
    Fast,
    Bulk,
    /// Rarely read: backups, archives, exchange.
    Cold,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Need {
    /// What the user calls it; also the label of its partition.
    pub name: String,
    pub bytes: u64,
    pub data_use: DataUse,
    pub file_system: Option<String>,
}

const FILE_SYSTEMS: [&str; 8] = ["ext4", "xfs", "btrfs", "f2fs", "exfat", "ntfs", "fat32", "swap"];
const USES: [(DataUse, &[&str]); 2] = [
    (
        DataUse::Fast,
        &[
            "vm", "virtual", "database", "db", "sql", "system", "root", "home", "game", "mail",
            "build", "scratch", "swap",
        ],
    ),
    (DataUse::Cold, &["backup", "archive", "exchange", "transfer", "snapshot", "share", "cold"]),
];
/// A GPT name holds 36 characters; file systems' labels hold fewer and are cut.
const NAME_MAX: usize = 36;

impl FromStr for Need {
    type Err = String;

    /// `vms:2TB,fast`, `exchange:500GB,exfat`.
    fn from_str(text: &str) -> Result<Self, String> {
        let form = "a need is NAME:SIZE, such as vms:2TB,fast or exchange:500GB,exfat";
        let (name, rest) = text.split_once(':').ok_or(form)?;
        let name = name.trim();
        let is_plain = |c: char| c.is_alphanumeric() || "-_ .".contains(c);
        if name.is_empty() || name.chars().count() > NAME_MAX || !name.chars().all(is_plain) {
            return Err(format!("a name has 1 to {NAME_MAX} letters, digits, spaces, - _ or ."));
        }
        let mut words = rest.split(',').map(str::trim);
        let size = words.next().unwrap_or("");
        let bytes = size.parse::<Bytes>().map_err(|error| format!("{error}; {form}"))?.0;
        if bytes < MIN.0 {
            return Err(format!("{name} needs {} or more", MIN.binary()));
        }
        let lower = name.to_lowercase();
        let known = USES.iter().find(|(_, parts)| parts.iter().any(|part| lower.contains(part)));
        let data_use = known.map_or(DataUse::Bulk, |(data_use, _)| *data_use);
        let mut need = Self { name: name.to_string(), bytes, data_use, file_system: None };
        for word in words {
            match word.to_lowercase().as_str() {
                "fast" => need.data_use = DataUse::Fast,
                "bulk" => need.data_use = DataUse::Bulk,
                "slow" | "cold" => need.data_use = DataUse::Cold,
                fs if FILE_SYSTEMS.contains(&fs) => need.file_system = Some(fs.to_string()),
                _ => {
                    let all = FILE_SYSTEMS.join(", ");
                    return Err(format!(
                        "'{word}' is not fast, bulk, cold or a file system ({all})"
                    ));
                }
            }
        }
        Ok(need)
    }
}

/// A smaller partition is a mistake.
const MIN: Bytes = Bytes::mib(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_described_and_mistakes_named() {
        let vms: Need = "vms:2TB,fast".parse().unwrap();
        assert_eq!((vms.bytes, vms.data_use), (2_000_000_000_000, DataUse::Fast));
        let exchange: Need = "exchange:2TB,exfat".parse().unwrap();
        assert_eq!(exchange.data_use, DataUse::Cold);
        assert_eq!(exchange.file_system.as_deref(), Some("exfat"));
        assert_eq!("photos:9TB".parse::<Need>().unwrap().data_use, DataUse::Bulk);
        assert_eq!("backup:3TB,bulk".parse::<Need>().unwrap().data_use, DataUse::Bulk);
        for (text, words) in [
            ("vms", "NAME:SIZE"),
            ("vms:2 furlongs", "NAME:SIZE"),
            ("vms:2TB,quick", "'quick' is not"),
            ("vms:12", "or more"),
            (":2TB", "a name has"),
            ("a/b:2TB", "a name has"),
        ] {
            let message = text.parse::<Need>().unwrap_err();
            assert!(message.contains(words) && !message.contains('\n'), "{text}: {message}");
        }
    }
}
