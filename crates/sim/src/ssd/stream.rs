//! Long sequential streams, computed in large steps.
//!
//! Reads: the range is divided where the state of the flash changes; of each part a stretch is stepped
//! and the rest follows at its rate. Writes: the translation layer is given large pieces, so that the
//! state of the flash is what single steps would leave; the time is that of a buffer which the host
//! fills and the dies empty. Head and tail are stepped, so that the drive is left in an ordinary state.

use super::Ssd;
use super::even_load::EvenLoad;
use super::flash::ns;
use super::geometry::Lpn;
use super::port::Way;
use crate::device::{Device, Nanos, Op, Request, Stream};

/// Shorter streams are stepped.
const STEPPED_BELOW_BYTES: u64 = 192 << 20;
/// Stretch of each part of a read that is stepped.
const SAMPLE_BYTES: u64 = 64 << 20;
/// The same where the data lie in fragments: the time of a chunk is then a matter of chance, and its mean of many.
const FRAGMENTED_SAMPLE_BYTES: u64 = 512 << 20;
/// Share of the stretch before the rate is taken: read-ahead and queue must fill first.
const WARM_UP_SHARE: f64 = 0.25;
/// Granularity at which a read is divided into parts.
const WINDOW_BYTES: u64 = 128 << 20;
/// Places at which a window is looked at.
const PROBES: u64 = 16;
/// Steps of a write for each superblock: garbage collection keeps pace with them.
const STEPS_PER_BLOCK: u32 = 64;
/// Steps of virtual time for each thermal time constant.
const THERMAL_STEPS: f64 = 500.0;

/// One stream.
#[derive(Debug, Clone, Copy)]
struct Job {
    op: Op,
    chunk: u64,
    depth: u32,
}

/// What a stretch of the address space looks like to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    mapped: u32,
    slc: u32,
    fragmented: u32,
}

impl Stream for Ssd {
    fn stream(
        &mut self,
        now: Nanos,
        op: Op,
        offset: u64,
        len: u64,
        chunk: u64,
        depth: u32,
    ) -> Option<Nanos> {
        let end = offset.checked_add(len)?;
        let unit = self.geometry.unit_bytes;
        let aligned = offset.is_multiple_of(unit) && chunk.is_multiple_of(unit) && chunk > 0;
        let possible = aligned
            && depth > 0
            && len > 0
            && len.is_multiple_of(unit)
            && end <= self.params.capacity_bytes
            && self.completions.is_empty()
            && self.faults.gone_at.is_none()
            && matches!(op, Op::Read | Op::Write)
            && (op == Op::Write || self.faults.region(offset, len).is_none());
        if !possible {
            return None;
        }
        self.settle(now);
        let job = Job { op, chunk, depth };
        Some(if len < STEPPED_BELOW_BYTES {
            self.step(self.now, job, offset, end).0
        } else if op == Op::Read {
            self.stream_read(job, offset, end)
        } else {
            self.stream_write(job, offset, end)
        })
    }
}

impl Ssd {
    /// Steps through `offset..end`; returns when it is done, and the mean time of a chunk once the
    /// stream has got going.
    fn step(&mut self, now: Nanos, job: Job, offset: u64, end: u64) -> (Nanos, f64) {
        let count = (end - offset).div_ceil(job.chunk);
        let warm_up = (count as f64 * WARM_UP_SHARE) as u64;
        let (mut submitted, mut finished) = (0, 0);
        let (mut at, mut warm_at, mut warm_count) = (now, now, 0);
        let mut done = Vec::new();
        while finished < count {
            while submitted < count && submitted - finished < u64::from(job.depth) {
                let start = offset + submitted * job.chunk;
                let len = job.chunk.min(end - start);
                self.submit(at, Request { id: 0, op: job.op, offset: start, len, fua: false });
                submitted += 1;
            }
            at = self.next_completion().unwrap_or(at);
            self.advance(at, &mut done);
            let before = finished;
            finished += done.drain(..).count() as u64;
            if before <= warm_up && finished > warm_up {
                warm_at = at;
                warm_count = finished;
            }
        }
        let counted = (count - warm_count).max(1);
        (at, (at - warm_at) as f64 / counted as f64)
    }

