//! Where a run lies among partitions of the kind that Hive began: `model=…/month=2026-11`.

use drivescope_model::Run;

/// The name of a missing value, which DuckDB and others read as NULL.
const MISSING: &str = "__HIVE_DEFAULT_PARTITION__";
/// Longer names are cut: file systems take 255 bytes.
const NAME_MAX: usize = 200;

/// The folder of a run, by the model of its drive and the month of its start in UTC. It leads nowhere else, whatever a
/// drive calls itself: letters other than a-z, A-Z, digits, `-`, `_`, `.` are escaped as in URLs, which readers undo.
pub fn partition_of(run: &Run) -> String {
    let model = run.drive.as_ref().and_then(|drive| drive.model.as_deref());
    let model = model.map_or_else(|| MISSING.to_string(), escaped);
    let start = run.started_at.parse::<jiff::Timestamp>();
    let month =
        start.map_or_else(|_| MISSING.to_string(), |start| start.strftime("%Y-%m").to_string());
    format!("model={model}/month={month}")
}

fn escaped(text: &str) -> String {
    let mut name = String::new();
    // A letter is escaped as a whole, so that none is cut in two.
    for letter in text.chars() {
        let part: String = if letter.is_ascii_alphanumeric() || "-_.".contains(letter) {
            letter.to_string()
        } else {
            letter.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
        };
        if name.len() + part.len() > NAME_MAX {
            break;
        }
        name += &part;
    }
    if name.is_empty() { MISSING.to_string() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hard_disk;

    #[test]
    fn partitions_lead_nowhere_else() {
        let mut run = hard_disk();
        run.started_at = "2026-12-01T00:30:00+01:00".to_string();
        for (model, folder) in [
            (Some("WDC WD40EFRX-68N32N0"), "WDC%20WD40EFRX-68N32N0"),
            (Some("../../etc"), "..%2F..%2Fetc"),
            (Some("a/b\0\n=\u{1b}ü"), "a%2Fb%00%0A%3D%1B%C3%BC"),
            (Some(""), MISSING),
            (None, MISSING),
        ] {
            run.drive.as_mut().unwrap().model = model.map(str::to_string);
            assert_eq!(partition_of(&run), format!("model={folder}/month=2026-11"));
        }
        run.drive.as_mut().unwrap().model = Some("é".repeat(5_000));
        let long = partition_of(&run);
        assert!(long.len() < 230 && long.split('/').all(|part| part.len() < 255), "{long}");
        assert!(long.contains("%A9/month"), "cut between escapes: {long}");
    }
}
