//! The figures of runs as CSV: RFC 4180, a line for each metric.

use crate::terminal::clean;
use drivescope_model::Run;

const HEAD: &str = "run,drive,test,metric,value,low,high,unit,rounds,valid";

/// Every metric of every test, with its interval and rounds (separated by blanks).
pub fn metrics_csv(runs: &[Run]) -> String {
    let lines = runs.iter().map(lines).collect::<String>();
    format!("{HEAD}\r\n{lines}")
}

fn lines(run: &Run) -> String {
    let drive =
        run.drive.as_ref().and_then(|drive| drive.model.as_deref()).unwrap_or(&run.target.path);
    let mut out = String::new();
    for result in &run.tests {
        for metric in &result.metrics {
            let rounds: Vec<String> = metric.rounds.iter().map(f64::to_string).collect();
            let fields = [
                run.id.clone(),
                drive.trim().to_string(),
                result.test.to_string(),
                metric.key.clone(),
                metric.value.to_string(),
                metric.low.to_string(),
                metric.high.to_string(),
                metric.unit.clone(),
                rounds.join(" "),
                metric.valid.to_string(),
            ];
            out += &fields.map(|field| quoted(&field)).join(",");
            out += "\r\n";
        }
    }
    out
}

/// Quotes a field where needed and removes control characters. A text that a spreadsheet would take for a formula
/// begins with an apostrophe; numbers stay numbers.
fn quoted(field: &str) -> String {
    let is_formula =
        field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err();
    let field = clean(field);
    let field = if is_formula { format!("'{field}") } else { field.to_string() };
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_disarmed() {
        for (field, text) in [
            ("WD40EFRX", "WD40EFRX"),
            ("a, \"b\"", "\"a, \"\"b\"\"\""),
            ("=cmd()", "'=cmd()"),
            ("-1.5", "-1.5"),
            ("\tcmd\u{1b}[2J\n", "' cmd\u{fffd}[2J "),
        ] {
            assert_eq!(quoted(field), text);
        }
    }
}
