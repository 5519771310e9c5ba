//! Long sequential passes, computed at once.
//!
//! In each zone some of the pass is stepped request by request, until it has shown how fast it really is. Either
//! the medium sets the pace: the host waits for it again and again, and it never falls behind; then the rest
//! takes exactly as long as the medium takes. Or something else does, and its pace is a matter of cycles (of
//! read-ahead, of destaging, of turns that are lost): then parts are stepped until their mean is known. The rest
//! of the zone is skipped: the drive's state (what is cached, where the head is, what is under way) is moved
//! forward in address and time ([`moving`](super::moving)). The end is stepped again, so the state that remains is
//! a stepped one.

use crate::device::{Completion, Device, Nanos, Op, Request, Stream};
use crate::hdd::disk::HardDisk;
use crate::means::{PARTS_MIN, Part, Parts};

/// Least that is stepped before it is looked at; about a tenth of a second of a drive's time.
const BATCH_BYTES: u64 = 16 << 20;

/// Parts of a batch in each of which the host must have waited for the medium if that sets the pace.
const BATCH_PARTS: u64 = 4;

/// Stepped in any case at the beginning and the end of a pass, beside what fills the caches.
const EDGE_BYTES: u64 = 128 << 20;

/// How many times what was stepped may be skipped, where the medium sets the pace and elsewhere.
const SKIP_EXACT: u64 = 256;
const SKIP_MEAN: u64 = 32;

/// Skipped distances are multiples of this many requests, which makes them whole physical sectors.
const SKIP_CHUNKS: u64 = 8;

/// A sequential pass under way.
struct Pass {
    op: Op,
    chunk: u64,
    depth: u32,
    /// Host offset of its beginning, of the next request, and of its end.
    from: u64,
    at: u64,
    end: u64,
    now: Nanos,
    /// Requests that are not answered.
    inside: u32,
    /// Time of skipped parts that was no whole turn and still has to pass, ns.
    owed: f64,
    done: Vec<Completion>,
}

/// What was stepped in one go.
#[derive(Debug, Clone, Copy)]
struct Batch {
    time: Nanos,
    /// What the medium alone would have taken.
    medium: Nanos,
    /// Whether the medium set the pace.
    exact: bool,
    /// Whether nothing but the pass went on, in one zone.
    counts: bool,
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
        let mut pass = Pass {
            op,
            chunk,
            depth,
            from: offset,
            at: offset,
            end,
            now,
            inside: 0,
            owed: 0.0,
            done: Vec::new(),
        };
        let edge = self.edge_bytes(&pass);
        let stop = end.saturating_sub(edge);
        self.step(&mut pass, offset.saturating_add(edge));
        while pass.at + BATCH_BYTES < stop {
            self.sample_and_skip(&mut pass, stop);
        }
        self.step(&mut pass, end);
        while pass.inside > 0 {
            self.wait(&mut pass);
        }
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

