//! The mount table and the swap areas, as `/proc` tells them.

use crate::roots::{Roots, parse_number_pair};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One line of `/proc/self/mountinfo`, see proc_pid_mountinfo(5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub id: u32,
    pub parent: u32,
    /// Device number that files on it report; major 0 is anonymous, made up by the kernel.
    pub dev: (u32, u32),
    /// Directory of the file system that is visible here: `/` unless a bind mount or a subvolume.
    pub root: PathBuf,
    pub mount_point: PathBuf,
    /// Options of this mount, joined with commas.
    pub options: String,
    /// Type: `ext4`, `fuse.sshfs`.
    pub kind: String,
    /// What is mounted: `/dev/sda1`, `tmpfs`, `server:/export`.
    pub source: String,
    /// Options of the file system, joined with commas, with special characters still as `\ooo`:
    /// a path among them may hold a comma. [`Mount::option`] resolves them.
    pub super_options: String,
}

impl Mount {
    /// Value of an option of the file system, with escapes resolved; empty for an option without a
    /// value. The last one counts when it is repeated.
    pub fn option(&self, key: &str) -> Option<String> {
        self.options_named(key).pop()
    }

    pub fn options_named(&self, key: &str) -> Vec<String> {
        self.super_options
            .split(',')
            .map(|option| option.split_once('=').unwrap_or((option, "")))
            .filter(|(k, _)| *k == key)
            .map(|(_, value)| String::from_utf8_lossy(&unescape(value.as_bytes())).into_owned())
            .collect()
    }
}

/// The mount table this process sees; empty when it cannot be read.
pub fn mounts(roots: &Roots) -> Vec<Mount> {
    fs::read(roots.proc.join("self/mountinfo")).map(|text| parse(&text)).unwrap_or_default()
}

/// The mount table of the first process, which shows the host's mounts inside a container that
/// shares the host's processes; empty without the permission.
pub fn mounts_of_init(roots: &Roots) -> Vec<Mount> {
    fs::read(roots.proc.join("1/mountinfo")).map(|text| parse(&text)).unwrap_or_default()
}

/// Mounts in the text of a mountinfo file, in its order; lines that make no sense are skipped.
pub fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|b| *b == b'\n').filter_map(parse_line).collect()
}

/// Which mount holds a path.
///
/// `path` must be absolute and without links, `dev` what `stat` reports for it. The table is walked
/// as the kernel walks the path, so mounts that others cover are not found; of several on one mount
/// point the last counts. Device numbers serve only where the table has no root (a process in a
/// changed root directory), because btrfs subvolumes and overlays report numbers that are in no
/// table.
pub fn mount_of<'a>(mounts: &'a [Mount], path: &Path, dev: (u32, u32)) -> Option<&'a Mount> {
    if !path.is_absolute() {
        return None;
    }
    if let Some(mount) = walk(mounts, path) {
        return Some(mount);
    }
    let longest = |only_dev: bool| {
        mounts
            .iter()
            .filter(|m| path.starts_with(&m.mount_point) && (!only_dev || m.dev == dev))
            .max_by_key(|m| m.mount_point.components().count())
    };
    longest(true).or_else(|| longest(false))
}

/// [`mount_of`] for a path that is not looked at, such as one the kernel names.
pub fn mount_at<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mount_of(mounts, path, (0, 0))
}

fn walk<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let is_root = |m: &&Mount| {
        m.mount_point == Path::new("/") && !mounts.iter().any(|p| p.id == m.parent && p.id != m.id)
    };
    let mut current = mounts.iter().rfind(is_root)?;
    // Each step goes to a child, so a sound table needs fewer steps than it has lines; the limit
    // ends the walk on an unsound one.
    for _ in 0..mounts.len() {
        let next = mounts
            .iter()
            .rev()
            .filter(|m| m.parent == current.id && m.id != current.id)
            .filter(|m| path.starts_with(&m.mount_point))
            .min_by_key(|m| m.mount_point.components().count());
        match next {
            Some(mount) => current = mount,
            None => break,
        }
    }
    Some(current)
}

