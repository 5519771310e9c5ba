//! Numbers in messages, and numbers out of range.

/// A number as people write it: figures of more than 15 places with an exponent.
pub(crate) fn plain(value: f64) -> String {
    let size = value.abs();
    if size.is_finite() && size != 0.0 && !(1e-5..1e15).contains(&size) {
        format!("{value:e}")
    } else {
        format!("{value}")
    }
}

/// The message for a value outside its range; `None` within the range.
pub(crate) fn outside(value: f64, least: f64, most: f64, unit: &str) -> Option<String> {
    let ok = (least..=most).contains(&value);
    let (is, least, most) = (plain(value), plain(least), plain(most));
    (!ok).then(|| format!("is {is}; give {least} to {most} {unit}").trim_end().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in
            [(0.0, "0"), (0.312, "0.312"), (1e300, "1e300"), (1e-9, "1e-9"), (f64::NAN, "NaN")]
        {
            assert_eq!(plain(value), text);
        }
    }

    #[test]
    fn range_includes_its_ends_and_excludes_nan() {
        assert_eq!(outside(60.0, 60.0, 100.0, "ms"), None);
        assert_eq!(outside(100.0, 60.0, 100.0, "ms"), None);
        let found = outside(f64::NAN, 60.0, 100.0, "ms");
        assert_eq!(found.as_deref(), Some("is NaN; give 60 to 100 ms"));
        assert!(outside(f64::INFINITY, 60.0, 100.0, "ms").is_some());
    }
}
