//! Everything a user can name that cannot work: one clear line, the right exit code, and nothing left
//! behind.

use crate::support::scratch::{listing, names};
use crate::support::snapshot::without_paths;
use crate::support::{ONE_CELL, Scratch, TINY, is_root, json, skip_loudly};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

/// The call must be refused in one line with all `parts`; target and the user's data must not change.
#[track_caller]
fn refuse(scratch: &Scratch, arguments: &[&str], code: i32, parts: &[&str]) -> String {
    let before = listing(scratch.target());
    let message = scratch.drivescope(&[&["run"], arguments].concat()).refused_with(code, parts);
    assert_eq!(listing(scratch.target()), before, "{arguments:?} changed the target");
    assert!(!scratch.store().exists(), "{arguments:?} made a store");
    message
}

#[test]
fn invalid_target_is_refused_by_name() {
    let scratch = Scratch::new();
    let _socket = UnixListener::bind(scratch.path("socket")).unwrap();
    symlink("nowhere", scratch.path("dangling")).unwrap();
    let file = scratch.file("file", "x");
    for (target, parts) in [
        ("absent", &["no such path", "absent", "drivescope list"][..]),
        ("target/absent", &["no such path"]),
        (&format!("{file}/within"), &["no such path"]),
        ("dangling", &["no such path", "dangling"]),
        ("", &["TARGET"]),
        ("/dev/null", &["/dev/null", "character device"]),
        ("socket", &["socket", "directories, files and block devices"]),
        ("/proc/cpuinfo", &["/proc/cpuinfo", "without a size"]),
        ("/proc", &["/proc cannot hold test files", "a directory on a drive"]),
    ] {
        refuse(&scratch, &[target], 2, parts);
    }
}

#[test]
fn wrong_names_are_mistakes_not_device_errors() {
    let scratch = Scratch::new();
    symlink("circle", scratch.path("circle")).unwrap();
    refuse(&scratch, &["circle"], 2, &["circle", "symbolic links"]);
    refuse(&scratch, &[&"x".repeat(300)], 2, &["name too long"]);
}

#[test]
fn the_first_wrong_target_stops_everything() {
    let scratch = Scratch::new();
    refuse(&scratch, &["target", "absent"], 2, &["no such path", "absent"]);
}

