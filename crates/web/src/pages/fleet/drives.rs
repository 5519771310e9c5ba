//! The drives: by model and firmware, and each one of a group, of a host, or found by a search.

use super::drive_groups::{ModelGroup, groups, name};
use super::list::{ListColumn, pager, rows_of, table};
use super::{FleetPage, counted, fleet_page, percent, rough_time, short, view};
use crate::fleet_view::{FleetDrives, FleetFault};
use crate::form::{Fields, address};
use crate::pages::error::PageError;
use crate::site::Site;
use axum::response::Html;
use drivescope_model::Bytes;
use drivescope_model::drive::DriveKind;
use drivescope_model::fleet::{DriveRate, FleetDrive, HostDrive};
use drivescope_model::number::{rounded, whole};
use drivescope_model::shell::quoted;
use maud::{Markup, html};
use std::collections::HashMap;

const UNNAMED: &str = "no model reported";

/// Which drives are listed one by one; without any choice they are grouped.
#[derive(Default)]
struct DriveChoice {
    /// Model and firmware, as groups are named.
    group: Option<(Option<String>, Option<String>)>,
    /// Id of a host.
    host: Option<String>,
    /// Part of a name, as it was typed.
    search: Option<String>,
    /// An expression.
    select: Option<String>,
    page: u32,
}

impl DriveChoice {
    fn of(fields: &Fields) -> Self {
        let is_group = fields.text("by").is_some();
        Self {
            group: is_group.then(|| (fields.text("model"), fields.text("firmware"))),
            host: fields.text("host"),
            search: fields.text("search"),
            select: fields.text("select"),
            page: fields.number("page").unwrap_or(1),
        }
    }

    fn is_any(&self) -> bool {
        self.group.is_some()
            || self.host.is_some()
            || self.search.is_some()
            || self.select.is_some()
    }

    /// Drives that are chosen among the selected ones, by host and name.
    fn of_all<'d>(&self, all: &'d [HostDrive]) -> Vec<&'d HostDrive> {
        let part = self.search.as_ref().map(|text| text.to_lowercase());
        let mut found: Vec<&HostDrive> =
            all.iter().filter(|it| self.has(it, part.as_deref())).collect();
        found.sort_by_key(|it| (&it.host, &it.host_id, &it.drive.name));
        found
    }

    fn has(&self, it: &HostDrive, part: Option<&str>) -> bool {
        let drive = &it.drive;
        let names =
            [Some(&it.host), Some(&drive.name), drive.serial.as_ref(), drive.model.as_ref()];
        let is_named =
            |part: &str| names.into_iter().flatten().any(|name| name.to_lowercase().contains(part));
        let group = (name(drive.model.as_ref()), name(drive.firmware.as_ref()));
        self.group.as_ref().is_none_or(|(model, of)| (model.as_deref(), of.as_deref()) == group)
            && self.host.as_ref().is_none_or(|host| it.host_id.trim() == host)
            && part.is_none_or(is_named)
    }

    fn address(&self, page: u32) -> String {
        let page = page.to_string();
        let text = |text: Option<&String>| text.cloned().unwrap_or_default();
        let (model, firmware) = self.group.clone().unwrap_or_default();
        let fields = [
            ("by", if self.group.is_some() { "group" } else { "" }.to_string()),
            ("model", text(model.as_ref())),
            ("firmware", text(firmware.as_ref())),
            ("host", text(self.host.as_ref())),
            ("search", text(self.search.as_ref())),
            ("select", text(self.select.as_ref())),
            ("page", page),
        ];
        let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
        address("/fleet/drives", &fields)
    }
}

pub fn drives(site: &Site, fields: &Fields) -> Result<Html<String>, PageError> {
    let choice = DriveChoice::of(fields);
    let body = match view(site)?.drives(choice.select.as_deref()) {
        Ok(known) => body(&known, &choice),
        Err(FleetFault::Expression(why)) => mistaken(&choice, &why),
        Err(fault) => return Err(fault.into()),
    };
    let select = choice.select.as_deref().unwrap_or("model=~\"WD40.*\"");
    let command = format!("submit quick --select {}", quoted(select));
    let command = ("To measure some of them", command.as_str());
    Ok(fleet_page(site, "Drives of the fleet", FleetPage::Drives, command, &body))
}

