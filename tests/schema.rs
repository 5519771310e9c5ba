//! `schema`: the JSON Schema of the run document, and real documents held against it.

use crate::support::json::{array, text};
use crate::support::{Scratch, TINY};
use serde_json::{Value, json};

fn schema() -> Value {
    Scratch::new().drivescope(&["schema"]).code(0).json()
}

#[test]
fn the_schema_is_the_one_of_the_documentation() {
    assert_eq!(schema(), read("docs/run.schema.json"));
    assert_eq!(schema()["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn real_runs_are_what_the_schema_says() {
    let scratch = Scratch::new();
    let options = ["--json", "--label=first disk", "--price=105USD"];
    let directory = scratch.run("target", &[TINY, &options]).code(0).json();
    let simulated = ["run", "sim:wd10ears", "--no-save", "--json", "--test=align,surface"];
    let simulated = scratch.drivescope(&simulated).code(0).json();
    for run in [&directory, &simulated] {
        assert_eq!(faults(&schema(), run), [""; 0]);
    }
    // Fields that every machine reports and a rerun needs.
    let call = array(&directory["tool"]["command_line"]);
    assert!(text(&call[0]).ends_with("drivescope") && call.contains(&json!("--price=105USD")));
    assert_eq!(array(&directory["host"]["load"]).len(), 3);
    assert!(directory["host"]["cpus_allowed"].is_string(), "{}", directory["host"]);
    for phase in crate::support::json::test_of(&directory, "transfer")["phases"].as_array().unwrap()
    {
        assert!(text(&phase["latencies"]).starts_with("HISTF"), "{phase}");
    }
}

/// Each suite once, as small as possible, on a fast model.
#[test]
fn runs_of_each_suite_match_the_schema() {
    let (scratch, schema) = (Scratch::new(), schema());
    for name in drivescope_bench::suites::names(None) {
        let suite = drivescope_bench::suites::find(&name, None).expect("it comes with the program");
        let smallest: Vec<&str> =
            suite.tests.iter().flat_map(|test| smallest(test.name())).copied().collect();
        let suite = format!("--suite={name}");
        let options = ["--json", "--no-save", "--seed=1", "--rounds=1", "--size=1GiB", &suite];
        let options = [&options, &["--set=simulated_requests=1"][..], &smallest];
        let run = scratch.run("sim:samsung-860evo-250?fill=0", &options).json();
        assert_eq!(faults(&schema, &run), [""; 0], "{name}");
    }
}

/// Limits for tests that rounds and requests do not bound.
fn smallest(test: &str) -> &'static [&'static str] {
    match test {
        "align" => &["--set=align.total=32M"],
        "apps" => &["--set=apps.traces=['word']"],
        "copy" | "fill" => &["--size=64MiB"],
        "fill-files" => &["--set=fill-files.files=2"],
        "sql" => &["--size=16MiB"],
        "steady" => &["--rounds=5", "--size=256MiB", "--set=apps.traces=['word']"],
        "tiny-writes" => &["--set=tiny-writes.time=10ms", "--set=tiny-writes.writes=20"],
        _ => &[],
    }
}

/// As `export` prints them: documents of older versions lack newer fields.
#[test]
fn the_examples_are_what_the_schema_says() {
    let folder = repository().join("docs/examples");
    let names = crate::support::scratch::names(folder);
    assert!(names.len() >= 7, "{names:?}");
    for name in names {
        let example = read(&format!("docs/examples/{name}")).to_string();
        let run = &drivescope_store::from_json(&example).unwrap()[0];
        assert_eq!(faults(&schema(), &serde_json::to_value(run).unwrap()), [""; 0], "{name}");
    }
}

#[test]
fn other_documents_are_not() {
    let change = |path: &str, value: Value| {
        let example = read("docs/examples/run.json").to_string();
        let run = &drivescope_store::from_json(&example).expect("an example")[0];
        let mut run = serde_json::to_value(run).expect("it is plain data");
        *run.pointer_mut(path).expect("the example has it") = value;
        faults(&schema(), &run)
    };
    assert_eq!(change("/elapsed_s", json!("1 s")).len(), 1);
    assert_eq!(change("/plan/seed", json!(-1)).len(), 1);
    assert_eq!(change("/plan/suite/tests/0", json!("no-such-test")).len(), 1);
    assert_eq!(change("/plan/suite/transfer/cells/0", json!("rnd4k_q1t1.erase")).len(), 1);
    assert_eq!(change("/drive", json!(null)), [""; 0], "the drive need not be known");
    assert_eq!(change("/host", json!(null)).len(), 1);
    let faults = change("/tool", json!({"name": "x", "version": "1", "else": true}));
    assert_eq!(faults, ["tool.build is missing", "tool.else is not in the schema"]);
}

fn repository() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> Value {
    let text = std::fs::read_to_string(repository().join(path)).expect("the repository has it");
    serde_json::from_str(&text).expect("it is JSON")
}

/// Faults of a document against the structural keywords of the schema. Fields missing in the schema are faults too.
fn faults(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, document, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")) {
        check(root, &root["$defs"][name], value, path, found);
    }
    for choices in ["anyOf", "oneOf"].iter().filter_map(|word| schema.get(word)) {
        let faults_of = |choice: &Value| {
            let mut faults = Vec::new();
            check(root, choice, value, path, &mut faults);
            faults
        };
        let all: Vec<Vec<String>> = array(choices).iter().map(faults_of).collect();
        if !all.iter().any(Vec::is_empty) {
            // The first one is the type of what need not be known; the other one is null.
            found.extend(all.into_iter().next().unwrap_or_default());
        }
    }
    let words = schema.as_object().into_iter().flat_map(|words| words.iter());
    if words.into_iter().any(|(word, rule)| !holds(word, rule, value)) {
        found.push(format!("{path} is {value}"));
        return;
    }
    for element in value.as_array().into_iter().flatten() {
        if let Some(items) = schema.get("items") {
            check(root, items, element, &format!("{path}[]"), found);
        }
    }
    if schema.get("properties").is_some() && value.is_object() {
        check_fields(root, schema, value, path, found);
    }
}