/// Swap areas in use: device nodes and files.
pub fn swaps(roots: &Roots) -> Vec<PathBuf> {
    let text = fs::read(roots.proc.join("swaps")).unwrap_or_default();
    text.split(|b| *b == b'\n')
        .skip(1)
        .filter_map(|line| line.split(|b| *b == b' ' || *b == b'\t').next())
        .filter(|name| name.starts_with(b"/"))
        .map(path_of)
        .collect()
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    // Fields are separated by exactly one space; a source may be empty.
    let mut fields = line.split(|b| *b == b' ');
    let id = number(fields.next()?)?;
    let parent = number(fields.next()?)?;
    let dev = parse_number_pair(std::str::from_utf8(fields.next()?).ok()?)?;
    let root = path_of(fields.next()?);
    let mount_point = path_of(fields.next()?);
    let options = text(fields.next()?);
    // Optional fields (`shared:1`, `master:2`) end with a single dash.
    fields.by_ref().find(|field| *field == b"-")?;
    let kind = text(fields.next()?);
    let source = text(fields.next()?);
    let super_options = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
    Some(Mount { id, parent, dev, root, mount_point, options, kind, source, super_options })
}

fn number(field: &[u8]) -> Option<u32> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(&unescape(field)).into_owned()
}

pub fn path_of(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(field)))
}

/// Resolves `\ooo`, the octal form in which the kernel writes white space, backslashes and more.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] if *first == b'\\' => {
                out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = after;
            }
            _ => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;
    use proptest::prelude::*;

    const TABLE: &str = r"22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro
