//! Suites: the built-in ones, users' mistakes, and what the command line changes.

use super::*;
use drivescope_model::cell::Cell;
use drivescope_model::units::{Bytes, Secs};

fn adapted(overrides: &Overrides) -> Result<Suite, SuiteError> {
    adapt(find("quick", None).unwrap(), overrides)
}

fn with_settings(settings: &[&str]) -> Overrides {
    let settings = settings.iter().map(|setting| setting.to_string()).collect();
    Overrides { settings, ..Overrides::default() }
}

#[test]
fn built_in_suites_are_valid_and_named_consistently() {
    for name in names(None) {
        let suite = find(&name, None).unwrap();
        assert_eq!(name, suite.name);
        assert!(!suite.summary.is_empty());
    }
}

#[test]
fn a_typing_error_gets_a_suggestion() {
    for (typed, meant) in
        [("qick", "quick"), ("crystaldiskmrk", "crystaldiskmark"), ("zcv", "zcav")]
    {
        let error = find(typed, None).unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean '{meant}'")), "{error}");
    }
    assert!(!find("xyzzyplugh", None).unwrap_err().to_string().contains("did you mean"));
    let overrides = Overrides { tests: vec!["latancy".into()], ..Overrides::default() };
    let error = adapted(&overrides).unwrap_err().to_string();
    assert!(error.contains("did you mean 'latency'"), "{error}");
}

#[test]
fn relative_folders_are_ignored() {
    fn of(config: &str, home: &str) -> Option<PathBuf> {
        folder_of(Some(config.into()), Some(home.into()))
    }
    fn suites(folder: &str) -> Option<PathBuf> {
        Some(Path::new(folder).join("drivescope/suites"))
    }
    assert_eq!(of("/conf", "/home/ann"), suites("/conf"));
    for config in ["", "conf", "./conf"] {
        assert_eq!(of(config, "/home/ann"), suites("/home/ann/.config"), "{config}");
    }
    assert_eq!(of("conf", "ann"), None);
}

#[test]
fn endless_test_is_not_a_suite() {
    let error = find("/dev/zero", None).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot read the suite /dev/zero: it is too long for a suite; name a TOML file, or one that drivescope \
         suites lists"
    );
}

#[test]
fn broken_files_are_named_with_line_and_column() {
    let head = "name = \"x\"\nsummary = \"y\"\ntests = [\"transfer\"]\n";
    for (text, line, column, word) in [
        ("name = \"x\"\nsummary = ", 2, 11, ""),
        (
            "name = \"x\"\nsummary = \"y\"\ntests = [\"transfr\"]\n",
            3,
            10,
            "did you mean 'transfer'",
        ),
        (&format!("{head}roundz = 3\n"), 4, 1, "did you mean 'rounds'"),
        (&format!("{head}[transfer]\ntime = \"5 parsecs\"\n"), 5, 8, "parsecs"),
        (&format!("{head}[transfer]\nshapes = [\"rnd4k_q0t1\"]\n"), 5, 10, "depth"),
        (&format!("{head}[latency]\nrates = 100\n"), 5, 9, "expected a list, like [100, 200]"),
    ] {
        match parse("mine.toml", text).unwrap_err() {
            SuiteError::Broken { line: l, column: c, message, .. } => {
                assert_eq!((l, c), (line, column), "{text}: {message}");
                assert!(message.contains(word), "{message}");
                assert!(!message.contains('\n'));
            }
            other => panic!("{text}: {other}"),
        }
    }
}

#[test]
fn absurd_values_are_refused() {
    for setting in [
        "rounds=0",
        "rounds=100000",
        "size=1k",
        "transfer.time=0",
        "latency.spans_pct=[0]",
        "latency.spans_pct=[101]",
        "latency.block=100",
        "surface.samples=1",
        "fill.chunk=100",
        "fill.depth=0",
        "fill.places=10",
        "fill.from=1G",
        "verify.from=1G",
        "verify.phase=read",
        "fill.share_pct=0",
        "verify.cache=1GiB",
        "tiny-writes.write=0",
        "tiny-writes.cells=['seq512']",
        "tiny-writes.thinktime=2s",
        "offset=behind",
        "tests=[]",
        "transfer.nonsense=1",
        "nonsense",
        "name.x=1",
    ] {
        assert!(adapted(&with_settings(&[setting])).is_err(), "{setting}");
    }
}

