//! `fleet export`: all runs of a store as Parquet files, in a folder for each model and month.

use crate::arguments::FleetExportArguments;
use crate::exit::{Code, Failure};

/// Writes runs and their figures. Fails if a run cannot be read; the others are written.
#[cfg(feature = "parquet")]
pub fn export(arguments: &FleetExportArguments) -> Result<Code, Failure> {
    with_parquet::export(arguments)
}

#[cfg(not(feature = "parquet"))]
pub fn export(_: &FleetExportArguments) -> Result<Code, Failure> {
    Err(Failure::usage(
        "this drivescope was built without Parquet; build it with --features parquet",
    ))
}

#[cfg(feature = "parquet")]
mod with_parquet {
    use super::{Code, Failure, FleetExportArguments};
    use crate::output;
    use crate::store_access::open_existing;
    use drivescope_drive::export_folder::ExportFolder;
    use drivescope_model::Run;
    use drivescope_model::number::whole;
    use drivescope_report::clean;
    use drivescope_report::export::parquet::{metrics_parquet, partition_of, runs_parquet};
    use drivescope_store::StoreFault;
    use std::collections::BTreeMap;

    /// Runs of a file: enough for quick queries.
    const PART_RUNS: usize = 1_000;
    /// Runs in memory, without curves some ten kilobytes each.
    const RUNS_MAX: usize = 10_000;

    /// Runs that wait for their file, and the number of files that are written.
    #[derive(Default)]
    struct RunsOfPartition {
        runs: Vec<Run>,
        parts: usize,
    }

    pub fn export(arguments: &FleetExportArguments) -> Result<Code, Failure> {
        let store = open_existing(arguments.store.store.as_deref())?;
        let ids = store.ids()?;
        if ids.is_empty() {
            return Err(Failure::usage(store.no_runs()));
        }
        let mut folder = ExportFolder::new(&arguments.parquet)?;
        let mut partitions: BTreeMap<String, RunsOfPartition> = BTreeMap::new();
        let (mut written, mut waiting, mut unreadable) = (0_u64, 0, 0_u64);
        for id in &ids {
            let run = match store.get(id) {
                Ok(run) => run,
                Err(error) if error.fault == StoreFault::NoRun => continue,
                Err(error) if error.fault == StoreFault::Document => {
                    output::complain(&clean(&format!("run {id} is left out: {error}")));
                    unreadable += 1;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            written += 1;
            waiting += 1;
            let name = partition_of(&run);
            let partition = partitions.entry(name.clone()).or_default();
            partition.runs.push(without_curves(run));
            if partition.runs.len() >= PART_RUNS {
                waiting -= partition.runs.len();
                write(&mut folder, &name, partition)?;
            }
            if waiting >= RUNS_MAX {
                waiting = 0;
                write_all(&mut folder, &mut partitions)?;
            }
        }
        write_all(&mut folder, &mut partitions)?;
        folder.finish()?;
        output::print_wrapped(&clean(&format!(
            "wrote {} runs to {}",
            whole(written),
            arguments.parquet.display()
        )));
        Ok(if unreadable == 0 { Code::Ok } else { Code::Problem })
    }

    fn write_all(
        folder: &mut ExportFolder,
        partitions: &mut BTreeMap<String, RunsOfPartition>,
    ) -> Result<(), Failure> {
        partitions.iter_mut().try_for_each(|(name, partition)| write(folder, name, partition))
    }

    fn write(
        folder: &mut ExportFolder,
        name: &str,
        partition: &mut RunsOfPartition,
    ) -> Result<(), Failure> {
        if partition.runs.is_empty() {
            return Ok(());
        }
        let part = partition.parts;
        let runs = runs_parquet(&partition.runs).map_err(Failure::usage)?;
        folder.write(&format!("runs/{name}/part-{part}.parquet"), &runs)?;
        let metrics = metrics_parquet(&partition.runs).map_err(Failure::usage)?;
        folder.write(&format!("metrics/{name}/part-{part}.parquet"), &metrics)?;
        partition.runs.clear();
        partition.parts += 1;
        Ok(())
    }

    /// What is not written need not be kept.
    fn without_curves(mut run: Run) -> Run {
        for test in &mut run.tests {
            test.series.clear();
            test.distributions.clear();
            test.phases.iter_mut().for_each(|phase| phase.latencies = None);
        }
        run
    }
}
