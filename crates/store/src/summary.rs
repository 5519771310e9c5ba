//! What `drivescope runs` shows of each run, and which runs it shows.

use serde::Serialize;

/// Which runs to list; the default is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// A part of the drive's model, serial number or kernel name, or of the target. Case does not
    /// matter for the letters A–Z.
    pub drive: Option<String>,
    /// The whole label; case does not matter for the letters A–Z. Not a part of it: labels divide
    /// runs into groups, and `disk1` must not catch `disk10`.
    pub label: Option<String>,
    /// At most so many, the newest.
    pub limit: Option<u32>,
}

impl Filter {
    /// The pattern for `LIKE … ESCAPE '!'` that the drive or the target must match.
    pub(crate) fn drive_pattern(&self) -> String {
        let mut pattern = String::from("%");
        for letter in self.drive.as_deref().unwrap_or_default().chars() {
            if matches!(letter, '%' | '_' | '!') {
                pattern.push('!');
            }
            // As SQLite's LOWER does: the letters A–Z only.
            pattern.push(letter.to_ascii_lowercase());
        }
        if pattern.len() > 1 {
            pattern.push('%');
        }
        pattern
    }

    /// The label as it is compared.
    pub(crate) fn label_lower(&self) -> Option<String> {
        self.label.as_deref().map(str::to_ascii_lowercase)
    }

    /// Most rows to return.
    pub(crate) fn rows(&self) -> i64 {
        self.limit.map_or(i64::MAX, i64::from)
    }
}

/// A run in one line. It is made without reading the document, so that runs whose document this
/// program cannot read are listed too.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Twelve hexadecimal digits.
    pub id: String,
    /// When it began, RFC 3339 with the time zone, as the document has it.
    pub started_at: String,
    /// Seconds it took.
    pub elapsed_s: f64,
    /// The user's label.
    pub label: Option<String>,
    /// Name of the suite.
    pub suite: String,
    /// Path of the target.
    pub target: String,
    /// Kernel name of the drive, when one is known.
    pub drive_name: Option<String>,
    /// Its model.
    pub drive_model: Option<String>,
    /// Its serial number.
    pub drive_serial: Option<String>,
    /// How it ended: `done`, `skipped`, `failed`, `interrupted`.
    pub status: String,
    /// Whether the drive is a simulated one.
    pub simulated: bool,
    /// Format of the document.
    pub format: u32,
    /// The best valid sequential read of `transfer`, in MB/s.
    pub seq_read_mb_s: Option<f64>,
    /// The best valid sequential write of `transfer`, in MB/s.
    pub seq_write_mb_s: Option<f64>,
    /// Valid random reads of 4 KiB at depth 1 of `transfer`, per second.
    pub rnd4k_q1t1_read_iops: Option<f64>,
    /// How many numbers of the run are marked invalid.
    pub invalid_metrics: u64,
    /// Key of the first valid number that says most of a test, in the order of the document.
    pub headline_key: Option<String>,
    /// That number.
    pub headline_value: Option<f64>,
    /// Its unit.
    pub headline_unit: Option<String>,
}

impl RunSummary {
    /// The drive in words: its model, or its kernel name, if either is known.
    pub fn drive(&self) -> Option<&str> {
        self.drive_model.as_deref().or(self.drive_name.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_take_wildcards_literally() {
        for (drive, pattern) in [
            (None, "%"),
            (Some(""), "%"),
            (Some("WD20EARS"), "%wd20ears%"),
            (Some("100%_!x"), "%100!%!_!!x%"),
            (Some("GRÖSSE"), "%grÖsse%"),
        ] {
            let filter = Filter { drive: drive.map(Into::into), ..Filter::default() };
            assert_eq!(filter.drive_pattern(), pattern);
        }
    }
}
