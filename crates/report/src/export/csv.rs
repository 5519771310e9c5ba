//! The figures of runs as CSV: RFC 4180, a line for each metric.

use crate::terminal::clean;
use drivescope_model::Run;
use drivescope_model::drive::Drive;

/// What is the same in all lines of a run comes last.
const HEAD: &str = "run,drive,test,metric,value,low,high,unit,rounds,valid,\
                    label,model,serial,capacity_bytes,price,currency,suite,seed,simulated,started_at";

/// Every metric of every test, with its interval and rounds (separated by blanks).
pub fn metrics_csv(runs: &[Run]) -> String {
    let lines = runs.iter().map(lines).collect::<String>();
    format!("{HEAD}\r\n{lines}")
}

fn lines(run: &Run) -> String {
    let drive =
        run.drive.as_ref().and_then(|drive| drive.model.as_deref()).unwrap_or(&run.target.path);
    let about_run = about_run(run);
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
            out += &format!(",{about_run}\r\n");
        }
    }
    out
}

/// Unknown fields are empty.
fn about_run(run: &Run) -> String {
    let drive = run.drive.as_ref();
    let of_drive = |field: fn(&Drive) -> Option<&String>| drive.and_then(field).cloned();
    let price = run.price.as_ref();
    let fields = [
        run.label.clone(),
        of_drive(|drive| drive.model.as_ref()),
        of_drive(|drive| drive.serial.as_ref()),
        drive.map(|drive| drive.capacity_bytes.to_string()),
        price.map(|price| price.amount.to_string()),
        price.map(|price| price.currency.clone()),
        Some(run.plan.suite.name.clone()),
        Some(run.plan.seed.to_string()),
        Some(run.simulated.to_string()),
        Some(run.started_at.clone()),
    ];
    fields.map(|field| quoted(field.unwrap_or_default().trim())).join(",")
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
    use crate::testing::hard_disk;
    use drivescope_model::units::Price;

    #[test]
    fn every_line_carries_run_and_drive() {
        let price = Some(Price { amount: 104.5, currency: "EUR".to_string() });
        let mut run = Run { label: Some("old, left".to_string()), price, ..hard_disk() };
        run.plan.seed = u64::MAX;
        let table = metrics_csv(&[run.clone()]);
        let columns = HEAD.split(',').count();
        assert!(
            table.lines().all(|line| line.replace("old, left", "").split(',').count() == columns),
            "{table}"
        );
        let drive = run.drive.take().unwrap();
        let about = format!(
            ",\"old, left\",{},{},{},104.5,EUR,quick,{},false,{}",
            drive.model.unwrap(),
            drive.serial.unwrap(),
            drive.capacity_bytes,
            u64::MAX,
            run.started_at
        );
        assert!(table.lines().skip(1).all(|line| line.ends_with(&about)), "{about}\n{table}");
        (run.price, run.label) = (None, None);
        let bare = metrics_csv(&[run]);
        assert!(bare.lines().nth(1).unwrap().contains(",true,,,,,,,quick,"), "{bare}");
    }

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
