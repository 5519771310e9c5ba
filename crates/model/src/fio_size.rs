//! Sizes as fio's options have them.

/// With `kb_base=1024`, fio's default, the prefixes mean the opposite of the standards: `k` and `kb` are 1,024 and `ki`
/// and `kib` 1,000; with 1000 they follow IEC 80000-13 (fio's manual, "Parameter types").
pub fn size_bytes(text: &str, kb_base: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let (number, radix) = match text.strip_prefix("0x") {
        // A hexadecimal number has no unit: `b` is a digit.
        Some(digits) => return u64::from_str_radix(digits, 16).ok(),
        None => (text.as_str(), 10),
    };
    let end = number.find(|c: char| !c.is_digit(radix)).unwrap_or(number.len());
    let (digits, unit) = number.split_at(end);
    let unit = unit.trim();
    let prefix = unit.strip_suffix('b').unwrap_or(unit);
    let (letter, is_other) = match prefix.strip_suffix('i') {
        Some(letter) => (letter, true),
        None => (prefix, false),
    };
    let power = match letter {
        "" if !is_other => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let base: u64 = if (kb_base == 1000) == is_other { 1024 } else { 1000 };
    digits.parse::<u64>().ok()?.checked_mul(base.pow(power))
}

/// The size of reads or of writes in an option such as `bs=4k`, `bs=4k,8k` or `bs=,8k`: reads, writes, trims; a
/// missing size at the end equals the one before, an empty one is 4 KiB.
pub fn block_bytes(text: &str, is_write: bool, kb_base: u64) -> Option<u64> {
    let parts: Vec<&str> = text.split(',').collect();
    let part = if is_write { parts.get(1).or(parts.first()) } else { parts.first() }?;
    if part.trim().is_empty() { Some(4096) } else { size_bytes(part, kb_base) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_follow_kb_base() {
        for (text, bytes) in [
            ("4096", 4096),
            ("4096B", 4096),
            ("4k", 4096),
            ("4kB", 4096),
            ("1024kb", 1 << 20),
            ("1M", 1 << 20),
            ("1mi", 1_000_000),
            ("1000KiB", 1_000_000),
            ("0x1000", 4096),
        ] {
            assert_eq!(size_bytes(text, 1024), Some(bytes), "{text}");
        }
        for (text, bytes) in [("4k", 4000), ("4kB", 4000), ("4KiB", 4096), ("1m", 1_000_000)] {
            assert_eq!(size_bytes(text, 1000), Some(bytes), "{text}");
        }
        for text in ["", "k", "4x", "4ib", "4 4k", "-4k", "99999999999g"] {
            assert_eq!(size_bytes(text, 1024), None, "{text}");
        }
    }

    #[test]
    fn reads_and_writes_may_have_sizes_of_their_own() {
        for (text, read, write) in
            [("4k", 4096, 4096), ("4k,8k", 4096, 8192), (",8k", 4096, 8192), ("8k,,4k", 8192, 4096)]
        {
            assert_eq!(block_bytes(text, false, 1024), Some(read), "{text}");
            assert_eq!(block_bytes(text, true, 1024), Some(write), "{text}");
        }
    }
}
