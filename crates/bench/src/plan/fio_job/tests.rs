//! Job files become suites: jobs as cells and rates, and what is refused.

use super::lines::tests::Files;
use super::*;
use drivescope_model::options::{LatencyOptions, TestKind};

fn read(text: &str) -> Result<FioSuite, String> {
    suite("jobs/ssd.fio", &Files::of(&[("jobs/ssd.fio", text)])).map_err(|error| error.to_string())
}

/// A job with these settings and the least that others need.
fn job(settings: &str) -> Result<FioSuite, String> {
    read(&format!("[global]\ndirect=1\nsize=64m\nfilename=x\n[a]\n{settings}"))
}

fn cells(asked: &FioSuite) -> Vec<String> {
    asked.suite.transfer.cells.iter().map(Cell::to_string).collect()
}

#[test]
fn jobs_of_a_drive_test_are_cells() {
    let asked = read(
        "[global]\nbs=4k\nioengine=libaio\niodepth=4\nsize=10g\ndirect=1\nruntime=60\ndirectory=/mnt\n\
         group_reporting\nnorandommap\n[seq-read]\nrw=read\nstonewall\n[rand-read]\nrw=randread\nstonewall\n\
         runtime=2m\ntime_based\n[rand-write]\nrw=randwrite\nstonewall\nnumjobs=1\niodepth=32\n",
    )
    .unwrap();
    assert_eq!(cells(&asked), ["seq4k_q4t1.read", "rnd4k_q4t1.read", "rnd4k_q32t1.write"]);
    let Suite { name, tests, rounds, size, span, offset, transfer, .. } = &asked.suite;
    assert_eq!((name.as_str(), &tests[..], *rounds), ("ssd.fio", &[TestKind::Transfer][..], 1));
    assert_eq!((*size, *span, *offset), (Bytes::gib(10), Bytes::gib(10), None));
    assert_eq!((asked.engine, asked.size), (Some(Engine::Uring), Some(Bytes::gib(10))));
    let bounds = |index: usize| {
        let CellBounds { time, ramp, io_size, .. } = transfer.bounds_of(&transfer.cells[index]);
        (time.0, ramp.0, io_size)
    };
    assert_eq!(bounds(0), (60.0, 0.0, Bytes::gib(10)));
    assert_eq!(bounds(1), (120.0, 0.0, Bytes(0)));
    assert_eq!((bounds(2), transfer.bounds.len()), (bounds(0), 1));
    assert_eq!(
        asked.notes,
        [
            "fio's jobs: seq-read is seq4k_q4t1.read, rand-read is rnd4k_q4t1.read, rand-write is \
             rnd4k_q32t1.write",
            "without effect, only for fio's own output: group_reporting",
            "without effect, drivescope does these in its own way: norandommap",
        ]
    );
}

#[test]
fn each_option_is_in_the_cell() {
    for (settings, cell) in [
        ("", "seq4k_q1t1.read"),
        ("rw=randrw\nrwmixread=70", "rnd4k_q1t1.mix70"),
        ("rw=randrw\nrwmixread=70\nrwmixwrite=60", "rnd4k_q1t1.mix40"),
        ("rw=randrw", "rnd4k_q1t1.mix50"),
        ("rw=write\nbs=4k,1m", "seq1m_q1t1.write"),
        ("rw=randwrite\nfsync=1", "rnd4k_q1t1.sync"),
        ("rw=randread\nfsync=1\niodepth=8\nioengine=io_uring", "rnd4k_q8t1.read"),
        ("rw=randread\nnumjobs=8\nbssplit=8k/100", "rnd8k_q1t8.read"),
        ("buffered=0\ndirect=1\nblocksize=128K", "seq128k_q1t1.read"),
        ("rw=randread\nbssplit=4k/60:64k/40", "rnd4k60-64k40_q1t1.read"),
        ("rw=randwrite\nbssplit=4k/100,8k/20:4k:16k:512", "rnd512b28-4k26-8k20-16k26_q1t1.write"),
        ("rw=randrw\nbssplit=64k/0:4k/30:1m", "rnd4k30-1m70_q1t1.mix50"),
        ("rw=randread\nnumjobs=2\nthinktime=1500", "rnd4k_q1t2_think1500us.read"),
        ("rw=randwrite\nfsync=1\nthinktime=10ms", "rnd4k_q1t1_think10ms.sync"),
        ("iodepth=8", "seq4k_q1t1.read"),
        ("numjobs=2\noffset_increment=64m", "seq4k_q1t2.read"),
        ("rw=write\nend_fsync=1\ntime_based\nruntime=1", "seq4k_q1t1.write"),
    ] {
        assert_eq!(cells(&job(settings).unwrap()), [cell], "{settings}");
    }
    assert_eq!(job("iodepth=8").unwrap().engine, Some(Engine::Threads));
    assert_eq!(job("loops=4").unwrap().suite.rounds, 4);
    assert_eq!(job("offset=1m").unwrap().suite.offset, Some(PartStart::At(Bytes::mib(1))));
    let whole = job("size=100%\nruntime=9").unwrap();
    assert_eq!((whole.suite.span, whole.size), (Bytes(0), None));
    let apart = job("numjobs=2\noffset_increment=64m").unwrap();
    assert_eq!(apart.suite.span, Bytes::mib(128));
    assert_eq!(apart.suite.transfer.io_size, Bytes::mib(128));
    assert_eq!(apart.suite.transfer.time, TIME_MAX);
}

