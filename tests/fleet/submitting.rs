//! `fleet submit` and `fleet cancel`.

use super::{Fleet, HOSTILE, disk, facts};
use crate::support::json::{array, text};
use crate::support::must_have;
use drivescope_model::plan::WriteLevel;

#[test]
fn submission_reaches_the_selected_drives_once() {
    let Some(fleet) = Fleet::small() else { return };
    let disks = ["--select", "model=~\"WDC WD40.*\" and fill<0.5 and host=~\"rack7-.*\""];
    let dry = fleet.fleet(&[&["submit", "quick", "--dry-run"], &disks[..]].concat()).code(0);
    dry.shows(&["rack7-1", "rack7-2", "/dev/sda", "2 drives · reads", "nothing is written"]);
    let dry = fleet.fleet(&["submit", "quick", "--dry-run", "--json"]).code(0).json();
    assert_eq!(array(&dry["drives"]).len(), 5);
    let written = |it: &serde_json::Value| it["cost"]["written_bytes"].as_u64().unwrap();
    let ssd = array(&dry["drives"]).iter().find(|it| it["place"] == "/srv/data").unwrap();
    assert!(written(ssd) > 1_000_000_000, "{ssd}");
    assert_eq!(fleet.sql("SELECT COUNT(*) FROM fleet_submissions"), "0");

    let with_key = [&["submit", "quick", "--key", "nightly"], &disks[..]].concat();
    let said = fleet.fleet(&with_key).code(0).stdout;
    assert_eq!(said, "submitted 2 jobs on 2 hosts as nightly; drivescope fleet watch nightly\n");
    let jobs = "SELECT string_agg(host_id || ' ' || name || ' ' || state, ', ' ORDER BY id) FROM fleet_jobs";
    must_have(&fleet.sql(jobs), &["rack7-1", "sda waiting, rack7-2"]);
    let again = fleet.fleet(&with_key).code(0).stdout;
    assert_eq!(again, "nightly was submitted before: 2 waiting; nothing new is submitted\n");
    assert_eq!(fleet.sql("SELECT COUNT(*) FROM fleet_jobs"), "2");
    for (other, what) in [
        (&["submit", "zcav", "--key", "nightly"][..], "another suite"),
        (&["submit", "quick", "--key", "nightly"], "another selector"),
        (&["submit", "quick", "--key", "nightly", "--write", "read"], "another level"),
    ] {
        fleet.fleet(other).refused_with(2, &[what, "drivescope fleet status nightly"]);
    }
    let random = fleet.fleet(&["submit", "zcav", "--json"]).code(0).json();
    let key = text(&random["submission"]["key"]);
    assert!(key.len() == 8 && key.chars().all(|c| c.is_ascii_hexdigit()), "{key}");
    assert_eq!(random["submission"]["plan"]["level"], "read");
    assert_eq!(array(&random["jobs"]).len(), 5);

    fleet.sql("UPDATE fleet_jobs SET state = 'running' WHERE host_id LIKE 'rack7-2%' AND submission = 'nightly'");
    let cancelled = fleet.fleet(&["cancel", "nightly"]).code(0).stdout;
    let expected = "cancelled 1 waiting job of nightly; 1 that runs ends when its agent polls\n";
    assert_eq!(cancelled, expected);
    fleet.fleet(&["cancel", "nigthly"]).refused_with(2, &["did you mean 'nightly'?"]);
}

