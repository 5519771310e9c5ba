//! An axis of time: ticks at full minutes, hours, days, months or years, as a calendar has them.

use super::axis::{AxisScale, AxisValues, PlotAxis, Tick};
use crate::dates::{month_name, month_short};
use jiff::ToSpan;
use jiff::civil::{Date, date};

/// A distance of ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeStep {
    Minutes(u16),
    Days(u16),
    Months(u16),
}

use TimeStep::{Days, Minutes, Months};

const TIME_STEPS: [TimeStep; 22] = [
    Minutes(2),
    Minutes(5),
    Minutes(10),
    Minutes(15),
    Minutes(30),
    Minutes(60),
    Minutes(120),
    Minutes(180),
    Minutes(360),
    Minutes(720),
    Days(1),
    Days(2),
    Days(7),
    Days(14),
    Months(1),
    Months(3),
    Months(6),
    Months(12),
    Months(24),
    Months(60),
    Months(120),
    Months(240),
];
/// As many as fit a page; narrow pictures omit some.
const TICKS_MAX: f64 = 10.0;
const DAY_MINUTES: f64 = 1_440.0;
/// Length of the shortest axis, in days: five of the shortest steps.
const SPAN_MIN: f64 = 10.0 / DAY_MINUTES;
/// Room beside the first and the last value, as a share of what lies between them.
const MARGIN: f64 = 0.03;
/// A Monday, in days since 1970.
const MONDAY: f64 = 4.0;

impl TimeStep {
    fn days(self) -> f64 {
        match self {
            Minutes(n) => f64::from(n) / DAY_MINUTES,
            Days(n) => f64::from(n),
            Months(n) => f64::from(n) * 365.25 / 12.0,
        }
    }

    fn ticks(self, (from, to): (f64, f64), one_year: Option<i16>) -> Vec<Tick> {
        let equal = |first: f64| {
            let step = self.days();
            let start = ((from - first) / step).ceil();
            let count = ((to - first) / step).floor() - start;
            (0..=count.max(0.0) as u32).map(move |i| first + (start + f64::from(i)) * step)
        };
        let places: Vec<f64> = match self {
            Minutes(_) => equal(0.0).collect(),
            Days(_) => equal(MONDAY).collect(),
            Months(n) => months(from, to, n),
        };
        let tick = |at: f64| Tick { at, text: self.text(at, one_year) };
        places.into_iter().filter(|at| (from..=to).contains(at)).map(tick).collect()
    }

    fn text(self, at: f64, one_year: Option<i16>) -> String {
        let day = day(at);
        let minute = (at.rem_euclid(1.0) * DAY_MINUTES).round() as u32 % DAY_MINUTES as u32;
        match self {
            Minutes(_) if minute > 0 => format!("{:02}:{:02}", minute / 60, minute % 60),
            Months(_) if day.month() == 1 && one_year != Some(day.year()) => day.year().to_string(),
            Months(_) => month_short(day).to_string(),
            Minutes(_) | Days(_) => format!("{} {}", day.day(), month_short(day)),
        }
    }

    /// What ticks leave open: the year, or the day.
    fn title(self, from: Date, to: Date) -> String {
        match self {
            Minutes(_) if from == to => format!("{} {} {}", to.day(), month_name(to), to.year()),
            _ if from.year() == to.year() => to.year().to_string(),
            _ => format!("{} to {}", from.year(), to.year()),
        }
    }
}

/// First days of every `every`th month of the calendar.
fn months(from: f64, to: f64, every: u16) -> Vec<f64> {
    let (first, last) = (day(from), day(to));
    let month_of = |date: Date| i32::from(date.year()) * 12 + i32::from(date.month()) - 1;
    let every = i32::from(every);
    let start = month_of(first).div_euclid(every);
    let found = (start..=month_of(last).div_euclid(every)).filter_map(|i| {
        let month = i * every;
        let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        Date::new(i16::try_from(year).ok()?, month as i8, 1).ok()
    });
    found.map(day_number).collect()
}

/// Days since 1970 of a time on a calendar.
pub fn day_number(day: Date) -> f64 {
    let since = day.since(date(1970, 1, 1)).map_or(0, |span| span.get_days());
    f64::from(since)
}

fn day(at: f64) -> Date {
    date(1970, 1, 1).saturating_add((at.floor() as i32).days())
}

/// From the first to the last value with a little room beside them, both in days since 1970.
pub fn time_axis(first: f64, last: f64) -> PlotAxis {
    let span = (last - first).max(SPAN_MIN);
    let middle = f64::midpoint(first, last);
    let half = span * (0.5 + MARGIN);
    let (from, to) = (middle - half, middle + half);
    let step = *TIME_STEPS
        .iter()
        .find(|step| (to - from) / step.days() <= TICKS_MAX)
        .unwrap_or(&TIME_STEPS[TIME_STEPS.len() - 1]);
    let (first, last) = (day(first), day(last));
    let one_year = (first.year() == last.year()).then_some(first.year());
    PlotAxis {
        title: step.title(first, last),
        values: AxisValues::Day,
        scale: AxisScale::Linear(from, to),
        ticks: step.ticks((from, to), one_year),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ticks(from: Date, to: Date) -> (String, Vec<String>) {
        let axis = time_axis(day_number(from), day_number(to));
        (axis.title, axis.ticks.into_iter().map(|tick| tick.text).collect())
    }

    #[test]
    fn ticks_stand_at_days_and_months_of_the_calendar() {
        let (title, weeks) = ticks(date(2026, 1, 5), date(2026, 2, 16));
        assert_eq!(weeks, ["5 Jan", "12 Jan", "19 Jan", "26 Jan", "2 Feb", "9 Feb", "16 Feb"]);
        assert_eq!(title, "2026");
        let (title, months) = ticks(date(2025, 10, 20), date(2026, 4, 3));
        assert_eq!(months, ["Nov", "Dec", "2026", "Feb", "Mar", "Apr"]);
        assert_eq!(title, "2025 to 2026");
        let (title, months) = ticks(date(2026, 1, 3), date(2026, 8, 3));
        assert_eq!((title.as_str(), months[0].as_str()), ("2026", "Jan"));
        assert_eq!(ticks(date(2020, 6, 1), date(2026, 3, 1)).1.len(), 6);
    }

    #[test]
    fn an_hour_of_one_day_has_minutes_and_its_date() {
        let start = day_number(date(2026, 6, 22)) + 10.0 / 24.0;
        let axis = time_axis(start, start + 1.0 / 24.0);
        let texts: Vec<&str> = axis.ticks.iter().map(|tick| tick.text.as_str()).collect();
        assert_eq!(texts, ["10:00", "10:10", "10:20", "10:30", "10:40", "10:50", "11:00"][..]);
        assert_eq!(axis.title, "22 June 2026");
    }

    proptest! {
        #[test]
        fn every_span_has_a_few_ticks_inside(first in 0.0..40_000.0f64, span in 0.0..40_000.0f64) {
            let axis = time_axis(first, first + span);
            prop_assert!((1..=11).contains(&axis.ticks.len()), "{axis:?}");
            for tick in &axis.ticks {
                prop_assert!((0.0..=1.0).contains(&axis.scale.share(tick.at)));
            }
            prop_assert!(axis.scale.share(first) >= 0.0 && axis.scale.share(first + span) <= 1.0);
        }
    }
}
