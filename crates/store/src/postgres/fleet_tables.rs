//! The tables of a fleet: hosts, their drives, submissions and jobs, and who may do what with them.
//!
//! Work is addressed to a host, and only the agent of that host takes, renews, and gives up its jobs, so nothing on the
//! server watches over leases. The tables of hosts and jobs change often: free room in their pages lets an update stay
//! within one, without new entries in indexes.

const NAMES: [&str; 4] = ["fleet_hosts", "fleet_drives", "fleet_submissions", "fleet_jobs"];

/// The table that a message of the server is about.
pub(super) fn named_in(message: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|name| message.contains(name))
}

/// Since version 3 of the tables. Times are the server's.
pub(super) const CREATE: &[&str] = &[
    "CREATE TABLE fleet_hosts (
        id TEXT COLLATE \"C\" NOT NULL PRIMARY KEY,
        name TEXT COLLATE \"C\" NOT NULL,
        machine TEXT COLLATE \"C\" NOT NULL,
        facts TEXT NOT NULL CHECK (LENGTH(facts) < 10000),
        incarnation TEXT NOT NULL,
        boot TEXT NOT NULL,
        agent_login TEXT NOT NULL DEFAULT current_user,
        first_seen TIMESTAMPTZ NOT NULL DEFAULT now(),
        last_seen TIMESTAMPTZ NOT NULL DEFAULT now()
    ) WITH (fillfactor = 40)",
    "CREATE INDEX fleet_hosts_by_machine ON fleet_hosts (machine)",
    "CREATE TABLE fleet_drives (
        host_id TEXT COLLATE \"C\" NOT NULL REFERENCES fleet_hosts (id) ON DELETE CASCADE,
        key TEXT COLLATE \"C\" NOT NULL,
        facts TEXT NOT NULL CHECK (LENGTH(facts) < 20000),
        agent_login TEXT NOT NULL DEFAULT current_user,
        is_there BIGINT NOT NULL,
        first_seen TIMESTAMPTZ NOT NULL DEFAULT now(),
        last_seen TIMESTAMPTZ NOT NULL DEFAULT now(),
        PRIMARY KEY (host_id, key)
    )",
    "CREATE TABLE fleet_submissions (
        key TEXT COLLATE \"C\" NOT NULL PRIMARY KEY CHECK (LENGTH(key) BETWEEN 1 AND 100),
        plan TEXT NOT NULL CHECK (LENGTH(plan) < 1000000),
        selector TEXT NOT NULL,
        submitted_by TEXT NOT NULL DEFAULT current_user,
        submitted TIMESTAMPTZ NOT NULL DEFAULT now(),
        go_at TIMESTAMPTZ,
        cancelled TIMESTAMPTZ
    )",
    "CREATE INDEX fleet_submissions_by_time ON fleet_submissions (submitted)",
    "CREATE TABLE fleet_jobs (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        submission TEXT COLLATE \"C\" NOT NULL REFERENCES fleet_submissions (key) ON DELETE CASCADE,
        host_id TEXT COLLATE \"C\" NOT NULL REFERENCES fleet_hosts (id) ON DELETE CASCADE,
        drive TEXT COLLATE \"C\" NOT NULL,
        name TEXT NOT NULL,
        serial TEXT,
        agent_login TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN
            ('waiting', 'running', 'done', 'failed', 'refused', 'cancelled', 'unknown')),
        attempt BIGINT NOT NULL DEFAULT 0,
        lease_until TIMESTAMPTZ,
        started TIMESTAMPTZ,
        ended TIMESTAMPTZ,
        phase TEXT,
        done DOUBLE PRECISION,
        run_id TEXT,
        exit_code BIGINT,
        message TEXT CHECK (LENGTH(message) < 5000),
        skew_ms DOUBLE PRECISION,
        UNIQUE (submission, host_id, drive)
    ) WITH (fillfactor = 50)",
    "CREATE INDEX fleet_jobs_open ON fleet_jobs (host_id, id)
        WHERE state IN ('waiting', 'running')",
    "ALTER TABLE fleet_hosts ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE fleet_drives ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE fleet_jobs ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY granted ON fleet_hosts USING (true)",
    "CREATE POLICY granted ON fleet_drives USING (true)",
    "CREATE POLICY granted ON fleet_jobs USING (true)",
];

/// An agent sees and changes what its own login has announced, and of jobs only how they stand: it submits none.
pub(super) const GRANTS: &[&str] = &[
    "DROP POLICY IF EXISTS own_rows ON fleet_hosts",
    "DROP POLICY IF EXISTS own_rows ON fleet_drives",
    "DROP POLICY IF EXISTS own_rows ON fleet_jobs",
    "CREATE POLICY own_rows ON fleet_hosts AS RESTRICTIVE TO drivescope_agent
        USING (agent_login = current_user)",
    "CREATE POLICY own_rows ON fleet_drives AS RESTRICTIVE TO drivescope_agent
        USING (agent_login = current_user)",
    "CREATE POLICY own_rows ON fleet_jobs AS RESTRICTIVE TO drivescope_agent
        USING (agent_login = current_user)",
    "GRANT SELECT ON fleet_hosts, fleet_drives, fleet_submissions, fleet_jobs
        TO drivescope_agent, drivescope_reader, drivescope_submitter",
    "GRANT INSERT, UPDATE ON fleet_hosts, fleet_drives TO drivescope_agent",
    "GRANT UPDATE (state, attempt, lease_until, started, ended, phase, done, run_id, exit_code,
        message, skew_ms) ON fleet_jobs TO drivescope_agent",
    "GRANT INSERT, UPDATE, DELETE ON fleet_submissions, fleet_jobs TO drivescope_submitter",
    "GRANT DELETE ON fleet_hosts, fleet_drives TO drivescope_submitter",
];
