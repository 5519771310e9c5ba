//! `fleet outliers` and `fleet export`: simulated drives in one store.

use crate::support::json::{array, text};
use crate::support::{Call, ONE_CELL, Scratch, TINY, must_have, skip_loudly};
use std::fs;
use std::path::Path;

const MODEL: &str = "sim:samsung-870evo-1tb";

/// Ten drives of a model.
fn with_drives() -> Scratch {
    let scratch = Scratch::new();
    for seed in 1..=10 {
        measure(&scratch, &format!("{MODEL}?seed={seed}"));
    }
    scratch
}

fn measure(scratch: &Scratch, target: &str) {
    let cells = ["--test=transfer", "--cells=rnd4k_q1t1.read,seq1m_q8t1.read"];
    // The same requests each time: rounds of 10 ms differ.
    scratch.run(target, &[TINY, &cells, &["--quiet", "--seed=1"]]).code(0);
}

#[test]
fn slow_drive_of_a_store_is_named() {
    let scratch = Scratch::new();
    let none = scratch.drivescope(&["fleet", "outliers"]).refused(2);
    assert!(none.contains("drivescope run"), "{none}");
    let scratch = with_drives();
    let healthy = scratch.drivescope(&["fleet", "outliers"]).code(0);
    healthy.shows(&["None of 10 drives is odd.", "Compared: 10 drives in 1 group"]);
    // Another model, too rare to compare.
    measure(&scratch, "sim:wd40efrx?seed=1");
    let slow = format!("{MODEL}?seed=11&fault=throttled");
    measure(&scratch, &slow);
    let found = scratch.drivescope(&["fleet", "outliers"]).code(1).stdout;
    must_have(&found, &["1 of 12 drives is odd.", &slow, "slower than those like it", "(1)."]);
    assert!(!found.contains("seed=3"), "{found}");
    let json = scratch.drivescope(&["fleet", "outliers", "--fdr", "0.01", "--json"]).code(1).json();
    let odd = array(&json["odd"]);
    assert_eq!((odd.len(), text(&odd[0]["drive"])), (1, &*slow));
    assert!(odd[0]["q_value"].as_f64().unwrap() <= 0.01);
    let reason = &odd[0]["reasons"][0];
    assert_eq!(reason["kind"], "slow");
    assert!(reason["value"].as_f64() < reason["median"].as_f64());
    assert_eq!(json["groups"][0]["drives"], 11);
    scratch.drivescope(&["fleet", "outliers", "--fdr", "2"]).refused_with(2, &["0.05"]);
}

#[cfg(feature = "parquet")]
#[test]
fn export_replaces_only_its_own() {
    let scratch = Scratch::new();
    for seed in 1..=2 {
        scratch.run(&format!("{MODEL}?seed={seed}"), &[TINY, ONE_CELL, &["--quiet"]]).code(0);
    }
    let folder = scratch.text("fleet");
    let export = ["fleet", "export", "--parquet", &folder];
    scratch.drivescope(&export).code(0).shows(&["wrote 2 runs to"]);
    let model = fs::read_dir(Path::new(&folder).join("runs")).unwrap().next().unwrap().unwrap();
    let name = model.file_name().into_string().unwrap();
    assert!(name.starts_with("model=Samsung%20SSD%20870") && !name.contains(' '), "{name}");
    scratch.drivescope(&export).code(0);
    fs::write(model.path().join("notes"), "mine").unwrap();
    let refused = scratch.drivescope(&export).refused(3);
    assert!(refused.contains("not of an earlier export"), "{refused}");
    assert_eq!(fs::read_to_string(model.path().join("notes")).unwrap(), "mine");
    scratch.drivescope(&["fleet", "export", "--parquet", "/dev/null"]).refused(3);
}

/// The newest run again, a day later at 60 % of its figures.
#[cfg(feature = "parquet")]
fn import_slower(scratch: &Scratch) {
    let mut run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    run["id"] = "00000000000f".into();
    run["started_at"] = "2099-01-01T00:00:00Z".into();
    for metric in run["tests"][0]["metrics"].as_array_mut().expect("metrics") {
        for figure in ["value", "low", "high"] {
            metric[figure] = (metric[figure].as_f64().expect("a number") * 0.6).into();
        }
        metric["rounds"] = serde_json::json!([metric["value"]]);
    }
    let file = scratch.file("slower.json", run.to_string());
    scratch.drivescope(&["import", &file]).code(0);
}

/// Every question of the page, as it stands there.
#[cfg(feature = "parquet")]
#[test]
fn duckdb_answers_the_documented_questions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = root.join("target/duckdb/bin/python");
    let python = if own.exists() { own.display().to_string() } else { "python3".to_string() };
    if !Call::new(&python).arguments(&["-c", "import duckdb"]).end().stderr.is_empty() {
        return skip_loudly("needs Python's duckdb: pip install duckdb");
    }
    let scratch = with_drives();
    let slow = format!("{MODEL}?seed=11&fault=throttled");
    measure(&scratch, &slow);
    for _ in 0..2 {
        measure(&scratch, "sim:wd40efrx?seed=1");
    }
    import_slower(&scratch);
    scratch.drivescope(&["fleet", "export", "--parquet", &scratch.text("fleet")]).code(0);
    let page = include_str!("../docs/fleet-questions.md");
    let questions: Vec<&str> =
        page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let program = "import duckdb, json, sys\n\
                   ask = lambda sql: duckdb.sql(sql).fetchall()\n\
                   print(json.dumps([ask(sql) for sql in json.load(sys.stdin)], default=str))";
    let input = serde_json::to_string(&questions).unwrap();
    let asked = Call::new(&python).arguments(&["-c", program]).in_folder(&scratch.path(""));
    let answers = asked.input(input).end().code(0).json();
    let [slowest, fell, heat, links, odd] = array(&answers) else { panic!("{answers}") };
    assert_eq!(array(slowest).len(), 2, "a row for each model and firmware: {slowest}");
    assert!(text(&slowest[0][0]).starts_with("WDC WD40EFRX"), "{slowest}");
    assert_eq!(array(fell).len(), 1, "{fell}");
    assert_eq!(fell[0][1], "sim:wd40efrx?seed=1", "{fell}");
    assert_eq!(array(heat).len(), 0, "simulated drives report no temperature: {heat}");
    let drives: i64 = array(links).iter().filter_map(|row| row[2].as_i64()).sum();
    assert_eq!(drives, 12, "{links}");
    let named: Vec<&str> = array(odd).iter().map(|row| text(&row[1])).collect();
    assert_eq!(named, [slow.as_str()], "{odd}");
}
