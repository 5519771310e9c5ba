//! A small fleet, and a workbench without drives, for tests.

use crate::fleet_view::{FleetDrives, FleetFault, FleetView, ListedSubmission};
use crate::workbench::{ListedDrive, ListedModel, ListedSuite, PreparedRun, RunWish, Workbench};
use drivescope_model::TestKind;
use drivescope_model::drive::DriveKind;
use drivescope_model::fleet::{
    AgentFacts, DriveRate, FleetDrive, FleetHost, FleetJob, HostDrive, JobPlan, JobState,
    PLAN_FORMAT, Submission,
};
use drivescope_model::plan::WriteLevel;
use std::time::Duration;

/// Markup in a name.
pub const EVIL: &str = "\"><script>alert('x')</script>&";

pub fn fleet_host(name: &str) -> FleetHost {
    let agent = AgentFacts {
        id: format!("{name}-0123456789"),
        name: name.to_string(),
        machine: name.to_string(),
        boot: "boot".to_string(),
        version: "0.1.0".to_string(),
        ceiling: WriteLevel::OwnFiles,
        parallel: 2,
        poll_s: 30.0,
    };
    FleetHost {
        agent,
        seen_s_ago: 12.0,
        drives: 2,
        missing: Vec::new(),
        waiting: 0,
        running: 0,
        same_machine_as: None,
    }
}

pub fn host_drive(host: &str, model: &str, firmware: &str) -> HostDrive {
    let drive = FleetDrive {
        key: format!("{model}|WX12"),
        model: Some(model.to_string()),
        serial: Some("WX12".to_string()),
        firmware: Some(firmware.to_string()),
        link: Some("SATA 6 Gb/s".to_string()),
        temperature_c: Some(38.0),
        fill: Some(0.4),
        ..FleetDrive::named("sda", DriveKind::HardDisk, 4_000_787_030_016)
    };
    let (host_id, host) = (host.to_string(), host.to_string());
    HostDrive { host_id, host, drive, is_there: true, seen_s_ago: 20.0 }
}

/// Of the drive that [`host_drive`] makes for the host `a`.
pub fn drive_rate(model: &str, firmware: &str, read_mb_s: f64) -> DriveRate {
    DriveRate {
        run_id: "0123456789ab".to_string(),
        host: Some("a".to_string()),
        name: Some("sda".to_string()),
        model: Some(model.to_string()),
        serial: Some("WX12".to_string()),
        firmware: Some(firmware.to_string()),
        read_mb_s,
    }
}

pub fn listed_submission(key: &str) -> ListedSubmission {
    let plan = JobPlan {
        format: PLAN_FORMAT,
        suite: "quick".to_string(),
        suite_text: String::new(),
        level: WriteLevel::Read,
        expected_s: 95.0,
    };
    let submission = Submission {
        key: key.to_string(),
        plan,
        selector: "model=~\"WD40.*\"".to_string(),
        submitted_by: "ann".to_string(),
        submitted_unix_us: 0,
        go_at_unix_us: None,
        cancelled: false,
    };
    ListedSubmission {
        submission,
        submitted_s_ago: 600.0,
        starts_in_s: None,
        counts: Vec::new(),
        overdue: 0,
    }
}

pub fn fleet_job(name: &str, state: JobState) -> FleetJob {
    FleetJob {
        id: 1,
        submission: "nightly".to_string(),
        host_id: "id".to_string(),
        host: "rack7-01".to_string(),
        drive: format!("WDC WD40EFRX|{name}"),
        name: name.to_string(),
        state,
        attempt: 1,
        overdue_s: None,
        phase: None,
        done: None,
        run_id: None,
        exit_code: None,
        message: None,
        skew_ms: None,
    }
}

/// A workbench that has nothing but, perhaps, a fleet.
pub struct FakeWorkbench(pub Option<FakeFleet>);

impl Workbench for FakeWorkbench {
    fn drives(&self) -> Vec<ListedDrive> {
        Vec::new()
    }

    fn models(&self) -> Vec<ListedModel> {
        Vec::new()
    }

    fn suites(&self) -> Vec<ListedSuite> {
        Vec::new()
    }

    fn question(&self, _: TestKind) -> &'static str {
        ""
    }

    fn fleet(&self) -> Option<&dyn FleetView> {
        self.0.as_ref().map(|fleet| fleet as &dyn FleetView)
    }

    fn prepare(&self, _: &RunWish) -> Result<Box<dyn PreparedRun>, String> {
        Err("it has no drive".to_string())
    }
}

/// A fleet of one host, with one drive and one job.
pub struct FakeFleet {
    pub has_hosts: bool,
    /// Its server does not answer.
    pub is_silent: bool,
}

impl FakeFleet {
    fn answer<T>(&self, answer: T) -> Result<T, FleetFault> {
        if self.is_silent { Err(FleetFault::Silent(Duration::from_secs(8))) } else { Ok(answer) }
    }
}

impl FleetView for FakeFleet {
    fn has_hosts(&self) -> bool {
        self.has_hosts
    }

    fn hosts(&self) -> Result<Vec<FleetHost>, FleetFault> {
        self.answer(if self.has_hosts { vec![fleet_host("rack7-01")] } else { Vec::new() })
    }

    fn drives(&self, select: Option<&str>) -> Result<FleetDrives, FleetFault> {
        if select == Some("speed>9") {
            return Err(FleetFault::Expression("column 1: no field is called 'speed'".to_string()));
        }
        let drives = vec![host_drive("rack7-01", "WD40", "82.0")];
        self.answer(FleetDrives { drives, rates: Vec::new(), rated_runs: 20_000 })
    }

    fn submissions(&self, _: u32) -> Result<Vec<ListedSubmission>, FleetFault> {
        self.answer(vec![listed_submission("nightly")])
    }

    fn submission(
        &self,
        key: &str,
    ) -> Result<Option<(ListedSubmission, Vec<FleetJob>)>, FleetFault> {
        let found = (listed_submission(key), vec![fleet_job("sda", JobState::Waiting)]);
        self.answer((key == "it's 1").then_some(found))
    }

    fn outliers_page(&self) -> Result<Option<String>, FleetFault> {
        self.answer(Some("<h1>One is odd</h1>".to_string()))
    }
}
