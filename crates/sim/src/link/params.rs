//! The physical parameters of a link, as they stand in a model file, and typical links.
//!
//! Rates are decimal (1 MB = 10^6 bytes), times microseconds.

use serde::{Deserialize, Serialize};

use super::identity::Bridge;
use crate::numbers::{outside, plain};
use crate::param_problem::ParamProblem;

mod table;
use table::LinkTable;

/// Slowest link, a quarter of which the drive's port still accepts; USB 1.1 carried ten times as much.
const PAYLOAD_MIN_MB_S: f64 = 0.1;
/// Most that a frame carries or costs, bytes.
const FRAME_MAX: f64 = 1e6;
/// Most that one command moves, 1 TiB.
const TRANSFER_MAX_BYTES: u64 = 1 << 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Serial ATA with native command queueing: up to 32 tags.
    Sata,
    /// NVMe over PCIe: many queues of up to 65,536 commands.
    Nvme,
    /// USB mass storage, bulk-only transport: command, data, status, one command at a time.
    UsbBulkOnly,
    /// USB attached SCSI: streams, queueing, completion out of order.
    UsbUas,
}

/// How a command that moves no data (flush, trim) passes the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NonData {
    /// Waits until nothing is with the drive, and holds back everything after it (ATA non-queued).
    Alone,
    /// Goes among the others.
    Queued,
    /// Answered by the link's far end with success; the drive never sees it.
    Ignored,
    /// Answered there with an error; the drive never sees it.
    Refused,
}

impl LinkKind {
    /// Its name in `drivescope list`: `sata`, `nvme` or `usb`.
    pub fn transport(self) -> &'static str {
        match self {
            Self::Sata => "sata",
            Self::Nvme => "nvme",
            Self::UsbBulkOnly | Self::UsbUas => "usb",
        }
    }
    fn has_bridge(self) -> bool {
        matches!(self, Self::UsbBulkOnly | Self::UsbUas)
    }
}

/// A link. In a file it is a table: a preset, and what differs from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "LinkTable")]
pub struct LinkParams {
    /// The protocol.
    pub kind: LinkKind,
    /// Its usual spelling: `SATA 6.0 Gb/s`, `PCIe 3.0 x4`, `USB 5 Gb/s`.
    pub name: String,
    /// Commands that can be with the drive at once, per queue.
    pub queue_depth: u32,
    /// Submission queues; 1 except on NVMe.
    pub queues: u32,
    /// Rate of the wire after line coding, MB/s.
    pub rate_mb_s: f64,
    /// The most data one frame (FIS, packet) carries.
    pub frame_payload_bytes: u32,
    /// Bytes' worth of wire time each frame costs beyond its data: headers, checksum, handshake, gaps.
    pub frame_overhead_bytes: u32,
    /// Time the controller or bridge is busy with each command, one after the other, µs.
    pub command_us: f64,
    /// Further delay of each command on its way to the drive, overlapping with others, µs.
    pub latency_us: f64,
    /// Delay of the status after the drive's answer or the data's end, overlapping with others, µs.
    pub status_us: f64,
    /// Requests above this are split (`max_sectors_kb`); absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_transfer_bytes: Option<u64>,
    /// How flushes pass.
    pub flush: NonData,
    /// How trims pass.
    pub trim: NonData,
    /// The bridge's changes to the drive's identity.
    pub bridge: Bridge,
}

impl LinkParams {
    /// The most payload the link can carry: rate × payload / (payload + overhead) of a full frame, MB/s.
    /// The drive's port moves data no faster than this.
    pub fn payload_mb_s(&self) -> f64 {
        let payload = f64::from(self.frame_payload_bytes);
        self.rate_mb_s * payload / (payload + f64::from(self.frame_overhead_bytes))
    }

    /// Commands that can be with the drive at once, all queues together.
    pub fn total_depth(&self) -> u64 {
        u64::from(self.queue_depth) * u64::from(self.queues)
    }

    /// Bytes that the host can address of a drive with this capacity and sector.
    pub fn shown_bytes(&self, capacity_bytes: u64, sector_bytes: u32) -> u64 {
        let sector = u64::from(self.bridge.logical_sector_bytes.unwrap_or(sector_bytes));
        let hidden = self.bridge.hidden_head_bytes.saturating_add(self.bridge.hidden_tail_bytes);
        let shown = capacity_bytes.saturating_sub(hidden);
        shown - shown % sector
    }

