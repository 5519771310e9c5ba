//! Writes: into the cache, out of the cache onto the medium, and through it.

use crate::device::{Nanos, Outcome, Request};
use crate::hdd::disk::{BlockedWrite, HardDisk};
use crate::hdd::queue::Command;
use rand::RngExt;

/// A stretch of at least this many physical sectors is part of a stream: its last sector, if partial, is
/// left in the cache for the data that will complete it.
const STREAM_SECTORS: u64 = 64;

/// A stretch of cached bytes chosen for writing.
#[derive(Debug, Clone, Copy)]
struct Chosen {
    from: u64,
    to: u64,
    first: u64,
    count: u64,
}

impl HardDisk {
    pub(super) fn accept_write(&mut self, at: Nanos, request: Request) {
        if request.fua || !self.sizes.write_caching {
            let (from, to) = self.sectors_of(&request);
            self.stop_read_ahead(at);
            return self.queue_command(at, request, from, to, None);
        }
        let (ready, arrived) = self.electronics(at, self.times.write, request.len);
        if self.write_cache.is_clean() {
            self.dirty_since = ready;
        }
        let from = self.medium_byte(request.offset);
        let write = BlockedWrite { id: request.id, from, to: from + request.len, arrived };
        if self.blocked_writes.is_empty() {
            self.take_into_cache(arrived, write);
        } else {
            self.blocked_writes.push_back(write);
        }
    }

    /// Puts a write's data into the cache, and answers it if all fits. Data flows in as room appears, so
    /// the first write that does not fit counts as held, but is answered only when it does. Returns
    /// whether it was answered.
    fn take_into_cache(&mut self, at: Nanos, write: BlockedWrite) -> bool {
        self.write_cache.insert(write.from, write.to, at);
        let fits = self.write_cache.fits();
        if fits {
            self.complete(write.id, at.max(write.arrived), Outcome::Done);
        } else {
            self.blocked_writes.push_front(write);
        }
        fits
    }

    /// Answers the blocked writes that fit at `at`.
    pub(super) fn release_blocked_writes(&mut self, at: Nanos) {
        let Some(first) = self.blocked_writes.front().copied() else {
            return;
        };
        if !self.write_cache.fits() {
            return;
        }
        self.blocked_writes.pop_front();
        self.complete(first.id, at.max(first.arrived), Outcome::Done);
        while let Some(next) = self.blocked_writes.pop_front() {
            if !self.take_into_cache(at, next) {
                return;
            }
        }
    }

    /// Writes one piece of the cache to the medium, beginning at `at`.
    pub(super) fn destage(&mut self, at: Nanos) {
        self.stop_read_ahead(at);
        let at = at.max(self.mechanism_free);
        let end = if self.shingles.is_some() {
            self.destage_shingled(at)
        } else {
            let overdue =
                self.write_cache.waiting_since_before(at.saturating_sub(self.times.age_limit));
            let chosen = match overdue {
                Some((from, to)) => Some(self.cut(from, to)),
                None => self.choose(at),
            };
            let Some(chosen) = chosen else {
                return;
            };
            if self.is_partial(&chosen) {
                self.read_modify_write(at, chosen)
            } else {
                self.write_whole(at, chosen)
            }
        };
        self.mechanism_free = end;
        self.write_from = end + self.gap(self.times.gap);
    }

    /// The time from one media write to the next that does not continue it.
    fn gap(&mut self, least: Nanos) -> Nanos {
        let jitter = self.times.gap_jitter;
        if jitter == 0 { least } else { least + self.random.random_range(0..=jitter) }
    }

    /// The stretch whose transfer could start first at `at`. One that continues the last write needs no
    /// pause before it, unless it must be read first.
    fn choose(&self, at: Nanos) -> Option<Chosen> {
        let head = self.mechanism.next_sector();
        let move_from = at.max(self.write_from);
        self.nearest(move_from, |chosen| {
            let continues = chosen.first == head && !self.is_partial(chosen);
            Some(if continues { at } else { move_from })
        })
    }

    /// The same among stretches that need a read first and have at most `room` sectors.
    fn choose_partial(&self, at: Nanos, room: u64) -> Option<Chosen> {
        self.nearest(at, |chosen| (chosen.count <= room && self.is_partial(chosen)).then_some(at))
    }

    /// The stretch whose transfer could start first, among the next ones in order of address from the head
    /// on. `set_out` says from when on the head can move to a stretch, or that it is not wanted; it is
    /// `move_from` or, for what continues the last write, earlier. The search ends at the first stretch on
    /// this track that comes sooner than any movement to another track ends: those behind it come later.
    fn nearest(
        &self,
        move_from: Nanos,
        set_out: impl Fn(&Chosen) -> Option<Nanos>,
    ) -> Option<Chosen> {
        let soon = move_from + self.mechanism.shortest_move();
        let mut best: Option<(Nanos, Chosen)> = None;
        for (from, to) in self.upcoming() {
            let chosen = self.cut(from, to);
            let Some(set_out) = set_out(&chosen) else {
                continue;
            };
            let start = self.start_of_write(set_out, chosen.first);
            if best.as_ref().is_none_or(|(earliest, _)| start < *earliest) {
                best = Some((start, chosen));
                if start <= soon {
                    break;
                }
            }
        }
        best.map(|(_, chosen)| chosen)
    }

