//! One metric of all drives as bars from zero, the best first, as reviews draw them.

use crate::chart::axis::{AxisValues, PlotAxis};
use crate::chart::plain_words::capitalized;
use crate::chart::plot::{Along, Beside, Ink, Layer, MarkOutline, Plot, PlotMark};
use crate::chart::{Chart, extent};
use crate::comparison::side_by_side::{REQUESTS, per_reads, per_terabyte};
use crate::comparison::{ComparedMetric, RunComparison};
use crate::workloads::usable;
use drivescope_model::metrics::quantity_of;
use drivescope_model::number::{latency_us, rounded, whole};
use drivescope_model::units::Price;
use drivescope_model::{Metric, Run};

/// Where the largest is more than this many times the smallest, bars from zero would hide the small ones.
const LOG_FROM: f64 = 30.0;

/// What most charts of bars have in common, which a page says once.
pub(crate) const ORDINARY: &str = "More is better; bars from zero.";
pub(crate) const METHOD: &str = "Median of the rounds; line: 95 % interval.";

/// A bar of a run.
struct BarValue {
    /// Index of the run.
    run: usize,
    value: f64,
    interval: (f64, f64),
}

/// What the bars of a chart have in common.
struct BarQuantity {
    title: String,
    name: String,
    /// Title of the axis.
    axis: String,
    values: AxisValues,
    smaller_is_better: bool,
    is_price: bool,
}

/// A bar for each run, the first run in colour; marks on a logarithmic axis where bars would hide the small values.
pub(super) fn bars(
    row: &ComparedMetric,
    comparison: &RunComparison,
    runs: &[Run],
) -> Option<Chart> {
    let metrics: Option<Vec<&Metric>> = runs.iter().map(|run| usable(run, &row.key)).collect();
    let bars = metrics?
        .into_iter()
        .enumerate()
        .map(|(run, it)| BarValue { run, value: it.value, interval: (it.low, it.high) })
        .collect();
    let (axis, values) = match row.unit.as_str() {
        "1/s" => ("per second", AxisValues::Number),
        "us" => ("latency", AxisValues::LatencyUs),
        unit => (unit, AxisValues::Number),
    };
    let quantity = BarQuantity {
        title: capitalized(&row.what),
        name: row.key.clone(),
        axis: axis.to_string(),
        values,
        smaller_is_better: quantity_of(&row.key).is_some_and(|it| it.smaller_is_better),
        is_price: false,
    };
    Some(drawn(&quantity, bars, &comparison.names))
}

/// What a terabyte and what requests cost, of the runs with a price in the currency of the first, the least first.
/// `word` as for [`price_charts`](super::charts::price_charts).
pub(super) fn price_bars(runs: &[Run], names: &[String], word: &str) -> Vec<Chart> {
    let found = runs.iter().find_map(|run| Some(run.price.as_ref()?.currency.clone()));
    let Some(currency) = found else { return Vec::new() };
    type PerUnit = fn(&Run, &Price) -> Option<f64>;
    let reads = format!("per {} random reads/s", whole(REQUESTS));
    let kinds: [(&str, &str, PerUnit); 2] =
        [("price-tb", "per TB", per_terabyte), ("price-reads", &reads, per_reads)];
    let chart = |(name, per, of): &(&str, &str, PerUnit)| {
        let bar = |(run, document): (usize, &Run)| {
            let price = document.price.as_ref().filter(|it| it.currency == currency)?;
            let value = of(document, price).filter(|it| it.is_finite() && *it > 0.0)?;
            Some(BarValue { run, value, interval: (value, value) })
        };
        let bars: Vec<BarValue> = runs.iter().enumerate().filter_map(bar).collect();
        let quantity = BarQuantity {
            title: format!("{} {per}", capitalized(word)),
            name: name.to_string(),
            axis: format!("{currency} {per}"),
            values: AxisValues::Number,
            smaller_is_better: true,
            is_price: true,
        };
        (bars.len() > 1).then(|| drawn(&quantity, bars, names))
    };
    kinds.iter().filter_map(chart).collect()
}

