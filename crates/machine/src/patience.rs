//! Asking devices that may never answer: in a thread of its own, which is left behind if they do not.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A disk that sleeps needs ten seconds until it turns; one in trouble may not answer before the kernel gives up.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Does some work in a thread of its own; where there is none to be had, at once.
pub fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Clone + Send + 'static) -> Receiver<T> {
    let (send, receive) = channel();
    let send_answer = move || {
        // The receiver is gone when it took too long.
        let _ = send.send(work());
    };
    if std::thread::Builder::new().spawn(send_answer.clone()).is_err() {
        send_answer();
    }
    receive
}

/// What the work comes to, if it ends in time.
pub fn within<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> T + Clone + Send + 'static,
) -> Option<T> {
    beside(work).recv_timeout(patience).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_work_is_abandoned() {
        assert_eq!(within(PATIENCE, || 7), Some(7));
        let (_open, never) = channel::<()>();
        let never = std::sync::Arc::new(std::sync::Mutex::new(never));
        let wait = move || never.lock().unwrap().recv().is_ok();
        assert_eq!(within(Duration::from_millis(50), wait), None);
    }
}