    fn held_up(&self) -> u64 {
        self.held_up
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

    /// What is stepped at each end: enough to fill the caches and the queue.
    fn edge_bytes(&self, pass: &Pass) -> u64 {
        let queue = pass.chunk.saturating_mul(u64::from(pass.depth) * 2);
        let caches = 3 * self.write_cache.limit_bytes()
            + self.read_cache.all_sectors() * self.sizes.physical;
        EDGE_BYTES.saturating_add(caches).saturating_add(queue)
    }

    /// Sends the pass's requests up to host offset `stop`, the queue kept at its depth; those sent last are then
    /// still under way.
    fn step(&mut self, pass: &mut Pass, stop: u64) {
        let stop = stop.min(pass.end);
        loop {
            while pass.at < stop && pass.inside < pass.depth {
                let (id, len) = (pass.at, pass.chunk.min(pass.end - pass.at));
                let request = Request { id, op: pass.op, offset: pass.at, len, fua: false };
                self.submit(pass.now, request);
                pass.at += len;
                pass.inside += 1;
            }
            if pass.at >= stop {
                return;
            }
            self.wait(pass);
        }
    }

    /// Waits until something has happened, mostly an answer.
    fn wait(&mut self, pass: &mut Pass) {
        let Some(due) = self.next_completion() else {
            pass.inside = 0;
            return;
        };
        pass.now = due;
        self.advance(due, &mut pass.done);
        pass.inside -= pass.done.len().min(pass.inside as usize) as u32;
        pass.done.clear();
    }

    /// The sector that the medium has reached in a pass: it runs ahead of reads and behind writes.
    fn stream_sector(&self) -> u64 {
        self.read_ahead.map_or(self.mechanism.next_sector(), |ahead| ahead.from)
    }

    fn sector_at(&self, host: u64) -> u64 {
        self.medium_byte(host) / self.sizes.physical
    }

    /// Lets read-ahead count from where the host's answers are, which its head has passed, instead of from where
    /// it began, which may be zones ago.
    fn read_ahead_counts_from_answers(&mut self, pass: &Pass) {
        let answered = pass.at - (pass.chunk * u64::from(pass.inside)).min(pass.at);
        let sector = self.sector_at(answered);
        let layout = self.mechanism.layout();
        if let Some(ahead) = &mut self.read_ahead
            && (ahead.from..=ahead.limit).contains(&sector)
        {
            let since = ahead.since + layout.time_between_ends(ahead.from, sector);
            if since <= pass.now {
                (ahead.since, ahead.from) = (since, sector);
            }
        }
    }

    /// Steps until the pace is known, then skips the rest of the zone, at most up to host offset `stop`.
    fn sample_and_skip(&mut self, pass: &mut Pass, stop: u64) {
        let began = pass.at;
        let Some(pace) = self.pace(pass, stop) else {
            return;
        };
        while !self.can_skip(pass) && pass.at < stop {
            self.step(pass, pass.at + pass.chunk);
        }
        self.read_ahead_counts_from_answers(pass);
        let from = self.stream_sector();
        let unit = self.skipped_in(pass, from, pace);
        let zone_left = self.mechanism.layout().zone_end(from).saturating_sub(from);
        let factor = if pace == 1.0 { SKIP_EXACT } else { SKIP_MEAN };
        let most = stop.saturating_sub(pass.at).min((pass.at - began).saturating_mul(factor));
        let bytes = most.min(zone_left * self.sizes.physical) / unit * unit;
        if bytes > 0 && self.can_skip(pass) {
            self.skip(pass, bytes, from, pace);
        }
    }

    /// What skipped distances are multiples of: whole physical sectors; and where turns are lost, which ones are
    /// depends on where requests begin on their tracks, and that must stay so.
    fn skipped_in(&self, pass: &Pass, from: u64, pace: f64) -> u64 {
        let requests = SKIP_CHUNKS * pass.chunk;
        if pace == 1.0 {
            return requests;
        }
        let track = self.mechanism.layout().track_sectors(from) * self.sizes.physical;
        let (mut a, mut b) = (requests, track);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        (requests / a).saturating_mul(track)
    }

    /// Steps until it is known by how much the pass is slower than the medium, as a factor: exactly 1 where that
    /// sets the pace. `None` if it is not known before host offset `stop`.
    fn pace(&mut self, pass: &mut Pass, stop: u64) -> Option<f64> {
        let mut parts = Parts::of_least_times();
        let mut exact_in_a_row = 0;
        while pass.at < stop {
            let batch = self.batch(pass);
            exact_in_a_row = if batch.exact { exact_in_a_row + 1 } else { 0 };
            if exact_in_a_row >= PARTS_MIN {
                return Some(1.0);
            }
            if !batch.counts {
                parts.clear();
                continue;
            }
            if let Some(pace) = parts.add(Part { time: batch.time, work: batch.medium as f64 }) {
                return Some(pace.max(1.0));
            }
        }
        None
    }

    /// Steps one batch.
    fn batch(&mut self, pass: &mut Pass) -> Batch {
        let tracks = 2 * self.mechanism.layout().track_sectors(self.stream_sector());
        let least = (BATCH_BYTES / BATCH_PARTS).max(tracks * self.sizes.physical);
        let queue = pass.chunk.saturating_mul(u64::from(pass.depth.max(2)));
        let part = least.max(queue).next_multiple_of(pass.chunk);
        let (began, from, lag) = (pass.now, pass.at, self.lag(pass.now));
        let (zones, others) = (self.zones_of(pass), self.other_work(pass.op));
        let mut held_up = true;
        for _ in 0..BATCH_PARTS {
            let before = self.held_up;
            self.step(pass, pass.at + part);
            held_up &= self.held_up > before;
        }
        let layout = self.mechanism.layout();
        let medium =
            layout.time_between_ends(self.sector_at(from) + 1, self.sector_at(pass.at) + 1);
        // with many requests inside, the head goes on where the interface lags behind
        let carried = (pass.at - from) * self.times.byte_ps / 1000 <= medium;
        // a batch begins and ends with a request, not with a track
        let period = self.mechanism.rotation().period();
        let edges =
            2 * period + 2 * (medium as f64 * pass.chunk as f64 / (pass.at - from) as f64) as Nanos;
        let as_long = (pass.now - began).abs_diff(medium) <= edges;
        let one_zone = zones.0 == zones.1 && zones == self.zones_of(pass);
        let alone = others.is_some() && others == self.other_work(pass.op);
        Batch {
            time: pass.now - began,
            medium,
            exact: alone && held_up && carried && as_long && self.kept_pace(began, lag, pass.now),
            counts: one_zone && alone,
        }
    }

    /// The ends of the zones in which the host and the medium are.
    fn zones_of(&self, pass: &Pass) -> (u64, u64) {
        let zone_end = |sector| self.mechanism.layout().zone_end(sector);
        (zone_end(self.sector_at(pass.at)), zone_end(self.stream_sector()))
    }

    /// Bytes of earlier writes that the pass leaves where they are; `None` while they are being written.
    fn other_work(&self, op: Op) -> Option<u64> {
        match op {
            Op::Write => self.write_cache.waits_in_one_stretch().then_some(0),
            _ => (!self.write_cache.is_writing()).then(|| self.write_cache.total_bytes()),
        }
    }

    /// Whether the state is that of a stream and nothing else, so that it can be moved as a whole.
    fn can_skip(&self, pass: &Pass) -> bool {
        if pass.op != Op::Write {
            return self.read_ahead.is_some()
                || (!self.queue.is_empty() && !self.write_cache.is_writing());
        }
        // the head may still be where earlier writes were
        let (head, host) = (self.mechanism.next_sector(), self.sector_at(pass.at) + 1);
        let tracks = 2 * self.mechanism.layout().track_sectors(head) * self.sizes.physical;
        let inside = pass.chunk.saturating_mul(u64::from(pass.inside) + 2);
        let most = (self.write_cache.limit_bytes() + tracks).saturating_add(inside);
        self.write_cache.is_one_stretch()
            && self.queue.is_empty()
            && host.checked_sub(head).is_some_and(|sectors| sectors * self.sizes.physical <= most)
    }

    /// Moves the drive forward by `bytes`, as after that much more of the stream at `pace`. Time that is lost to
    /// the medium is a number of whole turns, so that sectors and time still belong together.
    fn skip(&mut self, pass: &mut Pass, bytes: u64, from: u64, pace: f64) {
        let sectors = bytes / self.sizes.physical;
        let medium = self.mechanism.layout().time_between_ends(from, from + sectors);
        let period = self.mechanism.rotation().period();
        let mut time = medium;
        if pace != 1.0 {
            pass.owed += medium as f64 * (pace - 1.0);
            let turns = (pass.owed / period as f64).round().max(0.0);
            pass.owed -= turns * period as f64;
            time += turns as Nanos * period;
        }
        let begun = self.sector_at(pass.from)..self.sector_at(pass.at) + 1;
        self.move_on(pass.op, begun, bytes, time);
        pass.now += time;
        pass.at += bytes;
    }
}
