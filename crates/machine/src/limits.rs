//! Limits that the kernel sets on what this program may ask of a device: those of its control groups (cgroups), as
//! containers and services have them.
//!
//! Documentation/admin-guide/cgroup-v2.rst (`io.max`, which binds all groups below) and
//! cgroup-v1/blkio-controller.rst (`blkio.throttle.*_device`, each for its own group) of the kernel.

use crate::mounts::{Mount, mounts};
use crate::roots::{Roots, parse_number_pair, read_text};
use drivescope_model::units::Bytes;
use std::path::{Path, PathBuf};

/// Fields of `io.max` and files of version 1, each with what it limits.
const LIMITS: [(&str, &str, Limited); 4] = [
    ("rbps", "blkio.throttle.read_bps_device", Limited::Bytes("reads")),
    ("wbps", "blkio.throttle.write_bps_device", Limited::Bytes("writes")),
    ("riops", "blkio.throttle.read_iops_device", Limited::Requests("reads")),
    ("wiops", "blkio.throttle.write_iops_device", Limited::Requests("writes")),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Limited {
    Bytes(&'static str),
    Requests(&'static str),
}

impl Limited {
    fn to(self, most: u64) -> String {
        match self {
            Self::Bytes(what) => format!("{what} to {}/s", Bytes(most)),
            Self::Requests(what) => format!("{what} to {most}/s"),
        }
    }
}

/// How much memory this process may map (`ulimit -v`); `None` where that is not limited.
pub fn address_space_max() -> Option<Bytes> {
    rustix::process::getrlimit(rustix::process::Resource::As).current.map(Bytes)
}

/// What a control group allows on a device, each second.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IoLimits {
    /// Which group limits which device, and to what.
    pub evidence: String,
    /// Most bytes that may be read, and written.
    pub bytes_s: [Option<u64>; 2],
    /// Most requests that may read, and write.
    pub requests_s: [Option<u64>; 2],
}

/// Which of `devices` (kernel names) the control groups of this program limit, and to what; `None` where none
/// does.
pub fn io_limits(roots: &Roots, devices: &[String]) -> Option<IoLimits> {
    let groups = groups(roots);
    let found = devices.iter().find_map(|name| {
        let number = roots.block_number(name)?;
        groups.iter().find_map(|group| {
            let limits = group.limits_of(number);
            (!limits.is_empty()).then_some((name, group, limits))
        })
    });
    let (name, group, limits) = found?;
    let said: Vec<String> = limits.iter().map(|(limited, most)| limited.to(*most)).collect();
    let folder = group.folder.display();
    let evidence = format!("the control group {folder} limits {name}: {}", said.join(", "));
    let of = |wanted| limits.iter().find(|(limited, _)| *limited == wanted).map(|(_, most)| *most);
    Some(IoLimits {
        evidence,
        bytes_s: ["reads", "writes"].map(|what| of(Limited::Bytes(what))),
        requests_s: ["reads", "writes"].map(|what| of(Limited::Requests(what))),
    })
}

/// Files of a group of version 2 that limit what its programs get.
const FILES: [&str; 5] = ["cpu.max", "cpuset.cpus", "memory.high", "memory.max", "io.max"];

/// All limits that the control groups of this program set, of version 2: `/sys/fs/cgroup/a: memory.max 1048576`.
pub fn cgroup_limits(roots: &Roots) -> Vec<String> {
    let mut found = Vec::new();
    for Group { folder, unified: _ } in groups(roots).iter().filter(|group| group.unified) {
        let said = FILES.iter().filter_map(|file| Some((file, read_text(folder.join(file))?)));
        let limits = said.filter(|(_, text)| !text.is_empty() && !text.starts_with("max"));
        found.extend(limits.map(|(file, text)| {
            format!("{}: {file} {}", folder.display(), text.lines().collect::<Vec<_>>().join(", "))
        }));
    }
    found
}

struct Group {
    folder: PathBuf,
    /// Version 2, with all limits in one file.
    unified: bool,
}

impl Group {
    fn limits_of(&self, device: (u32, u32)) -> Vec<(Limited, u64)> {
        let line_of = |file: &str| {
            let text = read_text(self.folder.join(file))?;
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            let of_device = |(number, _): &(&str, &str)| parse_number_pair(number) == Some(device);
            lines.find(of_device).map(|(_, rest)| rest.to_string())
        };
        let all = if self.unified { line_of("io.max").unwrap_or_default() } else { String::new() };
        let most = |field: &str, file: &str| -> Option<u64> {
            if self.unified {
                let fields = all.split(' ').filter_map(|part| part.split_once('='));
                fields.filter(|(name, _)| *name == field).find_map(|(_, most)| most.parse().ok())
            } else {
                line_of(file)?.trim().parse().ok()
            }
        };
        LIMITS
            .into_iter()
            .filter_map(|(field, file, limited)| Some((limited, most(field, file)?)))
            .collect()
    }
}

/// The groups of this program that may have limits: of version 2 also those above its own.
fn groups(roots: &Roots) -> Vec<Group> {
    let table = mounts(roots);
    let text = read_text(roots.proc.join("self/cgroup")).unwrap_or_default();
    let mut groups = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let unified = controllers.is_empty();
        let of_mount = |mount: &&Mount| {
            if unified {
                mount.kind == "cgroup2"
            } else {
                mount.kind == "cgroup" && mount.option("blkio").is_some()
            }
        };
        if !unified && controllers.split(',').all(|controller| controller != "blkio") {
            continue;
        }
        let Some(mount) = table.iter().find(of_mount) else { continue };
        // Within a container, the mount may show the group itself as its top.
        let below = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
        let own: PathBuf = mount.mount_point.join(below).components().collect();
        let above = if unified { usize::MAX } else { 1 };
        let folders = own.ancestors().take_while(|folder| folder.starts_with(&mount.mount_point));
        groups.extend(
            folders.take(above).map(|folder| Group { folder: folder.to_path_buf(), unified }),
        );
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    /// The limit reported for `sda1` on `sda`, for a program in `group` with this mount of control groups.
    fn said(group: &str, mount: &str, files: &[(&str, &str)]) -> Option<String> {
        let fake = Fake::two_disks();
        fake.file("proc/self/cgroup", format!("3:memory:/\n{group}\n"));
        let top = fake.path("cg").display().to_string();
        fake.mounts(&["1 0 8:1 / / rw - ext4 /dev/sda1 rw", &mount.replace("TOP", &top)]);
        for (file, text) in files {
            fake.file(&format!("cg/{file}"), text);
        }
        let found = io_limits(&fake.roots, &["sda1".to_string(), "sda".to_string()]);
        found.map(|limits| limits.evidence.replace(&top, "TOP"))
    }

    const UNIFIED: &str = "2 1 0:30 / TOP rw - cgroup2 cgroup2 rw";

    #[test]
    fn limits_of_a_group_and_its_parents_count() {
        let limit = "8:16 rbps=1 wbps=max riops=max wiops=max\n8:0 rbps=10485760 wbps=max riops=max wiops=500\n";
        let all = "reads to 10.5 MB/s, writes to 500/s";
        for folder in ["a/b/", "a/"] {
            let found = said("0::/a/b", UNIFIED, &[(&format!("{folder}io.max"), limit)]);
            let folder = folder.trim_end_matches('/');
            assert_eq!(found, Some(format!("the control group TOP/{folder} limits sda: {all}")));
        }
        assert_eq!(said("0::/a/b", UNIFIED, &[("other/io.max", limit)]), None);
        assert_eq!(said("0::/a/b", UNIFIED, &[]), None);
        let none = "8:0 rbps=max wbps=max riops=max wiops=max\n";
        assert_eq!(said("0::/", UNIFIED, &[("io.max", none)]), None);
        let of_another = "8:16 rbps=1048576 wbps=max riops=max wiops=max\n";
        assert_eq!(said("0::/", UNIFIED, &[("io.max", of_another)]), None);
        let garbage = "8:0\nx rbps=3\n8:0 rbps\n";
        assert_eq!(said("0::/", UNIFIED, &[("io.max", garbage)]), None);
    }

    #[test]
    fn every_limit_of_the_groups_is_listed() {
        let fake = Fake::two_disks();
        let top = fake.path("cg").display().to_string();
        fake.file("proc/self/cgroup", "0::/a/b\n");
        fake.mounts(&[&UNIFIED.replace("TOP", &top)]);
        for (file, text) in [
            ("a/b/cpu.max", "50000 100000"),
            ("a/b/memory.max", "max"),
            ("a/b/cpuset.cpus", ""),
            ("a/memory.max", "1048576"),
            ("a/io.max", "8:0 rbps=1\n8:16 rbps=2"),
        ] {
            fake.file(&format!("cg/{file}"), text);
        }
        let expected = [
            format!("{top}/a/b: cpu.max 50000 100000"),
            format!("{top}/a: memory.max 1048576"),
            format!("{top}/a: io.max 8:0 rbps=1, 8:16 rbps=2"),
        ];
        assert_eq!(cgroup_limits(&fake.roots), expected);
    }

    #[test]
    fn limit_is_identified_by_direction_and_kind() {
        let fake = Fake::two_disks();
        fake.file("proc/self/cgroup", "0::/\n");
        fake.mounts(&[&UNIFIED.replace("TOP", &fake.path("cg").display().to_string())]);
        fake.file("cg/io.max", "8:0 rbps=10485760 wbps=max riops=max wiops=500\n");
        let limits = io_limits(&fake.roots, &["sda".to_string()]).unwrap();
        assert_eq!(limits.bytes_s, [Some(10_485_760), None]);
        assert_eq!(limits.requests_s, [None, Some(500)]);
    }

    #[test]
    fn container_may_see_its_group_as_the_top() {
        let limit = ("io.max", "8:0 rbps=max wbps=2000000 riops=max wiops=max");
        let expected = Some("the control group TOP limits sda: writes to 2.00 MB/s".to_string());
        let whole = "2 1 0:30 /docker/3f TOP ro - cgroup2 cgroup rw";
        assert_eq!(said("0::/docker/3f", whole, &[limit]), expected);
        assert_eq!(said("0::/../outside", whole, &[limit]), expected);
    }

    #[test]
    fn version_1_groups_have_a_file_per_limit() {
        let mount = "2 1 0:30 / TOP rw - cgroup cgroup rw,blkio";
        let files = [
            ("x/blkio.throttle.read_bps_device", "8:16 7\n8:0 1048576\n"),
            ("x/blkio.throttle.write_iops_device", "8:0 300\n"),
        ];
        let found = said("4:net_cls,blkio:/x", mount, &files).unwrap();
        assert_eq!(
            found,
            "the control group TOP/x limits sda: reads to 1.05 MB/s, writes to 300/s"
        );
        assert_eq!(said("4:blkio:/x/below", mount, &files), None, "each group for itself");
        assert_eq!(said("4:cpu:/x", mount, &files), None);
    }
}
