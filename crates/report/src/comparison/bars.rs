//! One metric of all drives as bars from zero, the best first, as reviews draw them.

use crate::chart::axis::{AxisValues, PlotAxis};
use crate::chart::plot::{Beside, Ink, Layer, Plot, PlotMark};
use crate::chart::{Chart, extent};
use crate::comparison::{ComparedMetric, RunComparison};
use crate::markdown::capitalized;
use crate::workloads::usable;
use drivescope_model::metrics::quantity_of;
use drivescope_model::number::{latency_us, rounded};
use drivescope_model::{Metric, Run};

/// Where the largest is more than this many times the smallest, bars from zero would hide the small ones.
const LOG_FROM: f64 = 30.0;

/// A bar for each run, the first run in colour; marks on a logarithmic axis where bars would hide the small values.
pub(super) fn bars(
    row: &ComparedMetric,
    comparison: &RunComparison,
    runs: &[Run],
) -> Option<Chart> {
    let metrics: Option<Vec<&Metric>> = runs.iter().map(|run| usable(run, &row.key)).collect();
    let metrics = metrics?;
    let smaller_is_better = quantity_of(&row.key).is_some_and(|it| it.smaller_is_better);
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by(|a, b| metrics[*a].value.total_cmp(&metrics[*b].value));
    if !smaller_is_better {
        order.reverse();
    }
    let names: Vec<String> = order.iter().map(|i| comparison.names[*i].clone()).collect();
    let (low, high) = extent(metrics.iter().map(|metric| metric.value));
    let is_log = high > low * LOG_FROM;
    let y = PlotAxis::rows("", &names);
    let mut plot = Plot { is_compact: true, ..Plot::new(x_axis(row, low, high, is_log), y) };
    for (place, i) in order.iter().enumerate() {
        let (metric, ink) = (metrics[*i], if *i == 0 { Ink::Series(0) } else { Ink::Range });
        let at = (metric.value, place as f64);
        plot = match is_log {
            true => plot.with(Layer::Marks { marks: vec![PlotMark::in_row(metric, place)], ink }),
            false => plot.with(Layer::Bar { at, interval: (metric.low, metric.high), ink }),
        };
        let (end, beside) = match is_log {
            true => (high, Beside::LineEnd),
            false => (metric.value.max(metric.high.min(high)), Beside::Right),
        };
        plot = plot.with_text((end, at.1), value_text(row, metric.value), Ink::Text, beside);
    }
    let each = order.iter().zip(&names);
    let each = each.map(|(i, name)| format!("{name}: {}", value_text(row, metrics[*i].value)));
    let letters = row.key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    Some(Chart {
        name: format!("compare-{}", letters.collect::<String>()),
        title: capitalized(&row.what),
        caption: caption(smaller_is_better, is_log),
        description: format!("{}.", each.collect::<Vec<_>>().join("; ")),
        plot,
    })
}

fn x_axis(row: &ComparedMetric, low: f64, high: f64, is_log: bool) -> PlotAxis {
    let (unit, values) = match row.unit.as_str() {
        "1/s" => ("per second", AxisValues::Number),
        "us" => ("latency", AxisValues::LatencyUs),
        unit => (unit, AxisValues::Number),
    };
    if is_log {
        return PlotAxis::log(unit, low, high, values);
    }
    let mut axis = PlotAxis::until(unit, high);
    for tick in &mut axis.ticks {
        tick.text = values.tick(tick.at);
    }
    axis
}

fn caption(smaller_is_better: bool, is_log: bool) -> String {
    let better = if smaller_is_better { "Less is better" } else { "More is better" };
    let scale = match is_log {
        true => "the largest is over 30 times the smallest, so the scale is logarithmic",
        false => "from zero; line: 95 % interval where wider than 2 %",
    };
    format!("{better}; {scale}. Median of the rounds.")
}

fn value_text(row: &ComparedMetric, value: f64) -> String {
    if row.unit == "us" { latency_us(value) } else { rounded(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;
    use crate::testing::with_metrics;

    const RATE: &str = "transfer.seq1m_q1t1.read.mb_s";
    const SLOW: &str = "transfer.rnd4k_q1t1.read.lat_p99_us";

    fn drawn(key: &str, values: &[f64]) -> Chart {
        let run = |value: &f64| with_metrics(&[(key, &[*value, value * 1.01, value * 0.99])]);
        let runs: Vec<Run> = values.iter().map(run).collect();
        let comparison = compare(&runs, 0.03, false);
        bars(&comparison.rows[0], &comparison, &runs).unwrap()
    }

    #[test]
    fn best_is_first_and_the_first_run_in_colour() {
        let rates = drawn(RATE, &[200.0, 500.0, 90.0]);
        let bars: Vec<(f64, f64, Ink)> = rates
            .plot
            .layers
            .iter()
            .filter_map(|layer| match layer {
                Layer::Bar { at, ink, .. } => Some((at.0, at.1, *ink)),
                _ => None,
            })
            .collect();
        let (own, other) = (Ink::Series(0), Ink::Range);
        assert_eq!(bars, [(500.0, 0.0, other), (200.0, 1.0, own), (90.0, 2.0, other)]);
        let latencies = drawn(SLOW, &[900.0, 100.0]);
        assert!(matches!(latencies.plot.layers[0], Layer::Bar { at: (100.0, 0.0), .. }));
    }

    #[test]
    fn distant_values_are_marks_on_a_logarithmic_axis() {
        let far = drawn(RATE, &[100.0, 3_250.0]);
        assert!(far.caption.contains("logarithmic"));
        assert!(!far.plot.layers.iter().any(|layer| matches!(layer, Layer::Bar { .. })));
        assert!(!drawn(RATE, &[100.0, 2_900.0]).caption.contains("logarithmic"));
    }
}
