//! A block of requests as columns of variable-length integers: similar values stand together, which compresses well.

use crate::event::{TraceEvent, TraceOp};

/// Requests of a block at most: a few hundred kilobytes, so that reading needs little memory.
pub const BLOCK_EVENTS_MAX: usize = 1 << 16;
/// Bytes of a block before compression at most: an operation and five integers of ten bytes each, and its head.
pub const BLOCK_BYTES_MAX: usize = BLOCK_EVENTS_MAX * 51 + 1;

/// Bits of an operation's byte: the operation, and the marks of the request.
const OP_MASK: u8 = 0b11;
const FUA: u8 = 1 << 2;
const HAS_LATENCY: u8 = 1 << 3;
const HAS_PROCESS: u8 = 1 << 4;
/// With the operation of a discard: zeroes are written.
const ZEROES: u8 = 1 << 5;
const DISCARD: u8 = 3;
/// Bits that this version knows.
const KNOWN: u8 = OP_MASK | FUA | HAS_LATENCY | HAS_PROCESS | ZEROES;

/// Nearly all requests are whole sectors: their places and lengths are counted in them.
const SECTOR_SHIFT: u8 = 9;

/// The block's bytes; times are counted in `tick_ns`.
pub fn encode(events: &[TraceEvent], tick_ns: u64) -> Vec<u8> {
    let sectors = (1u64 << SECTOR_SHIFT) - 1;
    let is_whole = |event: &TraceEvent| (event.offset | u64::from(event.len)) & sectors == 0;
    let shift = if events.iter().all(is_whole) { SECTOR_SHIFT } else { 0 };
    let mut out = Vec::with_capacity(events.len() * 8);
    out.push(shift);
    out.extend(events.iter().map(head));
    let mut before = 0;
    for event in events {
        let tick = event.at_ns / tick_ns;
        put(&mut out, tick - before);
        before = tick;
    }
    let mut end = 0;
    for event in events {
        put(&mut out, zigzag((event.offset >> shift).wrapping_sub(end) as i64));
        end = event.end() >> shift;
    }
    events.iter().for_each(|event| put(&mut out, u64::from(event.len) >> shift));
    events.iter().filter_map(|e| e.latency_ns).for_each(|ns| put(&mut out, ns / tick_ns));
    let processes = events.iter().map(|event| event.process).filter(|process| *process > 0);
    processes.for_each(|process| put(&mut out, process.into()));
    out
}

fn head(event: &TraceEvent) -> u8 {
    fn bit(is_set: bool, bit: u8) -> u8 {
        if is_set { bit } else { 0 }
    }
    let op = match event.op {
        TraceOp::Read => 0,
        TraceOp::Write => 1,
        TraceOp::Flush => 2,
        TraceOp::Discard => DISCARD,
        TraceOp::WriteZeroes => DISCARD | ZEROES,
    };
    let known = bit(event.latency_ns.is_some(), HAS_LATENCY) | bit(event.process > 0, HAS_PROCESS);
    op | bit(event.fua, FUA) | known
}

