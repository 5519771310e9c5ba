//! The figures of runs as Parquet: a row for each metric, with its rounds as a list.

mod columns;
mod hive;
mod runs;

pub use hive::partition_of;
pub use runs::runs_parquet;

use columns::{column, list, optional, table};
use drivescope_model::{Metric, Run, TestResult};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;

const SCHEMA: &str = "
    message drivescope {
        required binary run (UTF8);
        required int64 started_at (TIMESTAMP(MICROS, true));
        optional binary label (UTF8);
        required binary suite (UTF8);
        required binary target (UTF8);
        optional binary model (UTF8);
        optional binary serial (UTF8);
        optional int64 capacity_bytes;
        optional double price;
        optional binary currency (UTF8);
        required int64 seed (INTEGER(64,false));
        required boolean simulated;
        required binary test (UTF8);
        required binary metric (UTF8);
        required double value;
        required double low;
        required double high;
        required binary unit (UTF8);
        required boolean valid;
        required group rounds (LIST) { repeated group list { required double element; } }
    }";

struct MetricRow<'r> {
    run: &'r Run,
    result: &'r TestResult,
    metric: &'r Metric,
}

/// Every metric of every test of the runs, compressed with Snappy. Errors: the start of a run is not a time, which no
/// run of this program has.
pub fn metrics_parquet(runs: &[Run]) -> std::result::Result<Vec<u8>, String> {
    let rows: Vec<MetricRow> = runs.iter().flat_map(rows_of).collect();
    let starts =
        rows.iter().map(|row| started_us(row.run)).collect::<std::result::Result<_, _>>()?;
    write(&rows, starts).map_err(|error| error.to_string())
}

fn rows_of(run: &Run) -> impl Iterator<Item = MetricRow<'_>> {
    let metrics = run.tests.iter().flat_map(|it| it.metrics.iter().map(move |metric| (it, metric)));
    metrics.map(move |(result, metric)| MetricRow { run, result, metric })
}

/// Microseconds since 1970.
fn started_us(run: &Run) -> std::result::Result<i64, String> {
    let start: jiff::Timestamp = run.started_at.parse().map_err(|_| {
        format!("run {} began at '{}', which is not a time", run.id, run.started_at)
    })?;
    Ok(start.as_microsecond())
}

