//! Every unit of the table, in which a figure in bytes and seconds is printed.

use super::super::formula::{MetricValues, ModelRun, RunFigures};
use super::super::table::{cells, parse};
use std::collections::BTreeSet;

fn printed(unit: &str, figure: f64) -> f64 {
    let line = format!("a\t000\tred\tfill\t-\trate\t=\t1\t{unit}\t5\tSEED\tL1\tone/fill:rate\t\t");
    let job = ModelRun { model: "one".into(), run: "fill".into() };
    let figures = MetricValues::from([("rate".to_string(), figure)]);
    let cells = parse(&line).unwrap();
    cells[0].result(&RunFigures::from([(job, Ok(figures))])).simulated.unwrap()
}

/// Unit, a figure in bytes, seconds or per second, and the same figure in the unit.
const UNITS: [(&str, f64, f64); 16] = [
    ("x", 62.3, 62.3),
    ("s", 19.5, 19.5),
    ("1/s", 1680.0, 1680.0),
    ("% full", 98.5, 98.5),
    ("B", 4096.0, 4096.0),
    ("B/s", 99_742_833.0, 99_742_833.0),
    ("1/min", 5400.0, 5400.0),
    ("us", 0.000_144, 144.0),
    ("ms", 19.503, 19_503.0),
    ("min", 1200.0, 20.0),
    // phybs prints 134217728 bytes in 19.503 s so
    ("KiB/s", 6_881_901.656_155_46, 6_720.607_086_089_31),
    ("MB/s", 181.4e6, 181.4),
    ("GB", 128e9, 128.0),
    ("MiB", 268_435_456.0, 256.0),
    ("TB", 1_000_204_886_016.0, 1.000_204_886_016),
    ("GB/s", 1.7e9, 1.7),
];

#[test]
fn figure_has_the_unit_of_its_cell() {
    for (unit, figure, expected) in UNITS {
        let value = printed(unit, figure);
        assert!((value / expected - 1.0).abs() < 1e-12, "{unit}: {value} for {expected}");
    }
}

#[test]
fn no_unit_of_the_table_goes_unchecked() {
    let known: BTreeSet<&str> = UNITS.map(|(unit, ..)| unit).into();
    let cells = cells().unwrap();
    let with_figure = cells.iter().filter(|cell| cell.measured.is_some());
    let used: BTreeSet<&str> = with_figure.map(|cell| cell.entry.unit.as_str()).collect();
    assert!(used.len() > 10 && used.is_subset(&known), "{used:?}");
}
