//! Reports of the kinds of drives there are, and of smartctl without one.

use super::*;
use proptest::prelude::*;

const DISK: &str = include_str!("samples/disk.json");
const SSD: &str = include_str!("samples/ssd.json");
const NVME: &str = include_str!("samples/nvme.json");
const SAS: &str = include_str!("samples/sas.json");
const USB_NVME: &str = include_str!("samples/usb-nvme.json");
const FARM_DISK: &str = include_str!("samples/farm.json");

fn parse(output: &[u8]) -> Report {
    json_of(output).map_or_else(|| Report::note(no_json()), |json| read(&json))
}

fn health(sample: &str) -> Health {
    parse(sample.as_bytes()).health
}

fn note(report: &str) -> String {
    health(report).note.unwrap()
}

#[test]
fn failing_disk_is_read_whole() {
    let report = parse(DISK.as_bytes());
    assert_eq!((report.rpm, report.temperature_c), (Some(7200), Some(38.0)));
    let read = report.health;
    let [realloc, _, airflow] =
        [5, 9, 190].map(|id| read.attributes.iter().find(|it| it.id == id).cloned().unwrap());
    let expected = SmartAttribute {
        id: 5,
        name: "Reallocated_Sector_Ct".to_string(),
        raw: "1288 (10 0)".to_string(),
        value: Some(5),
        worst: Some(5),
        threshold: Some(10),
        failed: Some(AttributeFailure::Now),
    };
    assert_eq!((realloc, airflow.failed), (expected, Some(AttributeFailure::Past)));
    let results: Vec<_> =
        read.self_tests.iter().map(|it| (it.passed, it.first_bad_sector)).collect();
    let expected = [(Some(false), Some(1_953_525_160)), (None, None), (Some(true), None)];
    assert_eq!(results, expected);
    let expected = Health {
        passed: Some(false),
        power_on_hours: Some(41_207),
        bad_sectors: Some(1_304),
        starts: Some(311),
        read_bytes: Some(184_223_744_000 * 512),
        written_bytes: Some(62_512_384_000 * 512),
        reallocated_sectors: Some(1_288),
        pending_sectors: Some(16),
        offline_uncorrectable: Some(16),
        uncorrected_errors: Some(217),
        crc_errors: Some(12),
        now_c: Some(38.0),
        highest_c: Some(56.0),
        limit_c: Some(60.0),
        attributes: read.attributes.clone(),
        self_tests: read.self_tests.clone(),
        ..Health::default()
    };
    assert_eq!(read, expected);
}

#[test]
fn ssd_counts_what_was_written_against_its_endurance() {
    let read = health(SSD);
    assert_eq!((read.wear_pct, read.crc_errors, read.farm), (Some(19), Some(0), None));
    assert_eq!(read.written_bytes, Some(64_777_770_148 * 512));
    assert_eq!(read.read_bytes, Some(34_909_544_344 * 512));
    assert_eq!(read.self_tests.len(), 2);
}

/// Recorded, not written for these tests.
#[test]
fn drives_of_a_virtual_machine_are_read_as_smartctl_prints_them() {
    let disk = health(include_str!("samples/qemu-disk.json"));
    assert_eq!((disk.passed, disk.note, disk.attributes.len()), (Some(true), None, 7));
    assert_eq!((disk.power_on_hours, disk.now_c), (Some(1), Some(31.0)));
    assert_eq!(disk.attributes[6].raw, "31 (Min/Max 31/31)");
    let test = &disk.self_tests[0];
    assert_eq!((test.passed, test.power_on_hours), (Some(true), Some(4_660)));
    let nvme = health(include_str!("samples/qemu-nvme.json"));
    assert_eq!((nvme.read_bytes, nvme.written_bytes), (Some(3 * 512_000), Some(0)));
    assert_eq!((nvme.now_c, nvme.nvme.unwrap().warm_minutes), (Some(50.0), Some(0)));
    let scsi = health(include_str!("samples/qemu-scsi.json"));
    assert!(scsi.note.as_ref().is_some_and(|note| note.contains("no SMART")), "{scsi:?}");
}

#[test]
fn unit_of_an_attribute_stands_in_its_name() {
    for (name, is_known, expected) in [
        ("Total_LBAs_Written", true, Some(5_120)),
        ("Host_Writes_32MiB", true, Some(320 << 20)),
        ("Lifetime_Writes_GiB", true, Some(10 << 30)),
        ("Total_LBAs_Written", false, None),
        ("Unknown_Attribute", true, None),
    ] {
        let json = format!(
            r#"{{"in_smartctl_database":{is_known},
                "ata_smart_attributes":{{"table":[{{"id":241,"name":"{name}","raw":{{"value":10}}}}]}}}}"#
        );
        assert_eq!(health(&json).written_bytes, expected, "{name}");
    }
}

