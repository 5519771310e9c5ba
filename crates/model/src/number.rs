//! Numbers as people read them: three significant digits, thousands separated, units apart.

/// Digits that a measurement of a drive carries; rounds rarely agree on more.
const DIGITS: i32 = 3;
/// Larger numbers have an exponent, so that no column grows without end.
const EXPONENT_FROM: f64 = 1e10;
/// Most decimals; smaller numbers have an exponent.
const DECIMALS_MAX: i32 = 4;

pub const MISSING: &str = "-";

/// Three significant digits: `0.612`, `13.1`, `178`, `3,460`, `842,000`; `-` for NaN and infinities.
pub fn rounded(value: f64) -> String {
    fixed(value, DIGITS - 1 - exponent(value, DIGITS))
}

/// `1,234,567`.
pub fn whole(value: u64) -> String {
    separated(&value.to_string())
}

/// `1,500`, `0.25`.
pub fn with_decimals(value: f64, decimals: usize) -> String {
    separated(&format!("{value:.decimals$}"))
}

/// A value and the half width of its interval: (`178.2`, `1.1`), (`842,300`, `2,300`).
///
/// Both have the same decimals: those of two significant digits of the half width, but no fewer than
/// [`rounded`] gives the value and at most one more. A half width that would vanish keeps one digit.
pub fn with_half_width(value: f64, half: f64) -> (String, String) {
    let least = DIGITS - 1 - exponent(value, DIGITS);
    let decimals = (1 - exponent(half, 2)).clamp(least, least + 1);
    let vanishes = half.abs() < 0.5 * 10f64.powi(-decimals);
    let half_decimals = if vanishes {
        -exponent(half, 1)
    } else {
        // An interval far wider than its value needs no more digits than any other number.
        decimals.min(DIGITS - 1 - exponent(half, DIGITS))
    };
    (fixed(value, decimals), fixed(half, half_decimals))
}

/// In the unit that suits it: `84.0 µs`, `13.1 ms`, `1.20 s`.
pub fn latency_us(us: f64) -> String {
    match us.abs() {
        size if !size.is_finite() => MISSING.to_string(),
        size if size < 999.5 => format!("{} µs", rounded(us)),
        size if size < 999_500.0 => format!("{} ms", rounded(us / 1e3)),
        _ => format!("{} s", rounded(us / 1e6)),
    }
}

/// In the unit of its metric, without needless digits: `5,000`, `100 MB/s`, `20 ms`.
pub fn threshold(value: f64, unit: &str) -> String {
    match unit {
        "1/s" => one_decimal(value),
        "us" if value < 1e3 => format!("{} µs", one_decimal(value)),
        "us" if value < 1e6 => format!("{} ms", one_decimal(value / 1e3)),
        "us" => format!("{} s", one_decimal(value / 1e6)),
        unit => format!("{} {unit}", one_decimal(value)),
    }
}

/// `2.50` as `2.5`, `3.00` as `3`; `100` stays.
pub fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A decimal only where there is one, as percentages are written: `50`, `12.5`, `0.1`.
pub fn one_decimal(value: f64) -> String {
    if value.is_finite() && value.abs() < EXPONENT_FROM {
        let text = format!("{value:.1}");
        separated(text.strip_suffix(".0").unwrap_or(&text))
    } else {
        rounded(value)
    }
}

/// Power of ten of the first of `digits` significant digits, after rounding to them: 99.96 has three places.
fn exponent(value: f64, digits: i32) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let raw = value.abs().log10().floor() as i32;
    let unit = 10f64.powi(raw - digits + 1);
    let rounded = (value.abs() / unit).round();
    if rounded >= 10f64.powi(digits) { raw + 1 } else { raw }
}

