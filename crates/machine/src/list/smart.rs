//! Health of a drive, asked of smartctl, or of nvme where that is missing.

use super::nvme_report::as_smartctl;
use super::smart_report::{Report, add_farm, json_of, lacks_farm, no_json, read};
use drivescope_model::drive::DriveKind;
use drivescope_model::units::Bytes;
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A drive in trouble may answer late; drives that never answer must not stop the list.
const TIMEOUT: Duration = Duration::from_secs(20);

const POLL: Duration = Duration::from_millis(5);

/// More than any report has: a program that never stops must not fill the memory.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;

/// Where smartctl is when it is not on the path of an ordinary user.
const SYSTEM_DIRS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// The drive's report on itself; the note of its health says why nothing more is known.
pub fn ask(node: &Path, kind: DriveKind, transport: &str) -> Report {
    if let Some(why) = not_asked(kind, transport) {
        return Report::note(why);
    }
    if let Some(program) = find_program("smartctl") {
        return asked(|| Command::new(&program), node);
    }
    match (kind, find_program("nvme")) {
        (DriveKind::Nvme, Some(program)) => asked_of_nvme(|| Command::new(&program), node),
        _ => {
            let why = "health: smartctl is not installed; install smartmontools";
            Report::note(why.to_string())
        }
    }
}

fn asked(smartctl: impl Fn() -> Command, node: &Path) -> Report {
    let printed = |logs: &[&str]| {
        let mut command = smartctl();
        // A sleeping drive is not woken for a list.
        command.args(["--json=c", "-n", "standby"]).args(logs).arg(node);
        capture(command, TIMEOUT)
    };
    match printed(&["-x"]) {
        Ok(output) => json_of(&output).map_or_else(no_json, |mut report| {
            let farm = lacks_farm(&report).then(|| printed(&["-l", "farm"]).ok()).flatten();
            if let Some(farm) = farm.and_then(|output| json_of(&output)) {
                add_farm(&mut report, &farm);
            }
            read(&report)
        }),
        Err(why) => Report::note(format!("health: smartctl {why}")),
    }
}

fn asked_of_nvme(nvme: impl Fn() -> Command, node: &Path) -> Report {
    let printed = |log: &str| {
        let mut command = nvme();
        command.arg(log).arg(node).args(["-o", "json"]);
        capture(command, TIMEOUT)
    };
    let health = match printed("smart-log") {
        Ok(output) => json_of(&output).unwrap_or_default(),
        Err(why) => return Report::note(format!("health: nvme {why}")),
    };
    let other = |log: &str| -> Value {
        printed(log).ok().and_then(|output| json_of(&output)).unwrap_or_default()
    };
    let report = as_smartctl(&health, &other("id-ctrl"), &other("self-test-log"));
    report.map_or_else(
        || {
            let why = "health: nvme read no health log; run with sudo, or install smartmontools";
            Report::note(why.to_string())
        },
        |report| read(&report),
    )
}

fn not_asked(kind: DriveKind, transport: &str) -> Option<String> {
    let why = match kind {
        DriveKind::Loop | DriveKind::Memory | DriveKind::Simulated => "not applicable",
        DriveKind::Composite => "see the drives below it",
        DriveKind::Virtual => "known only to the host of the virtual machine",
        DriveKind::Card | DriveKind::Optical => "not supported by smartctl for this kind of drive",
        DriveKind::HardDisk | DriveKind::Ssd | DriveKind::Nvme | DriveKind::Unknown => {
            match transport {
                "virtio" => "known only to the host of the virtual machine",
                "unknown" | "network" | "nvdimm" => {
                    "not supported by smartctl for this kind of drive"
                }
                _ => return None,
            }
        }
    };
    Some(format!("health: {why}"))
}

/// A program on the path, or where system programs are.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_DIRS.iter().map(PathBuf::from))
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|program| program.is_file())
}

