//! Single reads and streams, each timed: the means of the questions of `geometry`.

use crate::io::queue::{IoCompletion, IoFailure, IoOp, IoQueue, IoRequest, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::control::{Control, Publisher};
use crate::loops::scan::FAILURES_MAX;
use std::io;
use std::ops::Range;

/// Requests in flight within a stream: enough to keep a drive's read-ahead busy.
pub const STREAM_DEPTH: usize = 4;
const NAP_NS: u64 = 50_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeRead {
    pub sent_ns: u64,
    pub done_ns: u64,
}

impl ProbeRead {
    pub fn ns(self) -> f64 {
        (self.done_ns - self.sent_ns) as f64
    }
}

#[derive(Debug)]
pub enum ProbeEnd {
    Stopped,
    /// The drive is gone, or too many reads failed.
    Failed(IoFailure),
    Queue(io::Error),
}

/// What a question found, or why it could not be found.
pub type ProbeAnswer<T, E = ProbeEnd> = Result<Result<T, String>, E>;

/// A drive as the questions see it: the times of its answers. Offsets count from the start of the part.
pub trait Probe {
    fn span(&self) -> u64;
    /// Whether nothing else can use the drive or keep the host busy, as in virtual time.
    fn is_alone(&self) -> bool;
    fn now_ns(&self) -> u64;
    /// One read with nothing else in flight; `None` if it failed.
    fn read(&mut self, offset: u64, len: u32) -> Result<Option<ProbeRead>, ProbeEnd>;
    /// Reads in order, several in flight: when each chunk was answered. Empty if one failed.
    fn stream(&mut self, offset: u64, chunk: u32, count: usize) -> Result<Vec<u64>, ProbeEnd>;
    /// Lets time pass with nothing in flight.
    fn idle(&mut self, ns: u64) -> Result<(), ProbeEnd>;
}

/// A question as a task of a queue.
pub struct ProbeTask<'c, F> {
    pub span: Range<u64>,
    pub is_alone: bool,
    pub question: F,
    pub control: &'c Control,
}

#[derive(Debug)]
pub struct ProbeOutcome<T> {
    pub answer: Result<T, ProbeEnd>,
    pub recorder: Recorder,
    pub failures: Vec<IoFailure>,
}

impl<T: Send, F> IoTask for ProbeTask<'_, F>
where
    F: FnOnce(&mut dyn Probe) -> Result<T, ProbeEnd> + Send,
{
    type Output = ProbeOutcome<T>;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Self::Output> {
        let slots = usize::from(queue.slots() as u16);
        let mut recorder = Recorder::of_any_length();
        recorder.start(queue.now());
        let mut prober = Prober {
            queue,
            span: self.span,
            is_alone: self.is_alone,
            recorder,
            publisher: Publisher::new(self.control),
            done: Vec::with_capacity(slots),
            sent: vec![(0, 0); slots],
            failures: Vec::new(),
        };
        let answer = match (self.question)(&mut prober) {
            Err(ProbeEnd::Queue(error)) => return Err(error),
            answer => answer,
        };
        let Prober { recorder, mut publisher, failures, .. } = prober;
        publisher.publish(&recorder);
        Ok(ProbeOutcome { answer, recorder, failures })
    }
}

struct Prober<'q, 'c, Q: IoQueue> {
    queue: &'q mut Q,
    span: Range<u64>,
    is_alone: bool,
    recorder: Recorder,
    publisher: Publisher<'c>,
    done: Vec<IoCompletion>,
    /// When the request in each slot was sent, and its number in a stream.
    sent: Vec<(u64, usize)>,
    failures: Vec<IoFailure>,
}

impl<Q: IoQueue> Prober<'_, '_, Q> {
    fn look(&mut self) -> Result<(), ProbeEnd> {
        let now = self.queue.now();
        if self.publisher.tick(now, &self.recorder) || self.publisher.stopped() {
            return Err(ProbeEnd::Stopped);
        }
        Ok(())
    }

    fn failed(&mut self, failure: IoFailure) -> Result<(), ProbeEnd> {
        self.recorder.failed(failure);
        self.failures.push(failure);
        let gone = matches!(failure.errno, libc::ENODEV | libc::ENXIO);
        let enough = gone || self.failures.len() >= FAILURES_MAX;
        if enough { Err(ProbeEnd::Failed(failure)) } else { Ok(()) }
    }
}

