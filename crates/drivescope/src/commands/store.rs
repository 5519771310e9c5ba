//! `store`: tables made and brought up to date, runs sent and copied.

use crate::arguments::StoreCommand;
use crate::exit::{Code, Failure};
use crate::output;
use crate::store_access::{location, open_existing};
use drivescope_report::clean;
use drivescope_store::{
    CopyReport, SchemaReport, Store, StoreLocation, copy, init, init_text, send_waiting, upgrade,
};

/// More runs of a kind than this are counted.
const LISTED_MAX: usize = 10;

pub fn store(command: &StoreCommand) -> Result<Code, Failure> {
    match command {
        StoreCommand::Init { dry_run: true, .. } => {
            output::print_line(init_text().trim_end());
            Ok(Code::Ok)
        }
        StoreCommand::Init { store, .. } => {
            let location = location(store.store.as_deref())?;
            Ok(tell_schema(&location, &init(&location)?))
        }
        StoreCommand::Upgrade { store } => {
            let location = location(store.store.as_deref())?;
            Ok(tell_schema(&location, &upgrade(&location)?))
        }
        StoreCommand::Sync { store } => sync(store.store.as_deref()),
        StoreCommand::Copy { from, to } => copy_all(from, to),
    }
}

/// A store works without what it lacks, but that is a problem.
fn tell_schema(location: &StoreLocation, report: &SchemaReport) -> Code {
    let (shown, to) = (location.shown(), report.to);
    let done = match report.from {
        None => format!("made the store {shown} (schema {to})"),
        Some(from) if from == to => format!("the store {shown} is up to date (schema {to})"),
        Some(from) => format!("brought the store {shown} up to date (schema {from} to {to})"),
    };
    output::print_wrapped(&clean(&done));
    report.lacks.iter().for_each(|lack| output::remark(&clean(lack)));
    if report.lacks.is_empty() { Code::Ok } else { Code::Problem }
}

fn sync(store: Option<&str>) -> Result<Code, Failure> {
    let to = location(store)?;
    let mut local = open_existing(None)?;
    if to.path().is_some() {
        let servers = local.waiting_servers()?;
        let listed: Vec<String> =
            servers.iter().map(|(server, count)| format!("{server} ({count})")).collect();
        let waiting = match listed[..] {
            [] => "no run waits for a server".to_string(),
            _ => format!("runs wait for {}", listed.join(", ")),
        };
        let message = format!("name the server with --store postgres://…; {waiting}");
        return Err(Failure::usage(clean(&message).into_owned()));
    }
    let waiting = local.waiting(&to)?;
    if waiting.is_empty() {
        let line = format!("no run in {} waits for {}", local.location().shown(), to.shown());
        output::print_wrapped(&clean(&line));
        return Ok(Code::Ok);
    }
    let report = send_waiting(&waiting, &mut local, &mut Store::open(&to)?)?;
    Ok(tell_copied(&report, "sent", &to))
}

fn copy_all(from: &str, to: &str) -> Result<Code, Failure> {
    let (from, to) = (location(Some(from))?, location(Some(to))?);
    let source = Store::open_existing(&from)?;
    // Errors: there is none; a new store would be made for nothing.
    source.whole_id("last")?;
    let mut target = Store::open(&to)?;
    let mut shown = 0;
    let mut on_batch = |done: usize, all: usize| {
        // Every tenth of a large store.
        if done * 10 / all > shown && all > 1_000 {
            shown = done * 10 / all;
            output::note(&format!("{done} of {all} runs"));
        }
    };
    let report = copy(&source, &mut target, &mut on_batch)?;
    Ok(tell_copied(&report, "copied", &to))
}

fn tell_copied(report: &CopyReport, verb: &str, to: &StoreLocation) -> Code {
    let CopyReport { known, completed, differing, .. } = report;
    let mut parts = vec![format!("{verb} {} to {}", runs(report.copied()), to.shown())];
    if *completed > 0 {
        parts.push(format!("{completed} of them were there in part"));
    }
    if *known > 0 {
        parts.push(format!("{} already there", runs(*known)));
    }
    output::print_wrapped(&clean(&parts.join("; ")));
    if !differing.is_empty() {
        let listed = differing.iter().take(LISTED_MAX).cloned().collect::<Vec<_>>().join(", ");
        let count = runs(differing.len() as u64);
        output::complain(&format!(
            "{count} not {verb}: another document is there under the id ({listed}); see both with drivescope show, \
             and remove the wrong one with drivescope runs rm"
        ));
    }
    let others: Vec<&(String, String)> = report.unreadable.iter().chain(&report.refused).collect();
    for (id, why) in others.iter().take(LISTED_MAX) {
        output::complain(&clean(&format!("run {id} is not {verb}: {why}")));
    }
    if others.len() > LISTED_MAX {
        output::complain(&format!("{} in all are not {verb}", runs(others.len() as u64)));
    }
    if differing.is_empty() && others.is_empty() { Code::Ok } else { Code::Problem }
}

fn runs(count: u64) -> String {
    if count == 1 { "1 run".to_string() } else { format!("{count} runs") }
}
