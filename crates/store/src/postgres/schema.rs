//! The tables of a server, their versions, and the roles that may use them.

use super::address::ServerAddress;
use super::server_errors::{of_statement, words};
use super::{connect, fleet_tables, schema_of, sql_of_server};
use crate::error::{StoreError, StoreFault};
use crate::schema_report::SchemaReport;
use crate::sql;
use postgres::error::SqlState;
use postgres::{Client, Transaction};

/// Version of the tables on a server; those of a file have their own.
pub(crate) const SCHEMA_OF_SERVER: u32 = 4;

/// Lets one program at a time make or change the tables.
const LOCK_TABLES: &str = "SELECT pg_advisory_xact_lock(hashtextextended('drivescope', 0))";

/// Group roles; each user or agent gets a login of its own that is a member of one.
const ROLES: [&str; 3] = ["drivescope_agent", "drivescope_reader", "drivescope_submitter"];

/// What many writers and many runs need beside the tables of a file.
///
/// A place is a target with its drive and suite; there are far fewer than runs, so that the search for a part of a name
/// reads them all. It is named by a hash, since an index takes no long texts. SHA-256 is there in FIPS mode, too.
const FOR_MANY: &[&str] = &[
    "ALTER TABLE runs
        ADD COLUMN host TEXT COLLATE \"C\",
        ADD COLUMN drive_firmware TEXT COLLATE \"C\",
        ADD COLUMN saved_by TEXT NOT NULL DEFAULT current_user,
        ADD COLUMN place TEXT COLLATE \"C\" NOT NULL GENERATED ALWAYS AS (
            LEFT(encode(sha256(decode(replace(
                target || E'\\x1f' || COALESCE(drive_name, '') || E'\\x1f' ||
                COALESCE(drive_model, '') || E'\\x1f' || COALESCE(drive_serial, '') ||
                E'\\x1f' || suite, E'\\\\', E'\\\\\\\\'), 'escape')), 'hex'), 32)) STORED",
    "CREATE TABLE places (
        place TEXT COLLATE \"C\" NOT NULL PRIMARY KEY,
        drive_names TEXT COLLATE \"C\" NOT NULL,
        suite TEXT COLLATE \"C\" NOT NULL
    )",
    "INSERT INTO places SELECT DISTINCT ON (place) place,
        LOWER(concat_ws(E'\\x1f', target, drive_name, drive_model, drive_serial)), LOWER(suite)
        FROM runs",
    // As the owner, since an agent need not write there; by name, since a user may have a table of that name.
    "CREATE FUNCTION note_place() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = pg_catalog, pg_temp AS $$ BEGIN
            EXECUTE format('INSERT INTO %I.places VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
                TG_TABLE_SCHEMA) USING NEW.place, LOWER(concat_ws(E'\\x1f', NEW.target,
                NEW.drive_name, NEW.drive_model, NEW.drive_serial)), LOWER(NEW.suite);
            RETURN NULL;
        END $$",
    "CREATE TRIGGER note_place AFTER INSERT OR UPDATE ON runs
        FOR EACH ROW EXECUTE FUNCTION note_place()",
    "CREATE INDEX runs_by_place ON runs (place, started_unix_us, id)",
    "CREATE INDEX runs_by_label ON runs (LEFT(LOWER(label), 200), started_unix_us, id)",
    // An agent sees and changes only what its own login has saved; grants alone decide for all others.
    "ALTER TABLE runs ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE metrics ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE places ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY granted ON runs USING (true)",
    "CREATE POLICY granted ON metrics USING (true)",
    "CREATE POLICY granted ON places USING (true)",
];

/// The search for a part of a label or an id. Without it each search reads all runs.
const FOR_SEARCH: &[&str] = &[
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX IF NOT EXISTS runs_by_text ON runs
        USING gin (LOWER(label) gin_trgm_ops, id gin_trgm_ops)",
];