fn body(known: &FleetDrives, choice: &DriveChoice) -> Markup {
    let found = choice.of_all(&known.drives);
    html! {
        h1 { "Drives" }
        @if choice.is_any() { (listed(known, &found, choice)) }
        @else { (grouped(known, &found, choice)) }
    }
}

fn mistaken(choice: &DriveChoice, why: &str) -> Markup {
    html! {
        h1 { "Drives" }
        p.warning role="alert" { "Not an expression: " (why) }
        (search_form(choice))
    }
}

fn search_form(choice: &DriveChoice) -> Markup {
    let typed = |text: &Option<String>| text.clone().unwrap_or_default();
    html! {
        form.fields role="search" action="/fleet/drives" method="get" {
            p {
                label for="search" { "Host, model, serial or kernel name" }
                input #search name="search" type="search" value=(typed(&choice.search)) autocomplete="off"
                    maxlength="200";
            }
            p {
                label for="select" { "Expression, as of fleet submit --select" }
                input #select name="select" type="search" value=(typed(&choice.select)) autocomplete="off"
                    spellcheck="false" placeholder="kind=ssd and fill>90%" maxlength="1000";
            }
            p { button type="submit" { "Search" } }
        }
    }
}

const GROUP_COLUMNS: [ListColumn<'_>; 8] = [
    ListColumn::Text("model"),
    ListColumn::Text("firmware"),
    ListColumn::Number("drives"),
    ListColumn::Number("hosts"),
    ListColumn::Number("size"),
    ListColumn::Number("in use"),
    ListColumn::Number("temperature"),
    ListColumn::Number("reads 1 MiB"),
];

fn grouped(known: &FleetDrives, all: &[&HostDrive], choice: &DriveChoice) -> Markup {
    let found = groups(all, &known.rates);
    let missing = all.iter().filter(|it| !it.is_there).count();
    html! {
        p.answer {
            (counted(all.len(), "drive")) " in " (counted(found.len(), "group")) " by model and firmware"
            @if missing > 0 { " · " (missing) " missing" }
        }
        (search_form(choice))
        @if !found.is_empty() {
            (table("Drives by model and firmware", &GROUP_COLUMNS, &html! {
                @for group in rows_of(&found, choice.page) { (group_row(group)) }
            }))
            (pager(found.len(), choice.page, |page| choice.address(page)))
            p.small {
                "Use and temperature are medians, with the largest below. Rates are the newest of each drive in the last "
                (whole(known.rated_runs.into())) " stored runs."
            }
        }
    }
}

fn group_row(group: &ModelGroup<'_>) -> Markup {
    let (model, firmware) = (group.model.unwrap_or_default(), group.firmware.unwrap_or_default());
    let fields = [("by", "group"), ("model", model), ("firmware", firmware)];
    html! {
        tr {
            th scope="row" {
                a href=(address("/fleet/drives", &fields)) { (short(group.model.unwrap_or(UNNAMED))) }
            }
            td { (short(group.firmware.unwrap_or("–"))) }
            td.number {
                (whole(group.drives.len() as u64))
                @if group.missing() > 0 { span.small { (group.missing()) " missing" } }
            }
            td.number { (whole(group.hosts() as u64)) }
            td.number { (group.sizes()) }
            td.number { (group.fill()) }
            td.number { (group.temperature()) }
            td.number { (group.rate()) }
        }
    }
}

/// All of a group are of one model.
fn columns(choice: &DriveChoice) -> Vec<ListColumn<'static>> {
    let model = choice.group.is_none().then_some("model");
    let texts = ["drive", "host"].into_iter().chain(model).chain(["there"]).map(ListColumn::Text);
    let numbers = ["in use", "temperature", "reads 1 MiB"].map(ListColumn::Number);
    texts.chain([ListColumn::Number("size"), ListColumn::Text("link")]).chain(numbers).collect()
}

