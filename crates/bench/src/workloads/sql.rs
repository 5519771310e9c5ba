//! `sql`: databases whose files lie on the target: load, scan, seek, commit, backup, restore ("A Hard Drive
//! Retrospective").
//!
//! On a simulated drive no database runs: its requests are made up after the pattern that was recorded of one, and the
//! result says so.

mod client_loop;
mod database_run;
mod device_figures;
mod flush_floor;
mod places;
mod possible_parts;
mod predicted_run;
mod request_pattern;
mod simulated_clients;
mod sql_phase;
mod statements;
mod table_scan;
mod table_size;

use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::plan::option_checks::{ROUNDS_MAX, check_count, check_once, check_time, ensure};
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::{GivenOption, Workload};
use crate::workloads::shared::open_target;
use drivescope_model::options::{DatabaseKind, SqlOptions, SqlPart, Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use drivescope_sql::{ServerUrl, SqlError, UserQuery};
use possible_parts::possible;
use table_size::TableSize;

/// Threads and clients at most: a server needs a process for each.
const CLIENTS_MAX: u32 = 256;
const TABLE_MIN: u64 = 1 << 20;
/// Bytes that a commit writes, about: a page of the log and what the file system adds.
const COMMIT_WRITES: f64 = 16_384.0;
/// Bytes that a server writes before it has any data.
const MADE_BYTES: f64 = 64e6;
/// The log of MariaDB, which it writes as a whole when it is made.
const MARIADB_LOG_MIN: f64 = 96.0 * 1_048_576.0;
const MARIADB_LOG_MAX: f64 = 512.0 * 1_048_576.0;
/// What it writes in a round: room for temporary tables at each start, and the log of a restored copy.
const MARIADB_ROUND_BYTES: f64 = 170e6;
/// Restarts, initialization and the end of a server, s.
const SERVER_S: f64 = 3.0;

pub struct SqlWorkload;

impl Workload for SqlWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Sql
    }

    fn question(&self) -> &'static str {
        "how fast does a database load, scan, seek, commit, back up and restore"
    }

    fn access(&self) -> &'static str {
        "in a directory: a database of its own, removed at the end; not on a file or a device"
    }

    fn how_to_shorten(&self, suite: &Suite) -> String {
        let SqlOptions { rounds, .. } = suite.sql;
        format!("{rounds} rounds of each part: use fewer --rounds, or a smaller --size")
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let options = &suite.sql;
        ensure(!options.databases.is_empty(), || "sql.databases names none".to_string())?;
        check_once(&options.databases, "sql.databases names")?;
        check_once(&options.clients, "sql.clients names")?;
        let has = |part| options.parts.contains(&part);
        ensure(!has(SqlPart::Restore) || has(SqlPart::Backup), || {
            "sql.parts: a restore needs its backup".to_string()
        })?;
        ensure(options.table.0 >= TABLE_MIN, || "sql.table must be 1 MiB or more".to_string())?;
        check_count(options.rounds, 1..=ROUNDS_MAX, "sql.rounds")?;
        let clients = options.clients.iter().chain([&options.threads]);
        ensure(clients.clone().all(|count| (1..=CLIENTS_MAX).contains(count)), || {
            format!("sql.threads and sql.clients must be between 1 and {CLIENTS_MAX}")
        })?;
        ensure(options.clients.iter().all(|count| *count <= options.commits), || {
            "sql.commits must be one for each of sql.clients or more".to_string()
        })?;
        ensure(options.iterations > 0, || "sql.iterations must be 1 or more".to_string())?;
        check_time(options.seek_time)?;
        check_time(options.commit_time)?;
        ensure(has(SqlPart::Query) == options.query.is_some(), || {
            "sql.parts: query needs a statement (--query FILE)".to_string()
        })?;
        ensure(options.params.is_none() || options.query.is_some(), || {
            "--params needs a statement (--query FILE)".to_string()
        })?;
        let url = options.url.as_deref().map(ServerUrl::parse).transpose();
        url.map_err(|error| error.to_string())?;
        user_query(options).map(|_| ())
    }

    fn apply(&self, overrides: &Overrides, suite: &mut Suite) -> Result<(), String> {
        let options = &mut suite.sql;
        options.rounds = overrides.rounds.unwrap_or(options.rounds);
        options.table = overrides.size.unwrap_or(options.table);
        if let Some(query) = &overrides.query {
            options.query = Some(query.clone());
            options.parts = vec![SqlPart::Query];
        }
        options.params = overrides.params.clone().or(options.params.take());
        if let [url] = overrides.databases.as_slice()
            && url.contains("://")
        {
            options.databases =
                vec![ServerUrl::parse(url).map_err(|error| error.to_string())?.database];
            options.url = Some(url.clone());
        } else if !overrides.databases.is_empty() {
            let named = overrides.databases.iter().map(|name| database_named(name));
            (options.databases, options.url) = (named.collect::<Result<_, _>>()?, None);
        }
        Ok(())
    }

    fn needs_test_file(&self) -> bool {
        false
    }

    fn given_options(&self, overrides: &Overrides) -> Vec<GivenOption> {
        GivenOption::among(&[
            ("--db", true, !overrides.databases.is_empty()),
            ("--query", true, overrides.query.is_some()),
            ("--params", false, overrides.params.is_some()),
        ])
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let options = &context.suite.sql;
        if let Some(reason) = context.files_refusal() {
            return context.skipped(self.kind(), reason);
        }
        let is_simulated = context.target.kind == TargetKind::Simulated;
        let (chosen, mut omitted) = databases(options, is_simulated);
        if chosen.is_empty() {
            return context.skipped(self.kind(), omitted.join("; "));
        }
        let fitting = |options: &SqlOptions| {
            TableSize::fitting(options, context.room_bytes, context.typical.mb_s)
        };
        let asked = if is_simulated {
            let kinds = chosen.iter().flat_map(|it| it.databases.iter().copied());
            predicted_run::computable(options, kinds)
        } else {
            options.clone()
        };
        let Some(size) = fitting(&asked) else {
            let reason = format!(
                "no room for its table and copies: only {} above the floor of free space",
                Bytes(context.room_bytes)
            );
            return context.skipped(self.kind(), reason);
        };
        omitted.extend(size.smaller_than_asked(options));
        let mut test = context.planned(self.kind());
        test.omitted = omitted;
        test.files_bytes = Bytes(size.needed_bytes(options));
        let each = chosen.iter().map(|options| cost(context, options, size, is_simulated));
        test.cost = each.fold(Cost::default(), |all, one| all + one);
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        if session.target.info().kind == TargetKind::Simulated {
            return predicted_run::run(session, record);
        }
        open_target::in_own_folder(session, |session, folder| {
            let options = &session.plan.suite.sql;
            let room = session.target.room()?.0;
            let mb_s =
                crate::plan::expected_speed::ExpectedSpeed::typical(session.target.drive()).mb_s;
            let size = TableSize::fitting(options, room, mb_s);
            let size = size.ok_or_else(|| session.target.no_room(Bytes(TABLE_MIN)))?;
            for options in databases(options, false).0 {
                database_run::run(session, folder, record, &options, size)?;
            }
            Ok(())
        })
    }
}

