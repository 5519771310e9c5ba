//! Starting the program, and what it leaves when it has ended.

use super::PATIENCE;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// User and group `nobody` on almost every system.
const NOBODY: u32 = 65534;

pub struct Call {
    command: Command,
    input: Vec<u8>,
}

pub struct Running {
    child: Child,
    pub(super) what: String,
    readers: [Option<JoinHandle<Vec<u8>>>; 2],
}

pub struct Ended {
    what: String,
    status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Call {
    pub fn new(program: &str) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command, input: Vec::new() }
    }

    pub fn arguments<T: AsRef<std::ffi::OsStr>>(mut self, arguments: &[T]) -> Self {
        let arguments: Vec<&std::ffi::OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        let tests = arguments.iter().rev().find_map(|it| it.to_str()?.strip_prefix("--test="));
        self.command
            .args(arguments.iter().filter(|it| tests.is_none_or(|tests| super::fits(it, tests))));
        self
    }

    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// The folder of the user's data and settings, in a locale with UTF-8.
    pub fn with_home(mut self, home: &Path) -> Self {
        for name in ["DRIVESCOPE_STORE", "NO_COLOR"] {
            self.command.env_remove(name);
        }
        self.env("HOME", home)
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("LC_ALL", "C.UTF-8")
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Replaces [`Ended::stdout`].
    pub fn output_to(mut self, output: impl Into<Stdio>) -> Self {
        self.command.stdout(output);
        self
    }

    /// Replaces [`Ended::stderr`].
    pub fn errors_to(mut self, errors: impl Into<Stdio>) -> Self {
        self.command.stderr(errors);
        self
    }

    /// Runs as `nobody`, if this user is root.
    pub fn without_privileges(mut self) -> Self {
        if super::is_root() {
            self.command.uid(NOBODY).gid(NOBODY);
        }
        self
    }

    /// With something done between `fork` and `exec`: system calls only.
    ///
    /// # Safety
    /// As [`CommandExt::pre_exec`].
    pub unsafe fn before_exec(
        mut self,
        work: impl FnMut() -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe { self.command.pre_exec(work) };
        self
    }

    /// For callers that start it themselves.
    pub fn into_command(self) -> Command {
        self.command
    }

    pub fn start(mut self) -> Running {
        let mut running = Running::of(&mut self.command);
        let mut stdin = running.child.stdin.take().expect("standard input is a pipe");
        // A program may close its input unread; the test is not at fault.
        let _ = stdin.write_all(&self.input);
        running
    }

    pub fn end(self) -> Ended {
        self.start().end()
    }
}

fn reader(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        bytes
    })
}

impl Running {
    pub fn of(command: &mut Command) -> Self {
        let what = format!("{command:?}");
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{what}: {e}"));
        let readers = [child.stdout.take().map(reader), child.stderr.take().map(reader)];
        Self { child, what, readers }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let process = Pid::from_child(&self.child);
        kill_process(process, signal).expect("the process has not been waited for");
    }

    pub fn kill(self) -> Ended {
        self.signal(Signal::KILL);
        self.end()
    }

    /// Ctrl-C.
    #[track_caller]
    pub fn interrupt(self) -> Ended {
        self.signal(Signal::INT);
        self.end().code(130)
    }

    /// Bytes moved so far, by the kernel's counter `read_bytes` or `write_bytes`.
    pub fn io_bytes(&self, counter: &str) -> Option<u64> {
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.id())).ok()?;
        io.lines().find_map(|line| line.strip_prefix(counter)?.strip_prefix(": "))?.parse().ok()
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("the process is ours").is_none()
    }

    /// Panics with its output if it has ended.
    pub fn must_be_alive(mut self) -> Self {
        if self.is_alive() {
            return self;
        }
        panic!("it ended too early: {}", self.end());
    }

    /// Waits for its end; panics if it does not come.
    pub fn end(self) -> Ended {
        self.end_within(PATIENCE)
    }

    /// [`end`](Self::end) for long runs.
    pub fn end_within(mut self, patience: Duration) -> Ended {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("the process is ours") {
                Some(status) => break status,
                None if start.elapsed() > patience => {
                    let _ = self.child.kill();
                    panic!("{} did not end within {patience:?}", self.what);
                }
                None => std::thread::sleep(Duration::from_millis(3)),
            }
        };
        let [stdout, stderr] = std::mem::take(&mut self.readers).map(|reader| {
            let bytes = reader.map(|reader| reader.join().expect("the reader does not panic"));
            String::from_utf8(bytes.unwrap_or_default()).expect("outputs are UTF-8")
        });
        Ended { what: self.what.clone(), status, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed in the middle leaves nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Panics with the whole output if the program panicked.
    #[track_caller]
    pub fn not_panicked(self) -> Self {
        assert!(!self.stderr.contains("panicked at"), "a panic: {self}");
        self
    }

    /// Panics with the whole output unless it ended with `code`, without a panic.
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        let ended = self.not_panicked();
        assert_eq!(ended.exit_code(), Some(code), "{ended}");
        ended
    }

    /// Expects 0, or 1 if the run has no valid figure, which depends on this machine's memory and on other programs.
    /// The program names the cause, and its document must agree.
    #[track_caller]
    pub fn measured(self) -> Self {
        fn of(value: &Value, key: &str) -> Vec<Value> {
            value[key].as_array().cloned().unwrap_or_default()
        }
        if self.exit_code() != Some(1) {
            return self.code(0);
        }
        let ended = self.code(1);
        let is_cause = |line: &str| line.starts_with("drivescope: no valid figure: ");
        // On a terminal both outputs are one.
        let mut lines = ended.stderr.lines().chain(ended.stdout.lines());
        assert!(lines.any(is_cause), "1 for another cause: {ended}");
        let Ok(run) = serde_json::from_str::<Value>(&ended.stdout) else { return ended };
        let valid = |it: &Value| of(it, "metrics").iter().any(|metric| metric["valid"] == true);
        assert!(!of(&run, "tests").iter().any(valid), "{ended}");
        assert!(!of(&run, "findings").iter().any(|it| it["severity"] == "problem"), "{ended}");
        ended
    }

    /// `None` after a signal.
    pub fn exit_code(&self) -> Option<i32> {
        self.status.code()
    }

    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    #[track_caller]
    pub fn shows(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.stdout.contains(part), "'{part}' is missing: {self}");
        }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("not JSON: {e}: {self}"))
    }

    /// Standard output as JSON documents, one per line.
    #[track_caller]
    pub fn documents(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {self}")))
            .collect()
    }

    /// Expects `code`, one line on standard error, and no result.
    #[track_caller]
    pub fn refused(self, code: i32) -> String {
        let ended = self.code(code);
        assert_eq!(ended.stdout, "", "{ended}");
        let lines: Vec<&str> = ended.stderr.lines().collect();
        let [line] = lines.as_slice() else { panic!("one line was expected: {ended}") };
        let message = line.strip_prefix("drivescope: ").unwrap_or_else(|| panic!("{ended}"));
        message.to_string()
    }

    /// [`refused`](Self::refused) with all of these parts in the line.
    #[track_caller]
    pub fn refused_with(self, code: i32, parts: &[&str]) -> String {
        let what = self.what.clone();
        let message = self.refused(code);
        for part in parts {
            assert!(message.contains(part), "{what}: no '{part}' in: {message}");
        }
        message
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, status, stdout, stderr } = self;
        let head: String = stdout.chars().take(6000).collect();
        write!(f, "{what}\n{status}\n--- stdout\n{head}\n--- stderr\n{stderr}")
    }
}
