//! The checks of the house that read the sources: what they found, for people.

use crate::circles::{circles, files_in_circles};
use crate::source::{Source, load, of_workspace};
use crate::type_names::types_of_one_name;
use crate::unused::unused;
use std::collections::BTreeMap;
use std::path::Path;

/// Prints `pub` items that nothing uses.
pub fn print_unused() -> Result<(), String> {
    let found = unused(of_workspace()?);
    for item in &found {
        let note = if item.tests_use_it { " (only tests of other modules use it)" } else { "" };
        println!("{}: {}{note}", item.place, item.item);
    }
    let needless = found.iter().filter(|item| !item.tests_use_it).count();
    none_or(needless, "pub items that nothing outside their module uses")
}

/// Prints circles between files.
pub fn print_circles() -> Result<(), String> {
    let sources = of_workspace()?;
    let found = circles(sources);
    for circle in found.values().flatten() {
        println!("{} → {}", circle.join(" → "), circle[0]);
    }
    none_or(found.values().flatten().count(), "circles between files")
}

/// Prints names that several types have.
pub fn print_names() -> Result<(), String> {
    let sources = of_workspace()?;
    let found = types_of_one_name(sources);
    for (name, places) in &found {
        println!("{} {name}: {}", places.len(), places.join(", "));
    }
    none_or(found.len(), "names that several types have")
}

fn none_or(count: usize, what: &str) -> Result<(), String> {
    if count == 0 { Ok(()) } else { Err(format!("{count} {what}")) }
}

/// What is counted of a crate.
#[derive(Default)]
struct CrateCount {
    files: usize,
    lines: usize,
    /// Of them in files of tests.
    tests: usize,
}

/// Prints the figures of a tree, to be held beside those of another one: per crate lines and circles.
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
    let needless = unused(&sources).iter().filter(|item| !item.tests_use_it).count();
    println!("pub items that nothing outside their module uses: {needless}");
    Ok(())
}

fn is_test(source: &Source) -> bool {
    source.code.is_empty() && !source.tests.is_empty()
}
