//! phybs, as FreeBSD's tools/tools/phybs runs it (Dag-Erling Smørgrav, 2010): passes of strided accesses.

/// Bytes that a pass moves by default.
pub const PASS_BYTES: u64 = 128 << 20;

/// One pass: every fourth block of `size` bytes from `start` + `offset` on, `total` bytes in all.
pub fn pass(start: u64, size: u64, offset: u64, total: u64) -> impl Iterator<Item = u64> {
    (0..total / size).map(move |i| start + offset + i * 4 * size)
}

/// The passes as size and offset, bytes: sizes double from `min` to `max`; offsets are 0, then the
/// sector doubling while below the size.
pub fn passes(min: u64, max: u64, sector: u64) -> Vec<(u64, u64)> {
    let mut passes = Vec::new();
    let mut size = min;
    while size <= max {
        passes.push((size, 0));
        let mut offset = sector;
        while offset < size {
            passes.push((size, offset));
            offset *= 2;
        }
        size *= 2;
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phybs_makes_these_passes() {
        let all = passes(1024, 8192, 512);
        assert_eq!(all.len(), 14);
        assert_eq!(all[5..9], [(4096, 0), (4096, 512), (4096, 1024), (4096, 2048)]);
        assert_eq!(all[13], (8192, 4096));
        assert_eq!(passes(4096, 8192, 4096), [(4096, 0), (8192, 0), (8192, 4096)]);
        let places: Vec<u64> = pass(0, 4096, 512, PASS_BYTES).collect();
        assert_eq!((places.len(), places[1] - places[0]), (32_768, 16_384));
        assert_eq!(places[32_767], 512 + 32_767 * 16_384);
        // Beyond 32 bits nothing wraps.
        assert_eq!(pass(1 << 40, 1 << 30, 0, 8 << 30).nth(7), Some((1 << 40) + 28 * (1 << 30)));
    }
}
