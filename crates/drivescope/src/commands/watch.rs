//! `watch`: one small read after the other until Ctrl-C. Reads like `run`, through the same targets and queues; it
//! writes nothing but a file of its own in a directory, and keeps nothing.

use crate::arguments::WatchArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_steps::{leftovers, targets};
use crate::signals::RunSignals;
use drivescope_bench::error::BenchError;
use drivescope_bench::io::clock;
use drivescope_bench::plan::overrides::Overrides;
use drivescope_bench::planner;
use drivescope_bench::session::{HostFacts, Session};
use drivescope_bench::suites;
use drivescope_bench::watch::{self, WatchOptions};
use drivescope_drive::Target;
use drivescope_model::findings::Severity;
use drivescope_model::plan::{Plan, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::{Bytes, Secs};
use drivescope_model::watch::{WatchLine, WatchSummary};
use drivescope_report::{clean, text, wrap};
use jiff::{SignedDuration, ZonedDateTime};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

/// In virtual time there is no Ctrl-C.
const SIMULATED_TIME: Secs = Secs(10.0);
/// Fewer blocks may all lie in one cache line of the drive.
const BLOCKS_MIN: u64 = 16;
/// A simulated drive gets the same requests every time.
const SIMULATED_SEED: u64 = 1;

pub fn watch(arguments: &WatchArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let targets = targets::find(slice::from_ref(&arguments.target), None, &[])?;
    let target = &targets[0];
    if !arguments.force {
        targets::check_is_on_a_drive(target)?;
    }
    leftovers::clean_target(target, false, false)?;
    let plan = plan(arguments, target)?;
    let options = options(arguments, target);
    if !arguments.json {
        announce(arguments, &plan, target, options);
    }
    // Nothing listens: what is to be seen are the reads.
    let (events, _) = channel();
    let stop = Arc::clone(&signals.stop);
    signals.begin("");
    let mut session = Session::new(&plan, target, None, HostFacts::default(), events, stop);
    let summary = read(&mut session, arguments, options, signals);
    let closed = session.close();
    let summary = summary?;
    closed?;
    Ok(if summary.errors > 0 { Code::Device } else { Code::Ok })
}

/// Random reads, one at a time.
fn plan(arguments: &WatchArguments, target: &Target) -> Result<Plan, Failure> {
    let overrides = Overrides { size: arguments.size, ..Overrides::default() };
    let suite = suites::adapt(suites::of_watch(), &overrides)?;
    let engine = targets::engine_for(target, None, arguments.json)?;
    let seed = if target.is_simulated() { SIMULATED_SEED } else { clock::now_ns() };
    let size_asked = arguments.size.is_some();
    let plan = planner::draft(suite, seed, engine, target, size_asked, WriteLevel::Read)?;
    let path = &target.info().path;
    if let Some(why) = &plan.tests[0].skip {
        return Err(Failure::usage(format!("{path} cannot be watched: it {why}")));
    }
    let span_bytes = match target.info().kind {
        TargetKind::Directory => plan.own_bytes.0,
        _ => {
            let part = plan.suite.part(target.info().size_bytes);
            part.end - part.start
        }
    };
    if span_bytes / arguments.block_size.0 < BLOCKS_MIN {
        let (room, block) = (Bytes(span_bytes).binary(), arguments.block_size.binary());
        let remedy = "use a smaller --block-size or a larger --size";
        return Err(Failure::usage(format!(
            "{path} cannot be watched: {room} have fewer than {BLOCKS_MIN} places for reads of {block}; {remedy}"
        )));
    }
    Ok(plan)
}

fn options(arguments: &WatchArguments, target: &Target) -> WatchOptions {
    let has_end = arguments.count.is_some() || !target.is_simulated();
    let time = arguments.time.or((!has_end).then_some(SIMULATED_TIME));
    WatchOptions {
        block_bytes: arguments.block_size.0 as u32,
        interval_ns: arguments.interval.map_or(0, Secs::nanos),
        count: arguments.count.unwrap_or(u64::MAX),
        time_ns: time.map_or(u64::MAX, Secs::nanos),
    }
}

fn announce(arguments: &WatchArguments, plan: &Plan, target: &Target, options: WatchOptions) {
    let style = output::style();
    let version = env!("CARGO_PKG_VERSION");
    output::print_line(&text::header(version, plan, target.info(), target.drive(), style));
    let block = arguments.block_size.binary();
    let pace = match arguments.interval {
        Some(interval) if interval.0 > 0.0 => format!("one {block} read every {interval}"),
        _ => format!("one {block} read after the other"),
    };
    let place = match target.info().kind {
        TargetKind::Directory => {
            let size = plan.own_bytes.binary();
            format!("in a file of its own ({size}, written first, removed at the end)")
        }
        _ => "anywhere on it".to_string(),
    };
    let end = if !target.is_simulated() {
        "Ctrl-C ends".to_string()
    } else if options.time_ns < u64::MAX {
        format!("{} of virtual time", Secs(options.time_ns as f64 / 1e9))
    } else {
        "in virtual time".to_string()
    };
    let sentence = format!("{pace}, {place} · {end}");
    output::print(&format!("{}\n\n", wrap(&sentence, style.columns, 2)));
}

fn read(
    session: &mut Session<'_>,
    arguments: &WatchArguments,
    options: WatchOptions,
    signals: &RunSignals,
) -> Result<WatchSummary, BenchError> {
    let serious = session.findings().iter().filter(|it| it.severity == Severity::Invalid);
    for finding in serious {
        let warning =
            format!("this does not describe a drive: {} ({})", finding.evidence, finding.id);
        output::remark(&clean(&warning));
    }
    let empty = watch::open(session, options.block_bytes)?;
    if let Some(evidence) = empty {
        output::remark(&format!("{evidence}; reads of it may not reach the medium"));
    }
    if !session.is_direct() {
        output::remark("direct I/O is not possible here; reads may come from memory");
    }
    let style = output::style();
    if !arguments.json {
        output::print(&text::watch_head(style));
    }
    let show = |line: &WatchLine| {
        if arguments.json {
            output::print_json_line(line)
        } else {
            output::print(&text::watch_line(line, style))
        }
    };
    let is_real = session.simulated().is_none();
    let (zero, zero_ns) = (ZonedDateTime::now(), clock::now_ns());
    let at = |ns: u64| {
        let since = SignedDuration::from_nanos(ns as i64 - zero_ns as i64);
        is_real.then(|| (&zero + since).strftime("%Y-%m-%dT%H:%M:%S%.6f%:z").to_string())
    };
    let summary = watch::watch(session, options, at, |line| {
        show(&line);
        if output::is_unread() {
            signals.stop.store(true, Ordering::Release);
        }
    })?;
    if !arguments.json {
        output::print("\n");
    }
    show(&WatchLine::Summary(summary.clone()));
    Ok(summary)
}
