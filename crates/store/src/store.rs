//! The store: saving runs and finding them.

use crate::document::{self, FormatError, ID_DIGITS};
use crate::error::{StoreError, StoreFault};
use crate::location::StoreLocation;
use crate::sql;
use crate::sqlite;
use crate::summary::{Filter, NewestRun, RunSummary};
use drivescope_model::document::{Run, TestStatus};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time to wait for another process that holds the store: far longer than any write of a run, and short enough for a
/// user.
const PATIENCE: Duration = Duration::from_secs(5);

/// Names the newest run.
const LAST: &str = "last";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    New,
    /// It was there, unchanged.
    Known,
    /// An interrupted part of it was there; now it is complete.
    Completed,
}

/// An open store. Several may be open on one file, in this process and in others.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    words: String,
    patience: Duration,
    /// Without a file, `connection` is an empty store in memory.
    exists: bool,
}

impl Store {
    /// Opens the store; creates it, with its folder, if it is absent.
    pub fn open(location: &StoreLocation) -> Result<Self, StoreError> {
        Self::open_with(location, PATIENCE)
    }

    /// Opens the store if there is one, and makes nothing. A store that is absent appears as an empty one, which lists
    /// no runs and into which none can be saved. A store that this user may only read can be read. Errors: as
    /// [`Store::open`].
    pub fn open_existing(location: &StoreLocation) -> Result<Self, StoreError> {
        Self::open_existing_with(location, PATIENCE)
    }

    fn open_with(location: &StoreLocation, patience: Duration) -> Result<Self, StoreError> {
        let path = absolute(location)?;
        let connection = sqlite::create(&path, patience)?;
        Ok(Self { connection, path, words: location.words().into(), patience, exists: true })
    }

    fn open_existing_with(
        location: &StoreLocation,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let path = absolute(location)?;
        let opened = sqlite::open_existing(&path, patience)?;
        let exists = opened.is_some();
        let connection = opened.map_or_else(sqlite::empty, Ok)?;
        Ok(Self { connection, path, words: location.words().into(), patience, exists })
    }

    fn check_exists(&self) -> Result<(), StoreError> {
        let (path, words) = (self.path.display(), &self.words);
        let message = format!("no store at {path}; drivescope run .{words} creates one");
        if self.exists { Ok(()) } else { Err(StoreError::new(StoreFault::Missing, message)) }
    }

    /// Says that nothing is stored, with the remedy: the name may be wrong.
    pub fn no_runs(&self) -> String {
        let (path, words) = (self.path.display(), &self.words);
        format!("no runs stored in {path} yet; drivescope run .{words} creates one")
    }

    /// See [`store_words`](crate::store_words).
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Of an absent store, too.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores a run, in place of the one with its id. When this returns, the run is on the disk. Errors:
    /// [`StoreFault::Document`] if the run holds what a document cannot (see [`check`](crate::check)); nothing is
    /// changed then, nor after any other error.
    pub fn save(&mut self, run: &Run) -> Result<(), StoreError> {
        self.check_exists()?;
        document::check(run)?;
        let started_unix_us = document::started_unix_us(run)?;
        let (path, patience) = (&self.path, self.patience);
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(&error, path, patience);
        let transaction = write_transaction(&mut self.connection).map_err(fail)?;
        put(&transaction, run, started_unix_us).map_err(fail)?;
        transaction.commit().map_err(fail)
    }

    /// Stores imported runs, and returns the effect on each: all of them, or none after an error. A stored run is
    /// replaced only by the same run with more of it. Errors: [`StoreFault::Differs`] if another run is stored under an
    /// id; else as [`Store::save`].
    pub fn add_all(&mut self, runs: &[Run]) -> Result<Vec<Added>, StoreError> {
        self.check_exists()?;
        let (path, patience) = (&self.path, self.patience);
        let fail = |error: rusqlite::Error| StoreError::from_sqlite(&error, path, patience);
        let transaction = write_transaction(&mut self.connection).map_err(fail)?;
        let mut added = Vec::new();
        for run in runs {
            document::check(run)?;
            let known = document_of(&transaction, &run.id).map_err(fail)?;
            let added_as = match known.as_deref().map(document::from_stored) {
                None => Added::New,
                Some(Ok(known)) if known == *run => Added::Known,
                Some(Ok(known)) if completes(run, &known) => Added::Completed,
                // One that this program cannot read is another one, too.
                Some(_) => return Err(differs(run, path)),
            };
            if added_as != Added::Known {
                put(&transaction, run, document::started_unix_us(run)?).map_err(fail)?;
            }
            added.push(added_as);
        }
        transaction.commit().map_err(fail)?;
        Ok(added)
    }

