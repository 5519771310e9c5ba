//! What `hdparm -t` prints: reads of 2 MiB in order, from the start of the device, for three seconds. Its `MB` is 2^20
//! bytes. With `--direct` that is a cell; without it the reads go through the page cache, a figure of its own.

use super::FormatError;
use super::controls;
use super::imported_run::{ImportedRun, Rounds};
use drivescope_model::document::Run;

const MIB: f64 = 1_048_576.0;
const DIRECT: &str = "seq2m_q1t1.read";
const BUFFERED: &str = "hdparm_buffered.read";

/// `None`: the text is not from hdparm. Errors: it has no rate, or several devices.
pub fn run(text: &str) -> Result<Option<Run>, FormatError> {
    let text = controls::without(&text.replace('\r', ""));
    let (mut rounds, mut devices, mut is_hdparm) = (Rounds::new(), Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(device) = line.strip_suffix(':').filter(|name| name.starts_with("/dev/")) {
            devices.push(device);
        }
        let Some((kind, figures)) = line.strip_prefix("Timing ").and_then(|it| it.split_once(": "))
        else {
            continue;
        };
        is_hdparm = true;
        // An offset says where; reads from the cache (-T) say nothing of the drive.
        let cell = match kind.trim() {
            "O_DIRECT disk reads" => DIRECT,
            "buffered disk reads" => BUFFERED,
            _ => continue,
        };
        if let Some(mb_s) = rate_mb_s(figures) {
            rounds.entry((cell.to_string(), "mb_s")).or_default().push(mb_s);
        }
    }
    devices.dedup();
    let refuse = |why: &str| Err(FormatError::NotARun(format!("this text of hdparm {why}")));
    match (is_hdparm, rounds.is_empty(), devices.len()) {
        (false, ..) => Ok(None),
        (_, true, _) => refuse("has no rate of reads from the start of a disk (hdparm -t)"),
        (_, _, 2..) => refuse("has several devices; import a file for each"),
        _ => Ok(Some(imported(&text, devices.first().copied(), rounds))),
    }
}

fn imported(text: &str, device: Option<&str>, rounds: Rounds) -> Run {
    let undated = ImportedRun::undated("hdparm", text);
    ImportedRun { path: device.unwrap_or(undated.path), ..undated }.with(rounds)
}

/// Of `414 MB in  3.01 seconds = 137.55 MB/sec`, in units of 10^6 bytes.
fn rate_mb_s(figures: &str) -> Option<f64> {
    let (number, unit) = figures.split_once('=')?.1.trim().split_once(' ')?;
    let bytes = match unit.trim() {
        "MB/sec" => MIB,
        "kB/sec" => 1024.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * bytes / 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::from_file;

    #[test]
    fn megabytes_of_hdparm_are_binary() {
        let text = "\n/dev/sda:\n Timing cached reads:   9000 MB in  2.00 seconds = 4500.00 MB/sec\n \
                    Timing buffered disk reads: 300 MB in  3.00 seconds = 100.00 MB/sec\n";
        let run = from_file(text).unwrap().remove(0);
        let keys: Vec<&str> = run.tests[0].metrics.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, ["transfer.hdparm_buffered.read.mb_s"]);
        assert_eq!(run.tests[0].metrics[0].value, 104.8576);
        assert_eq!(run.target.path, "/dev/sda");
        let direct =
            text.replace("buffered disk", "O_DIRECT disk").replace("100.00 MB", "512.00 kB");
        let run = from_file(&direct).unwrap().remove(0);
        let metric = run.metric("transfer.seq2m_q1t1.read.mb_s").map(|it| it.value);
        assert_eq!(metric, Some(0.524288));
    }

    #[test]
    fn other_timings_are_refused() {
        let line = " Timing buffered disk reads: 300 MB in  3.00 seconds = 100.00 MB/sec\n";
        for (text, why) in [
            (
                " Timing cached reads:   9 MB in  2.00 seconds = 4.50 MB/sec\n".to_string(),
                "no rate",
            ),
            (line.replace("reads:", "reads (offset 100 GB):"), "from the start"),
            (format!("/dev/sda:\n{line}\n/dev/sdb:\n{line}"), "several devices"),
        ] {
            let error = from_file(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
