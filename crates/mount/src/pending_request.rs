//! One request between its arrival and its reply.
//!
//! A reply needs two things that come in either order: the model's word that the request is done, and
//! the data from or in the backing file. Whoever brings the second one sends the reply.

use super::real_time_clock::Clock;
use super::recorder::ServeRecorder;
use drivescope_sim::device::{Nanos, RequestKind, SimOutcome};
use rustix::io::Errno;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Sends the reply: the bytes that were read (none for other requests), or an error. Dropped unsent,
/// it makes the request fail with EIO.
pub(super) type SendReply = Box<dyn FnOnce(Result<&[u8], Errno>) + Send>;

pub(super) type Data = Result<Vec<u8>, Errno>;

pub(super) struct PendingRequest {
    op: RequestKind,
    state: Mutex<PendingState>,
}

struct PendingState {
    answer: Option<SendReply>,
    done: Option<(Nanos, SimOutcome)>,
    data: Option<Data>,
}

impl PendingRequest {
    /// A request whose data is still to be moved.
    pub(super) fn new(op: RequestKind, answer: SendReply) -> Self {
        Self {
            op,
            state: Mutex::new(PendingState { answer: Some(answer), done: None, data: None }),
        }
    }

    pub(super) fn without_data(op: RequestKind, answer: SendReply) -> Self {
        let state = PendingState { answer: Some(answer), done: None, data: Some(Ok(Vec::new())) };
        Self { op, state: Mutex::new(state) }
    }

    /// The model has the request done as of `due`. Gives the reply if the data is there.
    pub(super) fn model_done(&self, due: Nanos, outcome: SimOutcome) -> Option<Reply> {
        self.update(|state| state.done = Some((due, outcome)), false)
    }

    /// The data was moved, or could not be. Gives the reply if the model is done.
    pub(super) fn data_done(&self, data: Data) -> Option<Reply> {
        self.update(|state| state.data = Some(data), true)
    }

    fn update(&self, change: impl FnOnce(&mut PendingState), held: bool) -> Option<Reply> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let ((due, outcome), data) = (state.done?, state.data.take()?);
        let answer = state.answer.take()?;
        let result = match outcome {
            SimOutcome::Done => data,
            SimOutcome::MediaError => Err(Errno::IO),
            SimOutcome::Gone => Err(Errno::NODEV),
            SimOutcome::Invalid => Err(Errno::INVAL),
        };
        Some(Reply { op: self.op, answer, due, result, held })
    }
}

impl fmt::Debug for PendingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRequest").field("op", &self.op).finish_non_exhaustive()
    }
}

/// A reply that only needs to be sent.
pub(super) struct Reply {
    op: RequestKind,
    answer: SendReply,
    due: Nanos,
    result: Data,
    /// The data came after the model was done.
    held: bool,
}

impl Reply {
    pub(super) fn len(&self) -> usize {
        self.result.as_ref().map_or(0, Vec::len)
    }

    /// Hands the reply to the kernel and records how late that was.
    pub(super) fn send(self, clock: Clock, recorder: &ServeRecorder) {
        let failed = self.result.is_err();
        (self.answer)(self.result.as_deref().map_err(|errno| *errno));
        recorder.replied(self.op, clock.now().saturating_sub(self.due), failed, self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn pending() -> (PendingRequest, mpsc::Receiver<Result<Vec<u8>, Errno>>) {
        let (sender, receiver) = mpsc::channel();
        let answer = move |result: Result<&[u8], Errno>| {
            sender.send(result.map(<[u8]>::to_vec)).unwrap();
        };
        (PendingRequest::new(RequestKind::Read, Box::new(answer)), receiver)
    }

    #[test]
    fn reply_waits_for_model_and_data() {
        for data_first in [true, false] {
            let (pending, received) = pending();
            let recorder = ServeRecorder::new();
            let reply = if data_first {
                assert!(pending.data_done(Ok(vec![7])).is_none());
                pending.model_done(5, SimOutcome::Done)
            } else {
                assert!(pending.model_done(5, SimOutcome::Done).is_none());
                pending.data_done(Ok(vec![7]))
            };
            assert!(received.try_recv().is_err(), "sent before it was asked for");
            reply.unwrap().send(Clock::start(), &recorder);
            assert_eq!(received.recv().unwrap(), Ok(vec![7]));
            let report = recorder.report();
            assert_eq!((report.reads, report.held_by_backing), (1, u64::from(!data_first)));
        }
    }

    #[test]
    fn model_outcomes_become_a_drives_errors() {
        for (outcome, data, expected) in [
            (SimOutcome::Done, Ok(vec![1]), Ok(vec![1])),
            (SimOutcome::Done, Err(Errno::NOSPC), Err(Errno::NOSPC)),
            (SimOutcome::MediaError, Ok(vec![1]), Err(Errno::IO)),
            (SimOutcome::Gone, Ok(vec![1]), Err(Errno::NODEV)),
            (SimOutcome::Invalid, Err(Errno::NOSPC), Err(Errno::INVAL)),
        ] {
            let (pending, received) = pending();
            assert!(pending.data_done(data).is_none());
            let recorder = ServeRecorder::new();
            pending.model_done(0, outcome).unwrap().send(Clock::start(), &recorder);
            assert_eq!(recorder.report().errors, u64::from(expected.is_err()));
            assert_eq!(received.recv().unwrap(), expected, "{outcome:?}");
        }
    }

    #[test]
    fn a_reply_is_given_once() {
        let (pending, _received) = pending();
        assert!(pending.data_done(Ok(Vec::new())).is_none());
        assert!(pending.model_done(0, SimOutcome::Done).is_some());
        assert!(pending.model_done(1, SimOutcome::Done).is_none());
        assert!(pending.data_done(Ok(Vec::new())).is_none());
    }
}
