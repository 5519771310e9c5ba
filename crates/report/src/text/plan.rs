//! The plan before anything runs: one sentence, or everything for `--dry-run`.

use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, clean, sections};
use crate::workloads::workload;
use drivescope_model::number::{MISSING, whole};
use drivescope_model::plan::PlannedTest;
use drivescope_model::target::{TargetInfo, TargetKind};
use drivescope_model::{Bytes, Cost, Plan, Secs, WriteLevel};

/// Shorter times need no remark, s.
const SECONDS_MAX: f64 = 10.0;

/// `5 tests · about 70 s · writes up to 1.07 GB to its own folder, then removes it · your files are
/// not touched`.
pub fn plan(plan: &Plan, target: &TargetInfo, style: Style) -> String {
    let count = plan.active().count();
    if count == 0 {
        let text = "no test of this suite can run on this target; see --dry-run for the reasons";
        return Paragraph::new().text(Role::Warn, text).lines(0, style);
    }
    let cost = plan.cost();
    let is_bound = plan.active().any(|test| test.at_most.is_some());
    let about = if is_bound { "up to" } else { "about" };
    let tests = if count == 1 { "1 test".to_string() } else { format!("{count} tests") };
    if target.kind == TargetKind::Simulated {
        let simulated = match cost.computed_s {
            few if few < SECONDS_MAX => "simulated: done in seconds".to_string(),
            many => format!("simulated: about {} to compute", Secs(many.round())),
        };
        let most = plan.active().find_map(|test| test.round_requests).map(whole);
        return Paragraph::new()
            .item(Role::Plain, &tests)
            .item(Role::Plain, format!("{about} {} of drive time", Secs(cost.seconds)))
            .item(Role::Plain, simulated)
            .items(Role::Plain, most.map(|most| format!("rounds of {most} requests at most")))
            .item(Role::Good, "nothing on this machine is read or written")
            .lines(0, style);
    }
    let up_to = if plan.active().any(is_up_to) { "up to " } else { "" };
    let written = format!("{up_to}{}", Bytes(cost.written_bytes));
    let level = level(plan);
    let writes = match level {
        WriteLevel::Read => "reads only".to_string(),
        WriteLevel::OwnFiles => {
            format!("writes {written} to its own folder, then removes it")
        }
        WriteLevel::SameBytes => format!("rewrites {written} with the same bytes"),
        WriteLevel::Restore => format!("overwrites {written}, then restores the contents"),
        WriteLevel::Destroy => format!("overwrites {written}: the contents are LOST"),
    };
    let role = if level == WriteLevel::Destroy { Role::Bad } else { Role::Plain };
    let promise = match (level, target.kind) {
        (WriteLevel::Read, TargetKind::File) => "your file is not changed",
        (WriteLevel::Read, TargetKind::Block) => "the device is opened read-only",
        (WriteLevel::Read | WriteLevel::OwnFiles, TargetKind::Directory) => {
            "your files are not touched"
        }
        _ => "",
    };
    Paragraph::new()
        .item(Role::Plain, &tests)
        .items(Role::Plain, (cost.seconds > 0.0).then(|| format!("{about} {}", Secs(cost.seconds))))
        .item(role, &writes)
        .item(Role::Good, promise)
        .lines(0, style)
}

/// Whether the written bytes are a bound: rounds end there, and mostly before.
fn is_up_to(test: &PlannedTest) -> bool {
    let writes_for_a_time = workload(test.test).writes_for_a_time;
    test.at_most.is_some() || (writes_for_a_time && test.cost.written_bytes > 0)
}

/// Whether the drive's speed decides how much is read.
fn is_guess(test: &PlannedTest) -> bool {
    workload(test.test).reads_for_a_time
}

/// The highest level of any test that runs.
fn level(plan: &Plan) -> WriteLevel {
    plan.active().map(|test| test.writes).max().unwrap_or(WriteLevel::Read)
}

/// Cost and write level of each test; tests that are left out, and why.
pub fn dry_run(plan: &Plan, target: &TargetInfo, style: Style) -> String {
    sections([
        costs(plan, style),
        places(plan, target, style),
        left_out(plan, style),
        settings(plan, target, style),
    ])
}

fn settings(plan: &Plan, target: &TargetInfo, style: Style) -> String {
    let is_part = target.kind != TargetKind::Directory && plan.suite.span.0 > 0;
    Paragraph::new()
        .item(Role::Dim, rounds(plan.suite.rounds))
        .item(Role::Dim, format!("engine {}", plan.engine.name()))
        .item(Role::Dim, format!("seed {}", plan.seed))
        .items(Role::Dim, is_part.then(|| format!("first {} only", plan.suite.span)))
        .lines(0, style)
}

fn rounds(n: u32) -> String {
    if n == 1 { "1 round".to_string() } else { format!("{n} rounds") }
}

fn costs(plan: &Plan, style: Style) -> String {
    let layout =
        vec![Column::left(), Column::right(), Column::right(), Column::right(), Column::left()];
    let heads = ["time", "reads", "writes", "may write"];
    let mut table = TextTable::with_heads(layout, "test", &heads);
    for test in &plan.tests {
        let mut row = vec![TextCell::plain(test.test.name())];
        if test.skip.is_some() {
            row.push(TextCell::dim("skipped"));
        } else {
            row.extend(cost_cells(&[test], test.cost));
            row.push(TextCell::plain(level_words(test.writes)));
        }
        table.row(row);
    }
    if plan.active().count() > 1 {
        let mut row = vec![TextCell::title("total")];
        row.extend(cost_cells(&plan.active().collect::<Vec<_>>(), plan.cost()));
        table.row(row);
    }
    table.render(style)
}

