use super::*;
use crate::error::TraceError;
use crate::event::EventSink;
use crate::testing::{event, events};
use proptest::prelude::*;
use std::io::Cursor;

/// Totals as a source gives them.
fn source_totals() -> TraceTotals {
    TraceTotals { processes: vec!["cp".to_string()], ..TraceTotals::default() }
}

fn written(events: &[TraceEvent], tick_ns: u64) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), &TraceHeader::new("test", tick_ns)).unwrap();
    events.iter().for_each(|event| writer.event(event).unwrap());
    writer.finish(source_totals()).unwrap().0
}

fn read(bytes: &[u8]) -> Result<(Vec<TraceEvent>, TraceTotals), TraceError> {
    let mut reader = TraceReader::new(bytes)?;
    let mut events = Vec::new();
    while let Some(block) = reader.block()? {
        events.extend(block);
    }
    Ok((events, reader.totals().cloned().expect("it was read to its end")))
}

#[test]
fn more_than_a_block_comes_back_in_order() {
    let many: Vec<TraceEvent> =
        (0..150_000u64).map(|i| TraceEvent { at_ns: i, offset: i * 512, ..event() }).collect();
    let bytes = written(&many, 1);
    let (events, totals) = read(&bytes).unwrap();
    assert_eq!(events, many);
    assert_eq!((totals.events, totals.reads, totals.end_ns), (150_000, 150_000, 149_999));
    assert_eq!(totals.end_bytes, 149_999 * 512 + 4096);
    assert_eq!(totals.processes, ["cp"]);
    let (header, again) = read_totals(Cursor::new(&bytes)).unwrap();
    assert_eq!((header.source.as_str(), again), ("test", totals));
}

#[test]
fn requests_out_of_order_are_not_written() {
    let mut writer = TraceWriter::new(Vec::new(), &TraceHeader::new("test", 1)).unwrap();
    writer.event(&TraceEvent { at_ns: 2, ..event() }).unwrap();
    let refused = writer.event(&TraceEvent { at_ns: 1, ..event() }).unwrap_err();
    assert!(refused.to_string().contains("order"), "{refused}");
}

#[test]
fn newer_file_differs_from_damaged_one() {
    let mut bytes = written(&[event()], 1);
    bytes[8] = 2;
    assert!(matches!(read(&bytes), Err(TraceError::Version(2))));
}

#[test]
fn two_versions_in_one_header_are_refused() {
    let refused = read(include_bytes!("../../fixtures/two_versions.trace")).unwrap_err();
    assert!(refused.to_string().contains("two different versions"), "{refused}");
}

fn with_totals(events: &[TraceEvent], change: impl FnOnce(&mut TraceTotals)) -> Vec<u8> {
    let whole = written(events, 1);
    let mut totals = read(&whole).unwrap().1;
    let tail = serde_json::to_vec(&totals).unwrap().len() + 12;
    change(&mut totals);
    let text = serde_json::to_vec(&totals).unwrap();
    let mut bytes = whole[..whole.len() - tail].to_vec();
    for number in [0, text.len() as u32, crc32c::crc32c(&text)] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(text);
    bytes
}

#[test]
fn sums_that_the_requests_do_not_have_are_refused() {
    type Change = fn(&mut TraceTotals);
    let discard = TraceEvent { op: TraceOp::Discard, offset: 1 << 30, ..event() };
    let events = [event(), discard];
    assert!(read(&with_totals(&events, |_| {})).is_ok());
    let changes: [Change; 6] = [
        |totals| totals.reads = 1 << 32,
        |totals| totals.written_bytes = 1,
        |totals| totals.end_ns = 1,
        |totals| totals.end_bytes = u64::MAX,
        |totals| totals.discarded_bytes = 1,
        |totals| totals.has_latencies = true,
    ];
    for change in changes {
        let refused = read(&with_totals(&events, change)).unwrap_err().to_string();
        assert!(refused.contains("sums are not those of its requests"), "{refused}");
    }
    // Before discards counted for the end, and had bytes.
    let early =
        with_totals(&events, |totals| (totals.end_bytes, totals.discarded_bytes) = (4096, 0));
    assert!(read(&early).is_ok());
}

#[test]
fn a_lost_block_is_noticed() {
    let many: Vec<TraceEvent> =
        (0..70_000u64).map(|i| TraceEvent { at_ns: i, ..event() }).collect();
    let bytes = written(&many, 1);
    let tail = serde_json::to_vec(&source_totals()).unwrap().len() + 12;
    let header = written(&[], 1).len() - tail;
    let length = u32::from_le_bytes(bytes[header + 4..header + 8].try_into().unwrap()) as usize;
    let mut without = bytes[..header].to_vec();
    without.extend_from_slice(&bytes[header + 12 + length..]);
    for refused in [read(&without).unwrap_err(), read_totals(Cursor::new(&without)).unwrap_err()] {
        assert!(refused.to_string().contains("lost requests"), "{refused}");
    }
}

proptest! {
    #[test]
    fn traces_come_back_as_they_were(events in events(), tick_ns in prop_oneof![Just(1u64), Just(1000)]) {
        let (back, totals) = read(&written(&events, tick_ns)).unwrap();
        let mut sums = source_totals();
        events.iter().for_each(|event| sums.add(event));
        prop_assert_eq!(totals, sums);
        let rounded = |event: &TraceEvent| TraceEvent {
            at_ns: event.at_ns / tick_ns * tick_ns,
            latency_ns: event.latency_ns.map(|ns| ns / tick_ns * tick_ns),
            ..*event
        };
        prop_assert_eq!(back, events.iter().map(rounded).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_that_was_cut_off_is_refused(events in events(), share in 0.0f64..1.0) {
        let bytes = written(&events, 1);
        let cut = &bytes[..(bytes.len() as f64 * share) as usize];
        let is_truncated = matches!(read(cut), Err(TraceError::Truncated { .. }));
        prop_assert!(is_truncated);
        prop_assert!(read_totals(Cursor::new(cut)).is_err());
    }

    #[test]
    fn file_with_wrong_byte_is_refused(
        events in events(), share in 0.0f64..1.0, flip in 1u8..=255
    ) {
        let mut bytes = written(&events, 1);
        let at = (bytes.len() as f64 * share) as usize;
        bytes[at] ^= flip;
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn foreign_bytes_are_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(read(&bytes).is_err());
        let mut begun = written(&[], 1)[..8].to_vec();
        begun.append(&mut bytes);
        prop_assert!(read(&begun).is_err());
    }
}
