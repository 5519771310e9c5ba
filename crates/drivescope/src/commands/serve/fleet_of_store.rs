//! The fleet for the pages: each look at the tables is limited in time, whatever the server does.

use drivescope_fleet::FleetTables;
use drivescope_fleet::selector::Selector;
use drivescope_fleet::tables::JobCounts;
use drivescope_model::fleet::{FleetHost, FleetJob, JobState, Submission};
use drivescope_report::page::fleet_outliers_page;
use drivescope_report::{FDR, fleet_keys, fleet_outliers};
use drivescope_store::{Store, StoreError, StoreLocation};
use drivescope_web::{FleetDrives, FleetFault, FleetView, ListedSubmission};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait of a page: shorter than a browser's answer may take.
const PATIENCE: Duration = Duration::from_secs(8);
/// A server that did not answer is asked again after this time; until then pages say so at once.
const ASKED_AGAIN: Duration = Duration::from_secs(20);
/// Looks under way, at most, with those that no page waits for any more.
const LOOKS_MAX: usize = 16;
/// Between two looks whether there is a host.
const HOSTS_LOOKED_FOR: Duration = Duration::from_secs(10);
/// The newest runs whose rates are shown: a look reads them within a second.
const RATED_RUNS: u32 = 20_000;

/// The fleet of a store on a server.
pub struct FleetOfStore {
    store: StoreLocation,
    looks: Arc<Looks>,
    patience: Duration,
}

#[derive(Default)]
struct Looks {
    under_way: AtomicUsize,
    has_hosts: AtomicBool,
    /// When hosts were looked for last.
    looked: Mutex<Option<Instant>>,
    /// When a question that has no answer yet was asked, and when that was noticed.
    silence: Mutex<Option<(Instant, Instant)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a look as long as it takes.
struct LookUnderWay(Arc<Looks>);

impl LookUnderWay {
    /// `None`: too many are under way.
    fn begin(looks: &Arc<Looks>) -> Option<Self> {
        let look = Self(Arc::clone(looks));
        (looks.under_way.fetch_add(1, Ordering::AcqRel) < LOOKS_MAX).then_some(look)
    }
}

impl Drop for LookUnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

impl FleetOfStore {
    /// `None`: the store is a file. A server is asked whether there are hosts, for the first page.
    pub fn of(store: &StoreLocation) -> Option<Self> {
        let fleet = Self { store: store.clone(), looks: Arc::default(), patience: PATIENCE };
        if store.path().is_some() {
            return None;
        }
        *lock(&fleet.looks.looked) = Some(Instant::now());
        // An error is shown by the page of the fleet.
        let has_hosts = fleet.ask(FleetTables::has_hosts).unwrap_or(false);
        fleet.looks.has_hosts.store(has_hosts, Ordering::Release);
        Some(fleet)
    }

    /// Asks on a connection and a thread of its own, so that a server that is stuck keeps no page waiting.
    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&FleetTables) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, FleetFault> {
        let begun = Instant::now();
        if let Some((asked, noticed)) = *lock(&self.looks.silence)
            && noticed.elapsed() < ASKED_AGAIN
        {
            return Err(FleetFault::Silent(asked.elapsed()));
        }
        let silent = || FleetFault::Silent(begun.elapsed());
        let look = LookUnderWay::begin(&self.looks).ok_or_else(silent)?;
        let (sender, answer) = mpsc::sync_channel(1);
        let store = self.store.clone();
        let asking = move || {
            let answer = FleetTables::open(&store, false).and_then(|tables| question(&tables));
            *lock(&look.0.silence) = None;
            // The page may have given up.
            let _ = sender.send(answer);
        };
        thread::Builder::new().spawn(asking).map_err(|_| silent())?;
        match answer.recv_timeout(self.patience) {
            Ok(answer) => answer.map_err(FleetFault::Store),
            Err(_) => {
                let mut silence = lock(&self.looks.silence);
                let since = silence.map_or(begun, |(since, _)| since);
                *silence = Some((since, Instant::now()));
                Err(FleetFault::Silent(since.elapsed()))
            }
        }
    }
}

impl FleetView for FleetOfStore {
    fn has_hosts(&self) -> bool {
        let mut looked = lock(&self.looks.looked);
        let is_known = self.looks.has_hosts.load(Ordering::Acquire);
        if is_known || looked.is_some_and(|last| last.elapsed() < HOSTS_LOOKED_FOR) {
            return is_known;
        }
        *looked = Some(Instant::now());
        if let Some(look) = LookUnderWay::begin(&self.looks) {
            let store = self.store.clone();
            let looking = move || {
                let found = FleetTables::open(&store, false).and_then(|tables| tables.has_hosts());
                look.0.has_hosts.store(found.unwrap_or(false), Ordering::Release);
            };
            // Without a thread, a later page tries again.
            drop(thread::Builder::new().spawn(looking));
        }
        false
    }

