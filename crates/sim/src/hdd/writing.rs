//! Writes: into the cache, out of the cache onto the medium, and through it.

use crate::device::{Nanos, SimOutcome, SimRequest};
use crate::hdd::disk::{ArrivingWrite, HardDisk};
use crate::hdd::layout::TrackSpan;
use crate::hdd::queue::QueuedCommand;
use rand::RngExt;

/// A stretch of at least this many physical sectors is part of a stream: its last sector, if partial, is
/// left in the cache for the data that will complete it.
const STREAM_SECTORS: u64 = 64;

/// A stretch of cached bytes chosen for writing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chosen {
    pub from: u64,
    pub to: u64,
    pub first: u64,
    pub count: u64,
}

/// When a step of destaging can begin: the head can set out at `at`, its transfer start at `not_before`.
#[derive(Debug, Clone, Copy)]
struct DestageStart {
    at: Nanos,
    not_before: Nanos,
}

impl HardDisk {
    pub(super) fn accept_write(&mut self, at: Nanos, request: SimRequest) {
        let (from, to) = self.sectors_of(&request);
        self.forget_read(at, from, to);
        if request.fua || !self.sizes.write_caching {
            self.stop_read_ahead(at);
            return self.queue_command(at, request, from, to, None);
        }
        let overhead = self.overhead(true, false);
        let (_, arrived) = self.electronics(at, overhead, request.len);
        if self.sizes.ends_at_write {
            self.stop_read_ahead(arrived);
        }
        let from = self.medium_byte(request.offset);
        let to = from + request.len;
        self.arriving.push_back(ArrivingWrite { id: request.id, from, to, at: arrived });
    }

    #[inline]
    pub(super) fn all_writes_answered(&self) -> bool {
        self.arriving.is_empty() && self.blocked_write.is_none()
    }

    /// Whether a write that is on its way to the cache brings all of these bytes.
    #[inline]
    pub(super) fn are_arriving(&self, from: u64, to: u64) -> bool {
        self.arriving.iter().any(|write| write.from <= from && to <= write.to)
    }

    /// Puts the data of the write that has arrived first into the cache, and answers it if all fits. Data
    /// flows in as room appears, so a write that does not fit counts as held, but is answered only when it does.
    pub(super) fn take_into_cache(&mut self, at: Nanos) {
        let Some(write) = self.arriving.pop_front() else { return };
        self.write_cache.insert(write.from, write.to, at);
        self.blocked_write = Some(write.id);
        self.answer_blocked_write(at);
    }

    pub(super) fn answer_blocked_write(&mut self, at: Nanos) {
        if self.write_cache.fits()
            && let Some(id) = self.blocked_write.take()
        {
            self.complete(id, at, SimOutcome::Done);
        }
    }

    /// Earliest time at which the head can reach the first of the sectors `from..to`, of whose `len` bytes the last
    /// has crossed the interface at `arrived`: each must be there before the head is.
    pub(super) fn can_be_written(&self, arrived: Nanos, from: u64, to: u64, len: u64) -> Nanos {
        let other_sectors = len.saturating_sub(self.sizes.physical);
        let first = arrived - self.crossing_time(other_sectors);
        let to_last = self.mechanism.layout().transfer_time(from, to - from - 1);
        first.max(arrived.saturating_sub(to_last))
    }

    pub(super) fn destage(&mut self, at: Nanos) {
        self.stop_read_ahead(at);
        let at = at.max(self.mechanism_free);
        let end = if self.shingles.is_some() {
            self.destage_shingled(at)
        } else {
            let Some(chosen) = self.choose_overdue(at).or_else(|| self.choose(at)) else { return };
            if self.is_partial(&chosen) {
                self.read_modify_write(at, chosen)
            } else {
                self.write_whole(at, chosen)
            }
        };
        self.mechanism_free = end;
        self.write_from = end + self.gap(self.times.gap);
    }

