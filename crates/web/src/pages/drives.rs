//! The first page: the drives of this machine, each with what its newest run says of it.

use super::error::PageError;
use super::layout::{SitePart, minute, page};
use crate::browser_run::BrowserRun;
use crate::form::address;
use crate::site::Site;
use crate::workbench::ListedDrive;
use axum::response::Html;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::{Bytes, Run};
use drivescope_report::answer;
use drivescope_report::page::{folded_health, verdict_table};
use drivescope_store::{NewestRun, Store, StoreFault};
use maud::{Markup, html};

/// Seconds after which a page without a script is loaded again while drives are awaited.
const REFRESH_S: u32 = 5;

pub fn drives(site: &Site) -> Result<Html<String>, PageError> {
    let store = site.open_store()?;
    let newest = store.newest_of_drives()?;
    let listed = site.workbench.drives();
    let may_change = listed.iter().any(ListedDrive::may_change_soon);
    let (main, others): (Vec<ListedDrive>, Vec<ListedDrive>) =
        listed.into_iter().partition(|listed| !is_aside(&listed.drive));
    let section = |listed: &ListedDrive| -> Result<Markup, PageError> {
        Ok(one(listed, newest_run(&store, &newest, &listed.drive)?.as_ref()))
    };
    let main = main.iter().map(section).collect::<Result<Vec<_>, _>>()?;
    let others = others.iter().map(section).collect::<Result<Vec<_>, _>>()?;
    let body = html! {
        h1 { "Drives of this machine" }
        @if newest.is_empty() { (first_steps(&store)) }
        (in_progress(&site.runs.running()))
        // The script asks again for this part alone.
        div #drives data-again[may_change] {
            @if main.is_empty() { p { "The kernel shows no drive here. A directory can be measured all the same." } }
            @for drive in &main { (drive) }
            @if !others.is_empty() {
                section {
                    details {
                        summary { "Loop devices, memory and composed devices: " (others.len()) }
                        @for drive in &others { (drive) }
                    }
                }
            }
        }
    };
    Ok(page(site, "Drives", SitePart::Drives, may_change.then_some(REFRESH_S), &body))
}

/// What to do where nothing is stored yet.
fn first_steps(store: &Store) -> Markup {
    html! {
        section {
            h2 { "No run is stored yet" }
            p {
                a href="/measure" { "Measure a drive" } " from here, or on the command line: "
                code { "drivescope run ." (store.words()) } "."
            }
            p.small { "The store is " (store.location().shown()) "." }
        }
    }
}

pub fn in_progress(running: &[BrowserRun]) -> Markup {
    html! {
        @if !running.is_empty() {
            section {
                h2 { "In progress" }
                ul { @for run in running {
                    li { a href={ "/live/" (run.number) } { (run.wish.target) ", suite " (run.wish.suite) } }
                } }
            }
        }
    }
}

/// Whether it is built on other devices, and thus rarely looked for first.
fn is_aside(drive: &Drive) -> bool {
    matches!(drive.kind, DriveKind::Loop | DriveKind::Memory | DriveKind::Composite)
}

/// The newest run of this drive: by serial number or, without one, by name and model; but not of another one that lay
/// in its dock.
fn newest_run(
    store: &Store,
    newest: &[NewestRun],
    drive: &Drive,
) -> Result<Option<Run>, PageError> {
    let is_it = |run: &&NewestRun| match (&drive.serial, &run.serial) {
        (Some(own), Some(its)) => own == its && drive.model == run.model,
        (None, None) => run.name.as_ref() == Some(&drive.name) && drive.model == run.model,
        _ => false,
    };
    for run in newest.iter().filter(is_it) {
        match store.get(&run.id) {
            Ok(run) if run.drive.as_ref().is_none_or(|of| of.clash(drive).is_none()) => {
                return Ok(Some(run));
            }
            Ok(run) => {
                let own = store.runs_of_attached(Some(drive), &run.target.path, 1)?.runs.pop();
                return Ok(own);
            }
            // Removed meanwhile, or of a newer drivescope.
            Err(error) if matches!(error.fault, StoreFault::NoRun | StoreFault::Document) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

fn one(listed: &ListedDrive, run: Option<&Run>) -> Markup {
    let drive = &listed.drive;
    let name = drive.model.as_deref().map(str::trim).filter(|model| !model.is_empty());
    let measured = drive.mounts.first().unwrap_or(&drive.path);
    html! {
        section {
            h2 { (name.unwrap_or(&drive.name)) ", " (Bytes(drive.capacity_bytes)) }
            p.small { (facts(drive).join(" · ")) @if listed.is_awaited { " · waiting for its answer" } }
            @if let Some(trouble) = &listed.trouble { p.warning { "▲ " (trouble) } }
            (folded_health(&drive.health))
            @match run {
                None => p { "Not measured yet." },
                Some(run) => {
                    @if let Some(answer) = answer(run, false) { p { (answer) } }
                    @if !run.verdict.is_empty() { div.scroll tabindex="0" role="region" aria-label={ "What " (drive.name) " suits" } {
                        (verdict_table(&run.verdict))
                    } }
                }
            }
            ul.actions {
                @if let Some(run) = run {
                    li { a href={ "/runs/" (run.id) } { "Run of " (minute(&run.started_at)) } }
                    li { a href=(address("/history", &[("drive", &run.id)])) { "History" } }
                }
                li { a href=(address("/measure", &[("target", measured)])) { "Measure " (measured) } }
            }
        }
    }
}

/// What the kernel reports of a drive, as short clauses.
fn facts(drive: &Drive) -> Vec<String> {
    let mut facts = vec![drive.path.clone()];
    facts.extend(drive.link.as_ref().map(|link| link.name.clone()));
    facts.extend(drive.serial.as_ref().map(|serial| format!("serial number {serial}")));
    facts.extend(drive.temperature_c.map(|celsius| format!("{celsius:.0} °C")));
    facts.extend(
        drive
            .health
            .passed
            .map(|passed| format!("SMART {}", if passed { "passed" } else { "FAILED" })),
    );
    let mounts = drive.mounts.iter().chain(drive.partitions.iter().flat_map(|part| &part.mounts));
    let mounts: Vec<&str> = mounts.map(String::as_str).collect();
    if !mounts.is_empty() {
        facts.push(format!("mounted at {}", mounts.join(", ")));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drive_shows_its_health_now() {
        let text = include_str!("../../../../docs/examples/run.json");
        let run: Run = serde_json::from_str(text).unwrap();
        let mut drive = run.drive.unwrap();
        drive.health.power_on_hours = Some(41_207);
        drive.health.crc_errors = Some(12);
        let mut listed = ListedDrive { drive, trouble: None, is_awaited: false };
        let page = one(&listed, None).into_string();
        for part in ["Health (SMART)", "<dd>41,207</dd>", "CRC errors of the link"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        listed.drive.health = Default::default();
        assert!(!one(&listed, None).into_string().contains("Health"));
    }
}