fn drawn(quantity: &BarQuantity, mut bars: Vec<BarValue>, names: &[String]) -> Chart {
    bars.sort_by(|a, b| a.value.total_cmp(&b.value));
    if !quantity.smaller_is_better {
        bars.reverse();
    }
    let named: Vec<String> = bars.iter().map(|bar| names[bar.run].clone()).collect();
    let (low, high) = extent(bars.iter().map(|bar| bar.value));
    let is_log = high > low * LOG_FROM;
    let y = PlotAxis::rows("", &named);
    let mut plot = Plot { is_compact: true, ..Plot::new(x_axis(quantity, low, high, is_log), y) };
    for (place, bar) in bars.iter().enumerate() {
        let ink = if bar.run == 0 { Ink::Series(0) } else { Ink::Range };
        let (at, interval) = ((bar.value, place as f64), bar.interval);
        let mark =
            PlotMark { at, interval, interval_along: Along::X, outline: MarkOutline::Filled };
        plot = if is_log {
            plot.with(Layer::Marks { marks: vec![mark], ink })
        } else {
            plot.with(Layer::Bar { at, interval, ink })
        };
        let (end, beside) = if is_log {
            (high, Beside::LineEnd)
        } else {
            (bar.value.max(interval.1.min(high)), Beside::Right)
        };
        plot = plot.with_text((end, at.1), value_text(quantity, bar.value), Ink::Text, beside);
    }
    let each = bars.iter().zip(&named);
    let each = each.map(|(bar, name)| format!("{name}: {}", value_text(quantity, bar.value)));
    let letters = quantity.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    Chart {
        name: format!("compare-{}", letters.collect::<String>()),
        title: quantity.title.clone(),
        caption: caption(quantity, is_log),
        description: format!("{}.", each.collect::<Vec<_>>().join("; ")),
        plot,
    }
}

fn x_axis(quantity: &BarQuantity, low: f64, high: f64, is_log: bool) -> PlotAxis {
    if is_log {
        return PlotAxis::log(&quantity.axis, low, high, quantity.values);
    }
    let mut axis = PlotAxis::until(&quantity.axis, high);
    for tick in &mut axis.ticks {
        tick.text = quantity.values.tick(tick.at);
    }
    axis
}

fn caption(quantity: &BarQuantity, is_log: bool) -> String {
    let shown = match (quantity.smaller_is_better, is_log) {
        (false, false) => ORDINARY,
        (true, false) => "Less is better; bars from zero.",
        (false, true) => "More is better; logarithmic, since the range is over 30 times.",
        (true, true) => "Less is better; logarithmic, since the range is over 30 times.",
    };
    let values = if quantity.is_price { "From the price of the whole drive." } else { METHOD };
    format!("{shown} {values}")
}

fn value_text(quantity: &BarQuantity, value: f64) -> String {
    match quantity.values {
        AxisValues::LatencyUs => latency_us(value),
        _ => rounded(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;
    use crate::testing::with_metrics;

    const RATE: &str = "transfer.seq1m_q1t1.read.mb_s";
    const SLOW: &str = "transfer.rnd4k_q1t1.read.lat_p99_us";

    fn bars_of(key: &str, values: &[f64]) -> Chart {
        let runs: Vec<Run> = values
            .iter()
            .map(|value| with_metrics(&[(key, &[*value, value * 1.01, value * 0.99])]))
            .collect();
        let comparison = compare(&runs, 0.03, false);
        bars(&comparison.rows[0], &comparison, &runs).unwrap()
    }

    #[test]
    fn best_is_first_and_the_first_run_in_colour() {
        let rates = bars_of(RATE, &[200.0, 500.0, 90.0]);
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
        let latencies = bars_of(SLOW, &[900.0, 100.0]);
        assert!(matches!(latencies.plot.layers[0], Layer::Bar { at: (100.0, 0.0), .. }));
    }

    #[test]
    fn distant_values_are_marks_on_a_logarithmic_axis() {
        let far = bars_of(RATE, &[100.0, 3_250.0]);
        assert!(far.caption.contains("logarithmic"));
        assert!(!far.plot.layers.iter().any(|layer| matches!(layer, Layer::Bar { .. })));
        assert!(!bars_of(RATE, &[100.0, 2_900.0]).caption.contains("logarithmic"));
    }

    #[test]
    fn prices_are_bars_with_the_least_first() {
        fn priced(amount: f64, currency: &str) -> Run {
            Run {
                price: Some(Price { amount, currency: currency.to_string() }),
                ..with_metrics(&[("transfer.rnd4k_q1t1.read.iops", &[80.0])])
            }
        }
        let runs = [priced(90.0, "EUR"), priced(40.0, "EUR"), priced(10.0, "USD")];
        let names = ["a", "b", "c"].map(str::to_string);
        let charts = price_bars(&runs, &names, "price");
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["Price per TB", "Price per 1,000 random reads/s"]);
        // 40 and 90 EUR for 80 reads per second; another currency is not compared.
        assert_eq!(charts[1].description, "b: 500; a: 1,130.");
        assert!(charts[1].caption.starts_with("Less is better; bars from zero."));
        assert_eq!(charts[1].plot.x.title, "EUR per 1,000 random reads/s");
        assert!(price_bars(&runs[1..], &names[1..], "price").is_empty());
    }
}
