//! What ioping prints at its end. Its text does not say whether requests were random, direct or cached, so its figures
//! have a cell of their own.

use super::FormatError;
use super::controls;
use super::imported_run::{ImportedRun, Rounds};
use drivescope_model::document::Run;
use drivescope_model::plan::Engine;
use drivescope_model::units::Bytes;

const END: &str = " ioping statistics ---";

/// `None`: the text is not from ioping. Errors: it lacks a line, or has several results.
pub fn run(text: &str) -> Result<Option<Run>, FormatError> {
    let text = controls::without(&text.replace('\r', ""));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let refuse = |why: &str| Err(FormatError::NotARun(format!("this text of ioping {why}")));
    let ends: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].ends_with(END)).collect();
    let [end] = ends[..] else {
        return if ends.is_empty() {
            Ok(None)
        } else {
            refuse("has several results; import a file for each")
        };
    };
    let after = || lines[end..].iter();
    let direction =
        after().find(|line| line.contains(" requests completed in ")).and_then(|line| {
            if line.contains(" read,") {
                Some("read")
            } else {
                line.contains(" written,").then_some("write")
            }
        });
    let times = after().find_map(|line| line.strip_prefix("min/avg/max/mdev = "));
    let times = times.and_then(|line| line.split('/').map(micros).collect::<Option<Vec<f64>>>());
    let (Some(direction), Some(&[_, mean_us, max_us, _])) = (direction, times.as_deref()) else {
        return refuse(
            "does not say whether it read or wrote, or has no times; use ioping 1.0 or later",
        );
    };
    let cell = format!("ioping{}.{direction}", request(&lines[..end]));
    let mut rounds = Rounds::new();
    let figures = [("iops", 1e6 / mean_us), ("lat_mean_us", mean_us), ("lat_max_us", max_us)];
    for (quantity, value) in figures.into_iter().filter(|(_, value)| value.is_finite()) {
        rounds.insert((cell.clone(), quantity), vec![value]);
    }
    let path = lines[end].trim_start_matches("--- ").trim_end_matches(END);
    let path = path.split(" (").next().unwrap_or(path);
    let undated = ImportedRun::undated("ioping", &text);
    Ok(Some(ImportedRun { path, engine: Engine::Threads, ..undated }.with(rounds)))
}

/// Size of the requests as in the names of cells: `4k` of `4 KiB <<< . (ext4 /dev/sda): request=1 time=78.3 us`;
/// empty where no request was printed.
fn request(lines: &[&str]) -> String {
    let line = lines.iter().find(|line| line.contains(" request=") && line.contains(" time="));
    let size = line.and_then(|line| line.split_once(" <<< ").or(line.split_once(" >>> ")));
    let bytes = size.and_then(|(size, _)| size.parse::<Bytes>().ok());
    bytes.map(Bytes::short).unwrap_or_default()
}

/// Of `307.7 us`.
fn micros(time: &str) -> Option<f64> {
    let (number, unit) = time.trim().split_once(' ')?;
    let unit_us = match unit {
        "ns" => 1e-3,
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "min" => 60e6,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit_us)
}

#[cfg(test)]
mod tests {
    use super::super::from_file;

    const READ: &str = "4 KiB <<< /dev/sda (block device 20 GiB): request=1 time=1.15 ms (warmup)\n\n\
                        --- /dev/sda (block device 20 GiB) ioping statistics ---\n\
                        9 requests completed in 22.5 ms, 36 KiB read, 400 iops, 1.56 MiB/s\n\
                        generated 10 requests in 6.00 s, 40 KiB, 1 iops, 4.44 KiB/s\n\
                        min/avg/max/mdev = 531.2 us / 2.50 ms / 23.7 ms / 12.5 ms\n";

    #[test]
    fn ioping_has_a_cell_of_its_own() {
        fn value(text: &str, key: &str) -> Option<f64> {
            let run = from_file(text).unwrap().remove(0);
            assert_eq!(run.target.path, "/dev/sda");
            run.metric(&format!("transfer.{key}")).map(|metric| metric.value)
        }
        assert_eq!(value(READ, "ioping4k.read.lat_mean_us"), Some(2500.0));
        assert_eq!(value(READ, "ioping4k.read.lat_max_us"), Some(23_700.0));
        assert_eq!(value(READ, "ioping4k.read.iops"), Some(400.0));
        let write = READ.replace("KiB read", "KiB written").replace("<<<", ">>>");
        assert_eq!(value(&write, "ioping4k.write.iops"), Some(400.0));
        let quiet = READ.split_once("\n\n").unwrap().1;
        assert_eq!(value(quiet, "ioping.read.iops"), Some(400.0));
    }

    #[test]
    fn unclear_results_of_ioping_are_refused() {
        for (text, why) in [
            (READ.replace("36 KiB read, ", ""), "read or wrote"),
            (READ.replace("2.50 ms", "2.50"), "no times"),
            (format!("{READ}{READ}"), "several results"),
        ] {
            let error = from_file(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
