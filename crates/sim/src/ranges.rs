//! Tables of the least and the most that each number of a model may be.

use crate::param_problem::Problems;
use serde::Serialize;
use toml::Value;

/// Paths of numbers below a table, the least and the most that each may be, and their unit.
pub(crate) type Range = (&'static [&'static str], f64, f64, &'static str);

/// Notes the numbers of `params`, which is the table at `table` ("" for the model's own), that are outside their
/// ranges. A number that is left out has none; a list has one for each member. Numbers of `params` are below 2^63.
pub(crate) fn check(
    table: &str,
    params: &impl Serialize,
    ranges: &[Range],
    problems: &mut Problems,
) {
    let params = Value::try_from(params).expect("parameters are a table of TOML");
    let dot = if table.is_empty() { "" } else { "." };
    for &(paths, least, most, unit) in ranges {
        for path in paths {
            for number in numbers_at(&params, path) {
                problems.range(&format!("{table}{dot}{path}"), number, (least, most), unit);
            }
        }
    }
}

/// The numbers of a table at a path such as `queue.depth`: none where it is left out, several of a list.
fn numbers_at(table: &Value, path: &str) -> Vec<f64> {
    fn number(value: &Value) -> Option<f64> {
        value.as_float().or(value.as_integer().map(|whole| whole as f64))
    }
    let found = path.split('.').try_fold(table, |value, name| value.get(name));
    match found {
        Some(Value::Array(list)) => list.iter().filter_map(number).collect(),
        found => found.and_then(number).into_iter().collect(),
    }
}

/// The paths at which none of the tables has a number: misspelt ones would check nothing.
#[cfg(test)]
pub(crate) fn without_numbers(ranges: &[Range], tables: &[Value]) -> Vec<&'static str> {
    let paths = ranges.iter().flat_map(|&(paths, ..)| paths.iter().copied());
    paths.filter(|path| tables.iter().all(|table| numbers_at(table, path).is_empty())).collect()
}
