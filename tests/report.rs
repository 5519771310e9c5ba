//! Reports of runs: pages, charts and figures in files, which never replace anything unasked.

use crate::store::with_a_run;
use crate::support::json::{keys, value};
#[cfg(feature = "parquet")]
use crate::support::{Call, skip_loudly};
use crate::support::{Scratch, must_have};
use std::fs;

#[test]
fn run_becomes_page_chart_and_table() {
    let (scratch, id) = with_a_run();
    let page = scratch.text("run.html");
    scratch.drivescope(&["report", &id, "-o", &page]).code(0);
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.contains(&id), "{text:.200}");

    let table = scratch.text("run.csv");
    scratch.drivescope(&["report", "last", "-o", &table]).code(0);
    let text = fs::read_to_string(&table).unwrap();
    let document = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    for key in keys(&document) {
        let line = format!("{key},{},", value(&document, &key));
        assert!(text.contains(&line), "{line} in {text}");
    }
}

#[test]
fn file_is_reported_like_a_stored_run() {
    let scratch = Scratch::new();
    let out =
        scratch.drivescope(&["run", "sim:wd10ears", "--test", "surface", "--no-save", "--json"]);
    let run = scratch.file("run.json", out.code(0).stdout);
    let chart = scratch.text("chart.svg");
    let message = scratch.drivescope(&["report", &run, "-o", &chart]).refused(2);
    assert!(message.contains("--chart") && message.contains("surface-position"), "{message}");
    scratch.drivescope(&["report", &run, "-o", &chart, "--chart", "surface-position"]).code(0);
    let picture = fs::read_to_string(&chart).unwrap();
    assert!(picture.starts_with("<svg"));
    // It stands alone: title, drive, simulated, day, suite and program are in the picture.
    let words = [">Rate and access time by position</text>", ">WDC WD10EARS", "simulated)</text>"];
    must_have(&picture, &words);
    must_have(&picture, &["suite quick", concat!("drivescope ", env!("CARGO_PKG_VERSION"))]);
}

#[test]
fn every_chart_is_a_file_of_a_folder() {
    let (scratch, id) = with_a_run();
    let folder = scratch.path("charts");
    let named = format!("{}/", folder.display());
    scratch.drivescope(&["report", &id, "--chart", "all", "-o", &named]).code(0);
    let files: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(files.contains(&"transfer-grid.svg".to_string()), "{files:?}");
    assert!(files.iter().all(|file| file.ends_with(".svg")), "{files:?}");
    scratch.drivescope(&["report", &id, "--chart", "all", "-o", &named]).refused(3);
    let chart = scratch.text("chart.svg");
    let message = scratch.drivescope(&["report", &id, "--chart", "all", "-o", &chart]).refused(2);
    assert!(message.contains("-o DIR/"), "{message}");
    let one = ["report", &id, "--chart", "transfer-grid", "--format", "png", "-o", &chart];
    scratch.drivescope(&one).refused(2);
    #[cfg(feature = "png")]
    {
        let all = ["report", &id, "--chart", "all", "--format", "png", "-o", &named];
        scratch.drivescope(&all).code(0);
        assert!(folder.join("transfer-grid.png").exists());
    }
}

#[test]
fn files_are_replaced_on_request_devices_never() {
    let (scratch, id) = with_a_run();
    let page = scratch.file("run.html", "mine");
    scratch.drivescope(&["report", &id, "-o", &page]).refused_with(3, &["--force"]);
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
    scratch.drivescope(&["report", &id, "-o", &page, "--force"]).code(0);
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE"));

    let link = scratch.path("link.html");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    scratch.drivescope(&["report", &id, "-o", &scratch.text("link.html"), "--force"]).refused(3);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    scratch.drivescope(&["report", &id, "-o", &scratch.text("run.doc")]).refused(2);
    let absent = scratch.text("absent/run.html");
    let message = scratch.drivescope(&["report", &id, "-o", &absent]).refused(2);
    assert!(message.contains("its folder is not there"), "{message}");
}

