//! The processes that procfs lists, and whether they are all that there are.

use crate::mounts::{Mount, mounts, parse};
use crate::roots::{Roots, file_name, list_dir, read_text};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Number of the machine's first namespace of processes (`PROC_PID_INIT_INO` of the kernel's proc_ns.h):
/// who is in it sees the machine's own first process, and with it the mounts of the running system.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Where procfs describes processes. A process whose first thread has ended shows nothing there while its other threads
/// run; then these are listed too.
pub fn processes(roots: &Roots) -> Vec<String> {
    let mut names = list_dir(&roots.proc);
    names.retain(|name| name.bytes().all(|b| b.is_ascii_digit()));
    let lost_first = |name: &&String| {
        let namespace = fs::read_link(roots.proc.join(name).join("ns/mnt"));
        namespace.is_err_and(|error| has_ended(&error))
    };
    let threads = |name: &String| {
        let folder = format!("{name}/task");
        let threads = list_dir(&roots.proc.join(&folder));
        threads.into_iter().map(move |thread| format!("{folder}/{thread}")).collect::<Vec<_>>()
    };
    let threads: Vec<String> = names.iter().filter(lost_first).flat_map(threads).collect();
    names.extend(threads);
    names
}

pub fn own_process(roots: &Roots) -> Option<String> {
    fs::read_link(roots.proc.join("self")).ok().and_then(|link| file_name(&link))
}

/// `qemu (process 812)`.
pub fn describe_process(roots: &Roots, process: &str) -> String {
    let name = read_text(roots.proc.join(process).join("comm"));
    format!("{} (process {process})", name.as_deref().unwrap_or("a program"))
}

/// Whether a file of a process cannot be read because the process is gone or a zombie: then it hides
/// nothing.
pub fn has_ended(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::SRCH | Errno::INVAL))
}

/// Whether procfs is mounted so that it lists only the processes of this user (`hidepid` of proc(5)): then even
/// the first one is missing.
pub fn hides_processes(roots: &Roots) -> bool {
    let hides = |mount: &Mount| {
        let option = mount.option("hidepid");
        mount.kind == "proc" && option.is_some_and(|how| !["", "0", "off"].contains(&how.as_str()))
    };
    !roots.proc.join("1").exists() && mounts(roots).iter().any(hides)
}

pub fn sees_mounts_of_init(roots: &Roots) -> bool {
    pid_namespace(roots).is_some_and(|name| name.as_os_str() == FIRST_PID_NAMESPACE)
        && fs::read(roots.proc.join("1/mountinfo")).is_ok()
}

/// Whether the processes of the machine are listed, and not only those of a container, as far as anybody can tell.
pub fn sees_all_processes(roots: &Roots) -> bool {
    pid_namespace(roots).is_none_or(|name| name.as_os_str() == FIRST_PID_NAMESPACE)
}

fn pid_namespace(roots: &Roots) -> Option<PathBuf> {
    fs::read_link(roots.proc.join("self/ns/pid")).ok()
}

/// The mount tables that can be read.
pub struct MountTables {
    /// Whose table it is (`None`: ours), and the table.
    pub read: Vec<(Option<String>, Vec<Mount>)>,
    /// Processes whose table may not be read.
    pub hidden: usize,
}

impl MountTables {
    /// One table per mount namespace: processes that share one show the same link.
    pub fn read(roots: &Roots) -> Self {
        let namespace = |process: &str| fs::read_link(roots.proc.join(process).join("ns/mnt")).ok();
        let table = |process: &str| fs::read(roots.proc.join(process).join("mountinfo"));
        let mut seen: BTreeSet<PathBuf> = namespace("self").into_iter().collect();
        let mut tables = Self { read: Vec::new(), hidden: 0 };
        if let Ok(own) = table("self") {
            tables.read.push((None, parse(&own)));
        }
        for process in processes(roots) {
            if namespace(&process).is_some_and(|link| !seen.insert(link)) {
                continue;
            }
            match table(&process) {
                Ok(text) => tables.read.push((Some(process), parse(&text))),
                Err(error) if has_ended(&error) => {}
                Err(_) => tables.hidden += 1,
            }
        }
        tables
    }
}
