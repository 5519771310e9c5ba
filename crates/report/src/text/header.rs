//! The first line: program, suite, target, and what lies below the target.

use super::drive_list::{kind_note, link_name};
use crate::terminal::{DOT, Paragraph, Role, Style, clean, shorten, width};
use drivescope_model::drive::Drive;
use drivescope_model::number::{one_decimal, whole};
use drivescope_model::target::{TargetInfo, TargetKind};
use drivescope_model::{Bytes, Plan};

/// `drivescope 0.1.0 · quick · /mnt/data (ext4, sda1 of WD40EFRX-68N32N0, 4.00 TB, SATA 6.0 Gb/s)`, on one line if it
/// fits, else with the parts below the target on further lines.
pub fn header(
    program: &str,
    plan: &Plan,
    target: &TargetInfo,
    drive: Option<&Drive>,
    style: Style,
) -> String {
    let program = shorten(&clean(program), 27).into_owned();
    let suite = shorten(&clean(&plan.suite.name), 24).into_owned();
    let parts = below(target, drive);
    let head = format!("{program}{DOT}{suite}{DOT}");
    let details = parts.join(", ");
    let path = clean(&target.path).into_owned();
    let lead = |path: &str| {
        Paragraph::new()
            .lead(Role::Title, &program)
            .lead(Role::Dim, DOT)
            .lead(Role::Plain, &suite)
            .lead(Role::Dim, DOT)
            .lead(Role::Title, path)
    };
    let bracket = format!(" ({})", clean(&details));
    let first = lead(&style.shortened(&path, style.columns - width(&head)));
    if parts.is_empty() {
        return first.lines(0, style);
    }
    if width(&head) + width(&path) + width(&bracket) <= style.columns {
        return first.lead(Role::Dim, &bracket).lines(0, style);
    }
    let mut out = first.lines(0, style);
    let mut paragraph = Paragraph::new().lead(Role::Dim, "  ");
    let last = parts.len() - 1;
    for (i, part) in parts.iter().enumerate() {
        let comma = if i < last { "," } else { "" };
        paragraph = paragraph.item_after(" ", Role::Dim, format!("{part}{comma}"));
    }
    out.push_str(&paragraph.lines(2, style));
    out
}

fn below(target: &TargetInfo, drive: Option<&Drive>) -> Vec<String> {
    let mut parts = Vec::new();
    if target.kind == TargetKind::File {
        parts.push(format!("file of {}", Bytes(target.size_bytes)));
    }
    let file_system = target.file_system.as_ref();
    parts.extend(file_system.map(|fs| fs.kind.clone()));
    let Some(drive) = drive else {
        match (target.kind, file_system) {
            (TargetKind::Simulated, _) => parts.push("simulated drive".to_string()),
            (_, Some(fs)) if matches!(fs.kind.as_str(), "tmpfs" | "ramfs") => {
                parts.push("in memory, no drive".to_string());
            }
            (_, Some(fs)) if fs.source != fs.kind && !fs.source.is_empty() => {
                parts.push(format!("from {}", fs.source));
            }
            _ => {}
        }
        return parts;
    };
    let model = drive.model.as_deref().map_or(drive.name.as_str(), str::trim);
    // Below a drive that is made of several are those.
    let above: Vec<&str> =
        target.stack.iter().map(String::as_str).take_while(|name| *name != drive.name).collect();
    parts.push(if above.is_empty() {
        model.to_string()
    } else {
        format!("{} of {model}", above.join(" on "))
    });
    parts.extend(kind_note(drive));
    parts.push(Bytes(drive.capacity_bytes).to_string());
    parts.extend(link_name(drive));
    parts.extend(condition(drive));
    parts
}

/// Health and temperature, if the drive reports them: `SMART passed`, `31 °C`.
fn condition(drive: &Drive) -> Vec<String> {
    let passed = drive.health.passed.map(|passed| if passed { "passed" } else { "FAILED" });
    let bad = drive.health.bad_sectors.filter(|&count| count > 0);
    let facts = [
        passed.map(|verdict| format!("SMART {verdict}")),
        bad.map(|count| format!("{} bad sectors", whole(count))),
        drive.temperature_c.map(|celsius| format!("{} °C", one_decimal(celsius))),
    ];
    facts.into_iter().flatten().collect()
}

/// The block devices below a target, from the top: `dm-0 on nvme0n1p2 on nvme0n1`.
pub(super) fn drive_path(target: &TargetInfo) -> String {
    target.stack.join(" on ")
}