fn listed(known: &FleetDrives, found: &[&HostDrive], choice: &DriveChoice) -> Markup {
    let host = choice.host.is_some().then(|| found.first().map(|it| it.host.as_str())).flatten();
    let missing = found.iter().filter(|it| !it.is_there).count();
    let rates = RatesOfDrives::new(&known.rates);
    html! {
        p.answer {
            (counted(found.len(), "drive"))
            @if let Some((model, firmware)) = &choice.group {
                ": " (short(model.as_deref().unwrap_or(UNNAMED)))
                @if let Some(firmware) = firmware { ", firmware " (short(firmware)) }
            }
            @if let Some(host) = host { " of the host " (short(host)) }
            @if missing > 0 { " · " (missing) " missing" }
        }
        (search_form(choice))
        p { a href="/fleet/drives" { "All drives by model and firmware" } }
        @if !found.is_empty() {
            (table("Drives", &columns(choice), &html! {
                @for it in rows_of(found, choice.page) { (row(it, choice.group.is_none(), rates.of(it))) }
            }))
            (pager(found.len(), choice.page, |page| choice.address(page)))
        }
    }
}

fn row(it: &HostDrive, with_model: bool, rate: Option<&DriveRate>) -> Markup {
    let drive = &it.drive;
    html! {
        tr {
            th scope="row" {
                (short(&drive.name))
                @if let Some(serial) = name(drive.serial.as_ref()) { span.small { (short(serial)) } }
                @if !drive.misaligned.is_empty() {
                    span.small { "▲ misaligned: " (short(&drive.misaligned.join(", "))) }
                }
            }
            td { a href=(address("/fleet/drives", &[("host", &it.host_id)])) { (short(&it.host)) } }
            @if with_model {
                td {
                    (short(name(drive.model.as_ref()).unwrap_or("–")))
                    @if let Some(firmware) = name(drive.firmware.as_ref()) { span.small { (short(firmware)) } }
                }
            }
            td {
                @if it.is_there { "yes" }
                @else { strong.bad { "▲ missing" } " for " (rough_time(it.seen_s_ago)) }
            }
            td.number { (Bytes(drive.capacity_bytes)) }
            td { (link(drive)) }
            td.number { @match drive.fill { Some(part) => (percent(part)), None => "–" } }
            td.number { @match drive.temperature_c { Some(celsius) => { (format!("{celsius:.0} °C")) } None => "–" } }
            td.number {
                @match rate {
                    Some(rate) => a href={ "/runs/" (rate.run_id) } { (rounded(rate.read_mb_s)) " MB/s" },
                    None => "–",
                }
            }
        }
    }
}

fn link(drive: &FleetDrive) -> Markup {
    html! {
        (short(drive.link.as_deref().unwrap_or("–")))
        @if let Some(possible) = &drive.link_possible {
            span.small { "▲ both ends allow " (short(possible)) }
        }
    }
}

/// The newest rates by drive.
struct RatesOfDrives<'r>(HashMap<(&'r str, &'r str), Vec<&'r DriveRate>>);

impl<'r> RatesOfDrives<'r> {
    fn new(rates: &'r [DriveRate]) -> Self {
        let mut by_name: HashMap<_, Vec<&'r DriveRate>> = HashMap::new();
        for rate in rates {
            let key = (text(rate.model.as_ref()), text(rate.serial.as_ref()));
            by_name.entry(key).or_default().push(rate);
        }
        Self(by_name)
    }

    /// By the host's and the drive's name, since simulated drives share serial numbers; a real drive with a serial
    /// number may have been measured on another host.
    fn of(&self, it: &HostDrive) -> Option<&'r DriveRate> {
        let drive = &it.drive;
        let key = (text(drive.model.as_ref()), text(drive.serial.as_ref()));
        let found = self.0.get(&key)?;
        let is_here = |rate: &&&DriveRate| {
            rate.host.as_ref() == Some(&it.host) && rate.name.as_ref() == Some(&drive.name)
        };
        let is_known_anywhere = drive.kind != DriveKind::Simulated && !key.1.is_empty();
        found.iter().find(is_here).or_else(|| found.first().filter(|_| is_known_anywhere)).copied()
    }
}

