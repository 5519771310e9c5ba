//! The JSON that smartctl 7.0 and later prints; 7.3 and later print all that is read here.

mod reason;
pub mod running;
mod self_test_log;
#[cfg(test)]
mod tests;

use drivescope_model::health::{
    AttributeFailure, FarmHours, HEAT_WARNING, Health, NvmeHealth, SmartAttribute,
};
use reason::{is_old, reason};
use self_test_log::self_tests;
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

/// Numbers of attributes.
const REALLOCATED: u64 = 5;
const REPORTED: u64 = 187;
const PENDING: u64 = 197;
const OFFLINE: u64 = 198;
const CRC: u64 = 199;
const WRITTEN: u64 = 241;
const READ: u64 = 242;

/// Units of what the host has written and read, by the end of the attribute's name.
const TRANSFER_UNITS: [(&str, u64); 4] =
    [("_32MiB", 32 << 20), ("_GiB", 1 << 30), ("_MiB", 1 << 20), ("_LBAs", 512)];
/// NVMe counts in thousands of 512 bytes.
const NVME_UNIT_BYTES: u64 = 512_000;

const NVME_LOG: &str = "nvme_smart_health_information_log";
const FARM: &str = "seagate_farm_log";
const FARM_PAGE: &str = "page_1_drive_information";

/// Bits of NVMe's critical warning, from the lowest (NVM Express 2.0, figure 207).
const NVME_WARNINGS: [&str; 6] = [
    "spare blocks are below their threshold",
    HEAT_WARNING,
    "it has become unreliable",
    "it takes no more writes",
    "its memory is not safe from a loss of power",
    "its persistent memory region takes no more writes",
];

/// The JSON, if it is any.
pub fn json_of(output: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(output).ok().filter(Value::is_object)
}

/// Whether the drive has a FARM log that the report leaves out: `-x` does, `-l farm` of smartctl 7.4 prints it.
pub fn lacks_farm(report: &Value) -> bool {
    report[FARM]["supported"] == true && report[FARM][FARM_PAGE].is_null()
}

/// Takes the FARM log from another report on the same drive.
pub fn add_farm(report: &mut Value, other: &Value) {
    if other[FARM][FARM_PAGE].is_object() {
        report[FARM] = other[FARM].clone();
    }
}

/// Why nothing is known of a drive on which smartctl printed no JSON.
pub fn no_json() -> String {
    "health: smartctl is too old; install smartmontools 7.3 or later".to_string()
}

/// Nothing in it is required: drives and versions differ.
pub fn read(json: &Value) -> Report {
    let nvme = &json[NVME_LOG];
    let hours = json["power_on_time"]["hours"].as_u64();
    let scsi_starts = &json["scsi_start_stop_cycle_counter"]["accumulated_start_stop_cycles"];
    let temperature = &json["temperature"];
    // smartctl before 7.3 had it beside the temperature.
    let trip = [&json["scsi_temperature"]["drive_trip"], &temperature["drive_trip"]];
    let trip = trip.into_iter().find_map(Value::as_f64);
    let limit = temperature["op_limit_max"].as_f64().or(trip);
    let mut health = Health {
        passed: json["smart_status"]["passed"].as_bool(),
        power_on_hours: hours.or_else(|| nvme["power_on_hours"].as_u64()),
        wear_pct: wear_pct(json),
        bad_sectors: bad_sectors(json),
        note: None,
        starts: json["power_cycle_count"].as_u64().or_else(|| scsi_starts.as_u64()),
        read_bytes: transferred(json, "read", READ),
        written_bytes: transferred(json, "written", WRITTEN),
        reallocated_sectors: count(json, REALLOCATED)
            .or_else(|| json["scsi_grown_defect_list"].as_u64()),
        pending_sectors: count(json, PENDING)
            .or_else(|| json["scsi_pending_defects"]["count"].as_u64()),
        offline_uncorrectable: count(json, OFFLINE),
        uncorrected_errors: uncorrected(json),
        crc_errors: count(json, CRC).or_else(|| statistic(json, "Number of Interface CRC Errors")),
        // USB sticks say 0 °C, and stop at 0 °C.
        now_c: temperature["current"].as_f64().filter(|now| *now != 0.0 || trip != Some(0.0)),
        highest_c: temperature["lifetime_max"].as_f64(),
        limit_c: limit.filter(|limit| *limit > 0.0),
        nvme: nvme.is_object().then(|| nvme_health(nvme)),
        farm: farm_hours(&json[FARM][FARM_PAGE]),
        attributes: table(json).filter_map(attribute).collect(),
        self_tests: self_tests(json),
    };
    // Messages beside figures are remarks on single logs; alone they are the reason.
    if !health.is_known() {
        health.note = Some(reason(json));
    } else if let Some(version) = is_old(json) {
        health.note = Some(format!(
            "health: smartctl {version} leaves out a part; install smartmontools 7.3 or later"
        ));
    }
    Report {
        rpm: json["rotation_rate"].as_u64().and_then(|rpm| u32::try_from(rpm).ok()),
        temperature_c: health.now_c,
        health,
    }
}

fn wear_pct(json: &Value) -> Option<u64> {
    let used = [
        &json["endurance_used"]["current_percent"],
        &json[NVME_LOG]["percentage_used"],
        &json["scsi_percentage_used_endurance_indicator"],
    ];
    let used = used.into_iter().find_map(Value::as_u64);
    used.or_else(|| statistic(json, "Percentage Used Endurance Indicator")).or_else(|| {
        let attribute = table(json)
            .find(|a| a["name"].as_str().is_some_and(|name| LIFE_LEFT.contains(&name)))?;
        // Some drives begin above 100.
        attribute["value"].as_u64().map(|left| 100u64.saturating_sub(left))
    })
}