    /// The stretches to choose from.
    fn upcoming(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let position = self.mechanism.next_sector() * self.sizes.physical;
        self.write_cache.ascending_from(position).take(self.sizes.destage_window)
    }

    fn start_of_write(&self, at: Nanos, sector: u64) -> Nanos {
        self.mechanism.reach(at, sector, &self.mechanism.layout().locate(sector), true)
    }

    /// The part of a stretch that one write to the medium covers: up to the end of a track, and for a
    /// stream without the partial sector at its end.
    fn cut(&self, from: u64, to: u64) -> Chosen {
        let physical = self.sizes.physical;
        let first = from / physical;
        let mut behind = to.div_ceil(physical).min(self.mechanism.layout().next_track(first));
        if behind - first >= STREAM_SECTORS && behind * physical > to {
            behind -= 1;
        }
        Chosen { from, to: to.min(behind * physical), first, count: behind - first }
    }

    /// Whether a stretch begins or ends inside a physical sector, which must then be read first.
    fn is_partial(&self, chosen: &Chosen) -> bool {
        let physical = self.sizes.physical;
        !(self.faults.no_read_modify_write
            || chosen.from.is_multiple_of(physical) && chosen.to.is_multiple_of(physical))
    }

    fn write_whole(&mut self, at: Nanos, chosen: Chosen) -> Nanos {
        let continues = chosen.first == self.mechanism.next_sector();
        let set_out = if continues { at } else { at.max(self.write_from) };
        self.write_cache.start(chosen.from, chosen.to);
        let end = self.mechanism.access(set_out, chosen.first, chosen.count, true);
        end + self.delay_of(&chosen)
    }

    /// Reads, merges and writes a partial stretch, together with as many others as one batch carries:
    /// first all reads, then all writes. A batch smaller than the stretch handles it in several rounds.
    fn read_modify_write(&mut self, at: Nanos, first: Chosen) -> Nanos {
        let batch = self.sizes.rmw_batch;
        self.write_cache.start(first.from, first.to);
        let mut delay = self.delay_of(&first);
        let start = at.max(self.write_from);
        if first.count > batch {
            let end = self.rounds(start, &first, batch);
            return end + delay;
        }
        let mut runs = vec![(first.first, first.count)];
        let mut room = batch - first.count;
        let mut end = self.mechanism.access(start, first.first, first.count, false);
        while room > 0 {
            let next_from = end + self.gap(self.times.rmw_gap);
            let Some(next) = self.choose_partial(next_from, room) else {
                break;
            };
            self.write_cache.start(next.from, next.to);
            delay += self.delay_of(&next);
            end = self.mechanism.access(next_from, next.first, next.count, false);
            runs.push((next.first, next.count));
            room -= next.count;
        }
        for (sector, count) in runs {
            let next_from = end + self.gap(self.times.rmw_gap);
            end = self.mechanism.access(next_from, sector, count, true);
        }
        end + delay
    }

    /// Handles a stretch `batch` sectors at a time, each read and then written.
    fn rounds(&mut self, at: Nanos, stretch: &Chosen, batch: u64) -> Nanos {
        let behind = stretch.first + stretch.count;
        let (mut sector, mut from, mut end) = (stretch.first, at, at);
        while sector < behind {
            let count = batch.min(behind - sector);
            let read = self.mechanism.access(from, sector, count, false);
            let merged = read + self.gap(self.times.rmw_gap);
            end = self.mechanism.access(merged, sector, count, true);
            from = end + self.gap(self.times.rmw_gap);
            sector += count;
        }
        // the pause after the last step is part of the work
        self.write_from = self.write_from.max(from);
        from.max(end)
    }

    /// What planted bad spots add to writing a stretch.
    fn delay_of(&self, chosen: &Chosen) -> Nanos {
        let host = |byte: u64| byte.saturating_sub(self.sizes.base);
        let period = self.mechanism.rotation().period();
        self.faults.effect(host(chosen.from), host(chosen.to), period).delay
    }

    /// Writes a command's data to the medium before it is answered; `start` is when its first sector is
    /// under the head. Returns the end of the transfer.
    pub(super) fn write_through(&mut self, at: Nanos, start: Nanos, command: &Command) -> Nanos {
        let from = self.medium_byte(command.request.offset);
        let to = from + command.request.len;
        if self.blocked_writes.is_empty() {
            self.write_cache.remove(from, to);
        }
        let chosen = Chosen { from, to, first: command.sector, count: command.count };
        let end = if self.shingles.is_some() {
            self.append_or_stream(at, &[(chosen.first, chosen.first + chosen.count)])
        } else if self.is_partial(&chosen) {
            self.rounds(at, &chosen, chosen.count)
        } else {
            self.mechanism.transfer(start, chosen.first, &command.place, chosen.count)
        };
        self.write_from = self.write_from.max(end + self.gap(self.times.gap));
        end
    }
}
