//! Help, typing errors, completions, and every way in which a person is (not) at the other end.

use crate::support::json::array;
use crate::support::{Call, ONE_CELL, Scratch, TINY, must_have, skip_loudly};
use std::fs::OpenOptions;
use std::io::{PipeWriter, pipe};

#[test]
fn the_version_is_one_line() {
    let ended = Scratch::new().drivescope(&["--version"]).code(0);
    assert_eq!(ended.stdout, concat!("drivescope ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(ended.stderr, "");
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let scratch = Scratch::new();
    let help = scratch.drivescope(&["--help"]).code(0).stdout;
    let commands =
        "run list runs show rerun export import store tests suites schema completions man";
    for command in commands.split(' ') {
        assert!(help.lines().any(|line| line.starts_with(&format!("  {command} "))), "{command}");
        let own = scratch.drivescope(&[command, "--help"]).code(0);
        assert!(own.stdout.contains(&format!("drivescope {command}")), "{own}");
        assert_eq!(own.stderr, "", "{own}");
        assert!(own.stdout.lines().all(|line| line.chars().count() <= 80), "{own}");
    }
    assert!(help.contains("130 interrupted"), "{help}");
}

/// The longest had 100 lines.
#[test]
fn short_help_of_every_command_fits_a_screen() {
    let scratch = Scratch::new();
    let commands = ",run,check,watch,restore,list,runs,runs rm,runs note,show,explain,rerun,compare,history\
                    ,advise,report,serve,export,import,store,store init,store upgrade,store sync,store copy,sim\
                    ,sim list,sim show,sim run,sim mount,sim reproduce,trace,trace record,trace replay\
                    ,trace convert,trace info,tests,suites,suites show,schema,completions,man";
    for command in commands.split(',') {
        let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
        let help = scratch.drivescope(&[&words[..], &["-h"]].concat()).code(0).stdout;
        let is_wide = help.lines().any(|line| line.chars().count() > 80);
        assert!(help.lines().count() <= 24 && !is_wide, "{command}: {help}");
        let whole = scratch.drivescope(&[&words[..], &["--help"]].concat()).code(0).stdout;
        assert!(whole.lines().count() >= help.lines().count() - 2, "{command}: {whole}");
    }
}

#[test]
fn finding_is_explained_by_number_or_name() {
    let scratch = Scratch::new();
    for name in ["F034", "f034", "busy-processors"] {
        let shown = scratch.drivescope(&["explain", name]).code(0).stdout;
        must_have(&shown, &["F034 busy-processors · warning", "Means", "Rule", "Cause", "Remedy"]);
    }
    let all = scratch.drivescope(&["explain"]).code(0).stdout;
    assert!(all.lines().any(|line| line.starts_with("F001 ")), "{all}");
    scratch
        .drivescope(&["explain", "bussy-processors"])
        .refused_with(2, &["did you mean 'busy-processors'"]);
    scratch.drivescope(&["explain", "F999"]).refused_with(2, &["drivescope explain lists them"]);
}

#[test]
fn every_option_of_run_has_help() {
    let help = Scratch::new().drivescope(&["run", "--help"]).code(0).stdout;
    let options = "--suite --test --cells --size --time --rounds --set --label --price --engine --seed --dry-run \
                   --clean --quiet --no-save --json --verbose --table --store";
    for option in options.split(' ') {
        let mut lines = help.lines().skip_while(|line| !line.trim_start().contains(option));
        assert!(lines.next().is_some(), "{option} is missing: {help}");
        let about = lines.next().unwrap_or_default();
        assert!(about.starts_with("          "), "{option} says nothing: {help}");
    }
}

#[test]
fn no_arguments_show_help_as_a_mistake() {
    let ended = Scratch::new().drivescope(&[]).code(2);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("Usage: drivescope <COMMAND>"), "{ended}");
}

#[test]
fn locale_without_utf_8_gets_ascii_and_whole_documents() {
    let scratch = Scratch::new();
    let options = ["run", "sim:wd40efrx", "--seed=1", "--cells=rnd4k_q1t1.read", "--label=größer"];
    scratch.drivescope(&options).code(0);
    for command in ["show last", "runs", "suites", "run --help", "sim show wd40efrx"] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let shown = scratch.call(&arguments).env("LC_ALL", "C").end().code(0).stdout;
        assert!(shown.is_ascii(), "{command}: {shown}");
    }
    let shown = scratch.call(&["show", "last"]).env("LC_ALL", "C").end().code(0).stdout;
    must_have(&shown, &["+-", "ms", "gr??er"]);
    let document = scratch.call(&["show", "last", "--json"]).env("LC_ALL", "C").end().code(0);
    assert_eq!(document.json()["label"], "größer");
}

