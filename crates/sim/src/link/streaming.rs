//! Long sequential passes through a link, computed in large steps.
//!
//! Stretches are stepped through the link, and between them the drive computes its own pass. What the
//! stretches before and after took longer for each byte than the drive alone, the link has added, and the
//! time between them grows by as much. Where a stretch happened to be faster (the platter's phase), that is
//! set off against the next; where the drive's medium set the pace of a stretch, the link has added nothing,
//! whenever its requests happened to be answered. A request that fails counts with the time it takes.

use super::layer::Link;
use crate::device::{Completion, Device, Nanos, Op, Request, Stream};

/// What is stepped before the first sample: caches and queues must fill.
const WARM_UP_BYTES: u64 = 256 << 20;
/// A sample, long enough to average over the cycles of a drive's read-ahead.
const SAMPLE_BYTES: u64 = 64 << 20;
/// Parts of a sample in each of which the host must have waited for the medium if that sets the pace.
const SAMPLE_PARTS: u64 = 4;
/// Parts into which a pass is divided, each at least [`PART_MIN_BYTES`].
const PARTS: u64 = 32;
/// Shorter parts would not save anything.
const PART_MIN_BYTES: u64 = 2 << 30;
/// Samples within this of one another have the same cause.
const AGREE: f64 = 1.05;

/// A sequential pass under way.
struct Pass {
    op: Op,
    chunk: u64,
    depth: u32,
    at: u64,
    end: u64,
    now: Nanos,
    /// Requests that are not answered.
    under_way: u32,
    /// What the link has added to computed stretches and still has to pass.
    owed_ns: f64,
    done: Vec<Completion>,
}

impl<D: Device> Link<D> {
    /// Steps `bytes` of a pass, or what is left of it; the requests sent last are then still under way.
    fn step_pass(&mut self, pass: &mut Pass, bytes: u64) {
        let stop = pass.end.min(pass.at.saturating_add(bytes));
        loop {
            while pass.at < stop && pass.under_way < pass.depth {
                let len = pass.chunk.min(pass.end - pass.at);
                let request =
                    Request { id: pass.at, op: pass.op, offset: pass.at, len, fua: false };
                self.submit(pass.now, request);
                pass.at += len;
                pass.under_way += 1;
            }
            if pass.at >= stop {
                return;
            }
            self.wait_for_pass(pass);
        }
    }

    fn wait_for_pass(&mut self, pass: &mut Pass) {
        pass.now = self.next_completion().expect("requests are under way");
        self.advance(pass.now, &mut pass.done);
        pass.under_way -= pass.done.len() as u32;
        pass.done.clear();
    }

    /// Waits for the answers to all that was sent, and lets the time pass that is owed.
    fn drain_pass(&mut self, pass: &mut Pass) {
        while pass.under_way > 0 {
            self.wait_for_pass(pass);
        }
        if pass.owed_ns > 0.0 {
            pass.now += pass.owed_ns as Nanos;
            pass.owed_ns = 0.0;
            self.advance(pass.now, &mut pass.done);
        }
    }
}

impl<D: Stream> Link<D> {
    /// Steps a sample. The time it took per byte, in ns; `None` if the drive's medium set the pace: the host
    /// waited for it in each part, and it never fell behind.
    fn sample(&mut self, pass: &mut Pass) -> Option<f64> {
        let (began, first, lag) = (pass.now, pass.at, self.inner.lag(pass.now));
        let queue = pass.chunk.saturating_mul(u64::from(pass.depth.max(2)));
        let part = (SAMPLE_BYTES / SAMPLE_PARTS).max(queue);
        let mut held_up = true;
        for _ in 0..SAMPLE_PARTS {
            let before = self.inner.held_up();
            self.step_pass(pass, part);
            held_up &= self.inner.held_up() > before;
        }
        let pace = (pass.now - began) as f64 / (pass.at - first).max(1) as f64;
        (!held_up || !self.inner.kept_pace(began, lag, pass.now)).then_some(pace)
    }

    /// Lets the drive compute `bytes` of a pass; how much it did, and its time per byte. Nothing if it
    /// must be stepped.
    fn skip(&mut self, pass: &mut Pass, bytes: u64) -> Option<(u64, f64)> {
        let pieces = pass.chunk.div_ceil(self.rules.max_transfer_bytes);
        let piece = (pass.chunk / pieces) & !4095;
        let whole = bytes.checked_div(piece * 64)? * piece * 64;
        if whole == 0 {
            return None;
        }
        self.drain_pass(pass);
        let depth = (u64::from(pass.depth) * pieces).min(self.rules.depth) as u32;
        let end = self.inner.stream(pass.now, pass.op, pass.at, whole, piece, depth)?;
        let took = (end - pass.now) as f64 / whole as f64;
        pass.at += whole;
        pass.now = end;
        Some((whole, took))
    }

    /// Computes the pass in parts.
    fn run_parts(&mut self, pass: &mut Pass) {
        self.step_pass(pass, WARM_UP_BYTES);
        let mut before = self.sample(pass);
        let part = ((pass.end - pass.at) / PARTS).max(PART_MIN_BYTES);
        while pass.end - pass.at > part + 2 * SAMPLE_BYTES {
            let Some((skipped, alone)) = self.skip(pass, part) else {
                self.step_pass(pass, part - SAMPLE_BYTES);
                before = self.sample(pass);
                continue;
            };
            // The first requests after a computed stretch are not the rule.
            self.step_pass(pass, SAMPLE_BYTES / 4);
            let after = self.sample(pass);
            pass.owed_ns += owed_per_byte(before, after, alone) * skipped as f64;
            before = after;
        }
        self.step_pass(pass, u64::MAX);
        self.drain_pass(pass);
    }
}

