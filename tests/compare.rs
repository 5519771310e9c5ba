//! `compare`: what differs between runs, what does not, and runs that cannot be compared.

use crate::support::{Scratch, few_or_all, must_have};
use std::fs;

/// Stores a run of a simulated drive as a file; returns its name for `compare`.
fn run(scratch: &Scratch, target: &str, options: &[&str], name: &str) -> String {
    let arguments = ["run", target, "--no-save", "--json", "--rounds", "5"];
    let out = scratch.drivescope(&[&arguments[..], options].concat()).code(0).stdout;
    scratch.file(name, out)
}

const LATENCY: &[&str] = &["--test", "latency", "--time", "5s"];

#[test]
fn two_drives_differ_and_one_does_not() {
    let scratch = Scratch::new();
    let slow = run(&scratch, "sim:wd10ears", LATENCY, "slow.json");
    let fast = run(&scratch, "sim:hds722020ala330", LATENCY, "fast.json");
    let other_places = [LATENCY, &["--seed", "7"]].concat();
    let again = run(&scratch, "sim:wd10ears", &other_places, "again.json");
    let shown = scratch.drivescope(&["compare", &slow, &fast]).code(0).stdout;
    assert!(shown.contains("better in") && shown.contains('▲'), "{shown}");
    let turned = scratch.drivescope(&["compare", &fast, &slow]).code(0).stdout;
    assert!(turned.contains("worse in") && turned.contains('▼'), "{turned}");
    let same = scratch.drivescope(&["compare", &slow, &again, "--band", "10%"]).code(0).stdout;
    assert!(same.contains("the same within 10 %"), "{same}");
    assert!(!same.contains('▲') && !same.contains('▼'), "{same}");
}

#[test]
fn unlike_runs_are_compared_only_when_forced() {
    let scratch = Scratch::new();
    let plain = run(&scratch, "sim:wd10ears", LATENCY, "plain.json");
    let options = [LATENCY, &["--set", "latency.block=8k"]].concat();
    let other = run(&scratch, "sim:wd10ears", &options, "other.json");
    scratch.drivescope(&["compare", &plain, &other]).refused_with(3, &["latency", "--force"]);
    scratch.drivescope(&["compare", &plain, &other, "--force"]).code(0).shows(&["! not the same"]);
}

#[test]
fn run_names_and_mistakes_are_reported() {
    let scratch = Scratch::new();
    for (target, label) in [("sim:wd10ears", "old"), ("sim:wd20ears", "new")] {
        let options = ["run", target, "--label", label, "--quiet"];
        scratch.drivescope(&[&options[..], LATENCY].concat()).code(0);
    }
    let by_label = scratch.drivescope(&["compare", "old", "new"]).code(0).stdout;
    assert!(by_label.contains("new against old"), "{by_label}");
    let by_drive = scratch.drivescope(&["compare", "WD10EARS", "WD20EARS"]).code(0).stdout;
    assert_eq!(by_label, by_drive);
    let turned = scratch.drivescope(&["compare", "new", "old"]).code(0).stdout;
    for baseline in ["new", "wd20ears", "last", "sim:wd20ears"] {
        let by_baseline = ["compare", "old", "new", "--baseline", baseline];
        assert_eq!(scratch.drivescope(&by_baseline).code(0).stdout, turned, "{baseline}");
    }
    let several = ["compare", "old", "new", "--baseline", "ears"];
    scratch.drivescope(&several).refused_with(2, &["by its id"]);
    let other = ["compare", "old", "new", "--baseline", "absent"];
    scratch.drivescope(&other).refused_with(2, &["none of the runs"]);
    scratch.drivescope(&["compare", "old", "absent"]).refused(2);
    scratch.drivescope(&["compare", "old", "new", "--band", "90"]).refused(2);
    scratch.drivescope(&["compare", "old"]).refused_with(2, &["two runs"]);
}

