//! Compares docs/format.md with real runs, and its description of the store with the store.

mod keys;
mod page;

use super::{document, fields, objects, properties, values};
use crate::workspace;
use drivescope_model::Run;
use drivescope_store::{Filter, Store, StoreLocation};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// The examples, each a real run made shorter.
pub const EXAMPLES: [&str; 17] = [
    "docs/examples/run.json",
    "docs/examples/surface.json",
    "docs/examples/surface-write.json",
    "docs/examples/surface-full.json",
    "docs/examples/surface-spread.json",
    "docs/examples/align.json",
    "docs/examples/phybs.json",
    "docs/examples/whole-disk.json",
    "docs/examples/whole-flash.json",
    "docs/examples/apps.json",
    "docs/examples/files.json",
    "docs/examples/copy-from.json",
    "docs/examples/steady.json",
    "docs/examples/consistency.json",
    "docs/examples/sql.json",
    "docs/examples/geometry.json",
    "docs/examples/geometry-flash.json",
];
/// Larger ones would not be read.
const EXAMPLE_BYTES_MAX: usize = 60_000;
/// The paths of all fields that a document has: those of lists by their elements.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(elements) => {
            elements.iter().for_each(|element| paths(element, &format!("{path}[]"), found));
        }
        Value::Object(fields) => {
            let dot = if path.is_empty() { "" } else { "." };
            for (name, field) in fields {
                let below = format!("{path}{dot}{name}");
                paths(field, &below, found);
                found.insert(below);
            }
        }
        _ => {}
    }
}

/// The paths of all fields that the page describes.
fn described() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for object in objects(&document()) {
        for place in &object.places {
            let below = |name: &String| {
                if place == "run" { name.clone() } else { format!("{place}.{name}") }
            };
            found.extend(properties(&object.schema).map(|(name, _)| below(name)));
        }
    }
    found
}

#[test]
fn every_field_has_its_row() {
    let fields = fields();
    for row in [
        "| `label` | text; may be absent | The name given with `--label`. |",
        "| `drive` | object; or null | The drive below the target; ",
        "| `status` | [TestStatus](#values) | The worst status of its tests: ",
        "| `size` | whole, bytes | Requested size of the test file ",
        "| `rates` | list of number or object | Rates of the open loops: ",
        "| `temperature_c` | number, °C; or null | ",
        "| `cpu_wait_pct` | number, %; may be absent | ",
        "| `tests` | list of [TestKind](#values) | ",
    ] {
        assert!(fields.contains(row), "{row}\n{fields}");
    }
    assert!(fields.contains("\n### `tests[].findings[]` and `findings[]`\n"), "{fields}");
    assert!(described().len() > 200, "only {} fields were found", described().len());
    assert!(
        fields.lines().chain(values().lines()).all(|line| !line.ends_with("|  |")),
        "a comment is missing"
    );
}

#[test]
fn the_examples_are_runs_and_have_described_fields_only() {
    let described = described();
    for path in EXAMPLES {
        let text = workspace::read(path).unwrap();
        assert!(text.len() < EXAMPLE_BYTES_MAX, "{path} has {} bytes", text.len());
        drivescope_store::from_json(&text).unwrap();
        let mut found = BTreeSet::new();
        paths(&serde_json::from_str(&text).unwrap(), "", &mut found);
        let unknown: Vec<&String> = found.difference(&described).collect();
        assert!(unknown.is_empty(), "{path}: {unknown:?} are not described");
    }
}

#[test]
fn documented_tables_and_queries_match_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut store = Store::open(&StoreLocation::of_file(file.clone())).unwrap();
    for path in EXAMPLES {
        let runs = drivescope_store::from_json(&workspace::read(path).unwrap()).unwrap();
        store.add_all(&runs).unwrap();
    }
    let database = rusqlite::Connection::open(&file).unwrap();
    let text = page::text();
    for table in page::tables(&text, "column") {
        let [name] = &table.places()[..] else { panic!("one table: {}", table.above) };
        let mut query = database.prepare("SELECT name, type FROM pragma_table_info($1)").unwrap();
        let columns = query.query_map([name], |row| Ok(vec![row.get(0)?, row.get(1)?])).unwrap();
        let columns: Vec<Vec<String>> = columns.map(Result::unwrap).collect();
        let said: Vec<Vec<String>> = table.rows.iter().map(|row| row[..2].to_vec()).collect();
        assert_eq!(said, columns, "table {name}");
    }
    let summaries = serde_json::to_value(store.list(&Filter::default()).unwrap()).unwrap();
    let summary = summaries[0].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let rows = page::tables(&text, "summary").into_iter().flat_map(|table| table.rows);
    let said = rows.flat_map(|row| row[0].split(", ").map(str::to_string).collect::<Vec<_>>());
    assert_eq!(said.collect::<BTreeSet<_>>(), summary);
    let queries = page::code(&text, "sql");
    assert_eq!(queries.len(), 2);
    for sql in queries {
        let mut query = database.prepare(&sql).unwrap();
        assert!(query.query([]).unwrap().next().unwrap().is_some(), "no row: {sql}");
    }
}

#[test]
fn the_python_code_reads_the_distributions() {
    let [program] = &page::code(&page::text(), "python")[..] else {
        panic!("one program in Python");
    };
    let example = workspace::root().join(EXAMPLES[0]);
    let run: Run = serde_json::from_str(&std::fs::read_to_string(&example).unwrap()).unwrap();
    let Ok(output) = Command::new("python3").args(["-c", program]).arg(&example).output() else {
        let missing = "there is no python3 to run the program of docs/format.md";
        assert!(std::env::var_os("DRIVESCOPE_TESTS_MUST_RUN").is_none(), "{missing}");
        eprintln!("SKIPPED: {missing}");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let distributions: Vec<_> = run.tests.iter().flat_map(|test| &test.distributions).collect();
    assert_eq!(lines.lines().count(), distributions.len());
    for (line, distribution) in lines.lines().zip(distributions) {
        let max = run.metric(&format!("{}.lat_max_us", distribution.key)).unwrap();
        let largest = max.rounds.iter().copied().fold(0.0, f64::max);
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[..2], [distribution.key.clone(), distribution.count.to_string()]);
        let printed: f64 = words[5].parse().unwrap();
        assert!((printed / largest - 1.0).abs() < 1e-3, "{line}: max is {largest}");
    }
}