#[test]
fn drives_that_cannot_be_measured_are_left_out_with_the_reason() {
    let Some(mut fleet) = Fleet::small() else { return };
    fleet
        .sql("UPDATE fleet_hosts SET last_seen = now() - INTERVAL '12 min' WHERE name = 'rack7-2'");
    let mut reader = facts("rack9-1");
    reader.ceiling = WriteLevel::Read;
    fleet.announce(&reader, &[disk("WD-9")]);
    let said = fleet.fleet(&["submit", "techhabit-copies"]).code(0);
    assert!(said.stdout.starts_with("submitted 1 job on 1 host as "), "{said}");
    for reason in [
        "left out: rack7-2 sda, rack7-2 sdb: its host was not seen for 12 min",
        "left out: rack9-1 sda: its agent accepts read at most",
        "left out: rack7-1 sda, rack8-1 sda: its agent offers no directory (--dir); copy needs",
    ] {
        assert!(said.stderr.contains(reason), "{reason}: {said}");
    }
    let none = ["submit", "quick", "--select", "host=rack7-2"];
    fleet.fleet(&none).refused_with(2, &["none of 2 matching drives", "was not seen for 12 min"]);
    let whole = ["submit", "snia-pts-iops", "--select", "host=rack8-1"];
    fleet.fleet(&whole).refused_with(2, &["--write destroy with --serial"]);
}

#[test]
fn levels_that_touch_contents_need_serial_numbers() {
    let Some(mut fleet) = Fleet::new() else { return };
    let mut destroyer = facts("lab-1");
    destroyer.ceiling = WriteLevel::Destroy;
    fleet.announce(
        &destroyer,
        &[disk("WD-1"), {
            let mut two = disk("WD 2");
            two.name = "sdb".into();
            two
        }],
    );
    let submit = ["submit", "snia-pts-iops", "--write", "destroy"];
    let message = fleet.fleet(&submit).refused(3);
    must_have(
        &message,
        &["needs the serial number of each drive", "--serial WD-1", "--serial 'WD 2'"],
    );
    let dry = fleet.fleet(&[&submit[..], &["--dry-run"]].concat()).code(0);
    dry.shows(&["writes 2", "--serial WD-1 --serial 'WD 2'"]);
    let one = [&submit[..], &["--serial", "WD-1"]].concat();
    let message = fleet.fleet(&one).refused(3);
    assert!(message.contains("'WD 2'") && !message.contains("WD-1"), "{message}");
    fleet.fleet(&[&one[..], &["--serial", "X"]].concat()).refused_with(2, &["serial number 'X'"]);
    // Below that, only for the whole fleet.
    let same = ["submit", "phybs", "--write", "same-bytes"];
    fleet.fleet(&same).refused_with(3, &["on every drive of the fleet needs each serial number"]);
    fleet.fleet(&[&same[..], &["--select", "name=sda"]].concat()).code(0);
    fleet.fleet(&[&one[..], &["--serial", "WD 2"]].concat()).code(0);
    let serials = "SELECT string_agg(COALESCE(serial, '-'), ', ' ORDER BY id) FROM fleet_jobs";
    assert_eq!(fleet.sql(serials), "-, WD-1, WD 2");
}

#[test]
fn start_at_one_instant_is_of_the_server() {
    let Some(fleet) = Fleet::small() else { return };
    let said = fleet.fleet(&["submit", "zcav", "--key", "at-once", "--together"]).code(0).stdout;
    must_have(&said, &["as at-once; all start at 20", ", in 70 s; drivescope fleet watch at-once"]);
    let wait = "SELECT ROUND(EXTRACT(EPOCH FROM go_at - submitted)) FROM fleet_submissions";
    assert!((69..=70).contains(&fleet.sql(wait).parse::<i64>().unwrap()), "{}", fleet.sql(wait));
    let at = ["submit", "zcav", "--key", "later", "--at", "2999-12-01T03:00Z"];
    fleet.fleet(&at).code(0);
    let go_at = "SELECT go_at AT TIME ZONE 'UTC' FROM fleet_submissions WHERE key = 'later'";
    assert_eq!(fleet.sql(go_at), "2999-12-01 03:00:00");
    fleet.fleet(&at).code(0).shows(&["was submitted before"]);
    let other = ["submit", "zcav", "--key", "later", "--at", "2999-12-02T03:00Z"];
    fleet.fleet(&other).refused_with(2, &["another start"]);
    for (time, why) in
        [("2020-01-01T00:00", "is over"), ("soon", "is not a time"), (HOSTILE, "is not")]
    {
        fleet.fleet(&["submit", "zcav", "--at", time]).refused_with(2, &[why]);
    }
}

