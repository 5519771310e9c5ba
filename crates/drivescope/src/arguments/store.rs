//! Arguments of `store`.

use super::StoreArguments;
use clap::Subcommand;

/// What to do with a whole store.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Make the tables and roles of a store on a server; what is there stays.
    ///
    /// The database must exist: createdb drivescope. Group roles come with it, for logins to be members of:
    /// drivescope_reader (reads all runs), drivescope_submitter (adds, changes and removes runs) and drivescope_agent
    /// (adds runs, and sees and changes its own only).
    Init {
        /// Print the statements instead, for an administrator to read and run.
        #[arg(long)]
        dry_run: bool,
        /// The store of runs.
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Bring the tables of a store up to date with this program.
    Upgrade {
        /// The store of runs.
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Send runs that were kept here while the server was away.
    Sync {
        /// The store of runs.
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Copy all runs of a store into another one.
    ///
    /// The same command continues an interrupted copy. Runs that are there already stay as they are; exit code 1 if
    /// runs differ or cannot be read.
    Copy {
        /// Store to copy from: a file or an address.
        from: String,
        /// Store to copy to: a file or an address.
        to: String,
    },
}
