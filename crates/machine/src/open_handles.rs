//! Who has a device or a file open: descriptors, mappings that outlive them, and files that only a ring of io_uring
//! keeps.

use crate::graph::Footprint;
use crate::mounts::path_of;
use crate::processes::{has_ended, own_process, processes};
use crate::roots::{Roots, file_name, list_dir, read_text};
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags};
use std::fs;
use std::path::{Path, PathBuf};

/// `KCMP_FILES` of the kernel's kcmp.h: whether two tasks have one table of descriptors.
const KCMP_FILES: libc::c_int = 2;
/// What a descriptor of a ring leads to.
const RING: &str = "anon_inode:[io_uring]";

#[derive(Clone, Copy)]
pub enum Sought<'s> {
    /// A device, all that shares bytes with it, and what it is built of: by number, in any way a process can have it.
    Device(&'s Footprint),
    /// Descriptors whose path matches. The file itself is not queried: this program may serve it.
    Paths(&'s dyn Fn(&Path) -> bool),
}

/// Something sought that a process can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenHandle {
    /// Where procfs describes who: `812`, or `812/task/813`.
    pub process: String,
    pub what: String,
    /// How, in words: `open for writing`, if it can.
    pub how: &'static str,
    /// Whether it can write, or would be in the way all the same.
    pub writes: bool,
    pub command: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenHandles {
    pub found: Vec<OpenHandle>,
    /// How many processes hide what they have.
    pub hidden: usize,
}

impl OpenHandles {
    /// Looks through all processes but this one.
    pub fn scan(roots: &Roots, sought: Sought<'_>) -> Self {
        let own = own_process(roots);
        let mut handles = Self::default();
        for process in processes(roots).into_iter().filter(|id| Some(id) != own.as_ref()) {
            match fs::read_dir(roots.proc.join(&process).join("fd")) {
                Ok(_) => {
                    let threads = threads_with_own_table(roots, &process);
                    for process in std::iter::once(process).chain(threads) {
                        handles.found.extend(of_process(roots, sought, &process));
                    }
                }
                Err(error) if has_ended(&error) => {}
                Err(_) => handles.hidden += 1,
            }
        }
        handles
    }
}

/// Threads of a process that have a table of descriptors of their own, as procfs names them.
#[expect(clippy::disallowed_methods, reason = "kcmp only compares")]
fn threads_with_own_table(roots: &Roots, process: &str) -> Vec<String> {
    let Ok(id) = process.parse::<libc::pid_t>() else { return Vec::new() };
    let threads = list_dir(&roots.proc.join(process).join("task"));
    let is_apart = |thread: &String| {
        let other = thread.parse::<libc::pid_t>().unwrap_or(id);
        // SAFETY: the call compares two tasks by their numbers and touches no memory of ours.
        let order = unsafe { libc::syscall(libc::SYS_kcmp, id, other, KCMP_FILES, 0, 0) };
        // If comparing is not allowed (a container's rules, a kernel without kcmp), each one is checked.
        let is_unknown = || {
            let errno = std::io::Error::last_os_error().raw_os_error();
            matches!(errno, Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
        };
        other != id && (order > 0 || (order < 0 && is_unknown()))
    };
    let apart = threads.into_iter().filter(is_apart);
    apart.map(|thread| format!("{process}/task/{thread}")).collect()
}

fn of_process(roots: &Roots, sought: Sought<'_>, process: &str) -> Vec<OpenHandle> {
    let dir = &roots.proc.join(process);
    let footprint = match sought {
        Sought::Device(footprint) => footprint,
        Sought::Paths(is_it) => return descriptors_of_paths(process, dir, is_it),
    };
    let look = ProcessScan { roots, footprint, process, dir };
    let mut found = look.descriptors();
    let registered = look.registered();
    // What is open as well says itself whether it can be written.
    let is_known = |what: &String| found.iter().any(|open: &OpenHandle| open.what == *what);
    let registered: Vec<OpenHandle> =
        registered.into_iter().filter(|open| !is_known(&open.what)).collect();
    found.extend(registered);
    found.extend(look.mapped());
    found
}

fn descriptors_of_paths(
    process: &str,
    dir: &Path,
    is_it: &dyn Fn(&Path) -> bool,
) -> Vec<OpenHandle> {
    let links = list_dir(&dir.join("fd")).into_iter();
    let found = links.filter_map(|fd| fs::read_link(dir.join("fd").join(fd)).ok());
    let found = found.filter(|path| is_it(path)).map(|path| OpenHandle {
        process: process.to_string(),
        what: path.display().to_string(),
        how: "open",
        writes: true,
        command: format!("ls -l /proc/{process}/fd"),
    });
    found.collect()
}

struct ProcessScan<'l> {
    roots: &'l Roots,
    footprint: &'l Footprint,
    process: &'l str,
    dir: &'l Path,
}

impl ProcessScan<'_> {
    fn descriptors(&self) -> Vec<OpenHandle> {
        let names = list_dir(&self.dir.join("fd"));
        let found = names.iter().filter_map(|fd| {
            let device = self.behind(&self.dir.join("fd").join(fd))?;
            let command = format!("ls -l /proc/{}/fd", self.process);
            let writes = self.writes(fd) && !self.keeps_it_running(&device);
            Some(self.open(device, "open for writing", writes, command))
        });
        found.collect()
    }

    fn open(&self, what: String, how: &'static str, writes: bool, command: String) -> OpenHandle {
        let is_below = what.split(' ').next().is_some_and(|name| self.is_only_below(name));
        let what =
            if is_below { format!("{what} (below {})", self.footprint.target) } else { what };
        OpenHandle { process: self.process.to_string(), what, how, writes, command }
    }

    /// Whether a device has the target's bytes, or is what it is built of: a virtual machine may have the whole
    /// disk on which this machine has found volumes, arrays or partitions.
    fn concerns(&self, name: &str) -> bool {
        self.footprint.has(name) || self.is_only_below(name)
    }

    fn is_only_below(&self, name: &str) -> bool {
        !self.footprint.has(name) && self.footprint.below.contains(name)
    }

    /// Whether a program has a device open because there would be none without it, and changes no contents: the
    /// one that connects a network block device, and what keeps the records of Intel's and DDF arrays on their
    /// members.
    fn keeps_it_running(&self, device: &str) -> bool {
        let of_device = self.roots.block_dir(device).and_then(|dir| read_text(dir.join("pid")));
        let comm = || read_text(self.dir.join("comm"));
        // The kernel notes the thread that connected it.
        let is_own = |thread: &String| {
            thread == self.process
                || self.roots.proc.join(self.process).join("task").join(thread).exists()
        };
        of_device.as_ref().is_some_and(is_own)
            || (self.is_only_below(device) && comm().as_deref() == Some("mdmon"))
    }

    /// The part of the target that a procfs link leads to, by device number; by name if the link is dangling.
    fn behind(&self, link: &Path) -> Option<String> {
        match stat_locally(link) {
            Some(found) => self.part_of_target(&found),
            None => self.named(&fs::read_link(link).ok()?),
        }
    }

    fn part_of_target(&self, found: &Statx) -> Option<String> {
        match FileType::from_raw_mode(found.stx_mode.into()) {
            FileType::BlockDevice => {
                let name = self.roots.block_name((found.stx_rdev_major, found.stx_rdev_minor));
                name.filter(|name| self.concerns(name))
            }
            FileType::CharacterDevice => {
                let (number, shown) = ((found.stx_rdev_major, found.stx_rdev_minor), self.roots);
                let (node, disks) = past_the_block_layer(shown, number)?;
                let disk = disks.into_iter().find(|disk| self.concerns(disk))?;
                Some(format!("{disk} (by {node})"))
            }
            FileType::RegularFile => {
                let device = rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor);
                let is_it = self.footprint.files.contains(&(device, found.stx_ino));
                is_it.then(|| format!("the file behind {}", self.footprint.target))
            }
            _ => None,
        }
    }

    fn named(&self, path: &Path) -> Option<String> {
        self.roots.block_of_node(path).filter(|name| self.concerns(name))
    }

    fn writes(&self, fd: &str) -> bool {
        let info = self.about(fd);
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or("2");
        // Octal; the lowest two bits are O_RDONLY, O_WRONLY or O_RDWR (proc_pid_fdinfo(5)).
        i64::from_str_radix(flags.trim(), 8).map_or(true, |flags| flags & 3 != 0)
    }

    fn about(&self, fd: &str) -> String {
        read_text(self.dir.join("fdinfo").join(fd)).unwrap_or_default()
    }

    /// Files registered with an io_uring instance, even if closed since. Whether they are written is unknown.
    fn registered(&self) -> Vec<OpenHandle> {
        let fds = list_dir(&self.dir.join("fd")).into_iter();
        let is_ring = |fd: &String| {
            fs::read_link(self.dir.join("fd").join(fd)).is_ok_and(|to| to.as_os_str() == RING)
        };
        let files = |fd: String| {
            let info = self.about(&fd);
            let lines = info.lines().skip_while(|line| !line.starts_with("UserFiles:")).skip(1);
            let numbered = lines.map_while(|line| {
                let (number, path) = line.split_once(": ")?;
                number.trim().parse::<u32>().ok().map(|_| path_of(path.as_bytes()))
            });
            let paths: Vec<PathBuf> = numbered.filter(|path| path.is_absolute()).collect();
            let command = format!("cat /proc/{}/fdinfo/{fd}", self.process);
            paths.into_iter().map(move |path| (path, command.clone()))
        };
        let found = fds.filter(is_ring).flat_map(files).filter_map(|(path, command)| {
            let device = stat_locally(&path)
                .map_or_else(|| self.named(&path), |it| self.part_of_target(&it))?;
            Some(self.open(device, "registered with io_uring for writing", true, command))
        });
        found.collect()
    }

    /// Shared mappings into which the process can write; and mappings of other devices with the target's bytes,
    /// also those that only read: what the kernel keeps of these it cannot forget, so patterns would stay there.
    fn mapped(&self) -> Vec<OpenHandle> {
        let maps = fs::read(self.dir.join("maps")).unwrap_or_default();
        let maps = String::from_utf8_lossy(&maps).into_owned();
        let found = maps.lines().filter_map(Mapping::of).filter_map(|mapping| {
            let device = self.behind(&self.dir.join("map_files").join(&mapping.link));
            let device = device.or_else(|| self.named(Path::new(mapping.path)))?;
            let keeps = self.footprint.has(&device) && device != self.footprint.target;
            let command = format!("grep {} /proc/{}/maps", mapping.path, self.process);
            let how = if mapping.is_written {
                "mapped into its memory for writing"
            } else {
                "mapped into memory, where it would keep old contents"
            };
            (mapping.is_written || keeps).then(|| self.open(device, how, true, command))
        });
        found.collect()
    }
}