#[test]
fn duplicate_tests_are_refused() {
    for cell in ["rnd4k_q1t1.read", "rnd4k_q1t1"] {
        let error = with_cells(cell).unwrap_err().to_string();
        assert!(error.contains("names the cell rnd4k_q1t1.read twice"), "{error}");
    }
    assert!(with_cells("rnd4k_q1t1.write").is_ok());
    for setting in
        ["latency.spans_pct=[50, 50]", "latency.rates=[{ percent = 5 }, { percent = 5 }]"]
    {
        let error = adapted(&with_settings(&[setting])).unwrap_err().to_string();
        assert!(error.contains("twice"), "{setting}: {error}");
    }
    let text = "name = \"x\"\nsummary = \"y\"\ntests = [\"transfer\"]\n[transfer]\n\
                cells = [\"rnd4k_q1t1.read\", \"rnd4k_q1t1.read\"]\n";
    assert!(parse("mine.toml", text).unwrap_err().to_string().contains("twice"));
}

fn with_cells(second: &str) -> Result<Suite, SuiteError> {
    let cells = vec!["rnd4k_q1t1.read".to_string(), second.to_string()];
    adapted(&Overrides { cells, ..Overrides::default() })
}

#[test]
fn the_command_line_wins() {
    let overrides = Overrides {
        tests: vec!["transfer".into(), "latency".into()],
        cells: vec!["rnd4k_q1t1.read".into(), "seq1m_q8t1".into()],
        size: Some(Bytes::mib(64)),
        time: Some(Secs(0.5)),
        rounds: Some(7),
        settings: vec!["transfer.ramp=2s".into(), "latency.rates=[100, { percent = 25 }]".into()],
        ..Overrides::default()
    };
    let suite = adapted(&overrides).unwrap();
    assert_eq!(suite.tests, [TestKind::Transfer, TestKind::Latency]);
    let cells: Vec<String> = suite.transfer.cells.iter().map(Cell::to_string).collect();
    assert_eq!(cells, ["rnd4k_q1t1.read", "seq1m_q8t1.read", "seq1m_q8t1.write"]);
    assert_eq!((suite.size, suite.span), (Bytes::mib(64), Bytes::mib(64)));
    assert_eq!((suite.transfer.time, suite.transfer.ramp), (Secs(0.5), Secs(2.0)));
    assert_eq!((suite.rounds, suite.latency.rates.len()), (7, 2));
}

#[test]
fn chosen_shapes_and_directions_win_over_suite_cells() {
    fn cells(setting: &str) -> Vec<String> {
        let suite = adapted(&with_settings(&[setting])).unwrap();
        suite.transfer.all_cells().iter().map(Cell::to_string).collect()
    }
    assert_eq!(cells("transfer.mixes=[\"mix70\"]").len(), 4);
    assert_eq!(cells("transfer.shapes=[\"rnd8k_q2t1\"]"), ["rnd8k_q2t1.read", "rnd8k_q2t1.write"]);
    assert!(cells("transfer.preset=nvme").contains(&"rnd4k_q32t16.read".into()));
    assert_eq!(cells("transfer.time=1s").len(), 9);
}

#[test]
fn a_users_suite_hides_a_built_in_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/suites");
    assert_eq!(find("quick", Some(&folder)).unwrap().summary, "mine");
    let path = folder.join("quick.toml");
    assert_eq!(find(path.to_str().unwrap(), None).unwrap().summary, "mine");
    assert_eq!(names(Some(&folder)), names(None), "each once");
    assert!(find("./missing.toml", None).unwrap_err().to_string().contains("missing.toml"));
}

#[test]
fn tests_from_the_start_refuse_another_part() {
    for (test, works) in [("surface", true), ("align", true), ("fill", false), ("verify", false)] {
        let tests = vec![test.to_string()];
        let overrides = Overrides { tests, ..with_settings(&["offset=end"]) };
        assert_eq!(adapted(&overrides).is_ok(), works, "{test}");
    }
}

#[test]
fn command_line_cells_replace_suite_cells() {
    let cells = vec!["rnd4k_q1t1.read".to_string()];
    let overrides = Overrides { cells, ..Overrides::default() };
    let suite = adapt(find("as-ssd", None).unwrap(), &overrides).unwrap();
    assert_eq!(suite.transfer.cells, ["rnd4k_q1t1.read".parse().unwrap()]);
}

#[test]
fn a_suite_needs_only_its_tests() {
    let suite = parse("suites/mine.toml", "tests = [\"latency\"]").unwrap();
    let expected =
        Suite { name: "mine".into(), tests: vec![TestKind::Latency], ..Suite::default() };
    assert_eq!(suite, expected);
    let error = parse("mine.toml", "rounds = 2").unwrap_err().to_string();
    assert!(error.contains("mine") && error.contains("names no tests"), "{error}");
}
