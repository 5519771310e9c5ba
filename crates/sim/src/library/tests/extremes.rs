//! Every number of every built-in model, one after the other, as no drive has it.

use super::{refusal, text_of};
use crate::device::RequestKind::{Flush, Read, Trim, Write};
use crate::device::{Nanos, SimDevice, SimOutcome, SimRequest};
use crate::library::*;
use crate::sequential_pass;
use toml::{Table, Value};

/// Numbers that break arithmetic: nothing, below nothing, next to nothing, beyond 32 and 64 bits, none at all.
fn extremes() -> Vec<Value> {
    let whole =
        [0, 1, 7, -1, 4_294_967_295, 4_294_967_296, 1_000_000_000_000_000_000, i64::MAX - 511];
    let broken =
        [-0.5, 1e-300, 1e-9, 0.999_999, 1e9, 1e15, 1e300, f64::INFINITY, -f64::INFINITY, f64::NAN];
    let whole = whole.into_iter().map(Value::Integer);
    whole.chain(broken.into_iter().map(Value::Float)).collect()
}

/// How to get to a number: keys of tables, and places in lists as digits.
type Path = Vec<String>;

fn numbers(value: &Value, at: &Path, found: &mut Vec<Path>) {
    let below = |name: &str| at.iter().cloned().chain([name.to_string()]).collect::<Path>();
    match value {
        Value::Integer(_) | Value::Float(_) => found.push(at.clone()),
        Value::Table(table) => table.iter().for_each(|(k, v)| numbers(v, &below(k), found)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, v)| numbers(v, &below(&i.to_string()), found));
        }
        _ => {}
    }
}

fn set(value: &mut Value, path: &[String], new: &Value) {
    match (path.split_first(), value) {
        (None, value) => *value = new.clone(),
        (Some((key, rest)), Value::Table(table)) => set(&mut table[key], rest, new),
        (Some((key, rest)), Value::Array(list)) => {
            set(&mut list[key.parse::<usize>().unwrap()], rest, new);
        }
        _ => panic!("no such path"),
    }
}

/// A refusal names a line of the text and a field that is near what was changed.
fn check_refusal(error: &ModelError, text: &str, path: &[String], what: &str) {
    let lines = text.lines().count();
    let message = error.to_string();
    assert!(!message.contains('\n') && message.len() < 400, "{what}: {message}");
    match error {
        ModelError::Broken { line, .. } => assert!((1..=lines).contains(line), "{what}: {message}"),
        ModelError::Impossible { line, field, .. } => {
            assert!((1..=lines).contains(line), "{what}: {message}");
            let section = field.split('.').next().unwrap();
            // a drive's size limits its link's bridge and what is printed of it
            let related = ["link", "data_sheet", "identity"].contains(&section);
            assert!(section == path[0] || related, "{what}: {message}");
        }
    }
}

/// A drive that was accepted answers everything, each answer after its question and none after years.
fn check_work(model: &Model, what: &str) {
    const DAY: Nanos = 86_400_000_000_000;
    // a band of a terabyte is cleaned for days, a link of 0.1 MB/s is slow
    const LONGEST: Nanos = 400 * DAY;
    let mut drive = model.build(&Start::default()).unwrap_or_else(|why| panic!("{what}: {why:?}"));
    let (bytes, sector) = (drive.capacity_bytes(), u64::from(drive.sector_bytes()));
    let mut now = 0;
    let mut done = Vec::new();
    for id in 0..48u64 {
        let place = (id * 0x9e37_79b9 % 97) * (bytes / 97);
        let len = [sector, 4096, 65_536, 1 << 20][id as usize % 4].min(bytes) / sector * sector;
        let offset = place.min(bytes - len) / sector * sector;
        let op = [Write, Read, Read, Write, Flush, Trim][id as usize % 6];
        drive.submit(now, SimRequest { id, op, offset, len, fua: id % 7 == 3 });
        // three in flight; every few requests an idle time
        let wanted = if id % 3 == 2 { usize::MAX } else { 0 };
        now = finish(&mut drive, now, wanted, &mut done, what);
        assert!(now < LONGEST, "{what}: {now} ns");
        if id % 12 == 11 {
            now += 3_000_000_000;
        }
    }
    finish(&mut drive, now, usize::MAX, &mut done, what);
    assert_eq!(done.len(), 48, "{what}");
    assert!(
        done.iter().all(|answer| [SimOutcome::Done, SimOutcome::Invalid].contains(&answer.outcome))
    );
    let len = (bytes / 4).min(64 << 20) >> 16 << 16;
    for (op, from) in [(Read, bytes / 2), (Write, bytes / 2)] {
        let from = from >> 16 << 16;
        let end = sequential_pass(&mut drive, now + DAY, (op, from, len), 1 << 16, 2);
        assert!(end > now + DAY && end < now + LONGEST, "{what}: {op:?} until {end}");
        now = end;
    }
}

/// Lets the drive answer, up to `wanted` requests; the time afterwards.
fn finish(
    drive: &mut impl SimDevice,
    mut now: Nanos,
    wanted: usize,
    done: &mut Vec<crate::device::SimCompletion>,
    what: &str,
) -> Nanos {
    let before = done.len();
    while done.len() - before < wanted {
        let Some(next) = drive.next_completion() else { break };
        assert!(next >= now, "{what}: an answer at {next}, asked at {now}");
        now = next;
        drive.advance(now, done);
    }
    now
}

