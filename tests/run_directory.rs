//! `run` on a directory: the document, and that nothing of the user's is touched.

use crate::support::json::{
    array, finding, findings, keys, metric, metrics, noticed_other_io, statuses, test_of, text,
};
use crate::support::scratch::{listing, names};
use crate::support::{ONE_CELL, Scratch, TINY};
use drivescope_model::document::FORMAT;
use drivescope_model::metrics::quantity_of;
use serde_json::{Value, json};
use std::fs;

const THREE_ROUNDS: &[&str] = &["--rounds=3", "--json"];

#[test]
fn document_has_the_fields_for_scripts() {
    let scratch = Scratch::new();
    let options = ["--label=first disk", "--price=105USD", "--seed=42"];
    let ended = scratch.run("target", &[TINY, THREE_ROUNDS, &options]).code(0);
    assert_eq!(ended.stderr, "", "{ended}");
    let run = ended.json();
    assert_eq!(run["format"], FORMAT);
    let id = text(&run["id"]);
    assert!(id.len() == 12 && id.chars().all(|c| c.is_ascii_hexdigit()), "{id}");
    assert_eq!(run["tool"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&run["status"], &run["label"]), (&json!("done"), &json!("first disk")));
    assert_eq!(run["price"], json!({"amount": 105.0, "currency": "USD"}));
    assert_eq!(run["simulated"], false);
    assert_eq!(run["target"]["path"], scratch.target());
    assert_eq!(run["target"]["kind"], "directory");
    assert!(run["target"]["io_mode"].is_string(), "{}", run["target"]);
    assert!(run["host"]["kernel"].is_string() && run["host"]["cpus"].as_u64() > Some(0));
    assert!(run["calibration"]["loop_ns_per_io"].as_f64() > Some(0.0), "{}", run["calibration"]);
    assert_eq!(run["plan"]["seed"], 42);
    for check in array(&run["gate"]) {
        assert_eq!(check["passed"], true, "{check}");
    }
    for key in ["drive", "findings", "verdict"] {
        assert!(run.get(key).is_some(), "{key} is missing");
    }
    for verdict in array(&run["verdict"]) {
        assert!(verdict["points"].is_null() || verdict["points"].as_u64() <= Some(3), "{verdict}");
        assert!(!text(&verdict["because"]).is_empty());
    }
    assert!(is_rfc3339(text(&run["started_at"])), "{}", run["started_at"]);
}

/// `2026-01-31T12:00:00.123456+01:00`.
fn is_rfc3339(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    ["+00:00", "-00:00"].iter().any(|zone| shape == format!("0000-00-00T00:00:00.000000{zone}"))
}

#[test]
fn every_number_is_documented_and_within_its_interval() {
    let scratch = Scratch::new();
    // Long enough for a request in each round of a busy machine.
    let latency = &["--set=latency.time=200ms"][..];
    let run = scratch.run("target", &[TINY, THREE_ROUNDS, latency]).code(0).json();
    assert_eq!(
        statuses(&run),
        [
            ("latency", "done"),
            ("transfer", "done"),
            ("surface", "skipped"),
            ("tiny-writes", "done")
        ]
    );
    assert!(text(&test_of(&run, "surface")["reason"]).contains("block device"));
    for metric in metrics(&run) {
        let key = text(&metric["key"]);
        let quantity = quantity_of(key).unwrap_or_else(|| panic!("{key} is not documented"));
        assert_eq!(metric["unit"], quantity.unit, "{key}");
        let number = |name: &str| metric[name].as_f64().unwrap_or(f64::NAN);
        let (low, value, high) = (number("low"), number("value"), number("high"));
        assert!(low <= value && value <= high, "{metric}");
        assert!(value.is_finite() && value >= 0.0, "{metric}");
        for round in array(&metric["rounds"]) {
            assert!(round.as_f64().is_some_and(f64::is_finite), "{metric}");
        }
        assert!(metric["valid"].is_boolean(), "{metric}");
    }
    let rounds_of =
        |key: &str| array(&metric(&run, key).unwrap_or_else(|| panic!("no {key}"))["rounds"]).len();
    // No percentiles: a round of 10 ms may have too few requests for them, and then they are of all rounds.
    for key in [
        "transfer.seq1m_q8t1.read.mb_s",
        "transfer.rnd4k_q1t1.write.iops",
        "transfer.rnd4k_q32t1.read.lat_max_us",
        "transfer.rnd4k_q1t1.read.cpu_user_ns_per_io",
        "transfer.rnd4k_q1t1.read.cpu_sys_ns_per_io",
        "latency.span100.lat_max_us",
        "latency.span12_5.lat_max_us",
        "latency.span1.lat_max_us",
        "latency.poisson_50pct.offered_iops",
        "tiny-writes.rnd16_sync.iops",
    ] {
        assert_eq!(rounds_of(key), 3, "{key}");
    }
    let mut unique = keys(&run);
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), keys(&run).len(), "a key is used twice");
}

