//! Tests of the page cache and the file system, over drives whose truth is known.

mod cache_limits;
mod call_costs;
mod dropped_pages;
mod page_cache;
mod read_ahead;
