//! `sql` on a simulated drive: a prediction. No database runs; its requests are made after the pattern that was
//! recorded of one, in one file on a fresh drive: table, index, log, backup, restored copy.

use super::client_loop::Bound;
use super::request_pattern::{RequestPattern, SeekPattern};
use super::simulated_clients::{self, ClientRequest, Requests};
use super::sql_phase::{PhaseName, SqlPhases};
use super::table_scan::{reader, scanners};
use super::{TableSize, statements};
use crate::error::{BenchError, flush_failed};
use crate::io::queue::IoOp;
use crate::io::recorder::Recorder;
use crate::judging::round::Cache;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::plan::expected_speed::ExpectedSpeed;
use crate::session::{Progress, Session};
use drivescope_drive::simulated::SimulatedDrive;
use drivescope_model::document::DatabaseRecord;
use drivescope_model::options::{DatabaseKind, SqlOptions, SqlPart};
use drivescope_model::target::IoMode;
use drivescope_model::units::Bytes;
use drivescope_sql::{Canceller, PAGE_BYTES};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The log is written in turn over this stretch, as a recycled one is.
const LOG_BYTES: u64 = 256 << 20;
/// Bytes of a request in which pages of a load are written, and how many are under way.
const LOAD_BYTES: u32 = 1 << 20;
const LOAD_DEPTH: u32 = 4;
/// Largest table whose pages are computed one by one.
const PAGED_TABLE_MAX: Bytes = Bytes(1_000_000_000);
/// Looks at the time and the stop flag while a phase is computed.
const LOOK_EVERY_BYTES: u64 = 64 << 20;
/// Longest phase that has no time of its own.
const NO_TIME_LIMIT_NS: u64 = 100 * 86_400 * 1_000_000_000;

struct DatabaseLayout {
    table: Range<u64>,
    index: Range<u64>,
    log: Range<u64>,
    backup: Range<u64>,
    restored: Range<u64>,
}

impl DatabaseLayout {
    fn of(size: TableSize, pattern: RequestPattern) -> Self {
        let mut at = 0;
        let mut next = |bytes: u64| {
            let begin = at;
            at += bytes.next_multiple_of(1 << 20);
            begin..begin + bytes
        };
        let leaves = size.rows.div_ceil(pattern.seek.index_entries);
        let index_bytes = leaves * u64::from(pattern.seek.page_bytes);
        Self {
            table: next(size.bytes()),
            index: next(index_bytes),
            log: next(LOG_BYTES.min(size.bytes().max(1 << 20))),
            backup: next(size.bytes()),
            restored: next(size.bytes()),
        }
    }
}

/// The options with a table whose pages, if they go through the page cache, are computed within seconds.
pub(super) fn computable(
    options: &SqlOptions,
    databases: impl IntoIterator<Item = DatabaseKind>,
) -> SqlOptions {
    let is_paged = |kind| RequestPattern::of(kind).mode == IoMode::Buffered;
    let most = if databases.into_iter().any(is_paged) { PAGED_TABLE_MAX } else { Bytes(u64::MAX) };
    SqlOptions { table: options.table.min(most), ..options.clone() }
}

pub(super) fn run(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    let options = session.plan.suite.sql.clone();
    let mb_s = ExpectedSpeed::typical(session.target.drive()).mb_s;
    for database in options.databases.clone() {
        let room = session.target.info().size_bytes / 2;
        let options = computable(&options, [database]);
        let size = TableSize::fitting(&options, room, mb_s);
        let missing = || BenchError::Unsuitable("its table does not fit on this drive".to_string());
        let size = size.ok_or_else(missing)?;
        let pattern = RequestPattern::of(database);
        let layout = DatabaseLayout::of(size, pattern);
        let file = session.target.simulated_file(layout.restored.end, session.now_ns());
        let file = Arc::new(file.ok_or_else(missing)??);
        // Processes and connections have open files of their own.
        file.open_by_slot();
        session.storage.simulated = Some(Arc::clone(&file));
        let canceller = Canceller::default();
        let phases =
            SqlPhases { session: &*session, record, canceller: &canceller, actions: Vec::new() };
        let mut run = PredictedRun {
            phases,
            file: &file,
            options: &options,
            database,
            pattern,
            size,
            layout,
        };
        let end = run.measure();
        run.phases.finish();
        end?;
    }
    Ok(())
}

