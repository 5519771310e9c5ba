//! All that is done with one database.

use super::client_loop::{Bound, Statement};
use super::places::{BACKUP, DATABASE, Places, RESTORED, other_folder};
use super::sql_phase::{PhaseName, SqlPhases, ended};
use super::{TableSize, flush_floor, statements, user_query};
use crate::error::BenchError;
use crate::io::payload::Payload;
use crate::judging::round::Cache;
use crate::judging::test_record::TestRecord;
use crate::session::Session;
use drivescope_drive::OwnFolder;
use drivescope_model::document::{DatabaseRecord, DatabaseSetting};
use drivescope_model::event::Event;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::{DatabaseKind, Durability, SqlOptions, SqlPart};
use drivescope_model::units::{Bytes, Secs};
use drivescope_sql::{
    Canceller, Client, Database, DatabaseSettings, PAGE_BYTES, ServerUrl, SqlError,
};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A phase with a larger share of its files in memory is not cold.
const IN_MEMORY_MAX: f64 = 0.02;
/// The free space is checked once per this many loaded rows.
const ROOM_EVERY_ROWS: u64 = 8_192;
/// Flushes that show what one costs, and their longest time.
const FLOOR: Bound = Bound { statements: 200, time: Secs(1.0) };
/// Cell of these flushes, and folder of their file.
const FLUSH: &str = "flush";

/// Makes a database, measures it, and removes it, whatever ends that.
pub(super) fn run(
    session: &Session<'_>,
    folder: &mut OwnFolder,
    record: &mut TestRecord,
    options: &SqlOptions,
    size: TableSize,
) -> Result<(), BenchError> {
    let other = options.backup_to.as_deref().map(other_folder).transpose()?;
    let canceller = Arc::new(Canceller::default());
    let mut places = Places::new(folder, other);
    let end = made(session, &mut places, record, &canceller, options, size);
    let closed = places.close();
    end.and(closed)
}

fn made(
    session: &Session<'_>,
    places: &mut Places<'_>,
    record: &mut TestRecord,
    canceller: &Arc<Canceller>,
    options: &SqlOptions,
    size: TableSize,
) -> Result<(), BenchError> {
    let name = options.databases[0];
    session.emit(Event::Preparing { what: format!("starting {}", name.title()) });
    let settings = settings_of(options, session.environment(record.test()).cores, size);
    let fail = |error| ended(session, error);
    let database = match &options.url {
        Some(url) => {
            let url = ServerUrl::parse(url).map_err(fail)?;
            drivescope_sql::at_url(&url, settings, canceller).map_err(fail)?
        }
        None => {
            let installed = drivescope_sql::find(name).map_err(fail)?;
            places.expect(&*installed)?;
            let folder = places.make(DATABASE)?;
            installed.create(&folder, settings, canceller).map_err(fail)?
        }
    };
    let phases = SqlPhases { session, record, canceller, actions: Vec::new() };
    let mut run = DatabaseRun { phases, places, database, options, name, size, table_bytes: 0 };
    let end = run.measure();
    run.phases.finish();
    // A server of the user's keeps nothing of ours, however the test ended.
    let cleared = run.database.clear();
    end.and_then(|()| cleared.map_err(fail))
}

fn settings_of(options: &SqlOptions, cpus: u32, size: TableSize) -> DatabaseSettings {
    let clients = options.clients.iter().copied().chain([options.threads]).max();
    DatabaseSettings {
        buffer_bytes: options.buffer.0,
        is_durable: options.durability == Durability::Full,
        clients: clients.unwrap_or(1),
        cpus,
        table_bytes: size.bytes(),
    }
}

struct DatabaseRun<'p, 's, 'f> {
    phases: SqlPhases<'p, 's>,
    options: &'p SqlOptions,
    places: &'p mut Places<'f>,
    database: Box<dyn Database>,
    name: DatabaseKind,
    size: TableSize,
    table_bytes: u64,
}

