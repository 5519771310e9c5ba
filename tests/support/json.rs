//! Looking into run documents.

use serde_json::Value;

#[track_caller]
pub fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not an array: {value}"))
}

#[track_caller]
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

#[track_caller]
pub fn test_of<'r>(run: &'r Value, name: &str) -> &'r Value {
    let found = array(&run["tests"]).iter().find(|test| test["test"] == name);
    found.unwrap_or_else(|| panic!("no test {name} in {}", run["tests"]))
}

pub fn metrics(run: &Value) -> impl Iterator<Item = &Value> {
    array(&run["tests"]).iter().flat_map(|test| array(&test["metrics"]))
}

pub fn metric<'r>(run: &'r Value, key: &str) -> Option<&'r Value> {
    metrics(run).find(|metric| metric["key"] == key)
}

#[track_caller]
pub fn value(run: &Value, key: &str) -> f64 {
    let found = metric(run, key).and_then(|metric| metric["value"].as_f64());
    found.unwrap_or_else(|| panic!("no {key} in {run}"))
}

pub fn keys(run: &Value) -> Vec<String> {
    metrics(run).map(|metric| text(&metric["key"]).to_string()).collect()
}

pub fn findings(run: &Value) -> Vec<&str> {
    array(&run["findings"]).iter().map(|finding| text(&finding["id"])).collect()
}

/// Whether a run noticed I/O of programs other than these tests.
pub fn noticed_other_io(run: &Value) -> bool {
    let Some(found) = array(&run["findings"]).iter().find(|finding| finding["id"] == "F010") else {
        return false;
    };
    let evidence = std::slice::from_ref(&found["evidence"]);
    let seen = found["observations"].as_array().map_or(evidence, Vec::as_slice);
    seen.iter().any(|observation| !text(observation).starts_with("drivescope (process"))
}

#[track_caller]
pub fn finding<'r>(run: &'r Value, id: &str) -> &'r Value {
    let found = array(&run["findings"]).iter().find(|finding| finding["id"] == id);
    found.unwrap_or_else(|| panic!("no finding {id} among {:?}", findings(run)))
}

pub fn statuses(run: &Value) -> Vec<(&str, &str)> {
    array(&run["tests"]).iter().map(|test| (text(&test["test"]), text(&test["status"]))).collect()
}