struct PredictedRun<'p, 's> {
    phases: SqlPhases<'p, 's>,
    file: &'p SimulatedDrive,
    options: &'p SqlOptions,
    database: DatabaseKind,
    pattern: RequestPattern,
    size: TableSize,
    layout: DatabaseLayout,
}

impl PredictedRun<'_, '_> {
    fn measure(&mut self) -> Result<(), BenchError> {
        self.phases.record.database(DatabaseRecord {
            database: self.database,
            version: "none: predicted".to_string(),
            table_bytes: self.size.bytes(),
            rows: self.size.rows,
            buffer_bytes: self.options.buffer.0,
            is_prediction: true,
            settings: Vec::new(),
        });
        let has = |part| self.options.parts.contains(&part);
        // A log is recycled: it has its place on the drive.
        let log = writer(self.layout.log.clone());
        self.run(IoMode::Direct, vec![log], NO_TIME_LIMIT_NS)?;
        self.flush()?;
        self.load()?;
        if has(SqlPart::Scan) {
            self.scan()?;
        }
        if has(SqlPart::Seek) {
            self.make_index()?;
            (1..=self.options.rounds).try_for_each(|round| self.seek(round, true))?;
            (1..=self.options.rounds).try_for_each(|round| self.seek(round, false))?;
        }
        if has(SqlPart::Commit) {
            (1..=self.options.rounds).try_for_each(|round| self.commits(round))?;
        }
        let [table, backup, restored] =
            [&self.layout.table, &self.layout.backup, &self.layout.restored].map(Range::clone);
        if has(SqlPart::Backup) {
            self.copy("backup", table, backup.clone())?;
        }
        if has(SqlPart::Restore) {
            self.copy("restore", backup, restored)?;
        }
        Ok(())
    }

    fn cell(&self, part: &str) -> String {
        format!("{}.{part}", self.database)
    }

    /// Runs clients as one action on `bytes`, with a flush if it writes. A simulated drive needs one round.
    fn action(
        &mut self,
        part: &str,
        bytes: u64,
        cache: Cache,
        mode: IoMode,
        clients: Vec<Requests<'_>>,
        cpu_ns: u64,
    ) -> Result<(), BenchError> {
        let cell = self.cell(part);
        let name = PhaseName { cell: &cell, round: 1, rounds: 1, cache };
        let counters = self.phases.begin(name)?;
        let start = self.file.now();
        self.run(mode, clients, NO_TIME_LIMIT_NS)?;
        let worked = self.file.now();
        if cache == Cache::Writes {
            self.flush()?;
        }
        let times = (start, worked, self.file.now());
        self.phases.keep_action(name, counters, bytes, times, (0, cpu_ns))
    }

    fn run(
        &self,
        mode: IoMode,
        clients: Vec<Requests<'_>>,
        time_ns: u64,
    ) -> Result<Recorder, BenchError> {
        let session = self.phases.session;
        let control = Control::default();
        let mut progress = Progress::new(session, &control);
        let mut unseen = 0;
        let mut watch = |bytes: u64| {
            control.add(1, bytes);
            unseen += bytes.max(4096);
            if unseen >= LOOK_EVERY_BYTES {
                unseen = 0;
                progress.report();
            }
            !control.stopped()
        };
        let recorder = simulated_clients::run(self.file, mode, clients, time_ns, &mut watch)?;
        session.check_stop()?;
        Ok(recorder)
    }

