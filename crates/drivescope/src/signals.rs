//! Signals end a run in order: the phase drains, contents are put back, files go, the run is kept.

use crate::output;
use drivescope_drive::own_folder;
use libc::c_int;
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM,
    SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Signals within this time after the first count as one: `timeout` signals its child and then the whole group, and a
/// key is easily pressed twice.
const GRACE: Duration = Duration::from_secs(1);

/// How long an abrupt end waits for the removal of the run's files; a drive may hang.
const REMOVAL: Duration = Duration::from_secs(1);

/// Signals that end a program without a handler, except those that report a fault in the program itself (SIGABRT,
/// SIGBUS, SIGSEGV and such), after which no cleanup is possible, and SIGPIPE, which is ignored.
const ENDING: [c_int; 11] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO,
];

const URGENT: [c_int; 3] = [SIGINT, SIGTERM, SIGQUIT];

/// All of [`ENDING`], and the real-time signals of Linux, which also end a program.
fn ending() -> Vec<c_int> {
    let mut all = ENDING.to_vec();
    #[cfg(target_os = "linux")]
    all.extend(
        [libc::SIGPWR, libc::SIGSTKFLT].into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()),
    );
    all
}

/// The effect of signals on the program. Before [`RunSignals::begin`] the first signal ends it, since there is nothing
/// to clean up. After that the first one asks the command to stop. An urgent one later than a second after it ends the
/// program at once: the files of the run are removed, unsaved results are lost. As long as contents of a drive lie only
/// in a journal, they are restored first.
#[derive(Clone, Default)]
pub struct RunSignals {
    /// Set by the first signal.
    pub stop: Arc<AtomicBool>,
    /// Set as long as no signal may end the program.
    pub held: Arc<AtomicBool>,
    again: Arc<AtomicBool>,
    /// The answer to the first signal, once the run has begun.
    begun: Arc<Mutex<Option<&'static str>>>,
}

impl RunSignals {
    /// Errors: a thread or a file could not be opened.
    pub fn new() -> io::Result<Self> {
        let signals = Self::default();
        let seen = signals.clone();
        let coming = Signals::new(ending())?;
        std::thread::Builder::new().spawn(move || seen.answer(coming))?;
        // Else a limit on file sizes would kill the run; so the write fails, and says why.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        Ok(signals)
    }

    /// For a run that its starter ends by setting `stop`: signals do not reach it.
    pub fn of_another(stop: &Arc<AtomicBool>) -> Self {
        Self { stop: Arc::clone(stop), ..Self::default() }
    }

    /// From now on an orderly end is needed, and a signal is answered with `words`.
    pub fn begin(&self, words: &'static str) {
        *lock(&self.begun) = Some(words);
    }

    /// As [`RunSignals::begin`], and no signal ends the program any more: a drive is half restored.
    pub fn begin_held(&self) {
        self.held.store(true, Ordering::Release);
        self.begin("");
    }

    pub fn was_signalled(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Whether an urgent signal came since the last call. A lost terminal does not count.
    pub fn was_signalled_again(&self) -> bool {
        self.again.swap(false, Ordering::AcqRel)
    }

    fn answer(&self, mut coming: Signals) {
        let mut first: Option<Instant> = None;
        for signal in coming.forever() {
            let begun = lock(&self.begun);
            let Some(words) = *begun else {
                // The lock stays: nothing may begin any more.
                note("interrupted");
                signal_hook::low_level::exit(130)
            };
            drop(begun);
            let is_first = !self.stop.swap(true, Ordering::AcqRel);
            let is_urgent = URGENT.contains(&signal);
            self.again.fetch_or(is_urgent, Ordering::AcqRel);
            if is_first && !words.is_empty() {
                note(words);
            }
            let is_late = first.get_or_insert_with(Instant::now).elapsed() >= GRACE;
            if is_late && is_urgent && !self.held.load(Ordering::Acquire) {
                end_at_once();
            }
        }
    }
}

fn lock<'m>(mutex: &'m Mutex<Option<&'static str>>) -> MutexGuard<'m, Option<&'static str>> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note(words: &str) {
    output::note(&format!("drivescope: {words}"));
}

fn end_at_once() -> ! {
    let (done, waiting) = channel();
    // Where no thread may be started, the next run removes them.
    let _ = std::thread::Builder::new().spawn(move || {
        own_folder::remove_all_own();
        let _ = done.send(());
    });
    // Whatever remains is removed by the next run.
    let _ = waiting.recv_timeout(REMOVAL);
    output::release();
    signal_hook::low_level::exit(130)
}
