//! The open loop: requests arrive at their own times, whatever the drive does, and latency counts from
//! the intended start. A drive that stalls shows the stall in every request that had to wait.

use crate::io::offsets::Offsets;
use crate::io::queue::{IoCompletion, IoQueue, IoRequest, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::control::{Control, Publisher};
use crate::loops::one_thread::{self, SteppedLoop, SteppedRun, Wait};
use drivescope_model::options::Arrivals;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io;

/// Further requests wait here, and the wait counts.
pub const IN_FLIGHT_MAX: u32 = 128;

#[derive(Debug, Clone)]
pub struct Schedule {
    arrivals: Arrivals,
    mean_ns: f64,
    next_ns: f64,
    random: Xoshiro256PlusPlus,
}

impl Schedule {
    /// Arrivals at `rate` per second from time 0.
    pub fn new(arrivals: Arrivals, rate: f64, seed: u64) -> Self {
        let mean_ns = 1e9 / rate;
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut schedule = Self { arrivals, mean_ns, next_ns: 0.0, random };
        if arrivals == Arrivals::Poisson {
            schedule.advance();
        }
        schedule
    }

    #[inline]
    fn advance(&mut self) {
        self.next_ns += match self.arrivals {
            Arrivals::Fixed => self.mean_ns,
            Arrivals::Poisson => {
                // Inverse of the exponential distribution; 53 random bits, never 0.
                let unit = ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                -unit.ln() * self.mean_ns
            }
        };
    }

    /// When the next request is intended, from the beginning.
    #[inline]
    fn peek_ns(&self) -> u64 {
        self.next_ns as u64
    }
}

/// One worker's open loop of reads.
#[derive(Debug)]
pub struct OpenLoop<'c> {
    pub schedule: Schedule,
    pub block_bytes: u32,
    pub offsets: Offsets,
    /// Load before the measured time.
    pub ramp_ns: u64,
    pub time_ns: u64,
    pub control: &'c Control,
}

#[derive(Debug)]
pub struct OpenRun<'c> {
    plan: OpenLoop<'c>,
    recorder: Recorder,
    /// Per slot: when its request was intended, and the request.
    intended: Vec<(u64, IoRequest)>,
    free: Vec<u16>,
    in_flight: u32,
    start_ns: u64,
    measure_from_ns: u64,
    deadline_ns: u64,
    publisher: Publisher<'c>,
    stopping: bool,
}

impl IoTask for OpenLoop<'_> {
    type Output = Recorder;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Recorder> {
        one_thread::alone(self, queue)
    }
}

impl<'c> SteppedLoop for OpenLoop<'c> {
    type Run = OpenRun<'c>;

    fn prepared(self, slots: u32) -> OpenRun<'c> {
        let slots = slots.min(IN_FLIGHT_MAX);
        OpenRun {
            recorder: Recorder::new(self.time_ns),
            intended: vec![(0, IoRequest::default()); slots as usize],
            free: (0..slots as u16).rev().collect(),
            in_flight: 0,
            start_ns: 0,
            measure_from_ns: 0,
            deadline_ns: 0,
            publisher: Publisher::new(self.control),
            stopping: false,
            plan: self,
        }
    }
}

impl SteppedRun for OpenRun<'_> {
    fn begin<Q: IoQueue>(&mut self, queue: &mut Q) -> io::Result<Wait> {
        self.start_ns = queue.now();
        self.measure_from_ns = self.start_ns + self.plan.ramp_ns;
        self.deadline_ns = self.measure_from_ns + self.plan.time_ns;
        self.recorder.start(self.measure_from_ns);
        self.step(queue, &mut Vec::new())
    }

    #[inline]
    fn step<Q: IoQueue>(
        &mut self,
        queue: &mut Q,
        done: &mut Vec<IoCompletion>,
    ) -> io::Result<Wait> {
        let now = queue.now();
        for completion in done.drain(..) {
            self.take(completion, now);
        }
        self.stopping |= self.publisher.tick(now, &self.recorder) || now >= self.deadline_ns;
        if self.stopping {
            self.recorder.stop(now.min(self.deadline_ns));
            return Ok(if self.in_flight == 0 { Wait::Over } else { Wait::Completion });
        }
        self.send_due(queue, now)?;
        if self.free.is_empty() {
            return Ok(Wait::Completion);
        }
        let next = self.start_ns + self.plan.schedule.peek_ns();
        Ok(Wait::Until(next.min(self.publisher.at_ns()).min(self.deadline_ns)))
    }

    fn finish<Q: IoQueue>(mut self, queue: &Q) -> Recorder {
        self.count_unsent(queue.now());
        self.publisher.publish(&self.recorder);
        self.recorder.settle();
        self.recorder
    }
}

impl OpenRun<'_> {
    /// Sends everything whose time has come, as far as slots are free.
    #[inline]
    fn send_due<Q: IoQueue>(&mut self, queue: &mut Q, now: u64) -> io::Result<()> {
        let mut sent = false;
        while let Some(&slot) = self.free.last() {
            let intended = self.start_ns + self.plan.schedule.peek_ns();
            if intended > now {
                break;
            }
            self.free.pop();
            self.plan.schedule.advance();
            let (op, offset) = self.plan.offsets.draw();
            let request = IoRequest { op, offset, len: self.plan.block_bytes, slot };
            self.intended[usize::from(slot)] = (intended, request);
            queue.submit(request);
            self.in_flight += 1;
            self.recorder.requests += 1;
            self.recorder.due += u64::from(intended >= self.measure_from_ns);
            sent = true;
        }
        if sent { queue.kick() } else { Ok(()) }
    }

    #[inline]
    fn take(&mut self, completion: IoCompletion, now: u64) {
        let (intended, request) = self.intended[usize::from(completion.slot)];
        self.free.push(completion.slot);
        self.in_flight -= 1;
        if let Some(failure) = completion.failure(request) {
            self.recorder.failed(failure);
            self.stopping = true;
        } else if intended >= self.measure_from_ns {
            let latency = now - intended;
            if now <= self.deadline_ns {
                self.recorder.complete(now, latency, u64::from(request.len));
            } else {
                self.recorder.drained(now, latency, u64::from(request.len));
            }
        } else if now > self.measure_from_ns && now <= self.deadline_ns {
            // Under overload most of what is done was due in the ramp: it counts for the rate alone.
            self.recorder.overdue += 1;
            self.recorder.moved(now, u64::from(request.len));
        }
    }

    /// Requests whose time came but for which no slot was ever free: they count with the time they had waited at
    /// the end, a lower bound, lest an overload hide its worst latencies.
    fn count_unsent(&mut self, end: u64) {
        loop {
            let intended = self.start_ns + self.plan.schedule.peek_ns();
            if intended >= self.deadline_ns.min(end) {
                return;
            }
            if intended >= self.measure_from_ns {
                self.recorder.due += 1;
                self.recorder.latencies.saturating_record(end - intended);
            }
            self.plan.schedule.advance();
        }
    }
}

#[cfg(test)]
mod tests;
