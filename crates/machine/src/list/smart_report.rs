//! The JSON that smartctl 7.0 and later prints.

use drivescope_model::drive::Health;
use serde::Deserialize;

/// What is used of a smartctl report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Health, with a note when something is missing.
    pub health: Health,
    /// Revolutions per minute; `Some(0)`: it does not rotate.
    pub rpm: Option<u32>,
    /// Temperature now.
    pub temperature_c: Option<f64>,
}

impl Report {
    /// Nothing but the reason why.
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

/// Reallocated sectors, and those waiting to be.
const REALLOCATED: u64 = 5;
const PENDING: u64 = 197;

/// A report from what smartctl printed. Nothing in it is required: drives and versions differ.
pub fn parse(output: &[u8]) -> Report {
    match serde_json::from_slice::<Json>(output) {
        Ok(json) => json.report(),
        Err(_) => Report::note("health: smartctl 7.0 or later is needed".to_string()),
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Json {
    smartctl: Program,
    smart_status: Option<Status>,
    power_on_time: Option<PowerOn>,
    temperature: Option<Temperature>,
    rotation_rate: Option<u32>,
    endurance_used: Option<Endurance>,
    ata_smart_attributes: Option<Attributes>,
    nvme_smart_health_information_log: Option<NvmeLog>,
    scsi_grown_defect_list: Option<u64>,
    scsi_percentage_used_endurance_indicator: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Program {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    string: String,
    #[serde(default)]
    severity: String,
}

#[derive(Deserialize)]
struct Status {
    passed: Option<bool>,
}

#[derive(Deserialize)]
struct PowerOn {
    hours: Option<u64>,
}

#[derive(Deserialize)]
struct Temperature {
    current: Option<f64>,
}

#[derive(Deserialize)]
struct Endurance {
    current_percent: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Attributes {
    table: Vec<Attribute>,
}

#[derive(Deserialize)]
struct Attribute {
    id: u64,
    #[serde(default)]
    name: String,
    value: Option<u64>,
    raw: Option<Raw>,
}

#[derive(Deserialize)]
struct Raw {
    value: Option<u64>,
    string: Option<String>,
}

#[derive(Deserialize)]
struct NvmeLog {
    percentage_used: Option<u64>,
    media_errors: Option<u64>,
    power_on_hours: Option<u64>,
}

impl Json {
    fn report(&self) -> Report {
        let nvme = self.nvme_smart_health_information_log.as_ref();
        let hours = self.power_on_time.as_ref().and_then(|time| time.hours);
        let mut health = Health {
            passed: self.smart_status.as_ref().and_then(|status| status.passed),
            power_on_hours: hours.or_else(|| nvme?.power_on_hours),
            wear_pct: self.wear_pct(),
            bad_sectors: self.bad_sectors(),
            note: None,
        };
        // Messages beside figures are remarks on single logs; alone they are the reason.
        if health == Health::default() {
            health.note = Some(self.reason());
        }
        Report {
            health,
            rpm: self.rotation_rate,
            temperature_c: self.temperature.as_ref().and_then(|t| t.current),
        }
    }

    fn wear_pct(&self) -> Option<u64> {
        let nvme = self.nvme_smart_health_information_log.as_ref();
        self.endurance_used
            .as_ref()
            .and_then(|used| used.current_percent)
            .or_else(|| nvme?.percentage_used)
            .or(self.scsi_percentage_used_endurance_indicator)
            .or_else(|| {
                let attribute = self.attributes().find(|a| LIFE_LEFT.contains(&a.name.as_str()))?;
                // Some drives begin above 100.
                attribute.value.map(|left| 100u64.saturating_sub(left))
            })
    }

    fn bad_sectors(&self) -> Option<u64> {
        let nvme = self.nvme_smart_health_information_log.as_ref();
        let ata: Vec<u64> = self
            .attributes()
            .filter(|a| a.id == REALLOCATED || a.id == PENDING)
            .filter_map(|a| a.raw.as_ref()?.count())
            .collect();
        nvme.and_then(|log| log.media_errors).or(self.scsi_grown_defect_list).or_else(|| {
            (!ata.is_empty()).then(|| ata.iter().fold(0u64, |a, b| a.saturating_add(*b)))
        })
    }

    fn attributes(&self) -> impl Iterator<Item = &Attribute> {
        self.ata_smart_attributes.iter().flat_map(|attributes| &attributes.table)
    }

    /// Why there are no figures, in one line.
    fn reason(&self) -> String {
        let messages = &self.smartctl.messages;
        let any = |words: &str| messages.iter().any(|message| message.string.contains(words));
        let error = messages.iter().find(|message| message.severity == "error");
        if any("Permission denied") || any("Operation not permitted") {
            "health: run with sudo".to_string()
        } else if any("STANDBY") || any("SLEEP") {
            "health: the drive is asleep and was not woken".to_string()
        } else if let Some(message) = error.or(messages.first()) {
            let words: Vec<&str> = message.string.split_whitespace().collect();
            format!("smartctl: {}", words.join(" "))
        } else {
            "health: not reported by this drive".to_string()
        }
    }
}

impl Raw {
    /// The count. Vendors put more into the upper bytes of the raw value, which smartctl splits off
    /// in the text: `8 (2 1)`.
    fn count(&self) -> Option<u64> {
        let text = self.string.as_deref().and_then(|text| text.split_whitespace().next());
        text.and_then(|number| number.parse().ok()).or(self.value)
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
    fn an_ata_report_is_read_whatever_the_exit_status() {
        let report = parse(ATA.as_bytes());
        assert_eq!(report.rpm, Some(5400));
        assert_eq!(report.temperature_c, Some(34.0));
        let expected = Health {
            passed: Some(true),
            power_on_hours: Some(29000),
            wear_pct: None,
            bad_sectors: Some(11),
            note: None,
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
            note: None,
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
    fn without_figures_the_reason_is_told_in_one_line() {
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
