//! The generated tables of docs/format.md: fields and values from the JSON Schema of the run document, whose words
//! are the model's comments, and the quantities of metrics.

use drivescope_model::metrics::QUANTITIES;
use drivescope_model::schema;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Units that the ends of names stand for.
const UNITS: [(&str, &str); 9] = [
    ("_mb_s", "MB/s"),
    ("_bytes", "bytes"),
    ("_pct", "%"),
    ("percent", "%"),
    ("_c", "°C"),
    ("_ns", "ns"),
    ("_ns_per_io", "ns"),
    ("_s", "s"),
    ("seconds", "s"),
];

/// An object of the document and what the schema says of it.
struct Object {
    /// Where it stands: `tests[].metrics[]`; a type may stand in several places.
    places: Vec<String>,
    /// Name of its type; none of an object without one.
    name: String,
    schema: Value,
}

/// The tables of all objects, from the document down.
pub fn fields() -> String {
    let document = document();
    let mut out = String::new();
    for object in objects(&document) {
        let places: Vec<String> = object.places.iter().map(|place| format!("`{place}`")).collect();
        let about = object.schema["description"].as_str().unwrap_or_default();
        out += &format!("### {}\n\n{about}\n\n", places.join(" and "));
        out += "| field | type | meaning |\n|---|---|---|\n";
        for (name, field) in properties(&object.schema) {
            let kind = kind_of_field(&document, &object, name, field);
            out += &format!("| `{name}` | {kind} | {} |\n", cell(&field["description"]));
        }
        out.push('\n');
    }
    out.trim_end().to_string() + "\n"
}

/// The table of the values of every enumeration.
pub fn values() -> String {
    let mut out = "| type | value | meaning |\n|---|---|---|\n".to_string();
    let document = document();
    let types: BTreeMap<&String, &Value> =
        document["$defs"].as_object().into_iter().flatten().collect();
    for (name, schema) in types {
        for value in schema["oneOf"].as_array().into_iter().flatten() {
            let written =
                value["const"].as_str().expect("enumerations are texts, each with its comment");
            out += &format!("| {name} | `{written}` | {} |\n", cell(&value["description"]));
        }
    }
    out
}

/// The table of all quantities.
pub fn quantities() -> String {
    let mut out = "| quantity | unit | better | what it is |\n|---|---|---|---|\n".to_string();
    for q in QUANTITIES {
        let better = if q.smaller_is_better { "smaller" } else { "larger" };
        out += &format!("| `{}` | {} | {better} | {} |\n", q.key, q.unit, q.about);
    }
    out
}

fn document() -> Value {
    schema::run_schema().to_value()
}

/// A text as the cell of a table has it.
fn cell(text: &Value) -> String {
    text.as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flat_map(Map::iter)
}

/// The document's objects in the order in which their fields come, each type once.
fn objects(document: &Value) -> Vec<Object> {
    let mut found = Vec::new();
    collect(document, document, "run", "Run", &mut found);
    found
}

fn collect(document: &Value, schema: &Value, place: &str, name: &str, found: &mut Vec<Object>) {
    if let Some(known) = found.iter_mut().find(|known| !name.is_empty() && known.name == name) {
        known.places.push(place.to_string());
        return;
    }
    if schema.get("properties").is_some() {
        let places = vec![place.to_string()];
        found.push(Object { places, name: name.to_string(), schema: schema.clone() });
    }
    for (field, schema) in properties(schema) {
        let below = if place == "run" { field.clone() } else { format!("{place}.{field}") };
        within(document, schema, &below, "", found);
    }
}

/// The objects that a field has or that its elements are.
fn within(document: &Value, schema: &Value, place: &str, name: &str, found: &mut Vec<Object>) {
    if let Some(name) = type_name(schema) {
        within(document, &document["$defs"][name], place, name, found);
    } else if let Some(elements) = schema.get("items") {
        within(document, elements, &format!("{place}[]"), "", found);
    } else if let Some(choices) = schema["anyOf"].as_array() {
        choices.iter().for_each(|choice| within(document, choice, place, "", found));
    } else if schema.get("properties").is_some() {
        collect(document, schema, place, name, found);
    }
}

fn type_name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|to| to.strip_prefix("#/$defs/"))
}

/// What a table says of the type of a field: `number, s, or null`.
fn kind_of_field(document: &Value, object: &Object, name: &str, field: &Value) -> String {
    let (mut kind, mut is_nullable) = (Vec::new(), false);
    for one in kinds(document, field) {
        if one == "null" { is_nullable = true } else { kind.push(one) }
    }
    let mut kind = kind.join(" or ");
    let end = UNITS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, unit)| *unit);
    let is_number = kind.contains("whole") || kind.contains("number");
    if let Some(unit) = unit_of_type(field).or(end).filter(|_| is_number) {
        kind += &format!(", {unit}");
    }
    let required = object.schema["required"].as_array();
    if !required.is_some_and(|names| names.iter().any(|known| known == name)) {
        kind + "; may be absent"
    } else if is_nullable {
        kind + "; or null"
    } else {
        kind
    }
}

fn unit_of_type(field: &Value) -> Option<&'static str> {
    let choices = field["anyOf"].as_array().map_or(std::slice::from_ref(field), Vec::as_slice);
    choices.iter().find_map(|choice| match type_name(choice)? {
        "Bytes" => Some("bytes"),
        "Secs" => Some("s"),
        _ => None,
    })
}

/// The words for a type; several where it is one of them.
fn kinds(document: &Value, schema: &Value) -> Vec<String> {
    if let Some(name) = type_name(schema) {
        let named = &document["$defs"][name];
        let is_enumeration = named.get("oneOf").is_some();
        return if is_enumeration {
            vec![format!("[{name}](#values)")]
        } else {
            kinds(document, named)
        };
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().flat_map(|choice| kinds(document, choice)).collect();
    }
    let names =
        schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    let word = |name: &Value| match name.as_str().expect("a type has a name") {
        "array" => format!("list of {}", kinds(document, &schema["items"]).join(" or ")),
        "boolean" => "bool".to_string(),
        "integer" => "whole".to_string(),
        "string" => "text".to_string(),
        other => other.to_string(),
    };
    names.iter().map(word).collect()
}

#[cfg(test)]
mod tests;
