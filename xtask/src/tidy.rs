//! House rules that a machine can check (CONTRIBUTING.md): lengths, words, links.

use crate::workspace;
use std::collections::BTreeMap;

const FILE_LINES_MAX: usize = 500;
/// rustfmt breaks code at 100 columns. It leaves comments and the insides of macros alone.
const COLUMNS_MAX: usize = 120;
/// Texts of people and machines, in which words are looked for.
const TEXTS: [&str; 6] = [".rs", ".md", ".toml", ".json", ".sh", ".yml"];

/// Words of unfinished work, silenced lints and paths of one machine. They are put together here so
/// that this file does not hold them.
fn forbidden_words() -> [String; 8] {
    [
        ["TO", "DO"],
        ["FIX", "ME"],
        ["XX", "X"],
        ["dbg", "!"],
        ["todo", "!"],
        ["unimplemented", "!"],
        ["#[", "allow("],
        ["/wo", "rk/"],
    ]
    .map(|halves| halves.concat())
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Path and text of all files whose name ends so.
fn texts(ends: &[&str]) -> Result<Vec<(String, String)>, String> {
    let with_text = |path: String| workspace::read(&path).map(|text| (path, text));
    workspace::files(ends)?.into_iter().map(with_text).collect()
}

#[test]
fn files_are_short() -> Result<(), String> {
    let mut faults = Vec::new();
    for (path, text) in texts(&[".rs"])? {
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            faults.push(format!("{path}: {lines} lines, at most {FILE_LINES_MAX}"));
        }
    }
    assert_none(&faults);
    Ok(())
}

#[test]
fn lines_fit_and_have_no_blanks_at_their_end() -> Result<(), String> {
    let mut faults = Vec::new();
    for (path, text) in texts(&TEXTS)? {
        for (number, line) in (1..).zip(text.lines()) {
            if line.ends_with([' ', '\t']) {
                faults.push(format!("{path}:{number}: blanks at the end"));
            }
            let columns = line.chars().count();
            if path.ends_with(".rs") && columns > COLUMNS_MAX && is_breakable(line) {
                faults.push(format!("{path}:{number}: {columns} columns"));
            }
        }
    }
    assert_none(&faults);
    Ok(())
}

/// They stand in a `mod tests` at the end of their file, or in `tests.rs` in the folder of the file's module, with
/// further files in `tests/` beside it.
#[test]
fn unit_tests_stand_in_their_places() -> Result<(), String> {
    let sources = texts(&[".rs"])?;
    let faults = sources.iter().filter(|(path, _)| path.contains("/src/"));
    assert_none(&faults.flat_map(|(path, text)| misplaced(path, text)).collect::<Vec<_>>());
    Ok(())
}

/// Test files in other places, and paths that lead to them.
fn misplaced(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // The self-test of a drive is a workload.
    let is_self_test = path.ends_with("/self_test.rs");
    if path.ends_with("_tests.rs") || path.ends_with("_test.rs") && !is_self_test {
        found.push(format!("{path}: tests stand in tests.rs or at the end of their file"));
    }
    if path.ends_with("/tests/mod.rs") {
        found.push(format!("{path}: it is tests.rs, beside the folder"));
    }
    // The tests of every crate say in one way that they are skipped, and start servers in one way.
    let leads_away =
        |line: &str| line.trim().starts_with("#[path") && !line.contains("tests/support/");
    for (number, _) in (1..).zip(text.lines()).filter(|(_, line)| leads_away(line)) {
        found.push(format!("{path}:{number}: #[path] leads outside the module tree"));
    }
    found
}

/// Whether a line can be broken: a text in quotes, a row of a snapshot's table and the arguments of
/// a property test cannot.
fn is_breakable(line: &str) -> bool {
    let is_property = line.trim_start().starts_with("fn ") && line.contains(" in ");
    !is_property && !line.contains('"') && !line.trim_start().starts_with(['|', '-'])
}

#[test]
fn no_forbidden_word_is_in_the_tree() -> Result<(), String> {
    let words = forbidden_words();
    let mut faults = Vec::new();
    for (path, text) in texts(&TEXTS)? {
        for (number, line) in (1..).zip(text.lines()) {
            for word in words.iter().filter(|word| has_word(line, word)) {
                faults.push(format!("{path}:{number}: {word}"));
            }
        }
    }
    assert_none(&faults);
    Ok(())
}

