//! Loops in steps, from one event to the next. On a simulated drive, threads that wait for each other would spend
//! most of their time waking up, so all loops of a phase take turns on one queue and one thread.

use crate::io::queue::{IoCompletion, IoQueue, IoRequest, IoTask};
use crate::io::recorder::Recorder;
use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Completion,
    /// A completion, or this time; a past time only collects what has completed.
    Until(u64),
    /// Ended, with nothing in flight.
    Over,
}

pub trait SteppedLoop: Send + Sized {
    type Run: SteppedRun;

    /// Allocates everything, for a queue of `slots`.
    fn prepared(self, slots: u32) -> Self::Run;

    /// Runs it alone on a queue.
    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Recorder> {
        let mut done = Vec::with_capacity(queue.slots() as usize);
        let mut running = self.prepared(queue.slots());
        let mut wait = running.begin(queue)?;
        loop {
            match wait {
                Wait::Completion => queue.wait(&mut done)?,
                Wait::Until(at_ns) => queue.wait_until(at_ns, &mut done)?,
                Wait::Over => return Ok(running.finish(queue)),
            }
            wait = running.step(queue, &mut done)?;
        }
    }
}

pub trait SteppedRun: Send {
    /// Sends the first requests.
    fn begin<Q: IoQueue>(&mut self, queue: &mut Q) -> io::Result<Wait>;

    /// Takes what has completed, which may be nothing, and sends what follows.
    fn step<Q: IoQueue>(&mut self, queue: &mut Q, done: &mut Vec<IoCompletion>)
    -> io::Result<Wait>;

    fn finish<Q: IoQueue>(self, queue: &Q) -> Recorder;
}

/// One loop on a queue of its own.
pub struct Alone<L>(pub L);

impl<L: SteppedLoop> IoTask for Alone<L> {
    type Output = Recorder;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Recorder> {
        self.0.run(queue)
    }
}

/// Several loops on one queue, which has as many slots for each.
#[derive(Debug)]
pub struct OneThread<L>(pub Vec<L>);

impl<L: SteppedLoop> IoTask for OneThread<L> {
    type Output = Vec<Recorder>;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Vec<Recorder>> {
        let each = queue.slots() / self.0.len() as u32;
        let mut done: Vec<IoCompletion> = Vec::with_capacity(queue.slots() as usize);
        let mut turns = Vec::with_capacity(self.0.len());
        for (load, first) in self.0.into_iter().zip((0..=u16::MAX).step_by(each as usize)) {
            let mut running = load.prepared(each);
            let wait = running.begin(&mut QueuePart { queue, first, slots: each })?;
            turns.push(Turn { running, wait, first, done: Vec::with_capacity(each as usize) });
        }
        while let Some(at_ns) = turns.iter().filter_map(Turn::until_ns).min() {
            queue.wait_until(at_ns, &mut done)?;
            for IoCompletion { slot, result } in done.drain(..) {
                let (loop_no, slot) = (u32::from(slot) / each, u32::from(slot) % each);
                turns[loop_no as usize].done.push(IoCompletion { slot: slot as u16, result });
            }
            let now = queue.now();
            for Turn { running, wait, first, done } in
                turns.iter_mut().filter(|turn| turn.is_next(now))
            {
                let mut share = QueuePart { queue, first: *first, slots: each };
                *wait = running.step(&mut share, done)?;
            }
        }
        Ok(turns.into_iter().map(|turn| turn.running.finish(queue)).collect())
    }
}

struct Turn<R> {
    running: R,
    wait: Wait,
    /// The first of its slots.
    first: u16,
    done: Vec<IoCompletion>,
}

impl<R> Turn<R> {
    /// Until when it waits at most; `None` once it has ended.
    fn until_ns(&self) -> Option<u64> {
        match self.wait {
            Wait::Completion => Some(u64::MAX),
            Wait::Until(at_ns) => Some(at_ns),
            Wait::Over => None,
        }
    }

