//! One drive over all its runs as a page: what got worse, a picture of each metric, and the runs.

use super::{PageContent, figure};
use crate::history::DriveHistory;
use crate::history_charts;
use crate::text::{history_sentences, minute};
use drivescope_model::Bytes;
use maud::{Markup, html};

/// `link` gives the address of a run's page by its id, if there is one.
pub fn history_page(history: &DriveHistory, link: impl Fn(&str) -> Option<String>) -> PageContent {
    let size = history.capacity_bytes.map(|bytes| format!(", {}", Bytes(bytes)));
    let charts = history_charts(history);
    let count = history.runs.len();
    let body = html! {
        header {
            p.small { "drivescope history · " (count) @if count == 1 { " run" } @else { " runs" } }
            h1 { (history.drive) (size.unwrap_or_default()) }
            @for sentence in history_sentences(history) { p.answer { (sentence) } }
        }
        @if !charts.is_empty() {
            section {
                h2 { "Over time" }
                div.charts { @for chart in &charts { (figure(chart)) } }
            }
        }
        (runs(history, &link))
        (method(history, &link))
    };
    PageContent { title: format!("History of {}", history.drive), body }
}

fn runs(history: &DriveHistory, link: &impl Fn(&str) -> Option<String>) -> Markup {
    html! {
        section {
            h2 { "Runs" }
            div.scroll tabindex="0" role="region" aria-label="Runs" {
                table {
                    thead { tr {
                        @for head in ["run", "began", "suite", "label", "new since the run before"] {
                            th scope="col" { (head) }
                        }
                    } }
                    tbody { @for run in history.runs.iter().rev() { tr {
                        th scope="row" { (linked(&run.id, link)) }
                        td { (minute(&run.started_at)) }
                        td { (run.suite) }
                        td { (run.label.as_deref().unwrap_or_default()) }
                        td { (run.news.join(", ")) }
                    } } }
                }
            }
        }
    }
}

fn method(history: &DriveHistory, link: &impl Fn(&str) -> Option<String>) -> Markup {
    html! {
        section {
            h2 { "How it was compared" }
            p {
                "Only runs with the options of the newest are compared. A change is one level before and another \
                 since, or a steady way where a line explains more; it is 5 % or more, and its interval shows it. \
                 Slower and faster are of speeds, for latencies too: 50 % slower takes twice as long. A false \
                 change among all rows has a probability of at most 1 %."
            }
            @if !history.left_out.is_empty() {
                details {
                    summary { "Left out: " (history.left_out.len()) }
                    ul { @for (id, why) in &history.left_out { li { (linked(id, link)) ": " (why) } } }
                }
            }
        }
    }
}

fn linked(id: &str, link: &impl Fn(&str) -> Option<String>) -> Markup {
    html! {
        @match link(id) {
            Some(to) => a href=(to) { (id) },
            None => (id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::history;
    use crate::history::tests::weekly;
    use crate::testing::must_have;

    #[test]
    fn a_history_is_whole_and_names_are_text() {
        let values = [(100.0, 900.0), (101.0, 905.0), (99.0, 895.0), (100.0, 900.0)];
        let mut runs = weekly(&values);
        runs[2].label = Some("<b>bold</b>".to_string());
        runs[0].tests.clear();
        let history = history(runs, "<i>d</i>".into());
        let page = history_page(&history, |id| Some(format!("/runs/{id}"))).alone();
        assert_eq!(page.matches("href=\"/runs/").count(), 4);
        must_have(
            &page,
            &["&lt;i&gt;d", "&lt;b&gt;bold", "history · 3 runs", "<svg", "Left out: 1"],
        );
        assert!(!page.contains("<b>bold") && page.matches("<script").count() == 1);
    }
}