fn bad_sectors(json: &Value) -> Option<u64> {
    let reported = [&json[NVME_LOG]["media_errors"], &json["scsi_grown_defect_list"]];
    let counts = [REALLOCATED, PENDING].into_iter().filter_map(|id| count(json, id));
    reported.into_iter().find_map(Value::as_u64).or_else(|| counts.reduce(u64::saturating_add))
}

/// Errors that reached the host.
fn uncorrected(json: &Value) -> Option<u64> {
    let log = &json["scsi_error_counter_log"];
    let kinds = ["read", "write", "verify"];
    let scsi = kinds.into_iter().filter_map(|it| log[it]["total_uncorrected_errors"].as_u64());
    let nvme = json[NVME_LOG]["media_errors"].as_u64();
    nvme.or_else(|| count(json, REPORTED)).or_else(|| scsi.reduce(u64::saturating_add))
}

/// Bytes that the host has `read` or `written`.
fn transferred(json: &Value, what: &str, id: u64) -> Option<u64> {
    let units = json[NVME_LOG][format!("data_units_{what}")].as_u64();
    let sector = json["logical_block_size"].as_u64().unwrap_or(512);
    let sectors = match what {
        "read" => statistic(json, "Logical Sectors Read"),
        _ => statistic(json, "Logical Sectors Written"),
    };
    let scsi = &json["scsi_error_counter_log"][if what == "read" { "read" } else { "write" }];
    let gigabytes = scsi["gigabytes_processed"].as_str().and_then(|it| it.parse::<f64>().ok());
    units
        .and_then(|units| units.checked_mul(NVME_UNIT_BYTES))
        .or_else(|| sectors?.checked_mul(sector))
        .or_else(|| by_attribute(json, id))
        .or_else(|| gigabytes.map(|gigabytes| (gigabytes * 1e9) as u64))
}

/// The unit stands in the name of the attribute, which is certain only for drives that smartctl knows.
fn by_attribute(json: &Value, id: u64) -> Option<u64> {
    let attribute =
        table(json).find(|it| it["id"] == id && json["in_smartctl_database"] == true)?;
    let name = attribute["name"].as_str()?;
    let (_, unit) = TRANSFER_UNITS.iter().find(|(end, _)| {
        name.ends_with(*end) || (*end == "_LBAs" && name.starts_with("Total_LBAs"))
    })?;
    raw_count(&attribute["raw"])?.checked_mul(*unit)
}

fn table(json: &Value) -> impl Iterator<Item = &Value> {
    json["ata_smart_attributes"]["table"].as_array().into_iter().flatten()
}

fn count(json: &Value, id: u64) -> Option<u64> {
    table(json).find(|it| it["id"] == id).and_then(|it| raw_count(&it["raw"]))
}

/// A figure of the log of device statistics (ACS-3).
fn statistic(json: &Value, name: &str) -> Option<u64> {
    let pages = json["ata_device_statistics"]["pages"].as_array().into_iter().flatten();
    let mut figures = pages.flat_map(|page| page["table"].as_array().into_iter().flatten());
    let figure = figures.find(|it| it["name"] == name && it["flags"]["valid"] != false)?;
    figure["value"].as_u64()
}

/// The count. Vendors put more into the upper bytes of the raw value, which smartctl splits off in the text: `8 (2 1)`.
fn raw_count(raw: &Value) -> Option<u64> {
    let text = raw["string"].as_str().and_then(|text| text.split_whitespace().next());
    text.and_then(|number| number.parse().ok()).or_else(|| raw["value"].as_u64())
}

fn attribute(json: &Value) -> Option<SmartAttribute> {
    let raw = &json["raw"];
    let text = raw["string"].as_str().map(|text| text.trim().to_string());
    Some(SmartAttribute {
        id: json["id"].as_u64()?,
        name: json["name"].as_str().unwrap_or("Unknown_Attribute").to_string(),
        raw: text.or_else(|| raw["value"].as_u64().map(|it| it.to_string())).unwrap_or_default(),
        value: json["value"].as_u64(),
        worst: json["worst"].as_u64(),
        threshold: json["thresh"].as_u64(),
        failed: match json["when_failed"].as_str() {
            Some("now") => Some(AttributeFailure::Now),
            Some("past") => Some(AttributeFailure::Past),
            _ => None,
        },
    })
}

fn nvme_health(log: &Value) -> NvmeHealth {
    let bits = log["critical_warning"].as_u64().unwrap_or(0);
    let set = (0..u64::BITS).filter(|bit| bits >> bit & 1 == 1);
    let words = |bit: u32| match NVME_WARNINGS.get(bit as usize) {
        Some(words) => (*words).to_string(),
        None => format!("warning {bit} of a later standard"),
    };
    NvmeHealth {
        warnings: set.map(words).collect(),
        spare_pct: log["available_spare"].as_u64(),
        spare_threshold_pct: log["available_spare_threshold"].as_u64(),
        unsafe_shutdowns: log["unsafe_shutdowns"].as_u64(),
        error_log_entries: log["num_err_log_entries"].as_u64(),
        warm_minutes: log["warning_temp_time"].as_u64(),
        critical_minutes: log["critical_comp_time"].as_u64(),
    }
}

fn farm_hours(page: &Value) -> Option<FarmHours> {
    let hours = FarmHours {
        power_on: page["poh"].as_u64(),
        spinning: page["spoh"].as_u64(),
        head_flight: page["head_flight_hours"].as_u64(),
    };
    [hours.power_on, hours.spinning, hours.head_flight].iter().any(Option::is_some).then_some(hours)
}
