//! Reads: cache hits, read-ahead, and the commands that need the medium.

use crate::device::{Nanos, RequestKind, SimOutcome, SimRequest};
use crate::hdd::disk::HardDisk;
use crate::hdd::queue::QueuedCommand;
use crate::hdd::read_cache::{DiskReadAhead, HeldSectors};

impl HardDisk {
    /// The physical sectors that hold the host's bytes, as first and end.
    #[inline]
    pub(super) fn sectors_of(&self, request: &SimRequest) -> (u64, u64) {
        let from = self.medium_byte(request.offset);
        let physical = self.sizes.physical;
        (from / physical, (from + request.len).div_ceil(physical))
    }

    pub(super) fn accept_read(&mut self, at: Nanos, request: SimRequest) {
        let (from, to) = self.sectors_of(&request);
        let byte = self.medium_byte(request.offset);
        if !request.fua {
            let end = byte + request.len;
            if self.write_cache.holds(byte, end) || self.are_arriving(byte, end) {
                return self.answer_from_cache(at, &request, 0);
            }
            let has = |ahead: &DiskReadAhead| {
                let held = self.read_cache.start(ahead.segment).unwrap_or(ahead.from);
                let oldest = held.max(self.overwritten_before(at, ahead)).max(ahead.from);
                (oldest..=ahead.limit).contains(&from)
            };
            if let Some(ahead) = self.read_ahead.filter(has) {
                // read-ahead has it or will reach it
                return self.read_from_segment(at, request, (from, to), ahead.segment, ahead.from);
            }
            if let Some(HeldSectors { index, end }) = self.read_cache.find(from) {
                return self.read_from_segment(at, request, (from, to), index, end);
            }
        }
        self.stop_read_ahead(at);
        self.queue_command(at, request, from, to, None);
    }

    fn answer_from_cache(&mut self, at: Nanos, request: &SimRequest, available: Nanos) {
        let overhead = self.overhead(false, false);
        let (_, sent) = self.electronics(at, overhead, request.len);
        self.complete(request.id, sent.max(available), SimOutcome::Done);
    }

    /// Answers a read that begins in or just after a segment.
    fn read_from_segment(
        &mut self,
        at: Nanos,
        request: SimRequest,
        (from, to): (u64, u64),
        index: usize,
        end: u64,
    ) {
        let continues = self.read_cache.touch(index, request.offset, request.offset + request.len);
        let mut end = end;
        if let Some(ahead) = self.read_ahead.filter(|ahead| ahead.segment == index) {
            if self.may_read_on(ahead.from, to + self.sizes.read_ahead_sectors) {
                return self.read_from_stream(at, &request, (from, to), ahead, continues);
            }
            self.stop_read_ahead(at);
            end = self.read_cache.end(index).unwrap_or(from);
        }
        if to <= end {
            self.answer_from_cache(at, &request, 0);
            self.give_up_requested(index, to);
            if continues
                && !self.sizes.after_misses_only
                && self.nothing_pending()
                && self.write_cache.is_clean()
                && self.mechanism_free <= at
            {
                self.resume_read_ahead(at, index, to);
            }
            return;
        }
        self.stop_read_ahead(at);
        let continued = (from <= end).then_some(index);
        self.queue_command(at, request, end.max(from), to, continued);
    }

    /// Answers a read from the segment that read-ahead is filling, when the head has passed its end. Only a
    /// request that `continues` the last one carries read-ahead on beyond what was planned.
    fn read_from_stream(
        &mut self,
        at: Nanos,
        request: &SimRequest,
        (from, to): (u64, u64),
        ahead: DiskReadAhead,
        continues: bool,
    ) {
        let layout = self.mechanism.layout();
        let ahead_limit = if continues { self.read_ahead_limit(to) } else { to };
        let began = layout.clock_at_end(ahead.from);
        let passed =
            |sector: u64| ahead.since + (layout.clock_at_end(sector.max(ahead.from)) - began);
        let paused = passed(ahead.limit) < at;
        if paused && to > ahead.limit {
            // it had stopped short of this request
            self.stop_read_ahead(at);
            let index = ahead.segment;
            let from = self.read_cache.end(index).unwrap_or(ahead.from);
            if to <= from {
                // the new data met an existing stretch
                return self.answer_from_cache(at, request, 0);
            }
            return self.queue_command(at, *request, from, to, Some(index));
        }
        // a head that has stopped has passed all of it
        let to_read = to.saturating_sub(from.max(ahead.from));
        let (end, available) = if paused || to_read == 0 {
            (0, 0)
        } else {
            let read = request.len.min(to_read * self.sizes.physical);
            let (start, end) = (passed(from), passed(to));
            let can_cross = self.can_cross(start, end, read, request.len - read);
            (end, can_cross + self.crossing_time(request.len))
        };
        let room_left = ahead.limit.saturating_sub(to);
        self.read_cache.grow(ahead.segment, to);
        self.answer_from_cache(at, request, available);
        self.give_up_requested(ahead.segment, to);
        if paused {
            let goes_on = continues && !self.sizes.after_misses_only;
            if goes_on && room_left * 2 < self.sizes.read_ahead_sectors {
                self.stop_read_ahead(at);
                self.resume_read_ahead(at, ahead.segment, to);
            }
        } else if let Some(active) = &mut self.read_ahead {
            active.limit = active.limit.max(ahead_limit);
            active.promised = active.promised.max(end);
        }
    }