/// The requests of a block of `count`. Errors: the damage.
pub fn decode(bytes: &[u8], count: usize, tick_ns: u64) -> Result<Vec<TraceEvent>, &'static str> {
    let (&shift, rest) = bytes.split_first().ok_or("a block is empty")?;
    if shift != 0 && shift != SECTOR_SHIFT {
        return Err("a block counts in an unknown unit");
    }
    let (heads, rest) = rest.split_at_checked(count).ok_or("a block is too short")?;
    let mut rest = rest;
    let mut events: Vec<TraceEvent> = Vec::with_capacity(count);
    let mut tick = 0u64;
    for &head in heads {
        tick = tick.checked_add(take(&mut rest)?).ok_or(OUT_OF_RANGE)?;
        let at_ns = tick.checked_mul(tick_ns).ok_or(OUT_OF_RANGE)?;
        events.push(blank(head, at_ns)?);
    }
    let mut places = Vec::with_capacity(count);
    for _ in 0..count {
        places.push(unzigzag(take(&mut rest)?));
    }
    let mut end = 0u64;
    for (event, place) in events.iter_mut().zip(places) {
        let len = scaled(take(&mut rest)?, shift)?;
        event.len = u32::try_from(len).map_err(|_| OUT_OF_RANGE)?;
        event.offset = scaled(end.wrapping_add(place as u64), shift)?;
        end = event.offset.checked_add(len).ok_or(OUT_OF_RANGE)? >> shift;
    }
    for (event, head) in events.iter_mut().zip(heads) {
        if head & HAS_LATENCY > 0 {
            let latency_ns = take(&mut rest)?.checked_mul(tick_ns);
            event.latency_ns = Some(latency_ns.ok_or(OUT_OF_RANGE)?);
        }
    }
    for (event, head) in events.iter_mut().zip(heads) {
        if head & HAS_PROCESS > 0 {
            event.process = u16::try_from(take(&mut rest)?).map_err(|_| OUT_OF_RANGE)?;
        }
    }
    if rest.is_empty() { Ok(events) } else { Err("a block has more bytes than requests") }
}

const OUT_OF_RANGE: &str = "a number is out of range";

fn blank(head: u8, at_ns: u64) -> Result<TraceEvent, &'static str> {
    if head & !KNOWN != 0 {
        return Err("a request has unknown marks");
    }
    let op = match head & (OP_MASK | ZEROES) {
        0 => TraceOp::Read,
        1 => TraceOp::Write,
        2 => TraceOp::Flush,
        DISCARD => TraceOp::Discard,
        op if op == DISCARD | ZEROES => TraceOp::WriteZeroes,
        _ => return Err("a request has unknown marks"),
    };
    let fua = head & FUA > 0;
    Ok(TraceEvent { at_ns, offset: 0, len: 0, op, fua, latency_ns: None, process: 0 })
}

fn scaled(value: u64, shift: u8) -> Result<u64, &'static str> {
    if value.leading_zeros() < u32::from(shift) { Err(OUT_OF_RANGE) } else { Ok(value << shift) }
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow (LEB128).
fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or("a block is too short")?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            break;
        }
        value |= part << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(OUT_OF_RANGE)
}

/// Small numbers of either sign become small ones: 0, -1, 1, -2 become 0, 1, 2, 3.
fn zigzag(value: i64) -> u64 {
    (value << 1) as u64 ^ (value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{event, events};
    use proptest::prelude::*;

    #[test]
    fn a_sequential_stream_costs_few_bytes_a_request() {
        let stream: Vec<TraceEvent> = (0..1000u64)
            .map(|i| TraceEvent { at_ns: i * 100_000, offset: i << 16, len: 1 << 16, ..event() })
            .collect();
        let bytes = encode(&stream, 1000);
        assert!(bytes.len() <= 5 * stream.len() + 10, "{}", bytes.len());
        assert_eq!(decode(&bytes, stream.len(), 1000), Ok(stream));
    }

    proptest! {
        #[test]
        fn blocks_come_back_as_they_were(events in events()) {
            let bytes = encode(&events, 1);
            prop_assert!(bytes.len() <= BLOCK_BYTES_MAX);
            prop_assert_eq!(decode(&bytes, events.len(), 1), Ok(events));
        }

        #[test]
        fn foreign_bytes_are_refused_or_read_and_nothing_else(
            bytes in proptest::collection::vec(any::<u8>(), 0..400), count in 0usize..50
        ) {
            if let Ok(events) = decode(&bytes, count, 1000) {
                prop_assert_eq!(events.len(), count);
            }
        }

        #[test]
        fn a_block_that_lost_its_end_is_refused(events in events(), cut in 1usize..20) {
            let bytes = encode(&events, 1);
            prop_assume!(!events.is_empty() && cut <= bytes.len());
            prop_assert!(decode(&bytes[..bytes.len() - cut], events.len(), 1).is_err());
        }

        #[test]
        fn integers_come_back(value: u64, signed: i64) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            prop_assert_eq!(take(&mut &bytes[..]), Ok(value));
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }
}
