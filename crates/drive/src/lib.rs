//! Everything that touches a device: what drives there are, what a target is, and the handles through
//! which tests read and write.
//!
//! This is the only crate of the workspace that opens anything for writing (besides the store's own
//! data folder). A writable [`io_file::IoFile`] comes from [`own_folder::OwnFolder`], a
//! [`gate::RawDisk`] from [`gate::claim`], and neither from anywhere else.

mod backing_file;
pub mod cache;
pub mod counters;
pub mod direct;
pub mod document_file;
pub mod error;
pub mod filesystem;
pub mod gate;
mod holes;
pub mod host;
pub mod io_file;
pub mod journal;
pub mod limits;
pub mod list;
pub mod mounts;
pub mod own_folder;
pub mod processors;
pub mod roots;
pub mod serve;
pub mod simulated;
pub mod stack;
pub mod target;

pub use error::{DriveError, ErrorKind};
pub use io_file::IoFile;
pub use own_folder::OwnFolder;
pub use roots::Roots;
pub use target::Target;
