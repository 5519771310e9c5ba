//! The host: the page cache with read-ahead and write-back, and a file system with one file.
//!
//! ```text
//! PageCache           pages, read-ahead, write-back, sync
//!   OneFileSystem     a file and its journal; or nothing: a block device's cache
//!     a drive         (or a Link over a drive)
//! ```
//!
//! Each layer is a device.

pub mod file_system;
mod flushing;
pub mod page_cache;
mod pages;
pub mod params;
mod ranges;
pub mod readahead;
mod reading;
pub mod writeback;
mod writing;

pub use file_system::OneFileSystem;
pub use page_cache::PageCache;
pub use params::{HostParams, PAGE_BYTES};

#[cfg(test)]
mod tests;