/// Puts every `step`th extreme in place of each number; how many of the changed models were refused, and how many
/// worked.
fn try_extremes(name: &str, text: &str, step: usize) -> (usize, usize) {
    let whole = Value::Table(text.parse::<Table>().unwrap());
    let mut paths = Vec::new();
    numbers(&whole, &Path::new(), &mut paths);
    let (mut refused, mut worked) = (0, 0);
    for (number, path) in paths.iter().enumerate() {
        for extreme in extremes().into_iter().skip(number % step).step_by(step) {
            let what = format!("{name}: {} = {extreme}", path.join("."));
            let mut changed = whole.clone();
            set(&mut changed, path, &extreme);
            let text = toml::to_string(&changed).unwrap();
            match Model::parse(name, &text) {
                Ok(model) => {
                    worked += 1;
                    check_work(&model, &what);
                }
                Err(error) => {
                    refused += 1;
                    check_refusal(&error, &text, path, &what);
                }
            }
        }
    }
    (refused, worked)
}

#[test]
fn extreme_numbers_in_every_model_are_refused_or_work() {
    for &(name, text) in BUILT_IN {
        let (refused, worked) = try_extremes(name, text, 6);
        assert!(refused > 30 && worked > 5, "{name}: {refused} refused, {worked} worked");
    }
}

#[test]
#[ignore = "takes a minute; cargo xtask soak runs it"]
fn each_extreme_number_is_refused_or_works() {
    for &(name, text) in BUILT_IN {
        let (refused, worked) = try_extremes(name, text, 1);
        assert!(refused > 200 && worked > 50, "{name}: {refused} refused, {worked} worked");
    }
}

/// Numbers that are each accepted somewhere, several at once: what they make together must be checked too.
#[test]
fn several_extreme_numbers_at_once_are_refused_or_work() {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(20);
    let ends = [60.0, 0.01, 1e4, 3e4, 1e6, 1e9, 1e18].map(Value::Float);
    let ends =
        ends.into_iter().chain([4, 64, 65_536, 1_000_000, 1_000_000_000].map(Value::Integer));
    let ends: Vec<Value> = ends.collect();
    let mut worked = 0;
    for name in ["wd20ears", "st8000as0002-smr", "usb-16tb", "toshiba-xg6-1tb"] {
        let whole = Value::Table(text_of(name).parse::<Table>().unwrap());
        let mut paths = Vec::new();
        numbers(&whole, &Path::new(), &mut paths);
        for _ in 0..1500 {
            let (mut changed, mut what) = (whole.clone(), name.to_string());
            for _ in 0..random.random_range(2..5) {
                let path = &paths[random.random_range(0..paths.len())];
                let end = &ends[random.random_range(0..ends.len())];
                set(&mut changed, path, end);
                what += &format!(", {} = {end}", path.join("."));
            }
            if let Ok(model) = Model::parse(name, &toml::to_string(&changed).unwrap()) {
                worked += 1;
                check_work(&model, &what);
            }
        }
    }
    assert!(worked > 200, "{worked}");
}

#[test]
fn refusals_say_what_would_be_accepted() {
    for (model, from, to, words) in [
        (
            "wd40efrx",
            "far_slope_ms = 11.1 ",
            "far_slope_ms = inf",
            "ms: is inf; give 0 to 10000 ms",
        ),
        ("wd40efrx", "far_slope_ms = 11.1 ", "far_slope_ms = -11.1", "slope_ms: is -11.1; give 0"),
        ("wd40efrx", "single_ms = 1.4 ", "single_ms = 1e300", "is 1e300; give 0.001 to 10000"),
        ("wd40efrx", "single_ms = 1.4 ", "single_ms = 9", "twice the 1.412 ms of two cylinders"),
        ("wd40efrx", "far_base_ms = 4.51 ", "far_base_ms = 1.0", "_base_ms: makes the curve fall"),
        ("wd40efrx", "near_root_ms = 11.78 ", "near_root_ms = nan", "near_root_ms: is NaN"),
        ("wd40efrx", "mb_s = 207.1", "mb_s = 0", "media_mb_s: is 0; give 0.01 to 1000000 MB/s"),
        ("wd40efrx", "mb_s = 207.1", "mb_s = 900000", "2441406 sectors in a turn of 11.111 ms"),
        ("wd40efrx", "\nrpm = 5400", "\nrpm = 1e-9", "hdd.rpm: is 1e-9; give 60 to 30000"),
        ("wd40efrx", "4000787030016", "9223372036854775296", "capacity_bytes: is 9.2233"),
        ("wd40efrx", "rotation_rpm = 5400", "rotation_rpm = 0", "can report 1025 to 65534"),
        ("wd40efrx", "buffer_mib = 64", "buffer_mib = 63", "63, less than the 64 MiB of its two"),
        ("wd40efrx", "name = \"wd40efrx\"", "name = \"\"", "wd40efrx:1: name: is empty"),
        ("wd40efrx", "name = \"wd40efrx\"", "name = \"a\\nb\"", "efrx:1: name: has a line break"),
        (
            "wd40efrx",
            "serial = \"SIM",
            "serial = \"\\u001b[2J",
            "identity.serial: has a line break",
        ),
        ("easystore-2tb", "cache_gib = 16 ", "cache_gib = 4000", "is 4000, more than the whole"),
        ("samsung-860evo-1tb", "max_gb = 36 ", "max_gb = 1e9", "give 0 to the capacity"),
    ] {
        let message = refusal(model, from, to).to_string();
        assert!(message.contains(words), "{message}");
    }
}
