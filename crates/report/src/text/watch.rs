//! The reports of `watch`, as lines for people.

use crate::terminal::{Paragraph, Role, Style, clean};
use drivescope_model::number::{latency_us, rounded, whole};
use drivescope_model::units::{Bytes, Secs};
use drivescope_model::watch::{
    STEPS, STEPS_PER_DECADE, WatchError, WatchLine, WatchSecond, WatchSummary, WatchedRead,
};

/// Histogram steps, from few reads to most.
const BLOCKS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const DECADES: [&str; 6] = ["10 µs", "100", "1 ms", "10", "100", "1 s"];
const EVENT_INDENT: usize = 12;

pub fn watch_head(style: Style) -> String {
    let mut scale = vec![' '; STEPS + 4];
    for (decade, name) in DECADES.iter().enumerate() {
        let from = decade * STEPS_PER_DECADE;
        for (i, c) in name.chars().enumerate() {
            scale[from + i] = c;
        }
    }
    let scale: String = scale.into_iter().collect();
    let head = format!("{:<8}{:>9}{:>11}{:>11}  {scale}", "time", "reads/s", "median", "slowest");
    let mut out = String::new();
    style.paint(&mut out, Role::Dim, head.trim_end());
    out + "\n"
}

pub fn watch_line(line: &WatchLine, style: Style) -> String {
    match line {
        WatchLine::Second(second) => second_line(second, style),
        WatchLine::Stall(read) => stall(read, style),
        WatchLine::Error(error) => failed_read(error, style),
        WatchLine::Summary(summary) => self::summary(summary, style),
    }
}