    fn hosts(&self) -> Result<Vec<FleetHost>, FleetFault> {
        let hosts = self.ask(FleetTables::hosts)?;
        if !hosts.is_empty() {
            self.looks.has_hosts.store(true, Ordering::Release);
        }
        Ok(hosts)
    }

    fn drives(&self, select: Option<&str>) -> Result<FleetDrives, FleetFault> {
        let selector = select.map(Selector::parse).transpose();
        let selector = selector.map_err(|error| FleetFault::Expression(error.to_string()))?;
        let store = self.store.clone();
        self.ask(move |tables| {
            // On connections of their own, since both take some tenths of a second.
            let (drives, rates) = thread::scope(|scope| {
                let rates = || FleetTables::open(&store, false)?.newest_rates(RATED_RUNS);
                let rates = scope.spawn(rates);
                (tables.drives(), rates.join().expect("a look does not panic"))
            });
            let (mut drives, rates) = (drives?, rates?);
            drives.retain(|it| selector.as_ref().is_none_or(|selector| selector.matches(it)));
            Ok(FleetDrives { drives, rates, rated_runs: RATED_RUNS })
        })
    }

    fn submissions(&self, most: u32) -> Result<Vec<ListedSubmission>, FleetFault> {
        self.ask(move |tables| {
            let (now_unix_us, mut counts) = (tables.clock_unix_us()?, tables.job_counts(most)?);
            let found = tables.submissions(most)?.into_iter().map(|submission| {
                let counts = counts.remove(&submission.key).unwrap_or_default();
                listed(submission, now_unix_us, &counts)
            });
            Ok(found.collect())
        })
    }

    fn submission(
        &self,
        key: &str,
    ) -> Result<Option<(ListedSubmission, Vec<FleetJob>)>, FleetFault> {
        let key = key.to_string();
        self.ask(move |tables| {
            let Some(submission) = tables.submission(&key)? else { return Ok(None) };
            let (now_unix_us, jobs) = (tables.clock_unix_us()?, tables.jobs(&key)?);
            let mut counts = JobCounts::default();
            for job in &jobs {
                *counts.by_state.entry(job.state.name()).or_default() += 1;
                counts.overdue += u64::from(job.overdue_s.is_some());
            }
            Ok(Some((listed(submission, now_unix_us, &counts), jobs)))
        })
    }

    fn outliers_page(&self) -> Result<Option<String>, FleetFault> {
        let store = self.store.clone();
        self.ask(move |_| {
            let (drives, _) = Store::open_existing(&store)?.measured_drives(&fleet_keys())?;
            let outliers = fleet_outliers(&drives, FDR);
            let link = |run: &str| Some(format!("/runs/{run}"));
            let page = fleet_outliers_page(&outliers, &drives, link);
            Ok((!drives.is_empty()).then(|| page.body.into_string()))
        })
    }
}

fn listed(submission: Submission, now_unix_us: i64, counts: &JobCounts) -> ListedSubmission {
    let seconds = |us: i64| us as f64 / 1e6;
    let count = |state: JobState| Some((state, *counts.by_state.get(state.name())?));
    ListedSubmission {
        submitted_s_ago: seconds(now_unix_us.saturating_sub(submission.submitted_unix_us)),
        starts_in_s: submission.go_at_unix_us.map(|go| seconds(go.saturating_sub(now_unix_us))),
        counts: JobState::ALL.into_iter().filter_map(count).collect(),
        overdue: counts.overdue,
        submission,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_store::StoreFault;
    use std::net::TcpListener;

    /// A server that takes connections and says nothing.
    #[test]
    fn silent_server_is_waited_for_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store = format!("postgres://me@{address}/runs?sslmode=disable");
        let store = StoreLocation::parse(Some(&store)).unwrap();
        let patience = Duration::from_millis(200);
        let fleet = FleetOfStore { store, looks: Arc::default(), patience };
        let silence = |answer| match answer {
            Err(FleetFault::Silent(since)) => since,
            other => panic!("{other:?}"),
        };
        let first = silence(fleet.hosts());
        assert!(first >= patience);
        for _ in 0..2 * LOOKS_MAX {
            assert!(silence(fleet.hosts()) >= first);
        }
        assert_eq!(fleet.looks.under_way.load(Ordering::Acquire), 1, "no other look was begun");
        assert!(!fleet.has_hosts());
        // It ends, and so do the looks.
        drop(listener);
        while fleet.looks.under_way.load(Ordering::Acquire) > 0 {
            thread::sleep(Duration::from_millis(10));
        }
        let away = fleet.hosts().unwrap_err();
        let FleetFault::Store(away) = away else { panic!("{away:?}") };
        assert_eq!(away.fault, StoreFault::Unreachable);
        assert!(!fleet.has_hosts());
    }
}
