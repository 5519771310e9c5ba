//! The typical links are those that docs/models.md lists, and a TRIM is one command however long its range.

use crate::device::{RequestKind, SimDevice};
use crate::link::*;
use crate::testing::{TestDrive, request, run_all};

const DOCUMENT: &str = include_str!("../../../../../docs/models.md");

fn row(preset: &str, link: &LinkParams) -> String {
    fn way(way: NonData) -> String {
        format!("{way:?}").to_lowercase()
    }
    let commands = match link.queues {
        1 => link.queue_depth.to_string(),
        queues => format!("{queues} queues of {}", link.queue_depth),
    };
    let kib = link.max_transfer_bytes.expect("all of them split") / 1024;
    let largest = if kib == 1024 { "1 MiB".to_string() } else { format!("{kib} KiB") };
    let payload = (link.payload_mb_s() / 5.0).round() * 5.0;
    let payload = if link.payload_mb_s() < 100.0 { link.payload_mb_s().round() } else { payload };
    format!(
        "| `{preset}` | {commands} | {payload} | {}, {}, {} | {largest} | {}, {} |",
        link.command_us,
        link.latency_us,
        link.status_us,
        way(link.flush),
        way(link.trim)
    )
}

#[test]
fn every_preset_is_as_documented() {
    let rows: Vec<&str> = DOCUMENT.lines().filter(|line| line.ends_with(" |")).collect();
    let names = ["sata-6g", "sata-3g", "pcie3-x4", "usb3-bulk-only", "usb2-bulk-only", "usb3-uas"];
    for name in names {
        let link: LinkParams = toml::from_str(&format!("preset = \"{name}\"")).expect("a preset");
        let row = row(name, &link);
        assert!(rows.contains(&row.as_str()), "not in docs/models.md: {row}");
    }
}

#[test]
fn a_trim_moves_no_data_and_is_not_split() {
    for params in [LinkParams::sata_6g(), LinkParams::pcie3_x4()] {
        let mut link = LinkLayer::new(&params, TestDrive::disk()).unwrap();
        link.submit(0, request(1, RequestKind::Trim, 1 << 20, 1 << 30));
        run_all(&mut link);
        assert_eq!(
            link.inner().requests(RequestKind::Trim),
            [(1 << 20, 1 << 30)],
            "{}",
            params.name
        );
    }
}