    /// Removes the run whose id begins with `name`, or the newest one for `last`. Errors: there is no such run, or more
    /// than one; nothing is removed then.
    pub fn remove(&mut self, name: &str) -> Result<(), StoreError> {
        let id = self.whole_id(name)?;
        let removed = self.connection.execute(sql::REMOVE_RUN, [&id]);
        removed.map(drop).map_err(|error| self.fail(&error))
    }

    /// The run whose id begins with `name`, or the newest one for `last`. Errors: there is no such run, or more than
    /// one; [`StoreFault::Document`] if this program cannot read the document.
    pub fn get(&self, name: &str) -> Result<Run, StoreError> {
        let id = self.whole_id(name)?;
        let text = document_of(&self.connection, &id).map_err(|error| self.fail(&error))?;
        // Between the two statements another process may have removed it.
        let text = text.ok_or_else(|| self.no_such_run(name))?;
        document::from_stored(&text).map_err(|error| match error {
            // The store never writes such a text.
            FormatError::NotJson(_) => {
                StoreError::corrupt(&self.path, &format!("the document of run {id} is not JSON"))
            }
            error => error.into(),
        })
    }

    /// The runs that pass the filter, newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunSummary>, StoreError> {
        let values = params![
            filter.drive_pattern(),
            filter.label_lower(),
            filter.text_pattern(),
            filter.status,
            filter.simulated,
            filter.rows(),
            filter.skip
        ];
        let read = || {
            let mut statement = self.connection.prepare(sql::LIST)?;
            statement.query_map(values, summary)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| self.fail(&error))
    }

    /// Ignores the filter's limit.
    pub fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        let number = |row: &Row<'_>| row.get::<_, i64>(0).map(i64::unsigned_abs);
        let counted = if filter.is_empty() {
            self.connection.query_row(sql::COUNT_ALL, [], number)
        } else {
            let values = params![
                filter.drive_pattern(),
                filter.label_lower(),
                filter.text_pattern(),
                filter.status,
                filter.simulated
            ];
            self.connection.query_row(sql::COUNT, values, number)
        };
        counted.map_err(|error| self.fail(&error))
    }

    /// The newest run of each drive, the newest of all first.
    pub fn newest_of_drives(&self) -> Result<Vec<NewestRun>, StoreError> {
        let newest = |row: &Row<'_>| {
            let (name, model, serial) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(NewestRun { id: row.get(0)?, name, model, serial })
        };
        let read = || {
            let mut statement = self.connection.prepare(sql::NEWEST_OF_DRIVES)?;
            statement.query_map([], newest)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| self.fail(&error))
    }

    /// The whole id of the run that `name` means. Errors: there is no such run, or more than one.
    pub fn whole_id(&self, name: &str) -> Result<String, StoreError> {
        if name == LAST {
            let newest = self.connection.query_row(sql::NEWEST, [], |row| row.get(0)).optional();
            return newest
                .map_err(|error| self.fail(&error))?
                .ok_or_else(|| StoreError::new(StoreFault::NoRun, self.no_runs()));
        }
        let digits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_hexdigit());
        if !digits || name.len() > ID_DIGITS {
            let message = format!(
                "'{name}' is not a run id; use its first digits, or 'last'; drivescope runs{} lists them",
                self.words
            );
            return Err(StoreError::new(StoreFault::NoRun, message));
        }
        let mut found = self.ids_from(&name.to_ascii_lowercase()).map_err(|e| self.fail(&e))?;
        match (found.len(), found.pop()) {
            (1, Some((id, _))) => Ok(id),
            (_, Some((id, count))) => {
                let mut listed: Vec<String> = found.into_iter().map(|(id, _)| id).collect();
                listed.push(id);
                let more = match count - listed.len() as u64 {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let listed = listed.join(", ");
                let message = format!("'{name}' matches {count} runs ({listed}{more}); add digits");
                Err(StoreError::new(StoreFault::NoRun, message))
            }
            (_, None) => Err(self.no_such_run(name)),
        }
    }

    /// The newest ids that begin with `prefix`, each with the number of all.
    fn ids_from(&self, prefix: &str) -> rusqlite::Result<Vec<(String, u64)>> {
        // Every id that begins with the prefix lies between it and it with a 'g', the letter after
        // the last hexadecimal digit.
        let mut statement = self.connection.prepare(sql::FIND)?;
        let rows = statement.query_map([prefix, &format!("{prefix}g")], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
        })?;
        rows.collect()
    }

    fn no_such_run(&self, name: &str) -> StoreError {
        let (path, words) = (self.path.display(), &self.words);
        let message =
            format!("no run id starts with '{name}' in {path}; drivescope runs{words} lists them");
        StoreError::new(StoreFault::NoRun, message)
    }

    fn fail(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(error, &self.path, self.patience)
    }
}

