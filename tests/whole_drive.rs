//! `fill` and `verify`: simulated drives, and targets that they must leave alone.

use crate::support::json::{array, finding, findings, metrics, statuses, test_of, text, value};
use crate::support::scratch::names;
use crate::support::{Scratch, noise, wait_for};

const FILL: &[&str] = &["--test=fill", "--json", "--seed=1"];
/// With a small cache, so that the simulated drive needs little memory.
const VERIFY: &[&str] = &["--test=verify", "--seed=1", "--set=verify.cache=1MiB"];

#[test]
fn a_sampled_fill_estimates_the_full_one() {
    let scratch = Scratch::new();
    let full = ["--set=fill.mode=full"];
    let [sampled, full] =
        [&[][..], &full].map(|more| scratch.run("sim:wd4000aaks", &[FILL, more]).code(0).json());
    for run in [&sampled, &full] {
        assert_eq!(statuses(run), [("fill", "done")]);
        assert_eq!(run["plan"]["tests"][0]["writes"], "destroy");
    }
    let [estimated, measured] = [&sampled, &full].map(|run| value(run, "fill.whole.time_s"));
    assert!((estimated / measured - 1.0).abs() < 0.02, "{estimated} s for {measured} s");
    let share = value(&sampled, "fill.write.written_bytes") / 400_088_457_216.0;
    assert!(share > 0.001 && share <= 0.005, "{share}");
}

#[test]
fn fill_resumes_at_the_given_place() {
    let scratch = Scratch::new();
    let more = ["--set=fill.mode=full", "--set=fill.from=399GB"];
    let run = scratch.run("sim:wd4000aaks", &[FILL, &more]).code(0).json();
    let written = value(&run, "fill.write.written_bytes");
    assert!((written - 1_088_457_216.0).abs() <= 4096.0, "{written}");
    assert!(metrics(&run).all(|metric| metric["key"] != "fill.whole.time_s"));
    let curve = &test_of(&run, "fill")["series"][0];
    assert!((curve["x"][0].as_f64().unwrap() - 399e9).abs() <= 4096.0, "{curve}");
    let more = ["--set=fill.mode=full", "--set=fill.from=1TB"];
    scratch.run("sim:wd4000aaks", &[FILL, &more]).refused_with(2, &["beyond the end"]);
}

/// A shingled disk is computed request by request, which is slow enough to be stopped.
#[test]
fn stopped_fill_says_where_to_resume() {
    let scratch = Scratch::new();
    let full = ["--set=fill.mode=full"];
    let running = scratch.run_call("sim:st8000as0002-smr", &[FILL, &full]).start();
    let statistics = format!("/proc/{}/stat", running.id());
    wait_for("some work", || {
        let stat = std::fs::read_to_string(&statistics).ok()?;
        let ticks: u64 = stat.split(' ').nth(13)?.parse().ok()?;
        // A fifth of a second: more than it takes to begin, less than any machine needs for a fill.
        (ticks > 20).then_some(())
    });
    let run = running.interrupt().json();
    let fill = test_of(&run, "fill");
    assert_eq!(fill["status"], "interrupted");
    let written = value(&run, "fill.write.written_bytes");
    let position = format!("--set fill.from={written:.0}");
    assert!(text(&fill["reason"]).contains(&position), "{position}: {}", fill["reason"]);
}

#[test]
fn the_text_shows_curve_time_and_zones() {
    let scratch = Scratch::new();
    let ended = scratch.run("sim:wd4000aaks", &[&["--test=fill"]]).code(0);
    ended.shows(&["rate, MB/s", "█", "estimated fill time", "zones"]);
}

#[test]
fn fake_drive_is_a_problem_honest_is_not() {
    let scratch = Scratch::new();
    for (fake, real) in [("wrap:20GiB", 20u64 << 30), ("cut:31999999488", 31_999_999_488)] {
        let target = format!("sim:pm871b-128?fake={fake}");
        let run = scratch.run(&target, &[VERIFY, &["--json"]]).code(1).json();
        assert_eq!(value(&run, "verify.capacity.real_bytes"), real as f64);
        assert!(findings(&run).contains(&"F031"), "{:?}", findings(&run));
    }
    let run = scratch.run("sim:pm871b-128", &[VERIFY, &["--json"]]).code(0).json();
    assert_eq!(value(&run, "verify.capacity.real_bytes"), 128_035_676_160.0);
    assert!(!findings(&run).contains(&"F031"));
}

