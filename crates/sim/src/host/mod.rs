//! The host: the page cache with read-ahead and write-back, and a small extent file system.
//!
//! ```text
//! FileTarget           files by name, buffered or direct, in the order of one caller's system calls
//!   PageCache          pages, read-ahead, write-back, sync       (also over Raw: a block device's cache)
//!     FileSystem       files → extents, block groups, journal
//!       a drive        (or a Link over a drive)
//! ```
//!
//! Each layer is a device. [`page_cache`] works on a linear address space of pages; over [`backing::RawDevice`]
//! that is the drive itself, over [`file_system::ExtentFileSystem`] each file has its own stretch of addresses and gets
//! its place on the drive when it is written back (delayed allocation).

pub mod aged_files;
pub mod backing;
pub mod file_system;
pub mod file_target;
pub mod files;
mod flushing;
pub mod fs_params;
pub mod groups;
pub mod page_cache;
mod pages;
pub mod params;
mod ranges;
pub mod readahead;
mod reading;
pub mod writeback;
mod writing;

pub use aged_files::Aging;
pub use backing::{CacheBacking, RawDevice};
pub use file_system::{ExtentFileSystem, FILE_SPAN};
pub use file_target::{FileTarget, Mode};
pub use files::{DirId, FileError, FileId, Files, ROOT};
pub use fs_params::FsParams;
pub use page_cache::PageCache;
pub use params::{HostParams, PAGE_BYTES};

#[cfg(test)]
mod tests;