    /// Lets reading continue after a segment up to the read-ahead limit beyond `to`, the end of the last
    /// request.
    fn resume_read_ahead(&mut self, at: Nanos, segment: usize, to: u64) {
        let Some(from) = self.read_cache.end(segment) else { return };
        let limit = self.read_ahead_limit(to);
        let too_little = from + self.sizes.read_ahead_sectors / 2 >= limit;
        if self.sizes.read_ahead_sectors == 0 || too_little || !self.may_read_on(from, limit) {
            return;
        }
        self.stop_read_ahead(at);
        let layout = self.mechanism.layout();
        let start =
            self.mechanism.reach(at.max(self.mechanism_free), from, &layout.locate(from), false);
        let crossing = layout.clock(from) - layout.clock_at_end(from);
        let since = start - crossing.min(start);
        self.read_ahead = Some(DiskReadAhead { segment, from, since, limit, promised: 0 });
    }

    /// First sector after the read-ahead of a request that ends before `to`.
    #[inline]
    fn read_ahead_limit(&self, to: u64) -> u64 {
        let layout = self.mechanism.layout();
        let limit = (to + self.sizes.read_ahead_sectors).min(layout.sectors());
        if self.sizes.stop_at_track_end { limit.min(layout.next_track(to - 1)) } else { limit }
    }

    /// First sector that read-ahead has not yet overwritten by `at`, where it exceeds its segment.
    #[inline]
    fn overwritten_before(&self, at: Nanos, ahead: &DiskReadAhead) -> u64 {
        let room = self.read_cache.segment_sectors();
        let most = ahead.limit - ahead.from;
        if most <= room || at <= ahead.since {
            return 0;
        }
        let read = self.mechanism.sectors_within(ahead.from, at - ahead.since, most);
        (ahead.from + read).saturating_sub(room)
    }

    /// Lets the part of a segment that the host has give way to read-ahead, in a drive that works so.
    #[inline]
    fn give_up_requested(&mut self, segment: usize, to: u64) {
        if self.sizes.over_requested {
            self.read_cache.give_up_before(segment, to);
        }
    }

    /// Drops what the buffer has read of the sectors `from..to`, because they are being written.
    #[inline]
    pub(super) fn forget_read(&mut self, at: Nanos, from: u64, to: u64) {
        if self.sizes.hits_on_written || self.read_cache.is_off() {
            return;
        }
        if self.read_ahead.as_ref().is_some_and(|ahead| from < ahead.limit && ahead.from < to) {
            self.stop_read_ahead(at);
        }
        self.read_cache.drop_overlapping(from, to);
    }

    /// Ends read-ahead at `at`, or as soon after as promises allow; the segment keeps the data read.
    #[inline]
    pub(super) fn stop_read_ahead(&mut self, at: Nanos) {
        let Some(ahead) = self.read_ahead.take() else { return };
        let at = at.max(ahead.promised);
        if at > ahead.since {
            let room = ahead.limit - ahead.from;
            let read = self.mechanism.sectors_within(ahead.from, at - ahead.since, room);
            if read > 0 {
                self.read_cache.grow(ahead.segment, ahead.from + read);
                self.mechanism.place_behind(ahead.from + read);
            }
            // The promised data may be all that there was to read.
            let busy_until = if read < room { at } else { ahead.promised };
            self.mechanism_free = self.mechanism_free.max(busy_until);
        }
    }

