//! The store: saving runs and finding them.

use crate::backend::{RunColumns, Searches, SqlRow, SqlValue, Statements, StoreTables, WrongType};
use crate::document::{self, FormatError, ID_DIGITS};
use crate::error::{StoreError, StoreFault};
use crate::location::{StoreLocation, StorePlace};
#[cfg(feature = "postgres")]
use crate::postgres;
use crate::run_facts::RunFacts;
use crate::sql;
use crate::sqlite::{self, SqliteTables};
use crate::summary::{Filter, NewestRun, RunSummary};
use drivescope_model::document::{Run, TestStatus};
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

/// An open store. Several may be open on one file or server, in this process and in others.
#[derive(Debug)]
pub struct Store {
    tables: Box<dyn StoreTables>,
    location: StoreLocation,
    /// Without a file, `tables` is an empty store in memory. A server always has its tables.
    exists: bool,
    /// The server for which every run that is saved here waits.
    waits_for: Option<StoreLocation>,
}

impl Store {
    /// Opens the store; creates its file, with its folder, if it is absent. Tables on a server are not made by this:
    /// see [`init`](crate::init).
    pub fn open(location: &StoreLocation) -> Result<Self, StoreError> {
        Self::open_with(location, PATIENCE)
    }

    /// Opens the store if there is one, and makes nothing. A file that is absent appears as an empty store, which lists
    /// no runs and into which none can be saved. A store that this user may only read can be read. Errors: as
    /// [`Store::open`].
    pub fn open_existing(location: &StoreLocation) -> Result<Self, StoreError> {
        Self::open_existing_with(location, PATIENCE)
    }

    fn open_with(location: &StoreLocation, patience: Duration) -> Result<Self, StoreError> {
        let tables: Box<dyn StoreTables> = match &location.place {
            StorePlace::File(path) => {
                let path = absolute(path)?;
                let connection = sqlite::create(&path, patience)?;
                Box::new(SqliteTables { connection, path, patience })
            }
            #[cfg(feature = "postgres")]
            StorePlace::Server(address) => Box::new(postgres::open(address, true)?),
        };
        let location = absolute_location(location)?;
        Ok(Self { tables, location, exists: true, waits_for: None })
    }

    fn open_existing_with(
        location: &StoreLocation,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let (tables, exists): (Box<dyn StoreTables>, bool) = match &location.place {
            StorePlace::File(path) => {
                let path = absolute(path)?;
                let opened = sqlite::open_existing(&path, patience)?;
                let exists = opened.is_some();
                let connection = opened.map_or_else(sqlite::empty, Ok)?;
                (Box::new(SqliteTables { connection, path, patience }), exists)
            }
            #[cfg(feature = "postgres")]
            StorePlace::Server(address) => (Box::new(postgres::open(address, false)?), true),
        };
        let location = absolute_location(location)?;
        Ok(Self { tables, location, exists, waits_for: None })
    }

    /// This store, a file, in place of a server that is away: every run that is saved here waits for it; see
    /// [`send_waiting`](crate::send_waiting).
    pub fn in_place_of(self, server: StoreLocation) -> Self {
        Self { waits_for: Some(server), ..self }
    }

    pub(crate) fn check_exists(&self) -> Result<(), StoreError> {
        let (shown, words) = (self.location.shown(), self.words());
        let message = format!("no store at {shown}; drivescope run .{words} creates one");
        if self.exists { Ok(()) } else { Err(StoreError::new(StoreFault::Missing, message)) }
    }

    /// Says that nothing is stored, with the remedy: the name may be wrong.
    pub fn no_runs(&self) -> String {
        let (shown, words) = (self.location.shown(), self.words());
        format!("no runs stored in {shown} yet; drivescope run .{words} creates one")
    }

    /// See [`store_words`](crate::store_words).
    pub fn words(&self) -> &str {
        self.location.words()
    }

    /// Of an absent store, too.
    pub fn location(&self) -> &StoreLocation {
        &self.location
    }

