//! `fleet status` and `fleet watch`.

use super::{counted, lasting};
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, clean, note, sections};
use drivescope_model::fleet::{FleetHost, FleetJob, JobState, Submission};
use drivescope_model::number::rounded;
use drivescope_model::shell::quoted;
use std::collections::BTreeMap;

/// Before the command; `--failed` is its other choice.
const DECIDE: &str = "unknown jobs: look at their drives, then type (or with --failed)";
/// More shortened messages are counted.
const WHOLE_MESSAGES_MAX: usize = 3;

/// A submission, and how many of its jobs are in each state.
#[derive(Debug, Clone, PartialEq)]
pub struct SubmissionRow {
    pub submission: Submission,
    /// In the zone of the reader, to the minute.
    pub submitted: String,
    /// In the zone of the reader.
    pub go_at: Option<String>,
    /// By [`JobState::name`].
    pub by_state: BTreeMap<&'static str, u64>,
    /// Running ones whose agent is lost; they are shown as unknown.
    pub overdue: u64,
}

impl SubmissionRow {
    fn count(&self, state: JobState) -> u64 {
        let count = self.by_state.get(state.name()).copied().unwrap_or(0);
        match state {
            JobState::Running => count.saturating_sub(self.overdue),
            JobState::Unknown => count + self.overdue,
            _ => count,
        }
    }

