//! `fleet drives`, and what `fleet submit --dry-run` lists.

use super::{counted, lasting};
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, sections};
use drivescope_model::fleet::{ChosenDrive, HostDrive, LeftOutDrive};
use drivescope_model::number::one_decimal;
use drivescope_model::{Bytes, Cost, Secs};
use std::collections::BTreeMap;

/// Drives named for a reason; the others are counted.
const NAMED_MAX: usize = 5;

/// Where the table is too wide, firmware and link are left out first, then the serial number.
#[derive(Clone, Copy)]
struct DriveColumns {
    firmware_and_link: bool,
    serial: bool,
}

/// A row for each drive. `fleet_is_empty`: no agent has announced any.
pub fn fleet_drives(drives: &[HostDrive], fleet_is_empty: bool, style: Style) -> String {
    if drives.is_empty() {
        let text = if fleet_is_empty {
            "no drive is announced; start drivescope fleet agent on each machine"
        } else {
            "no drive matches; drivescope fleet drives lists all"
        };
        return Paragraph::new().text(Role::Dim, text).lines(0, style);
    }
    let columns = [(true, true), (false, true), (false, false)]
        .map(|(firmware_and_link, serial)| DriveColumns { firmware_and_link, serial });
    if style.is_whole {
        return table(drives, columns[0]).render(style);
    }
    TextTable::first_fitting(columns.into_iter().map(|columns| table(drives, columns)), style)
}

fn table(drives: &[HostDrive], columns: DriveColumns) -> TextTable {
    let layout = vec![
        Column::left().flexible(12),
        Column::left().flexible(7),
        Column::left().flexible(14),
        Column::left(),
        Column::left(),
        Column::left(),
        Column::right(),
        Column::right(),
        Column::right(),
        Column::left(),
    ];
    let DriveColumns { firmware_and_link, serial } = columns;
    let heads = [
        "drive",
        "model",
        if_wanted(serial, "serial"),
        if_wanted(firmware_and_link, "firmware"),
        if_wanted(firmware_and_link, "link"),
        "size",
        "full",
        "°C",
        "",
    ];
    let mut table = TextTable::with_heads(layout, "host", &heads);
    for HostDrive { host, drive, is_there, seen_s_ago, .. } in drives {
        let text = |text: &Option<String>| text.as_deref().unwrap_or("-").trim().to_string();
        let link_role = if drive.link_possible.is_some() { Role::Warn } else { Role::Plain };
        let missing = if *is_there {
            TextCell::blank()
        } else {
            TextCell::new(Role::Warn, format!("missing {}", lasting(*seen_s_ago)))
        };
        let full = drive.fill.map(|fill| format!("{:.0} %", fill * 100.0));
        table.row(vec![
            TextCell::title(host),
            TextCell::plain(&drive.name),
            TextCell::plain(text(&drive.model)),
            TextCell::plain(if_wanted(serial, &text(&drive.serial))),
            TextCell::dim(if_wanted(firmware_and_link, &text(&drive.firmware))),
            TextCell::new(link_role, if_wanted(firmware_and_link, &text(&drive.link))),
            TextCell::plain(Bytes(drive.capacity_bytes).to_string()),
            TextCell::plain(full.unwrap_or_default()),
            TextCell::plain(drive.temperature_c.map(one_decimal).unwrap_or_default()),
            missing,
        ]);
    }
    table
}

fn if_wanted(is_wanted: bool, text: &str) -> &str {
    if is_wanted { text } else { "" }
}

/// The drives of a submission with the bytes that each job moves, and their sum.
pub fn chosen_drives(chosen: &[ChosenDrive], style: Style) -> String {
    let mut layout = vec![Column::left().flexible(12), Column::left().flexible(7)];
    layout.extend([Column::left().flexible(14), Column::left().flexible(10)]);
    layout.extend([Column::right(); 3]);
    let heads = ["drive", "model", "measured", "reads", "writes", "about"];
    let mut table = TextTable::with_heads(layout, "host", &heads);
    for ChosenDrive { drive, place, cost } in chosen {
        let model = drive.drive.model.as_deref().unwrap_or("-").trim();
        table.row(vec![
            TextCell::title(&drive.host),
            TextCell::plain(&drive.drive.name),
            TextCell::plain(model),
            TextCell::plain(place),
            TextCell::plain(Bytes(cost.read_bytes).to_string()),
            TextCell::plain(Bytes(cost.written_bytes).to_string()),
            TextCell::plain(Secs(cost.seconds.round()).to_string()),
        ]);
    }
    let sum = chosen.iter().fold(Cost::default(), |sum, it| sum + it.cost);
    let written = if sum.written_bytes == 0 {
        "nothing is written".to_string()
    } else {
        format!("writes {} at most", Bytes(sum.written_bytes))
    };
    let line = Paragraph::new()
        .item(Role::Title, counted(chosen.len(), "drive"))
        .item(Role::Plain, format!("reads {}", Bytes(sum.read_bytes)))
        .item(Role::Plain, written)
        .lines(0, style);
    if chosen.is_empty() { String::new() } else { sections([table.render(style), line]) }
}

