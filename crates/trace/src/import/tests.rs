mod other_records;

use super::*;
use crate::error::TraceError;
use crate::event::{TraceEvent, TraceOp};
use crate::iolog::IologWriter;
use crate::testing::events;
use proptest::prelude::*;

/// The requests of a source, and its report.
fn imported(
    text: &[u8],
    options: &ImportOptions,
) -> Result<(Vec<TraceEvent>, TraceTotals), String> {
    let read = || -> Result<_, TraceError> {
        let format = detect(&text[..text.len().min(4096)])?;
        let mut events = Vec::new();
        let mut keep = |event: &TraceEvent| {
            events.push(*event);
            Ok(())
        };
        let source_totals = import(text, format, options, &mut keep)?;
        Ok((events, source_totals))
    };
    read().map_err(|error| error.to_string())
}

fn all(text: impl AsRef<[u8]>) -> (Vec<TraceEvent>, TraceTotals) {
    imported(text.as_ref(), &ImportOptions::default()).unwrap()
}

fn fault(text: impl AsRef<[u8]>) -> String {
    imported(text.as_ref(), &ImportOptions::default()).unwrap_err()
}

const MSR: &str = "128170000000000000,srv,0,Read,4096,8192,512\n\
                   128170000000100000,srv,0,Write,8192,512,1000\n";
const SYSTOR: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n\
                      1456100000.000250000,0.0008,R,0,4096,8192\n\
                      1456100000.000350000,,,0,0,0\n\
                      1456100001.000250000,0.0010,W,0,0,512\n";
const ALIBABA: &str = "7,R,4096,8192,1577900000000250\n7,W,0,512,1577900000000300\n";
const TENCENT: &str = "1538400000,8,16,0,42\n1538400002,8,16,1,42\n";
const SPC: &str = "0,8,8192,R,0.000250\n0,8,512,w,0.500250\n";
const IOLOG: &str = "fio version 3 iolog\n0 /dev/sdx add\n0 /dev/sdx open\n\
                     125000 /dev/sdx read 4096 8192\n125500 /dev/sdx write 0 512\n\
                     125600 /dev/sdx datasync 0 0\n125600 /dev/sdx close\n";
const BLKPARSE: &str = "  8,0    1        1     0.000000000  812  Q   R 2048 + 8 [app]
  8,0    1        2     0.000004100  812  D   R 2048 + 8 [app]
  8,0    0        1     0.000092000    0  C   R 2048 + 8 [0]
  8,0    1        3     0.000100000  812  D FWFS 4096 + 16 [jbd2/sda1-8]
  8,0    1        4     0.000110000  812  P   N [app]
  8,0    0        2     0.000300000    0  C FWFS 4096 + 8 [0]
  8,0    0        3     0.000400000    0  C FWFS 4104 + 8 [0]
  8,0    1        5     0.000500000  812  D FN [kworker/1:0]
  8,0    0        4     0.000600000    0  C FN 0 [0]
CPU0 (8,0):
 Reads Queued:           1,        4KiB
";

#[test]
fn each_form_is_detected() {
    for (text, format) in [
        (MSR, SourceFormat::Msr),
        (SYSTOR, SourceFormat::Systor),
        (SYSTOR.split_once('\n').unwrap().1, SourceFormat::Systor),
        (ALIBABA, SourceFormat::Alibaba),
        (TENCENT, SourceFormat::Tencent),
        (SPC, SourceFormat::Spc),
        (IOLOG, SourceFormat::FioIolog),
        (BLKPARSE, SourceFormat::Blkparse),
    ] {
        assert_eq!(detect(text.as_bytes()).unwrap(), format, "{text}");
    }
    for text in ["", "\n\n", "hello\n", "1,2\n", "{\"a\": 1}"] {
        assert!(detect(text.as_bytes()).is_err(), "{text}");
    }
    assert!(detect(&[0xff, 0xfe, 0, 1]).is_err());
}

#[test]
fn published_lines_match_their_readmes() {
    fn read(text: &str) -> (u64, Option<u64>) {
        let (events, _) = all(text);
        assert_eq!(events.len(), 2, "{text}");
        assert_eq!((events[0].op, events[1].op), (TraceOp::Read, TraceOp::Write), "{text}");
        assert_eq!((events[0].offset, events[0].len, events[0].at_ns), (4096, 8192, 0), "{text}");
        (events[1].at_ns, events[0].latency_ns)
    }
    assert_eq!(read(MSR), (10_000_000, Some(51_200)));
    assert_eq!(read(SYSTOR), (1_000_000_000, Some(800_000)));
    assert_eq!(read(ALIBABA), (50_000, None));
    assert_eq!(read(TENCENT), (2_000_000_000, None));
    assert_eq!(read(SPC), (500_000_000, None));
}

#[test]
fn blank_operations_are_skipped_and_counted() {
    assert_eq!(all(SYSTOR).1.skipped, 1);
}

