//! The self-test logs of SATA, NVMe and SCSI.

use drivescope_model::health::SelfTest;
use serde_json::Value;

/// A log of SCSI has room for these.
const SCSI_TESTS: usize = 20;

/// Results of NVMe that say something of the drive: passed, and three ways to fail. Others were aborted.
const NVME_PASSED: u64 = 0;
const NVME_FAILED: [u64; 3] = [5, 6, 7];

/// Results of SCSI and, in the upper half of the byte, of ATA: passed, and those that are failures of the drive.
const PASSED: u64 = 0;
const FAILED: std::ops::RangeInclusive<u64> = 3..=8;

/// The newest first, as the drive keeps them.
pub(super) fn self_tests(json: &Value) -> Vec<SelfTest> {
    let ata = &json["ata_smart_self_test_log"];
    // The extended log has more; drives that have it fill the other one, too.
    let ata = [&ata["extended"]["table"], &ata["standard"]["table"]];
    if let Some(table) = ata.into_iter().find_map(Value::as_array) {
        return table.iter().filter_map(of_ata).collect();
    }
    if let Some(table) = json["nvme_self_test_log"]["table"].as_array() {
        return table.iter().filter_map(of_nvme).collect();
    }
    (0..SCSI_TESTS).filter_map(|at| of_scsi(&json[format!("scsi_self_test_{at}")])).collect()
}

fn of_ata(entry: &Value) -> Option<SelfTest> {
    let status = &entry["status"];
    let code = status["value"].as_u64().map(|value| value >> 4);
    test(&entry["type"], status, passed(code), &entry["lifetime_hours"], &entry["lba"])
}

fn of_nvme(entry: &Value) -> Option<SelfTest> {
    let result = &entry["self_test_result"];
    let passed = result["value"].as_u64().and_then(|code| match code {
        NVME_PASSED => Some(true),
        code => NVME_FAILED.contains(&code).then_some(false),
    });
    test(&entry["self_test_code"], result, passed, &entry["power_on_hours"], &entry["lba"])
}

fn of_scsi(entry: &Value) -> Option<SelfTest> {
    let (result, hours) = (&entry["result"], &entry["power_on_time"]["hours"]);
    let sector = &entry["lba_first_failure"]["value"];
    test(&entry["code"], result, passed(result["value"].as_u64()), hours, sector)
}

fn passed(code: Option<u64>) -> Option<bool> {
    match code? {
        PASSED => Some(true),
        code => FAILED.contains(&code).then_some(false),
    }
}

fn test(
    kind: &Value,
    result: &Value,
    passed: Option<bool>,
    hours: &Value,
    sector: &Value,
) -> Option<SelfTest> {
    fn text(value: &Value) -> Option<String> {
        value["string"].as_str().map(|text| text.trim().to_string())
    }
    Some(SelfTest {
        kind: text(kind)?,
        result: text(result).unwrap_or_default(),
        passed,
        power_on_hours: hours.as_u64(),
        // Only a failure has one; others have zeros or ones in its place.
        first_bad_sector: sector.as_u64().filter(|_| passed == Some(false)),
    })
}
