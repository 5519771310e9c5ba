//! The cleaning left after a TRIM of part of a shingled band.

use crate::hdd::smr::Shingles;

#[test]
fn partly_trimmed_broken_band_is_still_cleaned() {
    // bands of 100 sectors after a log of 1000
    for (trimmed, clean) in [(1075..1100, false), (1050..1100, false), (1000..1100, true)] {
        let mut shingles = Shingles::new(1000, 100, 50);
        shingles.write_direct(1000, 1050);
        shingles.write_direct(1300, 1400);
        assert!(!shingles.is_clean(), "the stream broke off in the first band");
        shingles.trim(trimmed.start, trimmed.end);
        assert_eq!(shingles.is_clean(), clean, "{trimmed:?}");
    }
}