    fn is_next(&self, now_ns: u64) -> bool {
        !self.done.is_empty() || self.until_ns().is_some_and(|at_ns| at_ns <= now_ns)
    }
}

struct QueuePart<'q, Q> {
    queue: &'q mut Q,
    first: u16,
    slots: u32,
}

impl<Q: IoQueue> IoQueue for QueuePart<'_, Q> {
    fn slots(&self) -> u32 {
        self.slots
    }
    fn buffer(&mut self, slot: u16) -> &mut [u8] {
        self.queue.buffer(self.first + slot)
    }
    fn submit(&mut self, request: IoRequest) {
        self.queue.submit(IoRequest { slot: self.first + request.slot, ..request });
    }
    fn kick(&mut self) -> io::Result<()> {
        self.queue.kick()
    }
    fn wait_until(&mut self, _: u64, _: &mut Vec<IoCompletion>) -> io::Result<()> {
        Err(io::Error::other("a loop that takes turns does not wait"))
    }
    fn now(&self) -> u64 {
        self.queue.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::offsets::Offsets;
    use crate::loops::control::Control;
    use crate::loops::open::{OpenLoop, Schedule};
    use crate::testing::{SECOND, VirtualQueue, random_reads};
    use drivescope_model::cell::{Mix, Order};
    use drivescope_model::options::Arrivals;

    #[test]
    fn loops_that_take_turns_share_a_drive_evenly() {
        let control = Control::default();
        for depth in [1, 3] {
            let loops = (0..4).map(|seed| random_reads(depth, seed, &control)).collect();
            let mut drive = VirtualQueue::new(4 * (depth + 1), 1, |_, _| Ok(SECOND / 1_000));
            let records = OneThread(loops).run(&mut drive).unwrap();
            let counts: Vec<u64> = records.iter().map(|record| record.ops).collect();
            assert!(counts.iter().all(|count| count.abs_diff(250) <= 2), "{counts:?}");
            assert_eq!(drive.depth_max, 4 * depth as usize);
            let latency_ns = records[3].latencies.value_at_quantile(0.5) as f64;
            assert!((latency_ns / (f64::from(4 * depth) * 1e6) - 1.0).abs() < 0.01, "{latency_ns}");
        }
    }

    #[test]
    fn one_loop_is_as_fast_as_without_others() {
        fn service(request: &IoRequest, _: u64) -> Result<u64, i32> {
            Ok(50_000 + request.offset % 77_777)
        }
        let control = Control::default();
        let (mut first, mut second) =
            (VirtualQueue::new(9, 3, service), VirtualQueue::new(9, 3, service));
        let alone = random_reads(8, 5, &control).run(&mut first).unwrap();
        let [together] =
            &OneThread(vec![random_reads(8, 5, &control)]).run(&mut second).unwrap()[..]
        else {
            panic!("one loop, one record")
        };
        assert_eq!(first.served, second.served);
        assert_eq!((alone.ops, alone.intervals), (together.ops, together.intervals.clone()));
        assert_eq!(alone.latencies, together.latencies);
    }

    #[test]
    fn open_loops_keep_their_times() {
        let control = Control::default();
        let load = |rate| OpenLoop {
            schedule: Schedule::new(Arrivals::Fixed, rate, 1),
            block_bytes: 4096,
            offsets: Offsets::new(Order::Rnd, 0..1 << 30, 4096, Mix::READ, 0.0, 1),
            ramp_ns: 0,
            time_ns: 2 * SECOND,
            control: &control,
        };
        let loops = [100.0, 250.0].map(load).into();
        let mut drive = VirtualQueue::new(20, 8, |_: &IoRequest, _| Ok(100_000));
        let counts: Vec<u64> =
            OneThread(loops).run(&mut drive).unwrap().iter().map(|record| record.ops).collect();
        assert!(counts[0].abs_diff(200) <= 1 && counts[1].abs_diff(500) <= 1, "{counts:?}");
    }
}