#[test]
fn percentiles_rise_and_every_phase_names_its_limiter() {
    let scratch = Scratch::new();
    let run = scratch.run("target", &[TINY, THREE_ROUNDS]).code(0).json();
    let mut cells = 0;
    for test in array(&run["tests"]) {
        for phase in array(&test["phases"]) {
            assert!(phase["limiter"].is_string() && phase["errors"] == 0, "{phase}");
            let (ops, bytes) = (phase["ops"].as_u64(), phase["bytes"].as_u64());
            // On a busy machine no request may be due within 10 ms.
            let is_empty = ops == Some(0) && phase["limiter"] == "schedule";
            assert!((ops > Some(0) || is_empty) && bytes >= ops, "{phase}");
            let elapsed = phase["elapsed_s"].as_f64();
            assert!(elapsed > Some(0.0) && elapsed <= run["elapsed_s"].as_f64(), "{phase}");
        }
        for first in array(&test["metrics"]).iter().filter(|m| ends_with(m, ".lat_p50_us")) {
            cells += 1;
            let cell = text(&first["key"]).trim_end_matches("lat_p50_us");
            let value = |name: &str| metric(&run, &format!("{cell}{name}"))?["value"].as_f64();
            let rising = ["lat_p50_us", "lat_p90_us", "lat_p99_us", "lat_p99_9_us", "lat_max_us"];
            let values: Vec<f64> = rising.into_iter().filter_map(value).collect();
            assert!(values.is_sorted(), "{cell}: {values:?}");
            // A percentile is there if the rounds have requests enough to hold it, and not otherwise; but one fast
            // round of several may not outweigh the others.
            let key = cell.trim_end_matches('.');
            let all = array(&test["distributions"]).iter();
            let count = all.filter(|d| d["key"] == key).find_map(|d| d["count"].as_u64()).unwrap();
            let phases = array(&test["phases"]).iter();
            let of_cell = phases.filter(|phase| key.ends_with(text(&phase["cell"])));
            let ops: Vec<u64> = of_cell.filter_map(|phase| phase["ops"].as_u64()).collect();
            let is_uneven = ops.iter().max() > ops.iter().map(|ops| ops * 2).min().as_ref();
            for (name, needed) in [("lat_p90_us", 10), ("lat_p99_us", 100), ("lat_p99_9_us", 1_000)]
            {
                let is_left_out = is_uneven && value(name).is_none();
                assert!(
                    is_left_out || value(name).is_some() == (count >= needed),
                    "{cell}{name} of {count}"
                );
            }
        }
        for distribution in array(&test["distributions"]) {
            assert!(distribution["count"].as_u64() > Some(0), "{}", distribution["key"]);
            assert_eq!(distribution["encoding"], "hdr-v2-deflate-base64");
        }
        for series in array(&test["series"]) {
            assert_eq!(array(&series["x"]).len(), array(&series["y"]).len(), "{}", series["key"]);
        }
    }
    assert!(cells >= 12, "only {cells} cells have latencies");
}

fn ends_with(metric: &Value, end: &str) -> bool {
    text(&metric["key"]).ends_with(end)
}

