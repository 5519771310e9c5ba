//! What the command line may change in a suite.

use drivescope_model::units::{Bytes, Secs};

/// What the command line may change in a suite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// Only these tests.
    pub tests: Vec<String>,
    /// Only these cells of `transfer`; without direction, all of the suite's.
    pub cells: Vec<String>,
    /// Size of the test file; span of a file or device.
    pub size: Option<Bytes>,
    /// Measured time of one round of one cell.
    pub time: Option<Secs>,
    /// Rounds.
    pub rounds: Option<u32>,
    /// A directory of one's own to copy.
    pub files: Option<String>,
    /// Where to copy from.
    pub from: Option<String>,
    /// Databases of `sql`, or the URL of one.
    pub databases: Vec<String>,
    /// A file with a statement of one's own for `sql`.
    pub query: Option<String>,
    /// A file with its parameters.
    pub params: Option<String>,
    /// Files that were made stay for a later run.
    pub keep: bool,
    /// `test.option=value`, as in a suite file.
    pub settings: Vec<String>,
}
