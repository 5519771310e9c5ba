//! The SQL text. It keeps to what SQLite and PostgreSQL both accept: parameters `$1`, `$2`, … that
//! first appear in ascending order (SQLite numbers them by appearance), the types TEXT, BIGINT and
//! DOUBLE PRECISION, truth values as 0 and 1, and `LOWER` on both sides of a comparison (`LIKE`
//! ignores case in SQLite only).

/// Version of the tables, kept in `meta`.
pub(crate) const SCHEMA: u32 = 1;

/// The tables of [`SCHEMA`]. `started_unix_us` orders runs from different time zones, which the text
/// of `started_at` cannot, and one whose machine did not know the time after all that were saved before it;
/// `ordinal` is the place of a metric within its document, from 0.
pub(crate) const CREATE: &[&str] = &[
    "CREATE TABLE meta (
        key TEXT NOT NULL PRIMARY KEY,
        value TEXT NOT NULL
    )",
    "CREATE TABLE runs (
        id TEXT NOT NULL PRIMARY KEY,
        started_at TEXT NOT NULL,
        started_unix_us BIGINT NOT NULL,
        elapsed_s DOUBLE PRECISION NOT NULL,
        label TEXT,
        suite TEXT NOT NULL,
        target TEXT NOT NULL,
        drive_name TEXT,
        drive_model TEXT,
        drive_serial TEXT,
        status TEXT NOT NULL,
        simulated BIGINT NOT NULL,
        format BIGINT NOT NULL,
        document TEXT NOT NULL
    )",
    "CREATE INDEX runs_by_start ON runs (started_unix_us, id)",
    "CREATE TABLE metrics (
        run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        ordinal BIGINT NOT NULL,
        key TEXT NOT NULL,
        value DOUBLE PRECISION NOT NULL,
        unit TEXT NOT NULL,
        low DOUBLE PRECISION NOT NULL,
        high DOUBLE PRECISION NOT NULL,
        valid BIGINT NOT NULL,
        PRIMARY KEY (run_id, ordinal)
    )",
    "CREATE INDEX metrics_by_key ON metrics (key, run_id)",
];

pub(crate) const SET_SCHEMA: &str = "INSERT INTO meta (key, value) VALUES ('schema', $1)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";

pub(crate) const GET_SCHEMA: &str = "SELECT value FROM meta WHERE key = 'schema'";

/// Adds a run or replaces it, with more columns if there are any.
macro_rules! put_run {
    ($columns:literal, $values:literal, $replaced:literal) => {
        concat!(
            "INSERT INTO runs (
        id, started_at, started_unix_us, elapsed_s, label, suite, target,
        drive_name, drive_model, drive_serial, status, simulated, format, document",
            $columns,
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14",
            $values,
            ") ON CONFLICT (id) DO UPDATE SET
        started_at = excluded.started_at, started_unix_us = excluded.started_unix_us,
        elapsed_s = excluded.elapsed_s, label = excluded.label, suite = excluded.suite,
        target = excluded.target, drive_name = excluded.drive_name,
        drive_model = excluded.drive_model, drive_serial = excluded.drive_serial,
        status = excluded.status, simulated = excluded.simulated, format = excluded.format,
        document = excluded.document",
            $replaced
        )
    };
}

pub(crate) const PUT_RUN: &str = put_run!("", "", "");

/// On a server, which also has the host, the firmware, and the facts.
#[cfg(feature = "postgres")]
pub(crate) const PUT_RUN_OF_HOST: &str = put_run!(
    ", host, drive_firmware, facts",
    ", $15, $16, $17",
    ", host = excluded.host, drive_firmware = excluded.drive_firmware, facts = excluded.facts"
);

pub(crate) const PUT_METRIC: &str = "INSERT INTO metrics (
        run_id, ordinal, key, value, unit, low, high, valid
    ) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

/// Position of a run in their order.
pub(crate) const GET_PLACE: &str = "SELECT started_unix_us FROM runs WHERE id = $1";

