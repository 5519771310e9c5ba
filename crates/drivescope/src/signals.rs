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

/// Signals that follow the first one within this time are the same wish: `timeout` signals its child and
/// then the whole group, and a key is easily pressed twice.
const GRACE: Duration = Duration::from_secs(1);

/// How long an abrupt end waits for the files of the run to go; a drive that hangs must not hold it up.
const REMOVAL: Duration = Duration::from_secs(1);

/// Signals that end a program that does not handle them, other than those that report a fault in the program itself
/// (SIGABRT, SIGBUS, SIGSEGV and such), after which nothing can be put in order, and SIGPIPE, which is ignored.
const ENDING: [c_int; 11] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO,
];

/// Of these, the signals that ask for a prompt end.
const URGENT: [c_int; 3] = [SIGINT, SIGTERM, SIGQUIT];

/// All that [`ENDING`] tells, and those that only Linux has: real-time signals end a program too.
fn ending() -> Vec<c_int> {
    let mut all = ENDING.to_vec();
    #[cfg(target_os = "linux")]
    all.extend(
        [libc::SIGPWR, libc::SIGSTKFLT].into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()),
    );
    all
}

/// What signals do to the program.
///
/// Before [`RunSignals::begin`] nothing has to be put in order, and the first one ends it. After that the
/// first one asks the command to stop. An urgent one later than a second after it ends the program at once:
/// the files of the run are removed, what is not stored is lost. But not while the contents of a drive lie in
/// a journal only: then they are put back first.
#[derive(Clone, Default)]
pub struct RunSignals {
    /// Raised by the first signal.
    pub stop: Arc<AtomicBool>,
    /// Raised as long as no signal may end the program.
    pub held: Arc<AtomicBool>,
    again: Arc<AtomicBool>,
    /// What the first signal is answered with, once the run has begun.
    begun: Arc<Mutex<Option<&'static str>>>,
}

impl RunSignals {
    /// From now on. Errors: no thread may be started, or no file be opened.
    pub fn new() -> io::Result<Self> {
        let signals = Self::default();
        let seen = signals.clone();
        let coming = Signals::new(ending())?;
        std::thread::Builder::new().spawn(move || seen.answer(coming))?;
        // Else a limit on file sizes would kill the run; so the write fails, and says why.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        Ok(signals)
    }

    /// For a run that its starter ends by raising `stop`: no signal reaches it.
    pub fn of_another(stop: &Arc<AtomicBool>) -> Self {
        Self { stop: Arc::clone(stop), ..Self::default() }
    }

    /// From now on there is something to put in order, and a signal is answered with `words`.
    pub fn begin(&self, words: &'static str) {
        *lock(&self.begun) = Some(words);
    }

    /// As [`RunSignals::begin`], and from now on no signal ends the program: a drive is half restored.
    pub fn begin_held(&self) {
        self.held.store(true, Ordering::Release);
        self.begin("");
    }

    pub fn was_signalled(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Whether an urgent signal came since the last call: the user insists. A lost terminal does not count.
    pub fn was_signalled_again(&self) -> bool {
        self.again.swap(false, Ordering::AcqRel)
    }

    /// Answers signals until the program ends.
    fn answer(&self, mut coming: Signals) {
        let mut first: Option<Instant> = None;
        for signal in coming.forever() {
            let begun = lock(&self.begun);
            let Some(words) = *begun else {
                // The lock stays: nothing may begin any more.
                tell("interrupted");
                signal_hook::low_level::exit(130)
            };
            drop(begun);
            let is_first = !self.stop.swap(true, Ordering::AcqRel);
            let is_urgent = URGENT.contains(&signal);
            self.again.fetch_or(is_urgent, Ordering::AcqRel);
            if is_first && !words.is_empty() {
                tell(words);
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

/// One line on standard error.
fn tell(words: &str) {
    output::note(&format!("drivescope: {words}"));
}

/// Ends the program without waiting for the run.
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