#[test]
fn several_runs_share_a_page_and_a_table() {
    let scratch = Scratch::new();
    for target in ["sim:wd40efrx", "sim:samsung-860evo-250"] {
        let options = ["--test", "latency", "--time", "100ms", "--quiet"];
        scratch.drivescope(&[&["run", target][..], &options].concat()).code(0);
    }
    let page = scratch.text("both.html");
    scratch.drivescope(&["report", "wd40efrx", "860evo", "-o", &page]).code(0);
    let text = fs::read_to_string(&page).expect("it was written");
    must_have(
        &text,
        &["drivescope comparison", "Every figure", "WD40EFRX", "860 EVO", "<summary>"],
    );
    must_have(&text, &["In colour: WDC WD40EFRX"]);
    let turned = ["report", "wd40efrx", "860evo", "-o", &page, "--force", "--baseline", "860evo"];
    scratch.drivescope(&turned).code(0);
    let text = fs::read_to_string(&page).expect("it was written");
    must_have(&text, &["In colour: Samsung SSD 860 EVO"]);
    let table = scratch.text("both.csv");
    scratch.drivescope(&["report", "wd40efrx", "860evo", "-o", &table]).code(0);
    let table = fs::read_to_string(&table).expect("it was written");
    assert_eq!(table.lines().filter(|line| line.starts_with("run,drive")).count(), 1);
    let chart = scratch.text("both.svg");
    let message = scratch.drivescope(&["report", "wd40efrx", "860evo", "-o", &chart]).refused(2);
    assert!(message.contains("compare-tails"), "{message}");
    let tails = ["report", "wd40efrx", "860evo", "-o", &chart, "--chart", "compare-tails"];
    scratch.drivescope(&tails).code(0);
    assert!(fs::read_to_string(&chart).unwrap().contains("WD40EFRX"));
}

#[test]
fn report_folder_has_page_charts_figures_and_document() {
    let (scratch, id) = with_a_run();
    let folder = scratch.path("report");
    let named = format!("{}/", folder.display());
    scratch.drivescope(&["report", &id, "-o", &named]).code(0);
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect(name);
    assert!(read("index.html").starts_with("<!DOCTYPE html>"));
    assert!(read("metrics.csv").starts_with("run,drive,"));
    // The document comes back as the run that it was.
    let document = format!("run-{id}.json");
    let again = folder.join(&document).display().to_string();
    let (kept, stored) = (
        scratch.drivescope(&["show", &id, "--json"]).code(0).json(),
        serde_json::from_str::<serde_json::Value>(&read(&document)).unwrap(),
    );
    assert_eq!(kept, stored);
    let csv = |run: &str, name: &str| {
        let table = scratch.text(name);
        scratch.drivescope(&["report", run, "-o", &table]).code(0);
        fs::read_to_string(table).unwrap()
    };
    assert_eq!(csv(&again, "again.csv"), csv(&id, "stored.csv"));
    let charts = fs::read_dir(folder.join("charts")).unwrap().count();
    assert!(charts > 0);
    // Nothing is written where something may not be replaced.
    fs::write(folder.join("metrics.csv"), "mine").unwrap();
    fs::remove_file(folder.join("index.html")).unwrap();
    scratch.drivescope(&["report", &id, "-o", &named]).refused(3);
    assert!(!folder.join("index.html").exists() && read("metrics.csv") == "mine");
    scratch.drivescope(&["report", &id, "-o", &named, "--force"]).code(0);
    assert!(read("metrics.csv").starts_with("run,drive,"));
    let message = scratch.drivescope(&["report", &id, "-o", &named, "--chart", "x"]).refused(2);
    assert!(message.contains("every chart"), "{message}");
}

