//! Dates in words: `22 June`, `5 January to 23 March 2026`.

use jiff::civil::Date;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// `March`.
pub fn month_name(date: Date) -> &'static str {
    MONTHS[date.month() as usize - 1]
}

/// `Mar`.
pub fn month_short(date: Date) -> &'static str {
    &month_name(date)[..3]
}

/// The day of an RFC 3339 time in its own time zone; `None` if it has another form.
pub fn day_of(rfc3339: &str) -> Option<Date> {
    rfc3339.get(..10)?.parse().ok()
}

/// `22 June`, with the year where `has_year`; other forms than RFC 3339 are unchanged.
pub fn day_words(rfc3339: &str, has_year: bool) -> String {
    let Some(date) = day_of(rfc3339) else { return rfc3339.to_string() };
    let year = if has_year { format!(" {}", date.year()) } else { String::new() };
    format!("{} {}{year}", date.day(), month_name(date))
}

/// `14:15`.
pub fn clock(rfc3339: &str) -> &str {
    rfc3339.get(11..16).unwrap_or_default()
}

/// `5 January to 23 March 2026`, or of one day `5 January 2026, 10:00 to 14:20`.
pub fn period(first: &str, last: &str) -> String {
    let is_one_year = first.get(..4) == last.get(..4);
    match (day_of(first), day_of(last)) {
        (one, other) if one != other => {
            format!("{} to {}", day_words(first, !is_one_year), day_words(last, true))
        }
        _ if clock(first) == clock(last) => {
            format!("{}, {}", day_words(first, true), clock(first))
        }
        _ => format!("{}, {} to {}", day_words(first, true), clock(first), clock(last)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_say_the_year_once() {
        let times = ["2026-01-05T10:00:00+01:00", "2026-03-23T09:30:00+01:00"];
        assert_eq!(period(times[0], times[1]), "5 January to 23 March 2026");
        assert_eq!(period("2025-12-31T10:00:00Z", times[0]), "31 December 2025 to 5 January 2026");
        assert_eq!(period(times[0], times[0]), "5 January 2026, 10:00");
        let later = "2026-01-05T14:20:00+01:00";
        assert_eq!(period(times[0], later), "5 January 2026, 10:00 to 14:20");
        assert_eq!(day_words("yesterday", true), "yesterday");
    }
}