    fn stream_read(&mut self, job: Job, offset: u64, end: u64) -> Nanos {
        let mut at = self.now;
        let mut start = offset;
        let window = WINDOW_BYTES.div_ceil(job.chunk) * job.chunk;
        while start < end {
            let look = self.look(start, (start + window).min(end));
            let mut part_end = (start + window).min(end);
            while part_end < end && self.look(part_end, (part_end + window).min(end)) == look {
                part_end = (part_end + window).min(end);
            }
            let enough = if look.fragmented > 0 { FRAGMENTED_SAMPLE_BYTES } else { SAMPLE_BYTES };
            let sample = (enough.div_ceil(job.chunk).max(64)) * job.chunk;
            let mut sampled = (start + sample).min(part_end);
            let mut speed = self.flash.speed();
            let (mut stepped, mut chunk_ns) = self.step(at, job, start, sampled);
            // a stretch in which throttling begins or ends has two rates: the next one tells
            while self.flash.speed() != speed && sampled < part_end {
                let from = sampled;
                sampled = (from + sample).min(part_end);
                speed = self.flash.speed();
                (stepped, chunk_ns) = self.step(stepped, job, from, sampled);
            }
            let rest = part_end - sampled;
            let full_speed_ns = rest as f64 / job.chunk as f64 * chunk_ns * speed;
            at = self.pass(stepped, full_speed_ns, Op::Read, rest);
            start = part_end;
        }
        at
    }

    /// Looks at a few places of `start..end`.
    fn look(&self, start: u64, end: u64) -> Look {
        let unit = self.geometry.unit_bytes;
        let mut look = Look { mapped: 0, slc: 0, fragmented: 0 };
        for k in 0..PROBES {
            let lpn = ((start + (end - start) / PROBES * k) / unit) as Lpn;
            let (ppn, run) = self.ftl.find(lpn, self.geometry.stripe);
            look.mapped += u32::from(ppn.is_some());
            look.slc += u32::from(ppn.is_some_and(|ppn| self.ftl.is_slc(ppn)));
            look.fragmented += u32::from(ppn.is_some() && run <= self.geometry.stripe / 4);
        }
        // a drive with a fragment here and there is not cut to pieces for it
        look.fragmented /= PROBES as u32 / 2;
        look
    }

    /// Lets `full_speed_ns` of work on `bytes` pass, which takes longer while the drive throttles.
    fn pass(&mut self, from: Nanos, full_speed_ns: f64, op: Op, bytes: u64) -> Nanos {
        let step_ns = match (&self.thermal, self.faults.throttle_forced) {
            (Some(thermal), None) => thermal.time_constant_ns() / THERMAL_STEPS,
            _ => f64::INFINITY,
        };
        let mut at = from as f64;
        let mut left = full_speed_ns;
        while left > 0.0 {
            let step = left.min(step_ns);
            at += step / self.flash.speed();
            left -= step;
            if let Some(thermal) = &mut self.thermal {
                let moved = (bytes as f64 * step / full_speed_ns) as u64;
                if op == Op::Read {
                    thermal.add_read(moved);
                } else {
                    thermal.add_write(moved);
                }
            }
            self.settle_speed(at as Nanos);
        }
        self.last_completion = self.last_completion.max(at as Nanos);
        self.now = self.now.max(at as Nanos);
        at as Nanos
    }