#[test]
fn a_history_is_a_page_and_charts() {
    let scratch = Scratch::new();
    for seed in ["1", "2"] {
        let cells = ["--test", "transfer", "--cells", "rnd4k_q1t1.read", "--time", "100ms"];
        let run = ["run", "sim:wd40efrx", "--quiet", "--seed", seed];
        scratch.drivescope(&[&run[..], &cells].concat()).code(0);
    }
    let page = scratch.text("history.html");
    scratch.drivescope(&["report", "--history", "wd40efrx", "-o", &page]).code(0);
    let text = fs::read_to_string(&page).unwrap();
    must_have(&text, &["2 runs", "SIM-WD40EFRX", "simulated drive</span>"]);
    scratch
        .drivescope(&["report", "--history", "wd40efrx", "-o", &page, "--force", "--anonymize"])
        .code(0);
    assert!(!fs::read_to_string(&page).unwrap().contains("SIM-WD40EFRX"));
    for (arguments, said) in [
        (&["report", "--history", "wd40efrx", "-o", "x.csv"][..], "history is written as"),
        (&["report", "--history", "absent", "-o", "x.html"], "drivescope runs"),
        (&["report", "last", "--history", "wd40efrx", "-o", "x.html"], "cannot be used with"),
        (&["report", "-o", "x.html"], "RUN"),
    ] {
        scratch.drivescope(arguments).refused_with(2, &[said]);
    }
}

#[cfg(feature = "png")]
#[test]
fn a_chart_as_png_is_a_picture() {
    let (scratch, id) = with_a_run();
    let picture = scratch.text("grid.png");
    scratch.drivescope(&["report", &id, "-o", &picture, "--chart", "transfer-grid"]).code(0);
    let bytes = fs::read(&picture).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(side(16), 1_240);
}

#[cfg(feature = "parquet")]
#[test]
fn duckdb_reads_the_figures_of_runs() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = root.join("target/duckdb/bin/python");
    let python = if own.exists() { own.display().to_string() } else { "python3".to_string() };
    let with_python = |program: &str| Call::new(&python).arguments(&["-c", program]).end();
    if !with_python("import duckdb").stderr.is_empty() {
        return skip_loudly("needs Python's duckdb: pip install duckdb");
    }
    let (scratch, id) = with_a_run();
    let table = scratch.text("run.parquet");
    scratch.drivescope(&["report", &id, "-o", &table]).code(0);
    let program = format!(
        "import duckdb, json\nprint(json.dumps(duckdb.sql(\"\"\"select run, metric, value, rounds, epoch_us(started_at) > 0 \
         from '{table}'\"\"\").fetchall()))"
    );
    let rows: serde_json::Value = with_python(&program).code(0).json();
    let document = scratch.drivescope(&["show", &id, "--json"]).code(0).json();
    let metrics = document["tests"][0]["metrics"].as_array().unwrap();
    assert_eq!(rows.as_array().map(Vec::len), Some(metrics.len()));
    for (row, metric) in rows.as_array().unwrap().iter().zip(metrics) {
        fn rounds(value: &serde_json::Value) -> Vec<Option<f64>> {
            value.as_array().unwrap().iter().map(serde_json::Value::as_f64).collect()
        }
        assert_eq!((&row[0], &row[1]), (&document["id"], &metric["key"]));
        assert_eq!((row[2].as_f64(), &row[4]), (metric["value"].as_f64(), &true.into()));
        assert_eq!(rounds(&row[3]), rounds(&metric["rounds"]));
    }
}

#[test]
fn anonymous_report_names_no_serial_machine_or_path() {
    let scratch = Scratch::new();
    let here = scratch.text("");
    let tiny =
        ["--quiet", "--label", "my-label", "--size", "16MiB", "--rounds", "1", "--time", "10ms"];
    let cells = ["--test", "transfer", "--cells", "rnd4k_q1t1.read"];
    scratch.drivescope(&[&["run", &here][..], &tiny, &cells].concat()).code(0);
    let whole = scratch.drivescope(&["export", "last"]).code(0).stdout;
    assert!(whole.contains(here.trim_end_matches('/')) && whole.contains("my-label"));
    let bare = scratch.drivescope(&["export", "last", "--anonymize"]).code(0);
    let host = bare.json()["host"]["name"].as_str().map(str::to_string);
    assert_eq!(host.as_deref(), Some(""));
    assert!(!bare.stdout.contains(here.trim_end_matches('/')) && !bare.stdout.contains("my-label"));
    let page = scratch.text("bare.html");
    scratch.drivescope(&["report", "last", "--anonymize", "-o", &page]).code(0);
    let page = fs::read_to_string(&page).expect("it was written");
    assert!(!page.contains(here.trim_end_matches('/')) && !page.contains("my-label"));
}
