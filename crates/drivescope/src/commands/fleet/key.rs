//! Keys of submissions.

use crate::exit::Failure;
use std::hash::{BuildHasher, Hasher, RandomState};

/// As in the table.
const LENGTH_MAX: usize = 100;

/// Eight hexadecimal digits.
pub fn random() -> String {
    // The standard library's seeds come from the kernel.
    let random = RandomState::new().build_hasher().finish();
    format!("{:08x}", random as u32)
}

/// Errors: it could not be typed after a command.
pub fn check(key: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:+@".contains(c);
    if (1..=LENGTH_MAX).contains(&key.len()) && key.chars().all(is_plain) && !key.starts_with('-') {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--key: '{key}' is not a key: use 1 to {LENGTH_MAX} letters, digits and . _ - : + @"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_plain_words() {
        for good in ["a", "nightly-2026-11-29", "a.b_c:d+e@f", &"x".repeat(100), &random()] {
            check(good).unwrap();
        }
        for bad in ["", "a b", "ü", "\u{1b}[2J", "-x", "a'b", &"x".repeat(101)] {
            assert!(check(bad).unwrap_err().message.contains("is not a key"), "{bad}");
        }
        assert_ne!(random(), random());
    }
}
