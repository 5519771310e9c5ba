use super::*;
use crate::own_folder::OwnFolder;
use crate::own_folder::tests::scratch;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

/// Copies a directory; returns the summary, the number of finished files, and the folder with the copy.
fn copied(from: &Path, to: &Path, call: CopyCall) -> (CopySummary, u64, OwnFolder) {
    let mut folder = OwnFolder::create(to, "copy").unwrap();
    let tree = folder.create_tree("copy").unwrap();
    let source = SourceTree::open(from).unwrap();
    let (mut buffer, mut files) = (vec![0; 64 << 10], 0);
    let mut watch = |step: FileStep| {
        files += u64::from(matches!(step, FileStep::Done(_)));
        true
    };
    let summary = copy_tree(&source, tree, call, &mut buffer, &mut watch).unwrap();
    (summary, files, folder)
}

#[test]
fn every_copy_method_copies_every_byte() {
    fn contents(seed: usize, len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 + seed) as u8).collect()
    }
    let (from, to) = (scratch(), scratch());
    let names: [&[u8]; 4] = [b"a\nb", b"\xff\xfe", &[b'x'; 255], b"plain"];
    let deep = from.path().join("one/two");
    std::fs::create_dir_all(&deep).unwrap();
    for (seed, name) in names.iter().enumerate() {
        let name = std::ffi::OsStr::from_bytes(name);
        std::fs::write(deep.join(name), contents(seed, seed * 70_000)).unwrap();
    }
    for call in [CopyCall::ReadWrite, CopyCall::CopyFileRange, CopyCall::Sendfile] {
        let (summary, files, folder) = copied(from.path(), to.path(), call);
        assert_eq!((files, summary.left_out), (4, LeftOut::default()), "{call:?}");
        for (seed, name) in names.iter().enumerate() {
            let copy = folder.path().join("copy/one/two").join(std::ffi::OsStr::from_bytes(name));
            assert_eq!(std::fs::read(copy).unwrap(), contents(seed, seed * 70_000), "{call:?}");
        }
    }
}

#[test]
fn unreadable_entries_are_skipped_and_counted() {
    let (from, to) = (scratch(), scratch());
    let path = |name: &str| from.path().join(name);
    std::fs::write(path("file"), "data").unwrap();
    std::fs::hard_link(path("file"), path("second name")).unwrap();
    symlink("/", path("out")).unwrap();
    symlink(".", path("loop")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    std::fs::create_dir(path(".drivescope-other")).unwrap();
    std::fs::write(path("secret"), "x").unwrap();
    std::fs::set_permissions(path("secret"), PermissionsExt::from_mode(0o000)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let (summary, files, folder) = copied(from.path(), to.path(), CopyCall::ReadWrite);
    let denied = u64::from(!is_root);
    let expected = LeftOut { links: 2, special: 1, denied, elsewhere: 1, vanished: 0 };
    assert_eq!((summary.left_out, files), (expected, 3 - denied));
    let listed = SourceTree::open(from.path()).unwrap().count_files().unwrap();
    assert_eq!(listed, 3, "listed, whether they may be read or not");
    assert!(summary.left_out.described().unwrap().contains("2 symbolic links"));
    assert!(!folder.path().join("copy/out").exists());
}

#[test]
fn holes_are_not_written_out() {
    let (from, to) = (scratch(), scratch());
    let file = std::fs::File::create(from.path().join("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    file.write_all_at(&[7; 8192], 1 << 30).unwrap();
    file.sync_all().unwrap();
    let (_, files, folder) = copied(from.path(), to.path(), CopyCall::ReadWrite);
    assert_eq!(files, 1);
    let copy = folder.path().join("copy/sparse").metadata().unwrap();
    assert_eq!(copy.len(), (1 << 30) + 8192);
    assert!(copy.blocks() * 512 < 1 << 20, "{}", copy.blocks());
}

#[test]
fn run_folder_is_not_copied_into_itself() {
    let parent = scratch();
    std::fs::write(parent.path().join("file"), "data").unwrap();
    let (summary, files, _folder) = copied(parent.path(), parent.path(), CopyCall::ReadWrite);
    assert_eq!((files, summary.left_out.elsewhere), (1, 1));
}

/// Files of sysfs say 4096 bytes and end before: so does a file that cannot be read further.
#[test]
fn copy_that_ends_early_is_a_failure() {
    let from = Path::new("/sys/kernel/mm/transparent_hugepage");
    if !from.join("enabled").exists() {
        eprintln!("SKIPPED: a copy that ends early: no {}", from.display());
        return;
    }
    let to = scratch();
    for call in [CopyCall::ReadWrite, CopyCall::CopyFileRange, CopyCall::Sendfile] {
        let mut folder = OwnFolder::create(to.path(), "copy").unwrap();
        let into = folder.create_tree("copy").unwrap();
        let source = SourceTree::open(from).unwrap();
        let copied = copy_tree(&source, into, call, &mut [0; 4096], &mut |_| true);
        let error = copied.expect_err("no file of it has its size");
        assert!(matches!(error, DriveError::CutShort { size: 4096, .. }), "{call:?}: {error}");
        assert!(error.is_io_failure() && error.kind() == crate::ErrorKind::Device);
    }
}

/// A file that another program cuts during the copy has only become shorter.
#[test]
fn shortened_file_is_copied_at_its_new_length() {
    let (from, to) = (scratch(), scratch());
    let path = from.path().join("log");
    std::fs::write(&path, vec![7; 300_000]).unwrap();
    let mut folder = OwnFolder::create(to.path(), "copy").unwrap();
    let into = folder.create_tree("copy").unwrap();
    let source = SourceTree::open(from.path()).unwrap();
    let mut bytes = 0;
    let mut watch = |step: FileStep| {
        if let FileStep::Done(all) = step {
            bytes = all;
        } else {
            std::fs::File::options().write(true).open(&path).unwrap().set_len(100_000).unwrap();
        }
        true
    };
    copy_tree(&source, into, CopyCall::ReadWrite, &mut [0; 65_536], &mut watch).unwrap();
    assert_eq!(bytes, 100_000);
}