    /// Stores a run, in place of the one with its id. When this returns, the run is on the disk. Errors:
    /// [`StoreFault::Document`] if the run holds what a document cannot (see [`check`](crate::check)); nothing is
    /// changed then, nor after any other error.
    pub fn save(&mut self, run: &Run) -> Result<(), StoreError> {
        self.check_exists()?;
        document::check(run)?;
        let started_unix_us = document::started_unix_us(run)?;
        let server = self.waits_for.as_ref().map(StoreLocation::shown);
        self.tables.write(&mut |statements| {
            put(statements, run, started_unix_us)?;
            server.iter().try_for_each(|server| set_waiting(statements, &run.id, server))
        })
    }

    /// Stores imported runs, and returns the effect on each: all of them, or none after an error. A stored run is
    /// replaced only by the same run with more of it. Errors: [`StoreFault::Differs`] if another run is stored under an
    /// id; else as [`Store::save`].
    pub fn add_all(&mut self, runs: &[Run]) -> Result<Vec<Added>, StoreError> {
        self.check_exists()?;
        let shown = self.location.shown();
        let mut added = Vec::new();
        self.tables.write(&mut |statements| {
            added = add_within(statements, runs, &shown)?;
            Ok(())
        })?;
        Ok(added)
    }

    /// Removes the run whose id begins with `name`, or the newest one for `last`. Errors: there is no such run, or more
    /// than one; nothing is removed then.
    pub fn remove(&mut self, name: &str) -> Result<(), StoreError> {
        let id = self.whole_id(name)?;
        self.tables.write(&mut |statements| statements.execute(sql::REMOVE_RUN, &[(&id).into()]))
    }

    /// The run whose id begins with `name`, or the newest one for `last`. Errors: there is no such run, or more than
    /// one; [`StoreFault::Document`] if this program cannot read the document.
    pub fn get(&self, name: &str) -> Result<Run, StoreError> {
        let id = self.whole_id(name)?;
        let found = self.select(sql::GET_DOCUMENT, &[(&id).into()], SqlRow::text)?.pop();
        // Between the two statements another process may have removed it.
        let text = found.ok_or_else(|| self.no_such_run(name))?;
        document::from_stored(&text).map_err(|error| match error {
            // The store never writes such a text.
            FormatError::NotJson(_) => {
                self.tables.damaged(&format!("the document of run {id} is not JSON"))
            }
            error => error.into(),
        })
    }

