//! Long sequential passes, computed at once.
//!
//! In each zone some of the pass is stepped request by request, until it has shown how fast it really is. Either
//! the medium sets the pace: the host waits for it again and again, and it never falls behind; then the rest
//! takes exactly as long as the medium takes. Or something else does, and its pace is a matter of cycles (of
//! read-ahead, of destaging, of turns that are lost): then parts are stepped until their mean is known. The rest
//! of the zone is skipped: the drive's state (what is cached, where the head is, what is under way) is moved
//! forward in address and time ([`moving`](super::moving)). The end is stepped again, so the state that remains is
//! a stepped one.

use crate::device::{Nanos, Op};
use crate::hdd::disk::HardDisk;
use crate::hdd::read_cache::Kept;
use crate::means::{PARTS_MIN, Part, Parts};
use crate::passes::{Order, Passes, Walk, Way};

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

/// A medium that loses less than this share of the time lost nothing: a single turn in a second is more.
const FALLING_BEHIND_MIN: f64 = 0.001;

/// A sequential pass under way.
struct Pass<'a, W> {
    walk: Walk<'a, W>,
    /// What was in the read cache before it.
    kept: Kept,
    /// Time of skipped parts that was no whole turn and still has to pass, ns.
    owed: f64,
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

impl Way for HardDisk {
    type Drive = Self;

    fn drive(&self) -> &Self {
        self
    }

    fn drive_mut(&mut self) -> &mut Self {
        self
    }
}

impl Passes for HardDisk {
    fn pass<W: Way<Drive = Self>>(way: &mut W, now: Nanos, order: Order) -> Option<Nanos> {
        let disk = way.drive_mut();
        disk.run_until(now);
        let end = order.end_on(disk.sizes.capacity, disk.sizes.logical)?;
        if !disk.can_stream(&order, end) {
            return None;
        }
        let (edge, kept) = (disk.edge_bytes(&order), disk.read_cache.kept());
        let stop = end.saturating_sub(edge);
        let mut pass = Pass { walk: Walk::new(way, now, &order), kept, owed: 0.0 };
        pass.walk.step(order.offset.saturating_add(edge));
        while pass.walk.at + BATCH_BYTES < stop {
            pass.sample_and_skip(stop);
        }
        Some(pass.walk.finish())
    }
}

impl HardDisk {
    fn can_stream(&self, order: &Order, end: u64) -> bool {
        let caches = match order.op {
            Op::Read => self.reads_ahead(),
            Op::Write => self.sizes.write_caching,
            Op::Flush | Op::Trim => false,
        };
        caches
            && self.shingles.is_none()
            && self.nothing_pending()
            && self.completions.is_empty()
            && self.faults.gone_at.is_none()
            && !self.faults.any_in(order.offset, end)
    }

    /// What is stepped at each end: enough to fill the caches and the queue.
    fn edge_bytes(&self, order: &Order) -> u64 {
        let queue = order.chunk.saturating_mul(u64::from(order.depth) * 2);
        let caches = 3 * self.write_cache.limit_bytes()
            + self.read_cache.all_sectors() * self.sizes.physical;
        EDGE_BYTES.saturating_add(caches).saturating_add(queue)
    }

    /// How far the medium is behind a transfer of the whole disk without a pause at `now`, in ns from an origin of
    /// its own; it grows while the medium waits for the host.
    fn lag(&self, now: Nanos) -> i64 {
        // the time at which the sector before this one ended, or will end, under the head
        let (ended, sector) = match self.read_ahead {
            Some(ahead) => (ahead.since, ahead.from),
            None => (self.mechanism_free.max(now), self.mechanism.next_sector()),
        };
        ended as i64 - self.mechanism.layout().clock_at_end(sector.max(1)) as i64
    }

