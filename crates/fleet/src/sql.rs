//! The SQL text of a fleet, for PostgreSQL. Lists go as JSON. Times are the server's.

/// Makes a host, or takes it over from an earlier incarnation of its agent: one that has ended, or was not seen for
/// `$7` seconds, or ran on this start of the machine. Parameters: id, name, machine, facts, incarnation, boot, seconds.
pub const ANNOUNCE_HOST: &str =
    "INSERT INTO fleet_hosts (id, name, machine, facts, incarnation, boot)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, machine = excluded.machine,
        facts = excluded.facts, incarnation = excluded.incarnation, boot = excluded.boot,
        last_seen = now()
    WHERE fleet_hosts.incarnation = excluded.incarnation
        OR fleet_hosts.boot IN (excluded.boot, '')
        OR fleet_hosts.last_seen < now() - $7 * INTERVAL '1 second'
    RETURNING id";

/// Notes that an agent has ended, so that the next one need not wait. Parameters: host, incarnation.
pub const SIGN_OFF: &str = "UPDATE fleet_hosts SET boot = '' WHERE id = $1 AND incarnation = $2";

/// Who has the id of a host now: name, boot, seconds since it was seen.
pub const HOLDER: &str = "SELECT name, boot, EXTRACT(EPOCH FROM now() - last_seen)::FLOAT8
    FROM fleet_hosts WHERE id = $1";

/// Replaces the drives of a host; those that it has no longer stay, as missing. Parameters: host, drives as JSON
/// (`key`, `facts`).
pub const ANNOUNCE_DRIVES: &str = "WITH given AS (
        SELECT key, facts FROM json_to_recordset($2::json) AS given (key TEXT, facts TEXT)),
    gone AS (
        UPDATE fleet_drives SET is_there = 0
        WHERE host_id = $1 AND is_there = 1 AND key NOT IN (SELECT key FROM given))
    INSERT INTO fleet_drives (host_id, key, facts, is_there)
    SELECT $1, key, facts, 1 FROM given
    ON CONFLICT (host_id, key) DO UPDATE SET facts = excluded.facts, is_there = 1,
        last_seen = now()";

