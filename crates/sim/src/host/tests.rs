//! Tests of the page cache and the file system, over drives whose truth is known.

mod cache_limits;
mod page_cache;
mod read_ahead;

use crate::device::Nanos;
use crate::host::{HostParams, PageCache};
use crate::testing::TestDrive;

const MS: Nanos = 1_000_000;
const S: Nanos = 1_000 * MS;

type Cache = PageCache<TestDrive>;

fn over(drive: TestDrive, params: &HostParams) -> Cache {
    PageCache::new(params, drive).expect("valid parameters")
}

fn drive(cache: &Cache) -> &TestDrive {
    cache.inner()
}
