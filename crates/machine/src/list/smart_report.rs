//! The JSON that smartctl 7.0 and later prints.

use drivescope_model::drive::Health;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    pub health: Health,
    /// Revolutions per minute; `Some(0)`: it does not rotate.
    pub rpm: Option<u32>,
    pub temperature_c: Option<f64>,
}

impl Report {
    pub fn note(why: String) -> Self {
        Self { health: Health { note: Some(why), ..Health::default() }, ..Self::default() }
    }
}

/// Attributes whose normalised value is the life that remains, in percent, by vendor.
const LIFE_LEFT: [&str; 8] = [
    "Wear_Leveling_Count",
    "Media_Wearout_Indicator",
    "SSD_Life_Left",
    "Percent_Lifetime_Remain",
    "Remaining_Lifetime_Perc",
    "Percent_Life_Remaining",
    "Perc_Rated_Life_Remain",
    "Drive_Life_Remaining%",
];

/// Numbers of attributes: reallocated sectors, and those waiting to be.
const REALLOCATED: Option<u64> = Some(5);
const PENDING: Option<u64> = Some(197);

const NVME_LOG: &str = "nvme_smart_health_information_log";

/// A report from what smartctl printed. Nothing in it is required: drives and versions differ.
pub fn parse(output: &[u8]) -> Report {
    let json = match serde_json::from_slice::<Value>(output) {
        Ok(json) if json.is_object() => json,
        _ => return Report::note("health: smartctl 7.0 or later is needed".to_string()),
    };
    let hours = json["power_on_time"]["hours"].as_u64();
    let mut health = Health {
        passed: json["smart_status"]["passed"].as_bool(),
        power_on_hours: hours.or_else(|| json[NVME_LOG]["power_on_hours"].as_u64()),
        wear_pct: wear_pct(&json),
        bad_sectors: bad_sectors(&json),
        note: None,
    };
    // Messages beside figures are remarks on single logs; alone they are the reason.
    if health == Health::default() {
        health.note = Some(reason(&json));
    }
    Report {
        health,
        rpm: json["rotation_rate"].as_u64().and_then(|rpm| u32::try_from(rpm).ok()),
        temperature_c: json["temperature"]["current"].as_f64(),
    }
}

fn wear_pct(json: &Value) -> Option<u64> {
    let used = [
        &json["endurance_used"]["current_percent"],
        &json[NVME_LOG]["percentage_used"],
        &json["scsi_percentage_used_endurance_indicator"],
    ];
    used.into_iter().find_map(Value::as_u64).or_else(|| {
        let tells = |name: &str| LIFE_LEFT.contains(&name);
        let attribute = attributes(json).find(|a| a["name"].as_str().is_some_and(tells))?;
        // Some drives begin above 100.
        attribute["value"].as_u64().map(|left| 100u64.saturating_sub(left))
    })
}

fn bad_sectors(json: &Value) -> Option<u64> {
    let reported = [&json[NVME_LOG]["media_errors"], &json["scsi_grown_defect_list"]];
    let counts = attributes(json)
        .filter(|a| [REALLOCATED, PENDING].contains(&a["id"].as_u64()))
        .filter_map(|a| raw_count(&a["raw"]));
    reported.into_iter().find_map(Value::as_u64).or_else(|| counts.reduce(u64::saturating_add))
}

fn attributes(json: &Value) -> impl Iterator<Item = &Value> {
    json["ata_smart_attributes"]["table"].as_array().into_iter().flatten()
}

/// The count. Vendors put more into the upper bytes of the raw value, which smartctl splits off in the text: `8 (2 1)`.
fn raw_count(raw: &Value) -> Option<u64> {
    let text = raw["string"].as_str().and_then(|text| text.split_whitespace().next());
    text.and_then(|number| number.parse().ok()).or_else(|| raw["value"].as_u64())
}