#[test]
fn bad_input_is_refused_with_the_remedy() {
    let Some(fleet) = Fleet::small() else { return };
    let long = format!("host=\"{}\"", "x".repeat(9_000));
    let too_long = format!("host=\"{}\"", "x".repeat(11_000));
    for (selector, why) in [
        ("modle=x", "--select: column 1: no field 'modle' (did you mean 'model'?)"),
        ("model=~\"WD40", "column 8: the quote \" is not closed"),
        ("fill<50", "write 0.5 or 50%"),
        ("host=rack7-11", "no host is 'rack7-11'; did you mean 'rack7-1'?"),
        ("capacity>100TB", "--select matches no drive: drivescope fleet drives lists all 5"),
        (HOSTILE, "--select: column 1: expected a field"),
        (&long, "--select matches no drive"),
        (&too_long, "the expression is too long"),
    ] {
        let message =
            fleet.fleet(&["submit", "quick", "--select", selector]).refused_with(2, &[why]);
        assert!(!message.contains('\u{1b}'), "{message}");
    }
    for (key, why) in [("a b", "is not a key"), (HOSTILE, "is not a key"), ("", "is not a key")] {
        fleet.fleet(&["submit", "quick", "--key", key]).refused_with(2, &[why]);
    }
    fleet.fleet(&["submit", "qiuck"]).refused_with(2, &["did you mean 'quick'?"]);
    let suite = |name: &str, text: &str| fleet.scratch.file(name, text);
    let foreign = suite("mine.toml", "tests = [\"sql\"]\nsql.url = \"postgres://me@db/x\"\n");
    fleet.fleet(&["submit", &foreign]).refused_with(2, &["other machines need not have (sql.url)"]);
    let large = format!("tests = [\"latency\"]\n# {}\n", "x".repeat(500_000));
    fleet.fleet(&["submit", &suite("large.toml", &large)]).refused_with(2, &["450000 at most"]);
    let hostile =
        suite("hostile.toml", &format!("tests = [\"latency\"]\nname = '''{}'''", "\u{9b}31m'"));
    let said = fleet.fleet(&["submit", &hostile, "--key", "odd-name"]).code(0);
    assert!(!said.stdout.contains('\u{9b}'), "{said}");
    let shown = fleet.fleet(&["status", "odd-name"]).code(0).stdout;
    assert!(!shown.contains('\u{9b}'), "{shown}");
    let file = fleet.scratch.text("runs.db");
    let at_file = fleet.call_at(&file, &["submit", "quick"]).end();
    at_file.refused_with(2, &["a fleet needs a store on a server"]);
}

#[test]
fn fleet_without_agents_says_what_to_start() {
    let Some(fleet) = Fleet::new() else { return };
    let start = "start drivescope fleet agent on each machine";
    fleet.fleet(&["submit", "quick"]).refused_with(2, &[start]);
    fleet.fleet(&["submit", "quick", "--select", "host=x"]).refused_with(2, &[start]);
    fleet.fleet(&["hosts"]).code(0).shows(&[start]);
    fleet.fleet(&["drives"]).code(0).shows(&[start]);
    fleet.fleet(&["status"]).code(0).shows(&["nothing is submitted yet"]);
    fleet.fleet(&["watch"]).refused_with(2, &["nothing is submitted yet"]);
    fleet.fleet(&["status", "x"]).refused_with(2, &["no submission 'x'"]);
    fleet.fleet(&["cancel", HOSTILE]).refused_with(2, &["no submission"]);
    for command in ["hosts", "drives", "status"] {
        assert_eq!(fleet.fleet(&[command, "--json"]).code(0).stdout, "[]\n");
    }
}
