//! How block devices may be written.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use drivescope_model::plan::WriteLevel;
use std::path::PathBuf;
use std::str::FromStr;

/// How block devices may be written; not at all if nothing is given.
#[derive(Debug, Clone, Default, Args)]
pub struct RawArguments {
    /// Allow writes that keep contents: same-bytes, restore.
    ///
    /// restore:SERIAL is for a device with contents. surface then also writes; with restore, so does transfer. destroy
    /// erases the device after asking for its
    /// serial number at the terminal.
    #[arg(long, value_name = "LEVEL", conflicts_with = "destroy")]
    pub write: Option<WriteName>,
    /// Erase the device with this serial number.
    ///
    /// MODEL:BYTES if it has none.
    #[arg(long, value_name = "SERIAL", value_parser = NonEmptyStringValueParser::new())]
    pub destroy: Vec<String>,
    /// A damaged restore journal that does not tell its drive, and cannot be of these targets.
    #[arg(long, value_name = "JOURNAL", hide_short_help = true)]
    pub not_of: Vec<PathBuf>,
}

/// What `--write` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteName {
    /// Same-bytes, restore, or destroy, which a user at a terminal must confirm.
    pub level: WriteLevel,
    /// Serial number of the device that has contents.
    pub serial: Option<String>,
}

impl FromStr for WriteName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, serial) = match text.split_once(':') {
            Some((name, serial)) => (name, Some(serial.to_string())),
            None => (text, None),
        };
        match (name, serial) {
            ("same-bytes", None) => Ok(Self { level: WriteLevel::SameBytes, serial: None }),
            ("same-bytes", Some(_)) => Err("same-bytes takes no serial number".to_string()),
            ("restore", Some(serial)) if serial.is_empty() => {
                Err("no serial number follows restore:".to_string())
            }
            ("restore", serial) => Ok(Self { level: WriteLevel::Restore, serial }),
            ("destroy", None) => Ok(Self { level: WriteLevel::Destroy, serial: None }),
            ("destroy", Some(_)) => Err("with a serial number use --destroy SERIAL".to_string()),
            _ => Err(format!("unknown level '{name}'; use same-bytes, restore or destroy")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_may_have_colons() {
        let name: WriteName = "restore:Flash: Disk:4096".parse().unwrap();
        assert_eq!(
            (name.level, name.serial.as_deref()),
            (WriteLevel::Restore, Some("Flash: Disk:4096"))
        );
        assert_eq!("restore".parse::<WriteName>().unwrap().serial, None);
    }
}