/// Position of the newest run.
pub(crate) const NEWEST_PLACE: &str = "SELECT MAX(started_unix_us) FROM runs";

/// Also removes its metrics.
pub(crate) const REMOVE_RUN: &str = "DELETE FROM runs WHERE id = $1";

pub(crate) const REMOVE_METRICS: &str = "DELETE FROM metrics WHERE run_id = $1";

pub(crate) const GET_DOCUMENT: &str = "SELECT document FROM runs WHERE id = $1";

/// The five newest ids between two texts, and the number of all.
pub(crate) const FIND: &str = "SELECT id, COUNT(*) OVER () FROM runs WHERE id BETWEEN $1 AND $2
    ORDER BY started_unix_us DESC, id DESC LIMIT 5";

pub(crate) const NEWEST: &str =
    "SELECT id FROM runs ORDER BY started_unix_us DESC, id DESC LIMIT 1";

/// Filter of runs: a pattern for the drive, a label in lower case or NULL, a pattern for any shown column, a status or
/// NULL, whether simulated or NULL.
macro_rules! chosen {
    () => {
        "WHERE (LOWER(target) LIKE $1 ESCAPE '!'
            OR LOWER(drive_name) LIKE $1 ESCAPE '!'
            OR LOWER(drive_model) LIKE $1 ESCAPE '!'
            OR LOWER(drive_serial) LIKE $1 ESCAPE '!')
          AND (CAST($2 AS TEXT) IS NULL OR LOWER(label) = $2)
          AND (LOWER(target) LIKE $3 ESCAPE '!'
            OR LOWER(drive_name) LIKE $3 ESCAPE '!'
            OR LOWER(drive_model) LIKE $3 ESCAPE '!'
            OR LOWER(drive_serial) LIKE $3 ESCAPE '!'
            OR LOWER(label) LIKE $3 ESCAPE '!'
            OR LOWER(suite) LIKE $3 ESCAPE '!'
            OR id LIKE $3 ESCAPE '!')
          AND (CAST($4 AS TEXT) IS NULL OR status = $4)
          AND (CAST($5 AS BIGINT) IS NULL OR simulated = $5)"
    };
}

/// Summaries, newest first: the parameters of [`chosen`], then limit and offset. Reads the metrics of shown runs only.
/// The headline is the first main figure of a test.
macro_rules! list {
    ($chosen:expr) => {
        concat!(
    "SELECT
        id, started_at, elapsed_s, label, suite, target,
        drive_name, drive_model, drive_serial, status, simulated, format,
        (SELECT MAX(value) FROM metrics
            WHERE run_id = shown.id AND valid = 1 AND key LIKE 'transfer.seq%.read.mb!_s' ESCAPE '!'),
        (SELECT MAX(value) FROM metrics
            WHERE run_id = shown.id AND valid = 1 AND key LIKE 'transfer.seq%.write.mb!_s' ESCAPE '!'),
        (SELECT MAX(value) FROM metrics
            WHERE run_id = shown.id AND valid = 1 AND key = 'transfer.rnd4k_q1t1.read.iops'),
        (SELECT COUNT(*) FROM metrics WHERE run_id = shown.id AND valid = 0),
        headline.key, headline.value, headline.unit
    FROM (SELECT id, started_at, started_unix_us, elapsed_s, label, suite, target,
            drive_name, drive_model, drive_serial, status, simulated, format
        FROM runs ",
    $chosen,
    " ORDER BY started_unix_us DESC, id DESC
        LIMIT $6 OFFSET $7) shown
    LEFT JOIN metrics headline ON headline.run_id = shown.id AND headline.ordinal =
        (SELECT MIN(ordinal) FROM metrics WHERE run_id = shown.id AND valid = 1 AND (
            key LIKE 'transfer.%.mb!_s' ESCAPE '!'
            OR key LIKE 'latency.%.lat!_p50!_us' ESCAPE '!'
            OR key LIKE 'surface.%.mean!_mb!_s' ESCAPE '!'
            OR key LIKE 'tiny-writes.%.iops' ESCAPE '!'
            OR key LIKE 'align.%.sector!_bytes' ESCAPE '!'
            OR key LIKE 'fill.%.mean!_mb!_s' ESCAPE '!'
            OR key LIKE 'verify.%.real!_bytes' ESCAPE '!'))
    ORDER BY shown.started_unix_us DESC, shown.id DESC"
)
    };
}