    /// Whether the medium set the pace of what was stepped from `began`, when its lag was `lag_then`, to
    /// `now`: it fell no further behind. The times of the answers cannot tell: a write is answered when a
    /// whole track has left the cache, up to a turn sooner or later.
    fn kept_pace(&self, began: Nanos, lag_then: i64, now: Nanos) -> bool {
        let most = (now - began) as f64 * FALLING_BEHIND_MIN;
        self.lag(now).abs_diff(lag_then) as f64 <= most
    }

    /// The sector that the medium has reached in a pass: it runs ahead of reads and behind writes.
    fn stream_sector(&self) -> u64 {
        self.read_ahead.map_or(self.mechanism.next_sector(), |ahead| ahead.from)
    }

    fn sector_at(&self, host: u64) -> u64 {
        self.medium_byte(host) / self.sizes.physical
    }

    /// Lets read-ahead count from host offset `answered`, which its head has passed, instead of from where it
    /// began, which may be zones ago.
    fn read_ahead_counts_from(&mut self, answered: u64, now: Nanos) {
        let sector = self.sector_at(answered);
        let layout = self.mechanism.layout();
        if let Some(ahead) = &mut self.read_ahead
            && (ahead.from..=ahead.limit).contains(&sector)
        {
            let since = ahead.since + layout.time_between_ends(ahead.from, sector);
            if since <= now {
                (ahead.since, ahead.from) = (since, sector);
            }
        }
    }

    /// What skipped distances are multiples of: whole physical sectors; and where turns are lost, which ones are
    /// depends on where requests begin on their tracks, and that must stay so.
    fn skipped_in(&self, chunk: u64, from: u64, pace: f64) -> u64 {
        let requests = SKIP_CHUNKS * chunk;
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

    /// The ends of the zones in which the host, at offset `at`, and the medium are.
    fn zones_at(&self, at: u64) -> (u64, u64) {
        let zone_end = |sector| self.mechanism.layout().zone_end(sector);
        (zone_end(self.sector_at(at)), zone_end(self.stream_sector()))
    }

    /// Bytes of earlier writes that a pass leaves where they are; `None` while they are being written.
    fn other_work(&self, op: Op) -> Option<u64> {
        match op {
            Op::Write => self.write_cache.waits_in_one_stretch().then_some(0),
            _ => (!self.write_cache.is_writing()).then(|| self.write_cache.total_bytes()),
        }
    }

    /// Whether the state is that of a stream that the host has sent up to offset `at`, `inside` bytes of it not
    /// answered, and of nothing else, so that it can be moved as a whole.
    fn is_one_stream(&self, op: Op, at: u64, inside: u64) -> bool {
        if op != Op::Write {
            return self.read_ahead.is_some()
                || (!self.queue.is_empty() && !self.write_cache.is_writing());
        }
        // the head may still be where earlier writes were
        let (head, host) = (self.mechanism.next_sector(), self.sector_at(at) + 1);
        let tracks = 2 * self.mechanism.layout().track_sectors(head) * self.sizes.physical;
        let most = (self.write_cache.limit_bytes() + tracks).saturating_add(inside);
        self.write_cache.is_one_stretch()
            && self.queue.is_empty()
            && host.checked_sub(head).is_some_and(|sectors| sectors * self.sizes.physical <= most)
    }
}

impl<W: Way<Drive = HardDisk>> Pass<'_, W> {
    fn disk(&self) -> &HardDisk {
        self.walk.way.drive()
    }

    fn can_skip(&self) -> bool {
        let Walk { op, at, chunk, inside, .. } = self.walk;
        self.disk().is_one_stream(op, at, chunk.saturating_mul(u64::from(inside) + 2))
    }

