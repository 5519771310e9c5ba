//! Random writes of random length, as the sequence of PCMark 8 has them: multiples of one page up to 1 MiB, anywhere,
//! a few in flight.

use super::preparation::PAGE;
use crate::io::draw::below;
use crate::io::payload::Payload;
use crate::io::queue::{IoCompletion, IoOp, IoQueue, IoRequest, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::control::{Control, Publisher};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io;
use std::ops::Range;

pub(super) const LONGEST: u32 = 1 << 20;
pub(super) const MEAN_BYTES: f64 = (LONGEST as u64 + PAGE) as f64 / 2.0;

#[derive(Debug)]
pub(super) struct RandomWrites<'c> {
    pub span: Range<u64>,
    pub depth: u32,
    pub payload: Payload,
    pub time_ns: u64,
    pub bytes_max: u64,
    pub seed: u64,
    pub control: &'c Control,
}

impl IoTask for RandomWrites<'_> {
    type Output = Recorder;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Recorder> {
        let slots = queue.slots() as usize;
        let mut sent = vec![(0, IoRequest::default()); slots];
        let mut free: Vec<u16> = (0..slots as u16).rev().collect();
        let mut done: Vec<IoCompletion> = Vec::with_capacity(slots);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut recorder = Recorder::new(self.time_ns);
        let mut publisher = Publisher::new(self.control);
        let (mut in_flight, mut issued) = (0, 0);
        let start = queue.now();
        let deadline = start.saturating_add(self.time_ns);
        recorder.start(start);
        let mut is_stopping = false;
        loop {
            while in_flight < self.depth && recorder.sent_bytes < self.bytes_max && !is_stopping {
                let slot = free.pop().expect("a slot for each request in flight");
                let (offset, len) = self.draw(random.next_u64(), random.next_u64());
                let data = self.payload.of_write(issued);
                if let Some(buffer) = queue.buffer(slot).get_mut(..len as usize) {
                    data.fill(buffer, offset);
                }
                let request = IoRequest { op: IoOp::Write, offset, len, slot };
                sent[usize::from(slot)] = (queue.now(), request);
                queue.submit(request);
                queue.kick()?;
                (in_flight, issued) = (in_flight + 1, issued + 1);
                recorder.sent_bytes += u64::from(len);
            }
            if in_flight == 0 {
                break;
            }
            queue.wait(&mut done)?;
            let now = queue.now();
            for completion in done.drain(..) {
                let (sent_ns, request) = sent[usize::from(completion.slot)];
                free.push(completion.slot);
                in_flight -= 1;
                if let Some(failure) = completion.failure(request) {
                    recorder.failed(failure);
                    is_stopping = true;
                } else if now <= deadline {
                    recorder.complete(now, now - sent_ns, u64::from(request.len));
                } else {
                    recorder.drained(now, now - sent_ns, u64::from(request.len));
                }
            }
            is_stopping |= publisher.tick(now, &recorder) || now >= deadline;
            if is_stopping {
                recorder.stop(now.min(deadline));
            }
        }
        publisher.publish(&recorder);
        (recorder.requests, recorder.written_bytes) = (issued, recorder.sent_bytes);
        recorder.settle();
        Ok(recorder)
    }
}

impl RandomWrites<'_> {
    fn draw(&self, first: u64, second: u64) -> (u64, u32) {
        let size = self.span.end - self.span.start;
        let longest = u64::from(LONGEST).min(size) / PAGE;
        let len = (below(first, longest) + 1) * PAGE;
        let place = below(second, (size - len) / PAGE + 1) * PAGE;
        (self.span.start + place, len as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SECOND, VirtualQueue};

    fn writes(control: &Control, time_ns: u64, bytes_max: u64) -> RandomWrites<'_> {
        let payload = Payload::new(1, 1);
        let span = 8192..8192 + (64 << 20);
        RandomWrites { span, depth: 4, payload, time_ns, bytes_max, seed: 7, control }
    }

    #[test]
    fn mixed_length_writes_go_everywhere_until_time() {
        let control = Control::default();
        // 100 MB/s on each of two servers: 10 ns a byte.
        let mut queue = VirtualQueue::new(4, 2, |it: &IoRequest, _| Ok(u64::from(it.len) * 10));
        let written = writes(&control, 10 * SECOND, u64::MAX).run(&mut queue).unwrap();
        let rate = written.bytes as f64 / (written.elapsed_ns() as f64 / 1e9);
        assert!((rate / 200e6 - 1.0).abs() < 0.01, "{rate}");
        assert_eq!(queue.depth_max, 4);
        let served = &queue.served;
        assert_eq!(served.iter().map(|it| u64::from(it.len)).sum::<u64>(), written.sent_bytes);
        let within = |it: &IoRequest| {
            it.offset >= 8192 && it.offset + u64::from(it.len) <= 8192 + (64 << 20)
        };
        assert!(served.iter().all(|it| within(it) && it.offset % PAGE == 0 && it.len % 4096 == 0));
        let mean = written.sent_bytes as f64 / served.len() as f64;
        assert!((mean / 526_336.0 - 1.0).abs() < 0.05, "uniform from one page to 256: {mean}");
        for (from, to) in [(4096, 64 << 10), (960 << 10, LONGEST)] {
            let count = served.iter().filter(|it| (from..=to).contains(&it.len)).count();
            assert!(count * 20 > served.len(), "{count} of {}", served.len());
        }
    }

    #[test]
    fn bytes_failures_and_a_stop_end_them() {
        let control = Control::default();
        let mut queue = VirtualQueue::new(4, 2, |_: &IoRequest, _| Ok(1_000_000));
        let written = writes(&control, 3_600 * SECOND, 50_000_000).run(&mut queue).unwrap();
        assert!((50_000_000..51_100_000).contains(&written.sent_bytes), "{}", written.sent_bytes);
        let mut queue = VirtualQueue::new(4, 2, |_: &IoRequest, _| Err(libc::ENOSPC));
        let failed = writes(&control, 3_600 * SECOND, u64::MAX).run(&mut queue).unwrap();
        assert!(failed.errors >= 1 && queue.served.len() <= 8);
        control.stop();
        let mut queue = VirtualQueue::new(4, 2, |_: &IoRequest, _| Ok(1_000_000));
        let stopped = writes(&control, 3_600 * SECOND, u64::MAX).run(&mut queue).unwrap();
        assert!(stopped.requests < 16, "{}", stopped.requests);
    }
}
