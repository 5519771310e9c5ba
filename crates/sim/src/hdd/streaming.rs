//! Long sequential passes, computed at once.
//!
//! In each zone a short stretch is stepped request by request. It shows how fast the pass really is: at
//! the drive's own sequential rate, or slower because commands take longer than the medium. The rest of
//! the zone is then skipped: the drive's state (what is cached, where the head is, what is under way) is
//! moved forward in address and time. The end is stepped again, so the state that remains is a stepped one.

use crate::device::{Completion, Device, Nanos, Op, Request, Stream};
use crate::hdd::disk::HardDisk;

/// What is stepped in each zone; about a tenth of a second of a drive's time.
const SAMPLE_BYTES: u64 = 16 << 20;

/// What is stepped instead where commands are slower than the medium, so that the cycles of read-ahead
/// average out.
const LONG_SAMPLE_BYTES: u64 = 128 << 20;

/// Skipped distances are multiples of this many requests, which makes them whole physical sectors.
const SKIP_CHUNKS: u64 = 8;

/// A sequential pass under way.
struct Pass {
    op: Op,
    chunk: u64,
    depth: u32,
    /// Host offset of the next request and end of the pass.
    at: u64,
    end: u64,
    now: Nanos,
    done: Vec<Completion>,
}

impl Stream for HardDisk {
    fn stream(
        &mut self,
        now: Nanos,
        op: Op,
        offset: u64,
        len: u64,
        chunk: u64,
        depth: u32,
    ) -> Option<Nanos> {
        self.run_until(now);
        let end = offset.checked_add(len).filter(|&end| end <= self.sizes.capacity)?;
        if len == 0 || chunk == 0 || depth == 0 || !self.can_stream(op, offset, end, chunk) {
            return None;
        }
        let mut pass = Pass { op, chunk, depth, at: offset, end, now, done: Vec::new() };
        let settled = 3 * self.write_cache.limit_bytes() + LONG_SAMPLE_BYTES;
        self.step(&mut pass, settled);
        while end - pass.at > settled + SAMPLE_BYTES {
            self.sample_and_skip(&mut pass, end - settled);
        }
        self.step(&mut pass, u64::MAX);
        Some(pass.now)
    }

    fn lag(&self, now: Nanos) -> Option<i64> {
        // the time at which the sector before this one ended, or will end, under the head
        let (ended, sector) = match self.read_ahead {
            Some(ahead) => (ahead.since, ahead.from),
            None => (self.mechanism_free.max(now), self.mechanism.next_sector()),
        };
        Some(ended as i64 - self.mechanism.layout().clock_at_end(sector.max(1)) as i64)
    }
}

impl HardDisk {
    fn can_stream(&self, op: Op, offset: u64, end: u64, chunk: u64) -> bool {
        let sector = u64::from(self.sizes.logical);
        let caches = match op {
            Op::Read => self.reads_ahead(),
            Op::Write => self.sizes.write_caching,
            Op::Flush | Op::Trim => false,
        };
        caches
            && self.shingles.is_none()
            && self.nothing_pending()
            && self.completions.is_empty()
            && self.faults.gone_at.is_none()
            && !self.faults.any_in(offset, end)
            && [offset, end, chunk].iter().all(|value| value.is_multiple_of(sector))
    }

    /// Sends the pass's next `bytes` (at most up to its end), the queue kept at its depth, until answered.
    fn step(&mut self, pass: &mut Pass, bytes: u64) {
        let bytes = bytes.min(pass.end - pass.at).next_multiple_of(pass.chunk);
        let stop = (pass.at + bytes).min(pass.end);
        let mut outstanding = 0;
        while pass.at < stop || outstanding > 0 {
            while pass.at < stop && outstanding < pass.depth {
                let len = pass.chunk.min(stop - pass.at);
                let request =
                    Request { id: pass.at, op: pass.op, offset: pass.at, len, fua: false };
                self.submit(pass.now, request);
                pass.at += len;
                outstanding += 1;
            }
            let Some(due) = self.next_completion() else {
                return;
            };
            pass.now = due;
            self.advance(due, &mut pass.done);
            outstanding -= pass.done.len().min(outstanding as usize) as u32;
            pass.done.clear();
        }
    }

