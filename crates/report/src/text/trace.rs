//! `trace info`: what a trace holds.

use crate::terminal::{
    Column, DOT, Paragraph, Role, Style, TextCell, TextTable, block_chart, note, sections,
};
use drivescope_model::number::{latency_us, one_decimal, rounded, whole};
use drivescope_model::trace::{DirectionSummary, GapClass, ServiceSummary, TraceSummary};
use drivescope_model::units::{Bytes, Secs};

const PROCESSES_MAX: usize = 8;

pub fn trace_summary(name: &str, trace: &TraceSummary, style: Style) -> String {
    sections([
        head(name, trace, style),
        directions(trace, style),
        places(trace, style),
        sizes(trace, style),
        gaps(trace, style),
        rates(trace, style),
        processes(trace, style),
        notes(trace, style),
    ])
}

fn head(name: &str, trace: &TraceSummary, style: Style) -> String {
    let drive = trace.device_bytes.map(Bytes);
    Paragraph::new()
        .text(Role::Title, name)
        .item(Role::Plain, format!("{} requests", whole(trace.requests)))
        .item(Role::Plain, format!("over {}", time(trace.length_s)))
        .item(Role::Dim, format!("from {}", trace.source))
        .items(Role::Dim, drive.map(|bytes| format!("on a drive of {bytes}")))
        .lines(2, style)
}

fn directions(trace: &TraceSummary, style: Style) -> String {
    let heads = ["bytes", "requests", "mean", "sequential"];
    let mut table = TextTable::with_heads(Column::names_and_numbers(5), "mix", &heads);
    for (name, direction) in [("read", &trace.reads), ("write", &trace.writes)] {
        table.row(direction_row(name, direction));
    }
    for (name, count, bytes) in [
        ("durable write (FUA)", trace.fua_writes, 0),
        ("flush", trace.flushes, 0),
        ("discard", trace.discards, trace.discarded_bytes),
        ("zeroes without data", trace.zeroes, trace.zeroed_bytes),
    ] {
        if count > 0 {
            let bytes = if bytes > 0 { Bytes(bytes).to_string() } else { String::new() };
            let cells =
                [TextCell::plain(name), TextCell::plain(bytes), TextCell::plain(whole(count))];
            table.row(cells.to_vec());
        }
    }
    table.render(style)
}

fn direction_row(name: &str, direction: &DirectionSummary) -> Vec<TextCell> {
    let DirectionSummary { requests, bytes, sequential } = *direction;
    if requests == 0 {
        return vec![TextCell::plain(name), TextCell::plain("-"), TextCell::plain("0")];
    }
    vec![
        TextCell::plain(name),
        TextCell::plain(Bytes(bytes).to_string()),
        TextCell::plain(whole(requests)),
        TextCell::plain(Bytes(bytes / requests).to_string()),
        TextCell::plain(percent(sequential as f64 / requests as f64)),
    ]
}

/// Places of the requests, and the performance of the recorded drive.
fn places(trace: &TraceSummary, style: Style) -> String {
    let touched = format!("touches {} regions of 1 MiB", whole(trace.touched_bytes >> 20));
    let paragraph = Paragraph::new()
        .item(Role::Plain, touched)
        .item(Role::Plain, format!("up to byte {}", whole(trace.end_bytes)))
        .item(Role::Plain, format!("replays on targets of {} or more", Bytes(trace.end_bytes)));
    let mut out = paragraph.lines(2, style);
    if let Some(service) = &trace.service {
        out.push_str(&served(service, trace, style));
    }
    out
}

fn served(service: &ServiceSummary, trace: &TraceSummary, style: Style) -> String {
    let bytes = (trace.reads.bytes + trace.writes.bytes) as f64;
    let rate = (service.busy_s > 0.0).then(|| rounded(bytes / service.busy_s / 1e6));
    Paragraph::new()
        .item(Role::Plain, format!("its drive was busy for {}", time(service.busy_s)))
        .item(Role::Plain, format!("depth {} in it", rounded(service.depth_mean)))
        .item(Role::Plain, format!("at most {}", whole(service.depth_max)))
        .item(Role::Plain, format!("latency {} on average", latency_us(service.lat_mean_us)))
        .item(Role::Plain, format!("at most {}", latency_us(service.lat_max_us)))
        .items(Role::Plain, rate.map(|rate| format!("{rate} MB/s while busy")))
        .lines(2, style)
}

fn sizes(trace: &TraceSummary, style: Style) -> String {
    if trace.sizes.is_empty() {
        return String::new();
    }
    let all = (trace.reads.requests + trace.writes.requests).max(1) as f64;
    let heads = ["reads", "writes", "share"];
    let mut table = TextTable::with_heads(Column::names_and_numbers(4), "up to", &heads);
    for size in &trace.sizes {
        let share = (size.reads + size.writes) as f64 / all;
        let counts = [whole(size.reads), whole(size.writes), percent(share)];
        let name = TextCell::plain(Bytes(size.up_to_bytes).binary());
        table.row([name].into_iter().chain(counts.map(TextCell::plain)).collect());
    }
    table.render(style)
}

/// Think time: when nothing was in flight, else the times between requests.
fn gaps(trace: &TraceSummary, style: Style) -> String {
    if trace.gaps.iter().all(|class| class.count == 0) {
        return String::new();
    }
    let title = if trace.service.is_some() { "think time" } else { "gaps" };
    let heads = ["times", "together", "share"];
    let mut table = TextTable::with_heads(Column::names_and_numbers(4), title, &heads);
    let ends = trace.gaps.iter().skip(1).map(|class| Some(class.from_s)).chain([None]);
    for (class, end_s) in trace.gaps.iter().zip(ends).filter(|(class, _)| class.count > 0) {
        table.row(gap_row(class, end_s, trace.length_s));
    }
    let what = match trace.service {
        Some(_) => "nothing in flight",
        None => "from one request to the next: the source has no completions",
    };
    table.render(style) + &note(what, style)
}