/// The databases that can be measured here, each with the options for it alone, and why others or parts cannot.
fn databases(options: &SqlOptions, is_simulated: bool) -> (Vec<SqlOptions>, Vec<String>) {
    if is_simulated && (options.query.is_some() || options.url.is_some()) {
        return (Vec::new(), vec!["a simulated drive has no database to ask".to_string()]);
    }
    let (mut chosen, mut omitted) = (Vec::new(), Vec::new());
    for &database in &options.databases {
        let mut installed = None;
        if !is_simulated && options.url.is_none() {
            match drivescope_sql::find(database) {
                Ok(found) => installed = Some(found),
                Err(why) => {
                    omitted.push(why.to_string());
                    continue;
                }
            }
        }
        let (options, remarks) = possible(options, database, installed.as_deref());
        chosen.push(options);
        omitted.extend(remarks);
    }
    (chosen, omitted)
}

fn database_named(name: &str) -> Result<DatabaseKind, String> {
    let known = |kind: &DatabaseKind| match name {
        "postgresql" => *kind == DatabaseKind::Postgres,
        "mysql" => *kind == DatabaseKind::Mariadb,
        _ => kind.name() == name,
    };
    DatabaseKind::ALL.into_iter().find(known).ok_or_else(|| {
        let names = DatabaseKind::ALL.map(DatabaseKind::name).join(", ");
        format!("no database '{name}': name {names}, or a server's URL")
    })
}

