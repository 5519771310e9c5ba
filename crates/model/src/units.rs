//! Quantities with one parser and one printer each. Input follows GNU and fio: a bare suffix and `KiB`, `MiB` … are
//! binary, `KB`, `MB` … are decimal. Output is decimal, as drives and links are sold, or by [`Bytes::binary`].

use crate::number::{rounded, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// Why a quantity could not be read; the text is a complete, printable reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(pub String);

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

impl Bytes {
    pub const fn kib(n: u64) -> Self {
        Self(n * KIB)
    }
    pub const fn mib(n: u64) -> Self {
        Self(n * MIB)
    }
    pub const fn gib(n: u64) -> Self {
        Self(n * GIB)
    }

    /// `4 KiB`, `1 MiB`, `1.5 GiB`.
    pub fn binary(self) -> String {
        for (unit, name) in [(TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")] {
            if self.0 >= unit {
                return if self.0.is_multiple_of(unit) {
                    format!("{} {name}", self.0 / unit)
                } else {
                    format!("{:.1} {name}", self.0 as f64 / unit as f64)
                };
            }
        }
        format!("{} B", self.0)
    }

    /// Shortest exact form that [`FromStr`] reads back, as used in cell names: `4k`, `1m`, `513`.
    pub fn short(self) -> String {
        for (unit, name) in [(TIB, "t"), (GIB, "g"), (MIB, "m"), (KIB, "k")] {
            if self.0 >= unit && self.0.is_multiple_of(unit) {
                return format!("{}{name}", self.0 / unit);
            }
        }
        self.0.to_string()
    }
}

/// Decimal form with three significant digits: `4.00 TB`, `1.07 GB`, `512 B`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        if value >= 1e15 {
            return write!(f, "{} TB", whole((value / 1e12).round() as u64));
        }
        for (unit, name) in [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")] {
            if value >= unit {
                return write!(f, "{} {name}", rounded(value / unit));
            }
        }
        write!(f, "{} B", self.0)
    }
}

fn split_number(text: &str) -> Result<(f64, &str), UnitError> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let value: f64 =
        number.parse().map_err(|_| UnitError(format!("'{text}' does not begin with a number")))?;
    Ok((value, suffix.trim()))
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (value, suffix) = split_number(text)?;
        let factor = match suffix.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => KIB,
            "m" | "mib" => MIB,
            "g" | "gib" => GIB,
            "t" | "tib" => TIB,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => {
                return Err(UnitError(format!(
                    "'{suffix}' is not a size unit; use K, M, G, T, KiB … TiB (binary) or kB, MB, GB, TB (decimal)"
                )));
            }
        };
        let bytes = value * factor as f64;
        if bytes >= 9.2e18 {
            return Err(UnitError(format!("'{text}' is larger than any drive")));
        }
        if factor == 1 && bytes.fract() != 0.0 {
            let text = text.trim();
            return Err(UnitError(format!(
                "'{text}' is not a whole number of bytes; a unit may be missing, as in {value}G"
            )));
        }
        // Of a larger unit, a part need not be whole bytes: 2.2G.
        Ok(Self(bytes.round() as u64))
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(BytesVisitor)
    }
}

struct BytesVisitor;

impl de::Visitor<'_> for BytesVisitor {
    type Value = Bytes;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as \"1GiB\" or a number of bytes")
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Bytes, E> {
        Ok(Bytes(value))
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Bytes, E> {
        u64::try_from(value).map(Bytes).map_err(|_| E::custom("a size cannot be negative"))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
        text.parse().map_err(E::custom)
    }
}

/// A length of time in seconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Secs(pub f64);

/// The longest time an option accepts: longer than any test of a drive.
const SECS_MAX: f64 = 30.0 * 86_400.0;

impl Secs {
    pub fn nanos(self) -> u64 {
        (self.0 * 1e9).round() as u64
    }
}

/// `250 ms`, `5 s`, `1 min 10 s`, `2 h 05 min`.
impl fmt::Display for Secs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0;
        if s > 0.0 && s < 1.0 {
            write!(f, "{:.0} ms", s * 1e3)
        } else if s < 9.95 && s.fract() > 0.05 {
            write!(f, "{s:.1} s")
        } else if s < 99.5 {
            write!(f, "{s:.0} s")
        } else if s < 3_570.0 {
            let whole = s.round() as u64;
            write!(f, "{} min {:02} s", whole / 60, whole % 60)
        } else {
            let minutes = (s / 60.0).round() as u64;
            write!(f, "{} h {:02} min", minutes / 60, minutes % 60)
        }
    }
}

