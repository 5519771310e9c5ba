//! `smart=BEFORE.json,AFTER.json`: the health of a simulated drive, as smartctl printed it of a real one.

use super::model_file::text_of_at_most;
use drivescope_machine::list::health_in;
use drivescope_machine::roots::open_to_read;
use drivescope_model::health::Health;
use drivescope_model::shortened::{shortened, shortened_path};
use rustix::fs::OFlags;
use std::fs::File;
use std::path::Path;

/// Largest report that is read; that of a drive with every log takes a tenth of it.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// What the drive reports before a run, and after it.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedHealth {
    pub before: Health,
    pub after: Health,
}

/// Reads one file, or one for the time before a run and one for after it.
/// Errors (one line): a file cannot be read, or is not smartctl's JSON.
pub(super) fn read(value: &str) -> Result<SimulatedHealth, String> {
    let (before, after) = value.split_once(',').unwrap_or((value, value));
    Ok(SimulatedHealth { before: health(before)?, after: health(after)? })
}

fn health(name: &str) -> Result<Health, String> {
    let shown = shortened_path(name);
    let unreadable = |error: std::io::Error| format!("smart={shown} cannot be read: {error}");
    let path = Path::new(name);
    // looked at before it is opened: opening a pipe waits, and opening a drive can wake it
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(format!("smart={shown} is not a regular file"));
    }
    let file = open_to_read(path, OFlags::NONBLOCK).map_err(|error| unreadable(error.into()))?;
    let bytes = text_of_at_most(File::from(file), FILE_MAX_BYTES).map_err(unreadable)?;
    bytes.and_then(|bytes| health_in(&bytes)).ok_or_else(|| {
        let name = shortened(name);
        format!("smart={name} is not the JSON of smartctl; write it with smartctl --json -x DRIVE")
    })
}

#[cfg(test)]
mod tests {
    use super::super::spec::Spec;

    #[test]
    fn drive_reports_the_health_in_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_string()
        };
        let before =
            file("a.json", r#"{"smart_status":{"passed":true},"temperature":{"current":31}}"#);
        let after = file("b.json", r#"{"smart_status":{"passed":false}}"#);
        let spec = Spec::parse(&format!("sim:wd40efrx?smart={before},{after}")).unwrap();
        let drive = spec.drive();
        assert_eq!((drive.health.passed, drive.temperature_c), (Some(true), Some(31.0)));
        assert_eq!(spec.smart.unwrap().after.passed, Some(false));
        let same = Spec::parse(&format!("sim:wd40efrx?smart={before}")).unwrap().smart.unwrap();
        assert_eq!(same.before, same.after);
        let served = Spec::parse(&format!("sim:wd40efrx?smart={before}")).unwrap();
        let error = served.build_for_real_time().err().unwrap().to_string();
        assert!(error.contains("virtual time only"), "{error}");
        let text = file("c.txt", "smartctl 7.4");
        for (value, words) in [
            (text.as_str(), "smartctl --json -x"),
            ("/absent.json", "smart=/absent.json cannot be read"),
            ("/dev/null", "not a regular file"),
        ] {
            let error = Spec::parse(&format!("sim:wd40efrx?smart={value}")).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
    }
}
