//! What each address shows. The pages of runs, comparisons and histories are those of `drivescope report`; around them
//! stand the way to the others and what can be done here.

mod drives;
mod error;
pub mod fleet;
mod layout;
mod live;
mod measure;
mod models;
mod monitoring;
mod runs;
mod stored;

pub use drives::drives;
pub use error::{PageError, refusal};
pub use layout::{ICON, script, style};
pub use live::{live, live_event};
pub use measure::{measure, not_started, wish};
pub use models::models;
pub use monitoring::drive_metrics;
pub use runs::runs;
pub use stored::{compare, document, history, metrics, run};
