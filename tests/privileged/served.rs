//! `drivescope sim mount` as a child of the test, and a file system on what it serves.

use super::guards::tool;
use super::is_privileged;
use crate::support::{Call, Ended, Running, Scratch, skip_loudly, wait_for};
use rustix::process::Signal;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Prints a note if a drive cannot be served here; `block`: as a block device.
pub fn can_serve(block: bool) -> bool {
    let needed: &[&str] = if block { &["/dev/fuse", "/dev/loop-control"] } else { &["/dev/fuse"] };
    match needed.iter().find(|node| !Path::new(*node).exists()) {
        Some(node) => {
            skip_loudly(&format!("needs {node}"));
            false
        }
        None => is_privileged(),
    }
}

pub fn scratch_to_serve(block: bool) -> Option<Scratch> {
    can_serve(block).then(Scratch::new)
}

/// A served drive in the scratch directory's folder `drive`.
pub struct Served {
    program: Option<Running>,
    said: PathBuf,
    complained: PathBuf,
    mount_point: String,
}

impl Served {
    pub fn call(scratch: &Scratch, arguments: &[&str]) -> Call {
        // After a kill a dead mount may lie there, which does not even answer whether it is a folder.
        match fs::create_dir(scratch.path("drive")) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made.expect("the scratch directory is writable"),
        }
        scratch.call(&["sim", "mount"]).arguments(arguments)
    }

    /// Starts the server, and waits for the drive.
    pub fn start(scratch: &Scratch, arguments: &[&str]) -> Self {
        Self::of(scratch, Self::call(scratch, arguments))
    }

    pub fn of(scratch: &Scratch, call: Call) -> Self {
        let [said, complained] = ["said", "complained"].map(|name| scratch.path(name));
        let call = call.output_to(File::create(&said).expect("it is writable"));
        let call = call.errors_to(File::create(&complained).expect("it is writable"));
        let program = Some(call.start());
        let mount_point = scratch.text("drive");
        let mut served = Self { program, said, complained, mount_point };
        let ready = |served: &mut Self| {
            let shown = served.complained().contains("press Ctrl-C to stop");
            (shown || !served.is_alive()).then_some(())
        };
        wait_for("the served drive", || ready(&mut served));
        assert!(served.is_alive(), "{}{}", served.said(), served.complained());
        served
    }

    pub fn said(&self) -> String {
        fs::read_to_string(&self.said).expect("it was made at the start")
    }

    pub fn complained(&self) -> String {
        fs::read_to_string(&self.complained).expect("it was made at the start")
    }

    pub fn wait_for(&self, words: &str) {
        wait_for(words, || self.complained().contains(words).then_some(()));
    }

    pub fn node(&self) -> String {
        let said = self.said();
        let node = said.split_whitespace().find(|word| word.starts_with("/dev/loop"));
        node.unwrap_or_else(|| panic!("no block device: {said}")).to_string()
    }

    pub fn is_alive(&mut self) -> bool {
        self.program.as_mut().expect("it has not been waited for").is_alive()
    }

    pub fn signal(&self, signal: Signal) {
        self.program.as_ref().expect("it has not been waited for").signal(signal);
    }

    pub fn interrupt(self) -> Self {
        self.signal(Signal::INT);
        self
    }

    pub fn end(mut self) -> Ended {
        self.ended()
    }

    /// After a signal that cannot be caught: the mount stays.
    pub fn end_by_signal(mut self) -> Ended {
        let ended = self.ended();
        // The next server is to find it, and not this guard.
        self.mount_point.clear();
        ended
    }

    fn ended(&mut self) -> Ended {
        let mut ended = self.program.take().expect("it is ended only once").end();
        (ended.stdout, ended.stderr) = (self.said(), self.complained());
        ended
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A test that failed in the middle leaves nothing mounted.
        if self.program.take().is_some() && !self.mount_point.is_empty() {
            let _ = tool("umount", &["-l", &self.mount_point]);
        }
    }
}

/// A file system in the scratch directory's folder `fs`; unmounted when dropped.
pub struct Fs {
    point: String,
}

impl Fs {
    pub fn mount(scratch: &Scratch, node: &str) -> Self {
        fs::create_dir_all(scratch.path("fs")).expect("the scratch directory is writable");
        tool("mount", &[node, &scratch.text("fs")]).expect("it has a file system");
        Self::of(scratch)
    }

    /// An existing mount.
    pub fn of(scratch: &Scratch) -> Self {
        Self { point: scratch.text("fs") }
    }

    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.point)
    }
}

impl Drop for Fs {
    fn drop(&mut self) {
        // A program that looks at all file systems may be in it for a moment.
        wait_for("unmounting", || tool("umount", &[&self.point]).ok());
    }
}
