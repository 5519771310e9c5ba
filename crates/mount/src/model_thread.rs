//! The one thread that owns the model and keeps its time equal to real time.

use super::pending_request::{PendingRequest, Reply};
use super::real_time_clock::Clock;
use super::recorder::ServeRecorder;
use super::thread_priority::raise_priority;
use super::workers::Jobs;
use drivescope_sim::device::{Nanos, SimCompletion, SimDevice, SimRequest};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// How long before a completion the thread stops sleeping and watches the clock. Longer would bring
/// little, because the timer slack is off, and would take the time from other threads where there are
/// few processors.
const SPIN_NS: Nanos = 20_000;
/// Sleeps longer than this let a processor fall asleep too; they are cut short by what waking it up has
/// cost lately, and the rest is slept in a second, short sleep.
const LONG_SLEEP_NS: Nanos = 500_000;
/// Most that a long sleep is cut short by.
const WAKE_MAX_NS: Nanos = 250_000;
/// Replies above this size are sent by a worker: copying them would hold up the model.
const INLINE_REPLY_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) enum ModelMessage {
    Submit(SubmittedRequest),
    Stop,
}

#[derive(Debug)]
pub(super) struct SubmittedRequest {
    pub(super) arrival: Nanos,
    /// The request; its id is unique in the server.
    pub(super) request: SimRequest,
    pub(super) pending: Arc<PendingRequest>,
}

/// The model and the requests that are with it.
pub(super) struct ModelTimeline {
    device: Box<dyn SimDevice + Send>,
    /// Time that the device has reached; it cannot go back.
    reached: Nanos,
    arrived: VecDeque<SubmittedRequest>,
    accepted: HashMap<u64, Arc<PendingRequest>>,
    done: Vec<SimCompletion>,
    most_accepted: usize,
}

impl ModelTimeline {
    pub(super) fn new(device: Box<dyn SimDevice + Send>) -> Self {
        Self {
            device,
            reached: 0,
            arrived: VecDeque::new(),
            accepted: HashMap::new(),
            done: Vec::new(),
            most_accepted: 0,
        }
    }

    /// A request arrived; [`ModelTimeline::run_until`] hands it to the model.
    fn arrive(&mut self, submission: SubmittedRequest) {
        self.arrived.push_back(submission);
    }

    /// Submits what has arrived and takes what is due by `now`, all in the order of time, even when
    /// the thread comes late. Returns when something is due next, which need not end a request.
    fn run_until(&mut self, now: Nanos, reply: &mut impl FnMut(Reply)) -> Option<Nanos> {
        loop {
            let due = self.device.next_completion();
            match self.arrived.front() {
                Some(next) if due.is_none_or(|due| next.arrival <= due) => self.submit_next(),
                _ => match due {
                    Some(due) if due <= now => self.take_due(due, reply),
                    _ => return due,
                },
            }
        }
    }

    fn submit_next(&mut self) {
        let Some(SubmittedRequest { arrival, request, pending }) = self.arrived.pop_front() else {
            return;
        };
        self.reached = self.reached.max(arrival);
        self.accepted.insert(request.id, pending);
        self.most_accepted = self.most_accepted.max(self.accepted.len());
        self.device.submit(self.reached, request);
    }

    fn take_due(&mut self, due: Nanos, reply: &mut impl FnMut(Reply)) {
        self.reached = self.reached.max(due);
        self.device.advance(self.reached, &mut self.done);
        let progress = !self.done.is_empty() || self.device.next_completion() > Some(due);
        assert!(progress, "a device gets on at the time it announced, {due} ns");
        for completion in self.done.drain(..) {
            let pending = self.accepted.remove(&completion.id);
            let pending = pending.expect("a device completes each request once, and no others");
            if let Some(ready) = pending.model_done(completion.at, completion.outcome) {
                reply(ready);
            }
        }
    }
}

impl fmt::Debug for ModelTimeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelTimeline").field("reached", &self.reached).finish_non_exhaustive()
    }
}