fn differs(run: &Run, path: &Path) -> StoreError {
    let message = format!(
        "run {} is already in {}, with different contents; import it into another store with --store FILE",
        run.id,
        path.display()
    );
    StoreError::new(StoreFault::Differs, message)
}

/// Absolute paths, since SQLite gives names such as `:memory:` a meaning of their own, and errors should show the whole
/// path.
fn absolute(location: &StoreLocation) -> Result<PathBuf, StoreError> {
    let path = location.path();
    std::path::absolute(path).map_err(|error| StoreError::from_io(&error, path))
}

/// Takes the write lock at once, with the wait for it: a transaction that reads first and writes later is refused
/// without a wait.
fn write_transaction(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn document_of(connection: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    connection.query_row(sql::GET_DOCUMENT, [id], |row| row.get(0)).optional()
}

/// Whether `whole` continues `part`: the same call on the same target, with the same finished tests.
fn completes(whole: &Run, part: &Run) -> bool {
    let ended = part.tests.iter().filter(|test| test.status != TestStatus::Interrupted).count();
    part.status == TestStatus::Interrupted
        && whole.started_at == part.started_at
        && whole.plan == part.plan
        && whole.target.path == part.target.path
        && whole.tests.get(..ended) == part.tests.get(..ended)
        && whole.tests.len() >= part.tests.len()
}

/// The order of runs: their start. A run whose machine did not know the time comes after all that were saved before it,
/// and keeps its place when more of it is saved.
fn place_of(
    transaction: &Transaction<'_>,
    run: &Run,
    started_unix_us: i64,
) -> rusqlite::Result<i64> {
    if run.is_clock_set() {
        return Ok(started_unix_us);
    }
    let own = transaction.query_row(sql::GET_PLACE, [&run.id], |row| row.get(0)).optional()?;
    let newest: Option<i64> = transaction.query_row(sql::NEWEST_PLACE, [], |row| row.get(0))?;
    let after = newest.map_or(started_unix_us, |newest| started_unix_us.max(newest + 1));
    Ok(own.unwrap_or(after))
}

fn put(transaction: &Transaction<'_>, run: &Run, started_unix_us: i64) -> rusqlite::Result<()> {
    let drive = run.drive.as_ref();
    let place = place_of(transaction, run, started_unix_us)?;
    transaction.execute(
        sql::PUT_RUN,
        params![
            run.id,
            run.started_at,
            place,
            run.elapsed_s,
            run.label,
            run.plan.suite.name,
            run.target.path,
            drive.map(|d| &d.name),
            drive.and_then(|d| d.model.as_ref()),
            drive.and_then(|d| d.serial.as_ref()),
            status_name(run.status),
            i64::from(run.simulated),
            run.format,
            document::to_compact_json(run),
        ],
    )?;
    transaction.execute(sql::REMOVE_METRICS, [&run.id])?;
    let mut statement = transaction.prepare(sql::PUT_METRIC)?;
    for (ordinal, m) in (0_i64..).zip(run.tests.iter().flat_map(|test| &test.metrics)) {
        let valid = i64::from(m.valid);
        statement
            .execute(params![run.id, ordinal, m.key, m.value, m.unit, m.low, m.high, valid])?;
    }
    Ok(())
}

const fn status_name(status: TestStatus) -> &'static str {
    match status {
        TestStatus::Done => "done",
        TestStatus::Skipped => "skipped",
        TestStatus::Failed => "failed",
        TestStatus::Interrupted => "interrupted",
    }
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    Ok(RunSummary {
        id: row.get(0)?,
        started_at: row.get(1)?,
        elapsed_s: row.get(2)?,
        label: row.get(3)?,
        suite: row.get(4)?,
        target: row.get(5)?,
        drive_name: row.get(6)?,
        drive_model: row.get(7)?,
        drive_serial: row.get(8)?,
        status: row.get(9)?,
        simulated: row.get::<_, i64>(10)? != 0,
        format: row.get(11)?,
        seq_read_mb_s: row.get(12)?,
        seq_write_mb_s: row.get(13)?,
        rnd4k_q1t1_read_iops: row.get(14)?,
        invalid_metrics: row.get::<_, i64>(15)?.unsigned_abs(),
        headline_key: row.get(16)?,
        headline_value: row.get(17)?,
        headline_unit: row.get(18)?,
    })
}

#[cfg(test)]
mod tests;
