//! `fleet submit`.

use super::{access, key, start_time};
use crate::arguments::SubmitArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_bench::suites;
use drivescope_fleet::FleetTables;
use drivescope_fleet::choice::{Choice, SerialFault};
use drivescope_fleet::selector::Selector;
use drivescope_fleet::submission;
use drivescope_model::fleet::{
    ChosenDrive, FleetHost, FleetJob, HostDrive, JobPlan, LeftOutDrive, Submission,
};
use drivescope_model::shell::quoted;
use drivescope_report::{clean, fleet};
use serde::Serialize;

#[derive(Serialize)]
struct DryRun<'d> {
    plan: &'d JobPlan,
    drives: &'d [ChosenDrive],
    left_out: &'d [LeftOutDrive],
}

#[derive(Serialize)]
struct Submitted<'d> {
    submission: Submission,
    jobs: Vec<FleetJob>,
    left_out: &'d [LeftOutDrive],
}

pub fn submit(arguments: &SubmitArguments) -> Result<Code, Failure> {
    if let Some(key) = &arguments.key {
        key::check(key)?;
    }
    let selector = access::selector(arguments.select.as_deref())?;
    let folder = suites::user_folder();
    let planned = submission::plan(&arguments.plan, folder.as_deref(), arguments.write);
    let (mut plan, suite) = planned.map_err(|error| Failure::usage(error.to_string()))?;
    let mut tables = access::open(&arguments.store, !arguments.dry_run)?;
    if let Some(known) = known(arguments, &tables)?.filter(|_| !arguments.dry_run) {
        return submitted_before(arguments, &plan, known, &tables);
    }
    let (drives, hosts) = (tables.drives()?, tables.hosts()?);
    let choice = Choice::of(selector.as_ref(), (&suite, plan.level), &drives, &hosts);
    if choice.chosen.is_empty() && choice.left_out.is_empty() {
        return Err(nothing_matches(selector.as_ref(), &drives));
    }
    plan.expected_s = choice.expected_s();
    if arguments.dry_run {
        show_dry_run(arguments, &plan, &choice);
        return Ok(Code::Ok);
    }
    if choice.chosen.is_empty() {
        let count = choice.left_out.len();
        let LeftOutDrive { host, name, reason } = &choice.left_out[0];
        let message =
            format!("none of {count} matching drives can be measured: {host} {name}: {reason}");
        return Err(Failure::usage(message));
    }
    let jobs = choice.jobs(&arguments.serial).map_err(|fault| of_serials(&fault, &choice))?;
    let chosen_hosts: Vec<&FleetHost> =
        hosts.iter().filter(|host| jobs.iter().any(|job| job.host_id == host.agent.id)).collect();
    let now_us = tables.clock_unix_us()?;
    let go_at = go_at(arguments, &chosen_hosts, now_us)?;
    let selected = arguments.select.as_deref().unwrap_or_default();
    let key = loop {
        let key = arguments.key.clone().unwrap_or_else(key::random);
        if tables.submit((&key, selected), &plan, go_at, &jobs)?.is_some() {
            break key;
        }
        // A random key is taken once in four thousand million times.
        if let Some(known) = known(arguments, &tables)? {
            return submitted_before(arguments, &plan, known, &tables);
        }
    };
    if !arguments.json {
        say_left_out(&choice);
    }
    let said = announcement(&choice, &key, go_at.map(|at| start_time::words(at, now_us)));
    show_submitted(arguments, (&key, &said), &choice.left_out, &tables)
}

/// The submission of the key that was typed.
fn known(arguments: &SubmitArguments, tables: &FleetTables) -> Result<Option<Submission>, Failure> {
    match &arguments.key {
        Some(key) => Ok(tables.submission(key)?),
        None => Ok(None),
    }
}

/// Nothing new: the same is there. Errors: it is another one.
fn submitted_before(
    arguments: &SubmitArguments,
    plan: &JobPlan,
    known: Submission,
    tables: &FleetTables,
) -> Result<Code, Failure> {
    let now = start_time::of_server(tables.clock_unix_us()?);
    // One that is over may be just that of the first time.
    let at = arguments.at.as_deref().map(|at| start_time::at(at, &now)).and_then(Result::ok);
    let differences = [
        (known.plan.suite != plan.suite, "suite"),
        (known.plan.suite_text != plan.suite_text, "text of the suite"),
        (known.plan.level != plan.level, "level"),
        (known.selector != arguments.select.as_deref().unwrap_or_default(), "selector"),
        (at.is_some() && at != known.go_at_unix_us, "start"),
    ];
    let key = known.key.clone();
    if let Some((_, what)) = differences.into_iter().find(|(differs, _)| *differs) {
        let message = format!(
            "{key} was submitted before with another {what}; drivescope fleet status {key} shows it, or choose \
             another --key"
        );
        return Err(Failure::usage(message));
    }
    let view = access::SubmissionView::of(&key, tables)?;
    let counts = view.map(|view| view.row.counts()).unwrap_or_default();
    let counts = if counts.is_empty() { "no jobs".to_string() } else { counts };
    let said = format!("{key} was submitted before: {counts}; nothing new is submitted");
    show_submitted(arguments, (&key, &said), &[], tables)
}