#[test]
fn findings_explain_themselves() {
    let scratch = Scratch::new();
    let run = scratch.run("target", &[TINY, ONE_CELL, &["--json"]]).code(0).json();
    // One round, 16 MiB: two things that are always noticed.
    assert_eq!(finding(&run, "F013")["name"], "few-rounds");
    let small = finding(&run, "F012");
    assert_eq!(small["severity"], "warning");
    assert!(array(&small["metrics"]).contains(&json!("transfer.rnd4k_q1t1.read")), "{small}");
    for found in array(&run["findings"]) {
        for part in ["evidence", "cause", "remedy"] {
            assert!(!text(&found[part]).is_empty(), "{found}");
        }
    }
    let mut ids = findings(&run);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), findings(&run).len(), "a finding is listed twice");
}

#[test]
fn invalid_metric_is_marked_by_a_finding() {
    let scratch = Scratch::new();
    let run = scratch.run("target", &[TINY, &["--json"]]).code(0).json();
    for metric in metrics(&run) {
        let because = metric["invalid_because"].as_array().map_or(&[][..], Vec::as_slice);
        assert_eq!(metric["valid"], because.is_empty(), "{metric}");
        for id in because {
            assert_eq!(finding(&run, text(id))["severity"], "invalid");
        }
    }
}

#[test]
fn a_run_leaves_the_directory_as_it_was() {
    let scratch = Scratch::new();
    let notes = scratch.file("target/notes.txt", "mine");
    fs::create_dir(scratch.path("target/.drivescope")).unwrap();
    let before = listing(scratch.target());
    scratch.run("target", &[TINY]).code(0);
    let after = listing(scratch.target());
    assert_eq!(names(scratch.target()), [".drivescope", "notes.txt"]);
    assert_eq!(fs::read_to_string(notes).unwrap(), "mine");
    // A folder was made and removed within; nothing else may have changed.
    assert_eq!(
        format!("{after:?}").split("entries").nth(1),
        format!("{before:?}").split("entries").nth(1)
    );
    assert_eq!(names(scratch.path("")), ["home", "target"], "something was written elsewhere");
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let scratch = Scratch::new();
    scratch.file("target/notes.txt", "mine");
    let before = (listing(scratch.target()), listing(scratch.path("home")));
    let ended = scratch.run("target", &[&["--dry-run", "--seed=7"]]).code(0);
    let json = scratch.run("target", &[&["--dry-run", "--seed=7", "--json"]]).code(0);
    assert_eq!((listing(scratch.target()), listing(scratch.path("home"))), before);
    ended.shows(&["transfer", "latency", "tiny-writes", "total", "seed 7", "only to", "reads"]);
    let plan = json.json();
    let folder = format!("{}/.drivescope-…", scratch.target());
    assert_eq!(plan["own_folder"], folder);
    assert!(ended.stdout.contains(&folder), "{ended}");
    for test in array(&plan["tests"]).iter().filter(|test| test.get("skip").is_none()) {
        assert_eq!(test["writes"], "own-files");
        assert!(test["cost"]["seconds"].as_f64() > Some(0.0), "{test}");
        assert!(test["cost"]["read_bytes"].as_u64() > Some(0), "{test}");
    }
    // The test file itself is charged to the first test.
    assert!(plan["tests"][0]["cost"]["written_bytes"].as_u64() >= plan["own_bytes"].as_u64());
}

#[test]
fn the_same_seed_gives_the_same_plan() {
    let scratch = Scratch::new();
    let plan = |seed: &[&str]| {
        scratch.run("target", &[TINY, &["--dry-run", "--json"], seed]).code(0).json()
    };
    assert_eq!(plan(&["--seed=7"]), plan(&["--seed=7"]));
    let mut other = plan(&["--seed=8"]);
    assert_eq!(other["seed"], 8);
    other["seed"] = json!(7);
    assert_eq!(other, plan(&["--seed=7"]), "a seed changes only itself");
    assert_ne!(plan(&[])["seed"], plan(&[])["seed"], "without --seed each run draws its own");
    let run = scratch.run("target", &[TINY, ONE_CELL, &["--json", "--seed=7"]]).code(0).json();
    assert_eq!(run["plan"]["suite"]["size"], plan(&["--seed=7"])["suite"]["size"]);
    assert_eq!(run["plan"]["seed"], 7);
}

