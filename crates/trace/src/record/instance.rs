//! The recording's own instance of tracefs: the only thing outside of its own folders that drivescope makes besides
//! what it serves. None of it is on a drive.

use super::ring::RingPipe;
use crate::error::TraceError;
use drivescope_machine::Roots;
use drivescope_machine::roots::{list_dir, open_to_read, read_text};
use rustix::fs::OFlags;
use std::io;
use std::path::{Path, PathBuf};

/// Instances are named by this, the process, and its start time: a later process may have the same number.
const PREFIX: &str = "drivescope-";
/// Ring of each processor: 50 ms of 1.2 million events a second.
const RING_KIB: u32 = 4096;
const EVENTS: [&str; 3] = ["block_rq_issue", "block_rq_requeue", "block_rq_complete"];

/// An instance, removed when it is dropped.
#[derive(Debug)]
pub struct TraceInstance {
    path: PathBuf,
}

impl TraceInstance {
    /// Makes one, and removes instances of killed recordings.
    pub fn make(roots: &Roots) -> Result<Self, TraceError> {
        if !rustix::process::geteuid().is_root() {
            let why =
                "recording needs root: only the kernel sees what reaches a drive; run it with sudo";
            return Err(TraceError::Unsuitable(why.to_string()));
        }
        let folder = instances(roots)?;
        remove_left(roots, &folder);
        let me = std::process::id();
        let began = began(roots, me).unwrap_or(0);
        let path = folder.join(format!("{PREFIX}{me}-{began}"));
        make_folder(&path).map_err(|error| refused("make an instance of tracefs", &error))?;
        let made = Self { path };
        // The clock that all processors share, as programs read it.
        made.write("trace_clock", "mono")?;
        made.write("buffer_size_kb", &RING_KIB.to_string())?;
        Ok(made)
    }

    /// Records the requests of a disk from now on.
    pub fn enable(&self, kernel_number: u32) -> Result<(), TraceError> {
        for event in EVENTS {
            let dir = format!("events/block/{event}");
            self.write(&format!("{dir}/filter"), &format!("dev == {kernel_number}"))?;
        }
        EVENTS.iter().try_for_each(|event| self.write(&format!("events/block/{event}/enable"), "1"))
    }

    /// Stops recording; events in the rings stay.
    pub fn stop(&self) -> Result<(), TraceError> {
        self.write("tracing_on", "0")
    }

    pub fn read(&self, file: &str) -> Result<String, TraceError> {
        read_text(self.path.join(file)).ok_or_else(|| {
            let why = format!("this kernel has no {file} in tracefs (CONFIG_BLK_DEV_IO_TRACE)");
            TraceError::Unsuitable(why)
        })
    }

    fn processors(&self) -> Vec<PathBuf> {
        let folder = self.path.join("per_cpu");
        list_dir(&folder).into_iter().map(|name| folder.join(name)).collect()
    }

    pub fn pipes(&self) -> Result<Vec<RingPipe>, TraceError> {
        let page = rustix::param::page_size();
        let pipe = |processor: PathBuf| {
            let fd = open_to_read(&processor.join("trace_pipe_raw"), OFlags::NONBLOCK);
            fd.map(|fd| RingPipe::new(fd, page)).map_err(|errno| TraceError::Read(errno.into()))
        };
        self.processors().into_iter().map(pipe).collect()
    }

    /// Events that the kernel had no room for.
    pub fn lost(&self) -> Result<u64, TraceError> {
        let texts = self.processors().into_iter().filter_map(|it| read_text(it.join("stats")));
        Ok(texts.map(|text| lost_of(&text)).sum())
    }

    fn write(&self, file: &str, text: &str) -> Result<(), TraceError> {
        write_file(&self.path.join(file), text)
            .map_err(|error| refused(&format!("write {file} of tracefs"), &error))
    }
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        // One that stays is removed by the next recording.
        let _ = remove_folder(&self.path);
    }
}

fn refused(what: &str, error: &io::Error) -> TraceError {
    TraceError::Unsuitable(format!("cannot {what}: {error}"))
}

fn instances(roots: &Roots) -> Result<PathBuf, TraceError> {
    let places = ["kernel/tracing/instances", "kernel/debug/tracing/instances"];
    let found = places.map(|place| roots.sys.join(place)).into_iter().find(|path| path.is_dir());
    found.ok_or_else(|| {
        let why = "tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing";
        TraceError::Unsuitable(why.to_string())
    })
}

/// Removes instances of killed recordings. The kernel keeps those in use.
fn remove_left(roots: &Roots, folder: &Path) {
    for name in list_dir(folder) {
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
        let Some((process, begin)) = owner else { continue };
        let began = process.parse().ok().and_then(|process| began(roots, process));
        if began.map(|ticks| ticks.to_string()).as_deref() != Some(begin) {
            let _ = remove_folder(&folder.join(&name));
        }
    }
}

fn began(roots: &Roots, process: u32) -> Option<u64> {
    let stat = read_text(roots.proc.join(process.to_string()).join("stat"))?;
    // Its name may have blanks and brackets; after it the 20th word is the time.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Events lost according to `per_cpu/cpuN/stats`.
fn lost_of(stats: &str) -> u64 {
    let number = |line: &str| {
        let (what, number) = line.split_once(':')?;
        ["overrun", "dropped events"]
            .contains(&what.trim())
            .then_some(number)?
            .trim()
            .parse::<u64>()
            .ok()
    };
    stats.lines().filter_map(number).sum::<u64>()
}

#[expect(clippy::disallowed_methods, reason = "tracefs: settings of the recording's own instance")]
fn write_file(path: &Path, text: &str) -> io::Result<()> {
    std::fs::write(path, text)
}

#[expect(clippy::disallowed_methods, reason = "tracefs: an instance of the recording's own")]
fn make_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

#[expect(
    clippy::disallowed_methods,
    reason = "tracefs: the recording's own instance, or one that a killed recording left"
)]
fn remove_folder(path: &Path) -> io::Result<()> {
    std::fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_events_are_overwritten_plus_dropped_ones() {
        let stats = "entries: 12\noverrun: 3\ncommit overrun: 9\nbytes: 100\ndropped events: 4\nread events: 1\n";
        assert_eq!(lost_of(stats), 7);
        assert_eq!(lost_of("entries: 12\noverrun: 0\ndropped events: 0\n"), 0);
    }

    #[test]
    fn process_is_identified_by_number_and_start() {
        let roots = Roots::host();
        let me = began(&roots, std::process::id()).unwrap();
        assert!(me > 0 && began(&roots, std::process::id()) == Some(me));
        assert_eq!(began(&roots, u32::MAX), None);
    }
}
