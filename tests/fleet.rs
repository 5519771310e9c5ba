//! `fleet` for submitters and readers, on a server of the test's own. The tests announce hosts and drives as agents do.

mod agents;
mod chaos;
mod deciding;
mod faults;
mod rights;
mod submitting;
mod views;
mod watching;

use crate::support::postgres_server::{OWNER, PostgresServer};
use crate::support::{Call, Ended, Scratch};
use drivescope_fleet::FleetTables;
use drivescope_model::drive::DriveKind;
use drivescope_model::fleet::{AgentFacts, FleetDrive};
use drivescope_model::plan::WriteLevel;
use drivescope_store::StoreLocation;

/// What a terminal, SQL or a page would obey.
const HOSTILE: &str = "\u{1b}[2J\u{9b}31m'; DROP TABLE fleet_jobs; --\"<script>\n\t\u{7f}";

struct Fleet {
    server: PostgresServer,
    database: String,
    address: String,
    scratch: Scratch,
    tables: FleetTables,
}

impl Fleet {
    /// An empty fleet; `None` without a server.
    fn new() -> Option<Self> {
        Self::on_server(&[])
    }

    /// On a server with these settings.
    fn on_server(settings: &[&str]) -> Option<Self> {
        let server = PostgresServer::start(settings)?;
        let (database, scratch) = (server.new_database(), Scratch::new());
        let address = server.address(OWNER, &database);
        scratch.drivescope(&["store", "init", "--store", &address]).code(0);
        let location = StoreLocation::parse(Some(&address)).expect("it is an address");
        let tables = FleetTables::open(&location, true).expect("the tables were made");
        Some(Self { server, database, address, scratch, tables })
    }

    /// Hosts `rack7-1` and `rack7-2` with a disk and an SSD each, and `rack8-1` with a disk.
    fn small() -> Option<Self> {
        let mut fleet = Self::new()?;
        for (number, host) in ["rack7-1", "rack7-2", "rack8-1"].into_iter().enumerate() {
            let mut drives = vec![disk(&format!("WD-{number}"))];
            if host != "rack8-1" {
                drives.push(ssd(&format!("S3Z-{number}")));
            }
            fleet.announce(&facts(host), &drives);
        }
        Some(fleet)
    }

    fn announce(&mut self, agent: &AgentFacts, drives: &[FleetDrive]) {
        assert!(self.tables.announce_host(agent, "incarnation", 60.0).expect("it is the owner"));
        self.tables.announce_drives(&agent.id, drives).expect("it is the owner");
    }

    fn sql(&self, sql: &str) -> String {
        self.server.psql(&self.database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn call(&self, arguments: &[&str]) -> Call {
        self.call_at(&self.address, arguments)
    }

    fn call_at(&self, address: &str, arguments: &[&str]) -> Call {
        self.scratch.call(&[&["fleet"], arguments, &["--store", address]].concat())
    }

    fn fleet(&self, arguments: &[&str]) -> Ended {
        self.call(arguments).end()
    }
}

fn facts(host: &str) -> AgentFacts {
    AgentFacts {
        id: format!("{host}-{:0>16}", "1"),
        name: host.to_string(),
        machine: format!("machine of {host}"),
        boot: format!("boot of {host}"),
        version: "0.1.0".to_string(),
        ceiling: WriteLevel::OwnFiles,
        parallel: 1,
        poll_s: 30.0,
    }
}

fn disk(serial: &str) -> FleetDrive {
    let model = "WDC WD40EFRX-68N32N0";
    FleetDrive {
        key: format!("{model}|{serial}"),
        target: "/dev/sda".to_string(),
        model: Some(model.to_string()),
        serial: Some(serial.to_string()),
        firmware: Some("82.00A82".to_string()),
        link: Some("SATA 6.0 Gb/s".to_string()),
        temperature_c: Some(38.0),
        fill: Some(0.25),
        ..FleetDrive::named("sda", DriveKind::HardDisk, 4_000_787_030_016)
    }
}

fn ssd(serial: &str) -> FleetDrive {
    let model = "Samsung SSD 860 EVO 500GB";
    FleetDrive {
        key: format!("{model}|{serial}"),
        name: "sdb".to_string(),
        target: "/dev/sdb".to_string(),
        directories: vec!["/srv/data".to_string()],
        kind: DriveKind::Ssd,
        model: Some(model.to_string()),
        firmware: None,
        capacity_bytes: 500_107_862_016,
        fill: Some(0.8),
        ..disk(serial)
    }
}
