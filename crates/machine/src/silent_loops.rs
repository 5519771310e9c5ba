//! Loop devices that may not be asked for their files: whoever serves a file may never answer, and the device then
//! holds who asks. Another process asks first, all of them at once.

use crate::aside;
use crate::loop_status::LoopStatus;
use crate::patience::PATIENCE;
use crate::roots::{Roots, list_dir, read_text};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The name of [`look`] among those of [`aside::answer`].
pub const LOOP: &str = "loop";
/// The name of [`look_at_files`] among them.
pub const FILE: &str = "file";

/// How long an answer, or that there was none, holds: longer than a command needs, and short for one that runs on.
const HOLDS: Duration = Duration::from_secs(60);

/// By look and loop device: whether it did not answer, and when it was asked.
type LoopAnswers = BTreeMap<(&'static str, Attached), (bool, Instant)>;

static KNOWN: Mutex<LoopAnswers> = Mutex::new(BTreeMap::new());

/// A loop device and what is attached to it: another file counts anew.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Attached {
    name: String,
    file: String,
    sequence: Option<String>,
}

impl Attached {
    fn of(roots: &Roots, name: &str) -> Option<Self> {
        let dir = roots.sys.join("block").join(name);
        let file = read_text(dir.join("loop/backing_file"))?;
        Some(Self { name: name.to_string(), file, sequence: read_text(dir.join("diskseq")) })
    }
}

/// Whether a loop device does not answer who asks which file it shows.
pub fn is_silent(roots: &Roots, name: &str) -> bool {
    is_silent_to(LOOP, roots, name)
}

/// Whether a loop device does not answer who asks which file it shows, or the server of this file not who asks more.
pub fn is_served_by_none(roots: &Roots, name: &str) -> bool {
    is_silent(roots, name) || is_silent_to(FILE, roots, name)
}

/// Whether a loop device of this machine does not answer another process in time. All of them are asked together, so
/// that several silent ones cost one wait, and not again within a minute.
fn is_silent_to(look: &'static str, roots: &Roots, name: &str) -> bool {
    let Some(asked) = Attached::of(roots, name).filter(|_| *roots == Roots::host()) else {
        return false;
    };
    let Ok(mut known) = KNOWN.lock() else { return false };
    known.retain(|_, (_, since)| since.elapsed() < HOLDS);
    let asked = (look, asked);
    if !known.contains_key(&asked) {
        let names = list_dir(&roots.sys.join("block")).into_iter();
        let attached = names.filter_map(|name| Some((look, Attached::of(roots, &name)?)));
        // One that does not even say which file it shows would cost a second wait.
        let is_lost = |it: &Attached| known.get(&(LOOP, it.clone())).is_some_and(|(lost, _)| *lost);
        let is_new = |it: &(&str, Attached)| !known.contains_key(it) && !is_lost(&it.1);
        let new: Vec<_> = attached.filter(is_new).collect();
        let names: Vec<OsString> = new.iter().map(|(_, it)| it.name.clone().into()).collect();
        let silent = aside::silent(look, &names, PATIENCE);
        let now = Instant::now();
        known.extend(new.into_iter().zip(silent.into_iter().map(|is_silent| (is_silent, now))));
    }
    known.get(&asked).is_some_and(|(is_silent, _)| *is_silent)
}

/// Asks the loop devices with these kernel names for their files.
pub fn look(names: &[OsString], has_answered: &(dyn Fn(usize) + Sync)) {
    let roots = Roots::host();
    aside::each(names, has_answered, &|name| {
        name.to_str().map(|name| LoopStatus::of(&roots, name));
    });
}

/// Asks the file systems that hold the files of these loop devices (kernel names).
pub fn look_at_files(names: &[OsString], has_answered: &(dyn Fn(usize) + Sync)) {
    let roots = Roots::host();
    aside::each(names, has_answered, &|name| {
        let attached = name.to_str().and_then(|name| Attached::of(&roots, name));
        // The kernel may know a file by itself; of room on a file system it asks the server.
        attached.map(|it| rustix::fs::statvfs(it.file));
    });
}
