//! `list`: every drive as a block of a few lines.

use crate::terminal::{
    Column, Paragraph, Role, Style, TextCell, TextTable, clean, sections, shorten, width,
};
use drivescope_model::Bytes;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::number::{one_decimal, whole};

/// Where the details of a drive begin.
const INDENT: usize = 4;

/// Every drive, with a blank line between two of them.
pub fn drive_list(drives: &[Drive], style: Style) -> String {
    if drives.is_empty() {
        return Paragraph::new().text(Role::Dim, "no drives found").lines(0, style);
    }
    sections(drives.iter().map(|drive| block(drive, style)))
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

/// Name and model, then what it is, how large and how it is attached.
fn first_line(drive: &Drive, style: Style) -> String {
    let name = shorten(&clean(&drive.name), 24).into_owned();
    let mut paragraph = Paragraph::new().lead(Role::Title, &name).lead(Role::Plain, "  ");
    let model = drive.model.as_deref().map(|model| clean(model.trim()).into_owned());
    if let Some(model) = model.filter(|model| !model.is_empty()) {
        let model = shorten(&model, style.columns - width(&name) - 2).into_owned();
        paragraph = paragraph.item(Role::Plain, &model);
    }
    paragraph = paragraph.item(Role::Plain, kind(drive));
    if drive.capacity_bytes > 0 {
        paragraph = paragraph.item(Role::Plain, Bytes(drive.capacity_bytes).to_string());
    } else {
        paragraph = paragraph.item(Role::Dim, "no medium");
    }
    if let Some(link) = link_name(drive) {
        paragraph = paragraph.item(Role::Plain, &link);
    }
    if let Some(possible) = drive.link.as_ref().and_then(|link| link.possible.as_deref()) {
        paragraph = paragraph.item(Role::Warn, format!("both ends support {possible}"));
    }
    paragraph.lines(INDENT, style)
}

fn fact_line(facts: &[String], style: Style) -> String {
    let mut paragraph = Paragraph::new().lead(Role::Plain, " ".repeat(INDENT));
    for fact in facts {
        paragraph = paragraph.item(Role::Dim, fact);
    }
    paragraph.lines_if_words(INDENT, style)
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
    let mut paragraph = Paragraph::new().lead(Role::Plain, " ".repeat(INDENT));
    match health.passed {
        Some(true) => paragraph = paragraph.item(Role::Good, "SMART passed"),
        Some(false) => paragraph = paragraph.item(Role::Bad, "SMART FAILED"),
        None => {}
    }
    match health.bad_sectors {
        Some(0) | None => {}
        Some(n) => paragraph = paragraph.item(Role::Bad, format!("{} bad sectors", whole(n))),
    }
    if let Some(celsius) = drive.temperature_c {
        paragraph = paragraph.item(Role::Dim, format!("{} °C", one_decimal(celsius)));
    }
    if let Some(hours) = health.power_on_hours {
        paragraph = paragraph.item(Role::Dim, format!("{} power-on hours", whole(hours)));
    }
    if let Some(wear) = health.wear_pct {
        let role = if wear >= 100 { Role::Warn } else { Role::Dim };
        paragraph = paragraph.item(role, format!("{} % of rated endurance used", whole(wear)));
    }
    if let Some(note) = &health.note {
        paragraph = paragraph.text(Role::Dim, note);
    }
    paragraph.lines_if_words(INDENT, style)
}

/// Partitions with their alignment, or what the whole device holds.
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

/// Partitions begin at whole MiB; where one does not, the exact number is the point.
fn start(bytes: u64) -> String {
    let start = Bytes(bytes);
    match bytes {
        bytes if !bytes.is_multiple_of(1 << 20) => format!("{} B", whole(bytes)),
        bytes if bytes < 1 << 30 => start.binary(),
        _ => start.to_string(),
    }
}

/// What a drive is; a composite one names its parts.
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

/// What must be said about a drive wherever it is named: that it is none, or not one of its own.
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

/// The link as people write it, or the name of the transport.
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