    /// In the requests in which pages are written back, of which the drive always has some; before each goes as much of
    /// the log, where there is one.
    fn load(&mut self) -> Result<(), BenchError> {
        let RequestPattern { load_row_ns, logs_load, .. } = self.pattern;
        let (table, log) = (self.layout.table.clone(), self.layout.log.clone());
        let rows = u64::from(LOAD_BYTES) / PAGE_BYTES;
        // One processor makes the rows of all of these requests.
        let think_ns = load_row_ns * rows * u64::from(LOAD_DEPTH);
        let (at, log_at) = (Cell::new(table.start), Cell::new(log.start));
        let take = |cursor: &Cell<u64>, end: u64| {
            let offset = cursor.get();
            let len = u64::from(LOAD_BYTES).min(end - offset) as u32;
            cursor.set(offset + u64::from(len));
            (offset, len)
        };
        let client = |_| -> Requests<'_> {
            let mut is_log = false;
            let (at, log_at, table, log, take) = (&at, &log_at, &table, &log, &take);
            Box::new(move || {
                is_log = logs_load && !is_log && at.get() < table.end;
                if !is_log {
                    let (offset, len) = take(at, table.end);
                    return ClientRequest::write(think_ns, offset, len);
                }
                if log_at.get() + u64::from(LOAD_BYTES) > log.end {
                    log_at.set(log.start);
                }
                let (offset, len) = take(log_at, log.end);
                ClientRequest::write(0, offset, len)
            })
        };
        let clients: Vec<Requests<'_>> = (0..LOAD_DEPTH).map(client).collect();
        let cpu_ns = load_row_ns * self.size.rows;
        self.action("load", self.size.bytes(), Cache::Writes, IoMode::Direct, clients, cpu_ns)
    }

    fn flush(&self) -> Result<(), BenchError> {
        self.file.flush().map_err(flush_failed)
    }

    fn make_cold(&self) -> Result<(), BenchError> {
        self.flush()?;
        self.file.evict();
        Ok(())
    }

    fn scan(&mut self) -> Result<(), BenchError> {
        self.make_cold()?;
        let RequestPattern { mode, scan, .. } = self.pattern;
        let cpu_ns = scan.page_ns * self.size.rows;
        let clients = scanners(&self.layout.table, &self.pattern);
        self.action("scan", self.size.bytes(), Cache::Reads, mode, clients, cpu_ns)
    }

    fn make_index(&mut self) -> Result<(), BenchError> {
        self.make_cold()?;
        let index = self.layout.index.clone();
        let mut reads = reader(self.layout.table.clone(), &self.pattern);
        let mut at = index.start;
        let requests: Requests<'_> = Box::new(move || {
            reads().or_else(|| {
                let len = (index.end - at).min(64 << 10) as u32;
                let offset = at;
                at += u64::from(len);
                ClientRequest::write(0, offset, len)
            })
        });
        let cpu_ns = self.pattern.scan.page_ns * self.size.rows;
        self.action("index", 0, Cache::Writes, IoMode::Buffered, vec![requests], cpu_ns)
    }

    fn seek(&mut self, round: u32, is_cold: bool) -> Result<(), BenchError> {
        let options = self.options;
        let cell = self.cell(if is_cold { "seek_cold" } else { "seek_warm" });
        let cold = self.size.cold_seeks(options);
        let count = if is_cold { cold } else { u64::from(options.iterations) };
        if is_cold {
            self.make_cold()?;
        }
        let seed = self.phases.session.plan.seed;
        let of_round = if is_cold { round } else { options.rounds };
        let all = cold * u64::from(options.threads);
        let ids = statements::distinct_rows(self.size.rows, all, seed, of_round);
        let name = PhaseName { cell: &cell, round, rounds: options.rounds, cache: Cache::Reads };
        // Leaves of the index that are in the database's buffers.
        let known = is_cold.then(RefCell::default);
        let clients = |count| -> Vec<Requests<'_>> {
            ids.chunks(cold as usize).map(|ids| self.seeks(ids, count, known.as_ref())).collect()
        };
        // What the database has in its own buffers asks nothing of the drive, whatever its mode.
        let mode = if is_cold { self.pattern.mode } else { IoMode::Buffered };
        if !is_cold {
            self.run(mode, clients(cold), NO_TIME_LIMIT_NS)?;
        }
        let clients = clients(count);
        let counters = self.phases.begin(name)?;
        let recorder = self.run(mode, clients, options.seek_time.nanos())?;
        let cpu_ns = recorder.ops * self.pattern.seek.ns;
        self.phases.keep_statements(
            name,
            "statements_s",
            counters,
            recorder,
            cpu_ns,
            options.threads,
        )
    }

    /// A leaf of the index, unless a client has read it before, then the page of the row; warm, only that.
    fn seeks<'i>(
        &self,
        ids: &'i [i64],
        count: u64,
        known: Option<&'i RefCell<BTreeSet<u64>>>,
    ) -> Requests<'i> {
        let SeekPattern { page_bytes, index_entries, ns: seek_ns } = self.pattern.seek;
        let (table, index) = (self.layout.table.start, self.layout.index.start);
        let (mut number, mut is_row) = (0, false);
        Box::new(move || {
            if number == count {
                return None;
            }
            let row = ids[(number % ids.len() as u64) as usize] as u64 - 1;
            let leaf = row / index_entries;
            let read = |think_ns, offset: u64, ends| {
                // Pages lie on multiples of their size.
                let offset = offset / u64::from(page_bytes) * u64::from(page_bytes);
                ClientRequest { think_ns, op: IoOp::Read, offset, len: page_bytes, ends }
            };
            if !is_row && known.is_some_and(|known| known.borrow_mut().insert(leaf)) {
                is_row = true;
                return Some(read(seek_ns, index + leaf * u64::from(page_bytes), None));
            }
            let think_ns = if is_row { 0 } else { seek_ns };
            (is_row, number) = (false, number + 1);
            Some(read(think_ns, table + row * PAGE_BYTES, Some(PAGE_BYTES)))
        })
    }

    fn commits(&mut self, round: u32) -> Result<(), BenchError> {
        let options = self.options;
        for &clients in &options.clients {
            let cell = self.cell(&format!("commit_c{clients}"));
            let cache = Cache::SyncedWrites;
            let name = PhaseName { cell: &cell, round, rounds: options.rounds, cache };
            let counters = self.phases.begin(name)?;
            let (pattern, log) = (self.pattern.log, self.layout.log.clone());
            let bound = Bound { statements: options.commits.into(), time: options.commit_time };
            let mode = self.pattern.mode;
            let recorder =
                simulated_clients::commit(self.file, mode, pattern, clients, log, bound)?;
            let cpu_ns = recorder.ops * pattern.think_ns;
            self.phases.keep_statements(name, "commits_s", counters, recorder, cpu_ns, clients)?;
        }
        Ok(())
    }

    fn copy(&mut self, part: &str, from: Range<u64>, into: Range<u64>) -> Result<(), BenchError> {
        self.make_cold()?;
        let RequestPattern { mode, copy, .. } = self.pattern;
        let bytes = from.end - from.start;
        let cursor = Cell::new(0);
        let clients = (0..copy.depth).map(|_| {
            let (from, into, cursor) = (from.start, into.start, &cursor);
            let mut write: Option<ClientRequest> = None;
            let requests: Requests<'_> = Box::new(move || {
                if let Some(write) = write.take() {
                    return Some(write);
                }
                let at = cursor.get();
                let len = u64::from(copy.bytes).min(bytes - at) as u32;
                cursor.set(at + u64::from(len));
                let request =
                    |op, offset, think_ns| ClientRequest { think_ns, op, offset, len, ends: None };
                write = (len > 0).then(|| request(IoOp::Write, into + at, copy.ns));
                (len > 0).then(|| request(IoOp::Read, from + at, 0))
            });
            requests
        });
        let clients: Vec<Requests<'_>> = clients.collect();
        let cpu_ns = copy.ns * bytes.div_ceil(copy.bytes.into());
        self.action(part, bytes, Cache::Writes, mode, clients, cpu_ns)
    }
}

fn writer(range: Range<u64>) -> Requests<'static> {
    let mut at = range.start;
    Box::new(move || {
        let len = (1 << 20).min(range.end - at) as u32;
        let offset = at;
        at += u64::from(len);
        ClientRequest::write(0, offset, len)
    })
}
