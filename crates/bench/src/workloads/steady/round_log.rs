//! What the rounds came to, one after the other: those of an interrupted run first.

use crate::judging::test_record::{TestRecord, series_of};
use drivescope_model::document::TestResult;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct RoundSum {
    /// Requests per second of each cell.
    pub rates: Vec<f64>,
    /// Mean latency of each, µs.
    pub latencies_us: Vec<f64>,
    pub written_bytes: u64,
    pub load_s: f64,
}

#[derive(Debug, Clone)]
pub(super) struct RoundLog {
    cells: Vec<String>,
    rounds: Vec<RoundSum>,
    /// Rounds of the interrupted run, which the drive has had a rest after.
    pub earlier: usize,
}

impl RoundLog {
    /// Of these cells, after those of an interrupted run.
    pub fn new(cells: Vec<String>, earlier: Option<&TestResult>) -> Self {
        let rounds = earlier.and_then(|result| rounds_of(result, &cells)).unwrap_or_default();
        Self { earlier: rounds.len(), cells, rounds }
    }

    pub fn len(&self) -> usize {
        self.rounds.len()
    }

    pub fn written(&self) -> Vec<u64> {
        self.rounds.iter().map(|round| round.written_bytes).collect()
    }

    pub fn written_bytes(&self) -> u64 {
        self.rounds.iter().map(|round| round.written_bytes).sum()
    }

    /// A figure of a cell in every round.
    pub fn figures(&self, cell: usize, of: fn(&RoundSum) -> &[f64]) -> Vec<f64> {
        self.rounds.iter().map(|round| of(round)[cell]).collect()
    }

    /// Adds the round of this number, whose cells are the last in `record`.
    pub fn add(&mut self, record: &TestRecord, number: u32) {
        let of_round = || record.rounds().iter().filter(|it| it.round == number && !it.own_metrics);
        let of_cell = |name: &String| of_round().find(|round| round.cell == *name);
        let each = |figure: fn(&crate::judging::round::Round) -> f64| {
            self.cells.iter().map(|cell| of_cell(cell).map_or(0.0, figure)).collect()
        };
        let sum = RoundSum {
            rates: each(|round| round.measured.iops()),
            latencies_us: each(|round| round.measured.recorder.latencies.mean() / 1e3),
            written_bytes: of_round().map(|round| round.measured.recorder.written_bytes).sum(),
            load_s: of_round().map(|round| round.window_s).sum(),
        };
        self.rounds.push(sum);
    }

    pub fn report(&self, record: &mut TestRecord) {
        if self.rounds.is_empty() {
            return;
        }
        let numbers: Vec<f64> = (1..=self.rounds.len()).map(|number| number as f64).collect();
        for (index, cell) in self.cells.iter().enumerate() {
            for (quantity, unit, of) in QUANTITIES {
                let key = format!("{cell}.{quantity}");
                record.curve(&key, ("round", unit), numbers.clone(), self.figures(index, of));
            }
        }
        let sums = |of: fn(&RoundSum) -> f64| {
            let mut sum = 0.0;
            let until = |round| {
                sum += of(round);
                sum
            };
            self.rounds.iter().map(until).collect::<Vec<f64>>()
        };
        let written = sums(|round| round.written_bytes as f64);
        record.curve("rounds.written_bytes", ("round", "bytes"), numbers.clone(), written);
        record.curve("rounds.time_s", ("round", "s"), numbers, sums(|round| round.load_s));
    }
}

/// A figure of each cell with the end of its key and its unit.
type CellQuantity = (&'static str, &'static str, fn(&RoundSum) -> &[f64]);

const QUANTITIES: [CellQuantity; 2] = [
    ("round_iops", "1/s", |round| &round.rates),
    ("round_lat_mean_us", "us", |round| &round.latencies_us),
];

/// The rounds of an interrupted run; nothing if it had other cells.
fn rounds_of(result: &TestResult, cells: &[String]) -> Option<Vec<RoundSum>> {
    fn step(sums: &[f64], round: usize) -> f64 {
        let before = if round == 0 { 0.0 } else { sums[round - 1] };
        sums[round] - before
    }
    let y = |key: &str| series_of(result, key).map(|series| &series.y);
    let (written, seconds) = (y("rounds.written_bytes")?, y("rounds.time_s")?);
    let of_cells = |quantity: &str| -> Option<Vec<&Vec<f64>>> {
        let all: Option<Vec<&Vec<f64>>> =
            cells.iter().map(|cell| y(&format!("{cell}.{quantity}"))).collect();
        all.filter(|all| all.iter().all(|y| y.len() == written.len()))
    };
    let (rates, latencies) = (of_cells("round_iops")?, of_cells("round_lat_mean_us")?);
    let round = |round: usize| RoundSum {
        rates: rates.iter().map(|y| y[round]).collect(),
        latencies_us: latencies.iter().map(|y| y[round]).collect(),
        written_bytes: step(written, round) as u64,
        load_s: step(seconds, round),
    };
    (seconds.len() == written.len()).then(|| (0..written.len()).map(round).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::options::TestKind;

    #[test]
    fn rounds_are_restored_from_interrupted_curves() {
        let cells = ["rnd4k_q32t4.write", "rnd1m_q32t4.read"].map(String::from).to_vec();
        let mut log = RoundLog::new(cells.clone(), None);
        for round in 0..3 {
            log.rounds.push(RoundSum {
                rates: vec![900.0 - f64::from(round), 7.0],
                latencies_us: vec![35.5, 1e6],
                written_bytes: 1 << (30 + round),
                load_s: 20.25,
            });
        }
        let mut record = TestRecord::new(TestKind::Steady);
        log.report(&mut record);
        let result = record.finish(5);
        let again = RoundLog::new(cells, Some(&result));
        assert_eq!((&again.rounds, again.earlier), (&log.rounds, 3));
        assert_eq!(again.written_bytes(), 7 << 30);
        // Other cells cannot be resumed.
        assert_eq!(RoundLog::new(vec!["rnd4k_q1t1.read".into()], Some(&result)).len(), 0);
    }
}
