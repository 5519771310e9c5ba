//! What a container does not show: the gate from namespaces of its own, on real loop devices.

use super::guards::{Loop, Mount, tool};
use super::is_privileged;
use super::list::add_partition;
use crate::support::json::{array, text};
use crate::support::{Call, Scratch, skip_loudly};
use std::fs;

const MIB: u64 = 1 << 20;

#[test]
fn from_a_container_a_free_partition_beside_a_used_one_keeps_its_contents() {
    if !is_privileged() {
        return;
    }
    let namespaces = ["--mount", "--pid", "--fork", "--mount-proc"];
    if let Err(why) = tool("unshare", &[&namespaces[..], &["true"]].concat()) {
        return skip_loudly(&why);
    }
    let scratch = Scratch::new();
    let image = scratch.file("image", "");
    fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(128 * MIB).unwrap();
    let Some(device) = Loop::attach(&image, &["--partscan"]) else { return };
    let Some(_first) = add_partition(&device, 1, 2048, 64 * MIB / 512) else { return };
    let Some(_second) = add_partition(&device, 2, 2048 + 64 * MIB / 512, 32 * MIB / 512) else {
        return;
    };
    let (first, second) = (format!("{}p1", device.node), format!("{}p2", device.node));
    tool("mkfs.ext4", &["-q", "-F", &first]).unwrap();
    let Some(mount) = Mount::new(&scratch, &first, &[]) else { return };
    let phrase = format!("--destroy={}p2:{}", device.name(), 32 * MIB);
    // The mount is the machine's, and is gone from the tables of the container.
    let program = env!("CARGO_BIN_EXE_drivescope");
    let script = format!("umount {} 2>/dev/null; exec {program} \"$@\"", mount.point);
    let within = |level: &str| {
        let options = ["sh", "-c", &script, "sh", "run", &second, "--dry-run", "--json", level];
        Call::new("unshare")
            .arguments(&[&namespaces[..], &options].concat())
            .with_home(&scratch.path("home"))
    };
    let gate = within(&phrase).end().code(3).json()["gate"].clone();
    let refused: Vec<&str> = array(&gate["checks"])
        .iter()
        .filter(|check| check["outcome"] == "refused")
        .map(|check| text(&check["name"]))
        .collect();
    assert_eq!(refused, ["rest of the drive"], "{gate}");
    within("--write=same-bytes").end().code(0);
    // The machine itself knows what lies beside it.
    scratch.run(&second, &[&["--dry-run", &phrase]]).code(0);
    // With the whole disk free there is nothing that could be hidden on it.
    drop(mount);
    within(&phrase).end().code(0);
}
