//! The pages of a fleet: hosts, drives, jobs, odd drives. They show; nothing is submitted or cancelled from a browser.

mod drive_groups;
mod drives;
mod hosts;
mod jobs;
mod list;
mod outliers;
mod state_bar;
mod submissions;

pub use drives::drives;
pub use hosts::hosts;
pub use jobs::submission;
pub use outliers::outliers;
pub use submissions::submissions;

use super::error::PageError;
use super::layout::{SitePart, page};
use crate::fleet_view::FleetView;
use crate::site::Site;
use axum::response::Html;
use maud::{Markup, html};
use std::borrow::Cow;

/// Pages of a fleet, with where they are.
const PAGES: [(FleetPage, &str, &str); 4] = [
    (FleetPage::Hosts, "/fleet", "Hosts"),
    (FleetPage::Drives, "/fleet/drives", "Drives"),
    (FleetPage::Jobs, "/fleet/jobs", "Jobs"),
    (FleetPage::Outliers, "/fleet/outliers", "Outliers"),
];
/// Letters of a name on a page: agents may announce any text, and a page has many.
const NAME_MAX_CHARS: usize = 120;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FleetPage {
    Hosts,
    Drives,
    Jobs,
    Outliers,
}

fn view(site: &Site) -> Result<&dyn FleetView, PageError> {
    site.workbench.fleet().ok_or_else(PageError::no_fleet)
}

/// A page of the fleet; `command` is what to type for what it does not do.
fn fleet_page(
    site: &Site,
    title: &str,
    part: FleetPage,
    (purpose, command): (&str, &str),
    body: &Markup,
) -> Html<String> {
    let body = html! {
        nav.part aria-label="Fleet" {
            ul { @for (known, path, name) in PAGES {
                li { a href=(path) aria-current=[(known == part).then_some("page")] { (name) } }
            } }
        }
        (body)
        section {
            p.small {
                "These pages only show: nothing is submitted or cancelled from a browser. " (purpose) ":"
            }
            p.command { code { "drivescope fleet " (command) (site.store.words()) } }
        }
    };
    page(site, title, SitePart::Fleet, None, &body)
}

/// A name, cut where it is far longer than any that means something.
fn short(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(NAME_MAX_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    }
}

/// `12 s`, `5 min`, `3 h`, `12 days`.
fn rough_time(seconds: f64) -> String {
    let units = [(120.0, 1.0, "s"), (7_200.0, 60.0, "min"), (172_800.0, 3_600.0, "h")];
    let seconds = seconds.max(0.0);
    match units.into_iter().find(|(below, ..)| seconds < *below) {
        Some((_, unit, name)) => format!("{:.0} {name}", (seconds / unit).floor()),
        None => format!("{:.0} days", (seconds / 86_400.0).floor()),
    }
}

/// `43 %` of a part from 0 to 1. What is not quite all is not 100 %.
fn percent(part: f64) -> String {
    format!("{:.0} %", (part * 100.0).floor())
}

/// `1 drive`, `2,000 drives`.
fn counted(count: usize, one: &str) -> String {
    let number = drivescope_model::number::whole(count as u64);
    if count == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_unit_that_suits_them() {
        let shown = [-1.0, 119.9, 120.0, 7_199.0, 7_200.0, 172_799.0, 172_800.0, 8.7e6];
        let expected = ["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 days", "100 days"];
        assert_eq!(shown.map(rough_time), expected);
        assert_eq!((percent(0.999), percent(1.0)), ("99 %".to_string(), "100 %".to_string()));
    }

    #[test]
    fn long_names_are_cut_between_letters() {
        let long = "ü".repeat(5_000);
        assert_eq!(short(&long).chars().count(), NAME_MAX_CHARS + 1);
        assert_eq!(short("größe"), "größe");
    }
}
