//! `[link]` as a model file has it: a typical link by name, and what differs from it.

use serde::Deserialize;

use super::super::identity::Bridge;
use super::{LinkKind, LinkParams, NonData};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum LinkPreset {
    #[serde(rename = "sata-6g")]
    Sata6g,
    #[serde(rename = "sata-3g")]
    Sata3g,
    #[serde(rename = "pcie3-x4")]
    Pcie3X4,
    #[serde(rename = "usb3-bulk-only")]
    Usb3BulkOnly,
    #[serde(rename = "usb2-bulk-only")]
    Usb2BulkOnly,
    #[serde(rename = "usb3-uas")]
    Usb3Uas,
}

impl LinkPreset {
    pub fn params(self) -> LinkParams {
        match self {
            Self::Sata6g => LinkParams::sata_6g(),
            Self::Sata3g => LinkParams::sata_3g(),
            Self::Pcie3X4 => LinkParams::pcie3_x4(),
            Self::Usb3BulkOnly => LinkParams::usb3_bulk_only(),
            Self::Usb2BulkOnly => LinkParams::usb2_bulk_only(),
            Self::Usb3Uas => LinkParams::usb3_uas(),
        }
    }
}

/// The table. Every field but `preset` means what [`LinkParams`] says; without a preset all are needed but
/// `max_transfer_bytes` and `bridge`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    preset: Option<LinkPreset>,
    kind: Option<LinkKind>,
    name: Option<String>,
    queue_depth: Option<u32>,
    queues: Option<u32>,
    rate_mb_s: Option<f64>,
    frame_payload_bytes: Option<u32>,
    frame_overhead_bytes: Option<u32>,
    command_us: Option<f64>,
    latency_us: Option<f64>,
    status_us: Option<f64>,
    max_transfer_bytes: Option<u64>,
    flush: Option<NonData>,
    trim: Option<NonData>,
    #[serde(default)]
    bridge: Bridge,
}

impl TryFrom<LinkTable> for LinkParams {
    type Error = String;

    fn try_from(table: LinkTable) -> Result<Self, String> {
        let base = table.preset.map(LinkPreset::params);
        macro_rules! given_or_preset {
            ($field:ident) => {
                table.$field.or_else(|| base.as_ref().map(|base| base.$field.clone())).ok_or(
                    concat!(
                        "missing field `",
                        stringify!($field),
                        "`; give it, or a preset such as \"sata-6g\""
                    ),
                )?
            };
        }
        Ok(Self {
            kind: given_or_preset!(kind),
            name: given_or_preset!(name),
            queue_depth: given_or_preset!(queue_depth),
            queues: given_or_preset!(queues),
            rate_mb_s: given_or_preset!(rate_mb_s),
            frame_payload_bytes: given_or_preset!(frame_payload_bytes),
            frame_overhead_bytes: given_or_preset!(frame_overhead_bytes),
            command_us: given_or_preset!(command_us),
            latency_us: given_or_preset!(latency_us),
            status_us: given_or_preset!(status_us),
            max_transfer_bytes: table
                .max_transfer_bytes
                .or_else(|| base.as_ref().and_then(|base| base.max_transfer_bytes)),
            flush: given_or_preset!(flush),
            trim: given_or_preset!(trim),
            bridge: table.bridge,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_a_link_and_fields_override_it() {
        let link: LinkParams = toml::from_str("preset = \"sata-6g\"").expect("a link");
        assert_eq!(link, LinkParams::sata_6g());
        let text = "preset = \"usb3-bulk-only\"\ncommand_us = 55\nbridge = { serial = \"\" }";
        let link: LinkParams = toml::from_str(text).expect("a link");
        let bridge = Bridge { serial: Some(String::new()), ..Bridge::default() };
        assert_eq!(link, LinkParams { command_us: 55.0, bridge, ..LinkParams::usb3_bulk_only() });
    }

    #[test]
    fn incomplete_link_names_missing_fields() {
        for (text, words) in [
            ("kind = \"sata\"", "missing field `name`; give it, or a preset"),
            ("preset = \"sata-9g\"", "sata-6g"),
            ("preset = \"sata-6g\"\ndepth = 3", "queue_depth"),
        ] {
            let error = toml::from_str::<LinkParams>(text).expect_err("refused").to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
