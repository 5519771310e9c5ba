//! `list`: every drive of this machine, shown as what it is.

use crate::support::json::{array, text};
use crate::support::{Scratch, skip_loudly};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

fn devices_of_the_kernel() -> BTreeSet<String> {
    let entries = fs::read_dir("/sys/block").map(|entries| entries.flatten().collect::<Vec<_>>());
    let names = entries.unwrap_or_default().into_iter().map(|e| e.file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| {
            let size = fs::read_to_string(format!("/sys/block/{name}/size"));
            size.is_ok_and(|size| size.trim() != "0")
        })
        .collect()
}

#[test]
fn every_drive_has_the_scripted_fields() {
    let list = Scratch::new().drivescope(&["list", "--json"]).code(0).json();
    // Other tests detach loop devices meanwhile.
    let is_detached = |drive: &&Value| drive["kind"] == "loop" && drive["capacity_bytes"] == 0;
    for drive in array(&list).iter().filter(|drive| !is_detached(drive)) {
        let name = text(&drive["name"]);
        assert_eq!(drive["path"], format!("/dev/{name}"));
        assert!(drive["capacity_bytes"].as_u64() > Some(0), "{drive}");
        let sectors = ["logical_sector_bytes", "physical_sector_bytes"];
        let [logical, physical] = sectors.map(|key| drive[key].as_u64().unwrap());
        assert!(logical >= 512 && logical.is_power_of_two(), "{drive}");
        assert!(physical >= logical && physical.is_power_of_two(), "{drive}");
        assert!(!text(&drive["kind"]).is_empty() && !text(&drive["transport"]).is_empty());
        for key in ["rotational_hint", "removable", "read_only"] {
            assert!(drive[key].is_boolean(), "{key} of {drive}");
        }
        let health = &drive["health"];
        assert!(health["passed"].is_boolean() || health["note"].is_string(), "{health}");
        for partition in array(&drive["partitions"]) {
            assert!(partition["start_bytes"].is_u64() && partition["mounts"].is_array());
        }
        for key in ["model", "serial", "firmware", "link", "scheduler", "write_cache"] {
            assert!(drive.get(key).is_some(), "{key} of {name} is missing");
        }
    }
}

#[test]
fn no_drive_of_the_kernel_is_missing() {
    let scratch = Scratch::new();
    // Other tests attach and detach devices meanwhile: only what was there all the time counts.
    let before = devices_of_the_kernel();
    let list = scratch.drivescope(&["list", "--json"]).code(0).json();
    let after = devices_of_the_kernel();
    let listed: BTreeSet<&str> = array(&list).iter().map(|drive| text(&drive["name"])).collect();
    let always: Vec<&String> = before.intersection(&after).collect();
    if always.is_empty() {
        return skip_loudly("this machine shows no drive");
    }
    let table = scratch.drivescope(&["list"]).code(0).stdout;
    for name in always {
        assert!(listed.contains(name.as_str()), "{name} is missing: {listed:?}");
        if devices_of_the_kernel().contains(name) {
            assert!(table.lines().any(|line| line.starts_with(name.as_str())), "{name}: {table}");
        }
    }
}

#[test]
fn missing_smartctl_is_reported_without_failure() {
    let scratch = Scratch::new();
    let call = scratch.call(&["list", "--json"]).env("PATH", scratch.path("target"));
    let list = call.end().code(0).json();
    for drive in array(&list) {
        let health = &drive["health"];
        assert!(health["note"].is_string() || health["passed"].is_boolean(), "{drive}");
    }
}

#[test]
fn failing_smartctl_does_no_harm() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    for script in ["exit 2", "echo nonsense", "echo '{}'", "head -c 100000 /dev/zero", "kill -9 $$"]
    {
        let smartctl = scratch.file("target/smartctl", format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&smartctl, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", scratch.target());
        let list = scratch.call(&["list", "--json"]).env("PATH", path).end().code(0).json();
        assert!(list.is_array(), "{script}");
    }
}