/// Keeps the model's time until it is stopped or all senders are gone.
pub(super) fn run(
    device: Box<dyn SimDevice + Send>,
    messages: &Receiver<ModelMessage>,
    clock: Clock,
    recorder: &Arc<ServeRecorder>,
    jobs: &Jobs,
) {
    raise_priority();
    // Without this a sleep takes 50 µs longer. If it is refused, lateness shows it.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut timeline = ModelTimeline::new(device);
    let mut waiter = Waiter::new(clock);
    let mut known_most = 0;
    let mut reply = |ready: Reply| {
        if ready.len() <= INLINE_REPLY_BYTES {
            ready.send(clock, recorder);
        } else {
            let recorder = Arc::clone(recorder);
            jobs.run(move || ready.send(clock, &recorder));
        }
    };
    loop {
        let due = timeline.run_until(clock.now(), &mut reply);
        if timeline.most_accepted > known_most {
            known_most = timeline.most_accepted;
            recorder.in_flight(known_most);
        }
        let message = match due {
            Some(due) => waiter.wait_until(due, messages),
            None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let mut next = match message {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        while let Some(message) = next {
            match message {
                ModelMessage::Submit(submission) => timeline.arrive(submission),
                ModelMessage::Stop => return,
            }
            next = messages.try_recv().ok();
        }
    }
}

/// Waits precisely, and learns what waking up costs on this machine.
#[derive(Debug)]
struct Waiter {
    clock: Clock,
    /// How much later than asked for the thread lately ran after long sleeps.
    wake_ns: Nanos,
}

impl Waiter {
    fn new(clock: Clock) -> Self {
        Self { clock, wake_ns: 0 }
    }

    /// Waits for a message, at most until `due`: asleep first, then watching the clock.
    fn wait_until(
        &mut self,
        due: Nanos,
        messages: &Receiver<ModelMessage>,
    ) -> Result<ModelMessage, RecvTimeoutError> {
        loop {
            let now = self.clock.now();
            let asleep = due.saturating_sub(now).saturating_sub(SPIN_NS);
            if asleep == 0 {
                break;
            }
            let long = asleep > LONG_SLEEP_NS;
            let asleep = if long { asleep - self.wake_ns } else { asleep };
            match messages.recv_timeout(Duration::from_nanos(asleep)) {
                Err(RecvTimeoutError::Timeout) if long => self.learn(now + asleep),
                Err(RecvTimeoutError::Timeout) => {}
                other => return other,
            }
        }
        loop {
            match messages.try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) if self.clock.now() >= due => {
                    return Err(RecvTimeoutError::Timeout);
                }
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
    }

    /// The thread asked to wake up at `wanted` and just did: a running mean over about eight times,
    /// in which single long delays count little.
    fn learn(&mut self, wanted: Nanos) {
        let cost = self.clock.now().saturating_sub(wanted).min(WAKE_MAX_NS);
        self.wake_ns = (self.wake_ns * 7 + cost) / 8;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixed;
    use super::*;
    use drivescope_sim::device::RequestKind;
    use std::sync::Mutex;

    /// Runs one timeline over arrivals at given times, woken at given times; gives (id, late by).
    fn answered(arrivals: &[Nanos], wakes: &[Nanos]) -> Vec<(u64, Nanos)> {
        let device = Fixed::new(1 << 30, 512, 8_000, 1);
        let mut timeline = ModelTimeline::new(Box::new(device));
        let order = Arc::new(Mutex::new(Vec::new()));
        for (id, arrival) in (0..).zip(arrivals) {
            let order = Arc::clone(&order);
            let answer = Box::new(move |_: Result<&[u8], _>| order.lock().unwrap().push(id));
            let pending = Arc::new(PendingRequest::without_data(RequestKind::Read, answer));
            let op = RequestKind::Read;
            let request = SimRequest { id, op, offset: 0, len: 512, fua: false };
            timeline.arrive(SubmittedRequest { arrival: *arrival, request, pending });
        }
        let mut at = Vec::new();
        for wake in wakes {
            timeline.run_until(*wake, &mut |reply| {
                reply.send(Clock::start(), &ServeRecorder::new());
                at.push(*wake);
            });
        }
        let order = order.lock().unwrap().clone();
        order.into_iter().zip(at).collect()
    }

    #[test]
    fn late_thread_keeps_the_order_of_time() {
        // One at a time, 8 µs each: due at 8, 16 and, because it arrived idle, 38.
        let arrivals = [0, 1_000, 30_000];
        assert_eq!(
            answered(&arrivals, &[8_000, 16_000, 30_000, 38_000]),
            [(0, 8_000), (1, 16_000), (2, 38_000)]
        );
        // Woken only at 37 and 38: what was due is taken at once, the rest keeps its due time.
        assert_eq!(answered(&arrivals, &[37_000, 38_000]), [(0, 37_000), (1, 37_000), (2, 38_000)]);
    }

    #[test]
    fn nothing_is_answered_before_it_is_due() {
        assert_eq!(answered(&[0, 0], &[7_999]), []);
        assert_eq!(answered(&[0, 0], &[8_000, 15_999]), [(0, 8_000)]);
    }
}
