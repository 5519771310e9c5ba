//! `--verbose`: the machine, the overhead of drivescope, and every round of every phase.

use super::footer::methods;
use super::header::drive_path;
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, sections};
use drivescope_model::number::{one_decimal, rounded, whole};
use drivescope_model::target::IoMode;
use drivescope_model::{Bytes, PhaseRecord, Run, TestResult};

/// Machine, calibration, data path, checks, health, methods, then the rounds of every test.
pub fn verbose(run: &Run, style: Style) -> String {
    let fixed = [
        machine(run, style),
        cost(run, style),
        data_path(run, style),
        checks(run, style),
        health(run, style),
    ];
    let methods = run.tests.iter().map(|test| methods(test, style)).collect();
    let rounds = run.tests.iter().map(|test| limiters(test, style));
    sections(fixed.into_iter().chain([methods]).chain(rounds))
}

fn limiters(result: &TestResult, style: Style) -> String {
    if result.phases.is_empty() {
        return String::new();
    }
    let mut layout = vec![Column::right(); 10];
    layout[0] = Column::left().flexible(12);
    layout[9] = Column::left();
    let any = |test: fn(&PhaseRecord) -> bool| result.phases.iter().any(test);
    let busy = any(|phase| phase.device_busy_pct.is_some());
    let warm = any(|phase| phase.temperature_c.is_some());
    let failed = any(|phase| phase.errors > 0);
    let heads = [
        "#",
        "MB/s",
        "IOPS",
        "depth",
        "CPU %",
        if busy { "busy %" } else { "" },
        if warm { "°C" } else { "" },
        if failed { "errors" } else { "" },
        "limited by",
    ];
    let mut table = TextTable::with_heads(layout, result.test.name(), &heads);
    for phase in &result.phases {
        let per_second = |n: u64| rounded(n as f64 / phase.elapsed_s);
        let errors = match phase.errors {
            0 => TextCell::blank(),
            n => TextCell::new(Role::Bad, whole(n)),
        };
        table.row(vec![
            TextCell::plain(&phase.cell),
            TextCell::plain(phase.round.to_string()),
            TextCell::plain(rounded(phase.bytes as f64 / 1e6 / phase.elapsed_s)),
            TextCell::plain(per_second(phase.ops)),
            TextCell::plain(rounded(phase.depth_mean)),
            TextCell::plain(one_decimal(phase.cpu_busiest_pct)),
            TextCell::plain(phase.device_busy_pct.map(one_decimal).unwrap_or_default()),
            TextCell::plain(phase.temperature_c.map(one_decimal).unwrap_or_default()),
            errors,
            TextCell::plain(phase.limiter.name()),
        ]);
    }
    table.render(style)
}

fn facts(title: &str, facts: &[(&str, String)], style: Style) -> String {
    let mut out = Paragraph::new().lead(Role::Title, title).lines(0, style);
    let room = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        let paragraph = Paragraph::new().lead(Role::Dim, format!("  {name:<room$}  "));
        out.push_str(&paragraph.text(Role::Plain, value).lines(room + 4, style));
    }
    out
}

fn machine(run: &Run, style: Style) -> String {
    let host = &run.host;
    let governor = host.governor.as_ref().map(|g| format!(", governor {g}")).unwrap_or_default();
    let power = match host.on_battery {
        Some(true) => ", on battery",
        _ => "",
    };
    facts(
        "machine",
        &[
            ("processor", format!("{}, {} online{governor}{power}", host.cpu, host.cpus)),
            ("memory", Bytes(host.memory_bytes).binary()),
            ("system", format!("{}, kernel {}", host.os, host.kernel)),
            ("clock source", host.clock_source.clone().unwrap_or_default()),
            ("virtualization", host.virtualization.clone().unwrap_or_default()),
        ],
        style,
    )
}

fn cost(run: &Run, style: Style) -> String {
    let Some(cost) = &run.calibration else { return String::new() };
    let (loop_ns, loop_iops) = (rounded(cost.loop_ns_per_io), rounded(cost.loop_iops_max));
    let measuring = format!("{loop_ns} ns per request (at most {loop_iops} IOPS per thread)");
    facts(
        "overhead of drivescope, measured at the start",
        &[
            ("measuring loop", measuring),
            ("clock", format!("{} ns per reading", rounded(cost.clock_ns))),
            ("test data", format!("{} MB/s per core", rounded(cost.generator_mb_s))),
            ("memory copy", format!("{} MB/s on one core", rounded(cost.memory_copy_mb_s))),
        ],
        style,
    )
}

fn data_path(run: &Run, style: Style) -> String {
    let target = &run.target;
    let mode = match target.io_mode {
        Some(IoMode::Direct) => {
            format!("direct, verified by a transfer; aligned to {} bytes", target.io_align_bytes)
        }
        Some(IoMode::Buffered) => "through the page cache: direct I/O was refused".to_string(),
        None => String::new(),
    };
    let file_system = target.file_system.as_ref();
    facts(
        "data path",
        &[
            ("I/O", mode),
            ("engine", run.plan.engine.name().to_string()),
            ("devices", drive_path(target)),
            ("mounted from", file_system.map(|fs| fs.source.clone()).unwrap_or_default()),
            ("mount options", file_system.map(|fs| fs.options.clone()).unwrap_or_default()),
            ("seed", run.plan.seed.to_string()),
        ],
        style,
    )
}

fn health(run: &Run, style: Style) -> String {
    let drive = run.drive.as_ref().filter(|drive| !run.simulated || drive.health.is_known());
    let Some(drive) = drive else { return String::new() };
    let note = drive.health.note.as_deref().unwrap_or_default();
    let note = Paragraph::new()
        .lead(Role::Plain, "  ")
        .text(Role::Dim, note.strip_prefix("health: ").unwrap_or(note))
        .lines_if_words(2, style);
    let figures = super::health::health(&drive.health, run.health_after.as_ref(), 2, style);
    if note.is_empty() && figures.is_empty() {
        return String::new();
    }
    let title = Paragraph::new().lead(Role::Title, "health of the drive (SMART)").lines(0, style);
    title + &note + &figures
}

fn checks(run: &Run, style: Style) -> String {
    if run.gate.is_empty() {
        return String::new();
    }
    let mut out = Paragraph::new().lead(Role::Title, "checks before the run").lines(0, style);
    for check in &run.gate {
        let (role, word) = if check.passed { (Role::Good, "ok") } else { (Role::Bad, "no") };
        let paragraph = Paragraph::new()
            .lead(role, format!("  {word}  "))
            .text(Role::Plain, &check.check)
            .text(Role::Dim, if check.evidence.is_empty() { "" } else { "-" })
            .text(Role::Dim, &check.evidence);
        out.push_str(&paragraph.lines(6, style));
    }
    out
}