#[test]
fn block_traces_have_flushes_completions_and_processes() {
    let (events, source_totals) = all(BLKPARSE);
    let seen: Vec<_> =
        events.iter().map(|e| (e.op, e.offset, e.len, e.fua, e.latency_ns)).collect();
    assert_eq!(
        seen,
        [
            (TraceOp::Read, 2048 * 512, 4096, false, Some(87_900)),
            (TraceOp::Flush, 0, 0, false, None),
            (TraceOp::Write, 4096 * 512, 8192, true, Some(300_000)),
            (TraceOp::Flush, 0, 0, false, Some(100_000)),
        ]
    );
    assert_eq!(source_totals.processes, ["app", "jbd2/sda1-8", "kworker/1:0"]);
    assert_eq!(source_totals.skipped, 2, "one queueing, one plug");
    let queue = ImportOptions { action: BlockAction::Queue, ..ImportOptions::default() };
    let (events, _) = imported(BLKPARSE.as_bytes(), &queue).unwrap();
    assert_eq!(events.len(), 1);
}

#[test]
fn one_device_of_several_is_chosen() {
    let two = format!("{MSR}128170000000200000,srv,1,Read,0,512,1\n");
    let why = fault(&two);
    assert!(why.starts_with("line 3: ") && why.contains("--device \"srv_1\""), "{why}");
    let chosen = ImportOptions { device: Some("srv_1".to_string()), ..ImportOptions::default() };
    assert_eq!(imported(two.as_bytes(), &chosen).unwrap().0.len(), 1);
    let none = ImportOptions { device: Some("x".to_string()), ..ImportOptions::default() };
    assert!(imported(two.as_bytes(), &none).unwrap_err().contains("no requests of device"));
}

#[test]
fn a_fault_names_its_line_and_reason() {
    for (text, words) in [
        ("fio version 1 iolog\n", vec!["line 1", "versions 2 and 3"]),
        ("fio version 3 iolog\n5 f read 0\n", vec!["line 2", "offset and a length"]),
        ("fio version 3 iolog\nx f read 0 1\n", vec!["line 2", "the time is \"x\""]),
        ("fio version 3 iolog\n5 f erase 0 1\n", vec!["line 2", "erase"]),
        ("fio version 3 iolog\n5 f read 0 4294967296\n", vec!["line 2", "too long"]),
        ("fio version 3 iolog\n5 f read 18446744073709551615 4\n", vec!["line 2", "beyond any"]),
        ("fio version 3 iolog\nfio version 3 iolog\n", vec!["line 2", "second log"]),
        ("7,R,4096,8192,1\n7,R,4096,8192\n", vec!["line 2", "4 columns"]),
        ("7,R,4096,8192,1\n7,X,0,1,1\n", vec!["line 2", "\"X\""]),
    ] {
        let why = fault(text);
        assert!(words.iter().all(|word| why.contains(word)), "{text}: {why}");
    }
    let endless = format!("fio version 3 iolog\n{}", "x".repeat(100_000));
    assert!(fault(endless).contains("longer than 64 KiB"));
    assert_eq!(fault("fio version 3 iolog\n0 f add\n"), "holds no requests");
    let queued = "8,0 1 1 0.000000000 812 Q R 2048 + 8 [app]\n";
    assert!(fault(queued).contains("--action queue"));
}

#[test]
fn records_out_of_order_are_sorted_and_counted() {
    let text = "7,R,4096,512,30\n7,R,0,512,10\n7,W,0,512,20\n";
    let (events, source_totals) = all(text);
    assert_eq!(events.iter().map(|e| e.at_ns).collect::<Vec<_>>(), [0, 10_000, 20_000]);
    assert_eq!(source_totals.reordered, 2);
}

#[test]
fn waits_of_version_2_hold_back_until_a_time() {
    let text = "fio version 2 iolog\nf add\nf open\nf read 0 512\nf wait 1500 0\n\
                f read 512 512\nf wait 3000 0\nf read 1024 512\nf close\n";
    let times: Vec<u64> = all(text).0.iter().map(|event| event.at_ns / 1_000_000).collect();
    assert_eq!(times, [0, 1500, 3000]);
}

/// What fio logged comes back as it was, line by line.
#[test]
fn an_iolog_comes_back_as_it_was() {
    let mut writer = IologWriter::new(Vec::new(), "/dev/sdx").unwrap();
    import(IOLOG.as_bytes(), SourceFormat::FioIolog, &ImportOptions::default(), &mut writer)
        .unwrap();
    assert_eq!(String::from_utf8(writer.finish().unwrap()).unwrap(), IOLOG);
}

