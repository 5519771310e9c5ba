//! Long sequential passes through a link, computed by the drive behind it.
//!
//! The drive steps parts of a pass through the link and moves on when it knows the pace of both; what the link
//! has under way moves with it. A pass that the drive does not compute as a whole (because of bad spots, say) is
//! tried in parts, and those that it does not compute either are stepped.

use super::layer::Link;
use crate::device::{Nanos, Op, Stream};
use crate::passes::{Order, Passes, Toll, Walk, Way};

/// Parts into which a pass is divided, each at least [`PART_MIN_BYTES`].
const PARTS: u64 = 32;
/// Shorter parts would not save anything.
const PART_MIN_BYTES: u64 = 2 << 30;

impl<D: Passes> Way for Link<D> {
    type Drive = D;

    fn drive(&self) -> &D {
        &self.inner
    }

    fn drive_mut(&mut self) -> &mut D {
        &mut self.inner
    }

    fn move_on(&mut self, bytes: u64, time: Nanos) {
        self.move_under_way(bytes, time);
    }

    fn toll(&self, chunk: u64) -> Toll {
        let (alone_ns, added_ns) = self.rules.toll_ns();
        let pieces = chunk.div_ceil(self.rules.max_transfer_bytes);
        Toll { pieces, depth: self.rules.depth, alone_ns, added_ns }
    }

    fn largest_command(&self) -> u64 {
        self.rules.max_transfer_bytes
    }
}

impl<D: Passes> Link<D> {
    /// A pass that the drive does not compute as a whole.
    fn pass_in_parts(&mut self, mut now: Nanos, order: Order) -> Nanos {
        let part = (order.len / PARTS).max(PART_MIN_BYTES).next_multiple_of(order.chunk);
        let mut left = order;
        while left.len > 0 {
            let this = Order { len: part.min(left.len), ..left };
            now = D::pass(self, now, this).unwrap_or_else(|| Walk::new(self, now, &this).finish());
            (left.offset, left.len) = (left.offset + this.len, left.len - this.len);
        }
        now
    }
}

impl<D: Passes> Stream for Link<D> {
    fn stream(
        &mut self,
        now: Nanos,
        op: Op,
        offset: u64,
        len: u64,
        chunk: u64,
        depth: u32,
    ) -> Option<Nanos> {
        let order = Order { op, offset, len, chunk, depth };
        self.run(now);
        if !self.is_idle() {
            return None;
        }
        order.end_on(self.rules.capacity_bytes, self.rules.sector_bytes)?;
        self.let_drive_run(now);
        Some(D::pass(self, now, order).unwrap_or_else(|| self.pass_in_parts(now, order)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinkParams;
    use super::super::test_device::{closed_loop, request};
    use super::*;
    use crate::device::Device;
    use crate::hdd::HardDisk;
    use crate::library::Model;

    fn disk() -> HardDisk {
        let text = include_str!("../../models/usb-16tb.toml");
        let model = Model::parse("usb-16tb.toml", text).expect("a model");
        HardDisk::new(&model.hdd.expect("a hard disk"), 1).expect("valid")
    }

    #[test]
    fn computed_passes_agree_with_stepped_ones() {
        let disk = disk();
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
        let mut link = Link::new(&LinkParams::sata_6g(), disk()).unwrap();
        assert_eq!(link.stream(0, Op::Read, 0, 20 << 40, 1 << 20, 1), None, "beyond the end");
        assert_eq!(link.stream(0, Op::Flush, 0, 1 << 20, 1 << 20, 1), None);
        assert_eq!(link.stream(0, Op::Read, 100, 1 << 20, 1 << 20, 1), None);
        link.submit(0, request(1, Op::Read, 0, 4096));
        assert_eq!(link.stream(0, Op::Read, 0, 1 << 30, 1 << 20, 1), None, "busy");
    }
}