#[test]
fn setting_of_one_test_overrides_the_common_one() {
    let scratch = Scratch::new();
    let options = ["--time=5s", "--set=latency.time=1s", "--dry-run", "--json"];
    let plan = scratch.run("target", &[&options]).code(0).json();
    assert_eq!(plan["suite"]["transfer"]["time"], json!(5.0));
    assert_eq!(plan["suite"]["latency"]["time"], json!(1.0));
}

#[test]
fn the_largest_seed_survives() {
    let scratch = Scratch::new();
    let seed = u64::MAX.to_string();
    let run = scratch.run("target", &[TINY, ONE_CELL, &["--json", "--seed", &seed]]).code(0).json();
    assert_eq!(run["plan"]["seed"], u64::MAX);
    let shown = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    assert_eq!(shown["plan"]["seed"], u64::MAX);
}

#[test]
fn test_and_cells_narrow_a_run() {
    let scratch = Scratch::new();
    let cells = "--cells=rnd4k_q1t1.read,seq1m_q8t1.write";
    let run = scratch.run("target", &[TINY, &["--test=transfer", cells, "--json"]]).code(0).json();
    assert_eq!(statuses(&run), [("transfer", "done")]);
    let mut measured: Vec<String> = keys(&run);
    measured.iter_mut().for_each(|key| key.truncate(key.rfind('.').unwrap()));
    measured.dedup();
    measured.sort();
    assert_eq!(measured, ["transfer.rnd4k_q1t1.read", "transfer.seq1m_q8t1.write"]);
    // Tests run in the order asked; a cell without direction has both.
    let options = ["--test=latency,transfer", "--cells=rnd4k_q2t1", "--json"];
    let run = scratch.run("target", &[TINY, &options]).code(0).json();
    assert_eq!(statuses(&run), [("latency", "done"), ("transfer", "done")]);
    for key in ["transfer.rnd4k_q2t1.read.iops", "transfer.rnd4k_q2t1.write.iops"] {
        assert!(metric(&run, key).is_some(), "no {key}");
    }
}

#[test]
fn mixed_cells_and_several_threads_run() {
    let scratch = Scratch::new();
    let options = ["--test=transfer", "--cells=rnd4k_q4t2.mix70,rnd64k_q1t2.read", "--json"];
    let run = scratch.run("target", &[TINY, &options]).code(0).json();
    for key in ["transfer.rnd4k_q4t2.mix70.iops", "transfer.rnd64k_q1t2.read.mb_s"] {
        assert!(metric(&run, key).is_some(), "no {key}");
    }
}

#[test]
fn open_loops_run_at_the_asked_rates() {
    let scratch = Scratch::new();
    let options = [
        "--test=latency",
        "--set=latency.rates=[100]",
        "--set=latency.arrivals=fixed",
        "--set=latency.time=200ms",
        "--json",
    ];
    let run = scratch.run("target", &[TINY, &options]).code(0).json();
    let offered = metrics(&run).find(|metric| ends_with(metric, ".offered_iops"));
    assert_eq!(offered.unwrap()["value"], 100.0);
}

#[test]
fn two_targets_give_two_documents_in_order() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("second")).unwrap();
    let options = [TINY, ONE_CELL, &["target", "--json"]];
    let runs = scratch.run("second", &options).code(0).documents();
    let paths: Vec<&str> = runs.iter().map(|run| text(&run["target"]["path"])).collect();
    assert_eq!(paths, [scratch.text("second"), scratch.target()]);
    assert_ne!(runs[0]["id"], runs[1]["id"]);
    assert_eq!(runs[0]["plan"]["seed"], runs[1]["plan"]["seed"]);
    let kept = scratch.drivescope(&["runs", "--json"]).code(0).json();
    assert_eq!(array(&kept).len(), 2);
    for folder in ["second", "target"] {
        assert_eq!(names(scratch.path(folder)), [""; 0]);
    }
}