    /// Steps until the pace is known, then skips the rest of the zone, at most up to host offset `stop`.
    fn sample_and_skip(&mut self, stop: u64) {
        let began = self.walk.at;
        let Some(pace) = self.pace(stop) else {
            return;
        };
        while !self.can_skip() && self.walk.at < stop {
            self.walk.step(self.walk.at + self.walk.chunk);
        }
        let Walk { at, chunk, inside, now, .. } = self.walk;
        let answered = at.saturating_sub(chunk * u64::from(inside));
        self.walk.way.drive_mut().read_ahead_counts_from(answered, now);
        let disk = self.disk();
        let from = disk.stream_sector();
        let unit = disk.skipped_in(chunk, from, pace);
        let zone_left = disk.mechanism.layout().zone_end(from).saturating_sub(from);
        let factor = if pace == 1.0 { SKIP_EXACT } else { SKIP_MEAN };
        let most = stop.saturating_sub(at).min((at - began).saturating_mul(factor));
        let bytes = most.min(zone_left * disk.sizes.physical) / unit * unit;
        if bytes > 0 && self.can_skip() {
            self.skip(bytes, from, pace);
        }
    }

    /// Steps until it is known by how much the pass is slower than the medium, as a factor: exactly 1 where that
    /// sets the pace. `None` if it is not known before host offset `stop`.
    fn pace(&mut self, stop: u64) -> Option<f64> {
        let mut parts = Parts::of_least_times();
        let mut exact_in_a_row = 0;
        while self.walk.at < stop {
            let batch = self.batch();
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
    fn batch(&mut self) -> Batch {
        let Walk { op, chunk, depth, at: from, now: began, .. } = self.walk;
        let disk = self.disk();
        let tracks = 2 * disk.mechanism.layout().track_sectors(disk.stream_sector());
        let least = (BATCH_BYTES / BATCH_PARTS).max(tracks * disk.sizes.physical);
        let queue = chunk.saturating_mul(u64::from(depth.max(2)));
        let part = least.max(queue).next_multiple_of(chunk);
        let (lag, zones, others) = (disk.lag(began), disk.zones_at(from), disk.other_work(op));
        let mut held_up = true;
        for _ in 0..BATCH_PARTS {
            let before = self.disk().held_up;
            self.walk.step(self.walk.at + part);
            held_up &= self.disk().held_up > before;
        }
        let (disk, at, now) = (self.disk(), self.walk.at, self.walk.now);
        let layout = disk.mechanism.layout();
        let medium = layout.time_between_ends(disk.sector_at(from) + 1, disk.sector_at(at) + 1);
        // with many requests inside, the head goes on where the interface lags behind
        let carried = (at - from) * disk.times.byte_ps / 1000 <= medium;
        // a batch begins and ends with a request, not with a track
        let period = disk.mechanism.rotation().period();
        let edges = 2 * period + 2 * (medium as f64 * chunk as f64 / (at - from) as f64) as Nanos;
        let as_long = (now - began).abs_diff(medium) <= edges;
        let one_zone = zones.0 == zones.1 && zones == disk.zones_at(at);
        let alone = others.is_some() && others == disk.other_work(op);
        Batch {
            time: now - began,
            medium,
            exact: alone && held_up && carried && as_long && disk.kept_pace(began, lag, now),
            counts: one_zone && alone,
        }
    }

    /// Moves everything forward by `bytes`, as after that much more of the stream at `pace`. Time that is lost to
    /// the medium is a number of whole turns, so that sectors and time still belong together.
    fn skip(&mut self, bytes: u64, from: u64, pace: f64) {
        let disk = self.disk();
        let sectors = bytes / disk.sizes.physical;
        let medium = disk.mechanism.layout().time_between_ends(from, from + sectors);
        let period = disk.mechanism.rotation().period();
        let mut time = medium;
        if pace != 1.0 {
            self.owed += medium as f64 * (pace - 1.0);
            let turns = (self.owed / period as f64).round().max(0.0);
            self.owed -= turns * period as f64;
            time += turns as Nanos * period;
        }
        self.walk.way.drive_mut().move_on(self.walk.op, &self.kept, bytes, time);
        self.walk.way.move_on(bytes, time);
        self.walk.now += time;
        self.walk.at += bytes;
    }
}
