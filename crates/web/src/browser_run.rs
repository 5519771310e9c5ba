//! Runs that browsers have started: how each of them goes, for everybody who looks.

use crate::run_board::{BoardState, RunBoard};
use crate::workbench::{RunWish, Workbench};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// Ended runs that are remembered, so that a page that is still open can say how its run ended.
const REMEMBERED: usize = 50;
/// Browsers that follow one run at a time.
const FOLLOWERS_MAX: usize = 16;
/// Interval between checks whether runs have ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Clone)]
pub struct BrowserRun {
    /// From 1; the page has it in its address.
    pub number: u64,
    pub wish: RunWish,
    pub board: watch::Receiver<BoardState>,
    /// Permits for browsers that follow it.
    pub places: Arc<Semaphore>,
    stop: Arc<AtomicBool>,
}

impl BrowserRun {
    pub fn is_running(&self) -> bool {
        self.board.borrow().end.is_none()
    }

    /// Asks it to stop; what was measured is kept.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// Oldest first.
#[derive(Default)]
pub struct BrowserRuns(Mutex<Known>);

#[derive(Default)]
struct Known {
    count: u64,
    runs: Vec<BrowserRun>,
    is_over: bool,
}

impl BrowserRuns {
    /// Starts a run, and returns its number. Runs start nowhere else, and the plan's level is checked here.
    /// Errors: in one line, with the remedy.
    pub fn start(&self, workbench: &dyn Workbench, wish: &RunWish) -> Result<u64, String> {
        let prepared = workbench.prepare(wish)?;
        wish.level.check(prepared.plan())?;
        let mut known = self.lock();
        if known.is_over {
            return Err("drivescope serve is ending".to_string());
        }
        let (board, state) = RunBoard::new();
        let stop = prepared.start(board)?;
        known.count += 1;
        let number = known.count;
        let places = Arc::new(Semaphore::new(FOLLOWERS_MAX));
        known.runs.push(BrowserRun { number, wish: wish.clone(), board: state, places, stop });
        if known.runs.len() > REMEMBERED
            && let Some(oldest) = known.runs.iter().position(|run| !run.is_running())
        {
            known.runs.remove(oldest);
        }
        Ok(number)
    }

    pub fn find(&self, number: u64) -> Option<BrowserRun> {
        self.lock().runs.iter().find(|run| run.number == number).cloned()
    }

    pub fn running(&self) -> Vec<BrowserRun> {
        self.lock().runs.iter().filter(|run| run.is_running()).cloned().collect()
    }

    /// See [`Site::stop_runs`](crate::Site::stop_runs).
    pub fn stop_all(&self) -> bool {
        self.lock().is_over = true;
        let running = self.running();
        running.iter().for_each(BrowserRun::stop);
        while running.iter().any(BrowserRun::is_running) {
            std::thread::sleep(LOOK_EVERY);
        }
        !running.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
