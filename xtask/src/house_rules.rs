//! The figures of the house checks in a tree.

use crate::circles::{circles, files_in_circles};
use crate::source::{Source, load};
use crate::type_names::types_of_one_name;
use std::collections::BTreeMap;
use std::path::Path;

/// The figures of a crate.
#[derive(Default)]
struct CrateCount {
    files: usize,
    lines: usize,
    /// Of these, lines in files of tests.
    tests: usize,
}

/// Prints the figures of a tree, to compare with another one: per crate lines and circles.
pub fn print_figures(folder: &str) -> Result<(), String> {
    let sources = load(Path::new(folder))?;
    let mut crates: BTreeMap<&str, CrateCount> = BTreeMap::new();
    for source in &sources {
        for name in [source.home.as_str(), "all"] {
            let figures = crates.entry(name).or_default();
            figures.files += 1;
            figures.lines += source.lines;
            figures.tests += if is_test(source) { source.lines } else { 0 };
        }
    }
    let in_circles = files_in_circles(&sources);
    println!(
        "| crate | files | lines | in files of tests | files in circles |\n|---|---|---|---|---|"
    );
    for (name, CrateCount { files, lines, tests }) in crates {
        let circles = in_circles.get(name).copied().unwrap_or(in_circles.values().sum());
        println!("| {name} | {files} | {lines} | {tests} | {circles} |");
    }
    println!("\ncircles between files: {}", circles(&sources).values().flatten().count());
    println!("names that several types have: {}", types_of_one_name(&sources).len());
    Ok(())
}

fn is_test(source: &Source) -> bool {
    source.code.is_empty() && !source.tests.is_empty()
}
