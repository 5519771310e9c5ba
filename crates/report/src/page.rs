//! The report of a run, or of several side by side, as one HTML page: no network, no script needed, the answer first.

mod certificate;
mod comparison;
mod document;
mod figures;
mod findings;
mod fleet_outliers;
mod grid;
mod health;
mod history;
mod script;
mod standing;
mod style;
mod verdicts;

use crate::chart::plain_words::capitalized;
use crate::chart::{Chart, PAGE_DOTS_MAX, PictureSize, Theme, svg};
use crate::comparison::name_of;
use crate::drive_class::known_drives::KnownDrive;
use crate::sd_classes::sd_classes;
use crate::text::minute;
use crate::verdict::answer::{answer_with_figures, kind_words};
use crate::workloads::facts::FoundFact;
use crate::workloads::{charts, phase_charts, title, workload};
use drivescope_model::number::whole as in_full;
use drivescope_model::{Bytes, Run, Secs, TestResult, TestStatus};
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use comparison::comparison_page;
pub use fleet_outliers::fleet_outliers_page;
pub use health::folded_health;
pub use history::history_page;
pub use script::{PageHashes, page_hashes, page_script};
pub use style::page_style;
pub use verdicts::verdict_table;

use findings::findings;
use standing::standing;
use verdicts::suits;

/// Pictures over time per test, folded; `report --chart` draws the others.
const PHASES_SHOWN: usize = 3;

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
    if let Some(decision) = &run.decision {
        let body = certificate::certificate(run, decision, &name);
        return PageContent { title: format!("Check of {name}"), body };
    }
    let is_judged = run.verdict.iter().any(|verdict| verdict.points.is_some());
    let detail = if run.tests.len() == 1 && !is_judged { Detail::Alone } else { Detail::Whole };
    let body = html! {
        (head(run, &name))
        div.overview { (suits(run)) (standing(run, known)) }
        (findings(&run.findings))
        @for result in run.tests_for_readers() { (test(result, &question(result), detail)) }
        @if !sd_classes(run).is_empty() {
            section {
                h2 { "Classes of SD cards" }
                (fact_list(&sd_classes(run)))
            }
        }
        (health::health(run))
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
                h2 { (title(result.test)) }
                p.small { (question(result)) }
                @if let Some(reason) = &result.reason { p.warning { (reason) } }
                (figures::tables(&without_early_intervals(result)))
                div.charts {
                    @for chart in charts(&measured(result)) {
                        (figure_in(&chart, Theme::FoldedPage))
                    }
                }
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Pictures for pages and phones, with values at the pointer, and those over time.
    Whole,
    /// The same of the only test of a run, whose sentence stands at the top.
    Alone,
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
    html! {
        header {
            p.small { "drivescope report · " (minute(&run.started_at)) " · suite " (run.plan.suite.name)
                @if run.simulated { " · " span.badge { "simulated drive" } }
            }
            h1 { (name) ", " (Bytes(size)) }
            p.small { (facts(run).join(" · ")) }
            @if let Some(sentence) = lead(run) { p.answer { (sentence) } }
            @if run.status != TestStatus::Done {
                p.warning { "This run did not finish: the results below are incomplete." }
            }
        }
    }
}

/// `SATA hard disk, 5,400 rpm`, link, duration, run and label.
fn facts(run: &Run) -> Vec<String> {
    let drive = run.drive.as_ref();
    let kind = drive.map(|drive| {
        let rpm = drive.rpm.filter(|rpm| *rpm > 1);
        let rpm = rpm.map(|rpm| format!(", {} rpm", in_full(u64::from(rpm))));
        capitalized(&kind_words(drive)) + &rpm.unwrap_or_default()
    });
    let link = drive.and_then(|drive| drive.link.as_ref().map(|link| link.name.clone()));
    let known = [
        kind,
        link,
        Some(format!("measured for {}", Secs(run.elapsed_s))),
        Some(format!("run {}", run.id)),
        run.label.clone(),
    ];
    known.into_iter().flatten().collect()
}

/// The answer with its figures; of a run that judges nothing, what its tests found.
fn lead(run: &Run) -> Option<String> {
    if run.verdict.iter().any(|verdict| verdict.points.is_some()) {
        return answer_with_figures(run);
    }
    let found = run.tests_for_readers().into_iter().filter_map(headline);
    let found: Vec<String> = found.collect();
    if found.is_empty() { answer_with_figures(run) } else { Some(found.join(". ") + ".") }
}

fn headline(result: &TestResult) -> Option<String> {
    (workload(result.test).headline)(result)
}

