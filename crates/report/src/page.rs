//! The report of a run, or of several side by side, as one HTML page: no network, no script needed, the answer first.

mod comparison;
mod document;
mod figures;
mod grid;
mod history;
mod script;
mod style;

use crate::answer;
use crate::chart::{Chart, PictureSize, Theme, svg};
use crate::class_strips;
use crate::comparison::name_of;
use crate::drive_class::known_drives::KnownDrive;
use crate::text::minute;
use crate::verdict::{dots, untested};
use crate::workloads::{charts, phase_charts, workload};
use drivescope_model::document::Verdict;
use drivescope_model::findings::Severity;
use drivescope_model::{Bytes, Finding, Run, Secs, TestResult, TestStatus};
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use comparison::comparison_page;
pub use history::history_page;
pub use script::{PageHashes, page_hashes, page_script};
pub use style::page_style;

/// Pictures over time per test, folded; `report --chart` draws the others.
const PHASES_SHOWN: usize = 6;

/// Contents of a page, for callers that put their own page around it.
pub struct PageContent {
    pub title: String,
    pub body: Markup,
}

impl PageContent {
    /// A complete page that needs nothing else.
    pub fn alone(&self) -> String {
        whole(&self.title, &self.body)
    }
}

/// `question` gives the question of a test, as `drivescope tests` prints it.
pub fn page(run: &Run, question: impl Fn(&TestResult) -> String) -> PageContent {
    page_among(run, &[], question)
}

/// As [`page`], with `known` drives for comparison besides the built-in models.
pub fn page_among(
    run: &Run,
    known: &[KnownDrive],
    question: impl Fn(&TestResult) -> String,
) -> PageContent {
    let name = name_of(run);
    let body = html! {
        (head(run, &name))
        div.overview { div { (suits(run)) (findings(&run.findings)) } (standing(run, known)) }
        @for result in run.tests_for_readers() { (test(result, &question(result), Detail::Whole)) }
        (document::method(run))
        (document::download(run))
    };
    PageContent { title: name, body }
}

/// Tables, charts and findings of a run in progress, without the parts that need a whole run.
pub fn so_far(run: &Run, question: impl Fn(&TestResult) -> String) -> Markup {
    html! {
        @for result in run.tests.iter().filter(|result| has_figures(result)) {
            section {
                h2 { (result.test) }
                p.small { (question(result)) }
                @if let Some(reason) = &result.reason { p.warning { (reason) } }
                (figures::table(&without_early_intervals(result)))
                div.charts { @for chart in charts(&measured(result)) { (one_picture(&chart, Theme::FoldedPage)) } }
            }
        }
        (findings(&run.findings))
    }
}

/// Without the cells that have no figures yet, which charts cannot place.
fn measured(result: &TestResult) -> TestResult {
    let mut measured = without_early_intervals(result);
    measured.metrics.retain(|metric| metric.value.is_finite());
    measured
}

/// The interval of two rounds is far wider than that of the rounds to come.
fn without_early_intervals(result: &TestResult) -> TestResult {
    let mut result = result.clone();
    for metric in result.metrics.iter_mut().filter(|metric| metric.rounds.len() == 2) {
        (metric.low, metric.high) = (metric.value, metric.value);
    }
    result
}

fn has_figures(result: &TestResult) -> bool {
    result.reason.is_some() || result.metrics.iter().any(|metric| metric.value.is_finite())
}