fn gap_row(class: &GapClass, end_s: Option<f64>, length_s: f64) -> Vec<TextCell> {
    let name = match end_s {
        Some(end_s) if class.from_s == 0.0 => format!("below {}", time(end_s)),
        Some(end_s) => format!("{} to {}", time(class.from_s), time(end_s)),
        None => format!("{} and more", time(class.from_s)),
    };
    let share = class.total_s / length_s.max(f64::MIN_POSITIVE);
    let numbers = [whole(class.count), time(class.total_s), percent(share)];
    [TextCell::plain(name)].into_iter().chain(numbers.map(TextCell::plain)).collect()
}

fn rates(trace: &TraceSummary, style: Style) -> String {
    let rates: Vec<f64> =
        trace.over_time.iter().map(|bytes| *bytes as f64 / trace.interval_s / 1e6).collect();
    let end = time(trace.over_time.len() as f64 * trace.interval_s);
    let chart = block_chart(&rates, ["0 s", &end], style);
    if chart.is_empty() || rates.len() < 2 {
        return String::new();
    }
    let mut title = String::new();
    style.paint(&mut title, Role::Title, "MB/s asked for, over time");
    format!("{title}\n{chart}")
}

fn processes(trace: &TraceSummary, style: Style) -> String {
    if trace.processes.is_empty() {
        return String::new();
    }
    let heads = ["bytes", "requests"];
    let mut table = TextTable::with_heads(Column::names_and_numbers(3), "sent by", &heads);
    for process in trace.processes.iter().take(PROCESSES_MAX) {
        let bytes = Bytes(process.bytes).to_string();
        let cells = [process.name.clone(), bytes, whole(process.requests)];
        table.row(cells.map(TextCell::plain).to_vec());
    }
    let others = trace.processes.len().saturating_sub(PROCESSES_MAX);
    let more = if others > 0 { format!("and {others} more") } else { String::new() };
    table.render(style) + &Paragraph::new().text(Role::Dim, more).lines(2, style)
}

fn notes(trace: &TraceSummary, style: Style) -> String {
    fn count(count: u64, what: &str) -> Option<String> {
        (count > 0).then(|| format!("{} {what}", whole(count)))
    }
    let coarse = (trace.resolution_s >= 1e-3)
        .then(|| format!("times in steps of {}", time(trace.resolution_s)));
    let facts = [
        coarse,
        count(trace.skipped, "records of the source skipped: they are not requests"),
        count(trace.reordered, "records were not in the order of their times"),
        count(trace.failed, "requests had failed"),
        count(trace.lost, "events were lost while it was recorded: it is invalid"),
    ];
    let text = facts.into_iter().flatten().collect::<Vec<_>>().join(DOT);
    Paragraph::new().text(Role::Dim, text).lines_if_words(2, style)
}

fn time(seconds: f64) -> String {
    if seconds < 60.0 { latency_us(seconds * 1e6) } else { Secs(seconds).to_string() }
}

fn percent(share: f64) -> String {
    format!("{} %", one_decimal((share * 1000.0).round() / 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::must_have;
    use drivescope_model::trace::{ProcessShare, SizeClass};

    fn trace() -> TraceSummary {
        TraceSummary {
            source: "blkparse".to_string(),
            resolution_s: 1e-9,
            length_s: 12.5,
            requests: 1_003,
            reads: DirectionSummary { requests: 1_000, bytes: 4_096_000, sequential: 250 },
            writes: DirectionSummary { requests: 2, bytes: 16_384, sequential: 0 },
            flushes: 1,
            end_bytes: 5_000_000_000,
            touched_bytes: 9 << 20,
            sizes: vec![
                SizeClass { up_to_bytes: 4096, reads: 1_000, writes: 1 },
                SizeClass { up_to_bytes: 16_384, reads: 0, writes: 1 },
            ],
            service: Some(ServiceSummary {
                busy_s: 2.5,
                depth_mean: 1.25,
                depth_max: 7,
                lat_mean_us: 2_500.0,
                lat_max_us: 41_000.0,
            }),
            gaps: vec![
                GapClass { from_s: 0.0, count: 900, total_s: 0.05 },
                GapClass { from_s: 1.0, count: 3, total_s: 9.95 },
            ],
            over_time: vec![1_000_000, 0, 0, 3_112_384],
            interval_s: 4.096,
            processes: vec![ProcessShare { name: "cp\u{1b}".into(), requests: 3, bytes: 9 }],
            skipped: 12,
            ..TraceSummary::default()
        }
    }

    #[test]
    fn trace_summary_fits_its_columns() {
        let text = trace_summary("day.trace", &trace(), Style::PLAIN);
        must_have(
            &text,
            &[
                "1,003 requests",
                "25 %",
                "flush",
                "touches 9 regions",
                "busy for 2.50 s",
                "think time",
                "1.00 s and more",
                "79.6 %",
                "MB/s asked for",
                "12 records of the source skipped",
            ],
        );
        assert!(!text.contains('\u{1b}'));
        for columns in [40, 60, 80, 120] {
            let text = trace_summary("day.trace", &trace(), Style::PLAIN.within(columns));
            assert!(text.lines().all(|line| crate::width(line) <= columns), "{columns}\n{text}");
        }
    }

    #[test]
    fn without_completions_it_says_so() {
        let bare = TraceSummary { service: None, ..trace() };
        let text = trace_summary("day.trace", &bare, Style::PLAIN);
        assert!(text.contains("no completions") && !text.contains("busy"), "{text}");
    }
}