    #[inline]
    pub(super) fn queue_command(
        &mut self,
        at: Nanos,
        request: SimRequest,
        from: u64,
        to: u64,
        segment: Option<usize>,
    ) {
        let writes = request.op == RequestKind::Write;
        let overhead = self.overhead(writes, true);
        let (ready, arrived) = self.electronics(at, overhead, if writes { request.len } else { 0 });
        let first = self.shingles.as_ref().map_or(from, |shingles| shingles.first_of(from, to));
        let place = self.mechanism.layout().locate(first);
        let (sector, count) = (from, to - from);
        let not_before =
            if writes { self.can_be_written(arrived, from, to, request.len) } else { 0 };
        self.queue.push(QueuedCommand {
            request,
            arrived: at,
            ready,
            not_before,
            sector,
            count,
            first,
            place,
            segment,
        });
    }

    pub(super) fn serve_command(&mut self, at: Nanos) {
        self.stop_read_ahead(at);
        let at = at.max(self.mechanism_free);
        if let Some(shingles) = &self.shingles {
            self.queue.find_again(self.mechanism.layout(), |from, to| shingles.first_of(from, to));
        }
        let taken = self.queue.take(at, self.write_from, &self.mechanism, self.faults.fcfs);
        let Some((command, start)) = taken else { return };
        let before = if self.sizes.on_arrival && !command.writes() && self.shingles.is_none() {
            self.mechanism.passed_before(at, command.sector, &command.place)
        } else {
            0
        };
        let moved_end = if command.writes() {
            self.write_through(at, start, &command)
        } else {
            self.read_medium(start, &command)
        };
        let (from, to) = (command.request.offset, command.request.offset + command.request.len);
        let effect = self.faults.effect(from, to, self.mechanism.rotation().period());
        let end = moved_end + effect.delay;
        self.mechanism_free = end;
        let outcome = if effect.fails { SimOutcome::MediaError } else { SimOutcome::Done };
        if command.writes() {
            return self.complete(command.request.id, end.max(command.ready), outcome);
        }
        let crossed = self.crossed(at, start, end, &command);
        self.complete(command.request.id, crossed, outcome);
        if !effect.fails {
            self.keep_and_read_on(end, &command, before, effect.delay > 0);
        }
    }

    fn read_medium(&mut self, start: Nanos, command: &QueuedCommand) -> Nanos {
        let (from, to) = (command.sector, command.sector + command.count);
        match &self.shingles {
            Some(shingles) if !shingles.at_home(from, to) => {
                let pieces = shingles.resolve(from, to);
                let mut at = start;
                for (index, piece) in pieces.iter().enumerate() {
                    at = if index == 0 {
                        self.mechanism.transfer(start, piece.sector, &command.place, piece.count)
                    } else {
                        self.mechanism.access(at, piece.sector, piece.count, false)
                    };
                }
                at
            }
            _ => self.mechanism.transfer(start, from, &command.place, command.count),
        }
    }

    /// Puts the data read into a segment, with the sectors `before` it that passed the head, and lets the head read
    /// on if nothing else waits for it.
    #[inline]
    fn keep_and_read_on(
        &mut self,
        end: Nanos,
        command: &QueuedCommand,
        before: u64,
        delayed: bool,
    ) {
        if self.read_cache.is_off() {
            return;
        }
        let to = command.sector + command.count;
        let segment = self.read_cache.keep(command.sector - before, to, command.segment);
        let offset = command.request.offset;
        self.read_cache.touch(segment, offset, offset + command.request.len);
        self.give_up_requested(segment, to);
        let limit = self.read_ahead_limit(to);
        if limit > to
            && self.queue.is_empty()
            && !delayed
            && self.may_read_on(command.sector, limit)
        {
            self.read_ahead =
                Some(DiskReadAhead { segment, from: to, since: end, limit, promised: 0 });
        }
    }

    pub(super) fn reads_ahead(&self) -> bool {
        !self.read_cache.is_off() && self.sizes.read_ahead_sectors > 0
    }

    /// Whether read-ahead may continue over these sectors: it follows the order of addresses, so they
    /// must be at home, and it keeps away from planted bad spots.
    #[inline]
    fn may_read_on(&self, from: u64, to: u64) -> bool {
        if self.shingles.as_ref().is_some_and(|s| !s.at_home(from, to)) {
            return false;
        }
        if self.faults.slow_region.is_none() && self.faults.failing_region.is_none() {
            return true;
        }
        !self.faults.any_in(self.host_byte(from), self.host_byte(to))
    }

    /// The host's offset of a sector's first byte; 0 for what lies before the host's first.
    pub(super) fn host_byte(&self, sector: u64) -> u64 {
        (sector * self.sizes.physical).saturating_sub(self.sizes.base)
    }
}
