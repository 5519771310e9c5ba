//! Requests for tests.

use crate::event::{TraceEvent, TraceOp};
use proptest::prelude::*;

/// A read of 4 KiB at 0.
pub fn event() -> TraceEvent {
    let op = TraceOp::Read;
    TraceEvent { at_ns: 0, offset: 0, len: 4096, op, fua: false, latency_ns: None, process: 0 }
}

/// It, sent at this time and in flight for this long.
pub fn read_ms(at_ms: u64, latency_ms: u64) -> TraceEvent {
    let latency_ns = Some(latency_ms * 1_000_000);
    TraceEvent { at_ns: at_ms * 1_000_000, latency_ns, ..event() }
}

/// Any requests in the order of their times.
pub fn events() -> impl Strategy<Value = Vec<TraceEvent>> {
    let op = prop_oneof![
        Just(TraceOp::Read),
        Just(TraceOp::Write),
        Just(TraceOp::Flush),
        Just(TraceOp::Discard),
        Just(TraceOp::WriteZeroes)
    ];
    // Half of the traces have whole sectors only.
    let place = prop_oneof![0u64..1 << 40, (0u64..1 << 50).prop_map(|sector| sector << 9)];
    let latency = proptest::option::of(0u64..1 << 40);
    let one = (0u64..1 << 40, place, any::<u32>(), op, any::<bool>(), latency, 0u16..5);
    let whole_sectors = any::<bool>();
    (proptest::collection::vec(one, 0..200), whole_sectors).prop_map(|(all, whole_sectors)| {
        let mut at_ns = 0;
        let requests = all.into_iter().map(|(gap, offset, len, op, fua, latency_ns, process)| {
            at_ns += gap;
            let mask = if whole_sectors { !511 } else { !0 };
            let (offset, len) = (offset & mask, len & mask as u32);
            TraceEvent { at_ns, offset, len, op, fua, latency_ns, process }
        });
        requests.collect()
    })
}