/// Beats, renews the jobs that the agent holds, and takes new ones, at most one for each drive. Parameters: host,
/// incarnation, held jobs as JSON (`id`, `attempt`, `phase`, `done`), keys of busy drives as JSON, jobs that fit,
/// seconds of a lease. Answers one row: whether the incarnation is known; the clock of the server; renewed jobs as JSON
/// (`id`, `cancelled`); taken jobs as JSON; the number of the host's running jobs that it did not name.
pub const BEAT: &str = "WITH beat AS (
        UPDATE fleet_hosts SET last_seen = now() WHERE id = $1 AND incarnation = $2 RETURNING id),
    held AS (
        SELECT * FROM json_to_recordset($3::json)
            AS held (id BIGINT, attempt BIGINT, phase TEXT, done DOUBLE PRECISION)),
    renewed AS (
        UPDATE fleet_jobs job SET lease_until = now() + $6 * INTERVAL '1 second',
            phase = LEFT(held.phase, 500), done = held.done
        FROM held, beat
        WHERE job.id = held.id AND job.host_id = beat.id AND job.attempt = held.attempt
            AND job.state = 'running'
        RETURNING job.id, job.submission),
    fitting AS (
        SELECT job.id FROM fleet_jobs job, beat
        WHERE job.host_id = beat.id AND job.state = 'waiting'
            AND job.drive NOT IN (SELECT json_array_elements_text($4::json))
            AND NOT EXISTS (SELECT 1 FROM fleet_jobs other
                WHERE other.host_id = job.host_id AND other.drive = job.drive AND other.id < job.id
                    AND other.state = 'waiting')
        ORDER BY job.id LIMIT $5 FOR UPDATE OF job SKIP LOCKED),
    taken AS (
        UPDATE fleet_jobs job SET state = 'running', attempt = job.attempt + 1, started = now(),
            lease_until = now() + $6 * INTERVAL '1 second', phase = NULL, done = NULL
        FROM fitting WHERE job.id = fitting.id
        RETURNING job.id, job.attempt, job.submission, job.drive, job.serial)
    SELECT (SELECT COUNT(*) FROM beat), (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT,
        COALESCE((SELECT json_agg(json_build_object(
                'id', renewed.id, 'cancelled', sub.cancelled IS NOT NULL))
            FROM renewed JOIN fleet_submissions sub ON sub.key = renewed.submission), '[]')::TEXT,
        COALESCE((SELECT json_agg(json_build_object(
                'id', taken.id, 'attempt', taken.attempt, 'submission', taken.submission,
                'drive', taken.drive, 'serial', taken.serial, 'plan', sub.plan,
                'go_at_unix_us', (EXTRACT(EPOCH FROM sub.go_at) * 1000000)::BIGINT)
                ORDER BY taken.id)
            FROM taken JOIN fleet_submissions sub ON sub.key = taken.submission), '[]')::TEXT,
        (SELECT COUNT(*) FROM fleet_jobs job, beat
            WHERE job.host_id = beat.id AND job.state = 'running'
                AND job.id NOT IN (SELECT id FROM held))";

/// Beats for an agent that holds no job: planning [`BEAT`] takes the server longer than running it. Parameters: host,
/// incarnation. Answers the clock of the server, and whether [`BEAT`] has something to do; nothing if the incarnation
/// is not known.
pub const IDLE_BEAT: &str =
    "UPDATE fleet_hosts SET last_seen = now() WHERE id = $1 AND incarnation = $2
    RETURNING (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT,
        (EXISTS (SELECT 1 FROM fleet_jobs
            WHERE host_id = $1 AND state IN ('waiting', 'running')))::INT::BIGINT";

/// The clock of the server.
pub const CLOCK: &str = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT";

/// Ends an attempt, in state `waiting` if it gives the job back; nothing if it does not hold the job. Parameters: host,
/// id, attempt, state, run, exit code, message, skew.
pub const END_JOB: &str = "UPDATE fleet_jobs SET state = $4, run_id = $5, exit_code = $6,
        message = LEFT($7, 2000), skew_ms = $8, ended = CASE WHEN $4 <> 'waiting' THEN now() END,
        lease_until = NULL, phase = NULL,
        done = NULL
    WHERE host_id = $1 AND id = $2 AND attempt = $3 AND state = 'running'
    RETURNING id";

/// Jobs of a host that an earlier incarnation of its agent held: id, attempt, submission, drive, serial, plan.
pub const HELD_BEFORE: &str = "SELECT job.id, attempt, submission, drive, serial, plan
    FROM fleet_jobs job JOIN fleet_submissions sub ON sub.key = job.submission
    WHERE host_id = $1 AND state = 'running' ORDER BY job.id";

/// Submits, once for each key. Parameters: key, plan, selector, start (microseconds since 1970, or null), jobs as JSON
/// (`host_id`, `drive`, `name`, `serial`). Answers the number of new jobs; 0 of a known key.
pub const SUBMIT: &str = "WITH new AS (
        INSERT INTO fleet_submissions (key, plan, selector, go_at)
        VALUES ($1, $2, $3, to_timestamp($4::FLOAT8 / 1000000))
        ON CONFLICT (key) DO NOTHING RETURNING key),
    jobs AS (
        INSERT INTO fleet_jobs (submission, host_id, drive, name, serial, agent_login)
        SELECT new.key, given.host_id, given.drive, given.name, given.serial, host.agent_login
        FROM new, json_to_recordset($5::json)
            AS given (host_id TEXT, drive TEXT, name TEXT, serial TEXT)
            JOIN fleet_hosts host ON host.id = given.host_id
        RETURNING id)
    SELECT COUNT(*) FROM jobs";

/// Submissions: key, plan, selector, login, time, start, cancelled; all, or the one of a key.
pub const SUBMISSIONS: &str = "SELECT key, plan, selector, submitted_by,
        (EXTRACT(EPOCH FROM submitted) * 1000000)::BIGINT,
        (EXTRACT(EPOCH FROM go_at) * 1000000)::BIGINT, (cancelled IS NOT NULL)::INT::BIGINT
    FROM fleet_submissions WHERE CAST($1 AS TEXT) IS NULL OR key = $1
    ORDER BY submitted DESC, key LIMIT $2";

/// Cancels what waits at once; agents end what runs at their next beat. Answers the jobs that waited.
pub const CANCEL: &str = "WITH sub AS (
        UPDATE fleet_submissions SET cancelled = COALESCE(cancelled, now()) WHERE key = $1
        RETURNING key),
    jobs AS (
        UPDATE fleet_jobs SET state = 'cancelled', ended = now() FROM sub
        WHERE submission = sub.key AND state = 'waiting' RETURNING id)
    SELECT COUNT(*) FROM jobs";

/// Decides on jobs that are unknown, and notes who did. Parameters: ids as JSON, state (`waiting` or `failed`), words
/// before the login. Answers their number.
pub const DECIDE: &str = "WITH jobs AS (
        UPDATE fleet_jobs SET state = $2, message = $3 || ' ' || current_user,
            ended = CASE WHEN $2 <> 'waiting' THEN now() END
        WHERE state = 'unknown' AND id IN (
            SELECT id::BIGINT FROM json_array_elements_text($1::json) AS chosen (id))
        RETURNING id)
    SELECT COUNT(*) FROM jobs";

