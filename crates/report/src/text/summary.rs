//! `show`: a stored run as a whole, and the line that ends a run.

use super::runs::minute;
use super::{header, results_in_full};
use crate::terminal::{Paragraph, Role, Style, clean, sections, shorten};
use drivescope_model::{Run, Secs};

/// As `drivescope show` prints it. `name` names the run to another command: the id of a stored run with the option that
/// finds the store, or its file.
pub fn run_summary(run: &Run, name: &str, style: Style) -> String {
    let mut head = header(
        &format!("{} {}", run.tool.name, run.tool.version),
        &run.plan,
        &run.target,
        run.drive.as_ref(),
        style,
    );
    head.push_str(&facts(run, style));
    sections([head, results_in_full(run, style), closing(name, style)])
}

fn facts(run: &Run, style: Style) -> String {
    let host = Some(&run.host.name).filter(|name| !name.is_empty());
    let paragraph = Paragraph::new()
        .item(Role::Dim, format!("run {}", short(&run.id)))
        .items(Role::Title, &run.label)
        .item(Role::Dim, minute(&run.started_at))
        .item(Role::Dim, Secs(run.elapsed_s).to_string())
        .items(Role::Dim, host.map(|name| format!("on {name}")));
    let note = run.note.as_ref().map_or(String::new(), |note| {
        Paragraph::new().lead(Role::Dim, "note  ").text(Role::Plain, note).lines(6, style)
    });
    paragraph.lines(0, style) + &note
}

fn closing(name: &str, style: Style) -> String {
    Paragraph::new()
        .command(Role::Dim, "repeat:", &format!("drivescope rerun {name}"))
        .item(Role::Dim, "all numbers: show it with --json")
        .lines(0, style)
}

/// The last line of a stored run; `id` may be an unambiguous beginning. `store` is the option that finds the store,
/// such as ` --store runs.db`.
pub fn saved(id: &str, store: &str, style: Style) -> String {
    let (id, store) = (short(id), clean(store));
    Paragraph::new()
        .item(Role::Dim, format!("saved as run {id}"))
        .command(Role::Dim, "show it:", &format!("drivescope show {id}{store}"))
        .lines(0, style)
}

fn short(id: &str) -> String {
    shorten(&clean(id), 16).into_owned()
}
