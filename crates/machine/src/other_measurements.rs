//! Other drivescopes that measure at the same time: both change what the other one finds.

use crate::graph::{BlockGraph, Stack};
use crate::processes::{describe_process, own_process, processes};
use crate::roots::{list_dir, read_text};
use rustix::fs::OFlags;
use std::fs;
use std::path::PathBuf;

/// The name of this program, as the kernel keeps it of a process.
const PROGRAM: &str = "drivescope";

/// Which other drivescope measures a drive of this stack, and by what: `drivescope (process 812) measures /data/x on
/// sda`. What a run measures it has open past the page cache, and nothing else.
pub fn on_same_drive(graph: &BlockGraph, stack: &Stack) -> Option<String> {
    let roots = graph.roots();
    let own = own_process(roots);
    let is_other = |process: &String| {
        own.as_ref() != Some(process)
            && read_text(roots.proc.join(process).join("comm")).as_deref() == Some(PROGRAM)
    };
    processes(roots).into_iter().filter(is_other).find_map(|process| {
        let dir = roots.proc.join(&process);
        list_dir(&dir.join("fd")).into_iter().find_map(|number| {
            if !is_direct(&read_text(dir.join("fdinfo").join(&number))?) {
                return None;
            }
            let path: PathBuf = fs::read_link(dir.join("fd").join(&number)).ok()?;
            let theirs = graph.stack_of_data(&path).whole_disks;
            let disk = theirs.into_iter().find(|disk| stack.whole_disks.contains(disk))?;
            let who = describe_process(roots, &process);
            Some(format!("{who} measures {} on {disk}", path.display()))
        })
    })
}

/// Whether a descriptor with these flags bypasses the page cache.
fn is_direct(fdinfo: &str) -> bool {
    let flags = fdinfo.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok());
    flags.is_some_and(|flags| flags & OFlags::DIRECT.bits() != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;
    use std::path::Path;

    #[test]
    fn another_drivescope_on_the_same_drive_is_named() {
        let fake = Fake::two_disks();
        let data = fake.path("data");
        fake.file("data", "x");
        let data = data.canonicalize().unwrap();
        let root = data.parent().unwrap().display().to_string();
        fake.mounts(&[
            "1 0 8:99 / / rw - ext4 /dev/none rw",
            &format!("2 1 8:1 / {root} rw - ext4 /dev/sda1 rw"),
        ]);
        fake.file("proc/812/comm", "drivescope\n");
        fake.link("proc/812/fd/7", &data);
        let found = |name: &str| {
            let graph = BlockGraph::read(&fake.roots);
            on_same_drive(&graph, &graph.stack_of_device(name))
        };
        let open = |flags: u32| {
            fake.file("proc/812/fdinfo/7", format!("pos:\t0\nflags:\t0{flags:o}\n"));
        };
        open(0);
        assert_eq!(found("sda2"), None, "what it only reads, such as its store");
        open(OFlags::DIRECT.bits());
        let expected = format!("drivescope (process 812) measures {} on sda", data.display());
        assert_eq!(found("sda2"), Some(expected));
        assert_eq!(found("sdb"), None);
        fake.file("proc/812/comm", "fio\n");
        assert_eq!(found("sda2"), None);
        assert!(Path::new(&root).is_dir());
    }
}
