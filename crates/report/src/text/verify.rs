//! `verify`

use crate::style::Style;
use drivescope_model::TestResult;

pub(super) fn table(_: &TestResult, _: Style) -> String {
    String::new()
}