/// Negative `decimals` round to tens, hundreds, …
fn fixed(value: f64, decimals: i32) -> String {
    if !value.is_finite() {
        return MISSING.to_string();
    }
    if value == 0.0 {
        return "0".to_string();
    }
    let magnitude = value.abs();
    if magnitude >= EXPONENT_FROM || magnitude < 0.5 * 10f64.powi(-DECIMALS_MAX) {
        return format!("{value:.1e}");
    }
    if decimals < 0 {
        let unit = 10f64.powi(-decimals);
        return separated(&format!("{:.0}", (value / unit).round() * unit));
    }
    let places = decimals.min(DECIMALS_MAX) as usize;
    separated(&format!("{value:.places$}"))
}

fn separated(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let groups = whole.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    format!("{sign}{}{fraction}", groups.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_zeros_of_decimals_are_needless() {
        for (text, short) in [("2.50", "2.5"), ("3.00", "3"), ("100", "100"), ("0.0315", "0.0315")]
        {
            assert_eq!(without_trailing_zeros(text), short);
        }
    }

    #[test]
    fn three_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.00042, "0.0004"),
            (0.000_001, "1.0e-6"),
            (0.6119, "0.612"),
            (1.709, "1.71"),
            (9.996, "10.0"),
            (13.06, "13.1"),
            (99.96, "100"),
            (178.2, "178"),
            (999.6, "1,000"),
            (5_000.0, "5,000"),
            (842_345.0, "842,000"),
            (-1_234.0, "-1,230"),
            (1e15, "1.0e15"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(rounded(value), text, "{value}");
        }
        assert_eq!(whole(1_234_567), "1,234,567");
        assert_eq!(whole(12), "12");
    }

    #[test]
    fn value_carries_the_digits_that_its_interval_supports() {
        for (value, half, texts) in [
            (178.2, 1.1, ("178.2", "1.1")),
            (149.0, 12.0, ("149", "12")),
            (149.0, 0.89, ("149.0", "0.9")),
            (178.0, 46.0, ("178", "46")),
            (3_456.0, 20.0, ("3,456", "20")),
            (3_456.0, 300.0, ("3,460", "300")),
            (842_300.0, 2_345.0, ("842,300", "2,300")),
            (178.2, 0.031, ("178.2", "0.03")),
            (178.2, 0.0, ("178.2", "0")),
            (0.0, 0.0, ("0", "0")),
        ] {
            let (text, half_text) = with_half_width(value, half);
            assert_eq!((text.as_str(), half_text.as_str()), texts);
        }
    }

    #[test]
    fn latencies_choose_their_unit() {
        for (us, text) in [
            (0.0, "0 µs"),
            (84.03, "84.0 µs"),
            (999.4, "999 µs"),
            (999.6, "1.00 ms"),
            (13_090.0, "13.1 ms"),
            (999_600.0, "1.00 s"),
            (61_000_000.0, "61.0 s"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(latency_us(us), text, "{us}");
        }
        assert_eq!(one_decimal(12.5), "12.5");
        assert_eq!(one_decimal(50.0), "50");
        for (value, unit, text) in [
            (5_000.0, "1/s", "5,000"),
            (12.5, "MB/s", "12.5 MB/s"),
            (500.0, "us", "500 µs"),
            (20_000.0, "us", "20 ms"),
            (1e6, "us", "1 s"),
        ] {
            assert_eq!(threshold(value, unit), text);
        }
    }

    proptest! {
        #[test]
        fn printed_numbers_are_within_half_a_unit(value in 1e-3..1e9f64) {
            let text = rounded(value);
            prop_assert!(text.len() <= 13, "{}", text);
            let back: f64 = text.replace(',', "").parse().unwrap();
            prop_assert!((back - value).abs() <= value * 0.0051 + 0.00005, "{} {}", value, text);
        }

        #[test]
        fn no_number_breaks_the_printer(
            value in proptest::num::f64::ANY, half in proptest::num::f64::ANY,
        ) {
            prop_assert!(rounded(value).len() <= 14);
            let (text, half_text) = with_half_width(value, half);
            prop_assert!(text.len() <= 15 && half_text.len() <= 15, "{} {}", text, half_text);
            prop_assert!(latency_us(value).chars().count() <= 17);
            prop_assert!(one_decimal(value).len() <= 18);
        }
    }
}