#[test]
fn one_drive_differs_in_few_trials() {
    // One in twenty is expected; more than the most have a probability of about 1 %.
    let (trials, most) = (few_or_all(10, 200), few_or_all(2, 17) as usize);
    let scratch = Scratch::new();
    let cells = "rnd4k_q1t1.read,rnd4k_q8t1.read,seq1m_q1t1.read";
    let measured = |seed: u64| {
        let seed = seed.to_string();
        let options = ["--test", "transfer", "--cells", cells, "--time", "500ms", "--seed", &seed];
        run(&scratch, "sim:wd40efrx", &options, &format!("{seed}.json"))
    };
    let differs = |trial: u64| {
        let (a, b) = (measured(2 * trial), measured(2 * trial + 1));
        let shown = scratch.drivescope(&["compare", &a, &b, "--band", "0"]).code(0).stdout;
        shown.contains('▲') || shown.contains('▼')
    };
    // Two at a time: nothing here takes real time.
    let half = |first: u64| (first..trials).step_by(2).filter(|&trial| differs(trial)).count();
    let false_ones = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        half(0) + other.join().expect("its trials do not panic")
    });
    assert!(false_ones <= most, "{false_ones} of {trials}");
}

#[test]
fn interleaved_comparison_separates_two_drives_only() {
    let scratch = Scratch::new();
    let interleaved = |a: &str, b: &str| {
        let cells = "rnd4k_q1t1.read,seq1m_q8t1.read";
        scratch.drivescope(&["compare", "--ab", a, b, "--cells", cells]).code(0).stdout
    };
    let shown = interleaved("sim:wd10ears", "sim:samsung-860evo-250");
    must_have(&shown, &["better in reads in order", "in random order"]);
    let same = interleaved("sim:wd10ears", "sim:wd10ears");
    assert!(!same.contains('▲') && !same.contains('▼'), "{same}");
    let arguments = ["compare", "--ab", "sim:samsung-860evo-250", "sim:wd10ears", "--json"];
    let worse = scratch.drivescope(&[&arguments[..], &["--fail-on=worse"]].concat()).code(1).json();
    assert!(worse["interleaved_rounds"].as_u64() > Some(1), "{worse}");
}