impl FromStr for Secs {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (value, suffix) = split_number(text)?;
        let factor = match suffix {
            "" | "s" | "sec" => 1.0,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "m" | "min" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => {
                return Err(UnitError(format!(
                    "'{suffix}' is not a unit of time; use ms, s, min, h or d"
                )));
            }
        };
        Self::checked(value * factor)
    }
}

impl Secs {
    fn checked(value: f64) -> Result<Self, UnitError> {
        if !(0.0..=SECS_MAX).contains(&value) {
            return Err(UnitError("a time must lie between 0 and 30 days".to_string()));
        }
        Ok(Self(value))
    }
}

impl Serialize for Secs {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Secs {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(SecsVisitor)
    }
}

struct SecsVisitor;

impl de::Visitor<'_> for SecsVisitor {
    type Value = Secs;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as \"500ms\" or a number of seconds")
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Secs, E> {
        Secs::checked(value as f64).map_err(E::custom)
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Secs, E> {
        Secs::checked(value as f64).map_err(E::custom)
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Secs, E> {
        Secs::checked(value).map_err(E::custom)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Secs, E> {
        text.parse().map_err(E::custom)
    }
}

/// What the drive cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// Amount, in whole units of the currency.
    pub amount: f64,
    /// ISO 4217 code, three capital letters. It is not checked: an unknown currency is compared only with itself.
    pub currency: String,
}

impl FromStr for Price {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let reason = || UnitError(format!("'{text}' is not a price; write it like 105USD"));
        let (amount, currency) = split_number(text).map_err(|_| reason())?;
        let code_ok = currency.len() == 3 && currency.bytes().all(|b| b.is_ascii_alphabetic());
        let number = text.trim().trim_end_matches(currency).trim();
        let cents = number.split_once('.').map_or(0, |(_, digits)| digits.len());
        if !(code_ok && cents <= 2 && amount > 0.0 && amount.is_finite()) {
            return Err(reason());
        }
        Ok(Self { amount, currency: currency.to_ascii_uppercase() })
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.amount.fract() == 0.0 {
            write!(f, "{:.0} {}", self.amount, self.currency)
        } else {
            write!(f, "{:.2} {}", self.amount, self.currency)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn iec_suffixes_are_binary_si_suffixes_decimal() {
        for (text, bytes) in [
            ("512", 512),
            ("4k", 4096),
            ("4KiB", 4096),
            ("4kB", 4000),
            ("1G", 1 << 30),
            ("1GB", 1_000_000_000),
            ("1.5MiB", 3 << 19),
            ("2.2G", 2_362_232_013),
            ("0.1k", 102),
            ("2.2GB", 2_200_000_000),
            (" 2 TB ", 2_000_000_000_000),
        ] {
            assert_eq!(text.parse::<Bytes>().unwrap().0, bytes, "{text}");
        }
    }

    #[test]
    fn absurd_sizes_and_times_are_refused() {
        for text in ["", "GB", "1XB", "-1", "99999999TB", "0.3", "1e30", "nan"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        for text in ["", "s", "1y", "-3", "31d", "inf"] {
            assert!(text.parse::<Secs>().is_err(), "{text}");
        }
    }

    #[test]
    fn printed_forms() {
        assert_eq!(Bytes(4_000_787_030_016).to_string(), "4.00 TB");
        assert_eq!(Bytes(4_000 << 40).to_string(), "4,398 TB", "no digit is made up");
        assert_eq!(Bytes::gib(1).to_string(), "1.07 GB");
        assert_eq!(Bytes::mib(1).binary(), "1 MiB");
        assert_eq!(Secs(0.25).to_string(), "250 ms");
        assert_eq!(Secs(70.0).to_string(), "70 s");
        assert_eq!(Secs(130.0).to_string(), "2 min 10 s");
        assert_eq!(Secs(7_500.0).to_string(), "2 h 05 min");
    }

    #[test]
    fn prices() {
        let price: Price = "105USD".parse().unwrap();
        assert_eq!(price, Price { amount: 105.0, currency: "USD".into() });
        assert_eq!("99.5 eur".parse::<Price>().unwrap().to_string(), "99.50 EUR");
        assert_eq!("105.99USD".parse::<Price>().unwrap().amount, 105.99);
        for text in
            ["105.999USD", "0.001 USD", "USD", "105", "105US", "0USD", "-1USD", "105 dollars"]
        {
            assert!(text.parse::<Price>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn short_form_reads_back(n in 0u64..(1 << 52)) {
            prop_assert_eq!(Bytes(n).short().parse::<Bytes>().unwrap(), Bytes(n));
        }

        #[test]
        fn parsing_never_panics(text in ".{0,24}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Secs>();
            let _ = text.parse::<Price>();
        }
    }
}
