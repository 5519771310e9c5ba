//! Sizes of random requests by share, written `4k60-64k40`: 60 % of 4 KiB and 40 % of 64 KiB.

use crate::units::{Bytes, UnitError};
use std::fmt;
use std::str::FromStr;

/// More than any published mix of fio's examples and Iometer has; JESD219's ten sizes are beyond it.
const SIZES_MAX: usize = 8;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct SizeShare {
    bytes: u64,
    /// 0 in an unused place.
    percent: u8,
}

/// Two sizes or more, from the smallest to the largest, with shares of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SizeSplit([SizeShare; SIZES_MAX]);

impl SizeSplit {
    /// Sizes with their percentages, in any order.
    pub fn new(shares: &[(Bytes, u8)]) -> Result<Self, UnitError> {
        fn fail(what: &str) -> Result<SizeSplit, UnitError> {
            Err(UnitError(format!("sizes of requests by share {what}")))
        }
        if !(2..=SIZES_MAX).contains(&shares.len()) {
            return fail(&format!("must be 2 to {SIZES_MAX}"));
        }
        if shares.iter().any(|(_, percent)| *percent == 0) {
            return fail("must each have 1 % or more");
        }
        if shares.iter().map(|(_, percent)| u32::from(*percent)).sum::<u32>() != 100 {
            return fail("must have 100 % together");
        }
        let mut all = [SizeShare::default(); SIZES_MAX];
        for (place, (bytes, percent)) in all.iter_mut().zip(shares) {
            *place = SizeShare { bytes: bytes.0, percent: *percent };
        }
        let used = &mut all[..shares.len()];
        used.sort_by_key(|share| share.bytes);
        if used.windows(2).any(|pair| pair[0].bytes == pair[1].bytes) {
            return fail("must differ");
        }
        Ok(Self(all))
    }

    /// From the smallest to the largest, each with its percentage.
    pub fn sizes(&self) -> impl DoubleEndedIterator<Item = (Bytes, u8)> {
        let used = self.0.iter().filter(|share| share.percent > 0);
        used.map(|share| (Bytes(share.bytes), share.percent))
    }

    pub fn smallest(&self) -> Bytes {
        Bytes(self.0[0].bytes)
    }
    pub fn largest(&self) -> Bytes {
        self.sizes().next_back().map_or(self.smallest(), |(size, _)| size)
    }

    pub fn mean(&self) -> Bytes {
        Bytes(self.sizes().map(|(size, percent)| size.0 * u64::from(percent)).sum::<u64>() / 100)
    }
}

impl fmt::Display for SizeSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (size, percent)) in self.sizes().enumerate() {
            let short = size.short();
            // A unit divides the size from its percentage.
            let unit = if short.ends_with(|c: char| c.is_ascii_digit()) { "b" } else { "" };
            write!(f, "{}{short}{unit}{percent}", if index > 0 { "-" } else { "" })?;
        }
        Ok(())
    }
}

impl FromStr for SizeSplit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let share = |part: &str| {
            let unit = part.rfind(|c: char| c.is_ascii_alphabetic())?;
            let (size, percent) = part.split_at(unit + 1);
            Some((size.parse().ok()?, percent.parse().ok()?))
        };
        let shares: Option<Vec<(Bytes, u8)>> = text.split('-').map(share).collect();
        let shares = shares.ok_or_else(|| {
            UnitError(format!("'{text}' names no sizes by share; write them like 4k60-64k40"))
        })?;
        Self::new(&shares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_back_from_the_smallest_on() {
        for (text, canonical, mean) in [
            ("4k60-64k40", "4k60-64k40", 28_672),
            ("64k40-4k60", "4k60-64k40", 28_672),
            ("512b10-1536b5-4k85", "512b10-1536b5-4k85", 3_609),
            (
                "512b10-1k5-2k5-4k60-8k2-16k4-32k4-64k10",
                "512b10-1k5-2k5-4k60-8k2-16k4-32k4-64k10",
                11_345,
            ),
        ] {
            let split: SizeSplit = text.parse().unwrap();
            assert_eq!((split.to_string().as_str(), split.mean().0), (canonical, mean));
        }
        let split: SizeSplit = "1m10-4k90".parse().unwrap();
        assert_eq!((split.smallest(), split.largest()), (Bytes::kib(4), Bytes::mib(1)));
    }

    #[test]
    fn wrong_shares_explain_the_error() {
        for (text, word) in [
            ("4k100", "2 to 8"),
            ("4k60-64k", "write them like"),
            ("4k60-64k30", "100 %"),
            ("4k0-64k100", "1 % or more"),
            ("4k50-4096b50", "must differ"),
            ("4k256-8k10", "write them like"),
            ("µ50-8k50", "write them like"),
        ] {
            let error = text.parse::<SizeSplit>().unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