#[test]
fn equal_jobs_at_the_same_time_are_threads() {
    let text = "[global]\ndirect=1\nsize=64m\nrw=randread\n[a]\n[b]\nnumjobs=3\n[c]\nstonewall\nbs=8k\nnumjobs=4\n";
    let asked = read(text).unwrap();
    assert_eq!(cells(&asked), ["rnd4k_q1t4.read", "rnd8k_q1t4.read"]);
    assert_eq!(asked.suite.span, Bytes::mib(256), "each thread has a file of its own");
    assert!(asked.notes[0].contains("a + b is rnd4k_q1t4.read"), "{:?}", asked.notes);
}

#[test]
fn rates_are_open_loops_of_latency() {
    let asked = job("rw=randread\nrate_iops=50\nrate_process=poisson\nioengine=libaio\niodepth=32")
        .unwrap();
    let LatencyOptions { rates, arrivals, time, spans_pct, .. } = &asked.suite.latency;
    assert_eq!(asked.suite.tests, [TestKind::Latency]);
    assert_eq!((&rates[..], *arrivals), (&[Rate::Iops(50.0)][..], Arrivals::Poisson));
    // 64 MiB at 50 × 4 KiB/s
    assert!((time.0 - 327.68).abs() < 1e-9 && spans_pct.is_empty());
    let two = "rw=randread\nruntime=9\ntime_based\nrate=400k\n[b]\nstonewall\nrw=randread\nrate_iops=200\nruntime=9";
    let asked = job(two).unwrap();
    assert_eq!(asked.suite.latency.rates, [Rate::Iops(100.0), Rate::Iops(200.0)]);
    assert_eq!(asked.suite.latency.time, Secs(9.0));
}

fn refuses(settings: &str, line: &str) {
    let message = job(settings).map(|asked| cells(&asked)).expect_err(settings);
    assert!(message.starts_with(line), "{settings}: {message}");
    assert!(!message.contains('\n'));
}

#[test]
fn shares_and_pauses_without_an_equal_are_refused() {
    for (settings, line) in [
        (
            "rw=randrw\nbssplit=4k/50:8k/50,4k/100",
            "jobs/ssd.fio:7: job a: bssplit=4k/50:8k/50,4k/100 has other sizes for reads",
        ),
        ("bssplit=4k/50:8k/50", "jobs/ssd.fio:5: job a: requests in order have one size"),
        ("bssplit=4k/50:8k/60", "jobs/ssd.fio:6: job a: bssplit=4k/50:8k/60 has more than 100 %"),
        ("bssplit=4k/50:4k/50", "jobs/ssd.fio:6: job a: bssplit=4k/50:4k/50 cannot be: sizes of"),
        ("bsrange=4k-8k", "jobs/ssd.fio:6: job a: bsrange=4k-8k has every size between two"),
        ("thinktime=x", "jobs/ssd.fio:6: job a: thinktime=x is not a time such as 500, in µs"),
        ("thinktime=1s", "jobs/ssd.fio:5: job a: a thread thinks for half a second at most"),
        ("thinktime=9\nthinktime_blocks=8", "jobs/ssd.fio:7: job a: thinktime_blocks=8 pauses"),
        (
            "thinktime=9\niodepth=4\nioengine=libaio",
            "jobs/ssd.fio:5: job a: a thread that thinks between requests has depth 1",
        ),
        (
            "rw=randread\nrate_iops=9\nthinktime=9",
            "jobs/ssd.fio:7: job a: rate_iops=9 has an equal only for requests of one size",
        ),
    ] {
        refuses(settings, line);
    }
}

