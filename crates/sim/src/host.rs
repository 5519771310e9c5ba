//! The host: the page cache with read-ahead and write-back, and a file system with one file or many.
//!
//! ```text
//! PageCache           pages, read-ahead, write-back, sync
//!   OneFileSystem     a file and its journal; or ManyFileSystem; or nothing: a block device's cache
//!     a drive         (or a Link over a drive)
//! ```
//!
//! Each layer is a device.

mod block_allocator;
pub mod file_system;
pub mod file_table;
mod flushing;
pub mod journaled;
pub mod page_cache;
mod page_places;
mod pages;
pub mod params;
mod ranges;
pub mod readahead;
mod reading;
pub mod writeback;
mod writing;

pub use file_system::OneFileSystem;
pub use file_table::{FileTable, ManyFileSystem};
pub use page_cache::PageCache;
pub use params::{HostParams, PAGE_BYTES};

#[cfg(test)]
mod tests;
