//! Holds docs/format.md against the types: every field is described, with its true type and what
//! stands there when it is not known; and nothing is described that does not exist.

use crate::format_page::{self, Table};
use crate::shape;
use crate::workspace;
use drivescope_model::Run;
use drivescope_store::{Filter, Location, Store};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The examples, each a real run made shorter.
pub const EXAMPLES: [&str; 7] = [
    "docs/examples/run.json",
    "docs/examples/surface.json",
    "docs/examples/surface-write.json",
    "docs/examples/align.json",
    "docs/examples/phybs.json",
    "docs/examples/whole-disk.json",
    "docs/examples/whole-flash.json",
];
/// Larger ones would not be read.
const EXAMPLE_BYTES_MAX: usize = 60_000;
/// Always there.
const ALWAYS: &str = "–";

/// What is said of a field: its type, and what stands there when it is not known.
type Said = (String, String);

/// The kinds of value at each path of a document; `[]` stands for the elements of a list.
fn kinds(value: &Value, path: &str, found: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let kind = match value {
        Value::Null => return,
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "whole",
        Value::String(_) => "text",
        Value::Array(elements) => {
            let path = format!("{path}[]");
            elements.iter().for_each(|element| kinds(element, &path, found));
            "list"
        }
        Value::Object(fields) => {
            let dot = if path.is_empty() { "" } else { "." };
            for (name, field) in fields {
                kinds(field, &format!("{path}{dot}{name}"), found);
            }
            "object"
        }
    };
    found.entry(path.to_string()).or_default().insert(kind);
}

/// What the types say of every field, by path.
fn of_types() -> BTreeMap<String, Said> {
    let (run, met) = shape::make::<Run>("").unwrap();
    let mut found = BTreeMap::new();
    kinds(&serde_json::to_value(&run).unwrap(), "", &mut found);
    let name = |path: &str| match met.enumerations.get(path) {
        Some(values) => values.name.to_string(),
        None => found[path].iter().copied().collect::<Vec<_>>().join(" or "),
    };
    let mut fields = BTreeMap::new();
    for path in found.keys().filter(|path| !path.is_empty() && !path.ends_with("[]")) {
        let mut kind = name(path);
        if kind == "list" {
            kind = format!("list of {}", name(&format!("{path}[]")));
        }
        let unknown = if met.optional.contains(path) { when_unknown(path) } else { ALWAYS };
        fields.insert(path.clone(), (kind, unknown.to_string()));
    }
    fields
}

/// What a document has in place of the field at `path` when it is not known.
fn when_unknown(path: &str) -> &'static str {
    let (run, _) = shape::make::<Run>(path).unwrap();
    let run = serde_json::to_value(&run).unwrap();
    let value = path.split('.').try_fold(&run, |value, step| {
        let (name, is_list) = step.strip_suffix("[]").map_or((step, false), |name| (name, true));
        let value = value.get(name)?;
        if is_list { value.get(0) } else { Some(value) }
    });
    match value {
        None => "absent",
        Some(Value::Null) => "null",
        Some(_) => ALWAYS,
    }
}

/// What the page says of every field, by path.
fn of_page(tables: &[Table]) -> BTreeMap<String, Said> {
    let mut fields = BTreeMap::new();
    for table in tables {
        assert_eq!(table.head, ["field", "type", "unit", "unknown", "meaning"], "{}", table.above);
        for place in table.places() {
            for row in &table.rows {
                assert_eq!(row.len(), 5, "{row:?}");
                let path =
                    if place == "run" { row[0].clone() } else { format!("{place}.{}", row[0]) };
                let twice = fields.insert(path.clone(), (row[1].clone(), row[3].clone()));
                assert!(twice.is_none(), "{path} is described twice");
            }
        }
    }
    fields
}

#[test]
fn the_page_says_of_every_field_what_its_type_says() {
    let (types, page) = (of_types(), of_page(&format_page::tables(&format_page::text(), "field")));
    let mut faults = Vec::new();
    for path in types.keys().chain(page.keys()).collect::<BTreeSet<_>>() {
        match (types.get(path), page.get(path)) {
            (Some(is), Some(said)) if is == said => {}
            (Some(is), Some(said)) => faults.push(format!("{path}: is {is:?}, is said {said:?}")),
            (Some(is), None) => faults.push(format!("{path} {is:?} is not described")),
            (None, _) => faults.push(format!("{path} is described and does not exist")),
        }
    }
    assert!(faults.is_empty(), "docs/format.md\n{}", faults.join("\n"));
    assert!(types.len() > 150, "only {} fields were found", types.len());
}

#[test]
fn units_follow_the_names() {
    let ends = [
        ("_mb_s", "MB/s"),
        ("_bytes", "bytes"),
        ("_pct", "%"),
        ("_c", "°C"),
        ("_ns", "ns"),
        ("_ns_per_io", "ns"),
        ("_s", "s"),
    ];
    for table in format_page::tables(&format_page::text(), "field") {
        for row in table.rows {
            if let Some((_, unit)) = ends.iter().find(|(end, _)| row[0].ends_with(end)) {
                assert_eq!(row[2], *unit, "{}", row[0]);
            }
        }
    }
}

#[test]
fn the_examples_are_runs_and_have_described_fields_only() {
    let described = of_page(&format_page::tables(&format_page::text(), "field"));
    for path in EXAMPLES {
        let text = workspace::read(path).unwrap();
        assert!(text.len() < EXAMPLE_BYTES_MAX, "{path} has {} bytes", text.len());
        drivescope_store::from_json(&text).unwrap();
        let mut found = BTreeMap::new();
        kinds(&serde_json::from_str(&text).unwrap(), "", &mut found);
        for field in found.keys().filter(|field| !field.is_empty() && !field.ends_with("[]")) {
            assert!(described.contains_key(field), "{path}: {field} is not described");
        }
    }
}

#[test]
fn the_tables_of_the_store_and_the_queries_are_true() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut store = Store::open(&Location::Sqlite(file.clone())).unwrap();
    for path in EXAMPLES {
        let runs = drivescope_store::from_json(&workspace::read(path).unwrap()).unwrap();
        store.save_all(&runs).unwrap();
    }
    let database = rusqlite::Connection::open(&file).unwrap();
    let page = format_page::text();
    for table in format_page::tables(&page, "column") {
        let [name] = &table.places()[..] else { panic!("one table: {}", table.above) };
        let mut query = database.prepare("SELECT name, type FROM pragma_table_info($1)").unwrap();
        let columns = query.query_map([name], |row| Ok(vec![row.get(0)?, row.get(1)?])).unwrap();
        let columns: Vec<Vec<String>> = columns.map(Result::unwrap).collect();
        let said: Vec<Vec<String>> = table.rows.iter().map(|row| row[..2].to_vec()).collect();
        assert_eq!(said, columns, "table {name}");
    }
    let summaries = serde_json::to_value(store.list(&Filter::default()).unwrap()).unwrap();
    let summary = summaries[0].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let rows = format_page::tables(&page, "summary").into_iter().flat_map(|table| table.rows);
    let said = rows.flat_map(|row| row[0].split(", ").map(str::to_string).collect::<Vec<_>>());
    assert_eq!(said.collect::<BTreeSet<_>>(), summary);
    let queries = format_page::code(&page, "sql");
    assert_eq!(queries.len(), 2);
    for sql in queries {
        let mut query = database.prepare(&sql).unwrap();
        assert!(query.query([]).unwrap().next().unwrap().is_some(), "no row: {sql}");
    }
}

#[test]
fn the_python_code_reads_the_distributions() {
    let [program] = &format_page::code(&format_page::text(), "python")[..] else {
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
