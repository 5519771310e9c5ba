//! Where unit tests stand: in a `mod tests` at the end of their file, or in `tests.rs` in the folder of the file's
//! module, with further files in `tests/` beside it.

use crate::source::Source;

/// Test files in other places, and paths that lead to them.
fn faults(source: &Source) -> Vec<String> {
    let name = source.path.rsplit('/').next().unwrap_or_default();
    let mut found = Vec::new();
    if name.ends_with("_tests.rs") || name.ends_with("_test.rs") {
        found.push(format!("{}: tests stand in tests.rs or at the end of their file", source.path));
    }
    if source.path.ends_with("/tests/mod.rs") {
        found.push(format!("{}: it is tests.rs, beside the folder", source.path));
    }
    let is_path = |at: &[crate::source::Token]| {
        at[0].text == "#" && at[1].text == "[" && at[2].text == "path" && at[3].text == "="
    };
    let tokens = [&source.code, &source.tests];
    for line in
        tokens.iter().flat_map(|t| t.windows(4)).filter(|at| is_path(at)).map(|at| at[0].line)
    {
        found.push(format!("{}:{line}: #[path] leads where nobody looks", source.path));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{of_workspace, source};

    #[test]
    fn unit_tests_stand_in_their_places() {
        let sources = of_workspace().unwrap();
        let found: Vec<String> =
            sources.iter().filter(|s| s.path.contains("/src/")).flat_map(faults).collect();
        assert!(found.is_empty(), "\n{}\n", found.join("\n"));
    }

    #[test]
    fn other_places_are_seen() {
        for (path, text, count) in [
            ("crates/x/src/a/tests.rs", "", 0),
            ("crates/x/src/a/tests/b.rs", "", 0),
            ("crates/x/src/a/tests/mod.rs", "", 1),
            ("crates/x/src/a_tests.rs", "", 1),
            ("crates/x/src/a.rs", "#[cfg(test)]\n#[path = \"b.rs\"]\nmod tests;", 1),
            ("crates/x/src/a.rs", "#[cfg(test)]\nmod tests;\nlet path = x;", 0),
        ] {
            let found = faults(&source(path.to_string(), text).unwrap());
            assert_eq!(found.len(), count, "{path}: {found:?}");
        }
    }
}