/// Checks one keyword; all keywords of our schema are known.
fn holds(word: &str, rule: &Value, value: &Value) -> bool {
    let bound = || rule.as_f64().expect("a bound is a number");
    let length = value.as_array().map(|elements| elements.len() as f64);
    match word {
        "const" => rule == value,
        "enum" => array(rule).contains(value),
        "type" => has_kind(rule, value),
        "minimum" => value.as_f64().is_none_or(|is| is >= bound()),
        "maximum" => value.as_f64().is_none_or(|is| is <= bound()),
        "minItems" => length.is_none_or(|length| length >= bound()),
        "maxItems" => length.is_none_or(|length| length <= bound()),
        "pattern" => {
            let pattern =
                regex_lite::Regex::new(text(rule)).expect("a pattern that regex-lite knows");
            value.as_str().is_none_or(|is| pattern.is_match(is))
        }
        "$schema" | "$ref" | "$defs" | "anyOf" | "oneOf" | "items" | "properties" | "required" => {
            true
        }
        "title" | "description" | "default" | "format" => true,
        other => panic!("the check does not know the word {other}"),
    }
}

fn check_fields(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let below = |name: &str| {
        if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
    };
    for name in schema.get("required").map_or(&[][..], array).iter().map(text) {
        if value.get(name).is_none() {
            found.push(format!("{} is missing", below(name)));
        }
    }
    for (name, field) in value.as_object().expect("an object") {
        match schema["properties"].get(name) {
            Some(schema) => check(root, schema, field, &below(name), found),
            None => found.push(format!("{} is not in the schema", below(name))),
        }
    }
}

fn has_kind(kinds: &Value, value: &Value) -> bool {
    let is = |kind: &Value| match text(kind) {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the check does not know the type {other}"),
    };
    if kinds.is_array() { array(kinds).iter().any(is) } else { is(kinds) }
}
