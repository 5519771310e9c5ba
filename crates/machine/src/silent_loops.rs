//! Loop devices that may not be asked for their files: whoever serves a file may never answer, and the device then
//! holds who asks. Another process asks first, all of them at once.

use crate::aside;
use crate::loop_status::LoopStatus;
use crate::patience::PATIENCE;
use crate::roots::{Roots, list_dir, read_text};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The name of [`look`] among those of [`aside::answer`].
pub const LOOP: &str = "loop";
/// The name of [`look_at_files`] among them.
pub const FILE: &str = "file";

/// How long an answer, or that there was none, holds: longer than a command needs, and short for one that runs on.
const HOLDS: Duration = Duration::from_secs(60);
/// Waiting ends after this time although the process that asks has a limit of its own.
const WAIT_MAX: Duration = Duration::from_secs(2 * aside::BEGIN_MAX.as_secs());

type LoopAnswers = BTreeMap<(&'static str, Attached), LoopAnswer>;

/// By look and loop device.
static KNOWN: Mutex<LoopAnswers> = Mutex::new(BTreeMap::new());
static NEWS: Condvar = Condvar::new();

#[derive(Debug, Clone, Copy)]
struct LoopAnswer {
    /// `None` while it is being asked.
    is_silent: Option<bool>,
    since: Instant,
}

impl LoopAnswer {
    fn now(is_silent: Option<bool>) -> Self {
        Self { is_silent, since: Instant::now() }
    }
}

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

/// Whether a loop device is known, from the last minute, not to answer; asks nothing.
pub fn is_known_silent(roots: &Roots, name: &str) -> bool {
    let Some(attached) = Attached::of(roots, name).filter(|_| *roots == Roots::host()) else {
        return false;
    };
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let looks = [LOOP, FILE].into_iter();
    let answers = looks.filter_map(|look| known.get(&(look, attached.clone())));
    answers.filter(|answer| answer.since.elapsed() < HOLDS).any(|it| it.is_silent == Some(true))
}

/// Whether a loop device of this machine does not answer another process in time. All of them are asked together, so
/// that several silent ones cost one wait, and not again within a minute; a device that has answered is not waited for
/// although others have not.
fn is_silent_to(look: &'static str, roots: &Roots, name: &str) -> bool {
    let Some(attached) = Attached::of(roots, name).filter(|_| *roots == Roots::host()) else {
        return false;
    };
    let asked = (look, attached);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|_, answer| answer.is_silent.is_none() || answer.since.elapsed() < HOLDS);
    if !known.contains_key(&asked) {
        let names = list_dir(&roots.sys.join("block")).into_iter();
        let attached = names.filter_map(|name| Some((look, Attached::of(roots, &name)?)));
        // One that does not even say which file it shows would cost a second wait.
        let is_lost = |it: &Attached| {
            known.get(&(LOOP, it.clone())).is_some_and(|answer| answer.is_silent == Some(true))
        };
        let new: Vec<_> =
            attached.filter(|it| !known.contains_key(it) && !is_lost(&it.1)).collect();
        known.extend(new.iter().map(|it| (it.clone(), LoopAnswer::now(None))));
        drop(known);
        ask_beside(look, new);
        known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    }
    let is_open = |known: &mut LoopAnswers| {
        known.get(&asked).is_some_and(|answer| answer.is_silent.is_none())
    };
    let (known, _) =
        NEWS.wait_timeout_while(known, WAIT_MAX, is_open).unwrap_or_else(PoisonError::into_inner);
    known.get(&asked).is_some_and(|answer| answer.is_silent != Some(false))
}

/// Asks these in a thread of its own, which reports each answer as it comes; where there is none to be had, at once.
fn ask_beside(look: &'static str, asked: Vec<(&'static str, Attached)>) {
    let ask = move || {
        let names: Vec<OsString> = asked.iter().map(|(_, it)| it.name.clone().into()).collect();
        aside::each_answer(look, &names, PATIENCE, &mut |index, is_silent| {
            let answer = LoopAnswer::now(Some(is_silent));
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(asked[index].clone(), answer);
            NEWS.notify_all();
        });
    };
    if std::thread::Builder::new().spawn(ask.clone()).is_err() {
        ask();
    }
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
