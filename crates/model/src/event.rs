//! What a run reports to its listeners while it works: progress bars, live views, controllers.

use crate::document::TestResult;
use crate::options::TestKind;

/// Sent down one channel; a slow listener never holds up a measurement.
#[derive(Debug, Clone)]
pub enum Event {
    TestStarted {
        test: TestKind,
        /// Expected.
        seconds: f64,
    },
    /// Something slow that is not measured begins: laying out a file, flushing.
    Preparing {
        /// For people: `writing the test file, 1.07 GB`.
        what: String,
    },
    PhaseStarted {
        /// Cell and direction.
        label: String,
        round: u32,
        rounds: u32,
    },
    Progress {
        /// Share of the test that is done, 0–1.
        done: f64,
        /// Of the rest of the test; `None` where it is overdue or nothing is moved any more.
        left_s: Option<f64>,
        mb_s: f64,
        iops: f64,
    },
    /// The figures of the round's cell so far.
    RoundFinished(Box<TestResult>),
    TestFinished(Box<TestResult>),
}