/// What a test found: in a sentence, in lines, in charts, and then in figures.
fn test(result: &TestResult, question: &str, detail: Detail) -> Markup {
    let mut over_time = match detail {
        Detail::Folded => Vec::new(),
        _ => phase_charts(result),
    };
    over_time.truncate(PHASES_SHOWN);
    let grid = (workload(result.test).grid)(result);
    let drawn = charts(result);
    let has_facts = !(workload(result.test).facts)(result).is_empty();
    // An odd number of charts leaves room beside the last one.
    let is_beside =
        grid.is_none() && !has_facts && drawn.len() % 2 == 1 && figures::are_narrow(result);
    let heading = match detail {
        Detail::Alone => title(result.test).to_string(),
        _ => headline(result).unwrap_or_else(|| title(result.test).to_string()),
    };
    html! {
        section {
            h2 { (heading) }
            p.small { (capitalized(question)) "?" }
            (fact_list(&(workload(result.test).facts)(result)))
            @if let Some(reason) = &result.reason { p.small { (ended(result.status)) ": " (reason) } }
            @if let Some(grid) = &grid { (grid::table(grid)) }
            @if detail == Detail::Folded {
                // Values at the pointer of many pictures would be too much for a page.
                (small_charts(&drawn, Theme::FoldedPage))
                @if is_beside { (figures::tables(result)) }
            } @else {
                div.charts {
                    @for chart in &drawn { (figure(chart)) }
                    @if is_beside { (figures::tables(result)) }
                }
            }
            @if !is_beside && grid.is_none() {
                @if has_facts { details.screen { summary { "All figures" } (figures::tables(result)) } }
                @else { (figures::tables(result)) }
            }
            @if !over_time.is_empty() {
                details.screen {
                    summary { "Over time" }
                    (small_charts(&over_time, Theme::Page))
                }
            }
        }
    }
}

/// What comes before the reason of a test.
const fn ended(status: TestStatus) -> &'static str {
    match status {
        TestStatus::Done => "Left out",
        TestStatus::Skipped => "Skipped",
        TestStatus::Failed => "Failed",
        TestStatus::Interrupted => "Interrupted",
    }
}

fn fact_list(found: &[FoundFact]) -> Markup {
    html! {
        @if !found.is_empty() {
            dl.facts { @for fact in found {
                @if !fact.name.is_empty() { dt { (capitalized(&fact.name)) } }
                dd { (fact.words()) }
            } }
        }
    }
}

/// Pictures for phones, as many beside each other as fit.
fn small_charts(charts: &[Chart], theme: Theme) -> Markup {
    html! {
        div.small-charts {
            @for chart in charts {
                figure {
                    figcaption { strong { (chart.title) } br; (chart.caption) }
                    (PreEscaped(svg(chart, PictureSize::NARROW.fitting(chart), theme)))
                }
            }
        }
    }
}

fn figure(chart: &Chart) -> Markup {
    figure_in(chart, Theme::Page)
}

/// One picture for pages and one for phones; the style sheet shows one of them.
fn figure_in(chart: &Chart, theme: Theme) -> Markup {
    let picture = |size: PictureSize| PreEscaped(svg(chart, size.fitting(chart), theme));
    html! {
        figure {
            figcaption {
                strong { (chart.title) } br; (chart.caption)
                @if chart.most_dots() > PAGE_DOTS_MAX { " An even sample of them is drawn." }
            }
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
                "Findings that matter",
                "Speed: ",
                "How the verdicts were decided",
                "<svg",
                "application/gzip",
            ],
        );
    }

    #[test]
    fn page_answers_first_and_marks_the_simulation_once() {
        let mut run = hard_disk();
        run.simulated = true;
        run.verdict = crate::judge(&run);
        let page = page(&run, |_| "how fast".to_string()).alone();
        let body = page.split_once("<body>").unwrap().1;
        assert_eq!(body.to_lowercase().matches("simulated drive").count(), 1);
        let places =
            ["MB/s and takes", "very good", "Where it stands", "Findings that matter", "Speed: "];
        let places = places.map(|part| body.find(part).unwrap_or_else(|| panic!("no {part}")));
        assert!(places.is_sorted(), "{places:?}");
        for key in ["rnd4k_", "span12_5", "rnd16_", "tiny-writes:"] {
            let text = body.split_once("data:application").unwrap().0;
            let shown = text.split('<').filter_map(|tag| Some(tag.split_once('>')?.1));
            let told: Vec<&str> = shown.filter(|text| text.contains(key)).collect();
            assert!(told.is_empty(), "{told:?}");
        }
    }

    #[test]
    fn single_test_opens_with_what_it_found() {
        use crate::testing::measured;
        use drivescope_model::TestKind;
        let mut run = hard_disk();
        let found = [("rotation.rpm", 5_400.0), ("zones.count", 30.0), ("seek.average_ms", 7.98)];
        run.tests = vec![measured(TestKind::Geometry, &found)];
        run.verdict = crate::judge(&run);
        let page = page(&run, |_| "what kind".to_string()).alone();
        must_have(
            &page,
            &[
                "Geometry: 5,400 rpm, 30 zones, seeks of 7.98 ms.",
                "<dt>Rotation</dt>",
                "5,400 rpm · a turn takes 11.1 ms",
            ],
        );
        let above = page.split_once("How it was measured").unwrap().0;
        assert!(!above.contains("not judged") && !above.contains("What it suits"));
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
