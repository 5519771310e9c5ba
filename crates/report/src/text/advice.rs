//! Layouts and advice as text.

use crate::advise::{DataLayout, DriveFigures, MachineChange, PlacedPartition, partition_script};
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, note, texts};
use drivescope_model::Bytes;
use drivescope_model::number::{rounded, with_half_width};

/// The layout with expected figures, then the scripts that create it.
pub fn layout(drives: &[DriveFigures], layout: &DataLayout, style: Style) -> String {
    let mut out = String::new();
    for (number, drive) in drives.iter().enumerate() {
        let own: Vec<&PlacedPartition> =
            layout.placements.iter().filter(|it| it.drive == number).collect();
        let head = Paragraph::new()
            .text(Role::Title, &drive.name)
            .item(Role::Plain, Bytes(drive.bytes).to_string())
            .item(Role::Dim, &drive.path);
        out.push_str(&head.lines(2, style));
        if own.is_empty() {
            out.push_str(&note("nothing goes here", style));
        } else {
            out.push_str(&table(&own, style));
        }
        out.extend(drive.notes.iter().map(|text| note(text, style)));
        out.push('\n');
    }
    for (need, why) in &layout.unplaced {
        let line = Paragraph::new()
            .text(Role::Bad, format!("no room for {}:", need.name))
            .text(Role::Plain, why);
        out.push_str(&line.lines(2, style));
    }
    let bullet = |text| Paragraph::new().lead(Role::Plain, "· ").text(Role::Plain, text);
    out.extend(layout.notes.iter().map(|text| bullet(text).lines(2, style)));
    for number in 0..drives.len() {
        if let Some(script) = partition_script(drives, layout, number) {
            out.push('\n');
            out.push_str(&script);
        }
    }
    out
}

fn table(own: &[&PlacedPartition], style: Style) -> String {
    let texts = |head: &str, text: &dyn Fn(&PlacedPartition) -> String| {
        texts(TextCell::dim(head), own.iter().map(|placement| text(placement)))
    };
    let rates = |it: &PlacedPartition| {
        let figures = it.expected;
        format!("{}–{}", rounded(figures.read_start_mb_s), rounded(figures.read_end_mb_s))
    };
    // Where nothing wrote, a disk that is not shingled writes in order as fast as it reads.
    let write =
        |it: &PlacedPartition| it.expected.write_mean_mb_s.map_or("as reads".to_string(), rounded);
    let columns = vec![
        texts("  partition", &|it| format!("  {}", it.need.name)),
        texts("from", &|it| Bytes(it.start).to_string()),
        texts("to", &|it| Bytes(it.end).to_string()),
        texts("read MB/s", &rates),
        texts("mean", &|it| rounded(it.expected.read_mean_mb_s)),
        texts("write mean", &write),
        texts("access ms", &access_text),
    ];
    TextTable::of_columns(Column::names_and_numbers(columns.len()), columns).render(style)
}

fn access_text(it: &PlacedPartition) -> String {
    match it.expected.access_ms {
        Some(ms) if it.expected.access_margin_ms > 0.0 => {
            let (ms, margin) = with_half_width(ms, it.expected.access_margin_ms);
            format!("{ms} ± {margin}")
        }
        Some(ms) => rounded(ms),
        None => "-".to_string(),
    }
}

/// The drive's uses in a sentence, and recommended changes of the machine.
pub fn machine_advice(answer: &str, changes: &[MachineChange], style: Style) -> String {
    let mut out = Paragraph::new().text(Role::Title, answer).lines(0, style);
    if changes.is_empty() {
        let line = "nothing to change on this machine shows in this run";
        out.push_str(&Paragraph::new().text(Role::Good, line).lines(2, style));
    }
    for MachineChange { change, evidence, gain, command } in changes {
        let line = Paragraph::new().lead(Role::Plain, "· ").text(Role::Title, change);
        out.push_str(&line.lines(2, style));
        for (word, text) in [("shown by", evidence), ("gain", gain)] {
            let line =
                Paragraph::new().lead(Role::Dim, format!("  {word:<8}  ")).text(Role::Plain, text);
            out.push_str(&line.lines(12, style));
        }
        if let Some(command) = command {
            let line = Paragraph::new().lead(Role::Dim, "  ").command(Role::Plain, "→", command);
            out.push_str(&line.lines(4, style));
        }
    }
    out
}
