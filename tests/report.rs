//! Reports of runs: pages, charts and figures in files, which never replace anything unasked.

use crate::store::with_a_run;
use crate::support::Scratch;
use std::fs;

fn file(scratch: &Scratch, name: &str) -> String {
    scratch.path(name).display().to_string()
}

#[test]
fn a_run_becomes_a_page_a_chart_and_a_table() {
    let (scratch, id) = with_a_run();
    let page = file(&scratch, "run.html");
    scratch.drivescope(&["report", &id, "-o", &page]).code(0);
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.contains(&id), "{text:.200}");

    let table = file(&scratch, "run.csv");
    scratch.drivescope(&["report", "last", "-o", &table]).code(0);
    let text = fs::read_to_string(&table).unwrap();
    let document = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    for metric in document["tests"][0]["metrics"].as_array().unwrap() {
        let line =
            format!("{},{},", metric["key"].as_str().unwrap(), metric["value"].as_f64().unwrap());
        assert!(text.contains(&line), "{line} in {text}");
    }
}

#[test]
fn a_document_from_a_file_is_reported_like_a_stored_run() {
    let scratch = Scratch::new();
    let out =
        scratch.drivescope(&["run", "sim:wd10ears", "--test", "surface", "--no-save", "--json"]);
    fs::write(scratch.path("run.json"), out.code(0).stdout).unwrap();
    let chart = file(&scratch, "chart.svg");
    let run = file(&scratch, "run.json");
    let message = scratch.drivescope(&["report", &run, "-o", &chart]).refused(2);
    assert!(message.contains("--chart") && message.contains("surface-position"), "{message}");
    scratch.drivescope(&["report", &run, "-o", &chart, "--chart", "surface-position"]).code(0);
    assert!(fs::read_to_string(&chart).unwrap().starts_with("<svg"));
}

#[test]
fn what_is_there_is_only_replaced_when_asked_and_no_device_is_ever() {
    let (scratch, id) = with_a_run();
    let page = file(&scratch, "run.html");
    fs::write(&page, "mine").unwrap();
    let message = scratch.drivescope(&["report", &id, "-o", &page]).refused(3);
    assert!(message.contains("--force"), "{message}");
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
    scratch.drivescope(&["report", &id, "-o", &page, "--force"]).code(0);
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE"));

    let link = scratch.path("link.html");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    scratch.drivescope(&["report", &id, "-o", &file(&scratch, "link.html"), "--force"]).refused(3);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    scratch.drivescope(&["report", &id, "-o", &file(&scratch, "run.doc")]).refused(2);
    scratch.drivescope(&["report", &id, "-o", &file(&scratch, "absent/run.html")]).refused(2);
}

#[test]
fn several_runs_share_a_page_and_a_table() {
    let scratch = Scratch::new();
    for target in ["sim:wd40efrx", "sim:samsung-860evo-250"] {
        let options = ["--test", "latency", "--time", "100ms", "--quiet"];
        scratch.drivescope(&[&["run", target][..], &options].concat()).code(0);
    }
    let page = scratch.path("both.html").display().to_string();
    scratch.drivescope(&["report", "wd40efrx", "860evo", "-o", &page]).code(0);
    let text = std::fs::read_to_string(&page).expect("it was written");
    for part in ["drivescope comparison", "Metrics", "WD40EFRX", "860 EVO", "<summary>"] {
        assert!(text.contains(part), "{part}");
    }
    let table = scratch.path("both.csv").display().to_string();
    scratch.drivescope(&["report", "wd40efrx", "860evo", "-o", &table]).code(0);
    let table = std::fs::read_to_string(&table).expect("it was written");
    assert_eq!(table.lines().filter(|line| line.starts_with("run,drive")).count(), 1);
    let chart = scratch.path("both.svg").display().to_string();
    scratch.drivescope(&["report", "wd40efrx", "860evo", "-o", &chart]).refused(2);
}

#[test]
fn an_anonymous_report_names_no_serial_number_machine_or_path() {
    let scratch = Scratch::new();
    let here = scratch.path("").display().to_string();
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
    let page = scratch.path("bare.html").display().to_string();
    scratch.drivescope(&["report", "last", "--anonymize", "-o", &page]).code(0);
    let page = std::fs::read_to_string(&page).expect("it was written");
    assert!(!page.contains(here.trim_end_matches('/')) && !page.contains("my-label"));
}