    /// `12 waiting, 3 done`.
    pub fn counts(&self) -> String {
        let states = JobState::ALL.into_iter().map(|state| (self.count(state), state));
        let counts = states.filter(|(count, _)| *count > 0);
        counts
            .map(|(count, state)| format!("{count} {}", state.name()))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn role(&self) -> Role {
        let has = |is: fn(JobState) -> bool| {
            JobState::ALL.into_iter().any(|state| is(state) && self.count(state) > 0)
        };
        if has(JobState::is_problem) {
            Role::Bad
        } else if has(|state| !state.has_ended()) {
            Role::Plain
        } else {
            Role::Good
        }
    }
}

/// A row for each submission.
pub fn fleet_submissions(rows: &[SubmissionRow], style: Style) -> String {
    if rows.is_empty() {
        let text = "nothing is submitted yet; drivescope fleet submit quick submits for all drives";
        return Paragraph::new().text(Role::Dim, text).lines(0, style);
    }
    let layout = vec![
        Column::left().flexible(8),
        Column::left(),
        Column::left().flexible(8),
        Column::left().flexible(6),
        Column::left().flexible(24),
    ];
    let heads = ["submitted", "suite", "by", "jobs"];
    let mut table = TextTable::with_heads(layout, "key", &heads);
    for row in rows {
        let cancelled = if row.submission.cancelled { " (cancelled)" } else { "" };
        table.row(vec![
            TextCell::title(&row.submission.key),
            TextCell::dim(&row.submitted),
            TextCell::plain(&row.submission.plan.suite),
            TextCell::dim(&row.submission.submitted_by),
            TextCell::new(row.role(), format!("{}{cancelled}", row.counts())),
        ]);
    }
    table.render(style)
}

/// A submission, and a row for each of these jobs of it.
pub fn fleet_jobs(
    row: &SubmissionRow,
    jobs: &[FleetJob],
    hosts: &[FleetHost],
    style: Style,
) -> String {
    let Submission { key, plan, selector, submitted_by, cancelled, .. } = &row.submission;
    let all: u64 = row.by_state.values().sum();
    let head = Paragraph::new()
        .item(Role::Title, format!("submission {key}"))
        .item(Role::Plain, format!("suite {}", plan.suite))
        .item(Role::Plain, format!("level {}", plan.level.name()))
        .item(Role::Dim, format!("by {submitted_by}"))
        .item(Role::Dim, &row.submitted)
        .items(Role::Plain, row.go_at.as_ref().map(|at| format!("starts together {at}")))
        .items(Role::Warn, cancelled.then_some("cancelled"))
        .lines(2, style);
    let selector = Paragraph::new().text(Role::Dim, selector).lines_if_words(2, style);
    let counts = format!("{}: {}", counted(all as usize, "job"), row.counts());
    let counts = Paragraph::new().text(row.role(), counts).lines(2, style);
    let table = table(jobs, hosts, style);
    let messages = shortened_messages(jobs, &table, style);
    let advice = match undecided(key, jobs) {
        Some(_) => Paragraph::new().command(Role::Warn, DECIDE, &decide(key)).lines(2, style),
        None => String::new(),
    };
    sections([head + &selector + &counts, table, messages + &advice])
}

/// What to do about unknown jobs, if there are any.
pub fn undecided(key: &str, jobs: &[FleetJob]) -> Option<String> {
    let is_unknown = |job: &FleetJob| job.state == JobState::Unknown;
    jobs.iter().any(is_unknown).then(|| format!("{DECIDE} {}", decide(key)))
}

fn decide(key: &str) -> String {
    format!("drivescope fleet decide {} --again", quoted(key))
}

/// Messages that the table cuts: whole if there are few.
fn shortened_messages(jobs: &[FleetJob], table: &str, style: Style) -> String {
    let is_cut = |message: &str| !style.is_whole && !table.contains(clean(message).trim());
    let cut = jobs.iter().filter_map(|job| {
        let message = job.message.as_deref().filter(|message| is_cut(message))?;
        Some((job, message))
    });
    let cut: Vec<(&FleetJob, &str)> = cut.collect();
    if cut.len() > WHOLE_MESSAGES_MAX {
        let text = format!("{} messages are shortened; in a pipe they are whole", cut.len());
        return note(text, style);
    }
    let whole = cut.iter().map(|(job, message)| {
        let text = format!("{} {}: {message}", job.host, job.name);
        Paragraph::new().text(Role::Plain, text).lines(2, style)
    });
    whole.collect()
}

fn table(jobs: &[FleetJob], hosts: &[FleetHost], style: Style) -> String {
    if jobs.is_empty() {
        return String::new();
    }
    let seen: BTreeMap<&str, &FleetHost> =
        hosts.iter().map(|host| (host.agent.id.as_str(), host)).collect();
    let layout = vec![
        Column::left().flexible(12),
        Column::left().flexible(7),
        Column::left(),
        Column::left().flexible(8),
        Column::left(),
        Column::left().flexible(16),
    ];
    let heads = ["drive", "state", "now", "run", ""];
    let mut table = TextTable::with_heads(layout, "host", &heads);
    for job in jobs {
        let state = job.state_seen();
        let role = match state {
            JobState::Done => Role::Good,
            JobState::Failed | JobState::Refused | JobState::Unknown => Role::Bad,
            JobState::Cancelled => Role::Warn,
            JobState::Waiting => Role::Dim,
            JobState::Running => Role::Plain,
        };
        table.row(vec![
            TextCell::title(&job.host),
            TextCell::plain(&job.name),
            TextCell::new(role, state.name()),
            TextCell::plain(progress(job)),
            TextCell::plain(job.run_id.as_deref().unwrap_or_default()),
            TextCell::plain(remark(job, seen.get(job.host_id.as_str()).copied())),
        ]);
    }
    table.render(style)
}

fn progress(job: &FleetJob) -> String {
    if job.state.has_ended() {
        return String::new();
    }
    let done = job.done.map(|done| format!("{:.0} %", done.clamp(0.0, 1.0) * 100.0));
    let parts: Vec<String> = done.into_iter().chain(job.phase.clone()).collect();
    parts.join(" ")
}

/// Why it failed or does not go on.
fn remark(job: &FleetJob, host: Option<&FleetHost>) -> String {
    let lost = host.filter(|host| host.is_lost() && !job.state.has_ended()).map(|host| {
        let was = if job.state == JobState::Running { "running, but " } else { "" };
        format!("{was}host {} not seen for {}", job.host, lasting(host.seen_s_ago))
    });
    let overdue = || {
        let overdue_s = job.overdue_s.filter(|_| job.state == JobState::Running)?;
        Some(format!("running, but its agent is overdue for {}", lasting(overdue_s)))
    };
    let remark = lost.or_else(overdue).or_else(|| job.message.clone());
    remark.unwrap_or_default()
}

/// A change of a job in one line, for a log.
pub fn job_sentence(job: &FleetJob, host: Option<&FleetHost>) -> String {
    let run = job.run_id.as_ref().map(|run| format!(", run {run}")).unwrap_or_default();
    let remark = Some(remark(job, host)).filter(|remark| !remark.is_empty());
    let remark = remark.map(|remark| format!(": {remark}")).unwrap_or_default();
    let state = job.state_seen().name();
    clean(&format!("{} {}: {state}{run}{remark}", job.host, job.name)).into_owned()
}

/// How far from their common instant jobs started; `None` without such a start.
pub fn start_skew(jobs: &[FleetJob]) -> Option<String> {
    let mut skews: Vec<f64> = jobs.iter().filter_map(|job| job.skew_ms).collect();
    skews.sort_by(f64::total_cmp);
    let last = skews.len().checked_sub(1)?;
    // Nearest rank.
    let at = |share: f64| {
        let rank = (share * skews.len() as f64).ceil() as usize;
        rounded(skews[rank.clamp(1, skews.len()) - 1])
    };
    let (median, p99, most) = (at(0.5), at(0.99), rounded(skews[last]));
    let starts = counted(skews.len(), "job");
    Some(format!(
        "{starts} started together: median {median} ms late, 99th percentile {p99} ms, at most {most} ms"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::testing::{HOSTILE, host, job, must_be_tame, submission};

    fn row(counts: &[(JobState, u64)], overdue: u64) -> SubmissionRow {
        let by_state = counts.iter().map(|(state, count)| (state.name(), *count)).collect();
        let submitted = "2026-11-29 10:40".to_string();
        SubmissionRow { submission: submission(), submitted, go_at: None, by_state, overdue }
    }

    #[test]
    fn submissions_are_rows_with_counts_by_state() {
        let running = row(&[(JobState::Running, 3), (JobState::Done, 9)], 1);
        let mut cancelled = row(&[(JobState::Cancelled, 2)], 0);
        cancelled.submission.cancelled = true;
        let text = fleet_submissions(&[running, cancelled], Style::PLAIN);
        must_be_tame(&text);
        for part in ["2 running, 9 done, 1 unknown", "2 cancelled (cancelled)", "2026-11-29 10:40"]
        {
            assert!(text.contains(part), "{text}");
        }
        assert!(fleet_submissions(&[], Style::PLAIN).starts_with("nothing is submitted yet"));
    }

    #[test]
    fn jobs_of_lost_hosts_are_unknown() {
        let mut jobs = [JobState::Running, JobState::Running, JobState::Failed, JobState::Waiting]
            .map(|state| job("rack7-3", "sda", state));
        (jobs[0].phase, jobs[0].done) = (Some("transfer rnd4k_q1t1".into()), Some(0.42));
        (jobs[1].host, jobs[1].host_id) = ("rack7-4".into(), "rack7-4-0123456789".into());
        jobs[1].overdue_s = Some(500.0);
        (jobs[2].message, jobs[2].run_id) = (Some("no space".into()), Some("7c1e".into()));
        let hosts = [host("rack7-3", 3.0), host("rack7-4", 720.0)];
        let counts = [(JobState::Running, 2), (JobState::Failed, 1), (JobState::Waiting, 1)];
        let mut row = row(&counts, 1);
        row.go_at = Some("2026-11-29 11:00:00".into());
        let text = fleet_jobs(&row, &jobs, &hosts, Style { is_whole: true, ..Style::PLAIN });
        for part in [
            "submission 3fa9c1d2 · suite quick · level own-files · by alice",
            "starts together 2026-11-29 11:00:00",
            "4 jobs: 1 waiting, 1 running, 1 failed, 1 unknown",
            "42 % transfer rnd4k_q1t1",
            "unknown",
            "running, but host rack7-4 not seen for 12 min 00 s",
            "no space",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        must_be_tame(&fleet_jobs(&row, &jobs, &hosts, Style::PLAIN));
        let sentence = job_sentence(&jobs[1], Some(&hosts[1]));
        let expected = "rack7-4 sda: unknown: running, but host rack7-4 not seen for 12 min 00 s";
        assert_eq!(sentence, expected);
        assert_eq!(job_sentence(&jobs[2], None), "rack7-3 sda: failed, run 7c1e: no space");
    }

    #[test]
    fn few_shortened_messages_are_shown_whole_and_many_counted() {
        let long =
            "no space left on the device: the directory has 512 MiB free, and the test needs 1 GiB";
        let mut failed: Vec<FleetJob> = Vec::new();
        for host in ["rack7-3", "rack7-4", "rack7-5", "rack7-6"] {
            failed.push(job(host, "sda", JobState::Failed));
            failed.last_mut().unwrap().message = Some(long.into());
        }
        let text = |count: u64, style| {
            let jobs = &failed[..count as usize];
            fleet_jobs(&row(&[(JobState::Failed, count)], 0), jobs, &[], style)
        };
        let unwrapped = text(1, Style::PLAIN).replace("\n  ", " ");
        assert!(unwrapped.contains(&format!("\nrack7-3 sda: {long}\n")), "{unwrapped}");
        assert!(text(4, Style::PLAIN).contains("4 messages are shortened"));
        let whole = text(4, Style { is_whole: true, ..Style::PLAIN });
        assert!(whole.matches(long).count() == 4 && !whole.contains("shortened"), "{whole}");
    }

    #[test]
    fn unknown_jobs_name_the_command_that_decides() {
        let jobs = [job("rack7-3", "sda", JobState::Unknown)];
        let text = fleet_jobs(&row(&[(JobState::Unknown, 1)], 0), &jobs, &[], Style::PLAIN);
        let text = text.replace("\n  ", " ");
        assert!(text.contains("drivescope fleet decide 3fa9c1d2 --again"), "{text}");
        assert_eq!(undecided("k", &[job("rack7-3", "sda", JobState::Failed)]), None);
    }

    #[test]
    fn skew_is_given_by_rank() {
        assert_eq!(start_skew(&[job("h", "sda", JobState::Done)]), None);
        let jobs: Vec<FleetJob> = (1..=200)
            .map(|ms| FleetJob { skew_ms: Some(f64::from(ms)), ..job("h", "sda", JobState::Done) })
            .collect();
        let expected =
            "200 jobs started together: median 100 ms late, 99th percentile 198 ms, at most 200 ms";
        assert_eq!(start_skew(&jobs).as_deref(), Some(expected));
    }

    #[test]
    fn hostile_jobs_are_tame() {
        let mut hostile = job(HOSTILE, HOSTILE, JobState::Failed);
        hostile.message = Some(HOSTILE.repeat(400));
        hostile.phase = Some(HOSTILE.into());
        hostile.run_id = Some(HOSTILE.into());
        let mut row = row(&[(JobState::Failed, 1)], 0);
        row.submission.key = HOSTILE.repeat(9);
        row.submission.selector = HOSTILE.repeat(9);
        row.submission.submitted_by = HOSTILE.into();
        must_be_tame(&fleet_jobs(&row, std::slice::from_ref(&hostile), &[], Style::PLAIN));
        must_be_tame(&fleet_submissions(&[row], Style::PLAIN));
        must_be_tame(&job_sentence(&hostile, None).chars().take(60).collect::<String>());
    }
}
