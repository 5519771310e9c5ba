//! `list`: every drive as a block of a few lines.

use crate::terminal::{
    Column, Paragraph, Role, Style, TextCell, TextTable, clean, sections, width,
};
use drivescope_model::Bytes;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::number::{one_decimal, whole};

const INDENT: usize = 4;

pub fn drive_list(drives: &[Drive], style: Style) -> String {
    if drives.is_empty() {
        return Paragraph::new().text(Role::Dim, "no drives found").lines(0, style);
    }
    sections(drives.iter().map(|drive| block(drive, style)))
}

/// With the whole health of each drive.
pub fn drive_list_in_full(drives: &[Drive], style: Style) -> String {
    if drives.is_empty() {
        return drive_list(drives, style);
    }
    sections(drives.iter().map(|drive| {
        sections([block(drive, style), super::health::health(&drive.health, None, INDENT, style)])
    }))
}

fn block(drive: &Drive, style: Style) -> String {
    let mut out = first_line(drive, style);
    for facts in [identity(drive), layout(drive)] {
        out.push_str(&fact_line(&facts, style));
    }
    out.push_str(&health(drive, style));
    out.push_str(&contents(drive, style));
    out
}

fn first_line(drive: &Drive, style: Style) -> String {
    let name = style.shortened(&clean(&drive.name), 24);
    let model = drive.model.as_deref().map(|model| clean(model.trim()));
    let room = style.columns.saturating_sub(width(&name) + 2);
    let (role, capacity) = match drive.capacity_bytes {
        0 => (Role::Dim, "no medium".to_string()),
        bytes => (Role::Plain, Bytes(bytes).to_string()),
    };
    let possible = drive.link.as_ref().and_then(|link| link.possible.as_deref());
    Paragraph::new()
        .lead(Role::Title, &name)
        .lead(Role::Plain, "  ")
        .items(Role::Plain, model.map(|model| style.shortened(&model, room)))
        .item(Role::Plain, kind(drive))
        .item(role, capacity)
        .items(Role::Plain, link_name(drive))
        .items(Role::Warn, possible.map(|possible| format!("both ends support {possible}")))
        .lines(INDENT, style)
}

fn fact_line(facts: &[String], style: Style) -> String {
    let paragraph = Paragraph::new().lead(Role::Plain, " ".repeat(INDENT));
    paragraph.items(Role::Dim, facts).lines_if_words(INDENT, style)
}

fn identity(drive: &Drive) -> Vec<String> {
    let mut facts = Vec::new();
    if matches!(drive.kind, DriveKind::Loop | DriveKind::Simulated) {
        facts.extend(drive.backing.iter().map(|file| format!("file {file}")));
    }
    facts.extend(drive.serial.as_ref().map(|serial| format!("serial {serial}")));
    facts.extend(drive.firmware.as_ref().map(|firmware| format!("firmware {firmware}")));
    if drive.removable {
        facts.push("removable".to_string());
    }
    if drive.read_only {
        facts.push("read-only".to_string());
    }
    facts
}

