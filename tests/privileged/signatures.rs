//! Contents of real devices, made by the tools of each format, as `run --dry-run` tells them.

use super::gate::{blank, opinion, refused};
use super::guards::{Loop, image_with, or_skip, tool};
use super::privileged_scratch;
use crate::support::{Scratch, skip_loudly};
use std::fs;
use std::os::unix::fs::FileExt;

/// The gate must name `kind`, and refuse to write without confirmation.
#[track_caller]
fn expect_found(scratch: &Scratch, device: &Loop, kind: &str) {
    let gate = opinion(scratch, &device.node, &["--write=restore"], 3);
    refused(&gate, "signatures", kind);
    refused(&gate, "confirmation", "needs confirmation");
}

/// The same, and what is allowed at each level.
#[track_caller]
fn expect_contents(scratch: &Scratch, device: &Loop, kind: &str, size: u64) {
    let node = &device.node;
    opinion(scratch, node, &["--write=same-bytes"], 0);
    expect_found(scratch, device, kind);
    let phrase = format!("{}:{size}", device.name());
    opinion(scratch, node, &["--write", &format!("restore:{phrase}")], 0);
    opinion(scratch, node, &["--destroy", &phrase], 0);
}

#[test]
fn mkfs_signatures_are_recognized() {
    for (kind, mib, mkfs, options) in [
        ("ext2", 64, "mkfs.ext2", &["-q", "-F"][..]),
        ("ext3", 64, "mkfs.ext3", &["-q", "-F"]),
        ("ext4", 64, "mkfs.ext4", &["-q", "-F"]),
        ("xfs", 512, "mkfs.xfs", &["-q"]),
        ("btrfs", 256, "mkfs.btrfs", &["-q"]),
        ("vfat", 4, "mkfs.vfat", &["-F", "12"]),
        ("vfat", 32, "mkfs.vfat", &["-F", "16"]),
        ("vfat", 64, "mkfs.vfat", &["-F", "32"]),
        ("swap", 64, "mkswap", &[]),
    ] {
        let Some(scratch) = privileged_scratch() else { return };
        let Some(image) = image_with(&scratch, mib, mkfs, options) else { continue };
        let Some(device) = Loop::attach(&image, &[]) else { return };
        expect_contents(&scratch, &device, &format!("{}: {kind}", device.name()), mib << 20);
    }
}

/// Volume managers and foreign file systems, made by their own tools on the device.
#[test]
fn signatures_of_other_tools_are_recognized() {
    let keys = Scratch::new();
    let key = keys.file("key", "not a secret");
    let luks = |kind| vec!["luksFormat", "--batch-mode", "--key-file", &key, "--type", kind];
    let luks2 = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"];
    for (kind, name, options) in [
        ("LVM2_member", "pvcreate", vec!["--yes", "--devicesfile", ""]),
        ("crypto_LUKS", "cryptsetup", [&luks("luks1")[..], &["--iter-time", "10"]].concat()),
        ("crypto_LUKS", "cryptsetup", [&luks("luks2")[..], &luks2].concat()),
        ("ntfs", "mkntfs", vec!["--quick", "--force", "--quiet"]),
        ("exfat", "mkfs.exfat", vec![]),
    ] {
        let Some(scratch) = privileged_scratch() else { return };
        let Some(image) = image_with(&scratch, 64, "true", &[]) else { return };
        let Some(device) = Loop::attach(&image, &[]) else { return };
        if let Err(why) = tool(name, &[&options[..], &[&device.node]].concat()) {
            skip_loudly(&why);
            continue;
        }
        expect_contents(&scratch, &device, &format!("{}: {kind}", device.name()), 64 << 20);
    }
}

