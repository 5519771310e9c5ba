//! The self-test that a drive is making now.

use super::read;
use drivescope_model::health::Health;
use serde_json::Value;

/// In the upper half of ATA's status, and as a result of SCSI: a test is running.
const IN_PROGRESS: u64 = 15;

/// What a drive says of its self-tests.
#[derive(Debug, Clone, PartialEq)]
pub struct SelfTestStatus {
    pub health: Health,
    /// Percent of the running test that are left; `None`: none is running.
    pub left_pct: Option<u64>,
    /// Time that the drive announces for its short and its long test, in seconds.
    pub short_s: Option<u64>,
    pub long_s: Option<u64>,
    /// Whether it says that it has no self-tests.
    pub has_none: bool,
}

pub fn self_test_status(json: &Value) -> SelfTestStatus {
    let ata = &json["ata_smart_data"];
    let minutes = |kind: &str| ata["self_test"]["polling_minutes"][kind].as_u64().map(|it| it * 60);
    let unsupported = [
        &ata["capabilities"]["self_tests_supported"],
        &json["nvme_optional_admin_commands"]["self_test"],
    ];
    SelfTestStatus {
        health: read(json).health,
        left_pct: left_pct(json),
        short_s: minutes("short"),
        long_s: minutes("extended").or_else(|| json["scsi_extended_self_test_seconds"].as_u64()),
        has_none: unsupported.into_iter().any(|it| *it == false),
    }
}

fn left_pct(json: &Value) -> Option<u64> {
    let ata = &json["ata_smart_data"]["self_test"]["status"];
    if ata["value"].as_u64().is_some_and(|value| value >> 4 == IN_PROGRESS) {
        return Some(ata["remaining_percent"].as_u64().unwrap_or(100).min(100));
    }
    let nvme = &json["nvme_self_test_log"];
    if nvme["current_self_test_operation"]["value"].as_u64().is_some_and(|value| value != 0) {
        let done = nvme["current_self_test_completion_percent"].as_u64().unwrap_or(0);
        return Some(100u64.saturating_sub(done));
    }
    let scsi = &json["scsi_self_test_0"]["result"]["value"];
    (scsi.as_u64() == Some(IN_PROGRESS)).then_some(100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn running_of_each_kind_of_drive_is_seen() {
        fn ata(value: u64) -> Value {
            json!({"ata_smart_data": {"self_test": {
                "status": {"value": value, "remaining_percent": 70},
                "polling_minutes": {"short": 2, "extended": 475}}}})
        }
        let status = self_test_status(&ata(0xf7));
        assert_eq!((status.left_pct, status.short_s), (Some(70), Some(120)));
        assert_eq!((status.long_s, status.has_none), (Some(28_500), false));
        assert_eq!(self_test_status(&ata(0x77)).left_pct, None, "it failed");
        let nvme = json!({"nvme_self_test_log": {"current_self_test_operation": {"value": 1},
            "current_self_test_completion_percent": 40}});
        assert_eq!(self_test_status(&nvme).left_pct, Some(60));
        let scsi = json!({"scsi_self_test_0": {"result": {"value": 15}}});
        assert_eq!(self_test_status(&scsi).left_pct, Some(100));
    }

    #[test]
    fn drive_without_self_tests_says_so() {
        let nvme = json!({"nvme_optional_admin_commands": {"self_test": false}});
        assert!(self_test_status(&nvme).has_none);
        assert!(!self_test_status(&json!({})).has_none);
    }
}
