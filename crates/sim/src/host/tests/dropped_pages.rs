//! Pages dropped from the page cache: those that lie wholly in the range, as `POSIX_FADV_DONTNEED` has it.

use super::over;
use crate::device::{RequestKind, SimDevice};
use crate::host::*;
use crate::testing::{TestDrive, request, run_all};

const PAGE: u64 = PAGE_BYTES;

#[test]
fn partly_covered_page_stays() {
    for (offset, len, dropped) in [
        (PAGE, 2 * PAGE, &[1, 2][..]),
        (PAGE + 1, 2 * PAGE, &[2][..]),
        (PAGE, 2 * PAGE + 100, &[1, 2][..]),
        (PAGE, 2 * PAGE - 1, &[1][..]),
        (PAGE + 1, PAGE - 1, &[][..]),
    ] {
        let mut cache = over(TestDrive::disk(), &HostParams::default());
        cache.submit(0, request(1, RequestKind::Read, 0, 5 * PAGE));
        run_all(&mut cache);
        cache.evict(offset, len);
        let gone: Vec<u64> = (0..5).filter(|page| !cache.is_cached(page * PAGE)).collect();
        assert_eq!(gone, dropped, "{len} bytes at {offset}");
    }
}