pub(crate) const LIST: &str = list!(chosen!());

/// As [`list`], without what is in `metrics`.
macro_rules! list_bare {
    ($chosen:expr) => {
        concat!(
            "SELECT id, started_at, elapsed_s, label, suite, target, drive_name, drive_model,
        drive_serial, status, simulated, format, NULL, NULL, NULL, CAST(0 AS BIGINT), NULL, NULL, NULL
    FROM runs ",
            $chosen,
            " ORDER BY started_unix_us DESC, id DESC LIMIT $6 OFFSET $7"
        )
    };
}

pub(crate) const LIST_BARE: &str = list_bare!(chosen!());

pub(crate) const COUNT: &str = concat!("SELECT COUNT(*) FROM runs ", chosen!());

/// As [`chosen`], on a server. It searches the few thousand places first: an `ARRAY` is made before the rest of the
/// plan runs, so that the index by place can be used. Long labels are cut for their index.
#[cfg(feature = "postgres")]
macro_rules! chosen_by_place {
    () => {
        "WHERE ($1 = '%' OR place = ANY (ARRAY(
                SELECT place FROM places WHERE drive_names LIKE $1 ESCAPE '!')))
          AND (CAST($2 AS TEXT) IS NULL
            OR LEFT(LOWER(label), 200) = LEFT($2, 200) AND LOWER(label) = $2)
          AND ($3 = '%' OR place = ANY (ARRAY(
                SELECT place FROM places WHERE drive_names LIKE $3 ESCAPE '!'
                    OR suite LIKE $3 ESCAPE '!'))
            OR LOWER(label) LIKE $3 ESCAPE '!'
            OR id LIKE $3 ESCAPE '!')
          AND (CAST($4 AS TEXT) IS NULL OR status = $4)
          AND (CAST($5 AS BIGINT) IS NULL OR simulated = $5)"
    };
}

#[cfg(feature = "postgres")]
pub(crate) const LIST_BY_PLACE: &str = list!(chosen_by_place!());

#[cfg(feature = "postgres")]
pub(crate) const LIST_BARE_BY_PLACE: &str = list_bare!(chosen_by_place!());

#[cfg(feature = "postgres")]
pub(crate) const COUNT_BY_PLACE: &str = concat!("SELECT COUNT(*) FROM runs ", chosen_by_place!());

/// All ids, the oldest run first.
pub(crate) const IDS: &str = "SELECT id FROM runs ORDER BY started_unix_us, id";

/// From an index.
pub(crate) const COUNT_ALL: &str = "SELECT COUNT(*) FROM runs";

/// The newest run of each drive, newest first: its id, and the names of the drive.
pub(crate) const NEWEST_OF_DRIVES: &str = "SELECT id, drive_name, drive_model, drive_serial
    FROM (SELECT id, started_unix_us, drive_name, drive_model, drive_serial, ROW_NUMBER() OVER (
            PARTITION BY drive_name, drive_model, drive_serial
            ORDER BY started_unix_us DESC, id DESC) place
        FROM runs) placed
    WHERE place = 1
    ORDER BY started_unix_us DESC, id DESC";

