//! The hosts: when each was seen, what it misses, and what it does.

use super::list::{ListColumn, pager, rows_of, table};
use super::{FleetPage, counted, fleet_page, rough_time, short, view};
use crate::form::{Fields, address};
use crate::pages::error::PageError;
use crate::site::Site;
use axum::response::Html;
use drivescope_model::fleet::FleetHost;
use maud::{Markup, html};

/// Missing drives that a row names.
const MISSING_SHOWN: usize = 4;
/// First digits of an id: as many as `fleet hosts` needs to tell hosts apart.
const ID_SHOWN: usize = 8;

/// What can be wrong with a host: the value in an address, and the words.
const TROUBLES: [(HostTrouble, &str, &str); 3] = [
    (HostTrouble::Lost, "lost", "lost"),
    (HostTrouble::Cloned, "cloned", "with the machine id of another"),
    (HostTrouble::Missing, "missing", "with missing drives"),
];

/// The worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostTrouble {
    Lost,
    Cloned,
    Missing,
}

impl HostTrouble {
    fn is_of(self, host: &FleetHost) -> bool {
        match self {
            Self::Lost => host.is_lost(),
            Self::Cloned => host.same_machine_as.is_some(),
            Self::Missing => !host.missing.is_empty(),
        }
    }
}

/// Place in the list: troubles first.
fn place(host: &FleetHost) -> usize {
    TROUBLES.iter().position(|(trouble, ..)| trouble.is_of(host)).unwrap_or(TROUBLES.len())
}

pub fn hosts(site: &Site, fields: &Fields) -> Result<Html<String>, PageError> {
    let mut all = view(site)?.hosts()?;
    all.sort_by_key(place);
    let command = ("To measure their drives", "submit quick");
    Ok(fleet_page(site, "Hosts of the fleet", FleetPage::Hosts, command, &body(&all, fields)))
}

fn body(all: &[FleetHost], fields: &Fields) -> Markup {
    let search = fields.text("search").unwrap_or_default();
    let show = fields.text("show").unwrap_or_default();
    let asked = TROUBLES.into_iter().find(|(_, value, _)| *value == show);
    let show = asked.map_or("", |(_, value, _)| value);
    let page = fields.number("page").unwrap_or(1);
    let part = search.to_lowercase();
    let is_found = |host: &&FleetHost| {
        let names = [&host.agent.name, &host.agent.id, &host.agent.version];
        asked.is_none_or(|(trouble, ..)| trouble.is_of(host))
            && names.iter().any(|name| name.to_lowercase().contains(&part))
    };
    let found: Vec<&FleetHost> = all.iter().filter(is_found).collect();
    let at = |page: u32| {
        let page = page.to_string();
        address("/fleet", &[("search", &search), ("show", show), ("page", &page)])
    };
    html! {
        h1 { "Hosts" }
        @if all.is_empty() {
            p.answer { "No host has announced itself yet. On each machine:" }
            p { code { "drivescope fleet agent" } }
        } @else {
            (overview(all))
            (search_form(&search, show))
            @if found.is_empty() { p { "No host matches. " a href="/fleet" { "All hosts" } } }
            @else {
                @if found.len() < all.len() { p role="status" { (counted(found.len(), "host")) " found" } }
                (table("Hosts", &COLUMNS, &html! { @for host in rows_of(&found, page) { (row(host)) } }))
                (pager(found.len(), page, at))
            }
        }
    }
}

/// How many there are, and how many have a trouble: these stand first in the list.
fn overview(all: &[FleetHost]) -> Markup {
    let of = |trouble: HostTrouble| all.iter().filter(|host| trouble.is_of(host)).count();
    let troubles = TROUBLES.map(|(trouble, value, words)| (of(trouble), value, words));
    let is_fine = troubles.iter().all(|(count, ..)| *count == 0);
    html! {
        p.answer {
            (counted(all.len(), "host"))
            @if is_fine { ", all seen lately, with all their drives." }
            @for (count, value, words) in troubles {
                @if count > 0 {
                    " · " a href=(address("/fleet", &[("show", value)])) { (count) " " (words) }
                }
            }
        }
    }
}

fn search_form(search: &str, show: &str) -> Markup {
    html! {
        form.fields role="search" action="/fleet" method="get" {
            p {
                label for="search" { "Name, id or version" }
                input #search name="search" type="search" value=(search) autocomplete="off" maxlength="200";
            }
            p {
                label for="show" { "Show" }
                select #show name="show" {
                    option value="" { "all" }
                    @for (_, value, words) in TROUBLES {
                        option value=(value) selected[value == show] { (words) }
                    }
                }
            }
            p { button type="submit" { "Search" } }
        }
    }
}

