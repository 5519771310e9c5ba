//! Records of blktrace, fio and trace collections besides reads and writes of a plain disk.

use super::super::*;
use crate::event::TraceOp;
use crate::open::OpenTrace;
use crate::summary::Summarizer;
use drivescope_model::trace::TraceSummary;
use std::io::Write;

/// The summary of a file in `trace info`.
fn summary(bytes: &[u8]) -> TraceSummary {
    read(bytes, ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn read(bytes: &[u8], options: ImportOptions) -> Result<TraceSummary, TraceError> {
    let trace = OpenTrace::new(Box::new(bytes), options)?;
    let header = trace.header().clone();
    let mut sums = Summarizer::default();
    let totals = trace.read(&mut sums)?;
    Ok(sums.finish(&header, &totals))
}

#[test]
fn passed_through_commands_are_skipped_and_counted() {
    let found = summary(include_bytes!("../../../fixtures/passthrough.blkparse"));
    assert_eq!((found.reads.requests, found.reads.bytes), (1, 4096));
    assert_eq!((found.writes.requests, found.writes.bytes), (1, 4096));
    assert_eq!((found.requests, found.skipped), (2, 2));
    assert!(found.service.is_some(), "both have their completions");
}

#[test]
fn added_blkparse_times_are_not_places() {
    let found = summary(include_bytes!("../../../fixtures/elapsed.blkparse"));
    assert_eq!((found.reads.requests, found.flushes, found.requests), (1, 1, 2));
    assert_eq!(found.reads.bytes, 4096);
}

#[test]
fn append_is_the_only_zone_request() {
    let found = summary(include_bytes!("../../../fixtures/zoned.blkparse"));
    assert_eq!((found.reads.requests, found.flushes, found.requests), (0, 0, 1));
    assert_eq!((found.writes.requests, found.writes.bytes, found.skipped), (1, 4096, 4));
    assert_eq!(found.fua_writes, 0);
}

#[test]
fn requeued_request_counts_once() {
    let text = include_str!("../../../fixtures/requeue.blkparse");
    let found = summary(text.as_bytes());
    assert_eq!((found.requests, found.reads.bytes), (1, 4096));
    let latency_us = found.service.unwrap().lat_mean_us;
    assert!((latency_us - 92.0).abs() < 1e-6, "from when the drive took it: {latency_us}");
    // As programs asked for it, it never came back.
    let queue = ImportOptions { action: BlockAction::Queue, ..ImportOptions::default() };
    let queued = text.replacen("  D ", "  Q ", 1);
    let found = read(queued.as_bytes(), queue).unwrap();
    assert_eq!((found.requests, found.service.unwrap().lat_max_us), (1, 592.0));
}

#[test]
fn work_before_requeue_stays_counted() {
    let text = "8,0 0 1 0.000000000 1 D W 0 + 16 [a]\n8,0 0 2 0.000100000 0 C W 0 + 8 [0]\n\
                8,0 0 3 0.000200000 1 R W 8 + 8 [0]\n8,0 0 4 0.000300000 1 D W 8 + 8 [a]\n\
                8,0 0 5 0.000400000 0 C W 8 + 8 [0]\n";
    let found = summary(text.as_bytes());
    assert_eq!((found.writes.requests, found.writes.bytes), (2, 8192));
}

#[test]
fn discards_count_bytes_and_target_size() {
    let found = summary(include_bytes!("../../../fixtures/discard_only.blkparse"));
    assert_eq!((found.discards, found.requests), (1, 1));
    assert_eq!((found.discarded_bytes, found.end_bytes), (134_217_216, 135_265_792));
}

#[test]
fn zeroes_without_data_are_no_writes() {
    let text = "8,0 0 1 0.0 1 D WZS 8 + 16 [mkfs]\n8,0 0 2 0.1 0 C WZS 8 + 16 [0]\n";
    let found = summary(text.as_bytes());
    assert_eq!((found.writes.requests, found.zeroes, found.zeroed_bytes), (0, 1, 8192));
}

#[test]
fn what_blkparse_prints_around_its_events_is_skipped() {
    let text = include_str!("../../../fixtures/elapsed.blkparse");
    let around = format!(
        "Input file sda.blktrace.0 added\nInput file sda.blktrace.1 added\n{text}\
         (8,32): skipping 4 -> 7\ncomplete not found for (8,32): 2048\n\
         CPU0 (8,32):\n Reads Queued:           1,        4KiB\nThroughput (R/W): 1KiB/s / 0KiB/s\n"
    );
    let found = summary(around.as_bytes());
    assert_eq!((found.reads.requests, found.flushes), (1, 1));
}

#[test]
fn file_names_may_hold_blanks_and_actions() {
    let text = include_str!("../../../fixtures/blank_in_name.iolog");
    for name in ["/mnt/My Disk/f.tmp", "/mnt/to read 1 2/add", "read write"] {
        let text = text.replace("/mnt/My Disk/f.tmp", name);
        let found = summary(text.as_bytes());
        assert_eq!((found.writes.requests, found.reads.requests), (1, 1), "{name}");
        let options = ImportOptions { device: Some(name.to_string()), ..ImportOptions::default() };
        assert!(read(text.as_bytes(), options).is_ok());
    }
}

#[test]
fn calls_that_write_back_the_page_cache_are_skipped() {
    let found = summary(include_bytes!("../../../fixtures/sync_file_range.iolog"));
    assert_eq!((found.writes.requests, found.flushes, found.skipped), (2, 0, 2));
}

#[test]
fn compressed_traces_are_read_or_name_remedy() {
    let found = summary(include_bytes!("../../../fixtures/msr.csv.gz"));
    assert_eq!((found.source.as_str(), found.requests), ("msr-cambridge", 2));
    let mut tar = vec![b'x'; 257];
    tar.extend(b"ustar\0");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar).unwrap();
    for (bytes, words) in [
        (&[0x28, 0xb5, 0x2f, 0xfd, 0][..], "zstdcat"),
        (b"BZh91AY", "bzcat"),
        (&gzip.finish().unwrap(), "tar -xf"),
    ] {
        let refused = read(bytes, ImportOptions::default()).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn a_byte_order_mark_before_a_trace_is_skipped() {
    let text = "\u{feff}7,R,4096,8192,1\r\n7,W,0,512,2\r\n";
    let found = summary(text.as_bytes());
    assert_eq!((found.source.as_str(), found.requests), ("alibaba", 2));
}

#[test]
fn letters_say_what_a_request_does() {
    let kind = |letters| blkparse::BlockKind::parse(letters).map(|kind| (kind.op, kind.fua));
    for (letters, expected) in [
        ("RA", Some((TraceOp::Read, false))),
        ("FWFS", Some((TraceOp::Write, true))),
        ("ZA", Some((TraceOp::Write, false))),
        ("ZAF", Some((TraceOp::Write, true))),
        ("ZR", None),
        ("ZRA", None),
        ("ZF", None),
        ("ZO", None),
        ("ZC", None),
        ("WZ", Some((TraceOp::WriteZeroes, false))),
        ("DE", Some((TraceOp::Discard, false))),
        ("FF", Some((TraceOp::Flush, false))),
        ("N", None),
    ] {
        assert_eq!(kind(letters), expected, "{letters}");
    }
}
