//! A program on a terminal of its own: a pseudo-terminal whose other end is the test.

use super::runner::{Call, Ended, Running};
use super::wait_for;
use rustix::fd::BorrowedFd;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Keys Ctrl-C and Ctrl-D.
pub const CTRL_C: &str = "\u{3}";
pub const CTRL_D: &str = "\u{4}";

pub struct OnTerminal {
    pub running: Running,
    keyboard: File,
    screen: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl OnTerminal {
    /// Starts `call` with standard input, output and error on a new controlling terminal of unknown width.
    pub fn start(call: Call) -> Self {
        Self::start_with(call, 0)
    }

    pub fn start_with(call: Call, columns: u16) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are ptys");
        grantpt(&keyboard).expect("the pty is ours");
        unlockpt(&keyboard).expect("the pty is ours");
        let name = ptsname(&keyboard, Vec::new()).expect("the pty has a name");
        let name = name.to_str().expect("names of ptys are ASCII").to_string();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&keyboard, size).expect("the pty is ours");
        let open = || OpenOptions::new().read(true).write(true).open(&name).expect("it is ours");
        let mut command = call.into_command();
        command.stdin(Stdio::from(open())).stdout(Stdio::from(open())).stderr(Stdio::from(open()));
        // SAFETY: two system calls, and nothing else.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(BorrowedFd::borrow_raw(0))?;
                Ok(())
            });
        }
        let running = Running::of(&mut command);
        // The command keeps this end open; without it reading ends with the program.
        drop(command);
        let keyboard = File::from(keyboard);
        let screen = Arc::new(Mutex::new(String::new()));
        let reader = reader(keyboard.try_clone().expect("a descriptor more"), Arc::clone(&screen));
        Self { running, keyboard, screen, reader }
    }

    pub fn wait_for(&self, words: &str) {
        let shows = || {
            self.screen
                .lock()
                .expect("no panic while the screen is locked")
                .contains(words)
                .then_some(())
        };
        wait_for(&format!("'{words}' of {}", self.running.what), shows);
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal is open");
    }

    /// Whether the terminal passes on each key at once, without an echo.
    pub fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.keyboard).expect("the pty is ours").local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Standard output is everything that the screen showed.
    pub fn end(self) -> Ended {
        let mut ended = self.running.end();
        self.reader.join().expect("the reader does not panic");
        ended.stdout.clone_from(&self.screen.lock().expect("no panic while the screen is locked"));
        ended
    }
}

/// Collects the program's output; a terminal without open programs reads as an error.
fn reader(mut end: File, screen: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = end.read(&mut bytes) {
            screen
                .lock()
                .expect("no panic while the screen is locked")
                .push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    })
}
