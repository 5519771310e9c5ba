//! Mount points that are taken, and what a killed server leaves.

use super::*;
use std::process::{Child, Stdio};

/// Where the helper process serves; set only for that process.
const CHILD: &str = "DRIVESCOPE_SERVE_CHILD";

#[test]
fn second_server_does_not_touch_a_used_drive() {
    let Some(place) = Place::for_file() else { return };
    let elsewhere = Place::new();
    let server = place.serve(instant());
    open(server.path()).write_all_at(&pattern(1, 512), 0).unwrap();
    let error = Server::start(Box::new(instant()), &place.options()).unwrap_err();
    assert!(matches!(error, ServeError::Busy { .. }), "{error}");
    assert!(error.to_string().contains("drivescope-sim"), "{error}");
    let shared = ServeOptions { backing: place.options().backing, ..elsewhere.options() };
    let error = Server::start(Box::new(instant()), &shared).unwrap_err().to_string();
    assert!(error.contains("another server"), "{error}");
    assert!(!elsewhere.is_mounted());
    let hidden = ServeOptions { backing: elsewhere.mount_point().join("x"), ..elsewhere.options() };
    let error = Server::start(Box::new(instant()), &hidden).unwrap_err().to_string();
    assert!(error.contains("below the mount point"), "{error}");
    let mut read = [0; 512];
    open(server.path()).read_exact_at(&mut read, 0).unwrap();
    assert_eq!(read[..], pattern(1, 512));
}

#[test]
fn failed_mount_leaves_no_empty_file() {
    let Some(place) = Place::for_file() else { return };
    // Longer than what the kernel takes as the source of a mount.
    let options = ServeOptions { model: "x".repeat(10_000), ..place.options() };
    let refused = || Server::start(Box::new(instant()), &options).unwrap_err().to_string();
    assert!(refused().contains("mounting failed"), "{}", refused());
    assert!(!options.backing.exists(), "it was made for this alone");
    std::fs::write(&options.backing, "").unwrap();
    refused();
    assert!(options.backing.exists(), "it was there before");
    assert!(!place.is_mounted());
}

#[test]
fn manual_unmount_is_noticed_and_harmless() {
    let Some(place) = Place::for_file() else { return };
    let server = place.serve(instant());
    assert!(!server.has_ended());
    run("umount", &[place.mount_point().to_str().unwrap()]);
    wait_until("it is not noticed", || server.has_ended());
    // Another program's mount on the same directory stays.
    run("mount", &["-t", "tmpfs", "none", place.mount_point().to_str().unwrap()]);
    let ServeReport { troubles, cut_off, .. } = server.stop();
    let stays = place.is_mounted();
    run("umount", &[place.mount_point().to_str().unwrap()]);
    assert!(stays && troubles.is_empty() && cut_off.is_empty(), "{troubles:?} {cut_off:?}");
}

#[test]
fn user_of_a_detached_mount_is_not_interrupted() {
    for block in [true, false] {
        let Some(place) = Place::for_device() else { return };
        let mut server = serve(instant(), &ServeOptions { block, ..place.options() });
        let user = open(&server.block_device().unwrap_or_else(|| server.path().into()));
        run("umount", &["-l", place.mount_point().to_str().unwrap()]);
        for _ in 0..2 {
            assert!(!server.release(), "block {block}: it is in use");
            user.write_all_at(&pattern(3, 4096), 4096).unwrap();
            user.sync_all().unwrap();
        }
        drop(user);
        wait_until(&format!("block {block}: it does not end"), || server.release());
        let report = server.stop();
        assert_eq!((report.cut_off.len(), report.troubles.len()), (0, 0), "{report:?}");
    }
}

/// The helper process; killed when dropped.
struct Victim(Child);

impl Victim {
    fn start(place: &Place) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "tests::remains::server_to_be_killed"]);
        command.env(CHILD, place.dir.path()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The helper process of the test below; without its variable it is done at once.
#[test]
fn server_to_be_killed() {
    let Some(dir) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let server = serve(instant(), &ServeOptions { block: true, ..options_in(&dir) });
    let node = server.block_device().unwrap();
    std::fs::write(dir.join("ready.part"), node.to_str().unwrap()).unwrap();
    std::fs::rename(dir.join("ready.part"), dir.join("ready")).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn next_server_cleans_up_after_a_kill() {
    let Some(place) = Place::for_device() else { return };
    let mut victim = Victim::start(&place);
    let ready = place.dir.path().join("ready");
    wait_until("the helper does not start", || ready.exists());
    let node = PathBuf::from(std::fs::read_to_string(&ready).unwrap());
    // A user of the device keeps it attached beyond the death of its server.
    let user = open(&node);
    user.write_all_at(b"kept", 0).unwrap();
    user.sync_all().unwrap();
    victim.kill();
    assert!(place.is_mounted(), "the kernel leaves the mount");
    assert_eq!(errno_of(std::fs::read_dir(place.mount_point())), libc::ENOTCONN);
    let server = place.serve_block(instant());
    assert_ne!(server.block_device().unwrap(), node, "the old one is still in use");
    let mut read = [0; 4];
    open(server.path()).read_exact_at(&mut read, 0).unwrap();
    assert_eq!(&read, b"kept", "contents outlive the server");
    drop(user);
    let name = name_of(&node);
    let old = PathBuf::from(format!("/sys/block/{name}/loop/backing_file"));
    let is_attached = || std::fs::read_to_string(&old).is_ok_and(|file| file.contains("disk.img"));
    wait_until(&format!("{name} stays attached"), || !is_attached());
    assert_eq!(server.stop().cut_off, [""; 0]);
    assert!(!place.is_mounted());
}
