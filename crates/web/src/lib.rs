//! `drivescope serve`: drives, stored runs and runs in progress as pages for browsers.
//!
//! The pages are those of `drivescope report`. What they need of the machine, and the runs that they start, come from
//! the program around them, behind [`Workbench`]: this crate can neither measure nor open a drive.
//!
//! A request passes, in this order: the limits of `server` (clients, sizes, times), the `front_door` (Host, Origin,
//! token; headers of answers) and `routes`. Everything is made on the server and works without a script; `serve.js`
//! only saves reloading.

mod browser_run;
mod fleet_view;
mod form;
mod front_door;
mod guard;
mod level;
mod pages;
mod routes;
mod run_board;
mod server;
mod site;
#[cfg(test)]
mod testing;
mod token;
mod workbench;

pub use fleet_view::{FleetDrives, FleetFault, FleetView, ListedSubmission};
pub use guard::Guard;
pub use level::BrowserLevel;
pub use run_board::{BoardProgress, RateCurve, RunBoard, RunEnd};
pub use server::serve;
pub use site::Site;
pub use token::AccessToken;
pub use workbench::{
    ListedDrive, ListedModel, ListedSuite, PreparedRun, RunWish, SuiteGroup, Workbench,
};
