//! A server, or another program of a database, as a child of this program that never outlives it.

use crate::canceller::{Canceller, Registration};
use crate::error::one_line;
use crate::{ServerUser, SqlError};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const LINES_MAX: usize = 20;
/// How long a server may take to end before it is killed: it writes its buffers.
const STOP_TIME_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

type Said = Arc<Mutex<VecDeque<String>>>;

/// A running program. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    held: Arc<OwnedFd>,
    folder: PathBuf,
    said: Said,
    listener: Option<JoinHandle<()>>,
    _cancel: Registration,
}

impl ServerProcess {
    /// Starts a program in `folder`, which gets `on_death` when the calling thread ends or the run is cancelled.
    pub fn start(
        mut command: Command,
        folder: &Path,
        user: Option<&ServerUser>,
        on_death: Signal,
        canceller: &Arc<Canceller>,
    ) -> Result<Self, SqlError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let fail = |error: std::io::Error| SqlError::of_program(&name, &error);
        if let Some(user) = user {
            user.applies_to(&mut command);
        }
        // Not in the terminal's group of processes: Ctrl-C is for this program, which ends the server in order.
        command.current_dir(folder).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.env("LC_ALL", "C");
        let parent = rustix::process::getpid();
        let signal = on_death.as_raw();
        // SAFETY: between fork and exec only two system calls are made; nothing is allocated.
        unsafe {
            command.pre_exec(move || {
                if libc::prctl(libc::PR_SET_PDEATHSIG, signal) != 0 {
                    return Err(std::io::Error::last_os_error());
                }
                // Its parent may have ended by now.
                if rustix::process::getppid() != Some(parent) {
                    return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
                }
                Ok(())
            });
        }
        let mut child = command.spawn().map_err(fail)?;
        let said = Said::default();
        let listener = child.stderr.take().map(|output| {
            let said = Arc::clone(&said);
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    keep(&mut said.lock().unwrap_or_else(PoisonError::into_inner), line);
                }
            })
        });
        let pid = Pid::from_child(&child);
        let held = Arc::new(pidfd_open(pid, PidfdFlags::empty()).map_err(|e| fail(e.into()))?);
        let hook = Arc::clone(&held);
        let cancel = canceller.on_cancel(move || {
            let _ = pidfd_send_signal(&*hook, on_death);
        });
        let folder = folder.to_path_buf();
        Ok(Self { child, held, folder, said, listener, _cancel: cancel })
    }

    /// Runs a program to its end, which must be a success.
    pub fn run_to_end(
        command: Command,
        folder: &Path,
        user: Option<&ServerUser>,
        canceller: &Arc<Canceller>,
    ) -> Result<(), SqlError> {
        let path = PathBuf::from(command.get_program());
        let mut running = Self::start(command, folder, user, Signal::KILL, canceller)?;
        let status = running.child.wait();
        let program = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let status = status.map_err(|error| SqlError::of_program(&program, &error))?;
        if status.success() {
            Ok(())
        } else if canceller.is_cancelled() {
            Err(SqlError::Interrupted)
        } else {
            Err(SqlError::Program { program, why: running.last_words() })
        }
    }

    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The worst of its last lines.
    pub fn last_words(&mut self) -> String {
        let ended = self.ended();
        if ended.is_some()
            && let Some(listener) = self.listener.take()
        {
            let _ = listener.join();
        }
        let killed = ended.and_then(|status| status.signal()) == Some(Signal::KILL.as_raw());
        if killed {
            // It had no time to say why.
            return "it was killed (signal 9)".to_string();
        }
        gravest(&self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Signals it to end, and waits; kills it if it does not.
    pub fn stop(&mut self, signal: Signal) {
        let _ = pidfd_send_signal(&*self.held, signal);
        let begun = Instant::now();
        while self.ended().is_none() {
            if begun.elapsed() > STOP_TIME_MAX {
                let _ = pidfd_send_signal(&*self.held, Signal::KILL);
                let _ = self.child.wait();
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Processor time of all processes that work in its folder.
    pub fn cpu_ns(&self) -> u64 {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_here =
            |path: &PathBuf| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == self.folder);
        processes.map(|entry| entry.path()).filter(is_here).map(|path| threads_ns(&path)).sum()
    }
}

/// Words of lines that name a cause, the worst first.
const GRAVE: [&str; 4] = ["PANIC", "FATAL", "ERROR", "error"];

/// Keeps a line among the last ones. A server that crashes names the cause first, then prints much else.
fn keep(said: &mut VecDeque<String>, line: String) {
    if line.trim().is_empty() {
        return;
    }
    said.push_back(line);
    if said.len() > LINES_MAX {
        let is_idle = |line: &String| !GRAVE.iter().any(|word| line.contains(word));
        let at = said.iter().position(is_idle).unwrap_or(0);
        said.remove(at);
    }
}

/// The line that names a cause, without its time stamp; else the last one.
fn gravest(said: &VecDeque<String>) -> String {
    let found = GRAVE.iter().find_map(|word| said.iter().find(|line| line.contains(word)));
    let line = one_line(found.or(said.back()).map_or("", String::as_str));
    match line.split_once("[ERROR] ") {
        Some((_, words)) => words.to_string(),
        None => line,
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = pidfd_send_signal(&*self.held, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Processor time of a process, thread by thread: the first field of their `schedstat`, exact to the nanosecond.
fn threads_ns(process: &Path) -> u64 {
    let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    let spent = |text: String| text.split_whitespace().next()?.parse::<u64>().ok();
    threads
        .filter_map(|thread| spent(fs::read_to_string(thread.path().join("schedstat")).ok()?))
        .sum()
}

/// Waits until `is_ready`, or the server has ended, or `longest` is over.
pub(crate) fn wait_ready<T>(
    server: &mut ServerProcess,
    longest: Duration,
    mut is_ready: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    let begun = Instant::now();
    loop {
        let why = match is_ready() {
            Ok(ready) => return Ok(ready),
            Err(why) => why,
        };
        if server.ended().is_some() {
            return Err(server.last_words());
        }
        if begun.elapsed() > longest {
            return Err(format!("it does not answer: {}", one_line(&why)));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_is_found_among_last_lines() {
        fn of(lines: &[&str]) -> String {
            gravest(&lines.iter().map(|line| (*line).to_string()).collect())
        }
        let mariadb = [
            "2026-11-26 10:49:47 0 [Note] InnoDB: Completed initialization of buffer pool",
            "2026-11-26 10:49:47 0 [ERROR] InnoDB: Cannot open datafile './ibdata1'",
            "2026-11-26 10:49:47 0 [ERROR] Aborting",
        ];
        assert_eq!(of(&mariadb), "InnoDB: Cannot open datafile './ibdata1'");
        let postgres = ["LOG:  starting", "FATAL:  could not write lock file", "LOG:  shut down"];
        assert_eq!(of(&postgres), "FATAL:  could not write lock file");
        assert_eq!(of(&["starting", "ready"]), "ready");
        assert_eq!(of(&[]), "it says nothing");
        let mut said = VecDeque::new();
        keep(&mut said, "0 [ERROR] InnoDB: no space".to_string());
        (0..100).for_each(|frame| keep(&mut said, format!("stack frame {frame}")));
        keep(&mut said, String::new());
        assert_eq!((said.len(), gravest(&said).as_str()), (LINES_MAX, "InnoDB: no space"));
    }

    #[test]
    fn killed_and_failing_servers_report_the_cause() {
        let folder = std::env::temp_dir();
        let words = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            let canceller = Arc::default();
            let mut process =
                ServerProcess::start(command, &folder, None, Signal::KILL, &canceller).unwrap();
            process.child.wait().unwrap();
            process.last_words()
        };
        assert_eq!(words("echo ERROR: old >&2; kill -9 $$"), "it was killed (signal 9)");
        assert_eq!(words("echo ERROR: no disk >&2; exit 1"), "ERROR: no disk");
    }
}
