//! Every value of the built-in models names its origin.

use crate::library::BUILT_IN;

/// One of them stands in each comment. "As above" and "as the …" lead to another line.
const ORIGINS: [&str; 8] = [
    "published",
    "fitted",
    "chosen for",
    "assumed",
    "measured",
    "taken from",
    "from memory",
    "as ",
];

/// Fields without an origin: the model's labels, and those that choose the form of other values.
const LABELS: [&str; 7] = ["name", "summary", "generic", "kind", "profile", "curve", "enabled"];

/// The lines of a file that give a value without an origin.
fn unexplained(text: &str) -> Vec<&str> {
    let mut bare = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((key, rest)) = line.split_once(" = ") else { continue };
        let comment = rest.rsplit_once(" # ").map_or("", |(_, comment)| comment);
        let comment = format!("{comment} ");
        let has_origin = ORIGINS.iter().any(|word| comment.contains(word));
        if !has_origin && !LABELS.contains(&key) {
            bare.push(line);
        }
    }
    bare
}

#[test]
fn every_value_says_where_it_comes_from() {
    let bare =
        "name = \"x\"\n[hdd]\nrpm = 5 # published\nheads = 2\nsize = 5 # MB\nskew = 1 # as above";
    assert_eq!(unexplained(bare), ["heads = 2", "size = 5 # MB"]);
    for (name, text) in BUILT_IN {
        assert_eq!(unexplained(text), [""; 0], "{name}");
    }
}

#[test]
fn made_up_identity_is_marked() {
    for (name, text) in BUILT_IN {
        for key in ["serial", "firmware"] {
            let line = text.lines().find(|line| line.starts_with(key)).unwrap();
            assert!(line.contains("# assumed"), "{name}: {line}");
        }
    }
}

/// "As above" stands below a line that says it.
#[test]
fn as_above_has_something_above() {
    for (name, text) in BUILT_IN {
        let mut above = "";
        for line in text.lines() {
            let comment = line.rsplit_once(" # ").map_or("", |(_, comment)| comment);
            assert!(!comment.starts_with("as above") || !above.is_empty(), "{name}: {line}");
            above = comment;
        }
    }
}
