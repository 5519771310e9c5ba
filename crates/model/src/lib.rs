//! WHAT drivescope measures: units, cells, plans, run documents, findings and the format version.
//!
//! Types, and the places that known programs access. Nothing here performs I/O, reads a clock or prints.

pub mod cell;
pub mod decision;
pub mod document;
pub mod drive;
pub mod event;
pub mod findings;
pub mod fio_size;
pub mod fleet;
pub mod gate;
pub mod health;
pub mod host;
pub mod json;
pub mod measured_drive;
pub mod metrics;
pub mod nearest;
pub mod number;
pub mod options;
pub mod patterns;
pub mod plan;
pub mod reproduction;
pub mod resume;
pub mod schema;
pub mod shell;
pub mod shortened;
pub mod size_split;
pub mod target;
pub mod together;
pub mod trace;
pub mod units;
pub mod watch;

pub use cell::{Cell, Mix, Order, Shape};
pub use document::{Metric, PhaseRecord, Run, Series, TestResult, TestStatus};
pub use findings::{Finding, FindingId, Severity};
pub use gate::{Check, DeviceIdentity, GateRecord, Outcome};
pub use measured_drive::{MeasuredDrive, MeasuredFigure};
pub use options::{Suite, TestKind};
pub use plan::{Cost, Plan, PlannedTest, Restores, WriteLevel};
pub use units::{Bytes, Secs};
