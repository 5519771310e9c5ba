//! Numbers in lines, and mistakes in them.

/// Letters of a word that are shown.
const SHOWN_MAX: usize = 40;

/// A word as it stands in the source; of a long one the beginning.
fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN_MAX).collect();
    format!("{shown:?}")
}

pub fn number(what: &str, text: &str) -> Result<u64, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("{what} is {}, which is not a whole number", quoted(text)))
}

/// Seconds with at most nine decimals that count, in nanoseconds.
pub fn seconds_ns(what: &str, text: &str) -> Result<u64, String> {
    let fault = || format!("{what} is {}, which is not a time in seconds", quoted(text));
    let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    if whole.is_empty() || !is_digits(whole) || !is_digits(part) {
        return Err(fault());
    }
    let digits: String = part.chars().chain("000000000".chars()).take(9).collect();
    let (whole, part): (u64, u64) =
        (whole.parse().map_err(|_| fault())?, digits.parse().map_err(|_| fault())?);
    whole.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(part)).ok_or_else(fault)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number of units of `unit` bytes, such as sectors.
pub fn scaled(what: &str, text: &str, unit: u64) -> Result<u64, String> {
    number(what, text)?
        .checked_mul(unit)
        .ok_or_else(|| format!("{what} {} is out of range", quoted(text)))
}

/// A length, which a request has in 32 bits.
pub fn length(bytes: u64) -> Result<u32, String> {
    u32::try_from(bytes).map_err(|_| format!("a request of {bytes} bytes is too long"))
}

/// Larger than every drive, and within the kernel's type for places.
pub fn check_end(offset: u64, len: u32) -> Result<(), String> {
    match offset.checked_add(len.into()).filter(|end| *end <= i64::MAX as u64) {
        Some(_) => Ok(()),
        None => Err(format!("byte {offset} is beyond any drive")),
    }
}