fn second_line(second: &WatchSecond, style: Style) -> String {
    fn latency(us: Option<f64>) -> String {
        us.map_or_else(|| "-".to_string(), latency_us)
    }
    let mut out = String::new();
    style.paint(&mut out, Role::Dim, &time(second.at.as_deref(), second.start_s));
    let (median, slowest) = (latency(second.lat_p50_us), latency(second.lat_max_us));
    out.push_str(&format!("{:>9}{median:>11}{slowest:>11}  ", rounded(second.iops)));
    out.push_str(histogram(&second.steps).trim_end());
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// A block per step; a few reads among many remain visible.
fn histogram(steps: &[u64]) -> String {
    let most = steps.iter().copied().max().unwrap_or(0).max(1);
    let block = |&count: &u64| match count {
        0 => ' ',
        _ => BLOCKS[(count as f64 / most as f64 * (BLOCKS.len() - 1) as f64).round() as usize],
    };
    steps.iter().map(block).collect()
}

/// `18:33:45`; in virtual time, or without a clock, since the start: `0:00:45`.
fn time(at: Option<&str>, start_s: f64) -> String {
    let clock = at.and_then(|at| at.get(11..19));
    clock.map_or_else(|| since_start(start_s), |clock| format!("{:<8}", clean(clock)))
}

fn since_start(start_s: f64) -> String {
    let whole_s = start_s as u64;
    let (hours, minutes, seconds) = (whole_s / 3_600, whole_s / 60 % 60, whole_s % 60);
    format!("{:<8}", format!("{hours}:{minutes:02}:{seconds:02}"))
}

fn event(at: String, role: Role, name: &str) -> Paragraph {
    Paragraph::new().lead(Role::Dim, at).lead(Role::Plain, "  ").lead(role, format!("! {name} "))
}

fn stall(read: &WatchedRead, style: Style) -> String {
    let place = Bytes(read.offset);
    event(time(read.at.as_deref(), read.start_s), Role::Warn, "stall")
        .text(Role::Plain, format!("one read took {}", latency_us(read.lat_us)))
        .item(Role::Dim, format!("{} × the median", rounded(read.medians)))
        .item(Role::Dim, format!("at {place}"))
        .lines(EVENT_INDENT, style)
}

fn failed_read(error: &WatchError, style: Style) -> String {
    event(time(error.at.as_deref(), error.start_s), Role::Bad, "error")
        .text(Role::Plain, &error.message)
        .item(Role::Dim, format!("after {}", latency_us(error.elapsed_s * 1e6)))
        .lines(EVENT_INDENT, style)
}

fn summary(summary: &WatchSummary, style: Style) -> String {
    fn count(count: u64, one: &str, more: &str) -> String {
        match count {
            1 => format!("1 {one}"),
            count => format!("{} {more}", whole(count)),
        }
    }
    let reads = count(summary.reads, "read", "reads");
    let quantiles =
        [("median", summary.lat_p50_us), ("p90", summary.lat_p90_us), ("p99", summary.lat_p99_us)];
    let quantiles = quantiles.into_iter().filter_map(|(name, us)| Some((name, latency_us(us?))));
    let all = Paragraph::new()
        .item(Role::Title, format!("{reads} in {}", Secs(summary.elapsed_s)))
        .item(Role::Plain, format!("{} reads/s", rounded(summary.iops)))
        .items(Role::Plain, quantiles.map(|(name, latency)| format!("{name} {latency}")));
    let slowest = summary.slowest.as_ref().map(|slowest| {
        let at = time(slowest.at.as_deref(), slowest.start_s);
        format!("slowest {} at {}", latency_us(slowest.lat_us), at.trim_end())
    });
    let limit = latency_us(summary.stall_from_us);
    let events = Paragraph::new().items(Role::Plain, slowest);
    let events = match (summary.stalls, summary.reads) {
        (_, 0) => events,
        (0, _) => events.item(Role::Good, format!("no stall (a read over {limit})")),
        (stalls, _) => {
            let stalls = count(stalls, "stall", "stalls");
            events.item(Role::Warn, format!("{stalls}, {} in all", Secs(summary.stalled_s)))
        }
    };
    let errors = (summary.errors > 0).then(|| count(summary.errors, "read failed", "reads failed"));
    all.lines(0, style) + &events.items(Role::Bad, errors).lines_if_words(0, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::width;
    use crate::testing::must_fit;

    fn second() -> WatchSecond {
        let mut steps = vec![0; STEPS];
        (steps[0], steps[18], steps[19], steps[29]) = (1, 40, 80, 1);
        WatchSecond {
            at: Some("2026-11-24T18:33:45.123456+01:00".to_string()),
            start_s: 3_601.0,
            elapsed_s: 1.0,
            reads: 122,
            iops: 123_456.0,
            lat_p50_us: Some(12_600.0),
            lat_p99_us: None,
            lat_max_us: Some(999_400.0),
            errors: 0,
            steps,
        }
    }

    #[test]
    fn a_second_stands_below_its_heads_and_fits() {
        let head = watch_head(Style::PLAIN);
        let line = watch_line(&WatchLine::Second(second()), Style::PLAIN);
        assert_eq!(
            format!("{head}{line}"),
            "\
time      reads/s     median    slowest  10 µs 100   1 ms  10    100   1 s
18:33:45  123,000    12.6 ms     999 ms  ·                 ▄█         ·
"
        );
        assert!(head.lines().chain(line.lines()).all(|line| width(line) <= 80));
        let virtual_time = WatchSecond { at: None, lat_p50_us: None, ..second() };
        let line = watch_line(&WatchLine::Second(virtual_time), Style::PLAIN);
        assert!(line.starts_with("1:00:01   123,000          -     999 ms  ·"), "{line}");
    }

    #[test]
    fn stalls_errors_and_summary_have_times_and_counts() {
        let read = WatchedRead {
            at: None,
            start_s: 4.0,
            lat_us: 3.2e6,
            medians: 254.0,
            offset: 1_230_000_000_000,
        };
        let line = watch_line(&WatchLine::Stall(read.clone()), Style::PLAIN);
        assert_eq!(
            line,
            "0:00:04   ! stall one read took 3.20 s · 254 × the median · at 1.23 TB\n"
        );
        let error = WatchError {
            at: None,
            start_s: 5.0,
            elapsed_s: 2.0,
            offset: 4096,
            errno: 5,
            message: "read at byte 4096 (4.10 kB), 4 KiB long, failed: I/O error".to_string(),
        };
        let line = watch_line(&WatchLine::Error(error), Style::PLAIN);
        assert!(line.starts_with("0:00:05   ! error read at byte 4096"), "{line}");
        must_fit(&line);
        let summary = WatchSummary {
            reads: 320,
            errors: 0,
            elapsed_s: 4.0,
            iops: 80.0,
            lat_p50_us: Some(12_400.0),
            lat_p90_us: Some(17_800.0),
            lat_p99_us: Some(20_800.0),
            slowest: Some(read),
            stalls: 1,
            stalled_s: 3.2,
            stall_from_us: 124_000.0,
        };
        let text = |summary: WatchSummary| watch_line(&WatchLine::Summary(summary), Style::PLAIN);
        assert_eq!(
            text(summary.clone()),
            "\
320 reads in 4 s · 80.0 reads/s · median 12.4 ms · p90 17.8 ms · p99 20.8 ms
slowest 3.20 s at 0:00:04 · 1 stall, 3.2 s in all
"
        );
        let well = WatchSummary { stalls: 0, errors: 2, ..summary };
        assert!(text(well).contains("no stall (a read over 124 ms) · 2 reads failed"));
    }
}
