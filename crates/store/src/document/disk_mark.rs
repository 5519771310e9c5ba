//! The text that CrystalDiskMark and KDiskMark save: rows such as
//! `SEQ    1MiB (Q=  8, T= 1):   560.000 MB/s [    534.1 IOPS] < 14960.00 us>` below `[Read]` or `[Write]`. Rows of
//! versions before 7 name the direction instead (`Random Read 4KiB (Q= 32,T= 1) :`), and have no block in sequential
//! ones, which are left out.

use super::FormatError;
use super::controls;
use super::imported_run::{ImportedRun, Rounds, TRANSFER};
use drivescope_model::cell::{Cell, Mix, Order, Shape};
use drivescope_model::document::{Run, TestStatus};
use drivescope_model::plan::Engine;
use drivescope_model::units::Bytes;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// First words of the titles.
const PROGRAMS: [&str; 2] = ["CrystalDiskMark", "KDiskMark"];
/// KDiskMark divides fio's KiB/s by 1,000 and calls them MB/s: one of its MB/s is 1,024,000 bytes/s (its issue 122).
/// A rate is corrected where the IOPS of its row show this.
const KDISKMARK_MB: f64 = 1.024;

struct MarkRow {
    shape: Shape,
    mb_s: f64,
    iops: Option<f64>,
    lat_mean_us: Option<f64>,
}

/// `None`: the text is from neither program. Errors: no row is a cell.
pub fn run(text: &str) -> Result<Option<Run>, FormatError> {
    let Some((program, version)) = text.lines().take(12).find_map(title) else { return Ok(None) };
    let text = controls::without(&text.replace('\r', ""));
    let (mut rounds, mut left_out, mut section) = (Rounds::new(), Vec::new(), String::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section =
                line.trim_start_matches('[').split(']').next().unwrap_or_default().to_string();
        }
        let Some((head, figures)) = line.split_once("):").or_else(|| line.split_once(") :")) else {
            continue;
        };
        if !figures.contains("MB/s") {
            continue;
        }
        match row(head, figures, &section) {
            Ok((row, mix)) => row.add_to(mix, program, &mut rounds),
            Err(why) => left_out.push(format!("{head}): {why}")),
        }
    }
    if rounds.is_empty() {
        let why =
            if left_out.is_empty() { "it has no rows".to_string() } else { left_out.join("; ") };
        let message =
            format!("no row of this text of {program} can be compared with a cell ({why})");
        return Err(FormatError::NotARun(message));
    }
    let date = after(&text, "Date");
    let note = date.is_none().then(|| "the text has no date".to_string());
    Ok(Some(
        ImportedRun {
            test: TRANSFER,
            tool: program,
            version: &version,
            identity: &text,
            started: date.and_then(started).unwrap_or_default(),
            elapsed_s: 0.0,
            status: TestStatus::Done,
            reason: (!left_out.is_empty()).then(|| left_out.join("; ")),
            note,
            host: "",
            path: drive_letter(&text).unwrap_or("unknown"),
            engine: Engine::Auto,
        }
        .with(rounds),
    ))
}

/// Program and version from a line such as `CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo` or `KDiskMark (3.1.2):
/// https://github.com/JonMagon/KDiskMark`.
fn title(line: &str) -> Option<(&'static str, String)> {
    let line = line.trim();
    let program = PROGRAMS.into_iter().find(|name| line.starts_with(name))?;
    let version = line[program.len()..].split_whitespace().next()?;
    let version = version.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| (program, version.to_string()))
}

/// Reads a row: `SEQ    1MiB (Q=  8, T= 1` and the text after its colon.
fn row(head: &str, figures: &str, section: &str) -> Result<(MarkRow, Mix), String> {
    let (name, load) = head.split_once('(').ok_or("its depth is missing")?;
    let words: Vec<&str> = name.split_whitespace().collect();
    let (order, rest) = match words.split_first() {
        Some((&("SEQ" | "Sequential"), rest)) => (Order::Seq, rest),
        Some((&("RND" | "Random"), rest)) => (Order::Rnd, rest),
        _ => return Err("it is neither sequential nor random".to_string()),
    };
    let (direction, rest) = match rest {
        [first @ ("Read" | "Write"), rest @ ..] => (*first, rest),
        rest => (section, rest),
    };
    let mix = match direction {
        "Read" => Mix::READ,
        "Write" => Mix::WRITE,
        _ => return Err("neither reads nor writes only".to_string()),
    };
    let block = rest.concat();
    if block.is_empty() {
        return Err("the size of its requests is not in the text".to_string());
    }
    let block: Bytes = block.parse().map_err(|_| format!("a request of {block}"))?;
    let load = |letter: &str| {
        let parts = load.split(',').filter_map(|part| part.split_once('='));
        let found =
            parts.map(|(name, value)| (name.trim(), value.trim())).find(|it| it.0 == letter);
        found.map_or(Ok(1), |(_, value)| value.parse().map_err(|_| format!("{letter}={value}")))
    };
    let shape =
        Shape::new(order, block, load("Q")?, load("T")?).map_err(|error| error.to_string())?;
    let mb_s = figures.split("MB/s").next().and_then(number).ok_or("it has no rate")?;
    let between = |open: char, unit: &str| number(figures.split_once(open)?.1.split_once(unit)?.0);
    let (iops, lat_mean_us) = (between('[', "IOPS"), between('<', "us"));
    Ok((MarkRow { shape, mb_s, iops, lat_mean_us }, mix))
}

