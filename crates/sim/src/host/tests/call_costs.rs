//! The cost of a call that needs no drive: the system call, each page, and the copy.

use super::over;
use crate::device::{Nanos, RequestKind, SimDevice};
use crate::host::*;
use crate::testing::{TestDrive, request, run_all};

#[test]
fn warm_call_takes_system_call_pages_and_copy() {
    let params = HostParams {
        syscall_us: 1.0,
        read_path_us: 2.0,
        write_path_us: 4.0,
        page_us: 0.5,
        copy_gb_s: 4.0,
        ..HostParams::default()
    };
    let mut cache = over(TestDrive::disk(), &params);
    let mut now = 0;
    let mut call = |op: RequestKind, offset: u64, len: u64| -> Nanos {
        cache.submit(now, request(1, op, offset, len));
        let began = now;
        now = run_all(&mut cache).last().expect("it returns").at;
        now - began
    };
    call(RequestKind::Read, 0, 1 << 20);
    // 1024 ns for the 4096 bytes of a page
    assert_eq!(call(RequestKind::Read, 0, 4096), 3_000 + 500 + 1_024);
    assert_eq!(call(RequestKind::Read, 0, 1 << 20), 3_000 + 256 * (500 + 1_024));
    assert_eq!(call(RequestKind::Write, 8192, 4096), 5_000 + 500 + 1_024);
    // two pages, of which 1000 and 1000 bytes
    assert_eq!(call(RequestKind::Read, 4096 - 1000, 2000), 3_000 + 2 * (500 + 250));
}
