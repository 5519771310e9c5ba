//! Both engines give the same documents, and machines that refuse io_uring are no worse off.

use crate::support::json::{keys, metrics, statuses};
use crate::support::{Call, ONE_CELL, Scratch, TINY};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;

/// The number of `io_uring_setup`, the same on every architecture.
const IO_URING_SETUP: u32 = 425;

/// Instruction of classic BPF, as in `linux/filter.h`.
#[repr(C)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

#[repr(C)]
struct Filter {
    length: u16,
    instructions: *const Instruction,
}

unsafe extern "C" {
    fn prctl(option: i32, ...) -> i32;
}

/// Loads the number of the system call and refuses this one with EPERM, as the default profiles of container engines
/// do.
static REFUSE_IO_URING: [Instruction; 4] = [
    Instruction { code: 0x20, if_true: 0, if_false: 0, value: 0 },
    Instruction { code: 0x15, if_true: 0, if_false: 1, value: IO_URING_SETUP },
    Instruction { code: 0x06, if_true: 0, if_false: 0, value: 0x0005_0000 | 1 },
    Instruction { code: 0x06, if_true: 0, if_false: 0, value: 0x7fff_0000 },
];

/// The number of `io_uring_enter`, and its flag `IORING_ENTER_EXT_ARG`.
const IO_URING_ENTER: u32 = 426;
const EXT_ARG: u32 = 8;

/// Fails waits with a time limit, as kernels before 5.11 do: compares the number, loads the fourth argument, tests the
/// flag, and returns EINVAL.
static OLD_KERNEL: [Instruction; 6] = [
    Instruction { code: 0x20, if_true: 0, if_false: 0, value: 0 },
    Instruction { code: 0x15, if_true: 0, if_false: 3, value: IO_URING_ENTER },
    Instruction { code: 0x20, if_true: 0, if_false: 0, value: 40 },
    Instruction { code: 0x45, if_true: 0, if_false: 1, value: EXT_ARG },
    Instruction { code: 0x06, if_true: 0, if_false: 0, value: 0x0005_0000 | 22 },
    Instruction { code: 0x06, if_true: 0, if_false: 0, value: 0x7fff_0000 },
];

/// Applies a filter to this process, which then executes the program.
fn stand_behind(instructions: &'static [Instruction]) -> io::Result<()> {
    const PR_SET_NO_NEW_PRIVS: i32 = 38;
    const PR_SET_SECCOMP: i32 = 22;
    const SECCOMP_MODE_FILTER: usize = 2;
    fn checked(result: i32) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    let length = u16::try_from(instructions.len()).expect("a few");
    let filter = Filter { length, instructions: instructions.as_ptr() };
    // SAFETY: the arguments are those of prctl(2); the filter outlives the call.
    unsafe {
        checked(prctl(PR_SET_NO_NEW_PRIVS, 1usize, 0usize, 0usize, 0usize))?;
        checked(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const filter))
    }
}

fn without_io_uring(call: Call) -> Call {
    // SAFETY: `stand_behind` makes two system calls and touches no memory of its own.
    unsafe { call.before_exec(|| stand_behind(&REFUSE_IO_URING)) }
}

/// Linux 5.10 (Debian 11 and many boards): each test ended with "Invalid argument".
#[test]
fn threads_replace_io_uring_without_timed_waits() {
    let scratch = Scratch::new();
    let call = scratch.run_call("target", &[TINY, &["--json"]]);
    // SAFETY: as in `without_io_uring`.
    let ended = unsafe { call.before_exec(|| stand_behind(&OLD_KERNEL)) }.end().code(0);
    assert!(ended.stderr.contains("Linux 5.11"), "{ended}");
    let run = ended.json();
    assert_eq!(run["plan"]["engine"], "threads");
    assert_eq!(statuses(&run)[..2], [("latency", "done"), ("transfer", "done")]);
}

#[test]
fn threads_replace_a_refused_io_uring_visibly() {
    let scratch = Scratch::new();
    let call = scratch.run_call("target", &[TINY, &["--json"]]);
    let ended = without_io_uring(call).end().code(0);
    assert!(ended.stderr.contains("io_uring is disabled"), "{ended}");
    assert!(ended.stderr.contains("using threads"), "{ended}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
    let run = ended.json();
    assert_eq!(run["plan"]["engine"], "threads");
    let done = [("latency", "done"), ("transfer", "done"), ("surface", "skipped")];
    assert_eq!(statuses(&run), [&done[..], &[("tiny-writes", "done")]].concat());
    assert!(metrics(&run).all(|metric| metric["value"].as_f64().is_some_and(f64::is_finite)));
}

#[test]
fn requested_io_uring_is_a_mistake_if_refused() {
    let scratch = Scratch::new();
    let call = scratch.run_call("target", &[TINY, &["--engine=io_uring"]]);
    without_io_uring(call).end().refused_with(2, &["io_uring", "--engine threads"]);
}

#[test]
fn rerun_works_where_its_engine_is_refused() {
    let scratch = Scratch::new();
    let first = scratch.run("target", &[TINY, ONE_CELL, &["--json"]]).code(0).json();
    let again = without_io_uring(scratch.call(&["rerun", "last", "--json"])).end().code(0);
    assert_eq!(again.json()["plan"]["engine"], "threads");
    assert_eq!(again.json()["plan"]["seed"], first["plan"]["seed"]);
    let had_both = first["plan"]["engine"] == "auto";
    assert_eq!(again.stderr.contains("using threads"), had_both, "{again}");
}

#[test]
fn quiet_does_not_speak_of_engines() {
    let scratch = Scratch::new();
    let call = scratch.run_call("target", &[TINY, ONE_CELL, &["--quiet", "--json"]]);
    let ended = without_io_uring(call).end().code(0);
    assert_eq!(ended.stderr, "");
    assert_eq!(ended.json()["plan"]["engine"], "threads");
}

#[test]
fn threads_give_the_same_metrics_as_io_uring() {
    fn engines(run: &Value) -> BTreeSet<String> {
        let phases =
            run["tests"].as_array().unwrap().iter().flat_map(|test| test["phases"].as_array());
        phases.flatten().map(|phase| phase["engine"].as_str().unwrap().to_string()).collect()
    }
    let scratch = Scratch::new();
    let run_with = |engine: &[&str]| {
        // Long enough for a request in each round, also on a busy machine.
        let long = ["--set=transfer.time=200ms", "--set=latency.time=200ms"];
        let asked: [&[&str]; 4] = [TINY, &long, &["--seed=1", "--json"], engine];
        let run = scratch.run("target", &asked).code(0).json();
        assert!(metrics(&run).all(|metric| metric["value"].as_f64().is_some_and(f64::is_finite)));
        run
    };
    // Both engines, wherever the kernel has io_uring.
    let (probed, threads) = (run_with(&[]), run_with(&["--engine=threads"]));
    assert_eq!(threads["plan"]["engine"], "threads");
    assert_eq!(engines(&threads), BTreeSet::from(["threads".to_string()]));
    let is_named = |name: &String| ["threads", "uring"].contains(&name.as_str());
    assert!(engines(&probed).iter().all(is_named), "each phase says what sent its requests");
    // How many percentiles there are depends on how many requests the rounds had time for.
    let lasting = |run| {
        let all = keys(run).into_iter();
        all.filter(|key| !key.contains(".lat_p")).collect::<Vec<String>>()
    };
    assert_eq!(lasting(&probed), lasting(&threads));
    assert_eq!(probed["plan"]["suite"], threads["plan"]["suite"]);
}