fn layout(drive: &Drive) -> Vec<String> {
    if drive.capacity_bytes == 0 {
        return Vec::new();
    }
    let (logical, physical) = (drive.logical_sector_bytes, drive.physical_sector_bytes);
    let sectors = if logical == physical {
        format!("{logical} B sectors")
    } else {
        format!("{logical}/{physical} B sectors")
    };
    // The queue of memory and files says nothing about a drive.
    if matches!(drive.kind, DriveKind::Memory | DriveKind::Loop) {
        return vec![sectors];
    }
    let mut facts = Vec::new();
    match (drive.rpm, drive.kind, drive.rotational_hint) {
        (Some(rpm), _, _) => facts.push(format!("{rpm} rpm")),
        (None, DriveKind::HardDisk, true) => facts.push("rotating".to_string()),
        (None, DriveKind::HardDisk, false) => facts.push("claims not to rotate".to_string()),
        (None, DriveKind::Composite, _) | (None, _, false) => {}
        (None, _, true) => facts.push("claims to rotate".to_string()),
    }
    facts.extend(drive.zoned.map(|zoned| format!("{} zones", zoned.name())));
    facts.push(sectors);
    facts.extend(drive.write_cache.as_ref().map(|cache| format!("cache {cache}")));
    facts.extend(drive.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
    facts
}

fn health(drive: &Drive, style: Style) -> String {
    let health = &drive.health;
    let (role, passed) = match health.passed {
        Some(true) => (Role::Good, "SMART passed"),
        Some(false) => (Role::Bad, "SMART FAILED"),
        None => (Role::Plain, ""),
    };
    let bad = health.bad_sectors.filter(|&bad| bad > 0).map(whole);
    let hours = health.power_on_hours.map(whole);
    let wear_role = if health.wear_pct >= Some(100) { Role::Warn } else { Role::Dim };
    let wear = health.wear_pct.map(whole);
    let figures = Paragraph::new()
        .lead(Role::Plain, " ".repeat(INDENT))
        .item(role, passed)
        .items(Role::Bad, bad.map(|bad| format!("{bad} bad sectors")))
        .items(Role::Dim, drive.temperature_c.map(|it| format!("{} °C", one_decimal(it))))
        .items(Role::Dim, hours.map(|hours| format!("{hours} power-on hours")))
        .items(wear_role, wear.map(|wear| format!("{wear} % of rated endurance used")))
        .lines_if_words(INDENT, style);
    let note = Paragraph::new()
        .lead(Role::Plain, " ".repeat(INDENT))
        .text(Role::Dim, health.note.as_deref().unwrap_or_default())
        .lines_if_words(INDENT, style);
    figures + &note
}

fn contents(drive: &Drive, style: Style) -> String {
    if drive.partitions.is_empty() {
        let mut facts = Vec::new();
        facts.extend(drive.content.clone());
        facts.extend((!drive.mounts.is_empty()).then(|| format!("on {}", drive.mounts.join(", "))));
        return fact_line(&facts, style);
    }
    let mut table = TextTable::new(
        INDENT,
        vec![
            Column::left().flexible(8),
            Column::right(),
            Column::left(),
            Column::left(),
            Column::left().flexible(6),
            Column::left().flexible(12),
        ],
    );
    for partition in &drive.partitions {
        let alignment = match partition.misaligned_bytes {
            0 => TextCell::dim("aligned"),
            off => TextCell::new(Role::Warn, format!("misaligned by {} B", whole(off))),
        };
        table.row(vec![
            TextCell::plain(&partition.name),
            TextCell::plain(Bytes(partition.size_bytes).to_string()),
            TextCell::dim(format!("at {}", start(partition.start_bytes))),
            alignment,
            TextCell::plain(partition.content.as_deref().unwrap_or_default()),
            TextCell::plain(partition.mounts.join(", ")),
        ]);
    }
    table.render(style)
}

/// Whole MiB, as partitions usually begin; otherwise the exact number.
fn start(bytes: u64) -> String {
    let start = Bytes(bytes);
    match bytes {
        bytes if !bytes.is_multiple_of(1 << 20) => format!("{} B", whole(bytes)),
        bytes if bytes < 1 << 30 => start.binary(),
        _ => start.to_string(),
    }
}

/// The kind of a drive; a composite one names its parts.
fn kind(drive: &Drive) -> String {
    if drive.kind == DriveKind::Composite && !drive.backing.is_empty() {
        return format!("composed of {}", drive.backing.join(", "));
    }
    kind_name(drive.kind).to_string()
}

fn kind_name(kind: DriveKind) -> &'static str {
    match kind {
        DriveKind::HardDisk => "hard disk",
        DriveKind::Ssd => "SSD",
        DriveKind::Nvme => "NVMe SSD",
        DriveKind::Card => "memory card",
        DriveKind::Optical => "optical drive",
        DriveKind::Virtual => "virtual disk (its host chooses the hardware)",
        DriveKind::Loop => "loop device",
        DriveKind::Memory => "memory, not a drive",
        DriveKind::Composite => "composed of other devices",
        DriveKind::Simulated => "simulated drive",
        DriveKind::Unknown => "unknown kind of drive",
    }
}

/// Note wherever a drive is named: that it is not a whole drive, or only in memory.
pub(super) fn kind_note(drive: &Drive) -> Option<String> {
    let note = match drive.kind {
        DriveKind::Virtual => "virtual disk",
        DriveKind::Composite => return Some(kind(drive)),
        DriveKind::Loop | DriveKind::Memory | DriveKind::Simulated | DriveKind::Optical => {
            kind_name(drive.kind)
        }
        _ => return None,
    };
    Some(note.to_string())
}

pub(super) fn link_name(drive: &Drive) -> Option<String> {
    if let Some(link) = &drive.link {
        return Some(link.name.clone());
    }
    let name = match drive.transport.as_str() {
        "" | "loop" | "memory" => return None,
        "sata" => "SATA",
        "sas" => "SAS",
        "nvme" => "PCIe",
        "usb" => "USB",
        "mmc" => "MMC",
        "sd" => "SD",
        other => other,
    };
    Some(name.to_string())
}