#[test]
fn nvme_log_is_in_bytes_and_words() {
    let read = health(NVME);
    assert_eq!(read.written_bytes, Some(16_093_122 * 512_000));
    assert_eq!((read.wear_pct, read.starts, read.uncorrected_errors), (Some(1), Some(4), Some(0)));
    let expected = NvmeHealth {
        warnings: Vec::new(),
        spare_pct: Some(100),
        spare_threshold_pct: Some(5),
        unsafe_shutdowns: Some(4),
        error_log_entries: Some(8_382),
        warm_minutes: Some(0),
        critical_minutes: Some(0),
    };
    assert_eq!(read.nvme, Some(expected));
    let results: Vec<_> = read.self_tests.iter().map(|it| (it.passed, it.power_on_hours)).collect();
    let expected = [(Some(true), Some(6_480)), (None, Some(5_011)), (Some(false), Some(4_900))];
    assert_eq!(results, expected);
    let warned = NVME.replace("\"critical_warning\": 0", "\"critical_warning\": 73");
    let words = health(&warned).nvme.unwrap().warnings;
    assert_eq!(words.len(), 3, "{words:?}");
    assert!(words[0].contains("spare") && words[1].contains("no more writes"), "{words:?}");
}

#[test]
fn sas_disk_has_its_own_names() {
    let read = health(SAS);
    assert_eq!((read.reallocated_sectors, read.pending_sectors), (Some(12), Some(2)));
    assert_eq!(
        (read.uncorrected_errors, read.starts, read.limit_c),
        (Some(3), Some(41), Some(60.0))
    );
    assert_eq!(read.written_bytes, Some(806_827_000_000));
    assert_eq!((read.self_tests[0].passed, read.self_tests[1].passed), (Some(true), Some(false)));
    assert_eq!(read.self_tests[1].first_bad_sector, Some(991));
}

#[test]
fn farm_log_is_asked_for_where_it_is_left_out() {
    let whole = json_of(FARM_DISK.as_bytes()).unwrap();
    let mut without = whole.clone();
    without[FARM] = serde_json::json!({"supported": true});
    assert_eq!((lacks_farm(&without), lacks_farm(&whole)), (true, false));
    assert!(!lacks_farm(&json_of(SSD.as_bytes()).unwrap()));
    add_farm(&mut without, &serde_json::json!({}));
    assert_eq!(read(&without).health.farm, None);
    add_farm(&mut without, &whole);
    let expected =
        FarmHours { power_on: Some(22_341), spinning: Some(22_298), head_flight: Some(22_114) };
    assert_eq!(read(&without).health.farm, Some(expected));
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
        assert_eq!(health(&json).wear_pct, expected, "{name}");
    }
    let newer = br#"{"endurance_used":{"current_percent":5},"rotation_rate":0}"#;
    assert_eq!((parse(newer).health.wear_pct, parse(newer).rpm), (Some(5), Some(0)));
}

/// Each is one line that names what to do.
#[test]
fn reports_without_health_say_why() {
    for (message, expected) in [
        ("/dev/sda: Permission denied", "health: run with sudo"),
        ("Device is in STANDBY mode, exit(2)", "health: the drive is asleep and was not woken"),
        ("/dev/sdb: Unknown USB bridge [0x152d:0x0562 (0x214)]", "-d sat /dev/sdb, for NVMe -d"),
        ("/dev/vda: Unable to detect device type", "smartctl: /dev/vda: Unable to detect"),
    ] {
        let json = serde_json::json!({"smartctl": {"version": [7, 4],
            "argv": ["smartctl", "-x", "/dev/sdb"], "messages": [
            {"string": "a remark", "severity": "information"},
            {"string": message, "severity": "error"}]}});
        let note = note(&json.to_string());
        assert!(note.contains(expected) && !note.contains('\n'), "{note}");
    }
    assert_eq!(note("{}"), "health: not reported by this drive");
    assert!(note(USB_NVME).contains("without the bridge"), "{}", note(USB_NVME));
    let off =
        r#"{"smartctl":{"argv":["/dev/sda"]},"smart_support":{"available":true,"enabled":false}}"#;
    assert!(note(off).contains("smartctl -s on /dev/sda"));
    for old in ["", "smartctl 6.6 2017-11-05 r4594\n=======> INVALID ARGUMENT"] {
        assert!(note(old).contains("install smartmontools 7.3"), "{}", note(old));
    }
}

#[test]
fn old_smartctl_is_named_beside_its_figures() {
    let old = NVME.replace("\"version\": [7, 4]", "\"version\": [7, 1]");
    let read = health(&old);
    assert!(read.note.as_ref().unwrap().contains("smartctl 7.1 leaves out"), "{:?}", read.note);
    assert_eq!(read.power_on_hours, Some(6_487));
    assert_eq!(health(NVME).note, None);
}

proptest! {
    #[test]
    fn any_output_is_taken(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(parse(&bytes).health.note.is_some());
    }

    #[test]
    fn cut_reports_are_taken(end in 0usize..DISK.len()) {
        let _ = parse(&DISK.as_bytes()[..end]);
    }
}