    /// Whether destaging has just ended before cached data that it can write on with, without a pause or a turn.
    pub(super) fn writes_on(&self) -> bool {
        let head = self.mechanism.next_sector() * self.sizes.physical;
        let just_ended = self.destaged_last && self.clock <= self.mechanism_free;
        just_ended
            && self.shingles.is_none()
            && self
                .write_cache
                .ascending_from(head)
                .next()
                .is_some_and(|(from, to)| from == head && !self.is_partial(&self.cut(from, to)))
    }

    /// The time from one media write to the next that does not continue it.
    pub(super) fn gap(&mut self, least: Nanos) -> Nanos {
        let jitter = self.times.gap_jitter;
        if jitter == 0 { least } else { least + self.random.random_range(0..=jitter) }
    }

    /// The stretch among those that have waited too long whose transfer could start first; if none of them is among the
    /// next ones, the oldest.
    fn choose_overdue(&self, at: Nanos) -> Option<Chosen> {
        let moment = at.saturating_sub(self.times.age_limit);
        let (from, to) = self.write_cache.waiting_since_before(moment)?;
        let pause_over = at.max(self.write_from);
        let is_overdue = |start| self.write_cache.waiting_since(start).is_some_and(|t| t < moment);
        let near = self.nearest(at, pause_over, |(from, _)| is_overdue(from).then_some(pause_over));
        near.or_else(|| Some(self.cut(from, to)))
    }

    /// The stretch whose transfer could start first at `at`. One that continues the last write needs no
    /// pause before it, unless it must be read first.
    fn choose(&self, at: Nanos) -> Option<Chosen> {
        let head = self.mechanism.next_sector();
        let pause_over = at.max(self.write_from);
        self.nearest(at, pause_over, |(from, to)| {
            let is_next = from / self.sizes.physical == head;
            let continues = is_next && !self.is_partial(&self.cut(from, to));
            Some(if continues { at } else { pause_over })
        })
    }

    /// The nearest among stretches that need at most `room` sectors read first.
    fn choose_partial(&self, step: DestageStart, room: u64) -> Option<Chosen> {
        self.nearest(step.at, step.not_before, |(from, to)| {
            let partial = self.partial_sectors(&self.cut(from, to));
            (1..=room).contains(&partial).then_some(step.not_before)
        })
    }

    /// The stretch whose transfer could start first, among the next ones in order of address from the head
    /// on, which can move from `at` on. `not_before` says when the transfer of a stretch may start, or that
    /// it is not wanted; it is `pause_over` or, for what continues the last write, earlier. The search ends at
    /// the first stretch on this track that comes sooner than any movement to another track ends: later
    /// stretches come later. It ignores stretches so far away that the movement alone takes longer.
    fn nearest(
        &self,
        at: Nanos,
        pause_over: Nanos,
        not_before: impl Fn((u64, u64)) -> Option<Nanos>,
    ) -> Option<Chosen> {
        let soon = pause_over.max(at + self.mechanism.shortest_move());
        let head = self.mechanism.next_sector() * self.sizes.physical;
        let layout = self.mechanism.layout();
        // Neighbours mostly share a track.
        let mut track = layout.track_of(self.mechanism.next_sector().min(layout.sectors() - 1));
        let mut track_at = |(from, _): (u64, u64)| {
            let first = from / self.sizes.physical;
            if !track.holds(first) {
                track = layout.track_of(first);
            }
            track
        };
        // When the transfer starts, and of which stretch.
        let mut best: Option<(Nanos, (u64, u64))> = None;
        let consider = |best: &mut Option<(Nanos, (u64, u64))>, stretch, track: &TrackSpan| {
            let Some(not_before) = not_before(stretch) else { return };
            let first = stretch.0 / self.sizes.physical;
            let place = layout.locate_on(track, first);
            let start = self.mechanism.reach_not_before(at, not_before, first, &place, true);
            if best.as_ref().is_none_or(|(earliest, _)| start < *earliest) {
                *best = Some((start, stretch));
            }
        };
        let comes_later = |best: &Option<(Nanos, (u64, u64))>, movement: Nanos| {
            best.as_ref().is_some_and(|(earliest, _)| at + movement >= *earliest)
        };
        let mut room = self.sizes.destage_window;
        let mut behind = self.write_cache.ascending(head..).take(room);
        while let Some(stretch) = behind.next() {
            room -= 1;
            let track = track_at(stretch);
            if comes_later(&best, self.mechanism.shortest_move_behind(&track)) {
                room -= behind.by_ref().count();
                break;
            }
            consider(&mut best, stretch, &track);
            if let Some((_, (from, to))) = best.filter(|(start, _)| *start <= soon) {
                return Some(self.cut(from, to));
            }
        }
        for stretch in self.write_cache.ascending(..head).take(room) {
            let track = track_at(stretch);
            if comes_later(&best, self.mechanism.shortest_move_before(&track)) {
                continue;
            }
            consider(&mut best, stretch, &track);
            if best.is_some_and(|(start, _)| start <= soon) {
                break;
            }
        }
        best.map(|(_, (from, to))| self.cut(from, to))
    }