/// What a program prints, whatever its exit code: smartctl's is a set of bits. The error continues
/// the sentence "smartctl …" or "nvme …".
fn capture(mut command: Command, timeout: Duration) -> Result<Vec<u8>, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("could not be started ({e})"))?;
    let mut stdout = child.stdout.take().expect("stdout is piped").take(OUTPUT_BYTES_MAX);
    let (send, receive) = mpsc::channel();
    // A thread, because a full pipe would stop the program before its end.
    let reader = std::thread::Builder::new().spawn(move || {
        let mut output = Vec::new();
        let result = stdout.read_to_end(&mut output).map(|_| output);
        // After a timeout the receiver is gone and the output is not needed.
        let _ = send.send(result);
    });
    if let Err(e) = reader {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("could not be read ({e})"));
    }
    let deadline = Instant::now() + timeout;
    let answer = receive.recv_timeout(timeout);
    loop {
        match child.try_wait() {
            Ok(None) if answer.is_ok() && Instant::now() < deadline => std::thread::sleep(POLL),
            Ok(None) => {
                // It may not have been reachable for a signal: a drive can hold it in the kernel. So
                // a thread waits for its end.
                let _ = child.kill();
                let _ = std::thread::Builder::new().spawn(move || child.wait());
                let seconds = timeout.as_secs_f64();
                return Err(format!("did not end within {seconds} s; see dmesg"));
            }
            Ok(Some(_)) => break,
            Err(e) => return Err(format!("could not be waited for ({e})")),
        }
    }
    match answer {
        Ok(Ok(output)) if output.len() as u64 == OUTPUT_BYTES_MAX => {
            Err(format!("printed more than {}", Bytes(OUTPUT_BYTES_MAX)))
        }
        Ok(Ok(output)) => Ok(output),
        Ok(Err(e)) => Err(format!("could not be read ({e})")),
        Err(_) => Err("ended without closing its output".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn shell_with_arguments(script: &str) -> Command {
        let mut command = shell(script);
        command.arg("smartctl");
        command
    }

    #[test]
    fn output_counts_with_any_exit_code_and_length() {
        let output = capture(shell("printf hello; exit 4"), TIMEOUT).unwrap();
        assert_eq!(output, b"hello");
        let long = capture(shell("head -c 300000 /dev/zero"), TIMEOUT).unwrap();
        assert_eq!(long.len(), 300_000);
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let error = capture(shell("exec sleep 600"), Duration::from_millis(50)).unwrap_err();
        assert!(error.contains("did not end"), "{error}");
        let closed = "exec sleep 600 >&-";
        let error = capture(shell(closed), Duration::from_millis(50)).unwrap_err();
        assert!(error.contains("did not end"), "{error}");
    }

    #[test]
    fn endless_output_is_cut_off() {
        let error = capture(shell("exec yes"), TIMEOUT).unwrap_err();
        assert_eq!(error, "printed more than 16.8 MB");
    }

    #[test]
    fn a_program_that_is_absent_is_an_error() {
        let error = capture(Command::new("/absent/smartctl"), TIMEOUT).unwrap_err();
        assert!(error.contains("could not be started"), "{error}");
        assert_eq!(find_program("no-such-program-anywhere"), None);
        assert!(find_program("sh").is_some());
    }

    /// `-x` only says that there is a FARM log; smartctl before 7.4 does not know `-l farm`.
    #[test]
    fn drive_is_asked_once_and_again_for_its_farm_log() {
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/src/list/smart_report/samples");
        let ask = |script: &str| {
            let script = script.replace("SAMPLES", samples);
            asked(|| shell_with_arguments(&script), Path::new("/dev/sda")).health
        };
        let health = ask(r#"case "$*" in
            "--json=c -n standby -x /dev/sda") sed 's/"page_1_[^}]*}/"x": 1/' SAMPLES/farm.json;;
            "--json=c -n standby -l farm /dev/sda") cat SAMPLES/farm.json;;
            esac"#);
        assert_eq!(health.farm.and_then(|farm| farm.power_on), Some(22_341));
        let refused = ask(r#"case "$*" in
            *farm*) echo "INVALID ARGUMENT TO -l: farm"; exit 1;;
            *) sed 's/"page_1_[^}]*}/"x": 1/' SAMPLES/farm.json;;
            esac"#);
        assert_eq!((refused.power_on_hours, refused.farm), (Some(12), None));
        let asleep =
            ask(r#"echo '{"smartctl":{"messages":[{"string":"Device is in STANDBY mode, exit(2)",
            "severity":"information"}],"exit_status":2}}'; exit 2"#);
        assert_eq!(asleep.note.unwrap(), "health: the drive is asleep and was not woken");
    }

    #[test]
    fn nvme_is_asked_for_three_logs() {
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/src/list/smart_report/samples");
        let ask = |script: &str| {
            let script = script.replace("SAMPLES", samples);
            asked_of_nvme(|| shell_with_arguments(&script), Path::new("/dev/nvme0n1")).health
        };
        let health =
            ask(r#"[ "$2 $3 $4" = "/dev/nvme0n1 -o json" ] && cat SAMPLES/nvme-cli-$1.json"#);
        assert_eq!((health.power_on_hours, health.limit_c), (Some(6_487), Some(84.0)));
        assert_eq!((health.self_tests.len(), health.note), (3, None));
        let refused = ask("echo 'smart log: Permission denied' >&2; exit 1").note.unwrap();
        assert!(refused.contains("run with sudo"), "{refused}");
    }

    #[test]
    fn devices_without_health_are_not_asked() {
        for (kind, transport) in [
            (DriveKind::Loop, "loop"),
            (DriveKind::Memory, "memory"),
            (DriveKind::Composite, "dm"),
            (DriveKind::Virtual, "virtio"),
            (DriveKind::Virtual, "sata"),
            (DriveKind::Card, "mmc"),
            (DriveKind::Unknown, "network"),
        ] {
            let report = ask(Path::new("/absent"), kind, transport);
            let note = report.health.note.unwrap();
            assert!(
                note.starts_with("health: ") && !note.starts_with("health: smartctl"),
                "{note}"
            );
            assert_eq!(report.health.passed, None);
        }
        for (kind, transport) in [
            (DriveKind::HardDisk, "sata"),
            (DriveKind::Ssd, "usb"),
            (DriveKind::Nvme, "nvme"),
            (DriveKind::Unknown, "usb"),
        ] {
            assert_eq!(not_asked(kind, transport), None, "{kind:?}");
        }
    }
}