    /// Checks every field, and whether the bridge suits a drive with this capacity and sector.
    ///
    /// # Errors
    /// The first field that cannot be, and why.
    pub fn validate_around(&self, capacity_bytes: u64, sector: u32) -> Result<(), ParamProblem> {
        self.validate()?;
        if self.shown_bytes(capacity_bytes, sector) == 0 {
            let message = format!("leaves nothing of the drive's {capacity_bytes} bytes");
            return problem("bridge.hidden_tail_bytes", message);
        }
        let head = self.bridge.hidden_head_bytes;
        if !head.is_multiple_of(u64::from(sector)) {
            let message =
                format!("{head} is not a multiple of the drive's {sector}; give a multiple");
            return problem("bridge.hidden_head_bytes", message);
        }
        match self.bridge.logical_sector_bytes {
            Some(shown) if !shown.is_multiple_of(sector) => problem(
                "bridge.logical_sector_bytes",
                format!("{shown} is not a multiple of the drive's {sector}; give a multiple"),
            ),
            _ => Ok(()),
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The first field that cannot be, and why.
    pub fn validate(&self) -> Result<(), ParamProblem> {
        self.validate_queues()?;
        self.validate_wire()?;
        for (field, value) in [
            ("command_us", self.command_us),
            ("latency_us", self.latency_us),
            ("status_us", self.status_us),
        ] {
            if !(0.0..=1e6).contains(&value) {
                return problem(
                    field,
                    format!("{} is not a delay; give 0 to 1000000 microseconds", plain(value)),
                );
            }
        }
        if self.flush == NonData::Refused && self.kind == LinkKind::Nvme {
            return problem("flush", "an NVMe drive must accept flushes; give `queued`".into());
        }
        self.validate_bridge()
    }

    fn validate_bridge(&self) -> Result<(), ParamProblem> {
        let bridge = &self.bridge;
        if !self.kind.has_bridge() && *bridge != Bridge::default() {
            return problem(
                "bridge",
                "only USB has a bridge; leave the table out, or give a USB preset".into(),
            );
        }
        for (field, sector) in [
            ("bridge.logical_sector_bytes", bridge.logical_sector_bytes),
            ("bridge.physical_sector_bytes", bridge.physical_sector_bytes),
        ] {
            if let Some(other) = sector.filter(|sector| ![512, 4096].contains(sector)) {
                return problem(field, format!("{other} is not a sector size; give 512 or 4096"));
            }
        }
        Ok(())
    }

    fn validate_queues(&self) -> Result<(), ParamProblem> {
        let (depth_max, why) = match self.kind {
            LinkKind::Sata => (32, "SATA has 32 tags"),
            LinkKind::Nvme => (65_536, "an NVMe queue holds 65536 commands"),
            LinkKind::UsbBulkOnly => (1, "bulk-only transport has one command at a time"),
            LinkKind::UsbUas => (65_535, "UAS has 65535 stream tags"),
        };
        if !(1..=depth_max).contains(&self.queue_depth) {
            return problem(
                "queue_depth",
                format!("{}: {why}; give 1 to {depth_max}", self.queue_depth),
            );
        }
        let queues_max = if self.kind == LinkKind::Nvme { 65_535 } else { 1 };
        if !(1..=queues_max).contains(&self.queues) {
            return problem("queues", format!("{} queues; give 1 to {queues_max}", self.queues));
        }
        Ok(())
    }

    fn validate_wire(&self) -> Result<(), ParamProblem> {
        for (field, value, least, most, unit) in [
            ("rate_mb_s", self.rate_mb_s, PAYLOAD_MIN_MB_S, 1e6, "MB/s"),
            ("frame_payload_bytes", self.frame_payload_bytes.into(), 1.0, FRAME_MAX, "bytes"),
            ("frame_overhead_bytes", self.frame_overhead_bytes.into(), 0.0, FRAME_MAX, "bytes"),
        ] {
            if let Some(message) = outside(value, least, most, unit) {
                return problem(field, message);
            }
        }
        if self.payload_mb_s() < PAYLOAD_MIN_MB_S {
            let message = format!(
                "leaves {} MB/s for data beside {} bytes with each frame of {}; {PAYLOAD_MIN_MB_S} is the least",
                plain(self.payload_mb_s()),
                self.frame_overhead_bytes,
                self.frame_payload_bytes
            );
            return problem("rate_mb_s", message);
        }
        match self.max_transfer_bytes {
            Some(bytes) if bytes == 0 || bytes % 4096 != 0 || bytes > TRANSFER_MAX_BYTES => {
                let range = format!("give a multiple of 4096 up to {TRANSFER_MAX_BYTES}");
                problem("max_transfer_bytes", format!("is {bytes}; {range}"))
            }
            _ => Ok(()),
        }
    }

    /// SATA 6 Gb/s on AHCI. 600 MB/s after 8b/10b coding (Serial ATA specification); data FIS of 8192
    /// bytes; the frame overhead is fitted so that payload reaches the 560 MB/s that the fastest drives
    /// show; times are assumed so that depth 32 reaches the roughly 100,000 commands/s of the fastest SATA SSDs.
    /// `max_sectors_kb` is 1280 (Linux `BLK_DEF_MAX_SECTORS`).
    pub fn sata_6g() -> Self {
        Self {
            kind: LinkKind::Sata,
            name: "SATA 6.0 Gb/s".into(),
            queue_depth: 32,
            queues: 1,
            rate_mb_s: 600.0,
            frame_payload_bytes: 8192,
            frame_overhead_bytes: 585,
            command_us: 2.0,
            latency_us: 4.0,
            status_us: 4.0,
            max_transfer_bytes: Some(1280 * 1024),
            flush: NonData::Alone,
            trim: NonData::Alone,
            bridge: Bridge::default(),
        }
    }

    /// SATA 3 Gb/s: half of [`sata_6g`](Self::sata_6g), as seed drives of 2007 to 2010 have it.
    fn sata_3g() -> Self {
        Self { name: "SATA 3.0 Gb/s".into(), rate_mb_s: 300.0, ..Self::sata_6g() }
    }

    /// NVMe over PCIe 3.0 ×4: 8 GT/s × 4 lanes × 128/130 = 3938 MB/s; packets of 256 bytes with 26 bytes
    /// of header and framing (PCI Express base specification). Queues and depth as Linux sets them up on
    /// eight cores (1023 usable of 1024). Times are assumed: a few µs of doorbell, interrupt and driver.
    pub fn pcie3_x4() -> Self {
        Self {
            kind: LinkKind::Nvme,
            name: "PCIe 3.0 x4".into(),
            queue_depth: 1023,
            queues: 8,
            rate_mb_s: 3938.0,
            frame_payload_bytes: 256,
            frame_overhead_bytes: 26,
            command_us: 0.2,
            latency_us: 2.5,
            status_us: 2.5,
            max_transfer_bytes: Some(1024 * 1024),
            flush: NonData::Queued,
            trim: NonData::Queued,
            bridge: Bridge::default(),
        }
    }

    /// A bulk-only bridge at 5 Gb/s: 500 MB/s after 8b/10b coding, packets of 1024 bytes, overhead fitted
    /// to a payload of 430 MB/s; 100 µs a command (drive models, section 7: 60 to 150). `usb-storage` sends
    /// at most 2048 sectors at SuperSpeed.
    pub fn usb3_bulk_only() -> Self {
        Self {
            kind: LinkKind::UsbBulkOnly,
            name: "USB 5 Gb/s (BOT)".into(),
            queue_depth: 1,
            queues: 1,
            rate_mb_s: 500.0,
            frame_payload_bytes: 1024,
            frame_overhead_bytes: 167,
            command_us: 70.0,
            latency_us: 0.0,
            status_us: 30.0,
            max_transfer_bytes: Some(1024 * 1024),
            flush: NonData::Alone,
            trim: NonData::Refused,
            bridge: Bridge::default(),
        }
    }

    /// A bulk-only bridge at 480 Mb/s: 60 MB/s raw, packets of 512 bytes, overhead fitted to a payload of
    /// 38 MB/s; 300 µs a command; `usb-storage` sends at most 240 sectors.
    fn usb2_bulk_only() -> Self {
        Self {
            name: "USB 480 Mb/s (BOT)".into(),
            rate_mb_s: 60.0,
            frame_payload_bytes: 512,
            frame_overhead_bytes: 296,
            command_us: 200.0,
            status_us: 100.0,
            max_transfer_bytes: Some(240 * 512),
            ..Self::usb3_bulk_only()
        }
    }

    /// A UAS bridge at 5 Gb/s: wire as [`usb3_bulk_only`](Self::usb3_bulk_only), 45 µs a command (drive
    /// models, section 7: 30 to 60), 30 commands at once as bridges commonly report.
    pub fn usb3_uas() -> Self {
        Self {
            kind: LinkKind::UsbUas,
            name: "USB 5 Gb/s (UAS)".into(),
            queue_depth: 30,
            command_us: 30.0,
            latency_us: 5.0,
            status_us: 10.0,
            trim: NonData::Alone,
            ..Self::usb3_bulk_only()
        }
    }
}

fn problem<T>(field: &'static str, message: String) -> Result<T, ParamProblem> {
    Err(ParamProblem::new(field, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typical() -> [LinkParams; 6] {
        [
            LinkParams::sata_6g(),
            LinkParams::sata_3g(),
            LinkParams::pcie3_x4(),
            LinkParams::usb3_bulk_only(),
            LinkParams::usb2_bulk_only(),
            LinkParams::usb3_uas(),
        ]
    }

    #[test]
    fn typical_links_are_valid_and_survive_a_file() {
        for link in typical() {
            assert_eq!(link.validate(), Ok(()), "{}", link.name);
            let text = toml::to_string(&link).expect("serialises");
            assert_eq!(toml::from_str::<LinkParams>(&text), Ok(link));
        }
    }

    #[test]
    fn payload_is_what_drives_show() {
        for (link, expected_mb_s) in
            typical().iter().zip([560.0, 280.0, 3575.0, 430.0, 38.0, 430.0])
        {
            let payload = link.payload_mb_s();
            assert!((payload / expected_mb_s - 1.0).abs() < 0.01, "{}: {payload}", link.name);
        }
    }

    #[test]
    fn impossible_values_name_their_field() {
        type Spoil = fn(&mut LinkParams);
        let cases: [(&str, LinkParams, Spoil); 11] = [
            ("queue_depth", LinkParams::usb3_bulk_only(), |l| l.queue_depth = 2),
            ("queue_depth", LinkParams::sata_6g(), |l| l.queue_depth = 33),
            ("queue_depth", LinkParams::sata_6g(), |l| l.queue_depth = 0),
            ("queues", LinkParams::sata_6g(), |l| l.queues = 2),
            ("rate_mb_s", LinkParams::sata_6g(), |l| l.rate_mb_s = f64::NAN),
            ("frame_payload_bytes", LinkParams::sata_6g(), |l| l.frame_payload_bytes = 0),
            ("command_us", LinkParams::usb3_uas(), |l| l.command_us = -1.0),
            ("max_transfer_bytes", LinkParams::usb3_uas(), |l| l.max_transfer_bytes = Some(0)),
            ("bridge.logical_sector_bytes", LinkParams::usb3_uas(), |l| {
                l.bridge.logical_sector_bytes = Some(1000);
            }),
            ("bridge.physical_sector_bytes", LinkParams::usb3_uas(), |l| {
                l.bridge.physical_sector_bytes = Some(0);
            }),
            ("bridge", LinkParams::sata_6g(), |l| l.bridge.hides_rotation = true),
        ];
        for (field, mut link, spoil) in cases {
            spoil(&mut link);
            assert_eq!(link.validate().expect_err(field).field, field);
        }
    }

    #[test]
    fn unknown_fields_are_refused() {
        let mut text = toml::to_string(&LinkParams::sata_6g()).expect("serialises");
        text.insert_str(0, "depth = 3\n");
        let error = toml::from_str::<LinkParams>(&text).expect_err("refused").to_string();
        assert!(error.contains("depth"), "{error}");
    }
}