/// A line for each reason, with its drives.
pub fn left_out_drives(left_out: &[LeftOutDrive], style: Style) -> String {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for LeftOutDrive { host, name, reason } in left_out {
        by_reason.entry(reason).or_default().push(format!("{host} {name}"));
    }
    let line = |(reason, drives): (&str, Vec<String>)| {
        let mut named = drives[..drives.len().min(NAMED_MAX)].join(", ");
        if drives.len() > NAMED_MAX {
            named = format!("{named} and {} more", drives.len() - NAMED_MAX);
        }
        let text = format!("left out: {named}: {reason}");
        Paragraph::new().text(Role::Warn, text).lines(2, style)
    };
    by_reason.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::testing::{HOSTILE, drive, must_be_tame};

    fn chosen(drive: HostDrive) -> ChosenDrive {
        let place = drive.drive.target.clone();
        let cost = Cost {
            seconds: 71.2,
            read_bytes: 20_000_000_000,
            written_bytes: 1_500_000_000,
            computed_s: 0.0,
        };
        ChosenDrive { drive, place, cost }
    }

    #[test]
    fn drives_are_rows_and_missing_ones_are_marked() {
        let mut drives = [drive("rack7-3", "sda"), drive("rack7-3", "sdb")];
        drives[1].is_there = false;
        drives[1].seen_s_ago = 260_000.0;
        (drives[1].drive.fill, drives[1].drive.temperature_c) = (None, None);
        insta::assert_snapshot!(fleet_drives(&drives, false, Style::PLAIN), @"");
        let whole = fleet_drives(&drives, false, Style { is_whole: true, ..Style::PLAIN });
        assert!(whole.contains("WD-WCC7K0000001  82.00A82  SATA 6.0 Gb/s"), "{whole}");
        assert!(fleet_drives(&[], true, Style::PLAIN).starts_with("no drive is announced"));
        assert!(fleet_drives(&[], false, Style::PLAIN).starts_with("no drive matches"));
    }

    #[test]
    fn dry_run_lists_drives_bytes_and_what_is_left_out() {
        let chosen = [chosen(drive("rack7-3", "sda")), chosen(drive("rack7-4", "sda"))];
        insta::assert_snapshot!(chosen_drives(&chosen, Style::PLAIN), @"");
        let left = |name: usize, reason: &str| LeftOutDrive {
            host: "h".into(),
            name: format!("sd{name}"),
            reason: reason.into(),
        };
        let mut all: Vec<LeftOutDrive> =
            (0..7).map(|name| left(name, "its host is lost")).collect();
        all.push(left(9, "another"));
        insta::assert_snapshot!(left_out_drives(&all, Style::PLAIN), @"");
    }

    #[test]
    fn hostile_drives_are_tame() {
        let mut hostile = drive(HOSTILE, HOSTILE);
        hostile.drive.model = Some(HOSTILE.repeat(400));
        hostile.drive.serial = Some(HOSTILE.repeat(9));
        hostile.drive.link = Some(HOSTILE.into());
        hostile.drive.fill = Some(f64::NAN);
        must_be_tame(&fleet_drives(std::slice::from_ref(&hostile), false, Style::PLAIN));
        let left_out =
            [LeftOutDrive { host: HOSTILE.into(), name: HOSTILE.into(), reason: HOSTILE.into() }];
        must_be_tame(&left_out_drives(&left_out, Style::PLAIN));
        must_be_tame(&chosen_drives(&[chosen(hostile)], Style::PLAIN));
    }
}
