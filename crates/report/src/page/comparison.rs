//! Runs side by side: what they come to, bars of each metric, every figure with its ratio, uses, then each run.

use super::verdicts::word;
use super::{Detail, PageContent, document, figure, findings, head, suits, test};
use crate::chart::{Chart, FOLDED_DOTS_MAX};
use crate::comparison::bars::{METHOD, ORDINARY};
use crate::comparison::{ComparedMetric, MetricRatio, RunComparison, name_of};
use crate::comparison_charts;
use crate::first_seen::distinct;
use crate::text::{best_of, factor, metric_unit, sentences, simulated_badge};
use drivescope_model::number::rounded;
use drivescope_model::{Run, TestResult};
use drivescope_stats::ratio::RatioOutcome;
use maud::{Markup, html};

/// Numbers of drives that a heading says in words.
const WORDS: [&str; 11] =
    ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];

/// The other runs are compared with the first; `question` as for [`page`](super::page); `baseline` has the address of
/// the same comparison with another first run, by its index.
pub fn comparison_page(
    comparison: &RunComparison,
    runs: &[Run],
    question: impl Fn(&TestResult) -> String,
    baseline: impl Fn(usize) -> Option<String>,
) -> PageContent {
    let comparison = &comparison.by_model(runs);
    let title = title(runs);
    let body = html! {
        header {
            p.small {
                "drivescope comparison"
                @if comparison.simulated.contains(&true) {
                    " · " span.badge { (simulated_badge(comparison)) }
                }
            }
            h1 { (title) }
            @for sentence in sentences(comparison) { p.answer { (sentence) } }
            @if runs.len() > 1 {
                p.small { "In colour: " (comparison.names[0]) ", which the others are compared with." }
            }
            @for difference in &comparison.differences { p.warning { "▲ not the same " (difference) } }
            @for reason in &comparison.left_out { p.small { "Left out: " (reason) } }
        }
        (pictures(&comparison_charts(comparison, runs)))
        (metrics(comparison, runs, &baseline))
        (besides(comparison))
        @for run in runs { (whole_run(run, &question)) }
    };
    PageContent { title: format!("{title}: {}", comparison.names.join(", ")), body }
}

fn title(runs: &[Run]) -> String {
    let drive = |run: &Run| {
        let drive = run.drive.as_ref();
        (name_of(run), drive.and_then(|drive| drive.serial.clone()))
    };
    let drives = distinct(runs.iter().map(drive)).len();
    let what = if drives == runs.len() { "drives" } else { "runs" };
    match WORDS.get(runs.len()) {
        Some(word) if runs.len() == 1 => format!("{word} run"),
        Some(word) => format!("{word} {what} compared"),
        None => format!("{} {what} compared", runs.len()),
    }
}

/// Bars, then curves.
fn pictures(charts: &[Chart]) -> Markup {
    let (bars, curves): (Vec<&Chart>, Vec<&Chart>) =
        charts.iter().partition(|it| it.has_few_rows());
    html! {
        @if !bars.is_empty() {
            section {
                h2 { "Best first" }
                p.small { (ORDINARY) " " (METHOD) " Charts that differ say so." }
                div.charts.bars { @for chart in bars { (figure(&without_the_ordinary(chart))) } }
            }
        }
        @if !curves.is_empty() {
            section {
                h2 { "Curves" }
                div.charts { @for chart in curves { (figure(chart)) } }
            }
        }
    }
}

/// Its caption has only what the section does not say of all.
fn without_the_ordinary(chart: &Chart) -> Chart {
    let caption = chart.caption.replace(ORDINARY, "").replace(METHOD, "");
    Chart { caption: caption.trim().to_string(), ..chart.clone() }
}

/// A row for each metric, a cell for each drive: value, ratio and interval.
fn metrics(
    comparison: &RunComparison,
    runs: &[Run],
    baseline: &impl Fn(usize) -> Option<String>,
) -> Markup {
    html! {
        @if !comparison.rows.is_empty() {
            section {
                h2 { "Every figure" }
                p.small {
                    "Median of the rounds; below it, how many times as fast as " (comparison.names[0])
                    ", above 1 is better, for latencies too, with the 95 % interval that holds for all cells together. \
                     ★ marks the best of a row."
                }
                div.scroll tabindex="0" role="region" aria-label="Every figure" {
                    table.compared {
                        thead {
                            tr {
                                th scope="col" { "metric" }
                                @for (i, run) in runs.iter().enumerate() {
                                    (drive_head(run, baseline(i).filter(|_| i > 0)))
                                }
                            }
                        }
                        tbody { @for row in &comparison.rows { (metric(row)) } }
                    }
                }
            }
        }
    }
}

