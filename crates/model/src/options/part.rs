//! The part of a file or device that tests use.

use super::Suite;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A part begins at a multiple of the largest sector there is.
const UNIT_BYTES: u64 = 4096;

/// Where the used part of a file or device begins: `2TB`, or `end` for the last bytes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a position such as \"2TB\", or \"end\"")]
pub enum PartStart {
    /// By a name.
    Named(NamedStart),
    /// Bytes from the start.
    At(Bytes),
}

/// A start that depends on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NamedStart {
    /// So that the part ends where the target does.
    End,
}

impl Suite {
    /// The part of a target of `size_bytes` that the suite uses, by default from its start.
    pub fn part(&self, size_bytes: u64) -> Range<u64> {
        let len = if self.span.0 == 0 { size_bytes } else { self.span.0.min(size_bytes) };
        match self.offset {
            None => 0..len,
            Some(PartStart::Named(NamedStart::End)) => {
                let start = (size_bytes - len) / UNIT_BYTES * UNIT_BYTES;
                start..start + len
            }
            Some(PartStart::At(Bytes(at))) => {
                let start = at.min(size_bytes) / UNIT_BYTES * UNIT_BYTES;
                start..(start + len).min(size_bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite_with(span: u64, offset: &str) -> String {
        format!(
            r#"{{ "name": "x", "summary": "y", "tests": [], "span": {span}, "offset": {offset} }}"#
        )
    }

    fn part(span: u64, offset: &str, size_bytes: u64) -> Range<u64> {
        let offset = if offset.is_empty() { "null" } else { offset };
        let suite: Suite = serde_json::from_str(&suite_with(span, offset)).unwrap();
        let again: Suite = serde_json::from_str(&serde_json::to_string(&suite).unwrap()).unwrap();
        assert_eq!(again, suite);
        suite.part(size_bytes)
    }

    #[test]
    fn part_follows_suite_and_ends_with_target() {
        const SIZE: u64 = 1 << 30;
        assert_eq!(part(0, "", SIZE), 0..SIZE);
        assert_eq!(part(1000, "", SIZE), 0..1000);
        assert_eq!(part(2 << 30, "", SIZE), 0..SIZE);
        assert_eq!(part(1 << 20, "\"end\"", SIZE), SIZE - (1 << 20)..SIZE);
        assert_eq!(part(1 << 20, "\"512MiB\"", SIZE), 1 << 29..(1 << 29) + (1 << 20));
        assert_eq!(part(0, "536870912", SIZE), 1 << 29..SIZE);
        assert_eq!(part(1 << 20, "\"2GiB\"", SIZE), SIZE..SIZE);
        // A part begins with a whole sector.
        assert_eq!(part(1000, "\"end\"", 1 << 20), (1 << 20) - 4096..(1 << 20) - 3096);
    }

    #[test]
    fn invalid_position_names_valid_forms() {
        let error = serde_json::from_str::<Suite>(&suite_with(0, "true")).unwrap_err().to_string();
        assert!(error.contains("\"2TB\", or \"end\""), "{error}");
        assert!(serde_json::from_str::<Suite>(&suite_with(0, "\"behind\"")).is_err());
    }
}