#[test]
fn verdict_is_one_line_with_bytes_to_keep() {
    let scratch = Scratch::new();
    let ended = scratch.run("sim:pm871b-128?fake=wrap:20GiB", &[VERIFY]).code(1);
    assert!(ended.stdout.contains("FAKE: claims 128 GB, holds 21.5 GB"), "{ended}");
    assert!(ended.stdout.contains("use only the first 21,474,836,480 bytes"), "{ended}");
    scratch.run("sim:pm871b-128", &[VERIFY]).code(0).shows(&["the capacity is real: 128 GB"]);
}

#[test]
#[should_panic(expected = "1 for another cause")]
fn problem_does_not_count_as_invalid_run() {
    let ended = Scratch::new().run("sim:pm871b-128?fake=wrap:20GiB", &[VERIFY]);
    assert!(ended.stdout.contains("F031"), "{ended}");
    ended.measured();
}

#[test]
fn drive_failing_midway_is_broken_not_fake() {
    let scratch = Scratch::new();
    let ended = scratch.run("sim:wd40efrx?fault=failing-region", &[VERIFY]).code(1);
    assert!(ended.stdout.contains("not judged") && ended.stdout.contains("F017"), "{ended}");
    for word in ["FAKE", "F031", "certain", "the capacity is real"] {
        assert!(!ended.stdout.contains(word), "{word}: {ended}");
    }
}

/// A thousandth of a small drive answers with errors.
#[test]
fn full_verify_names_unreadable_sectors() {
    let scratch = Scratch::new();
    scratch.small_flash_model(256_901_120);
    let full = ["--set=verify.mode=full", "--json"];
    let run = scratch.run("sim:./small.toml?fault=failing-region", &[VERIFY, &full]).code(1).json();
    let (size, middle) = (256_901_120_u64, 256_901_120 / 2 / 4096 * 4096);
    let end = (middle + size / 1000).next_multiple_of(512);
    assert_eq!(value(&run, "verify.read.unreadable_bytes"), (end - middle) as f64);
    assert_eq!(value(&run, "verify.read.intact_bytes"), (size - (end - middle)) as f64);
    assert_eq!(value(&run, "verify.read.lost_bytes"), 0.0);
    assert!(!findings(&run).iter().any(|id| ["F019", "F031"].contains(id)), "{:?}", findings(&run));
    let evidence = text(&finding(&run, "F017")["evidence"]);
    assert!(evidence.contains(&format!("read at byte {middle} ")), "{evidence}");
    assert!(evidence.contains(&format!("the last at byte {}", end - 512)), "{evidence}");
}

#[test]
fn a_full_verify_looks_at_every_sector() {
    let scratch = Scratch::new();
    let full = ["--size=64MiB", "--set=verify.mode=full", "--json"];
    let run = scratch.run("sim:pm871b-128?fake=cut:48MiB", &[VERIFY, &full]).code(1).json();
    assert_eq!(value(&run, "verify.read.intact_bytes"), f64::from(48 << 20));
    assert_eq!(value(&run, "verify.read.lost_bytes"), f64::from(16 << 20));
    assert_eq!(value(&run, "verify.capacity.real_bytes"), f64::from(48 << 20));
}

#[test]
fn directories_and_files_are_left_alone() {
    let scratch = Scratch::new();
    let file = scratch.file("image", noise(8 << 20, 3));
    let before = std::fs::read(&file).unwrap();
    for (target, test, why) in [
        (file.as_str(), FILL, "never written"),
        (&file, VERIFY, "never written"),
        ("target", FILL, "writes a whole drive"),
    ] {
        let message = scratch.run(target, &[test]).refused(2);
        assert!(message.contains(why), "{message}");
    }
    assert!(std::fs::read(&file).unwrap() == before);
}

#[test]
fn directory_is_verified_with_files_of_its_own() {
    let scratch = Scratch::new();
    let before = names(scratch.target());
    let call = [VERIFY, &["--size=48MiB"]];
    let ended = scratch.run(&scratch.target(), &[&call[..], &[&["--dry-run"]]].concat()).code(0);
    ended.shows(&["quick mode in a directory", "its own files", "50.3 MB"]);
    // The mode is full whatever is asked for.
    for mode in ["quick", "full"] {
        let mode = format!("--set=verify.mode={mode}");
        let run = scratch.run(&scratch.target(), &[&call[..], &[&[&mode, "--json"]]].concat());
        let run = run.code(0).json();
        assert_eq!(statuses(&run), [("verify", "done")]);
        assert_eq!(run["plan"]["tests"][0]["writes"], "own-files");
        for key in ["capacity.announced_bytes", "capacity.real_bytes", "read.intact_bytes"] {
            assert_eq!(value(&run, &format!("verify.{key}")), f64::from(48 << 20), "{key}");
        }
        assert!(value(&run, "verify.capacity.free_bytes") > f64::from(48 << 20));
    }
    let ended = scratch.run(&scratch.target(), &call).code(0);
    ended.shows(&["tested 50.3 MB", "not all of the free space"]);
    assert_eq!(names(scratch.target()), before);
}

