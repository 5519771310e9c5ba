//! The tables of a fleet: what agents, submitters and readers ask of them.

use crate::sql;
use drivescope_model::fleet::{
    AgentFacts, DriveRate, FleetDrive, FleetHost, FleetJob, HostDrive, JobPlan, JobState, NewJob,
    Submission, TakenJob,
};
use drivescope_store::{ServerTables, SqlRow, SqlValue, StoreError, StoreLocation, WrongType};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A fleet's tables on a server.
#[derive(Debug)]
pub struct FleetTables {
    tables: ServerTables,
}

/// A job that an agent holds, as it reports it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldJob {
    pub id: i64,
    pub attempt: u32,
    pub phase: Option<String>,
    /// 0 to 1.
    pub done: Option<f64>,
}

/// A job that is still the agent's.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RenewedJob {
    pub id: i64,
    /// Its submission is cancelled: the agent is to end it.
    pub cancelled: bool,
}

/// What one beat answers.
#[derive(Debug, Clone, PartialEq)]
pub struct BeatAnswer {
    /// `false`: another agent has taken the host over.
    pub is_known: bool,
    /// Clock of the server, microseconds since 1970.
    pub server_unix_us: i64,
    pub renewed: Vec<RenewedJob>,
    pub taken: Vec<TakenJob>,
    /// Running jobs of the host that the agent did not name.
    pub strays: u32,
}

/// Who has a host's id.
#[derive(Debug, Clone, PartialEq)]
pub struct Holder {
    pub name: String,
    pub boot: String,
    pub seen_s_ago: f64,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct JobEnd {
    pub id: i64,
    pub attempt: u32,
    pub state: JobState,
    pub run_id: Option<String>,
    pub exit_code: Option<i32>,
    pub message: Option<String>,
    pub skew_ms: Option<f64>,
}

/// The number of a submission's jobs in each state.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct JobCounts {
    pub by_state: BTreeMap<&'static str, u64>,
    /// Running ones whose agent has not renewed them in time.
    pub overdue: u64,
}

fn json<T: Serialize + ?Sized>(value: &T) -> SqlValue {
    serde_json::to_string(value).expect("plain values are JSON").into()
}

fn parsed<T: for<'d> Deserialize<'d>>(text: &str) -> Result<T, WrongType> {
    serde_json::from_str(text).map_err(|_| WrongType::new("JSON of this program"))
}