#[test]
fn typing_error_names_the_nearest_word() {
    let scratch = Scratch::new();
    for (arguments, parts) in [
        (&["lst"][..], &["lst", "list"][..]),
        (&["run"], &["TARGET"]),
        (&["run", "target", "--sise", "1G"], &["--sise", "--size"]),
        (&["run", "target", "--suite", "quik"], &["quik", "did you mean 'quick'"]),
        (&["run", "target", "--suite", "gnomedisks"], &["did you mean 'gnome-disks'"]),
        (&["run", "target", "--test", "transfr"], &["transfr", "did you mean 'transfer'"]),
        (&["run", "target", "--test", "transfer,tinywrites"], &["did you mean 'tiny-writes'"]),
        (&["run", "target", "--engine", "uringg"], &["uringg", "uring"]),
        (&["completions", "bsh"], &["bash"]),
        (&["show"], &["RUN"]),
    ] {
        scratch.drivescope(arguments).refused_with(2, parts);
    }
}

#[test]
fn unlike_name_gets_no_suggestion() {
    let scratch = Scratch::new();
    for (option, list) in [("--suite", "drivescope suites"), ("--test", "drivescope tests")] {
        let message = scratch.drivescope(&["run", "target", option, "xyzzyplugh"]).refused(2);
        assert!(!message.contains("did you mean"), "{message}");
        assert!(message.contains(list), "{message}");
    }
}

#[test]
fn completions_and_manual_cover_every_command() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = scratch.drivescope(&["completions", shell]).code(0).stdout;
        assert!(
            script.contains("DRIVESCOPE_COMPLETE") && script.contains("/drivescope"),
            "{shell}"
        );
    }
    for (command, parts) in [
        (&[][..], &[".TH drivescope 1", "drivescope\\-run(1)", "drivescope\\-import(1)"][..]),
        (&["run"], &[".TH drivescope-run 1", "dry\\-run"]),
        (&["sim", "mount"], &[".TH drivescope-sim-mount 1", "backing"]),
    ] {
        let page = scratch.drivescope(&[&["man"], command].concat()).code(0).stdout;
        assert!(parts.iter().all(|part| page.contains(part)), "{command:?}: {page}");
    }
    scratch.drivescope(&["man", "sim", "mont"]).refused_with(2, &["did you mean 'mount'"]);
}