#[test]
fn directory_refuses_what_its_files_cannot_give() {
    let scratch = Scratch::new();
    let read = ["--set=verify.mode=full", "--set=verify.phase=read"];
    scratch.run(&scratch.target(), &[VERIFY, &read]).refused_with(2, &["what it has just written"]);
    scratch
        .run(&scratch.target(), &[VERIFY, &["--size=900TB"]])
        .refused_with(2, &["do not fit above the floor of free space"]);
}

#[test]
fn fakes_that_cannot_be_are_refused() {
    let scratch = Scratch::new();
    let message = scratch.run("sim:pm871b-128?fake=bent:1GiB", &[VERIFY]).refused(2);
    assert!(message.contains("wrap:SIZE or cut:SIZE"), "{message}");
}

/// They would have no effect, and let something else be written.
#[test]
fn options_of_another_mode_are_refused() {
    let scratch = Scratch::new();
    for (test, setting, mode) in [
        ("fill", "fill.from=1G", "fill.mode=full"),
        ("verify", "verify.from=1G", "verify.mode=full"),
        ("verify", "verify.phase=read", "verify.mode=full"),
    ] {
        let options = [format!("--test={test}"), format!("--set={setting}")];
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        scratch.run("sim:pm871b-128", &[&options]).refused_with(2, &[mode]);
    }
    for size in ["4GB", "50GB"] {
        let message = scratch.run("sim:wd20ears", &[FILL, &["--size", size]]).refused(2);
        assert!(message.contains("fill.mode=full"), "{size}: {message}");
    }
}

/// A simulated drive is new in every call.
#[test]
fn reading_an_unwritten_drive_accuses_no_drive() {
    let scratch = Scratch::new();
    let read = ["--size=64MiB", "--set=verify.mode=full", "--set=verify.phase=read", "--json"];
    let run = scratch.run("sim:pm871b-128", &[VERIFY, &read]).code(2).json();
    let reason = text(&test_of(&run, "verify")["reason"]).to_string();
    assert!(reason.contains("no data of seed 1 found"), "{reason}");
    assert!(!findings(&run).contains(&"F031") && !findings(&run).contains(&"F019"));
    assert_eq!(run["plan"]["tests"][0]["writes"], "read");
}

#[test]
fn final_cache_does_not_hide_a_fake() {
    let scratch = Scratch::new();
    let full = ["--size=96MiB", "--set=verify.mode=full"];
    for cache in ["1MiB", "20MiB"] {
        let target = format!("sim:pm871b-128?fake=cut:48MiB:{cache}");
        let ended = scratch.run(&target, &[VERIFY, &full]).code(1);
        assert!(ended.stdout.contains("FAKE") && !ended.stdout.contains("keep all"), "{ended}");
    }
}

/// It wrote dropped data as fast as the rest.
#[test]
fn full_fill_reports_dropped_writes() {
    let scratch = Scratch::new();
    let full = ["--test=fill", "--size=64MiB", "--set=fill.mode=full", "--json"];
    let run = scratch.run("sim:pm871b-128?fake=cut:48MiB", &[&full]).code(1).json();
    let evidence = text(&finding(&run, "F019")["evidence"]);
    assert!(evidence.contains("the first at byte 50524160"), "{evidence}");
    assert!(evidence.contains("64 of 256 sampled places"), "{evidence}");
    let honest = scratch.run("sim:pm871b-128?fake=cut:100MiB", &[&full]).code(0).json();
    assert!(!findings(&honest).contains(&"F019"), "{:?}", findings(&honest));
}

/// read-files showed 26 GB/s of a missing drive as a valid figure.
#[test]
fn nothing_is_measured_of_a_missing_drive() {
    let scratch = Scratch::new();
    let call = ["--suite=nequalsone", "--json"];
    let run = scratch.run("sim:laptop-ssd-2015?fault=gone", &[&call]).code(4).json();
    assert_eq!(statuses(&run), [("fill-files", "failed"), ("read-files", "skipped")]);
    let reason = text(&run["tests"][1]["reason"]);
    assert!(reason.contains("no longer answers since fill-files failed"), "{reason}");
    assert!(array(&run["tests"][1]["metrics"]).is_empty());
}
