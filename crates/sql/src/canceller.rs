//! Ends a database's statements with the run: they block for as long as the drive takes.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Hook = Box<dyn Fn() + Send>;

/// Ends statements under way. Any thread may call it, more than once.
#[derive(Default)]
pub struct Canceller {
    is_cancelled: AtomicBool,
    next: AtomicU64,
    hooks: Mutex<Vec<(u64, Hook)>>,
}

impl Canceller {
    /// Ends everything under way; later work fails, or ends at the next call.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
        self.hooks().iter().for_each(|(_, hook)| hook());
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Registers a way to end something, for as long as the result is kept.
    pub(crate) fn on_cancel(self: &Arc<Self>, hook: impl Fn() + Send + 'static) -> Registration {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.hooks().push((id, Box::new(hook)));
        Registration { canceller: Arc::clone(self), id }
    }

    fn hooks(&self) -> MutexGuard<'_, Vec<(u64, Hook)>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller")
            .field("is_cancelled", &self.is_cancelled)
            .finish_non_exhaustive()
    }
}

/// Something that can be ended; forgotten when dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    canceller: Arc<Canceller>,
    id: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.canceller.hooks().retain(|(id, _)| *id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_registered_statements_are_ended() {
        let canceller = Arc::new(Canceller::default());
        let ended = Arc::new(Mutex::new(Vec::new()));
        let register = |name: &'static str| {
            let ended = Arc::clone(&ended);
            canceller.on_cancel(move || ended.lock().unwrap().push(name))
        };
        let _running = register("running");
        drop(register("done"));
        assert!(!canceller.is_cancelled());
        canceller.cancel();
        assert_eq!(*ended.lock().unwrap(), ["running"]);
        assert!(canceller.is_cancelled());
    }
}
