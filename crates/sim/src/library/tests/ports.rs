//! The drive's own port on the link of its model: as fast as that, and no faster.

use super::text_of;
use crate::device::RequestKind;
use crate::library::{LinkParams, Model, Start, port_within};
use crate::sequential_pass;

#[test]
fn default_port_is_duplex_only_on_nvme() {
    for (link, both_ways) in [
        (LinkParams::pcie3_x4(), true),
        (LinkParams::sata_6g(), false),
        (LinkParams::usb3_uas(), false),
    ] {
        let port = port_within(None, &link);
        assert_eq!(port.full_duplex, both_ways, "{}", link.name);
        assert_eq!([port.read_mb_s, port.write_mb_s], [link.payload_mb_s(); 2]);
    }
}

#[test]
fn a_slow_link_holds_a_disk_to_its_payload() {
    fn model(preset: &str) -> [f64; 2] {
        let text = text_of("wd40efrx").replace("\"sata-6g\"", &format!("\"{preset}\""));
        let mut drive = Model::parse(preset, &text).unwrap().build(&Start::default()).unwrap();
        [RequestKind::Read, RequestKind::Write].map(|op| {
            // an hour after the other
            let began = u64::from(op == RequestKind::Write) * 3_600_000_000_000;
            let end = sequential_pass(&mut drive, began, (op, 0, 4 << 30), 1 << 20, 1);
            (4_u64 << 30) as f64 * 1000.0 / (end - began) as f64
        })
    }
    // the payload of USB 2, less what the bridge takes for each command of 120 KiB
    let bridge = 122_880.0 / (122_880.0 / 38.0 + 300.0);
    for rate in model("usb2-bulk-only") {
        assert!(rate <= bridge * 1.001 && rate > 0.8 * bridge, "{rate} of {bridge} MB/s");
    }
    assert!(model("sata-6g").iter().all(|rate| *rate > 150.0));
}
