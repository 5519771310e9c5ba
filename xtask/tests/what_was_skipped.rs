//! The end of `cargo test --workspace`: the tests that could not run on this machine, and the reasons. Cargo starts
//! this test program last, by the alphabet of packages and names; it has no harness that would hide its output.

#[path = "../../tests/support/skip.rs"]
#[expect(dead_code, reason = "nothing is skipped here")]
mod skip;

use std::collections::BTreeMap;

#[expect(clippy::print_stdout, reason = "its only output, as a test harness prints its own")]
#[expect(clippy::disallowed_methods, reason = "the list of this call of cargo has been printed")]
fn main() {
    let file = skip::skipped_file().filter(|file| file.exists());
    let list = file.as_ref().map_or(String::new(), |file| {
        std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    });
    print!("\n{}", summary(&list));
    if let Some(file) = file {
        let _ = std::fs::remove_file(file);
    }
}

/// Each reason once, with its tests.
fn summary(list: &str) -> String {
    let mut tests: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (reason, test) in list.lines().filter_map(|line| line.split_once('\t')) {
        tests.entry(reason).or_default().push(test);
    }
    let count: usize = tests.values().map(Vec::len).sum();
    let mut text = match count {
        0 => "no test was skipped\n".to_string(),
        1 => "SKIPPED: 1 test could not run here:\n".to_string(),
        _ => format!("SKIPPED: {count} tests could not run here:\n"),
    };
    for (reason, mut names) in tests {
        names.sort_unstable();
        text += &format!("  {reason} ({}): {}\n", names.len(), names.join(", "));
    }
    text
}