    fn stream_write(&mut self, job: Job, offset: u64, end: u64) -> Nanos {
        let unit = self.geometry.unit_bytes;
        let buffer = u64::from(self.params.buffer.size_kib) * 1024;
        let edge = (STEPPED_BELOW_BYTES / 8).max(buffer * 2).div_ceil(job.chunk) * job.chunk;
        let head_end = (offset + edge).min(end);
        let tail = head_end + (end - head_end).saturating_sub(edge) / job.chunk * job.chunk;
        let (mut at, _) = self.step(self.now, job, offset, head_end);
        if head_end >= tail {
            return self.step(at, job, head_end, end).0;
        }
        let host_unit_ns = self.host_chunk_ns(job) / (job.chunk / unit) as f64;
        let cap = f64::from(self.buffer.room_beside_row());
        let mut backlog = f64::from(self.buffer.used()).min(cap);
        let mut drain_ns = 0.0;
        let (mut lpn, stop) = ((head_end / unit) as Lpn, (tail / unit) as Lpn);
        while lpn < stop {
            let want = (stop - lpn).min(self.geometry.superblock.div_ceil(STEPS_PER_BLOCK));
            let mut load = EvenLoad::new(&self.flash, &self.geometry);
            let placed = self.ftl.place(lpn, want, &mut load);
            let flash_ns = load.with_host_units(placed.units, placed.slc);
            let host_ns = host_unit_ns * f64::from(placed.units);
            let step_ns = fill_and_drain(&mut backlog, cap, placed.units, host_ns, flash_ns);
            drain_ns = flash_ns / f64::from(placed.units);
            at = self.pass(at, step_ns, Op::Write, u64::from(placed.units) * unit);
            lpn += placed.units;
        }
        let drained = at + (backlog * drain_ns / self.flash.speed()) as Nanos;
        self.flash.occupy(at, at, drained);
        self.buffer.set(at, backlog as u32, drained, self.ftl.waiting_units());
        self.step(at, job, tail, end).0
    }

    /// Time of a chunk where the host and the port set the pace.
    fn host_chunk_ns(&self, job: Job) -> f64 {
        let controller = &self.params.controller;
        let port = self.port.duration(job.chunk, Way::FromHost, true) as f64;
        let interval = ns(controller.command_interval_us) as f64;
        let firmware = ns(controller.write_command_us) as f64;
        let alone = firmware + port;
        let at_drive = (firmware + port) / f64::from(controller.queue_depth);
        port.max(interval).max(at_drive).max(alone / f64::from(job.depth))
    }
}

/// Time until the host has handed over `units` units, which takes it `host_ns` if the buffer never
/// fills and the dies `flash_ns` to program; `backlog` units of `cap` are in the buffer before and after.
fn fill_and_drain(backlog: &mut f64, cap: f64, units: u32, host_ns: f64, flash_ns: f64) -> f64 {
    let units = f64::from(units);
    let (arrival, drain) = (units / host_ns, units / flash_ns);
    let growth = arrival - drain;
    let until_full = if growth > 0.0 { (cap - *backlog).max(0.0) / growth } else { f64::INFINITY };
    if host_ns <= until_full {
        *backlog = (*backlog + growth * host_ns).max(0.0);
        return host_ns;
    }
    *backlog = cap;
    until_full + (units - arrival * until_full) / drain
}

#[cfg(test)]
mod tests {
    use super::fill_and_drain;

    #[test]
    fn a_full_buffer_hands_the_pace_to_the_flash() {
        let mut backlog = 0.0;
        // 100 units arrive in 1000 ns and are programmed in 4000: full after 40/0.075 = 533 ns
        let time = fill_and_drain(&mut backlog, 40.0, 100, 1000.0, 4000.0);
        let expected = 40.0 / 0.075 + (100.0 - 40.0 / 0.075 * 0.1) * 40.0;
        assert!((time - expected).abs() < 1e-6);
        assert_eq!(backlog, 40.0);
        assert_eq!(fill_and_drain(&mut backlog, 40.0, 100, 1000.0, 4000.0), 4000.0);
        assert_eq!(fill_and_drain(&mut backlog, 40.0, 100, 1000.0, 500.0), 1000.0);
        assert_eq!(backlog, 0.0);
    }
}