    /// The sector that the medium has reached in a pass: it runs ahead of reads and behind writes.
    fn stream_sector(&self) -> u64 {
        self.read_ahead.map_or(self.mechanism.next_sector(), |ahead| ahead.from)
    }

    /// Lets read-ahead count from `sector`, which its head has passed, instead of where it began, which may
    /// be zones ago.
    fn read_ahead_counts_from(&mut self, sector: u64) {
        let layout = self.mechanism.layout();
        if let Some(ahead) = &mut self.read_ahead
            && (ahead.from..=ahead.limit).contains(&sector)
        {
            ahead.since += layout.time_between_ends(ahead.from, sector);
            ahead.from = sector;
        }
    }

    /// Steps a sample, then skips the rest of the zone, at most up to host offset `stop`.
    fn sample_and_skip(&mut self, pass: &mut Pass, stop: u64) {
        let mut pace = self.sample(pass, SAMPLE_BYTES);
        if pace != 1.0 {
            pace = self.sample(pass, LONG_SAMPLE_BYTES);
        }
        self.read_ahead_counts_from(self.medium_byte(pass.at) / self.sizes.physical);
        let from = self.stream_sector();
        let unit = SKIP_CHUNKS * pass.chunk;
        let zone_left = self.mechanism.layout().zone_end(from).saturating_sub(from);
        let room = (zone_left * self.sizes.physical).min(stop.saturating_sub(pass.at));
        let bytes = room / unit * unit;
        if bytes > 0 && self.can_skip(pass.op) {
            self.skip(pass, bytes, from, pace);
        }
    }

    /// Steps `bytes`; returns the time it took as a multiple of what the medium alone would have taken:
    /// exactly 1 where the head never waited.
    fn sample(&mut self, pass: &mut Pass, bytes: u64) -> f64 {
        let (began, from, lag) = (pass.now, pass.at, self.lag(pass.now));
        self.step(pass, bytes);
        let sector = |host: u64| self.medium_byte(host) / self.sizes.physical;
        let medium =
            self.mechanism.layout().time_between_ends(sector(from) + 1, sector(pass.at) + 1);
        // with many requests inside, the head goes on where the interface lags behind
        let carried = (pass.at - from) * self.times.byte_ps / 1000 <= medium;
        if carried && self.kept_pace(began, lag, pass.now) {
            return 1.0;
        }
        (pass.now - began) as f64 / medium.max(1) as f64
    }

    /// Whether the state is that of a stream and nothing else, so that it can be moved as a whole.
    fn can_skip(&self, op: Op) -> bool {
        match op {
            Op::Write => self.write_cache.is_one_stretch(),
            _ => self.read_ahead.is_some() && !self.write_cache.is_writing(),
        }
    }

    /// Moves the drive forward by `bytes`, as after that much more of the stream at `pace`.
    fn skip(&mut self, pass: &mut Pass, bytes: u64, from: u64, pace: f64) {
        let sectors = bytes / self.sizes.physical;
        let medium = self.mechanism.layout().time_between_ends(from, from + sectors);
        let time = if pace == 1.0 { medium } else { (medium as f64 * pace) as Nanos };
        self.mechanism.place_behind(self.mechanism.next_sector() + sectors);
        if pass.op == Op::Write {
            self.write_cache.shift(bytes, time);
        }
        if let Some(ahead) = &mut self.read_ahead {
            ahead.from += sectors;
            ahead.limit = (ahead.limit + sectors).min(self.mechanism.layout().sectors());
            ahead.since += time;
            ahead.promised += time;
            self.read_cache.shift(ahead.segment, sectors, self.sizes.physical);
        }
        for moment in [
            &mut self.mechanism_free,
            &mut self.electronics_free,
            &mut self.crossing_free,
            &mut self.write_from,
            &mut self.last_activity,
            &mut self.clock,
            &mut pass.now,
        ] {
            *moment += time;
        }
        self.interface.shift(time);
        pass.at += bytes;
    }
}
