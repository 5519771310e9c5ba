//! Labels of ZFS, as OpenZFS describes them, and what is read of them.

use crate::gate::pools::members;
use drivescope_machine::graph::BlockGraph;
use drivescope_machine::roots::fake::{Fake, image};
use drivescope_machine::uses::PoolMember;
use std::fs::File;
use std::process::Command;

/// Bytes of each of the four labels of a device.
pub const LABEL: u64 = 256 << 10;
const SIZE: u64 = 64 << 20;

/// A pair of an nvlist in XDR: name, type, and value as it is encoded, with the number of its elements.
fn pair(name: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    let body = [&text(name)[..], &kind.to_be_bytes(), &1u32.to_be_bytes(), value].concat();
    let size = u32::try_from(body.len() + 8).unwrap();
    [&size.to_be_bytes()[..], &size.to_be_bytes(), &body].concat()
}

/// A text: its length, its bytes, and zeros up to four.
fn text(text: &str) -> Vec<u8> {
    let mut bytes =
        [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A whole label of a pool: the description at 16 KiB, uberblocks from 128 KiB on.
pub fn label(pool: &str) -> Vec<u8> {
    const UINT64: u32 = 8;
    const STRING: u32 = 9;
    let mut label = vec![0; usize::try_from(LABEL).unwrap()];
    let list = [
        &[1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..],
        &pair("version", UINT64, &5000u64.to_be_bytes()),
        &pair("name", STRING, &text(pool)),
        &pair("pool_guid", UINT64, &0x0123_4567_89AB_CDEFu64.to_be_bytes()),
        &[0; 8],
    ]
    .concat();
    label[16 << 10..][..list.len()].copy_from_slice(&list);
    for block in 0..8u64 {
        let uberblock: Vec<u8> =
            [0x00BA_B10C, 5000, 100 + block].into_iter().flat_map(u64::to_le_bytes).collect();
        let at = (128 << 10) + usize::try_from(block).unwrap() * 1024;
        label[at..][..uberblock.len()].copy_from_slice(&uberblock);
    }
    label
}

fn pool_members(fake: &Fake, parts: &[(u64, &[u8])]) -> Vec<PoolMember> {
    members(&BlockGraph::read(&fake.roots), "sda", &image(SIZE, parts), SIZE)
}

fn member(device: &str, pool: &str) -> PoolMember {
    PoolMember { device: device.to_string(), pool: pool.to_string() }
}

#[test]
fn each_label_names_its_pool_and_device() {
    let fake = Fake::new();
    fake.disk("pci0000:00/block/sda", (8, 0), SIZE);
    fake.partition("sda", 1, (8, 1), 2048, (32 << 20) / 512);
    for at in [0, LABEL, SIZE - 2 * LABEL, SIZE - LABEL] {
        assert_eq!(pool_members(&fake, &[(at, &label("tank"))]), [member("sda", "tank")], "{at}");
    }
    let within = pool_members(&fake, &[((1 << 20) + LABEL, &label("my pool-1"))]);
    assert_eq!(within, [member("sda1", "my pool-1")]);
    assert!(pool_members(&fake, &[]).is_empty());
}

#[test]
fn damaged_labels_tell_nothing_and_do_no_harm() {
    let fake = Fake::new();
    let whole = label("tank");
    for at in (16 << 10)..(16 << 10) + 120 {
        for wrong in [0, 1, 0x7F, 0xFF] {
            let mut damaged = whole.clone();
            damaged[at] = wrong;
            damaged.truncate(200 << 10);
            pool_members(&fake, &[(0, &damaged)]);
        }
    }
    let mut cut = whole.clone();
    cut[(16 << 10) + 12..].fill(0);
    assert!(pool_members(&fake, &[(0, &cut)]).is_empty());
    let graph = BlockGraph::read(&fake.roots);
    assert!(members(&graph, "sda", &image(SIZE, &[]), 1000).is_empty(), "too small for a label");
}

/// blkid takes the labels of these tests for labels too.
#[test]
fn blkid_reads_the_same_name() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    std::fs::write(&image, label("tank")).unwrap();
    File::options().write(true).open(&image).unwrap().set_len(SIZE).unwrap();
    let output = Command::new("blkid").args(["--probe", "--output", "export"]).arg(&image).output();
    let Ok(output) = output else { return super::real::skip_loudly("needs blkid") };
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.contains("TYPE=zfs_member") && output.contains("LABEL=tank"), "{output}");
}