30 27 8:33 / /media/My\040Disk\0111 rw,nosuid shared:2 master:7 - vfat /dev/sdc1 rw,utf8
31 27 8:2 /srv/data /data rw - ext4 /dev/sda2 rw
32 27 0:40 /@home /home rw - btrfs /dev/sdb1 rw,compress=zstd:3,subvol=/@home
33 27 0:50 / /merged rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/up\054per/x,workdir=/w
34 27 0:51 / /net rw - nfs4 srv:/export rw,vers=4.2
35 27 0:52 / /ssh rw - fuse.sshfs me@host:/ rw,user_id=0
36 27 0:53 / /tmp rw -  tmpfs  rw
37 27 0:54 / /tmp rw - tmpfs  rw,size=4k
38 37 8:49 / /tmp rw - xfs /dev/sdd1 rw
39 27 8:65 / /data/deep ro - ext4 /dev/sde1 ro
garbage
";

    fn table() -> Vec<Mount> {
        parse(TABLE.as_bytes())
    }

    #[test]
    fn every_field_of_a_line_is_read() {
        let mounts = table();
        let disk = mounts.iter().find(|m| m.id == 30).unwrap();
        assert_eq!(disk.parent, 27);
        assert_eq!(disk.dev, (8, 33));
        assert_eq!(disk.mount_point, Path::new("/media/My Disk\t1"));
        assert_eq!(disk.options, "rw,nosuid");
        assert_eq!(disk.kind, "vfat");
        assert_eq!(disk.source, "/dev/sdc1");
        assert_eq!(disk.super_options, "rw,utf8");
    }

    #[test]
    fn bind_subvolume_overlay_and_network_mounts_are_distinguished() {
        let mounts = table();
        let by_id = |id| mounts.iter().find(|m| m.id == id).unwrap();
        assert_eq!(by_id(31).root, Path::new("/srv/data"));
        assert_eq!(by_id(32).root, Path::new("/@home"));
        assert_eq!(by_id(32).option("compress").as_deref(), Some("zstd:3"));
        assert_eq!(by_id(33).option("upperdir").as_deref(), Some("/up,per/x"));
        assert_eq!(by_id(34).source, "srv:/export");
        assert_eq!(by_id(35).kind, "fuse.sshfs");
        assert_eq!(by_id(35).option("user_id").as_deref(), Some("0"));
        assert_eq!(by_id(35).option("rw").as_deref(), Some(""));
        assert_eq!(by_id(35).option("ro"), None);
        assert_eq!(by_id(37).source, "", "a source may be empty");
    }

    #[test]
    fn path_belongs_to_its_visible_mount() {
        let mounts = table();
        let id = |path: &str| mount_of(&mounts, Path::new(path), (9, 9)).unwrap().id;
        for (path, expected) in [
            ("/", 27),
            ("/etc/fstab", 27),
            ("/home", 32),
            ("/home/me/file", 32),
            ("/homer", 27),
            ("/data/x", 31),
            ("/merged/x", 33),
            ("/media/My Disk\t1/x", 30),
            ("/tmp/x", 38),
        ] {
            assert_eq!(id(path), expected, "{path}");
        }
    }

    #[test]
    fn covered_mount_is_not_found() {
        let mounts = table();
        // /data/deep hangs on the root: it was there before /data was mounted over it.
        assert_eq!(mount_of(&mounts, Path::new("/data/deep/x"), (8, 2)).unwrap().id, 31);
    }

    #[test]
    fn without_a_root_the_number_decides_then_length() {
        let mounts: Vec<Mount> = table().into_iter().filter(|m| m.id != 27).collect();
        let find = |path: &str, dev| mount_of(&mounts, Path::new(path), dev).map(|m| m.id);
        assert_eq!(find("/data/deep/x", (8, 2)), Some(31));
        assert_eq!(find("/data/deep/x", (0, 99)), Some(39));
        assert_eq!(find("/tmp/x", (0, 99)), Some(38), "the last one on a mount point");
        assert_eq!(find("/etc", (8, 2)), None);
        assert!(mount_of(&table(), Path::new("etc"), (8, 2)).is_none(), "not absolute");
    }

    #[test]
    fn a_table_that_goes_in_circles_ends() {
        let mounts = parse(b"1 1 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / /a rw - ext4 /dev/b rw\n2 2 8:2 / /a rw - ext4 /dev/b rw\n");
        assert_eq!(mount_of(&mounts, Path::new("/a/b"), (0, 0)).unwrap().id, 2);
    }

    #[test]
    fn swap_areas_are_devices_and_files() {
        let fake = Fake::new();
        fake.file(
            "proc/swaps",
            "Filename\t\t\tType\t\tSize\tUsed\tPriority\n/dev/sda3 partition\t8\t0\t-2\n/swap\\040file  file 8 0 -3\n",
        );
        assert_eq!(swaps(&fake.roots), [Path::new("/dev/sda3"), Path::new("/swap file")]);
        assert!(swaps(&Fake::new().roots).is_empty());
    }

    /// The kernel's way to write a string into mountinfo.
    fn escape(text: &str) -> String {
        text.bytes()
            .map(|b| match b {
                b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{b:03o}"),
                _ => (b as char).to_string(),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn the_parser_takes_anything(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mounts = parse(&bytes);
            prop_assert!(mounts.len() <= bytes.split(|b| *b == b'\n').count());
            let _ = mount_of(&mounts, Path::new("/a/b"), (8, 1));
        }

        #[test]
        fn almost_right_lines_do_no_harm(line in r"[0-9 /:\\a-c,=-]{0,80}") {
            for mount in parse(line.as_bytes()) {
                let _ = mount.option("a");
            }
        }

        #[test]
        fn what_is_escaped_comes_back(
            point in "/[ -~\t\n]{0,30}",
            source in "[ -~]{1,30}",
            optional in proptest::collection::vec("shared:[0-9]{1,3}", 0..3),
        ) {
            let line = format!(
                "5 1 8:17 / {} rw {} - ext4 {} rw\n",
                escape(&point), optional.join(" "), escape(&source)
            );
            let mounts = parse(line.as_bytes());
            prop_assert_eq!(mounts.len(), 1);
            prop_assert_eq!(&mounts[0].mount_point, Path::new(&point));
            prop_assert_eq!(&mounts[0].source, &source);
        }
    }
}