/// Whether `word` stands in `line`, not as part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_inside = |c: char| c.is_alphanumeric() || c == '_';
        let joins = |end: Option<char>, beside: Option<char>| {
            end.is_some_and(is_inside) && beside.is_some_and(is_inside)
        };
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !joins(word.chars().next(), before.chars().next_back())
            && !joins(word.chars().next_back(), after.chars().next())
    })
}

#[test]
fn links_and_paths_in_documents_lead_somewhere() -> Result<(), String> {
    let pages: BTreeMap<String, String> = texts(&[".md"])?.into_iter().collect();
    let code = workspace::files(&[".rs"])?;
    let mut faults = Vec::new();
    for (path, text) in &pages {
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|t| !t.contains("://") && !t.starts_with("mailto:")) {
            if !leads_somewhere(path, target, &pages) {
                faults.push(format!("{path}: the link '{target}' leads nowhere"));
            }
        }
        for name in text.split('`').skip(1).step_by(2) {
            let is_there = || workspace::root().join(name).exists();
            let is_end = || code.iter().any(|file| file.ends_with(&format!("/{name}")));
            if is_path(name) && !is_there() || is_code(name) && !is_there() && !is_end() {
                faults.push(format!("{path}: {name} does not exist"));
            }
        }
    }
    assert_none(&faults);
    Ok(())
}

fn leads_somewhere(from: &str, target: &str, pages: &BTreeMap<String, String>) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if file.is_empty() {
        from.to_string()
    } else {
        let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
        for name in file.split('/') {
            if name == ".." {
                names.pop();
            } else {
                names.push(name);
            }
        }
        names.join("/")
    };
    let has_anchor = |page: &String| page.lines().filter_map(slug).any(|slug| slug == anchor);
    workspace::root().join(&path).exists()
        && (anchor.is_empty() || pages.get(&path).is_some_and(has_anchor))
}

/// The anchor that a heading gets: small letters, no punctuation, hyphens for spaces.
fn slug(line: &str) -> Option<String> {
    let title = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

/// Whether a word in code marks is a path of this repository.
fn is_path(word: &str) -> bool {
    let folders = ["crates/", "docs/", "packaging/", "tests/", "xtask/"];
    folders.iter().any(|folder| word.starts_with(folder))
        && word.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c))
}

/// Whether a word in code marks is the end of such a path.
fn is_code(word: &str) -> bool {
    word.ends_with(".rs") && !word.contains(['{', ' '])
}

#[test]
fn the_checks_see_what_they_look_for() {
    let xs = "X".repeat(3);
    assert!(has_word(&format!("a {xs}: b"), &xs) && !has_word(&format!("WD-{xs}X"), &xs));
    let macro_word = &forbidden_words()[3];
    assert!(has_word(&format!("x({macro_word}(y))"), macro_word));
    assert!(!has_word(&format!("my_{macro_word}(y)"), macro_word));
    assert_eq!(slug("## F001 page-cache").as_deref(), Some("f001-page-cache"));
    assert_eq!(slug("### Runs: `tests[]`").as_deref(), Some("runs-tests"));
    assert!(is_path("docs/format.md") && !is_path("docs/*.md") && !is_path("format.md"));
    let one = BTreeMap::from([("docs/a.md".to_string(), "# A b\n".to_string())]);
    assert!(leads_somewhere("README.md", "Cargo.toml", &one));
    assert!(leads_somewhere("docs/b.md", "../Cargo.toml", &one));
    assert!(leads_somewhere("docs/guides/b.md", "../format.md", &one));
    assert!(!leads_somewhere("docs/b.md", "nothing.md", &one));
    assert!(is_breakable("// x in y") && !is_breakable("fn x(y in 0..9u8) {"));
    assert!(!is_breakable("let x = \"y\";") && !is_breakable("  | a |"));
    for (path, text, count) in [
        ("crates/x/src/a/tests.rs", "", 0),
        ("crates/x/src/a/tests/b.rs", "", 0),
        ("crates/x/src/a/tests/mod.rs", "", 1),
        ("crates/x/src/a_tests.rs", "", 1),
        ("crates/x/src/a.rs", "#[cfg(test)]\n#[path = \"b.rs\"]\nmod tests;", 1),
        ("crates/x/src/a.rs", "#[cfg(test)]\nmod tests;\nlet path = x;", 0),
    ] {
        let found = misplaced(path, text);
        assert_eq!(found.len(), count, "{path}: {found:?}");
    }
}