    fn start_of(&self, step: DestageStart, sector: u64, write: bool) -> Nanos {
        let place = self.mechanism.layout().locate(sector);
        self.mechanism.reach_not_before(step.at, step.not_before, sector, &place, write)
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
        self.partial_sectors(chosen) > 0
    }

    fn partial_sectors(&self, chosen: &Chosen) -> u64 {
        self.partial_ends(chosen).into_iter().flatten().map(|(_, count)| count).sum()
    }

    /// The sectors to read before a stretch can be written: those that it covers only in part, as first
    /// sector and count. The sectors between are replaced whole. Two that touch are one piece.
    pub(super) fn partial_ends(&self, chosen: &Chosen) -> [Option<(u64, u64)>; 2] {
        if self.faults.no_read_modify_write {
            return [None, None];
        }
        let physical = self.sizes.physical;
        let last = chosen.first + chosen.count - 1;
        let head = (!chosen.from.is_multiple_of(physical)).then_some(chosen.first);
        let tail = (!chosen.to.is_multiple_of(physical)).then_some(last);
        match (head, tail) {
            (Some(head), Some(tail)) if tail - head <= 1 => [Some((head, tail - head + 1)), None],
            _ => [head.map(|sector| (sector, 1)), tail.map(|sector| (sector, 1))],
        }
    }

    fn write_whole(&mut self, at: Nanos, chosen: Chosen) -> Nanos {
        self.write_cache.start(chosen.from, chosen.to);
        self.write_medium(at, chosen.first, chosen.count) + self.delay_of(&chosen)
    }

    /// Writes `count` sectors from `first` on, which needs no pause where it continues the last write. Returns the
    /// end of the transfer.
    pub(super) fn write_medium(&mut self, at: Nanos, first: u64, count: u64) -> Nanos {
        let continues = first == self.mechanism.next_sector();
        let not_before = if continues { at } else { at.max(self.write_from) };
        self.mechanism.access_not_before(at, not_before, first, count, true)
    }

    /// Reads, merges and writes a partial stretch, together with as many others as one batch carries. One
    /// sweep reads partial beginnings, the next partial ends, the third writes.
    fn read_modify_write(&mut self, at: Nanos, first: Chosen) -> Nanos {
        let mut step = DestageStart { at, not_before: at.max(self.write_from) };
        let mut room = self.sizes.rmw_batch;
        if self.partial_sectors(&first) > room {
            self.write_cache.start(first.from, first.to);
            return self.one_sector_at_a_time(step, &first) + self.delay_of(&first);
        }
        let (mut batch, mut ends) = (Vec::new(), Vec::new());
        let mut delay = 0;
        let mut next = Some(first);
        while let Some(chosen) = next {
            self.write_cache.start(chosen.from, chosen.to);
            delay += self.delay_of(&chosen);
            room -= self.partial_sectors(&chosen);
            let mut pieces = self.partial_ends(&chosen).into_iter().flatten();
            if let Some(piece) = pieces.next() {
                step = self.perform_step(step, piece, false);
            }
            ends.extend(pieces);
            batch.push((chosen.first, chosen.count));
            next = if room > 0 { self.choose_partial(step, room) } else { None };
        }
        let read = self.sweep(step, ends, false);
        self.sweep(read, batch, true).at + delay
    }