    /// The runs that pass the filter, newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunSummary>, StoreError> {
        self.listed(self.tables.searches().list, filter)
    }

    /// As [`Store::list`], without figures: many runs are listed in little time.
    pub(crate) fn list_bare(&self, filter: &Filter) -> Result<Vec<RunSummary>, StoreError> {
        self.listed(self.tables.searches().list_bare, filter)
    }

    fn listed(&self, sql: &str, filter: &Filter) -> Result<Vec<RunSummary>, StoreError> {
        let mut values = chosen(filter);
        values.extend([filter.rows().into(), filter.skip.into()]);
        self.select(sql, &values, summary)
    }

    /// Ignores the filter's limit.
    pub fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        let counted = if filter.is_empty() {
            self.select(sql::COUNT_ALL, &[], SqlRow::int)
        } else {
            self.select(self.tables.searches().count, &chosen(filter), SqlRow::int)
        };
        Ok(counted?.pop().unwrap_or(0).unsigned_abs())
    }

    /// The newest run of each drive, the newest of all first.
    pub fn newest_of_drives(&self) -> Result<Vec<NewestRun>, StoreError> {
        self.select(self.tables.searches().newest_of_drives, &[], |row| {
            let id = row.text()?;
            let (name, model) = (row.optional_text()?, row.optional_text()?);
            Ok(NewestRun { id, name, model, serial: row.optional_text()? })
        })
    }

    /// All ids, the oldest run first.
    pub fn ids(&self) -> Result<Vec<String>, StoreError> {
        self.select(sql::IDS, &[], SqlRow::text)
    }

    /// The whole id of the run that `name` means. Errors: there is no such run, or more than one.
    pub fn whole_id(&self, name: &str) -> Result<String, StoreError> {
        if name == LAST {
            let newest = self.select(sql::NEWEST, &[], SqlRow::text)?.pop();
            return newest.ok_or_else(|| StoreError::new(StoreFault::NoRun, self.no_runs()));
        }
        let digits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_hexdigit());
        if !digits || name.len() > ID_DIGITS {
            let message = format!(
                "'{name}' is not a run id; use its first digits, or 'last'; drivescope runs{} lists them",
                self.words()
            );
            return Err(StoreError::new(StoreFault::NoRun, message));
        }
        let mut found = self.ids_from(&name.to_ascii_lowercase())?;
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
    fn ids_from(&self, prefix: &str) -> Result<Vec<(String, u64)>, StoreError> {
        // Every id that begins with the prefix lies between it and it with a 'g', the letter after
        // the last hexadecimal digit.
        let values = [prefix.into(), format!("{prefix}g").into()];
        self.select(sql::FIND, &values, |row| Ok((row.text()?, row.int()?.unsigned_abs())))
    }

    fn no_such_run(&self, name: &str) -> StoreError {
        let (shown, words) = (self.location.shown(), self.words());
        let message =
            format!("no run id starts with '{name}' in {shown}; drivescope runs{words} lists them");
        StoreError::new(StoreFault::NoRun, message)
    }

    pub(crate) fn searches(&self) -> &'static Searches {
        self.tables.searches()
    }

    pub(crate) fn select<T>(
        &self,
        sql: &str,
        values: &[SqlValue],
        of_row: impl Fn(&mut SqlRow) -> Result<T, WrongType>,
    ) -> Result<Vec<T>, StoreError> {
        let mut rows = self.tables.read(sql, values)?;
        let read = rows.iter_mut().map(of_row).collect::<Result<_, _>>();
        read.map_err(|wrong| self.tables.damaged(&wrong.reason()))
    }

    pub(crate) fn write(
        &mut self,
        mut work: impl FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.check_exists()?;
        self.tables.write(&mut work)
    }
}

fn add_within(
    statements: &mut dyn Statements,
    runs: &[Run],
    shown: &str,
) -> Result<Vec<Added>, StoreError> {
    // In one order everywhere, so that two writers never wait for each other.
    let mut ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().try_for_each(|id| statements.lock_run(id))?;
    let mut added = Vec::new();
    for run in runs {
        document::check(run)?;
        let known = statements.rows(sql::GET_DOCUMENT, &[(&run.id).into()])?.pop();
        let known = known.map(|mut row| row.text().map(|text| document::from_stored(&text)));
        let added_as = match known {
            None => Added::New,
            Some(Ok(Ok(known))) if known == *run => Added::Known,
            Some(Ok(Ok(known))) if completes(run, &known) => Added::Completed,
            // One that this program cannot read is another one, too.
            Some(_) => return Err(differs(run, shown)),
        };
        if added_as != Added::Known {
            put(statements, run, document::started_unix_us(run)?)?;
        }
        added.push(added_as);
    }
    Ok(added)
}

fn differs(run: &Run, shown: &str) -> StoreError {
    let message = format!(
        "run {} is already in {shown}, with different contents; import it into another store with --store FILE",
        run.id
    );
    StoreError::new(StoreFault::Differs, message)
}

/// Absolute paths, since SQLite gives names such as `:memory:` a meaning of their own, and errors should show the whole
/// path.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|error| StoreError::from_io(&error, path))
}

