//! What f3write and f3read print: rates, and bytes by what became of them. Their units are binary (`MB` is 2^20
//! bytes); a sector has 512 bytes.

use super::FormatError;
use super::controls;
use super::imported_run::{ImportedRun, Rounds, VERIFY};
use drivescope_model::document::{Run, TestStatus};
use drivescope_model::plan::Engine;
use drivescope_model::units::Bytes;
use jiff::Timestamp;

const SECTOR_BYTES: f64 = 512.0;
/// Rates by the end of their name; older versions lack the word before.
const RATES: [(&str, &str); 2] = [("writing speed", "write"), ("reading speed", "read")];
/// What f3read counts, and the quantities of `verify` that mean it.
const SECTORS: [(&str, &str); 4] = [
    ("Data OK", "intact_bytes"),
    ("Corrupted", "lost_bytes"),
    ("Slightly changed", "changed_bytes"),
    ("Overwritten", "overwritten_bytes"),
];

/// `None`: the text is not from f3.
pub fn run(text: &str) -> Result<Option<Run>, FormatError> {
    let text = controls::without(&text.replace('\r', "\n"));
    let (mut rounds, mut lost_bytes) = (Rounds::new(), 0.0);
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    for (name, value) in lines.map(|(name, value)| (name.trim(), value.trim())) {
        let is_rate = |(end, _): &&(&str, &str)| name.to_ascii_lowercase().ends_with(*end);
        if let (Some((_, cell)), Some(mb_s)) = (RATES.iter().find(is_rate), rate_mb_s(value)) {
            rounds.entry((cell.to_string(), "mb_s")).or_default().push(mb_s);
        }
        let quantity = SECTORS.iter().find(|(known, _)| *known == name);
        if let (Some((_, quantity)), Some(bytes)) = (quantity, sectors_bytes(value)) {
            let is_lost = *quantity != "intact_bytes";
            lost_bytes += if is_lost { bytes } else { 0.0 };
            rounds.entry(("read".to_string(), quantity)).or_default().push(bytes);
        }
    }
    if rounds.is_empty() {
        return Ok(None);
    }
    let is_unread = text.contains("Not all data was read");
    let lost = (lost_bytes > 0.0)
        .then(|| format!("f3read found {} that did not read back", Bytes(lost_bytes as u64)));
    let unread = is_unread.then(|| "f3read could not read all data".to_string());
    let reasons: Vec<String> = lost.into_iter().chain(unread).collect();
    Ok(Some(
        ImportedRun {
            test: VERIFY,
            tool: "f3",
            version: version(&text),
            identity: &text,
            started: Timestamp::default(),
            elapsed_s: 0.0,
            status: if is_unread { TestStatus::Failed } else { TestStatus::Done },
            reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
            note: Some("the text has no date, and does not name the drive".to_string()),
            host: "",
            path: "unknown",
            engine: Engine::Auto,
        }
        .with(rounds),
    ))
}

/// Of `F3 read 8.0`.
fn version(text: &str) -> &str {
    let of = |line| match str::split_whitespace(line).collect::<Vec<_>>()[..] {
        ["F3" | "f3", "read" | "write", version] => Some(version),
        _ => None,
    };
    text.lines().find_map(of).unwrap_or("unknown")
}

/// Of `18.84 MB/s`, in units of 10^6 bytes.
fn rate_mb_s(value: &str) -> Option<f64> {
    let (number, unit) = value.strip_suffix("/s")?.split_once(' ')?;
    let power = ["Byte", "KB", "MB", "GB", "TB"].iter().position(|known| *known == unit)?;
    Some(number.parse::<f64>().ok()? * 1024_f64.powi(power as i32) / 1e6)
}

/// Of `29.71 GB (62309312 sectors)`.
fn sectors_bytes(value: &str) -> Option<f64> {
    let sectors = value.split_once('(')?.1.strip_suffix(" sectors)")?;
    Some(sectors.parse::<u64>().ok()? as f64 * SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::super::from_file;
    use drivescope_model::document::TestStatus;

    const READ: &str = "F3 read 8.0\n\nCopyright (C) 2010\n\n                  SECTORS      ok/corrupted/changed/\
                        overwritten\nValidating file 1.h2w ... 2097152/        0/      0/      0\n\n  \
                        Data OK: 1.00 GB (2097152 sectors)\nData LOST: 0.00 Byte (0 sectors)\n\t       \
                        Corrupted: 0.00 Byte (0 sectors)\n\tSlightly changed: 0.00 Byte (0 sectors)\n\t     \
                        Overwritten: 0.00 Byte (0 sectors)\nAverage reading speed: 100.00 MB/s\n";

    #[test]
    fn rates_and_sectors_of_f3_are_those_of_verify() {
        let both = format!("F3 write 8.0\n\nAverage writing speed: 10.00 MB/s\n{READ}");
        let run = from_file(&both).unwrap().remove(0);
        let value = |key: &str| run.metric(&format!("verify.{key}")).map(|metric| metric.value);
        assert_eq!(value("write.mb_s"), Some(10.48576));
        assert_eq!(value("read.mb_s"), Some(104.8576));
        assert_eq!(value("read.intact_bytes"), Some(1_073_741_824.0));
        assert_eq!(value("read.lost_bytes"), Some(0.0));
        let head = (run.tool.name.as_str(), run.tool.version.as_str(), run.status);
        assert_eq!(head, ("f3", "8.0", TestStatus::Done));
        assert_eq!(run.tests[0].reason, None);
    }

    #[test]
    fn lost_sectors_and_read_errors_are_named() {
        let lost =
            READ.replace("Overwritten: 0.00 Byte (0 sectors)", "Overwritten: 1 MB (2048 sectors)");
        let run = from_file(&lost).unwrap().remove(0);
        let reason = run.tests[0].reason.as_deref();
        assert_eq!(reason, Some("f3read found 1.05 MB that did not read back"));
        let unread = format!("{READ}WARNING: Not all data was read due to I/O error(s)\n");
        assert_eq!(from_file(&unread).unwrap()[0].status, TestStatus::Failed);
    }
}