fn cost(
    context: &PlanContext<'_>,
    options: &SqlOptions,
    size: TableSize,
    is_simulated: bool,
) -> Cost {
    let has = |part| options.parts.contains(&part);
    let rounds = f64::from(options.rounds);
    let (table, rate) = (size.bytes() as f64, context.typical.mb_s * 1e6);
    let deep = context.typical.iops * context.typical.queue_gain.min(f64::from(options.threads));
    let seeks = size.cold_seeks(options) as f64 * f64::from(options.threads);
    let (mut seconds, mut read) = (table * 2.0 / rate + SERVER_S, 0.0);
    let server = if is_simulated { 0.0 } else { server_writes(options, table) };
    let mut written = table * 2.0 + server;
    // A simulated drive repeats itself: one round of what takes whole tables.
    let mut pages = table * 2.0;
    if has(SqlPart::Scan) {
        seconds += rounds * (table / rate + 1.0);
        read += rounds * table;
        pages += table;
    }
    let mut requests = 0.0;
    if has(SqlPart::Seek) {
        seconds += rounds * ((seeks * 2.0 / deep).min(options.seek_time.0) + 2.0);
        read += rounds * seeks * 16_384.0;
        let warm = f64::from(options.iterations) * f64::from(options.threads);
        requests += rounds * (seeks * 2.0 + warm);
        pages += table;
    }
    if has(SqlPart::Query) {
        seconds += rounds * options.seek_time.0;
    }
    if has(SqlPart::Commit) {
        let cells = options.clients.len() as f64;
        let time = rounds * cells * options.commit_time.0;
        seconds += time;
        let commits = |iops: f64| (time * iops).min(rounds * cells * f64::from(options.commits));
        written += context.fastest.map_or(0.0, |fastest| commits(fastest.iops) * COMMIT_WRITES);
        // A write and a flush for each.
        requests += commits(context.typical.iops);
    }
    for part in [SqlPart::Backup, SqlPart::Restore] {
        if has(part) {
            seconds += rounds * (table * 2.0 / rate + 1.0);
            (read, written) = (read + rounds * table, written + rounds * table);
            pages += table * 2.0;
        }
    }
    Cost {
        seconds,
        read_bytes: read as u64,
        written_bytes: written as u64,
        computed_s: context.computed_s(requests) + context.computed_stream_s(pages),
    }
}

/// Bytes that a server of the test's own writes besides the table, when it is made and in each round.
fn server_writes(options: &SqlOptions, table: f64) -> f64 {
    let of = |database: &DatabaseKind| match database {
        // Its log as a whole, and each page twice.
        DatabaseKind::Mariadb => {
            let log = (table / 2.0).clamp(MARIADB_LOG_MIN, MARIADB_LOG_MAX);
            (MADE_BYTES + log + table, MARIADB_ROUND_BYTES)
        }
        DatabaseKind::Postgres => (MADE_BYTES, MADE_BYTES),
        DatabaseKind::Sqlite | DatabaseKind::Mssql => (0.0, 0.0),
    };
    let own = options.databases.iter().filter(|_| options.url.is_none());
    own.map(of).map(|(made, round)| made + f64::from(options.rounds) * round).sum()
}

fn user_query(options: &SqlOptions) -> Result<Option<UserQuery>, String> {
    let Some(path) = &options.query else { return Ok(None) };
    let read = |path: &String, option: &str| {
        std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read the file {path} of {option}: {error}"))
    };
    let statement = read(path, "--query")?;
    let parameters = options.params.as_ref().map(|path| read(path, "--params")).transpose()?;
    let query = UserQuery::parse(&statement, parameters.as_deref());
    query.map(Some).map_err(|error: SqlError| error.to_string())
}

#[cfg(test)]
mod tests;
