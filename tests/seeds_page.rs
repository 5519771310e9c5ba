//! docs/seeds.md: its commands are run as written, and print the lines that it shows.

use crate::support::{Scratch, every};

/// One command of the page with the lines below it; `…` stands for lines left out.
struct Shown<'p> {
    call: &'p str,
    lines: Vec<&'p str>,
}

/// The examples of a page. Commands of one block share a store.
fn blocks(page: &str) -> Vec<Vec<Shown<'_>>> {
    let fenced = page.split("```\n").skip(1).step_by(2);
    fenced.map(examples).filter(|shown| !shown.is_empty()).collect()
}

fn examples(block: &str) -> Vec<Shown<'_>> {
    let mut shown: Vec<Shown<'_>> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ drivescope "), shown.last_mut()) {
            (Some(call), _) => shown.push(Shown { call, lines: Vec::new() }),
            (None, Some(last)) => last.lines.push(line),
            (None, None) => {}
        }
    }
    shown
}

/// As a shell does with words and single quotes.
fn words(call: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (i, part) in call.split('\'').enumerate() {
        if i % 2 == 1 {
            words.last_mut().expect("never empty").push_str(part);
            continue;
        }
        for (k, word) in part.split(' ').enumerate() {
            if k > 0 {
                words.push(String::new());
            }
            words.last_mut().expect("never empty").push_str(word);
        }
    }
    words.retain(|word| !word.is_empty());
    words
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
fn page_shows_what_its_commands_print() {
    let blocks = blocks(include_str!("../docs/seeds.md"));
    assert!(blocks.len() >= 20, "{}", blocks.len());
    for block in every(4, &blocks) {
        let scratch = Scratch::new();
        for Shown { call, lines } in block {
            let call: Vec<String> = words(call);
            let arguments: Vec<&str> = call.iter().map(String::as_str).collect();
            let printed = scratch.drivescope(&arguments).code(0).stdout;
            if let Some(line) = missing(lines, &printed) {
                panic!("docs/seeds.md should not show '{line}':\n$ drivescope {call:?}\n{printed}");
            }
        }
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