    /// Reads or writes all `pieces`, the one that comes under the head first next.
    fn sweep(
        &mut self,
        mut step: DestageStart,
        mut pieces: Vec<(u64, u64)>,
        write: bool,
    ) -> DestageStart {
        let first = |disk: &Self, step, pieces: &[(u64, u64)]| {
            (0..pieces.len()).min_by_key(|&index| disk.start_of(step, pieces[index].0, write))
        };
        while let Some(index) = first(self, step, &pieces) {
            step = self.perform_step(step, pieces.remove(index), write);
        }
        step
    }

    /// Writes a stretch with two partial ends where a batch carries one partial sector: each end is read and
    /// written by itself, and the sectors between are written.
    fn one_sector_at_a_time(&mut self, step: DestageStart, stretch: &Chosen) -> Nanos {
        let (head, tail) = (stretch.first, stretch.first + stretch.count - 1);
        let mut step = self.perform_step(step, (head, 1), false);
        step = self.perform_step(step, (head, 1), true);
        if tail - head > 1 {
            step = self.perform_step(step, (head + 1, tail - head - 1), true);
        }
        step = self.perform_step(step, (tail, 1), false);
        step = self.perform_step(step, (tail, 1), true);
        self.write_from = self.write_from.max(step.not_before);
        step.not_before
    }

    /// Reads the partial sectors of a stretch, after the pause like destaging, then writes it whole.
    fn read_and_write(&mut self, at: Nanos, stretch: &Chosen) -> Nanos {
        let mut step = DestageStart { at, not_before: at.max(self.write_from) };
        for piece in self.partial_ends(stretch).into_iter().flatten() {
            step = self.perform_step(step, piece, false);
        }
        step = self.perform_step(step, (stretch.first, stretch.count), true);
        self.write_from = self.write_from.max(step.not_before);
        step.at
    }

    /// One step of a read-modify-write: `count` sectors from `first` on. Returns when the next can begin.
    fn perform_step(
        &mut self,
        step: DestageStart,
        (first, count): (u64, u64),
        write: bool,
    ) -> DestageStart {
        let DestageStart { at, not_before } = step;
        let end = self.mechanism.access_not_before(at, not_before, first, count, write);
        DestageStart { at: end, not_before: end + self.gap(self.times.rmw_gap) }
    }

    fn delay_of(&self, chosen: &Chosen) -> Nanos {
        let host = |byte: u64| byte.saturating_sub(self.sizes.base);
        let period = self.mechanism.rotation().period();
        self.faults.effect(host(chosen.from), host(chosen.to), period).delay
    }

    /// Writes a command's data to the medium before it is answered; `start` is when its first sector is
    /// under the head. Returns the end of the transfer.
    pub(super) fn write_through(
        &mut self,
        at: Nanos,
        start: Nanos,
        command: &QueuedCommand,
    ) -> Nanos {
        let from = self.medium_byte(command.request.offset);
        let to = from + command.request.len;
        if self.all_writes_answered() {
            self.write_cache.remove(from, to);
        }
        let chosen = Chosen { from, to, first: command.sector, count: command.count };
        let end = if self.shingles.is_some() {
            self.append_or_stream(at.max(command.not_before), &[chosen])
        } else if self.is_partial(&chosen) {
            self.read_and_write(at.max(command.not_before), &chosen)
        } else {
            self.mechanism.transfer(start, chosen.first, &command.place, chosen.count)
        };
        self.write_from = self.write_from.max(end + self.gap(self.times.gap));
        end
    }
}
