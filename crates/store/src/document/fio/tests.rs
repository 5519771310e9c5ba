use super::super::from_file;
use super::*;
use serde_json::json;

fn imported(text: &str) -> Vec<Run> {
    from_file(text).unwrap_or_else(|error| panic!("{error}"))
}

fn only(text: &str) -> Run {
    let runs = imported(text);
    assert_eq!(runs.len(), 1);
    runs.into_iter().next().unwrap()
}

fn refused(text: &str) -> String {
    from_file(text).unwrap_err().to_string()
}

#[track_caller]
fn has(run: &Run, key: &str, value: f64) {
    let found = run.metric(&format!("transfer.{key}")).unwrap_or_else(|| panic!("no {key}")).value;
    assert!((found / value - 1.0).abs() < 1e-9, "{key} is {found}, not {value}");
}

fn reason(run: &Run) -> &str {
    run.tests[0].reason.as_deref().unwrap_or_default()
}

#[test]
fn messages_around_and_within_the_document_are_skipped() {
    let before = include_str!("../../../fixtures/fio_messages_before.json");
    let within = before.replace("\n \"jobs\"", "\nfio: pid=1, got signal=2\n \"jobs\"");
    for text in [before, &within, include_str!("../../../fixtures/fio_normal_and_json.txt")] {
        let run = only(text);
        has(&run, "rnd4k_q4t1.read.mb_s", 40.96);
        has(&run, "rnd4k_q4t1.read.iops", 10_000.0);
    }
    let cut = &before[..before.len() - 20];
    assert!(refused(cut).contains("breaks off"), "{}", refused(cut));
}

#[test]
fn job_error_is_noted_beside_its_figures() {
    for (text, error) in [
        (include_str!("../../../fixtures/fio_messages_before.json"), "r ended with error 5 (Input"),
        (include_str!("../../../fixtures/fio_job_error.json"), "m ended with error 5 (Input"),
    ] {
        let run = only(text);
        assert_eq!((run.status, run.tests[0].status), (TestStatus::Failed, TestStatus::Failed));
        assert!(reason(&run).starts_with(error), "{}", reason(&run));
        assert!(!run.tests[0].metrics.is_empty());
    }
}

#[test]
fn of_the_documents_of_one_call_the_last_counts() {
    let text = include_str!("../../../fixtures/fio_status_interval.json");
    let run = only(text);
    has(&run, "rnd4k_q4t1.read.mb_s", 45.056);
    has(&run, "rnd4k_q4t1.read.iops", 11_000.0);
    // Two calls, one after the other: the second began when the first had ended.
    let two = text.replace("1780000001000", "1780000011000");
    let runs = imported(&two);
    assert_eq!(runs.len(), 2);
    assert_ne!(runs[0].id, runs[1].id);
    let array = format!("[{}]", two.trim().replace("\n}\n{", "\n}, {"));
    assert_eq!(imported(&array), runs);
}

#[test]
fn client_host_is_named_and_sum_left_out() {
    let text = include_str!("../../../fixtures/fio_client_server.json");
    let run = only(text);
    has(&run, "rnd4k_q4t1.read.mb_s", 40.96);
    has(&run, "rnd4k_q4t1.read.iops", 10_000.0);
    assert_eq!(run.host.name, "host-a");
    let mut two: Value = serde_json::from_str(text).unwrap();
    let mut other = two["client_stats"][0].clone();
    other["hostname"] = json!("host-b");
    let mut sum = other.clone();
    sum["jobname"] = json!("All clients");
    two["client_stats"].as_array_mut().unwrap().extend([other, sum]);
    let hosts: Vec<String> =
        imported(&two.to_string()).into_iter().map(|run| run.host.name).collect();
    assert_eq!(hosts, ["host-a", "host-b"], "two machines have two drives");
}

#[test]
fn fio_2_has_kibibytes_microseconds_and_seconds() {
    let text = include_str!("../../../fixtures/fio_2.json");
    let run = only(text);
    has(&run, "rnd4k_q4t1.read.mb_s", 40.96);
    has(&run, "rnd4k_q4t1.read.lat_mean_us", 133.0);
    has(&run, "rnd4k_q4t1.read.lat_p99_us", 400.0);
    assert_eq!((run.started_at.as_str(), run.elapsed_s), ("2017-07-14T02:40:00Z", 10.0));
    let bare: Value = serde_json::from_str(text).unwrap();
    let mut bare = bare;
    bare.as_object_mut().unwrap().remove("global options");
    bare["jobs"][0].as_object_mut().unwrap().remove("job options");
    let why = refused(&bare.to_string());
    assert!(why.contains("does not have its options"), "{why}");
}

