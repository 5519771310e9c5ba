//! `fleet watch`: a submission until all its jobs have ended.

use super::access::{self, SubmissionView};
use crate::arguments::StatusArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::signals::RunSignals;
use drivescope_fleet::FleetTables;
use drivescope_model::fleet::{FleetJob, JobState};
use drivescope_report::{clean, fleet};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Agents report every few seconds.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const SIGNAL_EVERY: Duration = Duration::from_millis(50);
/// Rows of a terminal for jobs that run.
const ROWS_MAX: usize = 12;
/// A job whose agent is overdue for longer is not waited for: its end is unknown. Agents of a server that was away come
/// back sooner.
const GIVEN_UP_S: f64 = 600.0;

pub fn watch(arguments: &StatusArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let tables = access::open(&arguments.store, false)?;
    let key = match &arguments.submission {
        Some(key) => key.clone(),
        None => newest(&tables)?,
    };
    signals.begin("");
    let mut screen = WatchScreen::new(arguments.json);
    let mut is_away = false;
    loop {
        match look(&key, &tables) {
            Ok(view) => {
                is_away = false;
                screen.show(&view);
                if view.jobs.iter().all(has_ended) {
                    screen.end(&view);
                    return Ok(view.code());
                }
            }
            // The server is away.
            Err(failure) if failure.code == Code::Device && !screen.is_new => {
                if !is_away {
                    output::remark(&clean(&format!("{}; trying again", failure.message)));
                }
                is_away = true;
            }
            Err(failure) => return Err(failure),
        }
        if was_signalled(signals) {
            screen.clear();
            return Ok(Code::Interrupted);
        }
    }
}

fn newest(tables: &FleetTables) -> Result<String, Failure> {
    let newest = tables.submissions(1)?.pop().map(|submission| submission.key);
    newest.ok_or_else(|| {
        Failure::usage(
            "nothing is submitted yet; drivescope fleet submit quick submits for all drives",
        )
    })
}

fn look(key: &str, tables: &FleetTables) -> Result<SubmissionView, Failure> {
    match SubmissionView::of(key, tables)? {
        Some(view) => Ok(view),
        None => Err(access::unknown_key(key, tables)?),
    }
}

fn has_ended(job: &FleetJob) -> bool {
    let is_given_up = job.overdue_s.is_some_and(|overdue_s| overdue_s > GIVEN_UP_S);
    job.state.has_ended() || (job.state == JobState::Running && is_given_up)
}

/// Waits for the next look.
fn was_signalled(signals: &RunSignals) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < LOOK_EVERY {
        if signals.was_signalled() || output::is_unread() {
            return true;
        }
        std::thread::sleep(SIGNAL_EVERY);
    }
    false
}

/// On a terminal a table that is redrawn, else a line for each change.
struct WatchScreen {
    bar: Option<ProgressBar>,
    is_json: bool,
    is_new: bool,
    known: BTreeMap<i64, JobState>,
}

impl WatchScreen {
    fn new(is_json: bool) -> Self {
        let is_terminal = !output::style().is_whole && output::is_watched();
        let bar = (is_terminal && !is_json).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg}");
            bar.set_style(style.expect("a constant template is valid"));
            output::shares_with(Some(bar.clone()));
            bar
        });
        Self { bar, is_json, is_new: true, known: BTreeMap::new() }
    }

    fn show(&mut self, view: &SubmissionView) {
        self.is_new = false;
        if let Some(bar) = &self.bar {
            let running: Vec<FleetJob> = view
                .jobs
                .iter()
                .filter(|job| job.state == JobState::Running)
                .take(ROWS_MAX)
                .cloned()
                .collect();
            let text = fleet::fleet_jobs(&view.row, &running, &view.hosts, output::style());
            bar.set_message(output::shown(text.trim_end()));
            bar.tick();
            return;
        }
        for job in &view.jobs {
            let state = job.state_seen();
            let known = self.known.insert(job.id, state).unwrap_or(JobState::Waiting);
            if known == state {
                continue;
            }
            if self.is_json {
                output::print_json_line(job);
            } else {
                output::print_line(&fleet::job_sentence(job, view.host_of(job)));
            }
        }
    }

    /// What stays on the screen.
    fn end(&self, view: &SubmissionView) {
        self.clear();
        if self.is_json {
            return;
        }
        if self.bar.is_some() {
            let text = fleet::fleet_jobs(&view.row, &view.jobs, &view.hosts, output::style());
            output::print(&text);
        } else {
            let (key, counts) = (&view.row.submission.key, view.row.counts());
            let counts = if counts.is_empty() { "no jobs".to_string() } else { counts };
            output::print_line(&clean(&format!("{key}: {counts}")));
            if let Some(advice) = fleet::undecided(key, &view.jobs) {
                output::print_line(&clean(&advice));
            }
        }
        if let Some(skew) = fleet::start_skew(&view.jobs) {
            output::print_wrapped(&skew);
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            output::shares_with(None);
        }
    }
}