fn text(text: Option<&String>) -> &str {
    name(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{EVIL, drive_rate, host_drive};

    fn known(drives: Vec<HostDrive>) -> FleetDrives {
        let rates = vec![drive_rate("WD40", "81.0", 178.0)];
        FleetDrives { drives, rates, rated_runs: 20_000 }
    }

    fn shown(known: &FleetDrives, query: &str) -> String {
        body(known, &DriveChoice::of(&Fields::parse(query.as_bytes()))).into_string()
    }

    #[test]
    fn group_leads_to_its_drives() {
        let mut unnamed = host_drive("c", "", "");
        (unnamed.drive.model, unnamed.drive.firmware) = (None, None);
        let mut gone = host_drive("b", "WD40", "81.0");
        (gone.is_there, gone.seen_s_ago) = (false, 3.0e5);
        gone.drive.serial = Some("GONE".to_string());
        let known = known(vec![host_drive("a", "WD40", "81.0"), gone, unnamed]);
        let page = shown(&known, "");
        let link = "/fleet/drives?by=group&amp;model=WD40&amp;firmware=81.0";
        for part in
            ["3 drives in 2 groups", "1 missing", link, "178 MB/s", UNNAMED, "20,000 stored"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        let page = shown(&known, "by=group&model=WD40&firmware=81.0");
        assert!(page.contains("2 drives: WD40, firmware 81.0") && page.contains("▲ missing"));
        assert_eq!(page.matches("/runs/0123456789ab").count(), 1, "{page}");
        assert!(page.contains("for 3 days") && !page.contains(">c<"));
        let page = shown(&known, "by=group");
        assert!(page.contains("1 drive: no model reported"), "{page}");
        assert!(shown(&known, "host=a").contains("1 drive of the host a"));
        assert!(shown(&known, "search=gone").contains("1 drive"));
        assert!(shown(&known, "search=absent").contains("0 drives"));
    }

    #[test]
    fn rate_of_a_shared_serial_number_stays_with_its_host() {
        let rates = vec![drive_rate("WD40", "81.0", 178.0)];
        let rates = RatesOfDrives::new(&rates);
        let mut elsewhere = host_drive("z", "WD40", "81.0");
        assert!(rates.of(&elsewhere).is_some());
        elsewhere.drive.kind = DriveKind::Simulated;
        assert!(rates.of(&elsewhere).is_none());
        elsewhere.host = "a".to_string();
        assert!(rates.of(&elsewhere).is_some());
    }

    #[test]
    fn pages_of_many_drives_stay_small() {
        let drives =
            (0..40_000).map(|n| host_drive(&format!("h{n}"), &format!("M{}", n % 900), ""));
        let known = known(drives.collect());
        for (query, part) in [("", "page 1 of 5"), ("search=h", "page 1 of 200")] {
            let page = shown(&known, query);
            assert!(page.contains(part) && page.len() < 300_000, "{} bytes", page.len());
        }
    }

    #[test]
    fn names_of_drives_are_text() {
        let mut it = host_drive(EVIL, EVIL, EVIL);
        let drive = &mut it.drive;
        (drive.name, drive.serial) = (EVIL.to_string(), Some(EVIL.to_string()));
        (drive.link, drive.link_possible) = (Some(EVIL.to_string()), Some(EVIL.to_string()));
        drive.misaligned = vec![EVIL.to_string()];
        it.host_id = EVIL.to_string();
        let known = known(vec![it]);
        for query in ["", "search=script", &address("", &[("search", EVIL)])[1..]] {
            let page = shown(&known, query);
            assert!(!page.contains("<script") && page.contains("&lt;script"), "{page}");
        }
    }
}