fn show_submitted(
    arguments: &SubmitArguments,
    (key, said): (&str, &str),
    left_out: &[LeftOutDrive],
    tables: &FleetTables,
) -> Result<Code, Failure> {
    if !arguments.json {
        output::print_wrapped(&clean(said));
        return Ok(Code::Ok);
    }
    let submission = tables.submission(key)?.ok_or_else(|| {
        Failure::usage(format!("{key} was removed from the database meanwhile; submit it again"))
    })?;
    output::print_document(&Submitted { submission, jobs: tables.jobs(key)?, left_out });
    Ok(Code::Ok)
}

fn announcement(choice: &Choice, key: &str, start: Option<String>) -> String {
    let counted = |count: usize, name: &str| match count {
        1 => format!("1 {name}"),
        _ => format!("{count} {name}s"),
    };
    let jobs = counted(choice.chosen.len(), "job");
    let hosts = counted(choice.host_count(), "host");
    let start = start.map(|start| format!("; all start at {start}")).unwrap_or_default();
    format!("submitted {jobs} on {hosts} as {key}{start}; drivescope fleet watch {key}")
}

fn go_at(
    arguments: &SubmitArguments,
    hosts: &[&FleetHost],
    now_us: i64,
) -> Result<Option<i64>, Failure> {
    let hosts = || hosts.iter().copied();
    if arguments.together {
        return Ok(Some(start_time::together(hosts(), now_us)));
    }
    let Some(text) = &arguments.at else { return Ok(None) };
    let at = start_time::at(text, &start_time::of_server(now_us))?;
    if start_time::is_too_soon(hosts(), at, now_us) {
        output::remark(
            "agents that poll after the start refuse their jobs; --together waits for all",
        );
    }
    Ok(Some(at))
}

fn show_dry_run(arguments: &SubmitArguments, plan: &JobPlan, choice: &Choice) {
    let Choice { chosen, left_out, .. } = choice;
    if arguments.json {
        output::print_document(&DryRun { plan, drives: chosen, left_out });
        return;
    }
    let style = output::style();
    output::print(&fleet::chosen_drives(chosen, style));
    fleet::left_out_drives(left_out).iter().for_each(|line| output::print_wrapped(line));
    if let Err(SerialFault::Missing(serials)) = choice.jobs(&arguments.serial) {
        output::print_wrapped(&clean(&format!("{}: {}", choice.why_serials(), options(&serials))));
    }
}

fn say_left_out(choice: &Choice) {
    fleet::left_out_drives(&choice.left_out).iter().for_each(|line| output::remark(line));
}

fn of_serials(fault: &SerialFault, choice: &Choice) -> Failure {
    match fault {
        SerialFault::Unknown(serial) => {
            let message = format!(
                "--serial: no drive of this submission has serial number '{serial}'; drivescope fleet drives lists \
                 them"
            );
            Failure::usage(message)
        }
        SerialFault::Missing(serials) => {
            let message = format!("{}; add {}", choice.why_serials(), options(serials));
            Failure { message, code: Code::Refused }
        }
    }
}

fn options(serials: &[String]) -> String {
    let words = serials.iter().map(|serial| format!("--serial {}", quoted(serial)));
    words.collect::<Vec<_>>().join(" ")
}

fn nothing_matches(selector: Option<&Selector>, drives: &[HostDrive]) -> Failure {
    let there: Vec<HostDrive> = drives.iter().filter(|drive| drive.is_there).cloned().collect();
    let Some(selector) = selector.filter(|_| !there.is_empty()) else {
        let message =
            "no agent has announced a drive; start drivescope fleet agent on each machine";
        return Failure::usage(message);
    };
    let corrections = selector.corrections(&there);
    let hint = if corrections.is_empty() {
        format!("drivescope fleet drives lists all {}", there.len())
    } else {
        corrections.join(" ")
    };
    Failure::usage(format!("--select matches no drive: {hint}"))
}
