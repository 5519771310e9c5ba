//! `sim mount`: serves a model in real time, until it is stopped and no longer used.

use crate::arguments::MountArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::signals::RunSignals;
use drivescope_drive::DriveError;
use drivescope_drive::simulated::spec::Spec;
use drivescope_model::units::Bytes;
use drivescope_mount::{ServeOptions, ServeReport, Server, resolve};
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Programs that look for file systems open a new device for a moment; an open device is in use after this time.
const GLANCE: Duration = Duration::from_secs(1);
/// How long a forced end waits for file systems to write their dirty pages: a hard disk needs this.
const SAVE_MAX: Duration = Duration::from_secs(60);

pub fn mount(arguments: &MountArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let spec = Spec::parse(&arguments.model).map_err(DriveError::from)?;
    let drive = spec.build_for_real_time().map_err(DriveError::from)?;
    for note in &spec.notes {
        output::remark(note);
    }
    let identity = spec.model.shown();
    let mount_point = resolve(&arguments.mount_point);
    let options = ServeOptions {
        model: spec.model.name.clone(),
        backing: backing(arguments, &mount_point)?,
        mount_point,
        block: arguments.block,
        sector_bytes: identity.reported_logical_sector_bytes,
        rotational: spec.model.looks_rotating(),
        trim: spec.model.takes_trim(),
        gone_at: spec.start.planted.gone_at,
        fake: spec.fake,
    };
    // No signal ends this by itself: contents would be lost.
    signals.begin_held();
    let mut server =
        Server::start(drive, &options).map_err(|error| Failure::usage(error.to_string()))?;
    introduce(&server, &identity.model, &options.backing, spec.model.capacity_bytes());
    serve(&mut server, signals);
    let report = server.stop();
    output::print_line(&report.to_string());
    outcome(&report)
}

/// The named file, or `NAME.img` beside the mount point.
fn backing(arguments: &MountArguments, mount_point: &Path) -> Result<PathBuf, Failure> {
    if let Some(named) = &arguments.backing {
        return Ok(resolve(named));
    }
    let Some(name) = mount_point.file_name() else {
        let place = mount_point.display();
        return Err(Failure::usage(format!("cannot mount on {place}: name an empty directory")));
    };
    let mut name = name.to_owned();
    name.push(".img");
    Ok(mount_point.with_file_name(name))
}

/// Says where the drive is, what is kept, and what the path to it costs.
fn introduce(server: &Server, model: &str, backing: &Path, capacity: u64) {
    output::print_wrapped(&format!("{model} is served as {}", server.path().display()));
    if let Some(device) = server.block_device() {
        output::print_wrapped(&format!("and as {}", device.display()));
    }
    let (size, now) = (Bytes(capacity), Bytes(server.backing_bytes()));
    output::print_wrapped(&format!(
        "contents are kept in {} ({size}, sparse: {now} on disk now); the file stays afterwards",
        backing.display()
    ));
    let ServeReport { file_path, device_path, .. } = server.report();
    for (path, what) in [(file_path, "file"), (device_path, "block device")] {
        if let Some(path) = path {
            output::print_wrapped(&format!(
                "path through the {what}: {path}, added to the model's time"
            ));
        }
    }
    output::note("press Ctrl-C to stop");
}

/// Serves the drive until it is unmounted, a signal comes while it is unused, or a second signal comes after its users
/// were listed.
fn serve(server: &mut Server, signals: &RunSignals) {
    let mut shown = 0;
    let mut asked_at = None;
    let mut users_told = false;
    while !server.has_ended() {
        std::thread::sleep(LOOK_EVERY);
        let troubles = server.report().troubles;
        troubles.iter().skip(shown).for_each(|trouble| output::complain(trouble));
        shown = troubles.len();
        if !signals.was_signalled() {
            continue;
        }
        let since: &Instant = asked_at.get_or_insert_with(Instant::now);
        if server.release() {
            return;
        }
        if users_told && signals.was_signalled_again() {
            return save(server, signals);
        }
        if !users_told && since.elapsed() > GLANCE {
            list_users(server);
            users_told = true;
            // Only who has read this insists.
            signals.was_signalled_again();
        }
    }
}

fn list_users(server: &Server) {
    let users = server.users();
    if users.is_empty() {
        output::complain("still in use: a program has it open")
    } else {
        users.iter().for_each(|user| output::complain(&format!("still in use: {user}")))
    }
    output::note(
        "waiting until they are done (unmount file systems first); Ctrl-C again disconnects them",
    );
}

/// Writes dirty pages of the drive's users, unless that hangs.
fn save(server: &Server, signals: &RunSignals) {
    let done = match server.save() {
        Ok(done) => done,
        Err(error) => return output::complain(&error.to_string()),
    };
    output::note("file systems are writing their cached data; Ctrl-C again quits without waiting");
    let start = Instant::now();
    loop {
        match done.recv_timeout(LOOK_EVERY) {
            Ok(lost) => return lost.iter().for_each(|line| output::complain(line)),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if signals.was_signalled_again() || start.elapsed() > SAVE_MAX {
            return output::complain("not everything was written: the rest is lost");
        }
    }
}

/// The exit code, with a line that explains a failure.
fn outcome(report: &ServeReport) -> Result<Code, Failure> {
    let lines: Vec<&str> =
        report.troubles.iter().chain(&report.cut_off).map(String::as_str).collect();
    let code = match (report.troubles.is_empty(), report.cut_off.is_empty()) {
        (true, true) => return Ok(Code::Ok),
        (true, false) => Code::Interrupted,
        (false, _) => Code::Device,
    };
    Err(Failure { message: lines.join("; "), code })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_and_cut_users_set_the_exit_code() {
        fn report(troubles: &[&str], cut_off: &[&str]) -> Result<Code, Failure> {
            let lines = |all: &[&str]| all.iter().map(|line| (*line).to_string()).collect();
            outcome(&ServeReport {
                troubles: lines(troubles),
                cut_off: lines(cut_off),
                ..ServeReport::default()
            })
        }
        assert_eq!(report(&[], &[]).unwrap(), Code::Ok);
        assert_eq!(report(&[], &["used"]).unwrap_err().code, Code::Interrupted);
        let both = report(&["full", "late"], &["used"]).unwrap_err();
        assert_eq!((both.code, both.message.as_str()), (Code::Device, "full; late; used"));
    }

    #[test]
    fn default_backing_file_is_beside_the_mount_point() {
        fn arguments(backing: Option<&str>) -> MountArguments {
            MountArguments {
                model: "wd40efrx".into(),
                mount_point: ".".into(),
                block: false,
                backing: backing.map(PathBuf::from),
            }
        }
        let default = |place: &str| backing(&arguments(None), Path::new(place));
        assert_eq!(default("/mnt/drive").unwrap(), Path::new("/mnt/drive.img"));
        assert_eq!(default("/mnt/a.b").unwrap(), Path::new("/mnt/a.b.img"));
        assert!(default("/").unwrap_err().message.contains("empty directory"));
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(resolve(Path::new(".")), here);
        let named = backing(&arguments(Some("contents")), Path::new("/")).unwrap();
        assert_eq!(named, here.join("contents"));
    }
}