/// The model, below it what else names the run, and a link that makes it the baseline.
fn drive_head(run: &Run, baseline: Option<String>) -> Markup {
    let second = run.label.clone().unwrap_or_else(|| run.id.chars().take(4).collect());
    html! {
        th.number scope="col" {
            (name_of(run))
            span.small { (second) }
            @if let Some(address) = baseline {
                a.small href=(address) aria-label={ "as baseline: " (name_of(run)) } { "as baseline" }
            }
        }
    }
}

fn metric(row: &ComparedMetric) -> Markup {
    let (unit, divisor) = metric_unit(row);
    let best = best_of(row);
    html! {
        tr {
            th scope="row" { (row.what) span.small { (unit) } }
            @for (i, value) in row.values.iter().enumerate() {
                td.number {
                    @if best == Some(i) { strong.best { "★ " (rounded(value / divisor)) } }
                    @else { (rounded(value / divisor)) }
                    span.small {
                        @match i.checked_sub(1).map(|i| &row.against_first[i]) {
                            Some(ratio) => (against(ratio)),
                            None => "baseline",
                        }
                    }
                }
            }
        }
    }
}

fn against(ratio: &MetricRatio) -> String {
    match ratio.interval {
        None => format!("{} ×, not enough rounds", rounded(ratio.times)),
        Some(_) if ratio.outcome == RatioOutcome::NotShown => {
            format!("no difference shown: {}", factor(ratio))
        }
        Some(_) => format!("{} {}", ratio.sign(), factor(ratio)),
    }
}

/// A row for each drive: prices and uses.
fn besides(comparison: &RunComparison) -> Markup {
    html! {
        @if !comparison.besides.is_empty() {
            section {
                h2 { "What each suits" }
                div.scroll tabindex="0" role="region" aria-label="What each suits" {
                    table.verdicts.compared {
                        thead {
                            tr {
                                th scope="col" { "drive" }
                                @for column in &comparison.besides { th scope="col" { (column.what) } }
                            }
                        }
                        tbody {
                            @for (i, name) in comparison.names.iter().enumerate() {
                                tr {
                                    th scope="row" { (name) }
                                    @for column in &comparison.besides { (beside(&column.values[i])) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A price, or dots with their word.
fn beside(value: &str) -> Markup {
    let points = value.chars().filter(|c| *c == '●').count() as u8;
    html! {
        @if value.contains(['●', '○']) {
            td { span.points role="img" aria-label={ (points) " of 3" } { (value) } span.small { (word(Some(points))) } }
        } @else { td { (value) } }
    }
}

fn whole_run(run: &Run, question: &impl Fn(&TestResult) -> String) -> Markup {
    let name = name_of(run);
    html! {
        section.screen {
            details {
                summary { (name) " · run " (run.id) }
                (head(run, &name))
                (suits(run))
                (findings(&run.findings))
                @for result in run.tests_for_readers() { (test(result, &question(result), Detail::Folded)) }
                p.small { "Of many single accesses, an even sample of " (FOLDED_DOTS_MAX) " is drawn here at most; the page of one run has all." }
                (document::method(run))
                p.small { "The document: drivescope export " (run.id) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;
    use crate::testing::{hard_disk, must_have};

    #[test]
    fn page_of_ten_runs_fits_a_megabyte() {
        let mut run = hard_disk();
        run.verdict = crate::judge(&run);
        let runs = vec![run; 10];
        let comparison = compare(&runs, 0.03, false);
        let page = comparison_page(&comparison, &runs, |_| "what?".to_string(), |_| None).alone();
        assert!(page.len() < 1_000_000, "{}", page.len());
        must_have(
            &page,
            &[
                "Ten runs compared",
                "Every figure",
                "What each suits",
                "Best first",
                "baseline",
                "<summary>",
            ],
        );
        assert_eq!(page.matches("<script").count(), 1);
    }

    #[test]
    fn best_is_marked_for_rates_and_for_latencies() {
        let mut fast = hard_disk();
        for metric in fast.tests.iter_mut().flat_map(|test| &mut test.metrics) {
            metric.value *= 5.0;
            metric.rounds.iter_mut().for_each(|value| *value *= 5.0);
        }
        let comparison = compare(&[hard_disk(), fast], 0.03, false);
        for row in &comparison.rows {
            let slower_is_second = row.unit == "us";
            assert_eq!(best_of(row), Some(usize::from(!slower_is_second)), "{}", row.what);
        }
        let same = compare(&[hard_disk(), hard_disk()], 0.03, false);
        assert_eq!(best_of(&same.rows[0]), None);
    }
}
