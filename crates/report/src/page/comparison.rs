//! Runs side by side: what they come to, a row for each metric with its ratio drawn, verdicts, then each run.

use super::{Detail, PageContent, document, figure, findings, head, suits, test, wide_figure};
use crate::chart::{Chart, FOLDED_DOTS_MAX};
use crate::comparison::{ComparedMetric, MetricRatio, RunComparison, name_of};
use crate::comparison_charts;
use crate::text::sentences;
use drivescope_model::number::rounded;
use drivescope_model::{Run, TestResult};
use maud::{Markup, html};

const WIDTH: f64 = 180.0;
const HEIGHT: f64 = 18.0;
/// The axis spans at least a factor of two: small differences must look small.
const REACH_MIN: f64 = 2.0;

/// The other runs are compared with the first; `question` as for [`page`](super::page).
pub fn comparison_page(
    comparison: &RunComparison,
    runs: &[Run],
    question: impl Fn(&TestResult) -> String,
) -> PageContent {
    let body = html! {
        header {
            p.small { "drivescope comparison · " (runs.len()) " runs" }
            h1 { (comparison.names.join(", ")) }
            @for sentence in sentences(comparison) { p.answer { (sentence) } }
            @for difference in &comparison.differences { p.warning { "▲ not the same " (difference) } }
        }
        (besides(comparison))
        (metrics(comparison))
        (pictures(&comparison_charts(comparison, runs)))
        @for run in runs { (whole_run(run, &question)) }
    };
    PageContent { title: comparison.names.join(", "), body }
}

fn pictures(charts: &[Chart]) -> Markup {
    let (rows, curves): (Vec<&Chart>, Vec<&Chart>) =
        charts.iter().partition(|it| it.has_few_rows());
    html! {
        @if !rows.is_empty() {
            section {
                h2 { "Figure by figure" }
                p.small { "Mark: median of the rounds; bar: its 95 % interval where wider than the mark." }
                div.charts { @for chart in rows { (wide_figure(chart)) } }
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

fn metrics(comparison: &RunComparison) -> Markup {
    let reach = reach(comparison);
    html! {
        @if !comparison.rows.is_empty() {
            section {
                h2 { "Metrics" }
                p.small {
                    "Times: how many times as fast as " (comparison.names[0]) ", above 1 is better, for latencies too. \
                     The line is the 95 % interval, which holds for all rows together; the axis is logarithmic, from 1/"
                    (rounded(reach)) " to " (rounded(reach)) "."
                }
                div.scroll tabindex="0" role="region" aria-label="Metrics" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "metric" }
                                th scope="col" { "unit" }
                                @for name in &comparison.names { th.number scope="col" { (name) } }
                                @for _ in comparison.names.iter().skip(1) {
                                    th.number scope="col" { "times" }
                                    th scope="col" { "95 %" }
                                }
                            }
                        }
                        tbody { @for row in &comparison.rows { (metric(row, reach)) } }
                    }
                }
            }
        }
    }
}

fn metric(row: &ComparedMetric, reach: f64) -> Markup {
    html! {
        tr {
            th scope="row" { (row.what) }
            td { (row.unit) }
            @for value in &row.values { td.number { (rounded(*value)) } }
            @for ratio in &row.against_first {
                td.number { (ratio.sign()) " " (rounded(ratio.times)) }
                td { (drawn(ratio, reach)) }
            }
        }
    }
}

/// The factor to either side of 1 that the axis must span for all ratios.
fn reach(comparison: &RunComparison) -> f64 {
    let ratios = comparison.rows.iter().flat_map(|row| &row.against_first);
    let farthest = ratios.map(|ratio| ratio.times.max(1.0 / ratio.times)).fold(REACH_MIN, f64::max);
    // Whole powers of two: the same few axes everywhere.
    farthest.log2().ceil().exp2()
}

fn drawn(ratio: &MetricRatio, reach: f64) -> Markup {
    let x = |times: f64| {
        let share = (times.ln() / reach.ln()).clamp(-1.0, 1.0);
        format!("{:.1}", WIDTH / 2.0 + share * (WIDTH / 2.0 - 6.0))
    };
    let words = match ratio.interval {
        Some((low, high)) => format!("{} to {}", rounded(low), rounded(high)),
        None => "no interval".to_string(),
    };
    let (middle, mark) = (HEIGHT / 2.0, x(ratio.times));
    html! {
        svg width=(WIDTH) height=(HEIGHT) viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(words) {
            line x1=(x(1.0)) y1="1" x2=(x(1.0)) y2=(HEIGHT - 1.0) stroke="var(--grid)" {}
            @if let Some((low, high)) = ratio.interval {
                line x1=(x(low)) y1=(middle) x2=(x(high)) y2=(middle) stroke="currentColor" stroke-width="2.4" stroke-opacity="0.5" {}
            }
            circle cx=(mark) cy=(middle) r="4" fill="currentColor" {}
        }
        span.small { (words) }
    }
}

fn besides(comparison: &RunComparison) -> Markup {
    html! {
        @if !comparison.besides.is_empty() {
            section {
                h2 { "What they suit" }
                div.scroll tabindex="0" role="region" aria-label="What they suit" {
                    table.verdicts {
                        thead {
                            tr {
                                td {}
                                @for name in &comparison.names { th scope="col" { (name) } }
                            }
                        }
                        tbody {
                            @for row in &comparison.besides {
                                tr {
                                    th scope="row" { (row.what) }
                                    @for value in &row.values { td { (value) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn whole_run(run: &Run, question: &impl Fn(&TestResult) -> String) -> Markup {
    let name = name_of(run);
    html! {
        section {
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
        let page = comparison_page(&comparison, &runs, |_| "what?".to_string()).alone();
        assert!(page.len() < 1_000_000, "{}", page.len());
        must_have(
            &page,
            &[
                "Metrics",
                "What they suit",
                "Figure by figure",
                "role=\"img\" aria-label=",
                "<summary>",
            ],
        );
        assert_eq!(page.matches("<script").count(), 1);
    }

    #[test]
    fn the_axis_holds_every_ratio_and_is_symmetric() {
        let mut fast = hard_disk();
        for metric in fast.tests.iter_mut().flat_map(|test| &mut test.metrics) {
            metric.value *= 5.0;
            metric.rounds.iter_mut().for_each(|value| *value *= 5.0);
        }
        let comparison = compare(&[hard_disk(), fast], 0.03, false);
        assert_eq!(reach(&comparison), 8.0);
        let same = compare(&[hard_disk(), hard_disk()], 0.03, false);
        assert_eq!(reach(&same), REACH_MIN);
    }
}