/// Superblocks built from their format descriptions, for tools that machines seldom have.
#[test]
fn members_of_volume_managers_are_recognised() {
    const SIZE: u64 = 64 << 20;
    let luks = [b"LUKS\xBA\xBE\x00\x02".as_slice(), &[0; 504]].concat();
    let lvm = [b"LABELONE".as_slice(), &1u64.to_le_bytes(), &[0; 8], b"LVM2 001"].concat();
    let md = |minor: u32| [0xA92B_4EFCu32.to_le_bytes(), minor.to_le_bytes()].concat();
    for (kind, at, bytes) in [
        ("crypto_LUKS", 0, luks),
        ("LVM2_member", 512, lvm),
        ("linux_raid_member", 4096, md(1)),
        ("linux_raid_member", SIZE - 8192, md(1)),
        ("linux_raid_member", SIZE - 65536, md(0)),
    ] {
        let Some(scratch) = privileged_scratch() else { return };
        let Some(device) = blank(&scratch, SIZE >> 20, &[]) else { return };
        let image = fs::OpenOptions::new().write(true).open(scratch.path("image")).unwrap();
        image.write_all_at(&bytes, at).unwrap();
        // A program that has it open for writing uses the device.
        drop(image);
        expect_contents(&scratch, &device, kind, SIZE);
    }
}

/// Each format's backup copy is found, also with sectors of 4096 bytes.
#[test]
fn copies_are_found_when_the_beginning_is_wiped() {
    const MIB: u64 = 512;
    for sector in [512u64, 4096] {
        let bytes = sector.to_string();
        for (kind, name, options, wiped) in [
            ("ntfs", "mkntfs", vec!["--quick", "--force", "--quiet", "-s", &bytes], MIB << 19),
            ("exfat", "mkfs.exfat", vec![], 12 * sector),
            ("vfat", "mkfs.vfat", vec!["-F", "32", "-S", &bytes], 6 * sector),
        ] {
            let Some(scratch) = privileged_scratch() else { return };
            let sectors = format!("--sector-size={bytes}");
            let Some(device) = blank(&scratch, MIB, &[&sectors]) else { return };
            if let Err(why) = tool(name, &[&options[..], &[&device.node]].concat()) {
                skip_loudly(&why);
                continue;
            }
            wipe(&device, wiped);
            expect_found(&scratch, &device, kind);
        }
    }
}

#[test]
fn second_luks2_header_is_found_anywhere() {
    let keys = Scratch::new();
    let key = keys.file("key", "not a secret");
    for kib in (0..9).map(|power| 16u64 << power) {
        let Some(scratch) = privileged_scratch() else { return };
        let Some(device) = blank(&scratch, 64, &[]) else { return };
        let size = format!("{kib}k");
        let format = ["luksFormat", "--batch-mode", "--key-file", &key, "--type", "luks2"];
        let cheap = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"];
        let own = ["--luks2-metadata-size", &size, &device.node];
        let Some(_) = or_skip(tool("cryptsetup", &[&format[..], &cheap, &own].concat())) else {
            return;
        };
        wipe(&device, kib << 10);
        expect_found(&scratch, &device, "crypto_LUKS");
    }
}

/// Swap areas of machines with other page sizes, and the signature of a hibernated system.
#[test]
fn swap_signatures_of_all_page_sizes_are_found() {
    for kib in [4u64, 8, 16, 32, 64] {
        let Some(scratch) = privileged_scratch() else { return };
        let Some(device) = blank(&scratch, 64, &[]) else { return };
        let size = (kib << 10).to_string();
        let Some(_) = or_skip(tool("mkswap", &["--pagesize", &size, &device.node])) else { return };
        expect_found(&scratch, &device, "swap");
        write(&device, b"S1SUSPEND\0", (kib << 10) - 10);
        expect_found(&scratch, &device, "swsuspend");
    }
}

/// Writes to the device itself, so that no program reads stale bytes from its cache.
fn write(device: &Loop, bytes: &[u8], at: u64) {
    let node = fs::OpenOptions::new().write(true).open(&device.node).expect("it is ours");
    node.write_all_at(bytes, at).expect("it lies within");
    node.sync_all().expect("it is a file below");
}

fn wipe(device: &Loop, bytes: u64) {
    write(device, &vec![0; usize::try_from(bytes).expect("fits in memory")], 0);
}