fn cost_cells(tests: &[&PlannedTest], cost: Cost) -> [TextCell; 3] {
    let any = |is_so: fn(&PlannedTest) -> bool| tests.iter().any(|test| is_so(test));
    let up_to = |is_so: bool| if is_so { "up to " } else { "" };
    let about = if any(is_guess) && cost.read_bytes > 0 { "about " } else { "" };
    let written = amount(cost.written_bytes);
    // A tree of the user's is only counted once it runs.
    let time = match cost.seconds {
        0.0 => MISSING.to_string(),
        seconds => format!("{}{}", up_to(any(|test| test.at_most.is_some())), Secs(seconds)),
    };
    [
        TextCell::plain(time),
        TextCell::plain(format!("{about}{}", amount(cost.read_bytes))),
        TextCell::plain(format!("{}{written}", up_to(any(is_up_to)))),
    ]
}

fn amount(bytes: u64) -> String {
    if bytes == 0 { MISSING.to_string() } else { Bytes(bytes).to_string() }
}

pub(super) fn level_words(level: WriteLevel) -> &'static str {
    match level {
        WriteLevel::Read => "nothing",
        WriteLevel::OwnFiles => "its own files",
        WriteLevel::SameBytes => "the same bytes",
        WriteLevel::Restore => "patterns, then restored",
        WriteLevel::Destroy => "EVERYTHING IS LOST",
    }
}

fn places(plan: &Plan, target: &TargetInfo, style: Style) -> String {
    let path = style.shortened(&clean(&target.path), 60);
    let (role, text) = match (level(plan), &plan.own_folder) {
        (WriteLevel::Read, _) => (Role::Good, format!("nothing is written to {path}")),
        (WriteLevel::OwnFiles, Some(folder)) => {
            (Role::Plain, format!("only to {folder}, {}, removed at the end", space(plan, target)))
        }
        (WriteLevel::OwnFiles, None) => {
            (Role::Plain, format!("only to a folder of its own in {path}, removed at the end"))
        }
        (WriteLevel::SameBytes, _) => (Role::Warn, format!("the bytes just read, back to {path}")),
        (WriteLevel::Restore, _) => (Role::Warn, restored(plan, &path)),
        (WriteLevel::Destroy, _) => (Role::Bad, format!("all of {path}; its contents are lost")),
    };
    Paragraph::new().lead(Role::Dim, "writes    ").text(role, &text).lines(10, style)
}

fn space(plan: &Plan, target: &TargetInfo) -> String {
    match target.file_system.as_ref().filter(|fs| fs.copies_on_write()) {
        None => format!("at most {} at a time", plan.space_bytes()),
        Some(fs) => format!(
            "at most {} at a time (up to twice that while overwriting: {} copies on write)",
            plan.space_bytes(),
            fs.kind
        ),
    }
}

/// Contents that are overwritten and restored, and where they are kept meanwhile.
fn restored(plan: &Plan, path: &str) -> String {
    let Some(restores) = plan.active().find_map(|test| test.restores.as_ref()) else {
        return format!("patterns to {path}; the contents are kept in a journal");
    };
    let (area, from) = (Bytes(restores.area_bytes), Bytes(restores.from_bytes));
    let is_kept = plan.active().any(|test| test.writes == WriteLevel::SameBytes);
    let others = if is_kept { "; other tests rewrite the bytes they have just read" } else { "" };
    format!(
        "patterns to {path}, {area} from byte {} ({from}); the contents are first saved in {} ({}), \
         then restored and verified; write results apply to this area only{others}",
        whole(restores.from_bytes),
        clean(&restores.journal),
        Bytes(restores.journal_bytes)
    )
}

/// Tests that will not run, costs that are bounds, and parts that will not run, each with its reason.
fn left_out(plan: &Plan, style: Style) -> String {
    let mut out = String::new();
    let mut line = |word: &str, test: &str, reason: &str| {
        let paragraph = Paragraph::new()
            .lead(Role::Dim, format!("{word:<8}  "))
            .lead(Role::Plain, test)
            .lead(Role::Plain, "  ")
            .text(Role::Dim, reason);
        out.push_str(&paragraph.lines(12, style));
    };
    for test in &plan.tests {
        if let Some(reason) = &test.skip {
            line("skipped", test.test.name(), reason);
        }
    }
    for test in plan.active() {
        if let Some(why) = &test.at_most {
            line("up to", test.test.name(), why);
        }
    }
    for test in plan.active() {
        if let Some(most) = test.round_requests {
            let most = whole(most);
            let why = format!(
                "rounds end after {most} requests (fewer large ones), to be computed in seconds; --set \
                 simulated_requests=0 computes all of them"
            );
            line("shorter", test.test.name(), &why);
        }
    }
    for test in &plan.tests {
        for part in &test.omitted {
            line("left out", test.test.name(), part);
        }
    }
    out
}
