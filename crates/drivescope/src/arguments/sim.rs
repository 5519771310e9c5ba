//! Arguments of `sim`: its commands, and those of `sim mount` and `sim reproduce`.

use super::{ListArguments, RunArguments};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// What to do with simulated drives.
#[derive(Debug, Subcommand)]
pub enum SimCommand {
    /// List the built-in models.
    List(ListArguments),
    /// Show a model's file: every parameter and its source. Checks a file of your own.
    ///
    /// A file of your own is checked before it is printed; on a mistake the exit code is 2, and the message names
    /// its line and field.
    Show {
        /// Name of a model (drivescope sim list), or a TOML file: whatever contains a / or ends in .toml.
        model: OsString,
    },
    /// Measure a model in virtual time, as `drivescope run sim:MODEL` does.
    ///
    /// TARGET is the name of a model (drivescope sim list) or its TOML file, optionally with a state:
    /// 'wd40ezrz?fill=0.8&seed=7&fault=slow-region'.
    Run(Box<RunArguments>),
    /// Serve a model in real time as a file or block device, until Ctrl-C.
    ///
    /// Any program can use the file disk.img in MOUNT_POINT. This needs FUSE (/dev/fuse, and fusermount3 unless
    /// you are root). With --block, as root, there is also a loop device on that file.
    ///
    /// Writes are kept in a sparse file of the drive's size, which stays: the same command serves the same
    /// contents again. A request takes at least the model's time; the overhead of the kernel path is measured and
    /// printed at the start.
    ///
    /// Ctrl-C unmounts and prints how late replies were. While a file system is mounted or a program has the
    /// drive open, serving continues; Ctrl-C again saves what can be saved, disconnects the users, and exits
    /// with code 130. Code 4: the backing file or the model failed. fault=page-cache, partition=, host=, smart=
    /// and the cache of fake= exist in virtual time only.
    Mount(MountArguments),
    /// Compare the models with published results for their drives.
    ///
    /// Runs the suites that repeat the published methods on the models, in virtual time, and holds the results
    /// against 348 published cells. Exit code 1 if a cell fails for which the table has no reason.
    Reproduce(ReproduceArguments),
}

/// Arguments of `sim reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArguments {
    /// Only this cell (may be repeated).
    #[arg(long, value_name = "ID")]
    pub cell: Vec<String>,
    /// Only cells of this drive or model (may be repeated).
    #[arg(long, value_name = "NAME")]
    pub drive: Vec<String>,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `sim mount`.
#[derive(Debug, Args)]
pub struct MountArguments {
    /// Name of a model, or its TOML file; a state may follow, as in wd40efrx?seed=7.
    pub model: String,
    /// An empty directory; the drive appears in it as disk.img.
    pub mount_point: PathBuf,
    /// Also attach a loop device with direct I/O (root only).
    #[arg(long)]
    pub block: bool,
    /// Sparse file for the contents (default: beside the directory, with its name and .img).
    #[arg(long, value_name = "FILE")]
    pub backing: Option<PathBuf>,
}
