//! Integration tests: the built program, as a user would call it. This list is a table of contents.
//!
//! Tests that need root, loop devices or other means that this machine lacks say `SKIPPED: …` on
//! standard error, and fail instead where `DRIVESCOPE_TESTS_MUST_RUN` is set.
#![expect(clippy::disallowed_methods, reason = "tests make and damage files of their own")]

/// Scratch directories, the runner, and looking into JSON.
mod support;

/// `advise`: layouts, scripts, and what the first line of a report names.
mod advise;
/// `align` on simulated drives, and phybs' own table.
mod align;
/// Names, options and files that cannot work.
mod bad_input;
/// Help, typing errors, completions, closed and full outputs, terminals.
mod cli;
mod compare;
/// Both engines, and machines that refuse io_uring.
mod engines;
mod files;
/// All models with their verdicts, reasons and findings.
mod healthy_models;
mod history;
/// `import`: several files, results of other programs, documents that anything may have written.
mod imports;
/// SIGINT, SIGTERM, SIGKILL, and what they leave.
mod interruptions;
mod list;
/// `run --live`: its keys, and what it leaves of the terminal.
mod live;
/// Tests that need root: loop and memory devices, file systems, failing devices.
mod privileged;
mod report;
mod rerun;
/// `restore` without a journal, or with something else.
mod restore;
mod run_directory;
mod run_file;
/// `schema`, and run documents checked against it.
mod schema;
/// `serve`: pages, forged requests, runs that browsers start, limits.
#[cfg(feature = "web")]
mod serve;
/// `sim reproduce`: published cells beside those of the models.
mod sim_reproduce;
/// `sim:` targets: links, bridges, faults, fills, and mistakes in models.
mod simulated_targets;
/// Each test finds the truth of simulated drives.
mod simulated_truth;
/// `sql`: servers and runs that are killed, and what they leave.
mod sql;
mod steady;
/// `runs`, `show`, `export`, `import`, and stores that cannot be used.
mod store;
mod terminal;
mod traces;
mod watch;
mod whole_drive;
