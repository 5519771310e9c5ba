//! What the command line may change in a suite.

use drivescope_model::units::{Bytes, Secs};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    pub tests: Vec<String>,
    /// Only these cells of `transfer`; without direction, all of the suite's.
    pub cells: Vec<String>,
    /// Size of the test file; span of a file or device.
    pub size: Option<Bytes>,
    /// Measured time of one round of one cell.
    pub time: Option<Secs>,
    pub rounds: Option<u32>,
    /// A directory of one's own to copy.
    pub files: Option<String>,
    pub from: Option<String>,
    /// Databases of `sql`, or the URL of one.
    pub databases: Vec<String>,
    /// A file with a statement of one's own for `sql`.
    pub query: Option<String>,
    /// A file with the parameters of `query`.
    pub params: Option<String>,
    /// Test files stay for a later run.
    pub keep: bool,
    /// `test.option=value`, as in a suite file.
    pub settings: Vec<String>,
}
