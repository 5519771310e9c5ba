//! SQL text that a server needs in place of, or beside, [`crate::sql`].

/// For one transaction: a lock or a slow disk there must not hold a measurement up.
pub(super) const LIMITS: &str =
    "SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = '60s'";

/// Without compiling: it takes a second for queries whose rows take milliseconds, since their number is overestimated.
pub(super) const BEGIN_READING: &str =
    "BEGIN READ ONLY; SET LOCAL jit = off; SET LOCAL statement_timeout = '60s'";

/// Version of the server, and whether it takes writes.
pub(super) const ABOUT: &str =
    "SELECT current_setting('server_version_num'), current_setting('transaction_read_only')";

/// Until the transaction ends.
pub(super) const LOCK_RUN: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text";

pub(super) const PUT_METRICS: &str =
    "INSERT INTO metrics (run_id, ordinal, key, value, unit, low, high, valid)
    SELECT $1, * FROM UNNEST($2, $3, $4, $5, $6, $7, $8)";

/// Rights that this user lacks, with their tables: those that fewer statements need come last.
pub(super) const MISSING_RIGHTS: &str = "SELECT priv, tab FROM (VALUES
        ('SELECT', 'meta', 1), ('SELECT', 'runs', 2), ('INSERT', 'runs', 3), ('UPDATE', 'runs', 4),
        ('SELECT', 'metrics', 5), ('SELECT', 'places', 5), ('INSERT', 'metrics', 6), ('DELETE', 'metrics', 7),
        ('DELETE', 'runs', 8)
    ) needed (priv, tab, place)
    WHERE NOT COALESCE(has_table_privilege(to_regclass(tab), priv), true) ORDER BY place";

/// As [`crate::sql::NEWEST_OF_DRIVES`], by one look into an index for each place: a window over runs reads them all.
pub(super) const NEWEST_OF_DRIVES: &str = "SELECT id, drive_name, drive_model, drive_serial
    FROM (SELECT newest.*, ROW_NUMBER() OVER (
            PARTITION BY drive_name, drive_model, drive_serial
            ORDER BY started_unix_us DESC, id DESC) number
        FROM places, LATERAL (
            SELECT id, started_unix_us, drive_name, drive_model, drive_serial
            FROM runs WHERE runs.place = places.place
            ORDER BY started_unix_us DESC, id DESC LIMIT 1) newest) numbered
    WHERE number = 1
    ORDER BY started_unix_us DESC, id DESC";

/// As [`crate::sql::NEWEST_RUNS`], by one look into an index for each place. Of drives without a serial number of their
/// own, those of each host, which takes all their runs' columns.
pub(super) const NEWEST_RUNS: &str = "WITH newest AS MATERIALIZED (
    SELECT found.* FROM places, LATERAL (
        SELECT simulated = 1 OR COALESCE(drive_serial, '') = '' AS by_host FROM runs
        WHERE runs.place = places.place ORDER BY started_unix_us DESC, id DESC LIMIT 1) known, LATERAL (
        (SELECT id, started_at, started_unix_us, runs.suite, target, drive_name, drive_model,
                drive_serial, simulated, host
            FROM runs WHERE NOT by_host AND runs.place = places.place AND status IN ('done', 'failed')
            ORDER BY started_unix_us DESC, id DESC LIMIT $1)
        UNION ALL
        SELECT id, started_at, started_unix_us, suite, target, drive_name, drive_model, drive_serial, simulated, host
            FROM (SELECT id, started_at, started_unix_us, runs.suite, target, drive_name, drive_model,
                drive_serial, simulated, host,
                ROW_NUMBER() OVER (PARTITION BY host ORDER BY started_unix_us DESC, id DESC) number
            FROM runs WHERE by_host AND runs.place = places.place AND status IN ('done', 'failed')) numbered
            WHERE number <= $1) found)";

/// As [`crate::sql::NEWEST_FIGURES`]; `OFFSET 0` keeps each look to one run, where the index by key has most of them.
pub(super) const NEWEST_FIGURES: &str = "SELECT newest.id, key, value, ordinal FROM newest, LATERAL (
        SELECT key, value, ordinal FROM metrics WHERE run_id = newest.id AND valid = 1 AND value > 0 OFFSET 0) figures
    WHERE key IN (KEYS)";

/// As [`crate::sql::FACTS_OF_RUNS`]: documents are read of runs only that an older version saved.
pub(super) const FACTS_OF_RUNS: &str =
    "SELECT id, COALESCE(facts, document) FROM runs WHERE id IN (IDS)";

pub(super) const HAS_META: &str = "SELECT to_regclass('meta') IS NOT NULL";

pub(super) const HAS_ROLE: &str = "SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = $1)";

/// Without tables, everybody may make them.
pub(super) const IS_OWNER: &str = "SELECT COALESCE((SELECT pg_has_role(relowner, 'USAGE')
    FROM pg_class WHERE oid = to_regclass('runs')), true)";

/// As [`MISSING_RIGHTS`], for the tables of a fleet. Of jobs, agents may change some columns only; they submit nothing.
pub(super) const MISSING_RIGHTS_OF_FLEET: &str = "SELECT priv, tab FROM (VALUES
        ('SELECT', 'fleet_hosts', 1), ('SELECT', 'fleet_drives', 2), ('SELECT', 'fleet_submissions', 3),
        ('SELECT', 'fleet_jobs', 4), ('INSERT', 'fleet_hosts', 5), ('UPDATE', 'fleet_hosts', 5),
        ('DELETE', 'fleet_hosts', 5), ('INSERT', 'fleet_drives', 6), ('UPDATE', 'fleet_drives', 6),
        ('INSERT', 'fleet_submissions', 7), ('UPDATE', 'fleet_submissions', 7),
        ('INSERT', 'fleet_jobs', 8), ('UPDATE', 'fleet_jobs', 8)
    ) needed (priv, tab, place)
    WHERE tab = $1 AND NOT COALESCE(CASE priv
            WHEN 'DELETE' THEN has_table_privilege(to_regclass(tab), priv)
            ELSE has_any_column_privilege(to_regclass(tab), priv) END, true)
        AND NOT (EXISTS (SELECT 1 FROM pg_roles
                WHERE rolname = 'drivescope_agent' AND pg_has_role(oid, 'MEMBER'))
            AND (priv, tab) IN (('DELETE', 'fleet_hosts'), ('INSERT', 'fleet_submissions'),
                ('UPDATE', 'fleet_submissions'), ('INSERT', 'fleet_jobs')))
    ORDER BY place";
