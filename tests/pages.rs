//! Pages of the documents: their commands are run as written, and print the lines that they show.

use crate::support::{Call, Scratch, every};
use std::path::Path;

pub const PAGES: [(&str, &str); 10] = [
    ("README.md", include_str!("../README.md")),
    ("docs/running.md", include_str!("../docs/running.md")),
    ("docs/ci.md", include_str!("../docs/ci.md")),
    ("docs/seeds.md", include_str!("../docs/seeds.md")),
    ("docs/guides/buying.md", include_str!("../docs/guides/buying.md")),
    ("docs/guides/used-drive.md", include_str!("../docs/guides/used-drive.md")),
    ("docs/guides/developing.md", include_str!("../docs/guides/developing.md")),
    ("docs/guides/nas.md", include_str!("../docs/guides/nas.md")),
    ("docs/guides/postgresql.md", include_str!("../docs/guides/postgresql.md")),
    ("docs/guides/reviewing.md", include_str!("../docs/guides/reviewing.md")),
];

/// One command of a page with the lines below it; `…` stands for lines left out.
pub struct Shown<'p> {
    pub command: &'p str,
    lines: Vec<&'p str>,
    /// 0, or what `$ echo $?` shows after it.
    code: i32,
}

impl Shown<'_> {
    /// Runs the command in a folder with the program on its path. Panics unless it ends and prints as shown.
    pub fn check(&self, page: &str, scratch: &Scratch, variables: &[(&str, &str)]) {
        let program = Path::new(env!("CARGO_BIN_EXE_drivescope")).parent().expect("of a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", program.display());
        let Self { command, lines, code } = self;
        let call = Call::new("sh").arguments(&["-c", command]).in_folder(&scratch.path(""));
        let mut call = call.with_home(&scratch.path("home")).env("PATH", &path);
        for (name, value) in variables {
            call = call.env(name, value);
        }
        let ended = call.end();
        assert_eq!(ended.exit_code(), Some(*code), "{page}: $ {command}\n{ended}");
        if let Some(line) = missing(lines, &ended.stdout) {
            panic!("{page} should not show '{line}':\n$ {command}\n{}", ended.stdout);
        }
    }
}

/// The examples of a page: fenced blocks of these languages, with commands after `$ `.
pub fn blocks<'p>(page: &'p str, languages: &[&str]) -> Vec<Vec<Shown<'p>>> {
    let fenced = page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let meant = fenced.filter(|(language, _)| languages.contains(language));
    meant.map(|(_, text)| examples(text)).filter(|shown| !shown.is_empty()).collect()
}

fn examples(block: &str) -> Vec<Shown<'_>> {
    let mut shown: Vec<Shown<'_>> = Vec::new();
    let mut lines = block.lines();
    while let Some(line) = lines.next() {
        match (line.strip_prefix("$ "), shown.last_mut()) {
            (Some("echo $?"), Some(last)) => {
                last.code = lines.next().and_then(|code| code.parse().ok()).expect("a code");
            }
            (Some(command), _) => shown.push(Shown { command, lines: Vec::new(), code: 0 }),
            (None, Some(last)) => last.lines.push(line),
            (None, None) => {}
        }
    }
    shown
}

/// The first line that is not printed, or not in its place.
fn missing<'p>(lines: &[&'p str], printed: &str) -> Option<&'p str> {
    let mut rest = printed.lines();
    let mut skips = false;
    for &line in lines {
        if line == "…" {
            skips = true;
            continue;
        }
        let is_there = if skips { rest.any(|it| it == line) } else { rest.next() == Some(line) };
        if !is_there {
            return Some(line);
        }
        skips = false;
    }
    (!skips && rest.next().is_some()).then_some("(the end)")
}

#[test]
fn pages_show_what_their_commands_print() {
    let plain = |page| blocks(page, &["", "text"]).into_iter();
    let all: Vec<(&str, Vec<Shown<'_>>)> = PAGES
        .iter()
        .flat_map(|(name, page)| plain(page).map(move |block| (*name, block)))
        .collect();
    for (name, _) in PAGES {
        assert!(all.iter().any(|(of, _)| *of == name), "{name} has no example");
    }
    for (name, block) in every(4, &all) {
        // Commands of one block share a store and a folder.
        let scratch = Scratch::new();
        block.iter().for_each(|shown| shown.check(name, &scratch, &[]));
    }
}

#[test]
fn lines_left_out_are_marked() {
    let printed = "a\nb\nc\n";
    for (lines, wrong) in [
        (&["a", "b", "c"][..], None),
        (&["…", "b", "…"], None),
        (&["…", "c"], None),
        (&["a", "c"], Some("c")),
        (&["…", "b"], Some("(the end)")),
        (&["…", "c", "…", "b"], Some("b")),
    ] {
        assert_eq!(missing(lines, printed), wrong, "{lines:?}");
    }
}