/// The name of a character device that takes a drive's commands past the block layer, without any claim (`sg2`, a
/// node of bsg, `ng0n1` of NVMe), and the disks that it reaches: virtual machines are given disks so.
fn past_the_block_layer(
    roots: &Roots,
    (major, minor): (u32, u32),
) -> Option<(String, Vec<String>)> {
    let dir = fs::canonicalize(roots.sys.join(format!("dev/char/{major}:{minor}"))).ok()?;
    let name = file_name(&dir)?;
    let disks = match dir.parent().and_then(file_name).as_deref() {
        Some("scsi_generic" | "bsg") => list_dir(&dir.ancestors().nth(2)?.join("block")),
        _ => vec![format!("nvme{}", name.strip_prefix("ng")?)],
    };
    Some((name, disks))
}

/// A line of `/proc/PID/maps` (proc_pid_maps(5)).
struct Mapping<'l> {
    /// Its name below `map_files`.
    link: String,
    path: &'l str,
    /// Whether it is shared and can be written.
    is_written: bool,
}

impl<'l> Mapping<'l> {
    fn of(line: &'l str) -> Option<Self> {
        // Numbers stand there without the zeros in front of them.
        fn plain(number: &str) -> Option<String> {
            Some(format!("{:x}", u64::from_str_radix(number, 16).ok()?))
        }
        let mut fields = line.splitn(6, ' ');
        let (from, to) = fields.next()?.split_once('-')?;
        let is_written =
            fields.next().is_some_and(|how| how.starts_with("rw") && how.ends_with('s'));
        let path = fields.nth(3)?.trim_start();
        let link = format!("{}-{}", plain(from)?, plain(to)?);
        path.starts_with('/').then_some(Self { link, path, is_written })
    }
}