#[test]
fn loads_without_an_equal_are_refused() {
    for (settings, line) in [
        ("direct=0", "jobs/ssd.fio:6: job a: direct=0 measures the page cache"),
        ("buffered=1", "jobs/ssd.fio:6: job a: buffered=1 measures the page cache"),
        ("rw=rw", "jobs/ssd.fio:6: job a: rw=rw reads and writes in order at two places"),
        ("rw=trim", "jobs/ssd.fio:6: job a: rw=trim has no equal here"),
        ("rw=read:8k", "jobs/ssd.fio:6: job a: rw=read:8k has no equal here"),
        (
            "rw=randrw\nbs=4k,8k",
            "jobs/ssd.fio:7: job a: bs=4k,8k has other sizes for reads than for writes",
        ),
        ("rw=randrw\nrwmixread=101", "jobs/ssd.fio:7: job a: rwmixread=101 is not a percentage"),
        ("cpuload=9\nioengine=cpuio", "jobs/ssd.fio:7: job a: ioengine=cpuio has no equal here"),
        ("ioengine=mmap", "jobs/ssd.fio:6: job a: ioengine=mmap has no equal here"),
        ("numjobs=4", "jobs/ssd.fio:6: job a: numjobs=4 moves the same bytes in each thread"),
        ("rw=randwrite\nfsync=32", "jobs/ssd.fio:7: job a: fsync=32 flushes after several writes"),
        ("rw=randwrite\nfsync=1\nnumjobs=2", "jobs/ssd.fio:7: job a: fsync=1 has an equal only"),
        (
            "rw=write\nend_fsync=1",
            "jobs/ssd.fio:7: job a: end_fsync=1 counts the last flush as time",
        ),
        ("filename=a:b", "jobs/ssd.fio:6: job a: filename=a:b names several places"),
        ("size=50%", "jobs/ssd.fio:6: job a: size=50% is a share of a target"),
        ("offset=1000", "jobs/ssd.fio:6: job a: offset=1000 has an equal only at multiples"),
        ("size=100%", "jobs/ssd.fio:5: job a: runtime has neither an end by bytes nor by time"),
        ("time_based", "jobs/ssd.fio:6: job a: time_based has neither an end by bytes nor by time"),
        ("rate_iops=50", "jobs/ssd.fio:6: job a: rate_iops=50 has an equal only for random reads"),
        ("rw=randread\nrate_iops=9\nrate_process=x", "jobs/ssd.fio:8: job a: rate_process=x is"),
        (
            "io_submit_mode=offload",
            "jobs/ssd.fio:6: job a: io_submit_mode=offload has an equal only",
        ),
        ("iodepth=0\nioengine=libaio", "jobs/ssd.fio:5: job a: a depth of 0 must lie between"),
        ("loops=0", "jobs/ssd.fio:6: job a: loops=0 must be between 1 and 1000"),
        ("[b]", "jobs/ssd.fio:6: job b runs at the same time as job a, and cells run one after"),
        ("[b]\nstonewall", "jobs/ssd.fio:6: job b is the same cell as job a, seq4k_q1t1.read;"),
        (
            "[b]\nstonewall\nsize=1g",
            "jobs/ssd.fio:8: job b: size=1g gives the job a larger or smaller",
        ),
        (
            "[b]\nstonewall\nbs=8k\nloops=2",
            "jobs/ssd.fio:9: job b: loops=2 has an equal only for a",
        ),
        (
            "filename=/dev/a\n[b]\nstonewall\nfilename=/dev/b",
            "jobs/ssd.fio:9: job b: filename=/dev/b is",
        ),
        (
            "[b]\nstonewall\nrw=randread\nrate_iops=9",
            "jobs/ssd.fio:9: job b: rate_iops=9 is another kind",
        ),
    ] {
        refuses(settings, line);
    }
    let plain = read("[a]\nsize=1g").unwrap_err();
    assert_eq!(
        plain,
        "jobs/ssd.fio:1: job a: direct=0, fio's default, measures the page cache, which cells bypass; set direct=1"
    );
    assert_eq!(read("[global]\nbs=4k").unwrap_err(), "the job file jobs/ssd.fio has no job");
}

#[test]
fn ten_thousand_lines_are_read() {
    let jobs = (1..=5_000).map(|k| format!("[j{k}]\nbs={}\n", k * 512));
    let text = "[global]\ndirect=1\nsize=1g\nstonewall\n".to_string() + &jobs.collect::<String>();
    assert_eq!(cells(&read(&text).unwrap()).len(), 5_000);
}