pub fn verdict_table(verdicts: &[Verdict]) -> Markup {
    let mut verdicts: Vec<_> = verdicts.iter().collect();
    verdicts.sort_by_key(|verdict| verdict.points.map_or(u8::MAX, |points| 3 - points.min(3)));
    html! {
        table.verdicts {
            @for verdict in verdicts {
                tr {
                    th scope="row" { (verdict.suits) }
                    td.points { (verdict.points.map_or("not judged", dots)) }
                    td {
                        @if let Some(what) = untested(verdict) { (what) "; " }
                        (verdict.because)
                    }
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Pictures for pages and phones, with values at the pointer, and those over time.
    Whole,
    /// One picture of each kind, without values, where many runs share a page.
    Folded,
}

/// Only the page's own script and style sheet: it asks nothing of the network, whatever stands in a name.
fn policy() -> String {
    let PageHashes { script, style } = page_hashes();
    format!("default-src 'none'; script-src {script}; style-src {style}")
}

fn whole(title: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="color-scheme" content="light dark";
                title { (title) " – drivescope" }
                style { (PreEscaped(style::page_style())) }
            }
            body {
                main { (body) }
                script { (PreEscaped(page_script())) }
            }
        }
    };
    markup.into_string()
}

fn head(run: &Run, name: &str) -> Markup {
    let drive = run.drive.as_ref();
    let size = drive.map_or(run.target.size_bytes, |drive| drive.capacity_bytes);
    let facts: Vec<String> = drive
        .and_then(|drive| drive.link.as_ref().map(|link| link.name.clone()))
        .into_iter()
        .chain(Some(format!("suite {}", run.plan.suite.name)))
        .chain(Some(Secs(run.elapsed_s).to_string()))
        .collect();
    html! {
        header {
            p.small { "drivescope report · " (minute(&run.started_at))
                @if run.simulated { " · " span.badge { "simulated drive" } }
            }
            h1 { (name) ", " (Bytes(size)) }
            p.small { (facts.join(" · ")) " · run " (run.id) @if let Some(label) = &run.label { " · " (label) } }
            @if let Some(answer) = answer(run, false) { p.answer { (answer) } }
            @if run.status != TestStatus::Done {
                p.warning { "This run did not finish: the results below are incomplete." }
            }
        }
    }
}

fn suits(run: &Run) -> Markup {
    html! {
        @if !run.verdict.is_empty() {
            section {
                h2 { "What it suits" }
                (verdict_table(&run.verdict))
            }
        }
    }
}

fn findings(findings: &[Finding]) -> Markup {
    let mut grave: Vec<&Finding> =
        findings.iter().filter(|f| f.severity > Severity::Note).collect();
    grave.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let notes: Vec<&Finding> = findings.iter().filter(|f| f.severity == Severity::Note).collect();
    html! {
        @if !findings.is_empty() {
            section {
                h2 { "Findings" }
                @if grave.is_empty() { p { "Nothing that limits what the figures say." } }
                div.cards { @for finding in grave { (card(finding)) } }
                @if !notes.is_empty() {
                    details {
                        summary { (notes.len()) @if notes.len() == 1 { " note" } @else { " notes" } }
                        div.cards { @for finding in notes { (card(finding)) } }
                    }
                }
            }
        }
    }
}

fn card(finding: &Finding) -> Markup {
    let is_grave = finding.severity > Severity::Note;
    html! {
        article {
            p.(if is_grave { "warning" } else { "small" }) {
                @if is_grave { "▲ " } (finding.severity.name()) " · " (finding.id.spec().id)
            }
            h3 { (finding.evidence) }
            p { (finding.cause) " " strong { (finding.remedy) } }
        }
    }
}

fn standing(run: &Run, known: &[KnownDrive]) -> Markup {
    let strips = class_strips(run, known);
    html! {
        @if !strips.is_empty() {
            section {
                h2 { "Where it stands" }
                p.small { "Bars: from the least to the most of known drives, simulated ones and stored runs." }
                @for strip in &strips { (figure(strip)) }
            }
        }
    }
}

fn test(result: &TestResult, question: &str, detail: Detail) -> Markup {
    let name = result.test.name();
    let headline = (workload(result.test).headline)(result);
    let mut over_time = match detail {
        Detail::Whole => phase_charts(result),
        Detail::Folded => Vec::new(),
    };
    over_time.truncate(PHASES_SHOWN);
    html! {
        section {
            h2 { (headline.as_deref().unwrap_or(name)) }
            p.small { (name) ": " (question) }
            @if let Some(reason) = &result.reason { p.warning { (reason) } }
            @if let Some(grid) = (workload(result.test).grid)(result) { (grid::table(&grid)) }
            @else { (figures::table(result)) }
            div.charts {
                @for chart in charts(result) {
                    @match detail {
                        Detail::Whole => (figure(&chart)),
                        // Values at the pointer of many pictures would be too much for a page.
                        Detail::Folded => (one_picture(&chart, Theme::FoldedPage)),
                    }
                }
            }
            @if !over_time.is_empty() {
                details {
                    summary { "Over time" }
                    div.charts { @for chart in &over_time { (wide_figure(chart)) } }
                }
            }
        }
    }
}

fn wide_figure(chart: &Chart) -> Markup {
    one_picture(chart, Theme::Page)
}

fn one_picture(chart: &Chart, theme: Theme) -> Markup {
    html! {
        figure {
            figcaption { strong { (chart.title) } br; (chart.caption) }
            (PreEscaped(svg(chart, PictureSize::WIDE.fitting(chart), theme)))
        }
    }
}

/// One picture for pages and one for phones; the style sheet shows one of them.
fn figure(chart: &Chart) -> Markup {
    let picture = |size: PictureSize| PreEscaped(svg(chart, size.fitting(chart), Theme::Page));
    html! {
        figure {
            figcaption { strong { (chart.title) } br; (chart.caption) }
            div.wide { (picture(PictureSize::WIDE)) }
            div.narrow { (picture(PictureSize::NARROW)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, must_have};

    #[test]
    fn page_is_self_contained_with_one_script() {
        let mut run = hard_disk();
        run.verdict = crate::judge(&run);
        let page = page(&run, |_| "what?".to_string()).alone();
        let outside = page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "");
        assert!(!outside.contains("http") && outside.matches("<script").count() == 1);
        must_have(
            &page,
            &[
                "<h1>",
                "What it suits",
                "Where it stands",
                "Findings",
                "Speed: ",
                "transfer",
                "<svg",
                "application/gzip",
            ],
        );
    }

    #[test]
    fn warnings_of_a_run_in_progress_stand_below_its_figures() {
        let mut run = hard_disk();
        for metric in &mut run.tests[0].metrics {
            metric.rounds = vec![metric.value, metric.value];
            (metric.low, metric.high) = (0.125, 987_654.0);
        }
        let page = so_far(&run, |_| "what?".to_string()).into_string();
        let [table, findings] = ["<table", "Findings"].map(|part| page.find(part).unwrap());
        assert!(table < findings && page.contains("<svg"));
        assert!(!page.contains("988,000"), "an interval of two rounds is shown");
    }

    #[test]
    fn names_are_text_wherever_they_stand() {
        let mut run = hard_disk();
        let evil = "<script>alert(1)</script>\"'&";
        run.label = Some(evil.to_string());
        run.target.path = evil.to_string();
        run.host.cpu = evil.to_string();
        run.tests[0].reason = Some(evil.to_string());
        run.findings[0].evidence = evil.to_string();
        if let Some(drive) = &mut run.drive {
            drive.model = Some(evil.to_string());
        }
        let page = page(&run, |_| evil.to_string()).alone();
        assert!(!page.contains("<script>alert") && page.matches("<script").count() == 1);
        assert!(page.contains("&lt;script&gt;"));
    }
}
