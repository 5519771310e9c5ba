//! A small fleet for tests.

use drivescope_model::drive::DriveKind;
use drivescope_model::fleet::{
    AgentFacts, FleetDrive, FleetHost, FleetJob, HostDrive, JobPlan, JobState, Submission,
};
use drivescope_model::plan::WriteLevel;

/// What a terminal would obey, and what breaks tables.
pub(super) const HOSTILE: &str = "\u{1b}[2J\u{7}\u{9b}31m\0\n\t\"'<b>\u{202e}";

pub(super) fn drive(host: &str, name: &str) -> HostDrive {
    HostDrive {
        host_id: format!("{host}-0123456789"),
        host: host.to_string(),
        drive: FleetDrive {
            key: format!("{host}|{name}"),
            target: format!("/dev/{name}"),
            model: Some("WDC WD40EFRX-68N32N0".into()),
            serial: Some("WD-WCC7K0000001".into()),
            firmware: Some("82.00A82".into()),
            link: Some("SATA 6.0 Gb/s".into()),
            temperature_c: Some(38.0),
            fill: Some(0.25),
            ..FleetDrive::named(name, DriveKind::HardDisk, 4_000_787_030_016)
        },
        is_there: true,
        seen_s_ago: 12.0,
    }
}

pub(super) fn host(name: &str, seen_s_ago: f64) -> FleetHost {
    FleetHost {
        agent: AgentFacts {
            id: format!("{name}-0123456789"),
            name: name.to_string(),
            machine: "m".into(),
            boot: "b".into(),
            version: "0.1.0".into(),
            ceiling: WriteLevel::OwnFiles,
            parallel: 2,
            poll_s: 30.0,
        },
        seen_s_ago,
        drives: 4,
        missing: Vec::new(),
        waiting: 0,
        running: 0,
        same_machine_as: None,
    }
}

pub(super) fn submission() -> Submission {
    Submission {
        key: "3fa9c1d2".into(),
        plan: JobPlan {
            format: 1,
            suite: "quick".into(),
            suite_text: String::new(),
            level: WriteLevel::OwnFiles,
            expected_s: 70.0,
        },
        selector: "model=~\"WD40.*\"".into(),
        submitted_by: "alice".into(),
        submitted_unix_us: 0,
        go_at_unix_us: None,
        cancelled: false,
    }
}

pub(super) fn job(host: &str, name: &str, state: JobState) -> FleetJob {
    FleetJob {
        id: 1,
        submission: "3fa9c1d2".into(),
        host_id: format!("{host}-0123456789"),
        host: host.to_string(),
        drive: format!("{host}|{name}"),
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

/// Fails on a line that is too wide, or that has what a terminal would obey.
pub(super) fn must_be_tame(text: &str) {
    use crate::terminal::{WIDTH, width};
    for line in text.lines() {
        assert!(width(line) <= WIDTH, "{line:?}");
        assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
}
