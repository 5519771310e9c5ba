//! Keeps a block device open without being held up by it.
//!
//! What programs wrote through the kernel's cache, and have not flushed, is written when the device's last user
//! closes it. On the device that this program serves, that is mostly this program; and closing waits for the
//! drive, which may take long and cannot be broken off. So an [isolated thread](super::isolated_thread) has the
//! device open: the program continues meanwhile, and when it is killed the thread does not wait for an answer from
//! the dead.

use super::isolated_thread::spawn_isolated;
use drivescope_machine::roots::open_to_read;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// The device that is held open, until it is let go or dropped.
#[derive(Debug)]
pub(super) struct HeldDevice {
    hold: Option<Sender<()>>,
    thread: JoinHandle<()>,
}

impl HeldDevice {
    /// Opens the device, only to read, so that it does not count as a writer. `last` is done before it is
    /// closed.
    ///
    /// # Errors
    /// It cannot be opened, or no thread can be started.
    pub(super) fn open(node: PathBuf, last: impl FnOnce() + Send + 'static) -> Result<Self, Errno> {
        let (hold, let_go) = channel::<()>();
        let (opened, answer) = channel();
        let work = move || {
            let device = open_to_read(&node, OFlags::empty());
            // The caller waits for this.
            let _ = opened.send(device.as_ref().map(drop).map_err(|errno| *errno));
            if let Ok(device) = device {
                // Nothing is ever sent; it ends when the other end is dropped.
                let _ = let_go.recv();
                last();
                drop(device);
            }
        };
        let thread = spawn_isolated("sim-hold", work)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
        answer.recv().unwrap_or(Err(Errno::IO))?;
        Ok(Self { hold: Some(hold), thread })
    }

    /// Begins to close the device.
    pub(super) fn let_go(&mut self) {
        self.hold = None;
    }

    /// Whether it is being closed, which lasts as long as the kernel has something to write to it.
    pub(super) fn is_closing(&self) -> bool {
        self.hold.is_none() && !self.thread.is_finished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::wait_until;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn released_device_is_closed_once_without_waiting() {
        let (done, may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let last = {
            let (done, may_end) = (Arc::clone(&done), Arc::clone(&may_end));
            move || {
                while !may_end.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                done.store(true, Ordering::Release);
            }
        };
        let mut held = HeldDevice::open("/dev/null".into(), last).unwrap();
        assert!(!held.is_closing());
        held.let_go();
        assert!(held.is_closing() && !done.load(Ordering::Acquire));
        may_end.store(true, Ordering::Release);
        wait_until("it does not end", || !held.is_closing());
        assert!(done.load(Ordering::Acquire));
        let missing = HeldDevice::open("/nonexistent".into(), || {});
        assert_eq!(missing.map(drop), Err(Errno::NOENT));
    }
}