#[test]
fn interleaved_directory_settings_are_compared_without_remains() {
    let scratch = Scratch::new();
    let here = scratch.text("");
    let options = ["--cells", "rnd4k_q1t1.read", "--size", "16MiB", "--time", "10ms"];
    let settings = ["--set-a", "engine=uring", "--set-b", "engine=threads", "--max-time", "1s"];
    let arguments = [&["compare", "--ab", &here][..], &options, &settings].concat();
    scratch.drivescope(&arguments).code(0).shows(&["engine=threads against engine=uring"]);
    let left = fs::read_dir(&here).expect("it is there").flatten();
    let left: Vec<_> =
        left.filter(|entry| entry.file_name().to_string_lossy().contains("drivescope")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn interleaved_mistakes_are_reported() {
    let scratch = Scratch::new();
    scratch.drivescope(&["compare", "--ab", "sim:wd10ears"]).refused_with(2, &["--set-a"]);
    let engine = ["compare", "--ab", ".", "--set-a", "engine=psync"];
    scratch.drivescope(&engine).refused_with(2, &["uring or threads"]);
    scratch.drivescope(&["compare", "--ab", "sim:wd10ears", "sim:absent"]).refused(2);
    scratch.drivescope(&["compare", "a", "b", "--max-time", "1s"]).refused(2);
}

const TWO_CELLS: &[&str] =
    &["--test", "transfer", "--cells", "seq1m_q8t1.read,rnd4k_q1t1.read", "--time", "1s"];

#[test]
fn thresholds_decide_the_exit_code() {
    let scratch = Scratch::new();
    let seeded = |target: &str, seed: &str, name: &str| {
        run(&scratch, target, &[TWO_CELLS, &["--seed", seed]].concat(), name)
    };
    let base = seeded("sim:wd40efrx", "1", "base.json");
    let slow = seeded("sim:wd40efrx?fault=slow-link", "2", "slow.json");
    let same = seeded("sim:wd40efrx", "7", "same.json");
    let failed = "FAILED transfer.seq1m_q8t1.read.mb_s";
    for (new, rules, code) in [
        (&slow, &["--fail-below=transfer.*.mb_s=-10%"][..], 1),
        (&slow, &["--fail-below=transfer.*.iops=-10%", "--fail-below", "*seq1m*=-40%"], 0),
        (&slow, &["--fail-below=*rnd4k*.iops=-50%", "--fail-on=worse"], 1),
        (&same, &["--fail-below=*.mb_s=-30%", "--fail-on=worse"], 0),
    ] {
        let arguments = [&["compare", &base, new][..], rules].concat();
        let shown = scratch.drivescope(&arguments).code(code).stdout;
        assert_eq!(shown.contains(failed), code == 1, "{shown}");
        must_have(&shown, &["Thresholds: ", " kept"]);
    }
    let ended = scratch.drivescope(&["compare", &base, &slow, "--json", "--fail-on", "worse"]);
    let ended = ended.code(1);
    assert!(ended.stderr.starts_with(failed), "{ended}");
    let document = ended.json();
    assert_eq!(document["comparison_format"], 1);
    assert_eq!(document["rows"][0]["against_first"][0]["outcome"], "worse");
    assert_eq!(document["thresholds"]["failed"][0]["key"], "transfer.seq1m_q8t1.read.mb_s");
    let ended = scratch.drivescope(&["compare", &base, &same, "--json"]).code(0);
    assert!(ended.json().get("thresholds").is_none() && ended.stderr.is_empty(), "{ended}");
}

#[test]
fn threshold_without_its_metric_does_not_pass() {
    let scratch = Scratch::new();
    let base = run(&scratch, "sim:wd40efrx", TWO_CELLS, "base.json");
    let text = fs::read_to_string(&base).expect("it was written");
    let mut without: serde_json::Value = serde_json::from_str(&text).expect("it is a document");
    let metrics = without["tests"][0]["metrics"].as_array_mut().expect("it has metrics");
    metrics.retain(|metric| metric["key"] != "transfer.seq1m_q8t1.read.mb_s");
    let without = scratch.file("without.json", without.to_string());
    for rule in ["--fail-below=*.mb_s=-10%", "--fail-on=worse"] {
        let shown = scratch.drivescope(&["compare", &base, &without, rule]).code(1).stdout;
        must_have(&shown, &["not checked: ", "not measured", "0 of "]);
    }
    let other = "--fail-below=*.iops=-50%";
    scratch.drivescope(&["compare", &base, &without, other]).code(0);
    let none = ["compare", &base, &base, other, "--fail-below=transfer.*.write.iops=-10%"];
    scratch.drivescope(&none).refused_with(2, &["'transfer.*.write.iops'"]);
    let no_share = ["compare", &base, &base, "--fail-below=transfer.*.iops"];
    scratch.drivescope(&no_share).refused_with(2, &["'transfer.*.iops=-10%'"]);
}

#[test]
fn model_beside_a_run_is_measured_alike() {
    let scratch = Scratch::new();
    let slow = run(&scratch, "sim:wd10ears", LATENCY, "slow.json");
    let shown = scratch.drivescope(&["compare", &slow, "sim:hds722020ala330"]).code(0).stdout;
    assert!(shown.contains("better in") && !shown.contains("not the same"), "{shown}");
    scratch.drivescope(&["compare", &slow, "sim:absent"]).refused(2);
    scratch.drivescope(&["compare", "sim:wd10ears", "sim:wd20ears"]).refused(2);
}

#[test]
fn fio_result_is_compared_only_when_forced() {
    fn job(name: &str, group: u32, iops: u32) -> String {
        format!(
            r#"{{"jobname": "{name}", "groupid": {group}, "job_runtime": 1000,
                "job options": {{"rw": "randread", "bs": "4k", "iodepth": "1"}},
                "read": {{"total_ios": 100, "bw_bytes": {}, "iops": {iops},
                    "lat_ns": {{"mean": 12000000.0, "max": 30000000}}}}}}"#,
            iops * 4096
        )
    }
    let scratch = Scratch::new();
    let text = format!(
        r#"{{"fio version": "fio-3.33", "timestamp_ms": 1795528240563,
"global options": {{"direct": "1", "ioengine": "libaio", "filename": "/dev/sdx"}}, "jobs": [{}, {}]}}"#,
        job("a", 0, 60),
        job("b", 1, 62)
    );
    let of_fio = scratch.file("fio.json", text);
    let options = ["--test", "transfer", "--cells", "rnd4k_q1t1.read", "--time", "1s"];
    let ours = run(&scratch, "sim:samsung-860evo-250", &options, "ours.json");
    scratch.drivescope(&["compare", &of_fio, &ours]).refused_with(3, &["fio 3.33"]);
    let shown = scratch.drivescope(&["compare", &of_fio, &ours, "--force"]).code(0).stdout;
    assert!(shown.contains("random reads, Q1") && shown.contains("! not the same program"));
    for _ in 0..2 {
        scratch.drivescope(&["import", &of_fio]).code(0);
    }
    let stored = scratch.drivescope(&["runs", "--json"]).code(0).json();
    assert_eq!(stored.as_array().map(Vec::len), Some(1));
    scratch.drivescope(&["show", "last"]).code(0).shows(&["fio 3.33", "rnd4k_q1t1"]);
}
