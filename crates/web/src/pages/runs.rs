//! The stored runs: searched, filtered, a page at a time, and chosen for a comparison.

use super::error::PageError;
use super::layout::{SitePart, minute, page};
use super::stored::COMPARED_MAX;
use crate::form::{Fields, address};
use crate::site::Site;
use axum::response::Html;
use drivescope_model::number::whole;
use drivescope_store::{Filter, RunSummary};
use maud::{Markup, html};

const PAGE: u32 = 50;
const STATUSES: [&str; 4] = ["done", "failed", "interrupted", "skipped"];
const KINDS: [&str; 2] = ["real", "simulated"];

struct RunSearch {
    text: String,
    status: String,
    kind: String,
    /// From 1.
    page: u32,
}

impl RunSearch {
    fn of(fields: &Fields) -> Self {
        let one_of = |name: &str, known: &[&str]| {
            fields.text(name).filter(|value| known.contains(&value.as_str())).unwrap_or_default()
        };
        Self {
            text: fields.text("search").unwrap_or_default(),
            status: one_of("status", &STATUSES),
            kind: one_of("drives", &KINDS),
            page: fields.number("page").unwrap_or(1).max(1),
        }
    }

    fn filter(&self) -> Filter {
        fn asked(text: &str) -> Option<String> {
            (!text.is_empty()).then(|| text.to_string())
        }
        Filter {
            text: asked(&self.text),
            status: asked(&self.status),
            simulated: asked(&self.kind).map(|kind| kind == "simulated"),
            limit: Some(PAGE),
            skip: (self.page - 1).saturating_mul(PAGE),
            ..Filter::default()
        }
    }

    fn address(&self, page: u32) -> String {
        let number = if page > 1 { page.to_string() } else { String::new() };
        let fields = [
            ("search", self.text.as_str()),
            ("status", self.status.as_str()),
            ("drives", self.kind.as_str()),
            ("page", number.as_str()),
        ];
        address("/runs", &fields)
    }
}

pub fn runs(site: &Site, fields: &Fields) -> Result<Html<String>, PageError> {
    let search = RunSearch::of(fields);
    let (filter, store) = (search.filter(), site.open_store()?);
    let (found, count) = (store.list(&filter)?, store.count(&filter)?);
    let is_narrowed = search.address(1) != "/runs";
    let body = html! {
        h1 { "Runs" }
        (search_form(&search))
        div #found {
            p role="status" { (counted(count, is_narrowed)) }
            @if found.is_empty() {
                @if is_narrowed { p { a href="/runs" { "All runs" } } }
                @else { p { a href="/measure" { "Measure a drive" } } }
            } @else {
                (table(&found))
                (pager(&search, count))
            }
        }
    };
    Ok(page(site, "Runs", SitePart::Runs, None, &body))
}

fn counted(count: u64, is_narrowed: bool) -> String {
    let what = if count == 1 { "run" } else { "runs" };
    match (count, is_narrowed) {
        (0, true) => "No stored run matches.".to_string(),
        (0, false) => "No run is stored yet.".to_string(),
        (_, true) => format!("{} {what} found", whole(count)),
        (_, false) => format!("{} {what}, the newest first", whole(count)),
    }
}

fn search_form(search: &RunSearch) -> Markup {
    let select = |name: &str, label: &str, chosen: &str, all: &str, values: &[&str]| {
        html! {
            p {
                label for=(name) { (label) }
                select #(name) name=(name) {
                    option value="" { (all) }
                    @for value in values {
                        option value=(value) selected[*value == chosen] { (value) }
                    }
                }
            }
        }
    };
    html! {
        form.fields #search-runs role="search" action="/runs" method="get" {
            p {
                label for="search" { "Drive, target, label, suite or id" }
                input #search name="search" type="search" value=(search.text) autocomplete="off" maxlength="200";
            }
            (select("status", "Ended", &search.status, "any way", &STATUSES))
            (select("drives", "Drives", &search.kind, "all", &KINDS))
            p { button type="submit" { "Search" } }
        }
    }
}

fn table(found: &[RunSummary]) -> Markup {
    html! {
        form #compare-runs action="/compare" method="get" data-most=(COMPARED_MAX) {
            div.scroll tabindex="0" role="region" aria-label="Runs" {
                table.roomy {
                    thead { tr {
                        th scope="col" { span.hidden { "compare" } }
                        @for head in ["run", "drive", "result", "target", "suite", "label"] {
                            th scope="col" { (head) }
                        }
                    } }
                    tbody { @for run in found { (row(run)) } }
                }
            }
            p { button type="submit" { "Compare the chosen runs" } }
        }
    }
}

fn row(run: &RunSummary) -> Markup {
    let drive = run.drive().unwrap_or_default();
    html! {
        tr {
            td { input type="checkbox" name="run" value=(run.id) aria-label={ "compare run " (run.id) }; }
            th.whole scope="row" {
                a href={ "/runs/" (run.id) } { (minute(&run.started_at)) }
                span.small { (run.id) }
            }
            td {
                @if !drive.is_empty() {
                    a href=(address("/history", &[("drive", &run.id)])) { (drive) }
                }
            }
            td { @if run.status != "done" { strong { (run.status) } " " } (run.headline()) }
            td { (run.target) }
            td { (run.suite) }
            td { (run.label.as_deref().unwrap_or_default()) }
        }
    }
}

fn pager(search: &RunSearch, count: u64) -> Markup {
    let last = u32::try_from(count.div_ceil(u64::from(PAGE))).unwrap_or(u32::MAX).max(1);
    html! {
        @if last > 1 {
            nav aria-label="Pages of runs" {
                ul.actions {
                    @if search.page > 1 {
                        li { a href=(search.address(1)) { "Newest" } }
                        li { a rel="prev" href=(search.address(search.page - 1)) { "Newer" } }
                    }
                    li { "page " (search.page) " of " (last) }
                    @if search.page < last {
                        li { a rel="next" href=(search.address(search.page + 1)) { "Older" } }
                        li { a href=(search.address(last)) { "Oldest" } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_contains_the_search_and_nothing_else() {
        for (query, same) in [
            ("search=wd+red&status=failed&drives=real&page=3", true),
            ("status=absent&drives=x&page=0", false),
            ("page=-1&search=", false),
        ] {
            let search = RunSearch::of(&Fields::parse(query.as_bytes()));
            let expected = if same { format!("/runs?{query}") } else { "/runs".to_string() };
            assert_eq!(search.address(search.page), expected);
        }
        let far = RunSearch::of(&Fields::parse(b"page=4294967295"));
        assert_eq!(far.filter().skip, u32::MAX);
    }
}