impl DatabaseRun<'_, '_, '_> {
    fn fail(&self, error: SqlError) -> BenchError {
        ended(self.phases.session, error)
    }

    fn measure(&mut self) -> Result<(), BenchError> {
        self.load()?;
        self.describe()?;
        let SqlOptions { parts, rounds, .. } = self.options;
        let rounds = *rounds;
        let has = |part| parts.contains(&part);
        for round in (1..=rounds).filter(|_| has(SqlPart::Scan)) {
            self.scan(round)?;
        }
        if has(SqlPart::Seek) || has(SqlPart::Query) {
            self.index()?;
        }
        if has(SqlPart::Seek) {
            (1..=rounds).try_for_each(|round| self.seek(round, true))?;
            (1..=rounds).try_for_each(|round| self.seek(round, false))?;
        }
        if has(SqlPart::Commit) {
            self.commits(rounds)?;
        }
        for round in (1..=rounds).filter(|_| has(SqlPart::Backup)) {
            let mut end = self.backup(round);
            if end.is_ok() && has(SqlPart::Restore) {
                end = self.restore(round);
            }
            self.places.remove(RESTORED)?;
            self.places.remove(BACKUP)?;
            end?;
        }
        if has(SqlPart::Query) {
            (1..=rounds).try_for_each(|round| self.query(round))?;
        }
        Ok(())
    }

    fn cell(&self, part: &str) -> String {
        format!("{}.{part}", self.name)
    }

    fn load(&mut self) -> Result<(), BenchError> {
        let session = self.phases.session;
        // Bytes written while a server was made do not count.
        self.places.sync(DATABASE)?;
        let cell = self.cell("load");
        let (rows, seed) = (self.size.rows, session.plan.seed);
        let name = PhaseName { cell: &cell, round: 1, rounds: 1, cache: Cache::Writes };
        let places = &*self.places;
        let no_room = Mutex::new(None);
        let end = self.phases.action(
            name,
            self.size.bytes(),
            &mut *self.database,
            |database, control| {
                let payload = Payload::new(seed, 1);
                let mut fill = |row: u64, data: &mut [u8]| {
                    payload.fill(data, row * PAGE_BYTES);
                    control.add(1, PAGE_BYTES);
                    if row.is_multiple_of(ROOM_EVERY_ROWS)
                        && let Err(error) = places.check_room()
                    {
                        *no_room.lock().expect("no thread panics") = Some(error);
                        return false;
                    }
                    !control.stopped()
                };
                database.load(rows, &mut fill)?;
                database.checkpoint()
            },
            || Ok(places.sync(DATABASE)?),
        );
        match no_room.into_inner().expect("no thread panics") {
            Some(error) => Err(error.into()),
            None => end,
        }
    }

    fn describe(&mut self) -> Result<(), BenchError> {
        let session = self.phases.session;
        let bytes = self.database.table_bytes();
        self.table_bytes = bytes.map_err(|error| self.fail(error))?;
        let settings = self.database.settings().map_err(|error| self.fail(error))?;
        let buffer_bytes = self.options.buffer.0;
        let memory_bytes = session.environment(self.phases.record.test()).memory_bytes;
        let fits_buffers = self.table_bytes <= buffer_bytes;
        let (holder, held) =
            if fits_buffers { ("buffers", buffer_bytes) } else { ("memory", memory_bytes) };
        if self.table_bytes <= held {
            let (table, held) = (Bytes(self.table_bytes), Bytes(held));
            let evidence = format!("{}: a table of {table}, {holder} of {held}", self.name);
            let about = format!("{}.{}", self.phases.record.test(), self.name);
            self.phases
                .record
                .notice(Finding::new(FindingId::TableInMemory, evidence).about(about));
        }
        self.phases.record.database(DatabaseRecord {
            database: self.name,
            version: self.database.version().to_string(),
            table_bytes: self.table_bytes,
            rows: self.size.rows,
            buffer_bytes,
            is_prediction: false,
            settings: settings
                .into_iter()
                .map(|(name, value)| DatabaseSetting { name, value })
                .collect(),
        });
        Ok(())
    }

    /// Empties the database's own buffers and the page cache, and says if that is not proved.
    fn make_cold(&mut self, cell: &str) -> Result<(), BenchError> {
        let session = self.phases.session;
        session.pause(session.plan.suite.pause)?;
        let database = &mut *self.database;
        let stopped = super::sql_phase::watched(
            session,
            &crate::loops::control::Control::default(),
            self.phases.canceller,
            || database.stop(),
        );
        stopped.map_err(|error| ended(session, error))?;
        let in_files = self.places.evict()?;
        let warm = self.database.still_warm().map_err(|error| ended(session, error))?;
        let (evidence, weight) = match in_files {
            _ if warm.is_some() => (warm.unwrap_or_default(), 1.0),
            Some(share) if share <= IN_MEMORY_MAX => (String::new(), 0.0),
            Some(share) => {
                (format!("{:.0} % of the files were still in memory", share * 100.0), share)
            }
            None => {
                ("the kernel does not report how much of the files is in memory".to_string(), 0.0)
            }
        };
        if !evidence.is_empty() {
            let finding = Finding::new(FindingId::FilesInMemory, format!("{cell}: {evidence}"));
            let about = format!("{}.{cell}", self.phases.record.test());
            self.phases.record.notice(finding.about(about).weighing(weight));
        }
        // On this thread: a server ends with the thread that started it.
        self.database.start().map_err(|error| ended(session, error))
    }

    fn scan(&mut self, round: u32) -> Result<(), BenchError> {
        let cell = self.cell("scan");
        self.make_cold(&cell)?;
        let (expected, rounds) = (self.size.rows, self.options.rounds);
        let name = PhaseName { cell: &cell, round, rounds, cache: Cache::Reads };
        let kind = self.name;
        self.phases.action(
            name,
            self.table_bytes,
            &mut *self.database,
            |database, _| match database.scan()? {
                rows if rows == expected => Ok(()),
                rows => Err(SqlError::Usage(format!(
                    "{} counts {rows} rows where {expected} were loaded",
                    kind.title()
                ))),
            },
            || Ok(()),
        )
    }

    fn index(&mut self) -> Result<(), BenchError> {
        let cell = self.cell("index");
        let name = PhaseName { cell: &cell, round: 1, rounds: 1, cache: Cache::Writes };
        let places = &*self.places;
        self.phases.action(
            name,
            0,
            &mut *self.database,
            |database, _| {
                database.make_index()?;
                database.checkpoint()
            },
            || Ok(places.sync(DATABASE)?),
        )
    }

    fn seek(&mut self, round: u32, is_cold: bool) -> Result<(), BenchError> {
        let cell = self.cell(if is_cold { "seek_cold" } else { "seek_warm" });
        let options = self.options;
        let (rounds, threads, time) = (options.rounds, options.threads, options.seek_time);
        let cold = self.size.cold_seeks(options);
        let statements = if is_cold { cold } else { u64::from(options.iterations) };
        if is_cold {
            self.make_cold(&cell)?;
        }
        let seed = self.phases.session.plan.seed;
        // Warm ones ask again for what the last cold round has read.
        let ids = statements::distinct_rows(
            self.size.rows,
            cold * u64::from(threads),
            seed,
            if is_cold { round } else { rounds },
        );
        let clients = self.connect(threads)?;
        let shares = ids.chunks(cold as usize);
        let clients =
            clients.into_iter().zip(shares).map(|(client, ids)| statements::seeks(client, ids));
        let name = PhaseName { cell: &cell, round, rounds, cache: Cache::Reads };
        let clients: Vec<Statement<'_>> = clients.collect();
        let bound = Bound { statements, time };
        let database = &mut *self.database;
        self.phases.clients(name, "statements_s", database, clients, bound, |_| false)
    }

    fn connect(&self, count: u32) -> Result<Vec<Box<dyn Client>>, BenchError> {
        let clients = (0..count).map(|_| self.database.client());
        clients.collect::<Result<Vec<_>, _>>().map_err(|error| self.fail(error))
    }

    fn commits(&mut self, rounds: u32) -> Result<(), BenchError> {
        self.places.folder().create_tree(FLUSH)?;
        let end = self.commit_rounds(rounds);
        self.places.folder().remove_tree(FLUSH)?;
        end?;
        if self.options.clients.contains(&1) {
            let (floor, commit) = (self.cell(FLUSH), self.cell("commit_c1"));
            flush_floor::compare(self.phases.record, &floor, &commit);
        }
        Ok(())
    }

    fn commit_rounds(&mut self, rounds: u32) -> Result<(), BenchError> {
        let options = self.options;
        let (clients, time) = (options.clients.clone(), options.commit_time);
        let mut series = 0;
        for round in 1..=rounds {
            let cell = self.cell(FLUSH);
            let folder = self.places.folder().open_tree(FLUSH)?;
            folder.remove_file(c"flush")?;
            let writes = vec![flush_floor::writes(&folder, self.name)?];
            let name = PhaseName { cell: &cell, round, rounds, cache: Cache::SyncedWrites };
            let database = &mut *self.database;
            self.phases.clients(name, "iops", database, writes, FLOOR, |_| false)?;
            for &count in &clients {
                let cell = self.cell(&format!("commit_c{count}"));
                let name = PhaseName { cell: &cell, round, rounds, cache: Cache::SyncedWrites };
                let seed = self.phases.session.plan.seed;
                let connected = self.connect(count)?.into_iter();
                let commits = connected.map(|client| {
                    series += 1;
                    statements::commits(client, series, seed)
                });
                let commits: Vec<Statement<'_>> = commits.collect();
                // Each its share of all that may be.
                let statements = u64::from((options.commits / count).max(1));
                let bound = Bound { statements, time };
                let database = &mut *self.database;
                self.phases.clients(name, "commits_s", database, commits, bound, |_| false)?;
                self.phases.session.check_room(Bytes(0))?;
            }
        }
        Ok(())
    }

    /// Copies the database into a folder that is made for it, from cold, as one action.
    fn copy(
        &mut self,
        (part, folder): (&str, &str),
        round: u32,
        copy: impl FnOnce(&mut dyn Database, &Path) -> Result<(), SqlError> + Send,
    ) -> Result<(), BenchError> {
        let cell = self.cell(part);
        self.make_cold(&cell)?;
        let path = self.places.make(folder)?;
        let rounds = self.options.rounds;
        let name = PhaseName { cell: &cell, round, rounds, cache: Cache::Writes };
        let places = &*self.places;
        self.phases.action(
            name,
            self.table_bytes,
            &mut *self.database,
            |database, _| copy(database, &path),
            || Ok(places.sync(folder)?),
        )
    }

    fn backup(&mut self, round: u32) -> Result<(), BenchError> {
        self.copy(("backup", BACKUP), round, |database, folder| database.backup(folder))
    }

    fn restore(&mut self, round: u32) -> Result<(), BenchError> {
        let (backup, expected) = (self.places.path(BACKUP), self.size.rows);
        self.copy(("restore", RESTORED), round, |database, folder| {
            let rows = database.restore(&backup, folder)?;
            let words = || format!("the restored table has {rows} rows of {expected}");
            if rows == expected { Ok(()) } else { Err(SqlError::Usage(words())) }
        })
    }

    fn query(&mut self, round: u32) -> Result<(), BenchError> {
        let cell = self.cell("query");
        self.make_cold(&cell)?;
        let options = self.options;
        let (rounds, threads, time) = (options.rounds, options.threads, options.seek_time);
        let statements = u64::from(options.iterations);
        let query = user_query(options).map_err(BenchError::Unsuitable)?;
        let query = query.ok_or_else(|| BenchError::Unsuitable("no statement".to_string()))?;
        let mut clients: Vec<Statement<'_>> = Vec::new();
        for (number, mut client) in (0..).zip(self.connect(threads)?) {
            client.prepare(&query).map_err(|error| self.fail(error))?;
            clients.push(statements::queries(client, &query, number, u64::from(threads)));
        }
        let name = PhaseName { cell: &cell, round, rounds, cache: Cache::Reads };
        let bound = Bound { statements, time };
        let database = &mut *self.database;
        // What only the statement is to blame for is counted.
        let goes_on = |error: &SqlError| matches!(error, SqlError::Statement { .. });
        self.phases.clients(name, "statements_s", database, clients, bound, goes_on)
    }
}