#[test]
fn text_shows_plan_results_verdict_and_place() {
    let scratch = Scratch::new();
    let ended = scratch.run("target", &[TINY]).code(0);
    let begins = format!("drivescope {} · quick · ", env!("CARGO_PKG_VERSION"));
    assert!(ended.stdout.starts_with(&begins), "{ended}");
    ended.shows(&[
        "your files are not touched",
        "seq1m_q8t1",
        "rnd4k_q32t1",
        "span100",
        "16 MiB",
        "rnd16_sync",
        "F013",
        "verdict",
        "database",
        "saved as run ",
        "drivescope show ",
    ]);
}

#[test]
fn quiet_prints_the_result_no_save_stores_nothing() {
    let scratch = Scratch::new();
    let ended = scratch.run("target", &[TINY, ONE_CELL, &["--quiet", "--no-save"]]).code(0);
    assert_eq!(ended.stderr, "", "{ended}");
    ended.shows(&["rnd4k_q1t1", "F013"]);
    for part in ["drivescope 0", "saved as", "not touched"] {
        assert!(!ended.stdout.contains(part), "'{part}' is not the result: {ended}");
    }
    assert_eq!(names(scratch.path("home")), [""; 0]);
}

#[test]
fn verbose_adds_the_overhead_and_every_round() {
    let scratch = Scratch::new();
    let options = [TINY, ONE_CELL, &["--rounds=3"]];
    let plain = scratch.run("target", &options).code(0);
    let verbose = scratch.run("target", &[&options[..], &[&["--verbose"]]].concat()).code(0);
    verbose.shows(&["overhead of drivescope", "ns per request", "memory"]);
    assert!(verbose.stdout.lines().count() > plain.stdout.lines().count() + 3);
}

#[test]
fn paths_with_blanks_and_other_letters_work() {
    let scratch = Scratch::new();
    let name = "target/my disk äöü \u{1F4BE} 'quoted'";
    fs::create_dir(scratch.path(name)).unwrap();
    let run = scratch.run(name, &[TINY, ONE_CELL, &["--json"]]).code(0).json();
    assert_eq!(run["target"]["path"], scratch.text(name));
    assert_eq!(names(scratch.path(name)), [""; 0]);
}

#[test]
fn dot_and_link_are_resolved() {
    let scratch = Scratch::new();
    let call = scratch.run_call(".", &[TINY, ONE_CELL, &["--json"]]);
    let run = call.in_folder(&scratch.path("target")).end().code(0).json();
    assert_eq!(run["target"]["path"], scratch.target());
    std::os::unix::fs::symlink("target", scratch.path("link")).unwrap();
    let run = scratch.run("link", &[TINY, ONE_CELL, &["--json"]]).code(0).json();
    assert_eq!(run["target"]["path"], scratch.target());
}

#[test]
fn another_program_on_the_drive_is_noticed() {
    let scratch = Scratch::new();
    let big = scratch.file("big", crate::support::noise(64 << 20, 1));
    let (begun, read) =
        (scratch.text("begun"), format!("dd if={big} of=/dev/null bs=1M iflag=direct"));
    let script = format!("sync -d {big}; {read}; touch {begun}; while {read}; do :; done");
    let busy = crate::support::Call::new("bash").arguments(&["-c", &script]).start();
    crate::support::wait_for("the other program", || scratch.path("begun").exists().then_some(()));
    let options = ["--set=transfer.time=1s", "--rounds=3", "--json"];
    let run = scratch.run("target", &[TINY, ONE_CELL, &options]).code(0).json();
    let busy = busy.must_be_alive();
    busy.signal(rustix::process::Signal::KILL);
    if run["tests"][0]["phases"][0]["device_read_bytes"].is_null() {
        return crate::support::skip_loudly("the kernel counts no bytes for this file system");
    }
    assert!(noticed_other_io(&run), "{:?} {}", findings(&run), run["tests"][0]["phases"]);
}

#[test]
fn run_without_reads_is_listed_with_its_metrics() {
    for (options, figure) in [
        (["--test=transfer", "--cells=rnd4k_q1t1.write"], "rnd4k_q1t1.write "),
        (["--test=latency", "--rounds=1"], "span100 "),
    ] {
        let scratch = Scratch::new();
        scratch.run("target", &[TINY, &options]).code(0);
        let table = scratch.drivescope(&["runs"]).code(0).stdout;
        assert!(table.contains(figure) && !table.contains(" us\n"), "{table}");
    }
}