fn number(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

impl FleetTables {
    /// Errors: the store is a file, or cannot be opened. `writes`: more than reading is intended.
    pub fn open(location: &StoreLocation, writes: bool) -> Result<Self, StoreError> {
        Ok(Self { tables: ServerTables::open(location, writes)? })
    }

    /// Makes the host, or takes it over. `false`: an agent on another machine has its id, and was seen less than
    /// `stale_s` ago.
    pub fn announce_host(
        &mut self,
        agent: &AgentFacts,
        incarnation: &str,
        stale_s: f64,
    ) -> Result<bool, StoreError> {
        let values = [
            (&agent.id).into(),
            (&agent.name).into(),
            (&agent.machine).into(),
            json(agent),
            incarnation.into(),
            (&agent.boot).into(),
            stale_s.into(),
        ];
        Ok(!self.tables.change(sql::ANNOUNCE_HOST, &values, SqlRow::text)?.is_empty())
    }

    /// The agent ends.
    pub fn sign_off(&mut self, host_id: &str, incarnation: &str) -> Result<(), StoreError> {
        let values = [host_id.into(), incarnation.into()];
        self.tables.change(sql::SIGN_OFF, &values, |_| Ok(())).map(drop)
    }

    pub fn holder(&self, host_id: &str) -> Result<Option<Holder>, StoreError> {
        let rows = self.tables.read(sql::HOLDER, &[host_id.into()], |row| {
            Ok(Holder { name: row.text()?, boot: row.text()?, seen_s_ago: row.float()? })
        })?;
        Ok(rows.into_iter().next())
    }

    pub fn announce_drives(
        &mut self,
        host_id: &str,
        drives: &[FleetDrive],
    ) -> Result<(), StoreError> {
        #[derive(Serialize)]
        struct Given<'d> {
            key: &'d str,
            facts: String,
        }
        let given: Vec<Given<'_>> = drives
            .iter()
            .map(|drive| Given {
                key: &drive.key,
                facts: serde_json::to_string(drive).expect("plain values are JSON"),
            })
            .collect();
        self.tables.change(sql::ANNOUNCE_DRIVES, &[host_id.into(), json(&given)], |_| Ok(()))?;
        Ok(())
    }

    /// One statement beats, renews and takes; of an agent without a job, a short one looks whether there is any.
    pub fn beat(
        &mut self,
        (host_id, incarnation): (&str, &str),
        held: &[HeldJob],
        busy: &[String],
        (slots, lease_s): (u32, f64),
    ) -> Result<BeatAnswer, StoreError> {
        if held.is_empty()
            && let Some(answer) = self.idle_beat(host_id, incarnation)?
        {
            return Ok(answer);
        }
        let values = [
            host_id.into(),
            incarnation.into(),
            json(held),
            json(busy),
            slots.into(),
            lease_s.into(),
        ];
        let rows = self.tables.change_at_once(sql::BEAT, &values, |row| {
            Ok(BeatAnswer {
                is_known: row.int()? == 1,
                server_unix_us: row.int()?,
                renewed: parsed(&row.text()?)?,
                taken: parsed(&row.text()?)?,
                strays: number(row.int()?),
            })
        })?;
        Ok(rows.into_iter().next().expect("it answers one row"))
    }

    /// `None`: there are jobs for the host.
    fn idle_beat(
        &mut self,
        host_id: &str,
        incarnation: &str,
    ) -> Result<Option<BeatAnswer>, StoreError> {
        let values = [host_id.into(), incarnation.into()];
        let rows = self
            .tables
            .change_at_once(sql::IDLE_BEAT, &values, |row| Ok((row.int()?, row.int()? == 1)))?;
        let found = rows.into_iter().next();
        let (server_unix_us, has_jobs) = found.unwrap_or_default();
        let (renewed, taken) = (Vec::new(), Vec::new());
        let is_known = found.is_some();
        let answer = BeatAnswer { is_known, server_unix_us, renewed, taken, strays: 0 };
        Ok((!has_jobs).then_some(answer))
    }

    /// Clock of the server, microseconds since 1970.
    pub fn clock_unix_us(&self) -> Result<i64, StoreError> {
        let rows = self.tables.read(sql::CLOCK, &[], SqlRow::int)?;
        Ok(rows.into_iter().next().expect("it answers one row"))
    }

    /// `false`: another attempt holds the job, or none.
    pub fn end_job(&mut self, host_id: &str, end: &JobEnd) -> Result<bool, StoreError> {
        let values = [
            host_id.into(),
            end.id.into(),
            end.attempt.into(),
            end.state.name().into(),
            end.run_id.clone().into(),
            end.exit_code.map(i64::from).into(),
            end.message.clone().into(),
            end.skew_ms.into(),
        ];
        Ok(!self.tables.change(sql::END_JOB, &values, SqlRow::int)?.is_empty())
    }

    /// Jobs that an earlier incarnation of this host's agent held.
    pub fn held_before(&self, host_id: &str) -> Result<Vec<TakenJob>, StoreError> {
        self.tables.read(sql::HELD_BEFORE, &[host_id.into()], |row| {
            Ok(TakenJob {
                id: row.int()?,
                attempt: number(row.int()?),
                submission: row.text()?,
                drive: row.text()?,
                serial: row.optional_text()?,
                plan: row.text()?,
                go_at_unix_us: None,
            })
        })
    }

    /// Submits jobs; returns their number, or `None` if the key was submitted before.
    pub fn submit(
        &mut self,
        (key, selector): (&str, &str),
        plan: &JobPlan,
        go_at_unix_us: Option<i64>,
        jobs: &[NewJob],
    ) -> Result<Option<u64>, StoreError> {
        let values = [key.into(), json(plan), selector.into(), go_at_unix_us.into(), json(jobs)];
        let added = self.counted(sql::SUBMIT, &values)?;
        Ok((added > 0).then_some(added))
    }

    /// Cancels a submission; returns the jobs that waited, or `None` if there is no such submission.
    pub fn cancel(&mut self, key: &str) -> Result<Option<u64>, StoreError> {
        if self.submission(key)?.is_none() {
            return Ok(None);
        }
        self.counted(sql::CANCEL, &[key.into()]).map(Some)
    }

    /// Decides on jobs whose program was lost while it wrote: run them again, or give them up. Returns the number of
    /// those that were unknown until then.
    pub fn decide_unknown(&mut self, ids: &[i64], again: bool) -> Result<u64, StoreError> {
        let (state, words) = if again {
            (JobState::Waiting, "to run again, as decided by")
        } else {
            (JobState::Failed, "given up by")
        };
        self.counted(sql::DECIDE, &[json(ids), state.name().into(), words.into()])
    }

    fn counted(&mut self, sql: &str, values: &[SqlValue]) -> Result<u64, StoreError> {
        let rows = self.tables.change(sql, values, SqlRow::int)?;
        Ok(rows.first().map_or(0, |count| count.unsigned_abs()))
    }

    pub fn submission(&self, key: &str) -> Result<Option<Submission>, StoreError> {
        Ok(self.submissions_where(Some(key), 1)?.into_iter().next())
    }

    /// The newest submissions, at most `most`.
    pub fn submissions(&self, most: u32) -> Result<Vec<Submission>, StoreError> {
        self.submissions_where(None, most)
    }

    fn submissions_where(
        &self,
        key: Option<&str>,
        most: u32,
    ) -> Result<Vec<Submission>, StoreError> {
        self.tables.read(sql::SUBMISSIONS, &[key.into(), most.into()], |row| {
            Ok(Submission {
                key: row.text()?,
                plan: parsed(&row.text()?)?,
                selector: row.text()?,
                submitted_by: row.text()?,
                submitted_unix_us: row.int()?,
                go_at_unix_us: row.optional_int()?,
                cancelled: row.int()? == 1,
            })
        })
    }

    /// Jobs of a submission, by host and drive.
    pub fn jobs(&self, key: &str) -> Result<Vec<FleetJob>, StoreError> {
        self.tables.read(sql::JOBS, &[key.into()], |row| {
            Ok(FleetJob {
                id: row.int()?,
                submission: row.text()?,
                host_id: row.text()?,
                host: row.text()?,
                drive: row.text()?,
                name: row.text()?,
                state: JobState::parse(&row.text()?).ok_or(WrongType::new("state of a job"))?,
                attempt: number(row.int()?),
                overdue_s: row.optional_float()?,
                phase: row.optional_text()?,
                done: row.optional_float()?,
                run_id: row.optional_text()?,
                exit_code: row.optional_int()?.and_then(|code| i32::try_from(code).ok()),
                message: row.optional_text()?,
                skew_ms: row.optional_float()?,
            })
        })
    }

    /// Of the newest submissions, by key.
    pub fn job_counts(&self, most: u32) -> Result<BTreeMap<String, JobCounts>, StoreError> {
        let rows = self.tables.read(sql::COUNTS, &[most.into()], |row| {
            let (key, state) = (row.text()?, row.text()?);
            let state = JobState::parse(&state).ok_or(WrongType::new("state of a job"))?;
            Ok((key, state, row.int()?.unsigned_abs(), row.int()?.unsigned_abs()))
        })?;
        let mut counts: BTreeMap<String, JobCounts> = BTreeMap::new();
        for (key, state, count, overdue) in rows {
            let of = counts.entry(key).or_default();
            of.by_state.insert(state.name(), count);
            of.overdue += overdue;
        }
        Ok(counts)
    }

    /// All hosts, by name.
    pub fn hosts(&self) -> Result<Vec<FleetHost>, StoreError> {
        #[derive(Deserialize)]
        struct Missing {
            facts: String,
            seen_s_ago: f64,
        }
        self.tables.read(sql::HOSTS, &[], |row| {
            let agent: AgentFacts = parsed(&row.text()?)?;
            let seen_s_ago = row.float()?;
            let drives = number(row.int()?);
            let missing: Vec<Missing> = parsed(&row.text()?)?;
            let missing = missing.iter().map(|it| {
                let drive: FleetDrive = parsed(&it.facts)?;
                Ok((drive.name, it.seen_s_ago))
            });
            Ok(FleetHost {
                agent,
                seen_s_ago,
                drives,
                missing: missing.collect::<Result<_, WrongType>>()?,
                waiting: number(row.int()?),
                running: number(row.int()?),
                same_machine_as: row.optional_text()?,
            })
        })
    }

    /// All drives, by host; one that moved between hosts is listed where it was seen last.
    pub fn drives(&self) -> Result<Vec<HostDrive>, StoreError> {
        self.tables.read(sql::DRIVES, &[], |row| {
            Ok(HostDrive {
                host_id: row.text()?,
                host: row.text()?,
                drive: parsed(&row.text()?)?,
                is_there: row.int()? == 1,
                seen_s_ago: row.float()?,
            })
        })
    }

    pub fn has_hosts(&self) -> Result<bool, StoreError> {
        Ok(self.tables.read(sql::HAS_HOSTS, &[], SqlRow::int)?.first() == Some(&1))
    }

    /// Of each drive that the newest `runs` runs measured.
    pub fn newest_rates(&self, runs: u32) -> Result<Vec<DriveRate>, StoreError> {
        self.tables.read(sql::NEWEST_RATES, &[runs.into()], |row| {
            Ok(DriveRate {
                run_id: row.text()?,
                host: row.optional_text()?,
                name: row.optional_text()?,
                model: row.optional_text()?,
                serial: row.optional_text()?,
                firmware: row.optional_text()?,
                read_mb_s: row.float()?,
            })
        })
    }

    /// Removes a host that is gone for good, with its drives and jobs; its runs stay. Returns its name, or `None` if
    /// there is no such host.
    pub fn forget_host(&mut self, host_id: &str) -> Result<Option<String>, StoreError> {
        let names = self.tables.change(sql::FORGET_HOST, &[host_id.into()], SqlRow::text)?;
        Ok(names.into_iter().next())
    }
}
