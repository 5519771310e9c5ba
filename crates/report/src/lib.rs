//! Pure functions from drivescope's documents to text and pictures: no I/O, no clock, no terminal. Knowledge of one
//! workload is in `workloads`, one file each.

pub mod chart;
pub mod export;
pub mod fleet;
pub mod markdown;
pub mod page;
pub mod text;
pub mod verdict;

mod advise;
mod comparison;
mod dates;
mod drive_class;
mod figure_grid;
mod first_seen;
mod fleet_outliers;
mod health_facts;
mod history;
mod imprint;
mod latencies;
mod sd_classes;
mod terminal;
#[cfg(test)]
mod testing;
mod workloads;

pub use advise::{
    DataLayout, DriveFigures, MachineChange, Need, PlacedPartition, machine_changes,
    partition_script, place,
};
pub use comparison::charts::{comparison_charts, price_charts};
pub use comparison::document::comparison_document;
pub use comparison::paired::{compare_pairs, is_decided};
pub use comparison::side_by_side::SideBySide;
pub use comparison::thresholds::{Threshold, ThresholdCheck, check_thresholds, check_worse};
pub use comparison::{ComparedMetric, MetricRatio, RunComparison, compare};
pub use drive_class::known_drives::KnownDrive;
pub use drive_class::strips::class_strips;
pub use export::anonymize::anonymized;
pub use fleet_outliers::{FDR, FleetOutliers, OddDrive, fleet_keys, fleet_outliers};
pub use history::charts::history_charts;
pub use history::{
    DriveHistory, HistoryRun, HistoryValue, MetricChange, MetricHistory, RUNS_MIN, history,
};
pub use imprint::{imprint_of, imprint_of_history};
pub use terminal::{COLUMNS_MAX, Style, WIDTH, clean, shorten, width, wrap};
pub use verdict::answer::answer;
pub use verdict::judge;
pub use workloads::{charts, every_chart};