fn reason(json: &Value) -> String {
    let messages = json["smartctl"]["messages"].as_array().into_iter().flatten();
    let all: Vec<(&str, bool)> = messages
        .filter_map(|it| Some((it["string"].as_str()?, it["severity"] == "error")))
        .collect();
    let any = |words: &str| all.iter().any(|(message, _)| message.contains(words));
    let error = all.iter().find(|(_, is_error)| *is_error);
    if any("Permission denied") || any("Operation not permitted") {
        "health: run with sudo".to_string()
    } else if any("STANDBY") || any("SLEEP") {
        "health: the drive is asleep and was not woken".to_string()
    } else if let Some((message, _)) = error.or(all.first()) {
        format!("smartctl: {}", message.split_whitespace().collect::<Vec<_>>().join(" "))
    } else {
        "health: not reported by this drive".to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ATA: &str = r#"{
        "json_format_version": [1, 0],
        "smartctl": { "version": [7, 3], "exit_status": 4,
            "messages": [{ "string": "Warning: a log is missing", "severity": "warning" }] },
        "rotation_rate": 5400,
        "smart_status": { "passed": true },
        "ata_smart_attributes": { "revision": 16, "table": [
            { "id": 5, "name": "Reallocated_Sector_Ct", "value": 200, "worst": 200, "thresh": 140,
              "raw": { "value": 8589934600, "string": "8 (2 0)" } },
            { "id": 9, "name": "Power_On_Hours", "value": 60, "raw": { "value": 29000, "string": "29000" } },
            { "id": 197, "name": "Current_Pending_Sector", "value": 200, "raw": { "value": 3 } } ] },
        "power_on_time": { "hours": 29000 },
        "temperature": { "current": 34 }
    }"#;

    const NVME: &str = r#"{
        "smartctl": { "version": [7, 4], "exit_status": 0 },
        "smart_status": { "passed": false, "nvme": { "value": 4 } },
        "nvme_smart_health_information_log": { "critical_warning": 4, "temperature": 41,
            "available_spare": 2, "percentage_used": 103, "power_on_hours": 12000, "media_errors": 7 },
        "temperature": { "current": 41 }
    }"#;

    const VIRTIO: &str = r#"{
        "smartctl": { "version": [7, 3], "exit_status": 1,
            "messages": [{ "string": "/dev/vda: Unable to detect device type", "severity": "error" }] }
    }"#;

    #[test]
    fn ata_report_is_read_with_any_exit_status() {
        let report = parse(ATA.as_bytes());
        assert_eq!(report.rpm, Some(5400));
        assert_eq!(report.temperature_c, Some(34.0));
        let expected = Health {
            passed: Some(true),
            power_on_hours: Some(29000),
            bad_sectors: Some(11),
            ..Health::default()
        };
        assert_eq!(report.health, expected);
    }

    #[test]
    fn an_nvme_report_has_wear_above_its_rating() {
        let report = parse(NVME.as_bytes());
        let expected = Health {
            passed: Some(false),
            power_on_hours: Some(12000),
            wear_pct: Some(103),
            bad_sectors: Some(7),
            ..Health::default()
        };
        assert_eq!((report.health, report.rpm), (expected, None));
    }

    #[test]
    fn wear_is_read_from_each_vendors_attribute() {
        for (name, value, expected) in [
            ("Wear_Leveling_Count", 93, Some(7)),
            ("Media_Wearout_Indicator", 100, Some(0)),
            ("Media_Wearout_Indicator", 120, Some(0)),
            ("SSD_Life_Left", 1, Some(99)),
            ("Airflow_Temperature_Cel", 60, None),
        ] {
            let json = format!(
                r#"{{"ata_smart_attributes":{{"table":[{{"id":177,"name":"{name}","value":{value}}}]}}}}"#
            );
            assert_eq!(parse(json.as_bytes()).health.wear_pct, expected, "{name}");
        }
        let newer = br#"{"endurance_used":{"current_percent":5},"rotation_rate":0}"#;
        assert_eq!((parse(newer).health.wear_pct, parse(newer).rpm), (Some(5), Some(0)));
    }

    #[test]
    fn a_scsi_report_has_its_own_names() {
        let json = br#"{"scsi_grown_defect_list":12,"scsi_percentage_used_endurance_indicator":3,"smart_status":{"passed":true}}"#;
        let health = parse(json).health;
        assert_eq!((health.bad_sectors, health.wear_pct), (Some(12), Some(3)));
    }

    #[test]
    fn missing_figures_give_a_one_line_reason() {
        let with = |message: &str| {
            let json = format!(r#"{{"smartctl":{{"messages":[{{"string":"{message}"}}]}}}}"#);
            parse(json.as_bytes()).health.note.unwrap()
        };
        let virtio = parse(VIRTIO.as_bytes()).health.note.unwrap();
        assert_eq!(virtio, "smartctl: /dev/vda: Unable to detect device type");
        let denied = with("Smartctl open device: /dev/sda failed: Permission denied");
        assert!(denied.contains("sudo"), "{denied}");
        let asleep = with("BlockDevice is in STANDBY mode, exit(2)");
        assert!(asleep.contains("asleep"), "{asleep}");
        assert_eq!(with(r"two\nlines"), "smartctl: two lines");
        let two = br#"{"smartctl":{"messages":[{"string":"a","severity":"information"},{"string":"b","severity":"error"}]}}"#;
        assert_eq!(parse(two).health.note.unwrap(), "smartctl: b");
        assert!(parse(b"{}").health.note.unwrap().contains("health: not reported"));
        assert!(parse(b"smartctl 6.6").health.note.unwrap().contains("7.0"));
        assert!(parse(b"").health.note.unwrap().contains("7.0"));
    }

    proptest! {
        #[test]
        fn any_output_is_taken(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(parse(&bytes).health.note.is_some());
        }

        #[test]
        fn cut_reports_are_taken(end in 0usize..ATA.len()) {
            let _ = parse(&ATA.as_bytes()[..end]);
        }
    }
}