const COLUMNS: [ListColumn<'_>; 7] = [
    ListColumn::Text("host"),
    ListColumn::Text("last seen"),
    ListColumn::Number("drives"),
    ListColumn::Text("missing drives"),
    ListColumn::Text("jobs"),
    ListColumn::Text("drivescope"),
    ListColumn::Text("may write"),
];

fn row(host: &FleetHost) -> Markup {
    let agent = &host.agent;
    let id: String = agent.id.chars().take(ID_SHOWN).collect();
    html! {
        tr {
            th scope="row" {
                (short(&agent.name))
                span.small { (id) }
                @if let Some(other) = &host.same_machine_as {
                    span.small { "▲ same machine id as " (short(other)) ": cloned" }
                }
            }
            td {
                @if host.is_lost() { strong.bad { "▲ lost" } ", " }
                (rough_time(host.seen_s_ago)) " ago"
            }
            td.number {
                a href=(address("/fleet/drives", &[("host", &agent.id)])) { (host.drives) }
            }
            td { (missing(host)) }
            td { (jobs(host)) }
            td { (short(&agent.version)) }
            td { (agent.ceiling.name()) }
        }
    }
}

fn missing(host: &FleetHost) -> Markup {
    let more = host.missing.len().saturating_sub(MISSING_SHOWN);
    html! {
        @if host.missing.is_empty() { "–" }
        @for (name, seen_s_ago) in host.missing.iter().take(MISSING_SHOWN) {
            span.line { strong { (short(name)) } ", for " (rough_time(*seen_s_ago)) }
        }
        @if more > 0 {
            a href=(address("/fleet/drives", &[("host", &host.agent.id)])) { "and " (more) " more" }
        }
    }
}

fn jobs(host: &FleetHost) -> String {
    let parts = [(host.running, "running"), (host.waiting, "waiting")];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| format!("{count} {state}"))
        .collect();
    if parts.is_empty() { "–".to_string() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{EVIL, fleet_host};

    fn shown(all: &[FleetHost], query: &str) -> String {
        body(all, &Fields::parse(query.as_bytes())).into_string()
    }

    #[test]
    fn troubles_are_counted_and_come_first() {
        let mut all = vec![fleet_host("a"), fleet_host("b"), fleet_host("c"), fleet_host("d")];
        all[1].missing = vec![("sdq".to_string(), 7_300.0)];
        all[2].seen_s_ago = 4.0e5;
        all[3].same_machine_as = Some("a (0123)".to_string());
        all.sort_by_key(place);
        let names: Vec<&str> = all.iter().map(|host| host.agent.name.as_str()).collect();
        assert_eq!(names, ["c", "d", "b", "a"]);
        let page = shown(&all, "");
        for part in
            ["4 hosts", ">1 lost<", ">1 with missing drives<", "same machine id as a", "sdq"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(page.contains("for 2 h") && page.contains("4 days ago"));
        let lost = shown(&all, "show=lost");
        assert!(lost.contains("1 host found") && !lost.contains("sdq"));
        assert!(shown(&all, "search=absent").contains("No host matches"));
        assert!(shown(&[], "").contains("drivescope fleet agent"));
        assert!(shown(&[fleet_host("a")], "").contains("all seen lately"));
    }

    #[test]
    fn page_of_ten_thousand_hosts_stays_small() {
        let all: Vec<FleetHost> = (0..10_000).map(|n| fleet_host(&format!("h{n}"))).collect();
        let page = shown(&all, "page=50");
        assert!(page.contains("10,000 hosts") && page.contains("page 50 of 50"));
        assert!(page.contains(">h9999<") && !page.contains(">h0<"));
        assert!(page.len() < 300_000, "{} bytes", page.len());
    }

    #[test]
    fn names_of_hosts_are_text() {
        let mut host = fleet_host(EVIL);
        host.agent.id = EVIL.to_string();
        host.agent.version = EVIL.repeat(500);
        host.missing = vec![(EVIL.to_string(), 1.0); 9];
        host.same_machine_as = Some(EVIL.to_string());
        let page = shown(&[host], "");
        assert!(!page.contains("<script") && page.contains("&lt;script"));
        assert!(page.contains("and 5 more") && page.len() < 10_000);
    }
}