/// Jobs of a submission by host and drive.
pub const JOBS: &str =
    "SELECT job.id, submission, host_id, host.name, drive, job.name, state, attempt,
        CASE WHEN state = 'running' AND lease_until < now()
            THEN EXTRACT(EPOCH FROM now() - lease_until)::FLOAT8 END,
        phase, done, run_id, exit_code, message, skew_ms
    FROM fleet_jobs job JOIN fleet_hosts host ON host.id = host_id
    WHERE submission = $1 ORDER BY host.name, host_id, job.name, job.id";

/// Jobs of the newest submissions by state: submission, state, number, of those that are overdue.
pub const COUNTS: &str = "SELECT submission, state, COUNT(*),
        COUNT(*) FILTER (WHERE state = 'running' AND lease_until < now())
    FROM fleet_jobs JOIN (
        SELECT key FROM fleet_submissions ORDER BY submitted DESC, key LIMIT $1) newest
        ON submission = newest.key
    GROUP BY submission, state";

/// Hosts by name: facts, seconds since they were seen, drives, missing drives as JSON (`facts`, `seen_s_ago`), waiting
/// and running jobs, another host of this machine id on another start of a machine. Each table is read
/// once, since there may be ten thousand hosts.
pub const HOSTS: &str =
    "SELECT facts, EXTRACT(EPOCH FROM now() - last_seen)::FLOAT8, COALESCE(there.count, 0),
        COALESCE(gone.drives, '[]')::TEXT, COALESCE(job.waiting, 0), COALESCE(job.running, 0),
        CASE WHEN COUNT(*) OVER (PARTITION BY machine) > 1 THEN (
            SELECT other.name || ' (' || LEFT(other.id, 8) || ')' FROM fleet_hosts other
            WHERE other.machine = host.machine AND other.id <> host.id
                AND other.boot <> host.boot AND '' NOT IN (other.boot, host.boot)
            ORDER BY other.last_seen DESC LIMIT 1) END
    FROM fleet_hosts host
    LEFT JOIN (SELECT host_id, COUNT(*) FROM fleet_drives WHERE is_there = 1 GROUP BY host_id) there
        ON there.host_id = host.id
    LEFT JOIN (SELECT host_id, json_agg(json_build_object('facts', facts,
                'seen_s_ago', EXTRACT(EPOCH FROM now() - last_seen)) ORDER BY key) drives
        FROM fleet_drives WHERE is_there = 0 GROUP BY host_id) gone ON gone.host_id = host.id
    LEFT JOIN (
        SELECT host_id, COUNT(*) FILTER (WHERE state = 'waiting') waiting,
            COUNT(*) FILTER (WHERE state = 'running') running
        FROM fleet_jobs WHERE state IN ('waiting', 'running') GROUP BY host_id) job
        ON job.host_id = host.id
    ORDER BY host.name, host.id";

/// Whether there is a host: 1 or 0.
pub const HAS_HOSTS: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM fleet_hosts LIMIT 1) one";

/// Of each drive in the newest `$1` runs, the newest sequential rate: run, host, drive's name, model, serial number,
/// firmware, MB/s. Looks into two places of an index for each run, so that no metrics of others are read.
pub const NEWEST_RATES: &str = "WITH newest AS MATERIALIZED (
        SELECT id, started_unix_us, host, drive_name, drive_model, drive_serial, drive_firmware
        FROM runs ORDER BY started_unix_us DESC, id DESC LIMIT $1)
    SELECT DISTINCT ON (host, drive_name, drive_model, drive_serial)
        id, host, drive_name, drive_model, drive_serial, drive_firmware, rate.mb_s
    FROM newest, LATERAL (SELECT MAX(value) mb_s FROM metrics
        WHERE run_id = newest.id AND valid = 1
            AND key IN ('transfer.seq1m_q8t1.read.mb_s', 'transfer.seq1m_q1t1.read.mb_s')) rate
    WHERE rate.mb_s IS NOT NULL
    ORDER BY host, drive_name, drive_model, drive_serial, started_unix_us DESC, id DESC";

/// Drives: host, name of the host, facts, whether it is there, seconds since it was announced. Of a drive that moved
/// between hosts, the newest.
pub const DRIVES: &str = "SELECT host_id, host.name, drive.facts, drive.is_there,
        EXTRACT(EPOCH FROM now() - drive.last_seen)::FLOAT8
    FROM fleet_drives drive JOIN fleet_hosts host ON host.id = host_id
    WHERE NOT EXISTS (SELECT 1 FROM fleet_drives other WHERE other.key = drive.key
        AND other.host_id <> drive.host_id
        AND (other.is_there, other.last_seen) > (drive.is_there, drive.last_seen))
    ORDER BY host.name, host_id, drive.key";

/// Removes a host with its drives and jobs. Answers its name.
pub const FORGET_HOST: &str = "DELETE FROM fleet_hosts WHERE id = $1 RETURNING name";