#[test]
fn sizes_follow_kb_base_as_fio_reads_them() {
    let text = include_str!("../../../fixtures/fio_block_in_kb.json");
    has(&only(text), "seq1m_q4t1.read.mb_s", 524.288);
    let si = text.replace("\"direct\"", "\"kb_base\": \"1000\", \"direct\"");
    has(&only(&si), "seq1000k_q4t1.read.mb_s", 524.288);
    has(&only(&si.replace("1024kb", "1024kib")), "seq1m_q4t1.read.mb_s", 524.288);
}

#[test]
fn jobs_without_drive_are_left_out_and_named() {
    for (text, why) in [
        (
            include_str!("../../../fixtures/fio_null_engine.json"),
            "n: no drive was measured (ioengine=null)",
        ),
        (include_str!("../../../fixtures/fio_zipf.json"), "z: random_distribution=zipf:1.2"),
    ] {
        assert!(refused(text).contains(why), "{}", refused(text));
    }
}

#[test]
fn several_files_in_one_figure_are_named() {
    let run = only(include_str!("../../../fixtures/fio_two_devices_in_one_job.json"));
    let note = run.note.as_deref().unwrap_or_default();
    assert!(
        note.contains("2 files in one figure") && note.ends_with("/dev/sdx, /dev/sdy"),
        "{note}"
    );
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let text = include_str!("../../../fixtures/fio_byte_order_mark.json");
    assert!(text.starts_with('\u{feff}'));
    has(&only(text), "rnd4k_q4t1.read.mb_s", 40.96);
}

fn job(name: &str, group: u32, options: &Value, side: &str, iops: f64) -> Value {
    json!({
        "jobname": name, "groupid": group, "job_runtime": 1000, "job options": options,
        side: {"total_ios": 1000, "bw_bytes": iops * 4096.0, "iops": iops, "runtime": 1000,
            "lat_ns": {"mean": 100_000.0, "max": 900_000},
            "clat_ns": {"mean": 95_000.0, "percentile": {"50.000000": 90_000, "99.000000": 400_000}}},
    })
}

fn document(jobs: &[Value]) -> String {
    let global = json!({"direct": "1", "ioengine": "io_uring", "bs": "4k", "filename": "/dev/sdx"});
    json!({"fio version": "fio-3.33", "timestamp_ms": 1_795_528_240_563_i64,
        "global options": global, "jobs": jobs})
    .to_string()
}

fn values(run: &Run, key: &str) -> Option<(f64, Vec<f64>)> {
    run.metric(key).map(|metric| (metric.value, metric.rounds.clone()))
}

#[test]
fn later_groups_are_rounds_and_one_group_threads() {
    let deep = json!({"rw": "randread", "iodepth": "32"});
    let both = json!({"rw": "randwrite"});
    let run = only(&document(&[
        job("a", 0, &deep, "read", 100.0),
        job("b", 1, &deep, "read", 120.0),
        job("c", 2, &both, "write", 10.0),
        job("c", 2, &both, "write", 11.0),
        job("d", 2, &both, "write", 9.0),
    ]));
    let read = values(&run, "transfer.rnd4k_q32t1.read.iops");
    assert_eq!(read, Some((110.0, vec![100.0, 120.0])));
    let p99 = values(&run, "transfer.rnd4k_q32t1.read.lat_p99_us");
    assert_eq!(p99, Some((400.0, vec![400.0, 400.0])));
    let written = values(&run, "transfer.rnd4k_q1t3.write.iops");
    assert_eq!(written, Some((30.0, vec![30.0])));
    assert!(values(&run, "transfer.rnd4k_q1t3.write.lat_p99_us").is_none());
    assert_eq!(run.elapsed_s, 3.0);
    let began = (run.tool.version.as_str(), run.started_at.get(..10));
    assert_eq!(began, ("3.33", Some("2026-11-24")));
    assert!(crate::document::check(&run).is_ok());
}