fn binary(at_ns: u64, sector: u64, bytes: u32, action: u32, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(0x6561_7407u32.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend(at_ns.to_le_bytes());
    out.extend(sector.to_le_bytes());
    for word in [bytes, action, 812, 8 << 20, 0] {
        out.extend(word.to_le_bytes());
    }
    out.extend(0u16.to_le_bytes());
    out.extend((data.len() as u16).to_le_bytes());
    out.extend(data);
    out
}

#[test]
fn binary_records_say_the_same_as_their_text() {
    let read = 1 << 16;
    let write = 2 << 16 | (1 << 31);
    let bytes = [
        binary(5, 0, 0, 1 << 26, b"app\0"),
        binary(10, 2048, 4096, read | 7, b""),
        binary(20, 2048, 4096, read | 8, b""),
        binary(30, 4096, 8192, write | 7, b""),
        binary(40, 0, 0, 4 << 16 | 7, b""),
    ]
    .concat();
    let (events, source_totals) = all(&bytes);
    let seen: Vec<_> = events.iter().map(|e| (e.at_ns, e.op, e.offset, e.len, e.fua)).collect();
    assert_eq!(
        seen,
        [
            (0, TraceOp::Read, 1 << 20, 4096, false),
            (20, TraceOp::Write, 2 << 20, 8192, true),
            (30, TraceOp::Flush, 0, 0, false),
        ]
    );
    assert_eq!(events[0].latency_ns, Some(10));
    assert_eq!(source_totals.processes, ["app"]);
    let cut = fault(&bytes[..bytes.len() - 5]);
    assert!(cut.starts_with("record 5: ") && cut.contains("cut off"), "{cut}");
    let mut damaged = bytes;
    damaged[100] ^= 0xff;
    damaged[101] ^= 0xff;
    damaged[102] ^= 0xff;
    assert!(fault(damaged).starts_with("record "));
}

/// Issued without end and never completed: memory stays bounded, nothing is lost.
#[test]
fn requests_without_completions_are_handed_on() {
    let mut text = String::new();
    for i in 0..150_000u64 {
        text += &format!("8,0 0 {i} {i}.000000000 1 D R {} + 8 [a]\n", i % 7);
    }
    let (events, _) = all(text);
    assert_eq!(events.len(), 150_000);
    assert!(events.is_sorted_by_key(|event| event.at_ns));
}

/// Any line of these letters is a request or is refused with its line, without a panic.
fn hostile_text(head: &'static str) -> impl Strategy<Value = String> {
    let words = "[0-9]{1,20}|[RWDFNCQ+\\[\\],.]{1,6}|read|write|wait|f|8,0|-1|1e9|\u{e9}";
    let line = proptest::collection::vec(words, 0..9).prop_map(|words| words.join(" "));
    proptest::collection::vec(line, 0..20)
        .prop_map(move |lines| format!("{head}{}\n", lines.join("\n")))
}

proptest! {
    #[test]
    fn hostile_texts_are_read_or_refused(
        text in prop_oneof![
            hostile_text("fio version 3 iolog\n"),
            hostile_text("fio version 2 iolog\n"),
            hostile_text("8,0 1 1 0.0 812 Q R 2048 + 8 [a]\n"),
            hostile_text("7,R,4096,8192,1\n"),
            hostile_text(""),
        ]
    ) {
        match imported(text.as_bytes(), &ImportOptions::default()) {
            Ok((events, _)) => prop_assert!(events.is_sorted_by_key(|event| event.at_ns)),
            Err(why) => prop_assert!(!why.contains('\n') && !why.is_empty()),
        }
    }

    #[test]
    fn hostile_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let _ = imported(&bytes, &ImportOptions::default());
        let mut binary = 0x6561_7407u32.to_le_bytes().to_vec();
        binary.extend(&bytes);
        let _ = imported(&binary, &ImportOptions::default());
    }

    /// From a trace to fio's log and back: every request, with its place; times to the microsecond.
    #[test]
    fn exported_requests_come_back(events in events()) {
        let mut writer = IologWriter::new(Vec::new(), "target").unwrap();
        let events: Vec<TraceEvent> = events
            .into_iter()
            .map(|event| match event.op {
                // fio has no such request.
                TraceOp::WriteZeroes => {
                    TraceEvent { op: TraceOp::Write, len: event.len.max(512), fua: false, ..event }
                }
                TraceOp::Flush => TraceEvent { offset: 0, len: 0, fua: false, ..event },
                _ => TraceEvent { len: event.len.max(512), fua: false, ..event },
            })
            .collect();
        events.iter().for_each(|event| writer.event(event).unwrap());
        let text = writer.finish().unwrap();
        prop_assume!(!events.is_empty());
        let (back, _) = all(&text);
        let kept = |event: &TraceEvent| (event.at_ns.max(1_000) / 1_000, event.op, event.offset, event.len);
        prop_assert_eq!(back.iter().map(kept).collect::<Vec<_>>(), events.iter().map(kept).collect::<Vec<_>>());
    }
}
