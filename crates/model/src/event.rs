//! What a run reports to its listeners while it works: progress bars, live views, controllers.

use crate::document::TestResult;
use crate::options::TestKind;

/// One message. Sent down one channel; a slow listener never holds up a measurement.
#[derive(Debug, Clone)]
pub enum Event {
    /// A test begins and expects to take `seconds`.
    TestStarted {
        /// The test that begins.
        test: TestKind,
        /// Expected length.
        seconds: f64,
    },
    /// Something slow that is not measured begins: laying out a file, flushing.
    Preparing {
        /// What, for people: `writing the test file, 1.07 GB`.
        what: String,
    },
    /// A phase begins.
    PhaseStarted {
        /// Cell and direction.
        label: String,
        /// From 1.
        round: u32,
        /// Rounds in all.
        rounds: u32,
    },
    /// Where the test is.
    Progress {
        /// Share of the test that is done, 0–1.
        done: f64,
        /// How long the rest will take, s; `None` where more time is over than was planned for all, or nothing
        /// is moved any more.
        left_s: Option<f64>,
        /// Current rate.
        mb_s: f64,
        /// Current requests per second.
        iops: f64,
    },
    /// A round of a cell ended: what the cell has come to so far.
    RoundFinished(Box<TestResult>),
    /// A test ended.
    TestFinished(Box<TestResult>),
}
