//! `run --fio`: job files of fio on simulated drives and in directories, and files that cannot be measured.

use crate::support::json::{keys, metric, statuses, test_of};
use crate::support::scratch::names;
use crate::support::{Scratch, must_have};

const DRIVE: &str = "sim:samsung-860evo-250";
const PAGE: &str = include_str!("../docs/fio.md");

/// What stands between ``` lines that begin so.
fn example(begin: &str) -> &str {
    let (_, rest) = PAGE.split_once(begin).expect("an example");
    rest.split_once("```").expect("its end").0
}

#[test]
fn page_shows_what_is_printed() {
    let scratch = Scratch::new();
    scratch.file("ssd.fio", example("```ini\n"));
    let (call, shown) = example("$ drivescope ").split_once('\n').expect("its output");
    let arguments: Vec<&str> = call.split(' ').collect();
    let ended = scratch.drivescope(&arguments).code(0);
    assert!(ended.stdout == shown, "docs/fio.md should show:\n{}", ended.stdout);
    assert_eq!(ended.stderr, "", "--quiet");
    let loud: Vec<&str> = arguments.into_iter().filter(|word| *word != "--quiet").collect();
    let notes = example("which options have no effect:\n\n```\n");
    must_have(&scratch.drivescope(&loud).code(0).stderr, &notes.lines().collect::<Vec<_>>());
}

#[test]
fn jobs_run_with_their_own_times_and_can_be_repeated() {
    let scratch = Scratch::new();
    scratch.file("more.inc", "\nbs=${BLOCK}\n");
    let jobs = "[global]\ndirect=1\r\nsize=256m\n[a] ; first\nrw=read\ninclude more.inc\nsize=256m\n[b]\nstonewall\n\
                rw=randread\nruntime=2\ntime_based\n[c]\nstonewall\nrw=randwrite\nruntime=1\ntime_based\n";
    let file = scratch.file("mine.fio", jobs);
    let call = scratch.call(&["run", DRIVE, "--fio", &file, "--json", "--seed=1"]);
    let run = call.env("BLOCK", "1m").end().code(0).json();
    assert_eq!(statuses(&run), [("transfer", "done")]);
    assert_eq!(
        (&run["plan"]["suite"]["name"], &run["plan"]["suite"]["rounds"]),
        (&"mine.fio".into(), &1.into())
    );
    let phases = test_of(&run, "transfer")["phases"].as_array().expect("phases").clone();
    let bytes: Vec<_> = phases.iter().map(|phase| phase["bytes"].as_u64()).collect();
    assert_eq!(bytes[0], Some(256 << 20), "a job without runtime ends with its bytes");
    let seconds = |index: usize| phases[index]["elapsed_s"].as_f64().expect("a time").round();
    assert_eq!((seconds(1), seconds(2)), (2.0, 1.0));
    assert!(metric(&run, "transfer.rnd4k_q1t1.write.iops").is_some());
    let again = scratch.drivescope(&["rerun", "last", "--json"]).code(0).json();
    assert_eq!(keys(&again), keys(&run));
}

#[test]
fn a_directory_gets_a_file_of_the_jobs_size_and_is_left_empty() {
    let scratch = Scratch::new();
    let jobs =
        "[a]\ndirect=1\nsize=16m\nrw=randwrite\nruntime=20ms\ntime_based\nfilename=/dev/sdX\n";
    let file = scratch.file("a.fio", jobs);
    let run = scratch.run(&scratch.target(), &[&["--fio", &file, "--json"]]).measured().json();
    assert_eq!(run["plan"]["own_bytes"], 16 << 20);
    assert_eq!(run["plan"]["engine"], "threads", "psync is fio's default");
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn rates_become_open_loops() {
    let scratch = Scratch::new();
    let jobs =
        "[a]\ndirect=1\nsize=64m\nrw=randread\nrate_iops=50\nrate_process=poisson\nruntime=5\n";
    let file = scratch.file("a.fio", jobs);
    let run =
        scratch.drivescope(&["run", DRIVE, "--fio", &file, "--json", "--no-save"]).code(0).json();
    let iops = metric(&run, "latency.poisson_50.iops").expect("a rate")["value"].as_f64();
    assert!((35.0..65.0).contains(&iops.expect("a number")), "{iops:?}");
}

#[test]
fn bad_job_files_are_refused_in_one_line() {
    let scratch = Scratch::new();
    scratch.file("loop.inc", "include loop.inc\n");
    let run = |name: &str| scratch.drivescope(&["run", DRIVE, "--fio", name]);
    for (text, parts) in [
        ("[a]\nrw=read\nsize=1g", &["bad.fio:1: job a: direct=0, fio's default"][..]),
        ("[a]\ndirect=1\nsize=1g\nioengin=libaio", &["bad.fio:4:", "ioengin=libaio", "'ioengine'"]),
        ("[a]\ninclude loop.inc", &["loop.inc:1: includes are nested", "include itself?"]),
        ("[a]\nsize=${NOT_SET_HERE}", &["bad.fio:2: the variable NOT_SET_HERE is not set"]),
        ("[a]\ndirect=1\nsize=1k", &["at least 1 MiB"]),
        ("", &["the job file bad.fio has no job"]),
        ("[a]\ndirect=1\nsize=1g\nname=\u{1b}[31m\nverify=md5", &["verify=md5 checks data"]),
    ] {
        scratch.file("bad.fio", text);
        run("bad.fio").refused_with(2, parts);
    }
    scratch.file("bad.fio", vec![0xff; 3 << 20]);
    run("bad.fio").refused_with(2, &["longer than 1 MiB"]);
    run("absent.fio").refused_with(2, &["cannot read the job file absent.fio", "No such file"]);
    run(".").refused_with(2, &["cannot read the job file ."]);
    let both = ["run", DRIVE, "--fio", "bad.fio", "--suite", "quick"];
    scratch.drivescope(&both).refused_with(2, &["--suite", "cannot be used with"]);
}
