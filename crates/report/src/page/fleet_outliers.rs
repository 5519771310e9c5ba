//! The odd ones of many drives as a page: the list, a picture of each group, and how they were found.

use super::{PageContent, figure};
use crate::fleet_outliers::charts::group_charts;
use crate::fleet_outliers::{FleetOutliers, OddDrive};
use crate::text::{outlier_notes, outlier_sentence, q_words};
use drivescope_model::MeasuredDrive;
use maud::{Markup, html};

/// Groups with an odd drive come first; more pictures than this would make a page too large.
const CHARTS_MAX: usize = 12;

/// `drives` are those that `outliers` were found among; `link` gives the address of a run's page by its id, if there is
/// one.
pub fn fleet_outliers_page(
    outliers: &FleetOutliers,
    drives: &[MeasuredDrive],
    link: impl Fn(&str) -> Option<String>,
) -> PageContent {
    let mut charts = group_charts(outliers, drives);
    charts.sort_by_key(|chart| chart.caption.starts_with("None"));
    let left_out = charts.len().saturating_sub(CHARTS_MAX);
    charts.truncate(CHARTS_MAX);
    let body = html! {
        header {
            p.small { "drivescope fleet · drives among those like them" }
            h1 { "Odd drives" }
            p.answer { (outlier_sentence(outliers)) }
        }
        @if !outliers.odd.is_empty() { (table(&outliers.odd, &link)) }
        @if !charts.is_empty() {
            section {
                h2 { "Every drive beside its like" }
                div.charts { @for chart in &charts { (figure(chart)) } }
                @if left_out > 0 { p.small { "Groups without a picture here: " (left_out) "." } }
            }
        }
        section {
            h2 { "How they were found" }
            @for note in outlier_notes(outliers) { p { (note) } }
        }
    };
    PageContent { title: "Odd drives".to_string(), body }
}

fn table(odd: &[OddDrive], link: &impl Fn(&str) -> Option<String>) -> Markup {
    html! {
        section {
            h2 { "Which, and why" }
            div.scroll tabindex="0" role="region" aria-label="Odd drives" {
                table {
                    thead { tr {
                        @for head in ["drive", "host", "model", "serial number", "why", "q"] {
                            th scope="col" { (head) }
                        }
                    } }
                    tbody { @for it in odd { tr {
                        th scope="row" { (it.drive) }
                        td { (it.host) }
                        td { (it.model.as_deref().unwrap_or_default()) }
                        td { (it.serial.as_deref().unwrap_or_default()) }
                        td { @for (i, reason) in it.reasons.iter().enumerate() {
                            @if i > 0 { br; }
                            @match link(&reason.run) {
                                Some(to) => a href=(to) { (reason.words) },
                                None => (reason.words),
                            }
                        } }
                        td { (it.q_value.map_or_else(|| "seen".to_string(), q_words)) }
                    } } }
                }
            }
        }
    }
}
