//! What a selector may ask of a drive.

use drivescope_model::Bytes;
use drivescope_model::fleet::HostDrive;
use std::cmp::Ordering;

/// Drives sold with one capacity differ by less; the next capacity on sale is farther away.
const CAPACITY_TOLERANCE: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Text(TextField),
    Number(NumberField),
    There,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextField {
    Host,
    Name,
    Model,
    Serial,
    Firmware,
    Kind,
    Link,
    Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberField {
    Capacity,
    Fill,
    Temperature,
    Seen,
}

/// In the order in which messages list them.
pub(super) const FIELDS: [(&str, Field); 13] = [
    ("host", Field::Text(TextField::Host)),
    ("name", Field::Text(TextField::Name)),
    ("model", Field::Text(TextField::Model)),
    ("serial", Field::Text(TextField::Serial)),
    ("firmware", Field::Text(TextField::Firmware)),
    ("kind", Field::Text(TextField::Kind)),
    ("link", Field::Text(TextField::Link)),
    ("target", Field::Text(TextField::Target)),
    ("capacity", Field::Number(NumberField::Capacity)),
    ("fill", Field::Number(NumberField::Fill)),
    ("temperature", Field::Number(NumberField::Temperature)),
    ("seen", Field::Number(NumberField::Seen)),
    ("there", Field::There),
];

impl Field {
    pub(super) fn named(name: &str) -> Option<Self> {
        let found = FIELDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, field)| *field)
    }

    pub(super) fn name(self) -> &'static str {
        let found = FIELDS.iter().find(|(_, field)| *field == self);
        found.map_or("", |(name, _)| name)
    }
}

impl TextField {
    pub(super) fn name(self) -> &'static str {
        Field::Text(self).name()
    }

    /// `None`: the drive does not have it.
    pub(super) fn of(self, drive: &HostDrive) -> Option<&str> {
        let facts = &drive.drive;
        let text = match self {
            Self::Host => Some(drive.host.as_str()),
            Self::Name => Some(facts.name.as_str()),
            Self::Model => facts.model.as_deref(),
            Self::Serial => facts.serial.as_deref(),
            Self::Firmware => facts.firmware.as_deref(),
            Self::Kind => Some(facts.kind.name()),
            Self::Link => facts.link.as_deref(),
            Self::Target => Some(facts.target.as_str()),
        };
        text.map(str::trim).filter(|text| !text.is_empty())
    }
}

impl NumberField {
    pub(super) fn name(self) -> &'static str {
        Field::Number(self).name()
    }

    /// Bytes, a part of 1, °C, seconds; `None`: the drive does not have it.
    pub(super) fn of(self, drive: &HostDrive) -> Option<f64> {
        match self {
            Self::Capacity => {
                Some(drive.drive.capacity_bytes as f64).filter(|capacity| *capacity > 0.0)
            }
            Self::Fill => drive.drive.fill,
            Self::Temperature => drive.drive.temperature_c,
            Self::Seen => Some(drive.seen_s_ago),
        }
    }

    /// A capacity is the one named if it is sold as such: 4,000,787,030,016 bytes are 4TB.
    pub(super) fn compare(self, value: f64, than: f64) -> Option<Ordering> {
        let is_same = self == Self::Capacity && (value - than).abs() <= CAPACITY_TOLERANCE * than;
        if is_same { Some(Ordering::Equal) } else { value.partial_cmp(&than) }
    }

    /// Errors: how it is written.
    pub(super) fn parse(self, text: &str) -> Result<f64, String> {
        match self {
            Self::Capacity => {
                text.parse::<Bytes>().map(|it| it.0 as f64).map_err(|error| error.to_string())
            }
            Self::Fill => {
                let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |it| (it, 0.01));
                let part = number.trim().parse::<f64>().ok().map(|number| number * unit);
                let part = part.filter(|part| (0.0..=1.0).contains(part));
                part.ok_or_else(|| format!("'{text}' is not a part: write 0.5 or 50%"))
            }
            Self::Temperature => {
                let number = text.trim_end_matches(['C', 'c']).trim_end_matches('°');
                let number = number.parse::<f64>().ok().filter(|number| number.is_finite());
                number.ok_or_else(|| format!("'{text}' is not a temperature: write 45"))
            }
            Self::Seen => seconds(text)
                .ok_or_else(|| format!("'{text}' is not a time: write seconds, or 10min, 2h, 3d")),
        }
    }
}

/// Longer times than options of tests may have: a drive may be missing for months.
fn seconds(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}