impl<Q: IoQueue> Probe for Prober<'_, '_, Q> {
    fn span(&self) -> u64 {
        self.span.end - self.span.start
    }

    fn is_alone(&self) -> bool {
        self.is_alone
    }

    fn now_ns(&self) -> u64 {
        self.queue.now()
    }

    fn read(&mut self, offset: u64, len: u32) -> Result<Option<ProbeRead>, ProbeEnd> {
        let offset = self.span.start + offset;
        let request = IoRequest { op: IoOp::Read, offset, len, slot: 0 };
        let sent_ns = self.queue.now();
        self.recorder.requests += 1;
        let end = self.queue.exchange(request, &mut self.done).map_err(ProbeEnd::Queue)?;
        let done_ns = self.queue.now();
        let answered = match end {
            Ok(()) => {
                self.recorder.complete(done_ns, done_ns - sent_ns, u64::from(len));
                Some(ProbeRead { sent_ns, done_ns })
            }
            Err(failure) => {
                self.failed(failure)?;
                None
            }
        };
        self.look()?;
        Ok(answered)
    }

    fn stream(&mut self, offset: u64, chunk: u32, count: usize) -> Result<Vec<u64>, ProbeEnd> {
        let begin = self.span.start + offset;
        let depth = self.sent.len().min(STREAM_DEPTH).min(count);
        let mut ends = vec![0; count];
        let (mut next, mut left, mut failure) = (0, count, None);
        let mut free: Vec<u16> = (0..depth as u16).collect();
        while left > 0 {
            // A stream may take many seconds: a stop does not wait for the rest of it.
            let goes_on = failure.is_none() && !self.publisher.stopped();
            while let Some(slot) = free.pop_if(|_| next < count && goes_on) {
                let offset = begin + next as u64 * u64::from(chunk);
                self.sent[usize::from(slot)] = (self.queue.now(), next);
                self.queue.submit(IoRequest { op: IoOp::Read, offset, len: chunk, slot });
                self.recorder.requests += 1;
                next += 1;
            }
            if free.len() == depth {
                break;
            }
            self.done.clear();
            self.queue.wait(&mut self.done).map_err(ProbeEnd::Queue)?;
            let now = self.queue.now();
            for &completion in &self.done {
                let (sent_ns, number) = self.sent[usize::from(completion.slot)];
                let offset = begin + number as u64 * u64::from(chunk);
                let slot = completion.slot;
                let request = IoRequest { op: IoOp::Read, offset, len: chunk, slot };
                free.push(slot);
                left -= 1;
                match completion.failure(request) {
                    Some(failed) => failure = failure.or(Some(failed)),
                    None => self.recorder.complete(now, now - sent_ns, u64::from(chunk)),
                }
                ends[number] = now;
            }
        }
        if let Some(failure) = failure {
            self.failed(failure)?;
            ends.clear();
        }
        self.look()?;
        Ok(ends)
    }

    fn idle(&mut self, ns: u64) -> Result<(), ProbeEnd> {
        let until = self.queue.now() + ns;
        while self.queue.now() < until {
            let nap = (self.queue.now() + NAP_NS).min(until);
            self.done.clear();
            self.queue.wait_until(nap, &mut self.done).map_err(ProbeEnd::Queue)?;
            self.look()?;
        }
        // A pause of our own does not count as a silence of the drive.
        self.recorder.last_ns = self.queue.now();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::VirtualQueue;

    /// A stopped stream of 1,000 chunks ends with what is in flight (issue 20: heads went on for 10 s).
    #[test]
    fn a_stream_ends_soon_after_a_stop() {
        let (control, mut sent) = (Control::default(), 0);
        let mut drive = VirtualQueue::new(5, 1, |_: &IoRequest, _| {
            sent += 1;
            if sent == 40 {
                control.stop();
            }
            Ok(10_000_000)
        });
        let question = |probe: &mut dyn Probe| probe.stream(0, 1 << 20, 1_000);
        let task = ProbeTask { span: 0..1 << 40, is_alone: true, question, control: &control };
        let outcome = task.run(&mut drive).unwrap();
        assert!(matches!(outcome.answer, Err(ProbeEnd::Stopped)));
        let served = drive.served.len();
        assert!((40..=40 + STREAM_DEPTH).contains(&served), "{served}");
    }
}