#[test]
fn jobs_that_disturbed_each_other_are_left_out() {
    let (read, write) = (json!({"rw": "randread"}), json!({"rw": "randwrite"}));
    let cached = json!({"rw": "write", "direct": "0"});
    for other in [job("w", 0, &write, "write", 1.0), job("w", 0, &cached, "write", 1.0)] {
        let jobs = [job("r", 0, &read, "read", 1.0), other, job("later", 1, &read, "read", 5.0)];
        let run = only(&document(&jobs));
        has(&run, "rnd4k_q1t1.read.iops", 5.0);
        assert!(
            reason(&run).contains("r: at the same time as w (no stonewall"),
            "{}",
            reason(&run)
        );
    }
}

#[test]
fn other_files_are_other_runs() {
    fn on(path: &str) -> Value {
        json!({"rw": "randread", "filename": path})
    }
    let jobs = [
        job("x", 0, &on("/dev/sdx"), "read", 1.0),
        job("y", 0, &on("/dev/sdy"), "read", 2.0),
        job("x2", 1, &on("/dev/sdx"), "read", 3.0),
    ];
    let runs = imported(&document(&jobs));
    let [x, y] = &runs[..] else { panic!("two runs: {runs:?}") };
    assert_eq!((x.target.path.as_str(), y.target.path.as_str()), ("/dev/sdx", "/dev/sdy"));
    let rounds = values(x, "transfer.rnd4k_q1t1.read.iops");
    assert_eq!(rounds, Some((2.0, vec![1.0, 3.0])));
    has(y, "rnd4k_q1t1.read.iops", 2.0);
    assert_eq!(y.note.as_deref(), Some("measured while x ran on /dev/sdx"));
    assert_ne!(x.id, y.id);
}

#[test]
fn grouped_fio_jobs_are_counted_or_left_out() {
    let four = json!({"rw": "randread", "numjobs": "4"});
    let mut one = job("a", 0, &four, "read", 100.0);
    one["job_runtime"] = json!(4000);
    let run = only(&document(std::slice::from_ref(&one)));
    assert!(run.metric("transfer.rnd4k_q1t4.read.iops").is_some());
    one["job_runtime"] = json!(5000);
    let why = refused(&document(&[one]));
    assert!(why.contains("several jobs in one figure (group_reporting)"), "{why}");
}

#[test]
fn differing_rows_are_left_out_and_named() {
    let cached = json!({"rw": "randread", "direct": "0"});
    let synced = json!({"rw": "write", "fsync": "1"});
    let mixed = json!({"rw": "randrw"});
    let jobs = [
        job("cached", 0, &cached, "read", 1.0),
        job("synced", 1, &synced, "write", 1.0),
        job("mixed", 2, &mixed, "read", 1.0),
    ];
    let error = refused(&document(&jobs));
    for part in ["cached: through the page cache", "synced: fsync=1", "mixed: rw=randrw"] {
        assert!(error.contains(part), "{error}");
    }
    let some = [job("plain", 3, &json!({"rw": "read"}), "read", 1.0), jobs[0].clone()];
    let run = only(&document(&some));
    assert!(reason(&run).starts_with("cached"), "{}", reason(&run));
}

#[test]
fn times_that_were_not_taken_are_absent() {
    let mut untimed = job("a", 0, &json!({"rw": "read"}), "read", 100.0);
    untimed["read"]["lat_ns"] = json!({"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0});
    untimed["read"]["clat_ns"] = untimed["read"]["lat_ns"].clone();
    let run = only(&document(&[untimed]));
    let keys: Vec<&str> = run.tests[0].metrics.iter().map(|it| it.key.as_str()).collect();
    assert_eq!(keys, ["transfer.seq4k_q1t1.read.iops", "transfer.seq4k_q1t1.read.mb_s"]);
}

#[test]
fn a_depth_without_an_engine_that_queues_is_one() {
    for engine in ["psync", "pvsync2"] {
        let options = json!({"rw": "randread", "iodepth": "32", "ioengine": engine});
        let run = only(&document(&[job("a", 0, &options, "read", 100.0)]));
        assert!(run.metric("transfer.rnd4k_q1t1.read.iops").is_some());
    }
}

#[test]
fn control_characters_of_a_result_do_not_come_along() {
    let options = json!({"rw": "randread", "filename": "/mnt/a\u{1b}[31mb"});
    let run = only(&document(&[job("a", 0, &options, "read", 100.0)]));
    assert_eq!(run.target.path, "/mnt/a\u{fffd}[31mb");
}