/// What the link adds to each byte between two samples, by their pace and that of the drive alone there:
/// nothing where the medium sets it. Where the samples disagree a cache was used up on the way: then the
/// faster one is the least that the link allows.
fn owed_per_byte(before: Option<f64>, after: Option<f64>, alone: f64) -> f64 {
    let (before, after) = (before.unwrap_or(alone), after.unwrap_or(alone));
    let (low, high) = (before.min(after), before.max(after));
    if high > low * AGREE { (low - alone).max(0.0) } else { f64::midpoint(low, high) - alone }
}

impl<D: Stream> Stream for Link<D> {
    fn stream(
        &mut self,
        now: Nanos,
        op: Op,
        offset: u64,
        len: u64,
        chunk: u64,
        depth: u32,
    ) -> Option<Nanos> {
        self.advance(now, &mut Vec::new());
        let end = offset.checked_add(len).filter(|&end| end <= self.capacity_bytes())?;
        let sector = u64::from(self.sector_bytes());
        let whole_sectors = [offset, len, chunk].iter().all(|bytes| bytes.is_multiple_of(sector));
        let data = matches!(op, Op::Read | Op::Write);
        if !self.is_idle() || !data || !whole_sectors || len == 0 || chunk == 0 || depth == 0 {
            return None;
        }
        let done = Vec::new();
        let mut pass =
            Pass { op, chunk, depth, at: offset, end, now, under_way: 0, owed_ns: 0.0, done };
        self.run_parts(&mut pass);
        Some(pass.now)
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinkParams;
    use super::super::test_device::{TestDrive, closed_loop, request};
    use super::*;
    use crate::hdd::HardDisk;
    use crate::library::Model;

    /// Forty gigabytes that slow to half.
    fn zoned(servers: usize) -> TestDrive {
        TestDrive::new(servers, 5_000_000, |offset| 200.0 - offset as f64 / 4e8)
    }

    fn both_ways(params: &LinkParams, drive: &TestDrive, op: Op, depth: u32) -> (f64, f64) {
        let len = 40_000 << 20;
        let mut link = Link::new(params, drive.clone()).unwrap();
        let computed = link.stream(0, op, 0, len, 1 << 20, depth).expect("can be computed");
        assert_eq!(link.inner().bytes_read + link.inner().bytes_written, len);
        let mut link = Link::new(params, drive.clone()).unwrap();
        let requests = (0..40_000).map(|i| request(i, op, i << 20, 1 << 20));
        let stepped = closed_loop(&mut link, depth as usize, requests).1;
        (computed as f64, stepped as f64)
    }

    #[test]
    fn computed_passes_agree_with_stepped_ones() {
        let links = [
            LinkParams::usb3_bulk_only(),
            LinkParams::usb2_bulk_only(),
            LinkParams::usb3_uas(),
            LinkParams::sata_6g(),
        ];
        for (params, op) in links.iter().zip([Op::Read, Op::Write, Op::Write, Op::Read]) {
            for depth in [1, 8] {
                let (computed, stepped) = both_ways(params, &zoned(1), op, depth);
                let off = computed / stepped - 1.0;
                assert!(off.abs() < 0.005, "{} {op:?} at {depth}: {off}", params.name);
            }
        }
    }

    #[test]
    fn passes_over_a_modelled_disk_agree_too() {
        let text = include_str!("../../models/usb-16tb.toml");
        let model = Model::parse("usb-16tb.toml", text).expect("a model");
        let disk = HardDisk::new(&model.hdd.expect("a hard disk"), 1).expect("valid");
        let len = 20_000 << 20;
        for (params, op) in [
            (LinkParams::usb3_bulk_only(), Op::Read),
            (LinkParams::usb3_uas(), Op::Write),
            (LinkParams::usb2_bulk_only(), Op::Read),
        ] {
            let mut link = Link::new(&params, disk.clone()).unwrap();
            let computed = link.stream(0, op, 0, len, 1 << 20, 2).expect("can be computed");
            let mut link = Link::new(&params, disk.clone()).unwrap();
            let requests = (0..20_000).map(|i| request(i, op, i << 20, 1 << 20));
            let stepped = closed_loop(&mut link, 2, requests).1;
            let off = computed as f64 / stepped as f64 - 1.0;
            assert!(off.abs() < 0.0005, "{} {op:?}: {off}", params.name);
        }
    }

    #[test]
    fn what_cannot_be_computed_is_left_to_the_caller() {
        let mut link = Link::new(&LinkParams::sata_6g(), zoned(1)).unwrap();
        assert_eq!(link.stream(0, Op::Read, 0, 2 << 40, 1 << 20, 1), None, "beyond the end");
        assert_eq!(link.stream(0, Op::Flush, 0, 1 << 20, 1 << 20, 1), None);
        assert_eq!(link.stream(0, Op::Read, 100, 1 << 20, 1 << 20, 1), None);
        link.submit(0, request(1, Op::Read, 0, 4096));
        assert_eq!(link.stream(0, Op::Read, 0, 1 << 30, 1 << 20, 1), None, "busy");
    }
}
