//! Tests of the page cache and the file system, over drives whose truth is known.

mod cache_limits;
mod call_costs;
mod dropped_pages;
mod file_growth;
mod files;
mod idle_and_aged;
mod page_cache;
mod placement;
mod read_ahead;