impl MarkRow {
    fn add_to(&self, mix: Mix, program: &str, rounds: &mut Rounds) {
        let Self { shape, mb_s, iops, lat_mean_us } = *self;
        let is_kdiskmark = program == "KDiskMark";
        let by_iops = iops.map(|iops| iops * shape.block.0 as f64 / 1e6);
        let is_short = |by_iops: f64| (by_iops / mb_s - KDISKMARK_MB).abs() < 0.01;
        let factor = if is_kdiskmark && by_iops.is_some_and(is_short) { KDISKMARK_MB } else { 1.0 };
        // KDiskMark's latency is of completion alone.
        let latency = lat_mean_us.filter(|_| !is_kdiskmark);
        let cell = Cell { shape, mix }.to_string();
        let figures = [("mb_s", Some(mb_s * factor)), ("iops", iops), ("lat_mean_us", latency)];
        for (quantity, value) in figures {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                rounds.entry((cell.clone(), quantity)).or_default().push(value);
            }
        }
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// The text after `name:` on a line of its own.
fn after<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim())
    })
}

/// Reads `2021/06/01 12:34:56`, local time; the text does not have the time zone.
fn started(date: &str) -> Option<Timestamp> {
    let date: DateTime = date.replace('/', "-").parse().ok()?;
    TimeZone::UTC.to_timestamp(date).ok()
}

/// The drive from a line such as `Test: 1 GiB (x5) [C: 50% (118/237GiB)]`.
fn drive_letter(text: &str) -> Option<&str> {
    let (_, inside) = after(text, "Test")?.split_once('[')?;
    let letter = inside.get(..2)?;
    letter.ends_with(':').then_some(letter)
}

#[cfg(test)]
mod tests {
    use super::super::from_file;

    const OLD: &str = "\
-----------------------------------------------------------------------
CrystalDiskMark 6.0.0 x64 (C) 2007-2017 hiyohiyo
                          Crystal Dew World : https://crystalmark.info/
-----------------------------------------------------------------------
   Sequential Read (Q= 32,T= 1) :   560.000 MB/s
  Random Write 4KiB (Q=  8,T= 8) :   300.000 MB/s [  73242.2 IOPS]

  Test : 1024 MiB [D: 50.0% (118.8/237.6 GiB)] (x5)  [Interval=5 sec]
  Date : 2017/11/03 12:00:00
";

    fn figure(text: &str, key: &str) -> Option<f64> {
        let run = from_file(text).unwrap_or_else(|error| panic!("{error}")).remove(0);
        run.metric(&format!("transfer.{key}")).map(|metric| metric.value)
    }

    #[test]
    fn rows_of_crystaldiskmark_are_cells() {
        let text = include_str!("../../fixtures/crystaldiskmark_8.txt");
        assert_eq!(figure(text, "seq1m_q8t1.read.mb_s"), Some(560.0));
        assert_eq!(figure(text, "rnd4k_q1t1.read.mb_s"), Some(45.0));
        assert_eq!(figure(text, "rnd4k_q1t1.read.iops"), Some(10986.3));
        assert_eq!(figure(text, "rnd4k_q1t1.read.lat_mean_us"), Some(90.0));
        let write = text.replace("[Read]", "[Write]").replace('\n', "\r\n");
        assert_eq!(figure(&write, "rnd4k_q1t1.write.mb_s"), Some(45.0));
        let mixed = from_file(&text.replace("[Read]", "[Mix] Read 70%/Write 30%"));
        assert!(mixed.unwrap_err().to_string().contains("neither reads nor writes only"));
    }

    #[test]
    fn megabytes_of_kdiskmark_are_those_of_its_iops() {
        let text = "KDiskMark (3.1.2): https://github.com/JonMagon/KDiskMark\n\n[Read]\n\
                    Sequential   1 MiB (Q=  8, T= 1):  5683.719 MB/s [   5550.5 IOPS] <  1440.37 us>\n\
                    Random   4 KiB (Q=  1, T= 1):    40.960 MB/s [  10000.0 IOPS] <    99.00 us>\n";
        let sequential = figure(text, "seq1m_q8t1.read.mb_s").unwrap();
        assert!((sequential - 5550.5 * 1.048576).abs() < 0.1, "{sequential}");
        assert_eq!(
            figure(text, "rnd4k_q1t1.read.mb_s"),
            Some(40.96),
            "a version without the fault"
        );
        assert_eq!(figure(text, "rnd4k_q1t1.read.lat_mean_us"), None);
    }

    #[test]
    fn rows_without_a_block_are_left_out_and_named() {
        let run = from_file(OLD).unwrap().remove(0);
        assert_eq!(figure(OLD, "rnd4k_q8t8.write.mb_s"), Some(300.0));
        let reason = run.tests[0].reason.as_deref().unwrap_or_default();
        assert!(reason.contains("Sequential Read (Q= 32,T= 1"), "{reason}");
        let head = (run.tool.version.as_str(), run.started_at.as_str(), run.target.path.as_str());
        assert_eq!(head, ("6.0.0", "2017-11-03T12:00:00Z", "D:"));
    }
}
