//! When the jobs of a submission start together.

use crate::exit::Failure;
use drivescope_model::fleet::FleetHost;
use jiff::civil::{DateTime, Time};
use jiff::{SignedDuration, Timestamp, ZonedDateTime};

/// Polls of the slowest agent: the second one surely comes, and spread makes one up to a quarter longer.
const POLLS: f64 = 2.0;
/// For the agents to start their programs.
const MARGIN_S: f64 = 10.0;

/// A time as typed: with an offset, or of the zone of `now`; without a date, the next such time. Errors: it is none, or
/// over.
pub fn at(text: &str, now: &ZonedDateTime) -> Result<i64, Failure> {
    let time = parsed(text.trim(), now).ok_or_else(|| {
        let forms = "2026-12-01T03:00, 2026-12-01T03:00+01:00 or 03:00";
        Failure::usage(format!("--at: '{text}' is not a time: write {forms}"))
    })?;
    if time <= now.timestamp() {
        let now = now.strftime("%Y-%m-%d %H:%M:%S %:z");
        let message = format!("--at: {text} is over, it is {now}; name a later time");
        return Err(Failure::usage(message));
    }
    Ok(time.as_microsecond())
}

fn parsed(text: &str, now: &ZonedDateTime) -> Option<Timestamp> {
    let of_zone =
        |time: DateTime| Some(time.to_zoned_datetime(now.time_zone().clone()).ok()?.timestamp());
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    if let Ok(time) = text.parse::<ZonedDateTime>() {
        return Some(time.timestamp());
    }
    if text.contains('-') {
        return of_zone(text.parse().ok()?);
    }
    let time: Time = text.parse().ok()?;
    let today = of_zone(now.date().to_datetime(time))?;
    if today > now.timestamp() {
        return Some(today);
    }
    of_zone(now.date().tomorrow().ok()?.to_datetime(time))
}

/// As soon as the agents of these hosts can all have polled.
pub fn together<'h>(hosts: impl Iterator<Item = &'h FleetHost>, now_unix_us: i64) -> i64 {
    now_unix_us + wait_us(hosts)
}

/// Whether an agent may poll only after the start.
pub fn is_too_soon<'h>(
    hosts: impl Iterator<Item = &'h FleetHost>,
    at_unix_us: i64,
    now_unix_us: i64,
) -> bool {
    at_unix_us - now_unix_us < wait_us(hosts)
}

fn wait_us<'h>(hosts: impl Iterator<Item = &'h FleetHost>) -> i64 {
    let slowest_s = hosts.map(|host| host.agent.poll_s).fold(0.0, f64::max);
    ((POLLS * slowest_s + MARGIN_S) * 1e6) as i64
}

/// The clock of the server, in the zone of this machine.
pub fn of_server(unix_us: i64) -> ZonedDateTime {
    let time = Timestamp::from_microsecond(unix_us).unwrap_or_else(|_| Timestamp::now());
    time.to_zoned_datetime(jiff::tz::TimeZone::system())
}

/// `2026-12-01 03:00:00 +01:00, in 70 s`.
pub fn words(at_unix_us: i64, now_unix_us: i64) -> String {
    let wait = SignedDuration::from_micros(at_unix_us - now_unix_us).as_secs_f64().max(0.0);
    let at = of_server(at_unix_us).strftime("%Y-%m-%d %H:%M:%S %:z").to_string();
    format!("{at}, in {}", drivescope_model::Secs(wait.round()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    fn shown(text: &str) -> Result<String, String> {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let now = "2026-11-29T10:00:00Z".parse::<Timestamp>().unwrap().to_zoned_datetime(zone);
        let at = at(text, &now).map_err(|failure| failure.message)?;
        Ok(Timestamp::from_microsecond(at).unwrap().to_string())
    }

    #[test]
    fn times_are_of_the_local_zone_unless_given() {
        for (text, expected) in [
            ("2026-12-01T03:00", "2026-12-01T02:00:00Z"),
            ("2026-12-01 03:00:30", "2026-12-01T02:00:30Z"),
            ("2026-12-01T03:00Z", "2026-12-01T03:00:00Z"),
            ("2026-12-01T03:00-08:00", "2026-12-01T11:00:00Z"),
            ("2026-12-01T03:00+00:00[UTC]", "2026-12-01T03:00:00Z"),
            ("12:00", "2026-11-29T11:00:00Z"),
            ("03:00", "2026-11-30T02:00:00Z"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "soon", "25:00", "2026-13-01T03:00", "\u{1b}[2J", "-1"] {
            assert!(shown(text).is_err_and(|error| error.contains("is not a time")), "{text}");
        }
        for text in ["2026-11-29T10:59", "2020-01-01T00:00Z"] {
            let error = shown(text).unwrap_err();
            assert!(error.contains("is over, it is 2026-11-29 11:00:00 +01:00"), "{error}");
        }
    }
}