fn write(rows: &[MetricRow], starts: Vec<i64>) -> Result<Vec<u8>> {
    let mut file = table(SCHEMA)?;
    let mut group = file.next_row_group()?;
    let text = |of: for<'m> fn(&'m MetricRow<'m>) -> &'m str| {
        rows.iter().map(of).map(ByteArray::from).collect::<Vec<_>>()
    };
    let number = |of: fn(&MetricRow) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
    let flag = |of: fn(&MetricRow) -> bool| rows.iter().map(of).collect::<Vec<bool>>();
    let label = |row: &MetricRow| row.run.label.as_deref().map(ByteArray::from);
    let model = |row: &MetricRow| row.run.drive.as_ref()?.model.as_deref().map(ByteArray::from);
    let serial = |row: &MetricRow| row.run.drive.as_ref()?.serial.as_deref().map(ByteArray::from);
    let capacity = |row: &MetricRow| Some(row.run.drive.as_ref()?.capacity_bytes as i64);
    let price = |row: &MetricRow| Some(row.run.price.as_ref()?.amount);
    let currency = |row: &MetricRow| Some(row.run.price.as_ref()?.currency.as_str().into());
    // The bits of an unsigned number, as the schema says.
    let seeds: Vec<i64> = rows.iter().map(|row| row.run.plan.seed.cast_signed()).collect();
    column::<ByteArrayType>(&mut group, &text(|row| &row.run.id), None)?;
    column::<Int64Type>(&mut group, &starts, None)?;
    optional::<ByteArrayType>(&mut group, rows.iter().map(label))?;
    column::<ByteArrayType>(&mut group, &text(|row| &row.run.plan.suite.name), None)?;
    column::<ByteArrayType>(&mut group, &text(|row| &row.run.target.path), None)?;
    optional::<ByteArrayType>(&mut group, rows.iter().map(model))?;
    optional::<ByteArrayType>(&mut group, rows.iter().map(serial))?;
    optional::<Int64Type>(&mut group, rows.iter().map(capacity))?;
    optional::<DoubleType>(&mut group, rows.iter().map(price))?;
    optional::<ByteArrayType>(&mut group, rows.iter().map(currency))?;
    column::<Int64Type>(&mut group, &seeds, None)?;
    column::<BoolType>(&mut group, &flag(|row| row.run.simulated), None)?;
    column::<ByteArrayType>(&mut group, &text(|row| row.result.test.name()), None)?;
    column::<ByteArrayType>(&mut group, &text(|row| &row.metric.key), None)?;
    column::<DoubleType>(&mut group, &number(|row| row.metric.value), None)?;
    column::<DoubleType>(&mut group, &number(|row| row.metric.low), None)?;
    column::<DoubleType>(&mut group, &number(|row| row.metric.high), None)?;
    column::<ByteArrayType>(&mut group, &text(|row| &row.metric.unit), None)?;
    column::<BoolType>(&mut group, &flag(|row| row.metric.valid), None)?;
    list::<DoubleType>(&mut group, rows.iter().map(|row| row.metric.rounds.clone()))?;
    group.close()?;
    file.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, nvme};
    use drivescope_model::units::Price;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn written_table_is_read_back_unchanged() {
        let mut runs = [hard_disk(), nvme()];
        runs[0].label = Some("größer".to_string());
        runs[0].price = Some(Price { amount: 104.5, currency: "EUR".to_string() });
        runs[0].plan.seed = u64::MAX;
        runs[1].drive = None;
        runs[1].tests[0].metrics[0].rounds.clear();
        let file = metrics_parquet(&runs).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let rows: Vec<MetricRow> = runs.iter().flat_map(rows_of).collect();
        let mut count = 0;
        for (found, row) in reader.get_row_iter(None).unwrap().zip(&rows) {
            let found = found.unwrap();
            assert_eq!(found.get_string(0).unwrap(), &row.run.id);
            assert_eq!(found.get_timestamp_micros(1).unwrap(), started_us(row.run).unwrap());
            assert_eq!(found.get_string(2).ok(), row.run.label.as_ref());
            let drive = row.run.drive.as_ref();
            assert_eq!(found.get_string(6).ok(), drive.and_then(|drive| drive.serial.as_ref()));
            assert_eq!(found.get_long(7).ok().is_some(), drive.is_some());
            let price = row.run.price.as_ref();
            assert_eq!(found.get_double(8).ok(), price.map(|price| price.amount));
            assert_eq!(found.get_string(9).ok(), price.map(|price| &price.currency));
            assert_eq!(found.get_ulong(10).unwrap(), row.run.plan.seed);
            assert_eq!(found.get_string(13).unwrap(), &row.metric.key);
            assert_eq!(found.get_double(14).unwrap(), row.metric.value);
            let list = found.get_list(19).unwrap();
            let rounds: Vec<String> = list.elements().iter().map(ToString::to_string).collect();
            assert_eq!(rounds.len(), row.metric.rounds.len());
            for (text, round) in rounds.iter().zip(&row.metric.rounds) {
                assert_eq!(text.parse::<f64>().unwrap(), *round);
            }
            count += 1;
        }
        assert_eq!(count, rows.len());
    }

    #[test]
    fn invalid_start_time_is_named() {
        let run = Run { started_at: "soon".to_string(), ..hard_disk() };
        assert!(metrics_parquet(&[run]).unwrap_err().contains("soon"));
        assert!(metrics_parquet(&[]).is_ok());
    }
}
