//! Integration tests: the built program, as a user would call it. This list is a table of contents.
//!
//! Tests that need root, loop devices or other means that this machine lacks say `SKIPPED: …` on
//! standard error, and fail instead where `DRIVESCOPE_TESTS_MUST_RUN` is set.
#![expect(clippy::disallowed_methods, reason = "tests make and damage files of their own")]

mod support;

/// `advise`: layouts, scripts, and what the first line of a report names.
mod advise;
mod align;
/// Names, options and files that cannot work.
mod bad_input;
/// `check`: simulated drives that are to be kept, and others.
mod check;
/// Help, typing errors, completions, closed and full outputs, terminals.
mod cli;
mod compare;
/// Files for Slurm, Ansible, systemd and Kubernetes, and their pages.
mod deployments;
mod engines;
mod files;
/// `fleet`: drives of many machines chosen, jobs submitted, watched and cancelled.
#[cfg(feature = "fleet")]
mod fleet;
/// `fleet outliers`, `fleet export`.
#[cfg(feature = "fleet")]
mod fleet_outliers;
/// `serve`: pages of hosts, drives and jobs of a fleet.
#[cfg(all(feature = "fleet", feature = "web"))]
mod fleet_pages;
mod health;
mod healthy_models;
mod history;
/// `import`: several files, results of other programs, documents that anything may have written.
mod imports;
mod interruptions;
mod list;
mod live;
/// `run --metrics`: the file for a collector.
mod monitoring;
/// Pages of the documents: commands, and what they print.
mod pages;
/// Tests that need root: loop and memory devices, file systems, failing devices.
mod privileged;
mod report;
mod rerun;
mod restore;
mod run_directory;
mod run_file;
mod run_fio;
mod schema;
/// `serve`: pages, forged requests, runs that browsers start, limits.
#[cfg(feature = "web")]
mod serve;
/// `--store postgres://…`, on servers of the tests' own.
#[cfg(feature = "postgres")]
mod server_store;
mod sim_reproduce;
/// `sim:` targets: links, bridges, faults, fills, and mistakes in models.
mod simulated_targets;
mod simulated_truth;
mod sql;
mod steady;
/// `runs`, `show`, `export`, `import`, and stores that cannot be used.
mod store;
mod terminal;
/// `run --together`: several drives at the same time.
mod together;
mod traces;
mod watch;
mod whole_drive;
