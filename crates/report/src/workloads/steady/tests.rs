//! Tables and charts of rounds and of a sequence.

use super::*;
use crate::testing::{hard_disk_transfer, metric, must_fit, must_have, result, series};
use drivescope_model::Series;
use drivescope_model::document::PhaseRecord;
use drivescope_model::findings::Finding;

fn by_round(key: &str, values: &[f64]) -> Series {
    series(key, ["round", "1/s"], (1..).map(f64::from).zip(values.iter().copied()))
}

fn of_rounds(cells: &[&str]) -> TestResult {
    let mut metrics = vec![
        metric("steady.precondition.written_bytes", &[256e9]),
        metric("steady.precondition.time_s", &[700.0]),
        metric("steady.precondition.mb_s", &[365.7]),
        metric("steady.window.first_round", &[3.0]),
        metric("steady.window.last_round", &[7.0]),
    ];
    let mut curves =
        vec![by_round("steady.rounds.written_bytes", &[1e9, 2e9, 3e9, 4e9, 5e9, 6e9, 7e9])];
    for cell in cells {
        for (quantity, value) in [
            ("iops", 8_120.0),
            ("mb_s", 33.3),
            ("lat_mean_us", 15_700.0),
            ("lat_p99_us", 41_000.0),
            ("lat_max_us", 90_000.0),
            ("range_ratio", 0.062),
            ("drift_ratio", 0.021),
            ("kept_ratio", 0.19),
        ] {
            metrics.push(metric(&format!("steady.{cell}.{quantity}"), &[value]));
        }
        let rates = [42_000.0, 20_000.0, 8_300.0, 8_100.0, 8_120.0, 8_000.0, 8_200.0];
        curves.push(by_round(&format!("steady.{cell}.round_iops"), &rates));
    }
    let reason = Some("purged: TRIM of 128 GB".to_string());
    let phase = |round: u32| PhaseRecord {
        round,
        cell: cells[0].to_string(),
        temperature_c: Some(30.0 + f64::from(round)),
        ..hard_disk_transfer().phases[0].clone()
    };
    let phases = (1..=7).map(phase).collect();
    TestResult { series: curves, reason, phases, ..result(TestKind::Steady, metrics) }
}

#[test]
fn table_shows_rate_window_and_preparation() {
    let text = table(&of_rounds(&["rnd4k_q32t4.write"]), Style::default());
    must_have(
        &text,
        &[
            "8,120",
            "41.0 ms",
            "steady in rounds 3 to 7",
            "range 6.2 %, drift 2.1 %",
            "19.0 % of the first round",
            "256 GB written in order before",
            "7.00 GB in rounds",
            "purged: TRIM of 128 GB",
        ],
    );
    must_fit(&text);
    assert_eq!(table(&result(TestKind::Steady, Vec::new()), Style::default()), "");
}

#[test]
fn unsteady_result_says_so_first() {
    let mut result = of_rounds(&["rnd4k_q32t4.write"]);
    let said = headline(&result).unwrap();
    assert_eq!(
        said,
        "Steady: 8,120 IOPS, 19.0 % of the first round (Random 4 KiB, Q32 × 4, write)"
    );
    result.findings.push(Finding::new(FindingId::NotSteady, "x"));
    assert_eq!(headline(&result).unwrap(), "Not steady after 7 rounds");
    let text = table(&result, Style::default());
    assert!(text.contains("not steady; figures of rounds 3 to 7"), "{text}");
}

#[test]
fn many_cells_form_a_size_direction_matrix() {
    let shapes = ["rnd1m_q32t4", "rnd8k_q32t4", "rnd4k_q32t4"];
    let mixes = ["read", "mix65", "write"];
    let cells: Vec<String> = mixes
        .iter()
        .flat_map(|mix| shapes.iter().map(move |shape| format!("{shape}.{mix}")))
        .collect();
    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
    let text = table(&of_rounds(&cells), Style::default());
    assert!(text.contains("steady, IOPS") && text.contains("mix65"), "{text}");
    let row = text.lines().find(|line| line.starts_with("rnd4k_q32t4")).unwrap();
    assert_eq!(row.matches("8,120").count(), 3, "{text}");
}

#[test]
fn rounds_are_drawn_over_volume_with_temperature() {
    let one = of_rounds(&["rnd4k_q32t4.write"]);
    assert_eq!(names(&one), ["steady-rounds", "steady-written"]);
    let chart = &charts::charts(&one)[0];
    assert!(chart.plot.right.is_some() && chart.description.contains("42,000"), "{chart:?}");
    let several = of_rounds(&["rnd4k_q32t4.write", "rnd64k_q32t4.mix65"]);
    assert_eq!(names(&several), ["steady-rounds"]);
    let plot = &charts::charts(&several)[0].plot;
    assert!(plot.y.title.contains('%'), "each by its own mean: {}", plot.y.title);
}

fn names(result: &TestResult) -> Vec<String> {
    charts::charts(result).into_iter().map(|chart| chart.name).collect()
}

#[test]
fn sequence_has_rows_for_stages_and_passes() {
    let mut metrics = Vec::new();
    for (stage, rates) in [
        ("degrade", &[400.0, 300.0, 250.0][..]),
        ("steady", &[100.0, 101.0, 99.0, 100.0, 100.0]),
        ("recover", &[150.0, 310.0]),
    ] {
        metrics.push(metric(&format!("steady.{stage}.busy_mb_s"), rates));
        metrics.push(metric(&format!("steady.{stage}.lat_mean_us"), &[200.0]));
        metrics.push(metric(&format!("steady.{stage}.lat_p99_us"), &[900.0]));
        metrics.push(metric(&format!("steady.{stage}.kept_ratio"), &[0.25]));
    }
    let passes = [400.0, 300.0, 250.0, 100.0, 101.0, 99.0, 100.0, 100.0, 150.0, 310.0];
    let mut result = result(TestKind::Steady, metrics);
    result.series.push(by_round("steady.pass.busy_mb_s", &passes));
    let text = table(&result, Style::default());
    must_have(&text, &["degrade", "MB/s busy", "first", "310"]);
    assert_eq!(charts::charts(&result)[0].name, "steady-passes");
    assert!(headline(&result).unwrap().contains("25.0 %"));
}
