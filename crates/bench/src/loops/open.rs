//! The open loop: requests arrive at their own times, whatever the drive does, and latency counts from
//! the intended start. A drive that stalls shows the stall in every request that had to wait.

use crate::io::offsets::Offsets;
use crate::io::queue::{IoCompletion, IoQueue, IoRequest};
use crate::io::recorder::Recorder;
use crate::loops::control::Control;
use crate::loops::in_flight::InFlight;
use crate::loops::one_thread::{SteppedLoop, SteppedRun, Wait};
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
    flight: InFlight<'c>,
    start_ns: u64,
}

impl<'c> SteppedLoop for OpenLoop<'c> {
    type Run = OpenRun<'c>;

    fn prepared(self, slots: u32) -> OpenRun<'c> {
        let recorder = Recorder::new(self.time_ns);
        let flight = InFlight::new(slots.min(IN_FLIGHT_MAX), recorder, self.control);
        OpenRun { plan: self, flight, start_ns: 0 }
    }
}

impl SteppedRun for OpenRun<'_> {
    fn begin<Q: IoQueue>(&mut self, queue: &mut Q) -> io::Result<Wait> {
        self.start_ns = queue.now();
        self.flight.measure(self.start_ns + self.plan.ramp_ns, self.plan.time_ns);
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
        if self.flight.is_over(now) {
            return Ok(if self.flight.count == 0 { Wait::Over } else { Wait::Completion });
        }
        self.send_due(queue, now)?;
        if self.flight.free.is_empty() {
            return Ok(Wait::Completion);
        }
        let next = self.due_ns().min(self.flight.publisher.at_ns());
        Ok(Wait::Until(next.min(self.flight.deadline_ns)))
    }

    fn finish<Q: IoQueue>(mut self, queue: &Q) -> Recorder {
        self.count_unsent(queue.now());
        self.flight.finish()
    }
}

impl OpenRun<'_> {
    #[inline]
    fn due_ns(&self) -> u64 {
        self.start_ns + self.plan.schedule.peek_ns()
    }

    /// Sends everything whose time has come, as far as slots are free.
    #[inline]
    fn send_due<Q: IoQueue>(&mut self, queue: &mut Q, now: u64) -> io::Result<()> {
        let mut sent = false;
        while let Some(&slot) = self.flight.free.last() {
            let due_ns = self.due_ns();
            if due_ns > now {
                break;
            }
            self.flight.free.pop();
            self.plan.schedule.advance();
            let (op, offset) = self.plan.offsets.draw();
            let request = IoRequest { op, offset, len: self.plan.block_bytes, slot };
            self.flight.requests[usize::from(slot)] = (due_ns, request);
            queue.submit(request);
            self.flight.count += 1;
            self.flight.recorder.requests += 1;
            self.flight.recorder.sent_bytes += u64::from(request.len);
            self.flight.recorder.due += u64::from(due_ns >= self.flight.measure_from_ns);
            sent = true;
        }
        if sent { queue.kick() } else { Ok(()) }
    }

    #[inline]
    fn take(&mut self, completion: IoCompletion, now: u64) {
        let (due_ns, request) = self.flight.take(completion);
        let flight = &mut self.flight;
        if let Some(failure) = completion.failure(request) {
            flight.recorder.failed(failure);
            flight.stopping = true;
        } else if due_ns >= flight.measure_from_ns {
            flight.succeeded(request, now, now - due_ns);
        } else if now > flight.measure_from_ns && now <= flight.deadline_ns {
            // Under overload most of what is done was due in the ramp: it counts for the rate alone.
            flight.recorder.overdue += 1;
            flight.recorder.moved(now, u64::from(request.len));
        }
    }

    /// Requests whose time came but for which no slot was ever free: they count with the time they had waited at
    /// the end, a lower bound, lest an overload hide its worst latencies.
    fn count_unsent(&mut self, end: u64) {
        loop {
            let due_ns = self.due_ns();
            if due_ns >= self.flight.deadline_ns.min(end) {
                return;
            }
            if due_ns >= self.flight.measure_from_ns {
                self.flight.recorder.due += 1;
                self.flight.recorder.latencies.saturating_record(end - due_ns);
            }
            self.plan.schedule.advance();
        }
    }
}

#[cfg(test)]
mod tests;