#[test]
fn bash_accepts_its_completions() {
    let scratch = Scratch::new();
    let script = scratch.drivescope(&["completions", "bash"]).code(0).stdout;
    let path = scratch.file("completions.bash", script);
    if std::process::Command::new("bash").arg("--version").output().is_err() {
        return skip_loudly("needs bash");
    }
    // As readline calls it for `drivescope run --suite crys`.
    let check = format!(
        "source {path} && complete -p drivescope && COMP_WORDS=(drivescope run --suite crys) COMP_CWORD=3 && \
         _clap_complete_drivescope drivescope crys --suite; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let ended = Call::new("bash").arguments(&["-c", &check]).end().code(0);
    for line in ["crystaldiskmark", "crystaldiskmark-realworld"] {
        assert!(ended.stdout.lines().any(|found| found == line), "{ended}");
    }
}

#[test]
fn stored_run_is_offered_with_its_measurements() {
    let scratch = Scratch::new();
    let options = ["run", "sim:wd20ears", "--test=align", "--json"];
    let run = scratch.drivescope(&options).code(0).json();
    let id = run["id"].as_str().unwrap();
    for command in ["show", "rerun", "export", "report", "compare"] {
        let call = Call::new(env!("CARGO_BIN_EXE_drivescope"))
            .arguments(&["--", "drivescope", command, &id[..3]])
            .with_home(&scratch.path("home"));
        let call = call.env("DRIVESCOPE_COMPLETE", "fish");
        let offered = call.end().code(0).stdout;
        let line = offered.lines().find(|line| line.starts_with(id));
        assert!(line.is_some_and(|line| line.contains("quick")), "{command}: {offered}");
    }
}

#[test]
fn every_list_is_also_one_line_of_json() {
    let scratch = Scratch::new();
    for (command, name, field) in [
        (&["tests"][..], "tiny-writes", "question"),
        (&["suites"], "quick", "tests"),
        (&["sim", "list"], "wd20ears", "capacity_bytes"),
    ] {
        let ended = scratch.drivescope(&[command, &["--json"]].concat()).code(0);
        let [list] = &ended.documents()[..] else { panic!("one line: {ended}") };
        let row = array(list).iter().find(|row| row["name"] == name);
        assert!(!row.unwrap_or_else(|| panic!("{ended}"))[field].is_null(), "{ended}");
    }
    let drives = scratch.drivescope(&["list", "--json"]).code(0);
    assert!(drives.json().is_array(), "{drives}");
}

#[test]
fn shown_suite_can_be_run() {
    let scratch = Scratch::new();
    let shown = scratch.drivescope(&["suites", "show", "as-ssd"]).code(0).stdout;
    let file = scratch.file("mine.toml", &shown);
    let plan = |suite: &str| {
        let options = ["run", "sim:wd20ears", "--dry-run", "--json", "--seed=1", "--suite", suite];
        scratch.drivescope(&options).code(0).json()
    };
    assert_eq!(plan(&file), plan("as-ssd"));
    scratch.drivescope(&["suites", "show", "as-sd"]).refused_with(2, &["did you mean 'as-ssd'"]);
    // Of a suite only its tests are needed, and it is called as its file is.
    let file = scratch.file("bare.toml", "tests = [\"latency\"]");
    assert_eq!(plan(&file)["suite"]["name"], "bare");
}

#[test]
fn several_targets_are_one_line_of_json_each() {
    let scratch = Scratch::new();
    let targets = ["sim:wd20ears", "sim:wd40efrx"];
    let run = [&["run"], &targets[..], &["--json", "--no-save", "--test=align"]].concat();
    for (more, place) in [(&[][..], "/drive/model"), (&["--dry-run"], "/suite/name")] {
        let documents = scratch.drivescope(&[&run[..], more].concat()).code(0).documents();
        assert_eq!(documents.len(), 2, "{documents:?}");
        assert!(documents.iter().all(|document| document.pointer(place).is_some()), "{place}");
    }
}

#[test]
fn built_in_suites_are_listed() {
    let scratch = Scratch::new();
    let suites = scratch.drivescope(&["suites"]).code(0).stdout;
    for suite in ["quick", "standard", "full", "crystaldiskmark", "gnome-disks", "zcav", "phybs"] {
        assert!(suites.lines().any(|line| line.starts_with(suite)), "{suite} is missing: {suites}");
    }
}

#[test]
fn test_list_shows_the_effect_per_target_kind() {
    let tests = Scratch::new().drivescope(&["tests"]).code(0).stdout;
    assert!(tests.lines().all(|line| line.chars().count() <= 80), "{tests}");
    // A description continues on indented lines.
    let mut described: Vec<String> = Vec::new();
    for line in tests.lines() {
        match (line.strip_prefix(' '), described.last_mut()) {
            (Some(more), Some(last)) => *last += &format!(" {}", more.trim()),
            _ => described.push(line.to_string()),
        }
    }
    let of = |test: &str| described.iter().find(|line| line.starts_with(test)).expect("listed");
    for (test, words) in [
        ("transfer", "in a directory: writes a file of its own"),
        ("latency", "on a file or a device: only reads"),
        ("surface", "on a device: only reads, unless --write same-bytes"),
        ("tiny-writes", "not on a file or a device"),
        ("align", "on a device: writes back what is there"),
        (
            "fill",
            "not in a directory or on a file; on a device: everything on it is lost (--destroy",
        ),
        (
            "verify",
            "in a directory: fills the free space with files of its own; on a file: reads back",
        ),
        (
            "verify",
            "on a device: everything on it is lost (--destroy SERIAL), with verify.phase=read",
        ),
    ] {
        assert!(of(test).contains(words), "{test}: {words} is missing in\n{tests}");
    }
    assert!(!of("fill").contains("files of its own"));
}

#[test]
fn broken_suite_does_not_hide_the_others() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("home/config/drivescope/suites")).unwrap();
    let suite = "name = \"mine\"\nsummary = \"just one cell\"\ntests = [\"transfer\"]\n\
                 [transfer]\nshapes = [\"rnd4k_q1t1\"]\nmixes = [\"read\"]\n";
    scratch.file("home/config/drivescope/suites/mine.toml", suite);
    scratch.file("home/config/drivescope/suites/bad.toml", "name = ");
    let suites = scratch.drivescope(&["suites"]).code(0).stdout;
    must_have(&suites, &["mine", "just one cell", "bad", "broken", "quick"]);
    scratch.run("target", &[&["--suite=min"]]).refused_with(2, &["did you mean 'mine'"]);
    let plan = scratch.run("target", &[&["--suite=mine", "--dry-run", "--json"]]).code(0).json();
    assert_eq!(plan["suite"]["name"], "mine");
    assert_eq!(plan["tests"].as_array().unwrap().len(), 1);
}

