//! SMART before and after a run, on simulated drives that report what smartctl printed of real ones.

use crate::support::Scratch;
use crate::support::json::{finding, findings};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn sample(name: &str) -> String {
    let samples = "../machine/src/list/smart_report/samples";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(samples).join(name);
    fs::read_to_string(path).expect("the repository has it")
}

/// A disk whose SMART is the first report before a run and the second one after it.
fn disk(scratch: &Scratch, before: &str, after: &str) -> String {
    let (before, after) = (scratch.file("before.json", before), scratch.file("after.json", after));
    format!("sim:wd40efrx?seed=1&smart={before},{after}")
}

fn measured(before: &str, after: &str, code: i32) -> Value {
    let scratch = Scratch::new();
    let disk = disk(&scratch, before, after);
    scratch
        .drivescope(&["run", &disk, "--test", "transfer", "--size", "1GiB", "--json"])
        .code(code)
        .json()
}

/// The disk of `farm.json` before its SMART was set back.
fn healthy() -> String {
    sample("farm.json").replace("{\"hours\": 12}", "{\"hours\": 22341}")
}

#[test]
fn more_crc_errors_name_the_cable() {
    let name = "\"UDMA_CRC_Error_Count\", \"value\": 200, \"worst\": 200, \"thresh\": 0, \
                \"when_failed\": \"\", \"raw\": {\"value\": ";
    let (old, new) = (format!("{name}0, \"string\": \"0\""), format!("{name}3, \"string\": \"3\""));
    let after = healthy().replace(&old, &new);
    assert_ne!(healthy(), after);
    let run = measured(&healthy(), &after, 0);
    let found = finding(&run, "F058");
    assert_eq!(found["evidence"], "CRC errors: 3 more (0, then 3)");
    assert!(found["remedy"].as_str().unwrap().contains("cable"), "{found}");
    assert_eq!(
        (&run["drive"]["health"]["crc_errors"], &run["health_after"]["crc_errors"]),
        (&0.into(), &3.into())
    );
    let sound = measured(&healthy(), &healthy(), 0);
    assert!(findings(&sound).iter().all(|id| *id < "F057"), "{:?}", findings(&sound));
}

#[test]
fn more_pending_sectors_are_a_problem() {
    let after = healthy().replace(
        "\"Current_Pending_Sector\", \"value\": 100, \"worst\": 100, \"thresh\": 0, \
         \"when_failed\": \"\", \"raw\": {\"value\": 0, \"string\": \"0\"",
        "\"Current_Pending_Sector\", \"value\": 100, \"worst\": 100, \"thresh\": 0, \
         \"when_failed\": \"\", \"raw\": {\"value\": 8, \"string\": \"8\"",
    );
    let run = measured(&healthy(), &after, 1);
    let evidence = "pending sectors: 8 more (0, then 8)";
    assert_eq!(finding(&run, "F059")["evidence"], evidence);
    let because = run["verdict"][0]["because"].as_str().unwrap();
    assert!(because.contains("lost sectors") && because.contains("F059"), "{because}");
}

#[test]
fn used_disk_sold_as_new_is_recognized() {
    let run = measured(&sample("farm.json"), &sample("farm.json"), 0);
    let evidence = finding(&run, "F060")["evidence"].as_str().unwrap();
    assert!(evidence.contains("SMART counts 12 hours, FARM 22,341"), "{evidence}");
}

#[test]
fn failing_disk_is_shown_with_its_figures() {
    let scratch = Scratch::new();
    let disk = disk(&scratch, &sample("disk.json"), &sample("disk.json"));
    let shown = scratch.drivescope(&["run", &disk, "--test", "latency", "--verbose"]).code(1);
    shown.shows(&[
        "F057",
        "  reallocated             1,288",
        "  5  Reallocated_Sector_Ct",
        "Extended offline  41,190 h  Completed: read failure at sector 1,953,525,160",
        "highest ever 56 °C, limit 60 °C",
    ]);
    let page = scratch.text("page.html");
    scratch.drivescope(&["report", "last", "-o", &page]).code(0);
    let page = fs::read_to_string(page).unwrap();
    for part in ["<h2>Health</h2>", "Reallocated_Sector_Ct", "1,288"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn nvme_health_log_is_in_the_document() {
    let run = measured(&sample("nvme.json"), &sample("nvme.json"), 1);
    let health = &run["drive"]["health"];
    assert_eq!(health["written_bytes"], 16_093_122_u64 * 512_000);
    assert_eq!(
        (&health["nvme"]["spare_pct"], &health["nvme"]["spare_threshold_pct"]),
        (&100.into(), &5.into())
    );
    let evidence = finding(&run, "F057")["evidence"].as_str().unwrap();
    assert_eq!(evidence, "self-test (Extended) at 4,900 h: Completed: failed segments");
}

#[test]
fn drive_list_takes_verbose_but_not_with_json() {
    let scratch = Scratch::new();
    scratch.drivescope(&["list", "-v"]).code(0);
    scratch.drivescope(&["list", "-v", "--json"]).code(2);
}