fn absolute_location(location: &StoreLocation) -> Result<StoreLocation, StoreError> {
    let mut location = location.clone();
    match &mut location.place {
        StorePlace::File(path) => *path = absolute(path)?,
        #[cfg(feature = "postgres")]
        StorePlace::Server(_) => {}
    }
    Ok(location)
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
    statements: &mut dyn Statements,
    run: &Run,
    started_unix_us: i64,
) -> Result<i64, StoreError> {
    if run.is_clock_set() {
        return Ok(started_unix_us);
    }
    let mut number = |sql: &str, values: &[SqlValue]| -> Result<Option<i64>, StoreError> {
        let row = statements.rows(sql, values)?.pop();
        Ok(row.and_then(|mut row| row.optional_int().ok()).flatten())
    };
    if let Some(own) = number(sql::GET_PLACE, &[(&run.id).into()])? {
        return Ok(own);
    }
    let newest = number(sql::NEWEST_PLACE, &[])?;
    Ok(newest.map_or(started_unix_us, |newest| started_unix_us.max(newest + 1)))
}

fn put(statements: &mut dyn Statements, run: &Run, started_unix_us: i64) -> Result<(), StoreError> {
    let drive = run.drive.as_ref();
    let place = place_of(statements, run, started_unix_us)?;
    let common = vec![
        (&run.id).into(),
        (&run.started_at).into(),
        place.into(),
        run.elapsed_s.into(),
        run.label.as_ref().into(),
        (&run.plan.suite.name).into(),
        (&run.target.path).into(),
        drive.map(|d| &d.name).into(),
        drive.and_then(|d| d.model.as_ref()).into(),
        drive.and_then(|d| d.serial.as_ref()).into(),
        status_name(run.status).into(),
        run.simulated.into(),
        run.format.into(),
        run.to_json().into(),
    ];
    let firmware = drive.and_then(|d| d.firmware.as_ref());
    let facts = RunFacts::of(run).text();
    let of_server = [(&run.host.name).into(), firmware.into(), facts.into()];
    statements.put_run(RunColumns { common, of_server })?;
    statements.execute(sql::REMOVE_METRICS, &[(&run.id).into()])?;
    let metrics: Vec<_> = run.tests.iter().flat_map(|test| &test.metrics).collect();
    statements.put_metrics(&run.id, &metrics)
}

/// Notes that a run waits for the server that is shown so.
fn set_waiting(statements: &mut dyn Statements, id: &str, server: &str) -> Result<(), StoreError> {
    statements.execute(sql::CREATE_WAITING, &[])?;
    statements.execute(sql::SET_WAITING, &[id.into(), server.into()])
}

const fn status_name(status: TestStatus) -> &'static str {
    match status {
        TestStatus::Done => "done",
        TestStatus::Skipped => "skipped",
        TestStatus::Failed => "failed",
        TestStatus::Interrupted => "interrupted",
    }
}

/// The values of [`sql::COUNT`], and the first ones of [`sql::LIST`].
fn chosen(filter: &Filter) -> Vec<SqlValue> {
    vec![
        filter.drive_pattern().into(),
        filter.label_lower().into(),
        filter.text_pattern().into(),
        filter.status.as_ref().into(),
        filter.simulated.into(),
    ]
}

fn summary(row: &mut SqlRow) -> Result<RunSummary, WrongType> {
    Ok(RunSummary {
        id: row.text()?,
        started_at: row.text()?,
        elapsed_s: row.float()?,
        label: row.optional_text()?,
        suite: row.text()?,
        target: row.text()?,
        drive_name: row.optional_text()?,
        drive_model: row.optional_text()?,
        drive_serial: row.optional_text()?,
        status: row.text()?,
        simulated: row.int()? != 0,
        format: u32::try_from(row.int()?).unwrap_or(u32::MAX),
        seq_read_mb_s: row.optional_float()?,
        seq_write_mb_s: row.optional_float()?,
        rnd4k_q1t1_read_iops: row.optional_float()?,
        invalid_metrics: row.int()?.unsigned_abs(),
        headline_key: row.optional_text()?,
        headline_value: row.optional_float()?,
        headline_unit: row.optional_text()?,
    })
}

#[cfg(test)]
mod tests;
