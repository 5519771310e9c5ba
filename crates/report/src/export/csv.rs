//! The figures of runs as CSV: RFC 4180, a line for each metric, and for each figure of the drive's health.

use crate::health_facts::health_figures;
use crate::terminal::clean;
use drivescope_model::Run;
use drivescope_model::drive::Drive;
use drivescope_model::health::Health;

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
    for (when, health) in healths(run) {
        for (name, value, unit) in health_figures(health) {
            let key = format!("health.{name}.{when}");
            let value = value.to_string();
            let fields: [&str; 9] =
                [&run.id, drive.trim(), "health", &key, &value, &value, &value, unit, ""];
            out += &fields.map(quoted).join(",");
            out += &format!(",true,{about_run}\r\n");
        }
    }
    out
}

/// What the drive reported of itself, before the run and after it.
fn healths(run: &Run) -> impl Iterator<Item = (&'static str, &Health)> {
    let before = run.drive.as_ref().map(|drive| ("before", &drive.health));
    before.into_iter().chain(run.health_after.as_ref().map(|health| ("after", health)))
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
    use crate::testing::{hard_disk, must_have, worn_disk_health};
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
    fn health_before_and_after_has_lines() {
        let mut run = hard_disk();
        run.drive.as_mut().unwrap().health = worn_disk_health();
        let mut after = worn_disk_health();
        after.crc_errors = Some(15);
        run.health_after = Some(after);
        let table = metrics_csv(&[run]);
        must_have(
            &table,
            &[
                ",health,health.crc_errors.before,12,12,12,1,,true,",
                ",health,health.crc_errors.after,15,15,15,1,,true,",
                ",health,health.written_bytes.before,32006340608000,",
            ],
        );
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