const GRANTS: &[&str] = &[
    "DROP POLICY IF EXISTS own_rows ON runs",
    "DROP POLICY IF EXISTS own_rows ON metrics",
    "DROP POLICY IF EXISTS own_rows ON places",
    "CREATE POLICY own_rows ON runs AS RESTRICTIVE TO drivescope_agent
        USING (saved_by = current_user)",
    "CREATE POLICY own_rows ON metrics AS RESTRICTIVE TO drivescope_agent
        USING (EXISTS (SELECT 1 FROM runs WHERE id = run_id AND saved_by = current_user))",
    "CREATE POLICY own_rows ON places AS RESTRICTIVE TO drivescope_agent USING (EXISTS (
        SELECT 1 FROM runs WHERE runs.place = places.place AND saved_by = current_user))",
    "GRANT SELECT ON meta, runs, metrics, places
        TO drivescope_agent, drivescope_reader, drivescope_submitter",
    "GRANT INSERT, UPDATE ON runs TO drivescope_agent, drivescope_submitter",
    "GRANT INSERT, DELETE ON metrics TO drivescope_agent, drivescope_submitter",
    "GRANT DELETE ON runs TO drivescope_submitter",
];

/// The statements that make the tables of a version, from those of the one before.
fn statements(version: u32) -> Vec<String> {
    match version {
        // As in a file. Bytes are compared, so that the order and the letters are those of SQLite.
        1 => sql::CREATE.iter().map(|text| text.replace(" TEXT", " TEXT COLLATE \"C\"")).collect(),
        2 => FOR_MANY.iter().map(|text| (*text).to_string()).collect(),
        3 => fleet_tables::CREATE.iter().map(|text| (*text).to_string()).collect(),
        // Of runs of thousands of drives, documents would be a gigabyte.
        _ => vec!["ALTER TABLE runs ADD COLUMN facts TEXT COLLATE \"C\"".to_string()],
    }
}

fn grants() -> impl Iterator<Item = &'static str> {
    GRANTS.iter().chain(fleet_tables::GRANTS).copied()
}

fn create_role(role: &str) -> String {
    format!("CREATE ROLE {role} NOLOGIN")
}

/// Everything that [`apply`] runs in an empty database, for an administrator to read.
pub(crate) fn sql_text() -> String {
    let tables = (1..=SCHEMA_OF_SERVER).flat_map(statements);
    let version = format!("INSERT INTO meta (key, value) VALUES ('schema', '{SCHEMA_OF_SERVER}')");
    let rest = FOR_SEARCH.iter().map(|text| (*text).to_string());
    let rest = rest.chain(ROLES.map(create_role)).chain(grants().map(str::to_string));
    tables.chain([version]).chain(rest).map(|statement| statement + ";\n").collect()
}

/// Whether this program can use the tables. Errors: what to type if not.
pub(super) fn check(client: &mut Client, address: &ServerAddress) -> Result<(), StoreError> {
    let (shown, words) = (address.shown(), &address.words);
    let (fault, message) = match schema_of(client, address)? {
        Some(SCHEMA_OF_SERVER) => return Ok(()),
        None => {
            let line = format!("its owner types: drivescope store init{words}");
            (
                StoreFault::Missing,
                format!("the database {shown} has no tables of drivescope; {line}"),
            )
        }
        Some(found) if found < SCHEMA_OF_SERVER => {
            let line = format!("its owner types: drivescope store upgrade{words}");
            let needs = format!("schema {found}, this one needs {SCHEMA_OF_SERVER}");
            let message =
                format!("the store {shown} was made by an older drivescope ({needs}); {line}");
            (StoreFault::OlderSchema, message)
        }
        Some(found) => (StoreFault::NewerSchema, newer(found, address)),
    };
    Err(StoreError::new(fault, message))
}

fn newer(found: u32, address: &ServerAddress) -> String {
    format!(
        "the store {} was made by a newer drivescope (schema {found}, this one reads up to {SCHEMA_OF_SERVER}); \
         update drivescope",
        address.shown()
    )
}