#[test]
fn absurd_values_are_refused_before_anything_happens() {
    let scratch = Scratch::new();
    for (options, parts) in [
        (&["--size=0"][..], &["at least 1 MiB"][..]),
        (&["--size=4k"], &["at least 1 MiB"]),
        (&["--size=12XB"], &["XB", "not a size unit"]),
        (&["--size=big"], &["'big'", "number"]),
        (&["--size=-1G"], &["-1G"]),
        (&["--size=99999999T"], &["larger than any drive"]),
        (&["--size="], &["--size"]),
        (&["--size=1.5"], &["whole number of bytes"]),
        (&["--time=0"], &["at least 10 ms"]),
        (&["--time=1us"], &["at least 10 ms"]),
        (&["--time=31d"], &["30 days"]),
        (&["--time=1y"], &["'y'", "unit of time"]),
        (&["--time=-1s"], &["-1s"]),
        (&["--time=NaN"], &["NaN"]),
        (&["--rounds=0"], &["between 1 and"]),
        (&["--rounds=1001"], &["between 1 and"]),
        (&["--rounds=-1"], &["-1"]),
        (&["--rounds=3.5"], &["3.5"]),
        (&["--rounds=9999999999"], &["between 1 and 1000"]),
        (&["--rounds=1000", "--time=30d"], &["days", "--time", "--rounds", "1000 rounds of 720 h"]),
        (&["--rounds=1000", "--time=30d", "--dry-run"], &["days", "--time"]),
        (&["--price=105.999USD"], &["105USD"]),
        (&["--price=cheap"], &["105USD"]),
        (&["--price=105"], &["105USD"]),
        (&["--price=-105USD"], &["105USD"]),
        (&["--seed=one"], &["one"]),
        (&["--cells=rnd4k"], &["rnd4k_q32t1"]),
        (&["--cells=rnd4k_q0t1.read"], &["depth of 0", "between 1 and"]),
        (&["--cells=rnd4k_q1t1.fly"], &["fly", "read, write, sync or mix"]),
        (&["--cells=rnd4k_q1t1.mix101"], &["101 %"]),
        (&["--set=latency.time"], &["latency.time=2s"]),
        (&["--set=latency.tiem=2s"], &["tiem", "time"]),
        (&["--set=nothing.time=2s"], &["nothing"]),
        (&["--set=latency.block=1000"], &["latency.block", "512"]),
        (&["--set=latency.spans_pct=[0]"], &["spans_pct"]),
        (&["--set=surface.samples=1"], &["surface.samples"]),
        (&["--set=tiny-writes.write=0"], &["tiny-writes.write"]),
        (&["--set=align.method=slow"], &["align.method", "fast", "phybs"]),
        (&["--set=align.min=1000"], &["align.min", "powers of two"]),
        (&["--set=align.max=1G"], &["align.max", "16 MiB"]),
        (&["--set=align.total=10000"], &["align.total", "align.max"]),
        (&["--set=align.mix=mix30"], &["align.mix"]),
        (&["--set=align.time=0s"], &["align.time"]),
        (&["--table"], &["--table", "--suite phybs"]),
        (&["--table", "--dry-run"], &["--table", "--suite phybs"]),
        (&["--keep"], &["--keep is an option of fill-files", "add --test fill-files"]),
        (&["--set=verify.mode=full"], &["option of verify", "add --test verify"]),
        (&["--suite=standard", "--db=sqlite"], &["option of sql", "add --test sql"]),
        (&["--set=name.x=1"], &["name"]),
        (&["--test="], &["test"]),
        (&["--suite="], &["suite"]),
        (&["--store="], &["--store"]),
        (&["--write=same-bytes"], &["target", "is a directory", "for block devices"]),
        (&["--write=restore", "--dry-run"], &["is a directory"]),
        (&["--destroy=S1"], &["is a directory"]),
        (&["--write=all"], &["'all'", "same-bytes, restore or destroy"]),
        (&["--write=destroy"], &["is a directory", "for block devices"]),
        (&["--write=destroy:S1"], &["--destroy SERIAL"]),
        (&["--write=restore", "--destroy=S1"], &["--destroy"]),
        (&["--destroy"], &["--destroy"]),
        (&["--store=postgres://ann:secret@db/runs"], &["~/.pgpass", "PGPASSWORD"]),
    ] {
        let message = refuse(&scratch, &[&["target"], options].concat(), 2, parts);
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn absurd_shapes_are_refused_before_anything_happens() {
    // More memory than any machine has, more threads than a kernel starts.
    let scratch = Scratch::new();
    for (cell, parts) in [
        ("seq1g_q65535t1", &["1 GiB", "at most"][..]),
        ("seq1t_q1t1", &["1 TiB", "at most"]),
        ("rnd4k_q65535t1", &["depth of 65535", "between 1 and"]),
        ("rnd4k_q1t65535", &["65535", "between 1 and"]),
        ("rnd4k_q1024t1024", &["1024"]),
        ("rnd1000_q1t1", &["1000", "512"]),
    ] {
        refuse(&scratch, &["target", "--test=transfer", "--cells", cell], 2, parts);
    }
}

#[test]
fn impossible_request_options_are_refused_without_panic() {
    let scratch = Scratch::new();
    for settings in [
        // Smaller than one write, one block of the drive, one stream block.
        &["tiny-writes.size=1"][..],
        &["tiny-writes.size=100", "tiny-writes.write=100"],
        &["tiny-writes.size=4095"],
        &["tiny-writes.size=1M", "tiny-writes.write=1M"],
        // No multiple of a sector, which the drive itself is asked for as well.
        &["tiny-writes.stream_block=513"],
    ] {
        let settings: Vec<String> = settings.iter().map(|s| format!("--set={s}")).collect();
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let options = [TINY, &["--test=tiny-writes"], &settings];
        let ended = scratch.run("target", &options).not_panicked();
        assert!([Some(0), Some(2)].contains(&ended.exit_code()), "{ended}");
        assert_eq!(names(scratch.target()), [""; 0], "{ended}");
    }
}

#[test]
fn counts_beyond_memory_are_refused_first() {
    let scratch = Scratch::new();
    for option in ["surface.samples", "surface.accesses"] {
        let setting = format!("--set={option}=4294967295");
        refuse(&scratch, &["target", "--dry-run", &setting], 2, &[option]);
    }
}

#[test]
fn rates_beyond_clock_resolution_are_refused_first() {
    // A dry run, because a rate without a distance between requests never ends.
    let scratch = Scratch::new();
    for rate in ["\"many\"", "0", "-5", "nan", "inf", "1e12", "{percent=-1}", "{percent=1e300}"] {
        let setting = format!("--set=latency.rates=[{rate}]");
        let message = refuse(&scratch, &["target", "--dry-run", &setting], 2, &["rates"]);
        assert!(!message.contains("enum"), "a word of the programmer's: {message}");
    }
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let scratch = Scratch::new();
    let cells = "--cells=rnd4k_q1t1.read";
    refuse(
        &scratch,
        &["target", "--dry-run", "--test=latency", cells],
        2,
        &["--cells", "transfer"],
    );
    refuse(&scratch, &["target", "--dry-run", "--test=latency,latency"], 2, &["latency"]);
    let settings = ["--set=latency.spans_pct=[]", "--set=latency.rates=[]"];
    let arguments = [&["target", "--dry-run", "--test=latency"], &settings[..]].concat();
    refuse(&scratch, &arguments, 2, &["latency"]);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let scratch = Scratch::new();
    for name in ["absent\u{1b}[31m", "absent\u{7}", "absent\r"] {
        let message = refuse(&scratch, &[name], 2, &["no such path"]);
        assert!(!message.contains(char::is_control), "{message:?}");
    }
}

#[test]
fn negative_number_is_not_parsed_as_an_option() {
    // `--time -1s` with a blank: the tip "use '-- -1s'" would make it a target.
    let scratch = Scratch::new();
    for (option, value) in
        [("--time", "-1s"), ("--size", "-1G"), ("--price", "-5USD"), ("--rounds", "-1")]
    {
        let message = refuse(&scratch, &["target", option, value], 2, &[]);
        assert!(!message.contains("'-- -"), "{option} {value}: {message}");
    }
}

#[test]
fn more_than_fits_is_refused_for_safety() {
    let scratch = Scratch::new();
    let message =
        refuse(&scratch, &["target", "--size=4000T"], 3, &["must keep", "10 %", "--size"]);
    assert!(message.contains("4,398 TB does not fit"), "{message}");
    // The plan says so too.
    refuse(&scratch, &["target", "--size=4000T", "--dry-run"], 3, &["does not fit"]);
}

#[test]
fn same_target_twice_is_refused_under_any_name() {
    let scratch = Scratch::new();
    symlink("target", scratch.path("link")).unwrap();
    let file = scratch.file("file", vec![7; 1 << 20]);
    fs::hard_link(&file, scratch.path("second name")).unwrap();
    let absolute = scratch.target();
    for (one, other) in [
        ("target", "target"),
        ("target", "./target/"),
        ("target", "home/../target"),
        ("target", "link"),
        ("link", absolute.as_str()),
        ("file", "second name"),
    ] {
        refuse(&scratch, &[one, other], 2, &["given twice", other]);
    }
}

#[test]
fn broken_suites_are_refused_with_line_and_column() {
    let scratch = Scratch::new();
    let good = "name = \"x\"\nsummary = \"x\"\ntests = [\"latency\"]\n";
    for (text, place, part) in [
        ("name = \"x\nsummary = 1".to_string(), ":1:10:", "string"),
        (format!("{good}rounds = \"three\"\n"), ":4:10:", "u32"),
        (format!("{good}speed = 3\n"), ":4:1:", "speed"),
        (format!("{good}\n[latency]\ntime = \"5 parsecs\"\n"), ":6:8:", "parsecs"),
        (format!("{good}[latency]\nspan = 1\n"), ":5:1:", "spans_pct"),
        ("tests = [\"latency\", \"lateny\"]".to_string(), ":1:21:", "lateny"),
    ] {
        let path = scratch.file("suite.toml", &text);
        let message = refuse(&scratch, &["target", "--suite", &path], 2, &[place, part]);
        assert!(message.starts_with(&path), "{message}");
    }
    let path = scratch.file("suite.toml", format!("{good}rounds = 0\n"));
    refuse(&scratch, &["target", "--suite", &path], 2, &["rounds"]);
    let path = scratch.file("suite.toml", b"name = \"\xff\"");
    refuse(&scratch, &["target", "--suite", &path], 2, &[&path, ":1:9:", "UTF-8"]);
    refuse(&scratch, &["target", "--suite=./absent.toml"], 2, &["absent.toml"]);
    refuse(&scratch, &["target", "--suite=./target"], 2, &["target"]);
}

#[test]
fn latency_without_a_span_names_the_missing_option() {
    let scratch = Scratch::new();
    let tiny = ["--test=latency", "--size=1MiB", "--set=latency.spans_pct=[0.001]"];
    let ended = scratch.run("target", &[&tiny]).code(2);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("span0_001: too few blocks"), "{ended}");
    let scratch = Scratch::new();
    let share = "--set=latency.rates=[{ percent = 50 }]";
    let none = ["target", "--test=latency", "--set=latency.spans_pct=[]", share];
    refuse(&scratch, &none, 2, &["no spans and no rates in requests per second"]);
}

#[test]
fn messages_name_cause_and_remedy() {
    let scratch = Scratch::new();
    let say =
        |arguments: &[&str], code| without_paths(&scratch, &refuse(&scratch, arguments, code, &[]));
    insta::assert_snapshot!(say(&["absent"], 2),
        @"no such path: absent; drivescope list shows the drives of this machine");
    insta::assert_snapshot!(say(&["/dev/null"], 2),
        @"/dev/null is a character device; drivescope measures directories, files and block devices");
    insta::assert_snapshot!(say(&["target", "home/../target"], 2),
        @"home/../target is given twice; name each target once");
    insta::assert_snapshot!(say(&["target", "--suite=quik"], 2),
        @"no suite 'quik' (did you mean 'quick'?); drivescope suites lists them");
    insta::assert_snapshot!(say(&["target", "--set=latency.time"], 2),
        @"--set latency.time: write it like latency.time=2s");
    insta::assert_snapshot!(say(&["target", "--test=surface"], 2), @"no test of this suite can run on SCRATCH/target: surface needs a block device or a large file: a new file covers only a small part of the drive");
}

#[test]
fn without_permission_the_error_says_what_helps() {
    let scratch = Scratch::new();
    let file = scratch.file("file", vec![7; 1 << 20]);
    for (name, mode) in [("file", 0o000), ("target", 0o555)] {
        fs::set_permissions(scratch.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let call = |target: &str| {
        let arguments = ["run", target, "--no-save", "--size=16M"];
        scratch.call(&arguments).without_privileges().end()
    };
    if is_root() && !can_run_as_nobody(&scratch) {
        return;
    }
    call("target").refused_with(2, &["no permission to write in", "sudo"]);
    call(&file).refused_with(2, &["no permission to read"]);
    fs::set_permissions(scratch.path("target"), fs::Permissions::from_mode(0o000)).unwrap();
    call("target/within").refused_with(2, &["no permission"]);
    fs::set_permissions(scratch.path("target"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether user `nobody` can run the program; prints a note if not.
pub fn can_run_as_nobody(scratch: &Scratch) -> bool {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_drivescope"));
    std::os::unix::process::CommandExt::uid(&mut command, 65534);
    let reaches = command.arg("--version").current_dir(scratch.path("")).output();
    let reaches = reaches.is_ok_and(|output| output.status.success());
    if !reaches {
        skip_loudly("the build directory is not open to other users");
    }
    reaches
}

#[test]
fn a_user_without_privileges_measures_a_directory() {
    let scratch = Scratch::new();
    if is_root() && !can_run_as_nobody(&scratch) {
        return;
    }
    let target = scratch.folder_for_everyone("open");
    scratch.folder_for_everyone("home");
    let call = scratch.run_call(&target, &[TINY, ONE_CELL, &["--json"]]).without_privileges();
    let run = call.end().code(0).json();
    assert_eq!(run["status"], "done");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    let list = scratch.call(&["list", "--json"]).without_privileges().end().code(0).json();
    assert!(list.is_array());
}

/// The message once blamed a panic in a library.
#[test]
fn thread_limit_is_reported() {
    let scratch = Scratch::new();
    if is_root() && !can_run_as_nobody(&scratch) {
        return;
    }
    let call = scratch.call(&["list"]).without_privileges();
    // SAFETY: one system call.
    let call = unsafe {
        call.before_exec(|| {
            let limit = Rlimit { current: Some(1), maximum: Some(1) };
            Ok(setrlimit(Resource::Nproc, limit)?)
        })
    };
    call.end().refused_with(2, &["cannot start a thread", "ulimit -u"]);
}

/// By default the signal of a file size limit kills the program.
#[test]
fn file_size_limit_fails_cleanly() {
    let scratch = Scratch::new();
    let call = scratch.run_call("target", &[TINY, ONE_CELL, &["--json"]]);
    // SAFETY: one system call.
    let call = unsafe {
        call.before_exec(|| {
            let limit = Rlimit { current: Some(4 << 20), maximum: Some(4 << 20) };
            Ok(setrlimit(Resource::Fsize, limit)?)
        })
    };
    let run = call.end().code(2).json();
    let reason = json::test_of(&run, "transfer")["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("ulimit -f") && reason.contains("--size"), "{run}");
    assert!(names(scratch.target()).is_empty());
}

/// Run documents are text and cannot hold such a name.
#[test]
fn rerun_of_a_non_utf8_name_is_reported() {
    let scratch = Scratch::new();
    let odd = OsStr::from_bytes(b"odd\xff");
    fs::create_dir(scratch.path("").join(odd)).unwrap();
    let options: Vec<&OsStr> = TINY.iter().chain(ONE_CELL).map(OsStr::new).collect();
    let first = scratch.call(&["run", "--json"]).arguments(&options).arguments(&[odd]).end();
    let id = first.code(0).json()["id"].as_str().unwrap().to_string();
    scratch.drivescope(&["rerun", &id]).refused_with(2, &["not UTF-8"]);
}