fn unread_pipe() -> PipeWriter {
    pipe().expect("there are descriptors left").1
}

#[test]
fn closed_reader_is_neither_error_nor_panic() {
    let scratch = Scratch::new();
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["list"],
        &["list", "--json"],
        &["tests"],
        &["suites"],
        &["completions", "zsh"],
        &["man"],
        &["run", "target", "--dry-run"],
    ] {
        let ended = scratch.call(arguments).output_to(unread_pipe()).end().code(0);
        assert_eq!(ended.stderr, "", "{ended}");
    }
}

#[test]
fn closed_reader_ends_the_run_and_keeps_it() {
    let scratch = Scratch::new();
    scratch.run_call("target", &[TINY, ONE_CELL]).output_to(unread_pipe()).end().code(0);
    assert_eq!(crate::support::scratch::names(scratch.target()), [""; 0]);
    let runs = scratch.drivescope(&["runs", "--json"]).code(0).json();
    assert_eq!(runs[0]["status"], "done");
    scratch.call(&["export"]).output_to(unread_pipe()).end().code(0);
}

#[test]
fn closed_standard_error_does_not_panic() {
    let scratch = Scratch::new();
    scratch.call(&["run", "absent"]).errors_to(unread_pipe()).end().code(2);
    scratch.run_call("target", &[TINY, ONE_CELL]).errors_to(unread_pipe()).end().code(0);
}

#[test]
fn unwritable_result_is_an_error() {
    // A reader that went away has seen enough; a full disk has lost the result.
    let scratch = Scratch::new();
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        return skip_loudly("needs /dev/full");
    };
    let ended = scratch.call(&["list", "--json"]).output_to(full).end();
    assert!(ended.stderr.contains("No space left"), "nothing is said of the lost output: {ended}");
}

#[test]
fn without_a_terminal_no_colour_and_no_bar() {
    let scratch = Scratch::new();
    let ended = scratch.run("target", &[TINY, ONE_CELL, &["--verbose"]]).code(0);
    assert!(!ended.stdout.contains(['\u{1b}', '\r']), "{ended}");
    assert_eq!(ended.stderr, "", "{ended}");
    assert_eq!(ended.stdout.matches("limited by\n").count(), 1, "rounds are shown once: {ended}");
    for arguments in [&["list"][..], &["tests"], &["suites"], &["runs"], &["show", "last"]] {
        let ended = scratch.drivescope(arguments).code(0);
        assert!(!ended.stdout.contains('\u{1b}'), "{ended}");
    }
}

/// Runs `tests` on a terminal of 80 columns, made by `script` of util-linux.
fn on_a_terminal(scratch: &Scratch, variable: Option<(&str, &str)>) -> String {
    let command = format!("{} tests", env!("CARGO_BIN_EXE_drivescope"));
    let mut call = Call::new("script")
        .arguments(&["-q", "-e", "-c", &command, "/dev/null"])
        .with_home(&scratch.path("home"))
        .env("TERM", "xterm");
    if let Some((name, value)) = variable {
        call = call.env(name, value);
    }
    call.end().code(0).stdout
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    fn coloured(text: &str) -> bool {
        text.contains("\u{1b}[")
    }
    if std::process::Command::new("script").arg("--version").output().is_err() {
        return skip_loudly("needs script (util-linux)");
    }
    let scratch = Scratch::new();
    assert!(coloured(&on_a_terminal(&scratch, None)));
    assert!(coloured(&on_a_terminal(&scratch, Some(("NO_COLOR", "")))), "empty means not set");
    assert!(!coloured(&on_a_terminal(&scratch, Some(("NO_COLOR", "1")))));
    assert!(!coloured(&on_a_terminal(&scratch, Some(("TERM", "dumb")))));
}

#[test]
fn output_fits_eighty_columns() {
    let scratch = Scratch::new();
    let plan = scratch.run("target", &[&["--dry-run"]]);
    let run = scratch.run("target", &[TINY, &["--rounds=3"]]);
    for ended in [plan, run, scratch.drivescope(&["list"])] {
        let ended = ended.code(0);
        for line in ended.stdout.lines() {
            // A path is never cut, so that it can be copied.
            let path = line.contains(&scratch.target());
            assert!(path || line.chars().count() <= 80, "too wide: {line}\n{ended}");
        }
    }
    // What is piped may be searched: nothing of a table of names is cut.
    let runs = scratch.drivescope(&["runs"]).code(0);
    assert!(runs.stdout.contains(&scratch.target()), "{runs}");
}