/// Makes the tables, or brings older ones up to date, with what belongs to them. What is there stays.
///
/// Errors: there are older tables, and `upgrades` is false; there are newer ones; the user may not make them.
pub(crate) fn apply(address: &ServerAddress, upgrades: bool) -> Result<SchemaReport, StoreError> {
    let mut client = connect(address, true)?;
    let from = schema_of(&mut client, address)?;
    match from {
        None if upgrades => check(&mut client, address)?,
        Some(found) if found < SCHEMA_OF_SERVER && !upgrades => check(&mut client, address)?,
        Some(found) if found > SCHEMA_OF_SERVER => check(&mut client, address)?,
        _ => {}
    }
    let owner = client.query_typed_one(sql_of_server::IS_OWNER, &[]);
    if !owner.map_err(|error| of_statement(&error, address))?.get::<_, bool>(0) {
        return Err(not_owner("they are of another user", address));
    }
    make_tables(&mut client).map_err(|error| not_made(&error, address))?;
    let mut lacks = Vec::new();
    if let Err(error) = run_all(&mut client, FOR_SEARCH.iter().copied()) {
        lacks.push(format!(
            "search for parts of labels and ids is slow: {}; install pg_trgm (Debian: in postgresql, others: \
             postgresql-contrib), then drivescope store upgrade",
            words(&error)
        ));
    }
    if let Err(error) = make_roles(&mut client) {
        lacks.push(format!(
            "the roles are not made: {}; a user with CREATEROLE who owns the tables types: drivescope store upgrade",
            words(&error)
        ));
    }
    Ok(SchemaReport { from, to: SCHEMA_OF_SERVER, lacks })
}

fn not_made(error: &postgres::Error, address: &ServerAddress) -> StoreError {
    if error.code() != Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return of_statement(error, address);
    }
    not_owner(&words(error), address)
}

fn not_owner(why: &str, address: &ServerAddress) -> StoreError {
    let (user, shown) = (&address.user, address.shown());
    let message = format!(
        "{user} may not make or change the tables of {shown}: {why}; the owner of the database can"
    );
    StoreError::new(StoreFault::Denied, message)
}

fn make_tables(client: &mut Client) -> Result<(), postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute(LOCK_TABLES)?;
    // Another program may have made them meanwhile.
    for version in version_of(&mut transaction)? + 1..=SCHEMA_OF_SERVER {
        for statement in statements(version) {
            transaction.batch_execute(&statement)?;
        }
        let version = version.to_string();
        transaction.execute_typed(sql::SET_SCHEMA, &[(&version, postgres::types::Type::TEXT)])?;
    }
    transaction.commit()
}

/// 0 without tables.
fn version_of(transaction: &mut Transaction<'_>) -> Result<u32, postgres::Error> {
    let is_there = transaction.query_typed_one(sql_of_server::HAS_META, &[])?;
    if !is_there.get::<_, bool>(0) {
        return Ok(0);
    }
    let rows = transaction.query_typed(sql::GET_SCHEMA, &[])?;
    let version = rows.first().and_then(|row| row.get::<_, String>(0).parse().ok());
    Ok(version.unwrap_or(0))
}

/// In a transaction of their own: without it the tables can be used, too.
fn run_all<'s>(
    client: &mut Client,
    statements: impl Iterator<Item = &'s str>,
) -> Result<(), postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute(LOCK_TABLES)?;
    for statement in statements {
        transaction.batch_execute(statement)?;
    }
    transaction.commit()
}

/// Roles belong to the whole server: another store may have made them.
fn make_roles(client: &mut Client) -> Result<(), postgres::Error> {
    for role in ROLES {
        let known = sql_of_server::HAS_ROLE;
        let has = client.query_typed_one(known, &[(&role, postgres::types::Type::TEXT)])?;
        if has.get::<_, bool>(0) {
            continue;
        }
        match client.batch_execute(&create_role(role)) {
            Err(error) if error.code() != Some(&SqlState::DUPLICATE_OBJECT) => return Err(error),
            _ => {}
        }
    }
    run_all(client, grants())
}