/// What is behind a path, without asking a server of files that may never answer.
fn stat_locally(path: &Path) -> Option<Statx> {
    let wanted = StatxFlags::TYPE | StatxFlags::INO;
    rustix::fs::statx(CWD, path, AtFlags::STATX_DONT_SYNC, wanted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::BlockGraph;
    use crate::roots::fake::Fake;
    use std::sync::mpsc::channel;

    /// `/proc/PID/fd` shows the descriptors of the first thread only.
    #[test]
    fn threads_with_own_descriptors_are_distinguished() {
        let own = std::process::id().to_string();
        let name = |id: i32| format!("{own}/task/{id}");
        let (sender, ids) = channel();
        let (release, held) = channel::<()>();
        let (release_shared, held_shared) = channel::<()>();
        let thread = |is_apart: bool, held: std::sync::mpsc::Receiver<()>| {
            let sender = sender.clone();
            std::thread::spawn(move || {
                // SAFETY: the thread only waits afterwards, and uses no descriptor.
                let done = if is_apart { unsafe { libc::unshare(libc::CLONE_FILES) } } else { 0 };
                assert_eq!(done, 0);
                sender.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
                let _ = held.recv();
            })
        };
        let (one, other) = (thread(true, held), thread(false, held_shared));
        let ids: Vec<i32> = ids.iter().take(2).collect();
        let found = threads_with_own_table(&Roots::host(), &own);
        let listed: Vec<bool> = ids.iter().map(|id| found.contains(&name(*id))).collect();
        drop((release, release_shared));
        one.join().unwrap();
        other.join().unwrap();
        assert_eq!(listed.iter().filter(|is_listed| **is_listed).count(), 1, "{ids:?}: {found:?}");
    }

    /// Disks of virtual machines are passed by these nodes, which know no claim.
    #[test]
    fn command_node_is_its_disk() {
        let fake = Fake::new();
        let scsi = "pci0000:00/host2/2:0:0:0";
        fake.scsi_disk(&format!("{scsi}/block/gate-sdx"), (8, 0), 1 << 30);
        fake.disk("pci0000:00/nvme/nvme77/nvme77n1", (259, 0), 1 << 30);
        fake.file("proc/812/fdinfo/7", "pos:\t0\nflags:\t02100002\n");
        fake.link("proc/812/fd/7", "/dev/null");
        let nodes = [("scsi_generic/sg2", "gate-sdx (by sg2)"), ("bsg/2:0:0:0", "(by 2:0:0:0)")];
        let nodes = nodes.map(|(node, shown)| (format!("{scsi}/{node}"), "gate-sdx", shown));
        let of_nvme = ("pci0000:00/nvme/nvme77/ng77n1".to_string(), "nvme77n1", "(by ng77n1)");
        for (node, disk, shown) in nodes.into_iter().chain([of_nvme]) {
            let dir = fake.path(&format!("sys/devices/{node}"));
            fs::create_dir_all(&dir).unwrap();
            fake.link("sys/dev/char/1:3", &dir);
            for (target, is_it) in
                [("gate-sdx", disk == "gate-sdx"), ("nvme77n1", disk != "gate-sdx")]
            {
                let footprint = BlockGraph::read(&fake.roots).footprint(target);
                let found = of_process(&fake.roots, Sought::Device(&footprint), "812");
                assert_eq!(found.len(), usize::from(is_it), "{node} {target}");
                assert!(found.iter().all(|open| open.writes && open.what.ends_with(shown)));
            }
            fs::remove_file(fake.path("sys/dev/char/1:3")).unwrap();
        }
    }

    #[test]
    fn a_line_of_a_mapping_names_its_link() {
        let line = "00400000-7f0000500000 rw-s 00001000 00:06 91     /dev/my disk (deleted)";
        let mapping = Mapping::of(line).unwrap();
        assert_eq!(
            (mapping.link.as_str(), mapping.path),
            ("400000-7f0000500000", "/dev/my disk (deleted)")
        );
        for line in ["", "x", "00400000-00500000 rw-s 00000000 00:01 91", "0-g rw-s 0 0:1 9 /x"] {
            assert!(Mapping::of(line).is_none(), "{line}");
        }
    }
}
