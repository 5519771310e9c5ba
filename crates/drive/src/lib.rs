//! What the user named, and the handles through which tests read and write it.
//!
//! This is the only crate of the workspace that opens a target for writing (the store has its own
//! data folder). A writable [`io_file::IoFile`] comes from [`own_folder::OwnFolder`], a
//! [`gate::RawDisk`] from [`gate::claim`], and neither from anywhere else.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests make and damage files of their own")
)]

mod aligned_buffer;
pub mod direct_io;
pub mod document_file;
pub mod error;
pub mod export_folder;
pub mod gate;
mod holes;
pub mod io_file;
pub mod io_op;
mod joined_files;
pub mod journal;
pub mod own_folder;
pub mod page_cache;
pub mod simulated;
pub mod target;
pub mod test_data;

pub use error::{DriveError, ErrorKind};
pub use io_file::IoFile;
pub use own_folder::OwnFolder;
pub use target::Target;