/// The newest runs, as many as the parameter says, of each target with its drive and suite that ended by themselves: a
/// table of the query that follows.
pub(crate) const NEWEST_RUNS: &str = "WITH newest AS (
    SELECT id, started_at, started_unix_us, suite, target, drive_name, drive_model, drive_serial, simulated,
        CAST(NULL AS TEXT)
    FROM (SELECT id, started_at, started_unix_us, suite, target, drive_name, drive_model, drive_serial,
            simulated, ROW_NUMBER() OVER (
                PARTITION BY target, drive_name, drive_model, drive_serial, suite
                ORDER BY started_unix_us DESC, id DESC) number
        FROM runs WHERE status IN ('done', 'failed')) numbered
    WHERE number <= $1)";

/// Their valid figures, in any order: sorting a million takes longer than finding them. Parameters of keys in place of
/// `KEYS`.
pub(crate) const NEWEST_FIGURES: &str = "SELECT id, key, value, ordinal FROM newest
    JOIN metrics ON run_id = id WHERE valid = 1 AND value > 0 AND key IN (KEYS)";

/// Runs with what [`RunFacts`](crate::run_facts::RunFacts) reads: parameters of ids in place of `IDS`.
pub(crate) const FACTS_OF_RUNS: &str = "SELECT id, document FROM runs WHERE id IN (IDS)";

/// Runs that wait for a server, in a file; made when the first one does.
pub(crate) const CREATE_WAITING: &str = "CREATE TABLE IF NOT EXISTS waiting (
        run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        server TEXT NOT NULL,
        PRIMARY KEY (run_id, server)
    )";

pub(crate) const HAS_WAITING: &str =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'waiting'";

pub(crate) const SET_WAITING: &str =
    "INSERT INTO waiting (run_id, server) VALUES ($1, $2) ON CONFLICT DO NOTHING";

pub(crate) const CLEAR_WAITING: &str = "DELETE FROM waiting WHERE run_id = $1 AND server = $2";

pub(crate) const WAITING: &str = "SELECT run_id FROM waiting JOIN runs ON id = run_id
    WHERE server = $1 ORDER BY started_unix_us, id";

pub(crate) const WAITING_SERVERS: &str =
    "SELECT server, COUNT(*) FROM waiting GROUP BY server ORDER BY server";

#[cfg(test)]
mod tests {
    use super::*;

    const STATEMENTS: &[&str] = &[
        SET_SCHEMA,
        GET_SCHEMA,
        PUT_RUN,
        PUT_METRIC,
        REMOVE_METRICS,
        GET_DOCUMENT,
        GET_PLACE,
        NEWEST_PLACE,
        FIND,
        NEWEST,
        LIST,
        LIST_BARE,
        COUNT,
        COUNT_ALL,
        IDS,
        NEWEST_OF_DRIVES,
        NEWEST_RUNS,
    ];

    /// Numbers of the parameters in the order of their first appearance.
    fn parameters(sql: &str) -> Vec<u32> {
        let mut found = Vec::new();
        for part in sql.split('$').skip(1) {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            let number = digits.parse().expect("a parameter has a number");
            if !found.contains(&number) {
                found.push(number);
            }
        }
        found
    }

    #[test]
    fn parameters_first_appear_in_ascending_order() {
        for sql in STATEMENTS {
            let numbers = parameters(sql);
            let expected: Vec<u32> = (1..=numbers.len() as u32).collect();
            assert_eq!(numbers, expected, "{sql}");
            assert!(!sql.contains('?'), "{sql}");
        }
        assert_eq!(parameters(PUT_RUN).len(), 14);
    }

    #[test]
    fn columns_have_portable_types_only() {
        let mut columns = 0;
        for table in CREATE.iter().filter(|sql| sql.starts_with("CREATE TABLE")) {
            for line in table.lines().skip(1).map(str::trim).filter(|line| *line != ")") {
                let column = line.split_once(' ').expect("a name and a type").1;
                let known = ["TEXT", "BIGINT", "DOUBLE PRECISION", "KEY (run_id, ordinal)"];
                assert!(known.iter().any(|kind| column.starts_with(kind)), "{line}");
                columns += 1;
            }
        }
        assert_eq!(columns, 2 + 14 + 9);
    }
}
