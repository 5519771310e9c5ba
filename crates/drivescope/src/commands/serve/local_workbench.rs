//! What the pages show of this machine, and how they measure on it: by the same steps as `run`.

use super::browser_run::{MeasuredDrives, PlannedBrowserRun};
use super::drives_of_machine::DrivesOfMachine;
#[cfg(feature = "fleet")]
use super::fleet_of_store::FleetOfStore;
use crate::exit::Failure;
use crate::run_steps::{PlannedRun, max_duration, targets};
use drivescope_bench::io::clock;
use drivescope_bench::planner;
use drivescope_bench::suites;
use drivescope_bench::workloads;
use drivescope_drive::simulated::spec::{self, PREFIX};
use drivescope_model::TestKind;
use drivescope_model::drive::Drive;
use drivescope_model::plan::WriteLevel;
use drivescope_report::clean;
use drivescope_sim::library::Model;
use drivescope_store::StoreLocation;
use drivescope_web::{
    FleetView, ListedDrive, ListedModel, ListedSuite, PreparedRun, RunWish, SuiteGroup, Workbench,
};
use std::path::Path;
use std::sync::Arc;

pub struct LocalWorkbench {
    store: StoreLocation,
    measured: Arc<MeasuredDrives>,
    drives: DrivesOfMachine,
    #[cfg(feature = "fleet")]
    fleet: Option<FleetOfStore>,
}

impl LocalWorkbench {
    pub fn new(store: StoreLocation) -> Self {
        Self {
            #[cfg(feature = "fleet")]
            fleet: FleetOfStore::of(&store),
            store,
            measured: Arc::default(),
            drives: DrivesOfMachine::asked(),
        }
    }
}

impl Workbench for LocalWorkbench {
    fn drives(&self) -> Vec<ListedDrive> {
        self.drives.now()
    }

    fn models(&self) -> Vec<ListedModel> {
        // The models of the program are sound: a test reads them all.
        spec::built_in()
            .map_or_else(|_| Vec::new(), |all| all.into_iter().map(listed_model).collect())
    }

    fn suites(&self) -> Vec<ListedSuite> {
        let folder = suites::user_folder();
        let built_in = suites::names(None);
        let listed = |name: String| {
            let summary = suites::find(&name, folder.as_deref()).ok()?.summary;
            let group = SuiteGroup::of(&name, built_in.contains(&name));
            Some(ListedSuite { name, summary, group })
        };
        suites::names(folder.as_deref()).into_iter().filter_map(listed).collect()
    }

    fn question(&self, test: TestKind) -> &'static str {
        workloads::find(test).question()
    }

    #[cfg(feature = "fleet")]
    fn fleet(&self) -> Option<&dyn FleetView> {
        self.fleet.as_ref().map(|fleet| fleet as &dyn FleetView)
    }

    #[cfg(not(feature = "fleet"))]
    fn fleet(&self) -> Option<&dyn FleetView> {
        None
    }

    fn prepare(&self, wish: &RunWish) -> Result<Box<dyn PreparedRun>, String> {
        refuse_silent(&self.drives.now(), &wish.target)?;
        let planned = plan(wish).map_err(|failure| clean(&failure.message).into_owned())?;
        Ok(Box::new(PlannedBrowserRun {
            planned,
            label: wish.label.clone(),
            store: self.store.clone(),
            measured: Arc::clone(&self.measured),
        }))
    }
}

fn listed_model(model: Model) -> ListedModel {
    ListedModel {
        model: model.shown().model.to_string(),
        capacity_bytes: model.capacity_bytes(),
        name: model.name,
        summary: model.summary,
    }
}

/// Refuses a target on a drive that is known not to answer: asking it would hold up the page.
fn refuse_silent(drives: &[ListedDrive], target: &str) -> Result<(), String> {
    let is_on = |drive: &Drive| {
        let parts = drive.partitions.iter();
        let nodes = parts.clone().any(|part| target == format!("/dev/{}", part.name));
        let mut mounts = drive.mounts.iter().chain(parts.flat_map(|part| &part.mounts));
        nodes || target == drive.path || mounts.any(|mount| target == mount)
    };
    let found = drives.iter().find(|listed| is_on(&listed.drive));
    match found.and_then(|listed| listed.trouble.as_ref()) {
        Some(trouble) => Err(format!("{target}: {trouble}")),
        None => Ok(()),
    }
}

/// A plan that only reads, or writes its own files.
fn plan(wish: &RunWish) -> Result<PlannedRun, Failure> {
    let path = Path::new(&wish.target);
    if let Some(model) = wish.target.strip_prefix(PREFIX) {
        // A file would be read, and shown where it is wrong.
        if model.contains('/') || model.contains(".toml") {
            let why = "a model of your own is measured with drivescope run";
            return Err(Failure::usage(why));
        }
    } else if !path.is_absolute() {
        let why = format!("{} does not begin with /; name the whole path", wish.target);
        return Err(Failure::usage(why));
    }
    let suite = suites::find(&wish.suite, suites::user_folder().as_deref())?;
    let target = targets::find_one(path)?;
    targets::check_is_on_a_drive(&target)?;
    let engine = targets::engine_for(&target, None, true)?;
    let seed = clock::now_ns();
    let plan = planner::plan(suite, seed, engine, &target, false, WriteLevel::Read)?;
    max_duration::check(&plan)?;
    Ok(PlannedRun { plan, target, claim: None, resumed: None, ended: Vec::new() })
}
