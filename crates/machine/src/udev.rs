//! What udev found out about a block device, from its database.

use crate::roots::{Roots, list_dir, parse_number_pair};
use std::collections::HashMap;
use std::fs;

/// Properties of one device; empty where udev has not seen it.
#[derive(Debug, Default)]
pub struct Udev {
    known: bool,
    properties: HashMap<String, String>,
}

impl Udev {
    pub fn of(roots: &Roots, dev: (u32, u32)) -> Self {
        match fs::read(roots.run.join(format!("udev/data/b{}:{}", dev.0, dev.1))) {
            Ok(bytes) => Self { known: true, properties: parse(&String::from_utf8_lossy(&bytes)) },
            Err(_) => Self::default(),
        }
    }

    /// Whether udev looked at the device: then what is absent is absent on the device.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// A property that is not empty.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.properties.get(key).map(String::as_str)
    }

    /// A property in udev's encoded form, decoded: `Samsung\x20SSD` and padding.
    pub fn get_encoded(&self, key: &str) -> Option<String> {
        let text = decode(self.get(key)?);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_string())
    }
}

/// Kernel names of the devices that hold this type of content under this label, sorted.
pub fn devices_labelled(roots: &Roots, fs_type: &str, label: &str) -> Vec<String> {
    let mut names: Vec<String> = list_dir(&roots.run.join("udev/data"))
        .iter()
        .filter_map(|file| parse_number_pair(file.strip_prefix('b')?))
        .filter(|dev| {
            let udev = Udev::of(roots, *dev);
            udev.get("ID_FS_TYPE") == Some(fs_type) && udev.get("ID_FS_LABEL") == Some(label)
        })
        .filter_map(|dev| roots.block_name(dev))
        .collect();
    names.sort();
    names
}

/// Name of the ZFS volume that is this block device (`tank/vm-1`): udev links to each from below `/dev/zvol`, and
/// nothing else shows on what it lies.
pub fn zfs_volume(roots: &Roots, dev: (u32, u32)) -> Option<String> {
    let path = roots.run.join(format!("udev/data/b{}:{}", dev.0, dev.1));
    let text = String::from_utf8_lossy(&fs::read(path).ok()?).into_owned();
    text.lines().find_map(|line| line.strip_prefix("S:zvol/")).map(str::to_string)
}

/// Lines `E:KEY=VALUE` of a database file.
fn parse(text: &str) -> HashMap<String, String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("E:")?.split_once('='))
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect()
}

/// Resolves `\xHH`, the form that udev gives to what a name of a file cannot have.
pub fn decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = match (first, tail) {
            (b'\\', [b'x', high, low, ..]) => hex(*high).zip(hex(*low)).map(|(h, l)| h * 16 + l),
            _ => None,
        };
        out.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;
    use proptest::prelude::*;

    #[test]
    fn properties_are_read_and_decoded() {
        let fake = Fake::new();
        fake.file(
            "run/udev/data/b8:0",
            "S:disk/by-id/x\nE:ID_MODEL_ENC=Samsung\\x20SSD\\x20870\\x20\\x20\nE:ID_SERIAL_SHORT=S1\nE:EMPTY=\nI:1\n",
        );
        let udev = Udev::of(&fake.roots, (8, 0));
        assert!(udev.is_known());
        assert_eq!(udev.get_encoded("ID_MODEL_ENC").as_deref(), Some("Samsung SSD 870"));
        assert_eq!(udev.get("ID_SERIAL_SHORT"), Some("S1"));
        assert_eq!(udev.get("EMPTY"), None);
        assert!(!Udev::of(&fake.roots, (8, 1)).is_known());
    }

    #[test]
    fn codes_that_are_none_stay_as_they_are() {
        assert_eq!(decode(r"a\x2fb\x2"), r"a/b\x2");
        assert_eq!(decode(r"\xZZ\"), r"\xZZ\");
        assert_eq!(decode("\\xc3\\xa9"), "é");
    }

    proptest! {
        #[test]
        fn any_database_is_taken(text in r"[E:=A-C\\x0-9f\n]{0,60}") {
            for value in parse(&text).values() {
                let _ = decode(value);
            }
        }
    }
}
