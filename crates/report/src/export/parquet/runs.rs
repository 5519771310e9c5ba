//! Runs as Parquet: a row for each, with its drive and what was found.

use super::columns::{column, list, optional, table};
use super::started_us;
use drivescope_model::Run;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;

const SCHEMA: &str = "
    message drivescope {
        required binary run (UTF8);
        required int64 started_at (TIMESTAMP(MICROS, true));
        required double elapsed_s;
        required binary host (UTF8);
        optional binary label (UTF8);
        required binary suite (UTF8);
        required binary target (UTF8);
        required binary status (UTF8);
        required boolean simulated;
        optional binary drive (UTF8);
        optional binary model (UTF8);
        optional binary serial (UTF8);
        optional binary firmware (UTF8);
        optional int64 capacity_bytes;
        optional binary link (UTF8);
        optional double link_mb_s;
        optional double temperature_c;
        optional double limit_c;
        optional int64 power_on_hours;
        optional int64 bad_sectors;
        required group findings (LIST) { repeated group list { required binary element (UTF8); } }
    }";

/// Every run, compressed with Snappy; the temperature is the highest that was seen. Errors: the start of a run is not a
/// time, which no run of this program has.
pub fn runs_parquet(runs: &[Run]) -> std::result::Result<Vec<u8>, String> {
    let starts = runs.iter().map(started_us).collect::<std::result::Result<Vec<_>, _>>()?;
    write(runs, &starts).map_err(|error| error.to_string())
}

fn write(runs: &[Run], starts: &[i64]) -> Result<Vec<u8>> {
    let mut file = table(SCHEMA)?;
    let mut group = file.next_row_group()?;
    let text = |of: for<'r> fn(&'r Run) -> &'r str| {
        runs.iter().map(of).map(ByteArray::from).collect::<Vec<_>>()
    };
    let bytes = |of: for<'r> fn(&'r Run) -> Option<&'r str>| {
        runs.iter().map(move |run| of(run).map(ByteArray::from))
    };
    let number = |of: fn(&Run) -> Option<f64>| runs.iter().map(of);
    let count = |of: fn(&Run) -> Option<u64>| runs.iter().map(move |run| Some(of(run)? as i64));
    let elapsed: Vec<f64> = runs.iter().map(|run| run.elapsed_s).collect();
    let simulated: Vec<bool> = runs.iter().map(|run| run.simulated).collect();
    let statuses: Vec<ByteArray> = runs.iter().map(|run| status(run).as_str().into()).collect();
    column::<ByteArrayType>(&mut group, &text(|run| &run.id), None)?;
    column::<Int64Type>(&mut group, starts, None)?;
    column::<DoubleType>(&mut group, &elapsed, None)?;
    column::<ByteArrayType>(&mut group, &text(|run| &run.host.name), None)?;
    optional::<ByteArrayType>(&mut group, bytes(|run| run.label.as_deref()))?;
    column::<ByteArrayType>(&mut group, &text(|run| &run.plan.suite.name), None)?;
    column::<ByteArrayType>(&mut group, &text(|run| &run.target.path), None)?;
    column::<ByteArrayType>(&mut group, &statuses, None)?;
    column::<BoolType>(&mut group, &simulated, None)?;
    optional::<ByteArrayType>(&mut group, bytes(|run| Some(&*run.drive.as_ref()?.name)))?;
    optional::<ByteArrayType>(&mut group, bytes(|run| run.drive.as_ref()?.model.as_deref()))?;
    optional::<ByteArrayType>(&mut group, bytes(|run| run.drive.as_ref()?.serial.as_deref()))?;
    optional::<ByteArrayType>(&mut group, bytes(|run| run.drive.as_ref()?.firmware.as_deref()))?;
    optional::<Int64Type>(&mut group, count(|run| Some(run.drive.as_ref()?.capacity_bytes)))?;
    optional::<ByteArrayType>(
        &mut group,
        bytes(|run| Some(&*run.drive.as_ref()?.link.as_ref()?.name)),
    )?;
    optional::<DoubleType>(
        &mut group,
        number(|run| Some(run.drive.as_ref()?.link.as_ref()?.payload_mb_s)),
    )?;
    optional::<DoubleType>(&mut group, number(highest_temperature))?;
    optional::<DoubleType>(&mut group, number(|run| run.drive.as_ref()?.health.limit_c))?;
    optional::<Int64Type>(&mut group, count(|run| run.drive.as_ref()?.health.power_on_hours))?;
    optional::<Int64Type>(&mut group, count(|run| run.drive.as_ref()?.health.bad_sectors))?;
    list::<ByteArrayType>(&mut group, runs.iter().map(findings))?;
    group.close()?;
    file.into_inner()
}

/// As in the document.
fn status(run: &Run) -> String {
    format!("{:?}", run.status).to_lowercase()
}

fn highest_temperature(run: &Run) -> Option<f64> {
    let phases = run.tests.iter().flat_map(|test| &test.phases);
    let before = run.drive.as_ref().and_then(|drive| drive.temperature_c);
    phases.filter_map(|phase| phase.temperature_c).chain(before).reduce(f64::max)
}

/// Ids of the run's and its tests' findings, each once.
fn findings(run: &Run) -> Vec<ByteArray> {
    let of_tests = run.tests.iter().flat_map(|test| &test.findings);
    let mut ids: Vec<&str> =
        run.findings.iter().chain(of_tests).map(|finding| finding.id.spec().id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(ByteArray::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, nvme};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn runs_are_read_back() {
        let mut runs = [hard_disk(), nvme()];
        runs[1].drive = None;
        runs[1].findings.clear();
        runs[1].tests.clear();
        let file = runs_parquet(&runs).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        for (row, run) in rows.iter().zip(&runs) {
            assert_eq!(row.get_string(0).unwrap(), &run.id);
            assert_eq!(row.get_string(3).unwrap(), &run.host.name);
            let status = serde_json::to_value(run.status).unwrap();
            assert_eq!(row.get_string(7).unwrap(), status.as_str().unwrap());
            let model = run.drive.as_ref().and_then(|drive| drive.model.as_ref());
            assert_eq!(row.get_string(10).ok(), model);
            assert_eq!(row.get_list(20).unwrap().len(), findings(run).len());
        }
        assert!(!findings(&runs[0]).is_empty());
        assert_eq!(rows[0].get_double(16).ok(), highest_temperature(&runs[0]));
    }
}
