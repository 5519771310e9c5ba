//! One drive over all its runs as a page: what got worse, a picture of each metric, and the runs.

use super::{PageContent, figure};
use crate::chart::Chart;
use crate::history::DriveHistory;
use crate::history_charts;
use crate::text::{counted_runs, history_sentences, minute};
use drivescope_model::Bytes;
use maud::{Markup, html};

/// `link` gives the address of a run's page by its id, if there is one.
pub fn history_page(history: &DriveHistory, link: impl Fn(&str) -> Option<String>) -> PageContent {
    let size = history.capacity_bytes.map(|bytes| format!(", {}", Bytes(bytes)));
    // What changed stands at the top; a chart by itself says it below its title.
    let without_caption = |chart| Chart { caption: String::new(), ..chart };
    let charts: Vec<Chart> = history_charts(history).into_iter().map(without_caption).collect();
    let body = html! {
        header {
            p.small { "drivescope history · " (counted_runs(history))
                @if history.simulated { " · " span.badge { "simulated drive" } }
            }
            h1 { (history.drive) (size.unwrap_or_default()) }
            @for sentence in history_sentences(history) { p.answer { (sentence.replace(" %", "\u{a0}%")) } }
        }
        @if !charts.is_empty() {
            section {
                h2 { "Over time" }
                p.small {
                    "A mark is a run, its bar the 95 % interval within it. Upright lines: where firmware, machine or \
                     speed changed."
                }
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

    #[test]
    fn a_change_is_said_once_and_simulated_drives_are_marked() {
        let level = |i: usize| if i < 6 { 1.0 } else { 0.8 };
        let values: Vec<(f64, f64)> = (0..12).map(|i| (100.0 * level(i), 900.0)).collect();
        let mut runs = weekly(&values);
        runs.iter_mut().for_each(|run| run.simulated = true);
        let history = history(runs, "d".into());
        let page = history_page(&history, |_| None).alone();
        assert_eq!(page.matches("slower since 16 February").count(), 1, "{page}");
        must_have(&page, &["simulated drive</span>", "5 January to 23 March 2026"]);
    }
}
