//! What stands around every page: its head, and the way to the others.

use crate::fleet_view::FleetView;
use crate::site::Site;
use axum::response::Html;
use drivescope_report::page::{page_script, page_style};
use maud::{DOCTYPE, Markup, html};

/// Icon of these pages in a tab.
pub const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">\
    <circle cx=\"8\" cy=\"8\" r=\"7\" fill=\"#0061a3\"/><circle cx=\"8\" cy=\"8\" r=\"2.5\" fill=\"#fff\"/></svg>";
/// What these pages have besides a report's style.
const ADDED: &str = include_str!("../serve.css");
const ADDED_SCRIPT: &str = include_str!("../serve.js");

/// The style sheet of reports, with additions of these pages; the script likewise.
pub fn style() -> String {
    page_style() + ADDED
}

pub fn script() -> String {
    page_script().to_string() + ADDED_SCRIPT
}

/// The parts of the site, with where they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SitePart {
    Drives,
    Runs,
    Models,
    Measure,
    Fleet,
    /// A page that belongs to no part.
    Other,
}

const PARTS: [(SitePart, &str, &str); 5] = [
    (SitePart::Drives, "/", "Drives"),
    (SitePart::Runs, "/runs", "Runs"),
    (SitePart::Models, "/models", "Models"),
    (SitePart::Measure, "/measure", "Measure"),
    (SitePart::Fleet, "/fleet", "Fleet"),
];

/// A whole page. `refresh_s`: without a script, the interval of reloads.
pub fn page(
    site: &Site,
    title: &str,
    part: SitePart,
    refresh_s: Option<u32>,
    body: &Markup,
) -> Html<String> {
    let has_fleet = site.workbench.fleet().is_some_and(FleetView::has_hosts);
    let parts = PARTS.into_iter().filter(|(known, ..)| has_fleet || *known != SitePart::Fleet);
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head(title))
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/serve.css";
                script src="/serve.js" defer {}
                @if let Some(seconds) = refresh_s {
                    noscript { meta http-equiv="refresh" content=(seconds); }
                }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                nav.site aria-label="drivescope" {
                    ul {
                        @for (known, path, name) in parts {
                            li { a href=(path) aria-current=[(known == part).then_some("page")] { (name) } }
                        }
                    }
                }
                main id="main" tabindex="-1" { (body) }
            }
        }
    };
    Html(whole.into_string())
}

pub fn head(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        title { (title) " – drivescope" }
    }
}

/// The minute of an RFC 3339 time.
pub fn minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}
