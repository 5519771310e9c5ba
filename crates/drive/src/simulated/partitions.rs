//! Partitions that a simulated drive shows: `partition=63,2048`, each to the beginning of the next.

use super::spec::SpecError;
use drivescope_model::drive::Partition;
use drivescope_model::shortened::shortened;

/// Unit of partition tables, whatever the drive's sectors are.
const SECTOR: u64 = 512;

/// First sectors out of `63,2048`. Errors: not ascending, or beyond the drive.
pub(super) fn starts(text: &str, capacity_bytes: u64) -> Result<Vec<u64>, SpecError> {
    let starts: Option<Vec<u64>> = text.split(',').map(|part| part.parse().ok()).collect();
    let sectors = capacity_bytes / SECTOR;
    let fits = |starts: &Vec<u64>| {
        starts.is_sorted_by(|a, b| a < b) && starts.iter().all(|&start| start < sectors)
    };
    starts.filter(fits).ok_or_else(|| {
        let wanted = "ascending first sectors on the drive, such as 63,2048";
        SpecError::Wrong(format!("partition={} is not a list of {wanted}", shortened(text)))
    })
}

/// The partitions of the drive `name` as the machine would describe them.
pub(super) fn described(
    starts: &[u64],
    name: &str,
    capacity_bytes: u64,
    reported_sector_bytes: u32,
) -> Vec<Partition> {
    // As the kernel names them: a number after a name that ends with one needs a letter between.
    let letter = if name.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
    let ends = starts.iter().skip(1).map(|start| start * SECTOR).chain([capacity_bytes]);
    let starts = starts.iter().map(|start| start * SECTOR);
    starts
        .zip(ends)
        .enumerate()
        .map(|(index, (start_bytes, end_bytes))| Partition {
            name: format!("{name}{letter}{}", index + 1),
            start_bytes,
            size_bytes: end_bytes - start_bytes,
            misaligned_bytes: start_bytes % u64::from(reported_sector_bytes.max(1)),
            content: None,
            mounts: Vec::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_follow_one_another_to_the_end() {
        let starts = starts("63,2048", 1 << 30).unwrap();
        let found = described(&starts, "wd20ears", 1 << 30, 4096);
        let names: Vec<&str> = found.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["wd20ears1", "wd20ears2"]);
        assert_eq!((found[0].start_bytes, found[0].misaligned_bytes), (32_256, 3584));
        assert_eq!(found[0].start_bytes + found[0].size_bytes, found[1].start_bytes);
        assert_eq!((found[1].misaligned_bytes, found[1].size_bytes), (0, (1 << 30) - (1 << 20)));
        assert_eq!(described(&starts, "pm871b-128", 1 << 30, 512)[0].name, "pm871b-128p1");
    }

    #[test]
    fn wrong_lists_say_what_is_wanted() {
        for text in ["", "x", "63,63", "2048,63", "-1", "2097152", "63,"] {
            let error = starts(text, 1 << 30).unwrap_err().to_string();
            assert!(error.contains("63,2048"), "{error}");
        }
    }
}
