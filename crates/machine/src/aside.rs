//! Asks devices for an answer in a process of its own. A thread that waits for a device cannot be ended, not even by
//! SIGKILL, and would hold this whole program, whatever its exit code; a child process can be abandoned.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const LOOK: &str = "--look-aside";
/// The first line of such a process; each other one is the index of what has answered.
const BEGUN: &str = "begun";
/// On a busy machine a process may take this long until it begins; of devices that says nothing.
pub(crate) const BEGIN_MAX: Duration = Duration::from_secs(180);

/// Looks at the named things, and reports the index of each that has answered, whatever the answer was.
pub type Look = fn(&[OsString], &(dyn Fn(usize) + Sync));

/// Whether this program, called with [`LOOK`], calls [`answer`]. Test programs do not.
static CAN_LOOK: AtomicBool = AtomicBool::new(false);

/// Looks at devices, if this process was started for that; `looks` have names. Otherwise lets [`silent`] start such
/// processes.
pub fn answer(looks: &[(&str, Look)]) -> bool {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != LOOK) {
        CAN_LOOK.store(true, Ordering::Release);
        return false;
    }
    let kind = arguments.next().unwrap_or_default();
    let named: Vec<OsString> = arguments.collect();
    let out = Mutex::new(io::stdout());
    let say = |line: &str| {
        // The process that asked may have ended.
        let _ = out.lock().map(|mut out| writeln!(out, "{line}").and_then(|()| out.flush()));
    };
    let has_answered = |index: usize| say(&index.to_string());
    say(BEGUN);
    if let Some((_, look)) = looks.iter().find(|(name, _)| kind == *name) {
        look(&named, &has_answered);
    }
    true
}

/// Which of these do not answer this look in time.
pub fn silent(kind: &str, named: &[OsString], patience: Duration) -> Vec<bool> {
    let mut is_silent = vec![false; named.len()];
    each_answer(kind, named, patience, &mut |index, silent| is_silent[index] = silent);
    is_silent
}

/// Reports of each of these, as soon as that is known, its index and whether it does not answer this look in time. None
/// counts as silent where no process can be started, as in tests: the caller must look itself.
pub fn each_answer(
    kind: &str,
    named: &[OsString],
    patience: Duration,
    known: &mut dyn FnMut(usize, bool),
) {
    let can_look = !named.is_empty() && CAN_LOOK.load(Ordering::Acquire);
    let Some((_process, answers)) = can_look.then(|| start(kind, named).ok()).flatten() else {
        (0..named.len()).for_each(|index| known(index, false));
        return;
    };
    wait_for_answers(&answers, named.len(), patience, known);
}

/// Receives what a process prints: `None` when it begins, and the index of each thing that answers.
fn wait_for_answers(
    answers: &Receiver<Option<usize>>,
    count: usize,
    patience: Duration,
    known: &mut dyn FnMut(usize, bool),
) {
    let mut waiting: BTreeSet<usize> = (0..count).collect();
    let mut end = Instant::now() + BEGIN_MAX;
    while !waiting.is_empty() {
        match answers.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(None) => end = Instant::now() + patience,
            Ok(Some(index)) if waiting.remove(&index) => known(index, false),
            Ok(Some(_)) => {}
            Err(error) => {
                // If the process ended early, the devices may answer.
                let is_silent = error == RecvTimeoutError::Timeout;
                std::mem::take(&mut waiting).into_iter().for_each(|index| known(index, is_silent));
            }
        }
    }
}

/// Asks each of what is named in a thread of its own, and says of each when it has answered.
pub fn each<'n>(
    named: &'n [OsString],
    has_answered: &(dyn Fn(usize) + Sync),
    ask: &(dyn Fn(&'n OsString) + Sync),
) {
    std::thread::scope(|scope| {
        for (index, name) in named.iter().enumerate() {
            let ask = move || {
                ask(name);
                has_answered(index);
            };
            // Without a thread for it, the others wait with it.
            if std::thread::Builder::new().spawn_scoped(scope, ask).is_err() {
                ask();
            }
        }
    });
}

/// A process that looks at devices; dropping this abandons it.
struct LookingProcess(Option<Child>);

fn start(kind: &str, named: &[OsString]) -> io::Result<(LookingProcess, Receiver<Option<usize>>)> {
    let mut command = Command::new("/proc/self/exe");
    command.arg(LOOK).arg(kind).args(named);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let out = child.stdout.take().expect("it is piped");
    let process = LookingProcess(Some(child));
    let (send, receive) = channel();
    std::thread::Builder::new().spawn(move || {
        let lines = BufReader::new(out).lines().map_while(Result::ok);
        for line in lines {
            let _ = send.send(line.parse().ok());
        }
    })?;
    Ok((process, receive))
}

impl Drop for LookingProcess {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        // A process that waits for a device ends when the device answers.
        let _ = child.kill();
        let _ = std::thread::Builder::new().spawn(move || child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program of this test cannot look: it would run its tests.
    #[test]
    fn hung_program_starts_no_more_processes() {
        assert_eq!(silent("drive", &["sda".into()], Duration::ZERO), [false]);
    }

    #[test]
    fn devices_have_time_from_when_the_process_begins() {
        let (send, answers) = channel();
        let busy_machine = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            send.send(None).unwrap();
            send.send(Some(1)).unwrap();
            send
        });
        let mut is_silent = [None; 2];
        let mut known = |index, silent| is_silent[index] = Some(silent);
        wait_for_answers(&answers, 2, Duration::from_millis(20), &mut known);
        assert_eq!(is_silent, [Some(true), Some(false)]);
        busy_machine.join().unwrap();
    }
}
