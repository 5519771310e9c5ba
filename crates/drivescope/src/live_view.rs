//! `run --live`: a view that takes the whole terminal. A listener like any other, with keys: nothing of it is on the
//! measuring path.

mod phase_graph;
mod screen;

use crate::exit::Failure;
use crate::live_run::LiveRun;
use crate::output;
use drivescope_bench::session::ViewerRequests;
use drivescope_model::event::Event;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use screen::Screen;
use signal_hook::consts::SIGINT;
use signal_hook::low_level::raise;
use std::io::{self, IsTerminal, Stderr};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// More than four pictures a second cannot be read.
const DRAW_EVERY: Duration = Duration::from_millis(250);
/// Longest wait for a key to take effect.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Errors: standard input or standard error is not a terminal.
pub fn check_terminal() -> Result<(), Failure> {
    if io::stdin().is_terminal() && output::is_watched() {
        return Ok(());
    }
    let why = "--live needs a terminal for its keys and its view; omit --live for plain progress";
    Err(Failure::usage(why))
}

/// Takes the screen and shows the run until the senders are gone, then restores the screen. Errors: the terminal cannot
/// be set up, or no thread may be started.
pub fn listen(
    events: Receiver<Event>,
    run: LiveRun,
    viewer: ViewerRequests,
) -> io::Result<JoinHandle<()>> {
    release_on_panic();
    output::hold(give_back);
    let terminal = take().inspect_err(|_| output::release())?;
    let view = LiveView { terminal, screen: Screen::new(run), viewer, is_stopping: false };
    let thread = std::thread::Builder::new().name("view".to_string());
    thread.spawn(move || view.show(&events)).inspect_err(|_| output::release())
}

/// A panic restores the screen first, so that its message can be read.
fn release_on_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        output::release();
        usual(panic);
    }));
}

fn take() -> io::Result<Terminal<CrosstermBackend<Stderr>>> {
    enable_raw_mode()?;
    execute!(io::stderr(), EnterAlternateScreen)?;
    Terminal::new(CrosstermBackend::new(io::stderr()))
}

/// Errors are ignored: the terminal may be gone.
fn give_back() {
    let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// One column stays one column: a sign that takes more in ASCII keeps its first.
fn as_the_locale_shows(picture: &mut Buffer) {
    for cell in &mut picture.content {
        if !cell.symbol().is_ascii() {
            let shown = output::shown(cell.symbol());
            if let Some(sign) = shown.chars().next().filter(char::is_ascii) {
                cell.set_char(sign);
            }
        }
    }
}

struct LiveView {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    screen: Screen,
    viewer: ViewerRequests,
    is_stopping: bool,
}

impl LiveView {
    fn show(mut self, events: &Receiver<Event>) {
        let mut drawn: Option<Instant> = None;
        loop {
            let is_over = self.hear(events);
            // The program is ending and has released the screen.
            let is_shown = output::is_held();
            if is_over || !is_shown {
                break;
            }
            if drawn.is_none_or(|drawn| drawn.elapsed() >= DRAW_EVERY) {
                // A terminal that takes no picture gets the next one, or has gone: then a signal comes.
                let _ = self.terminal.draw(|frame| {
                    self.screen.draw(frame);
                    as_the_locale_shows(frame.buffer_mut());
                });
                drawn = Some(Instant::now());
            }
            match event::poll(LOOK_EVERY) {
                Ok(true) => self.answer(),
                Ok(false) => {}
                // No more keys; drawing continues.
                Err(_) => std::thread::sleep(LOOK_EVERY),
            }
        }
        output::release();
    }

    /// Takes all waiting events; returns whether the senders are gone.
    fn hear(&mut self, events: &Receiver<Event>) -> bool {
        loop {
            match events.try_recv() {
                Ok(event) => self.screen.hear(event),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
    }

    fn answer(&mut self) {
        if let Ok(event::Event::Key(key)) = event::read()
            && key.kind != KeyEventKind::Release
        {
            self.press(key);
        }
    }

    fn press(&mut self, key: KeyEvent) {
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            // As without a view: the second one ends the program at once.
            KeyCode::Char('c') if is_ctrl => self.stop(),
            KeyCode::Char('q') if !self.is_stopping => self.stop(),
            KeyCode::Char('s') => {
                self.viewer.skip_test();
                self.screen.say("skipping this test");
            }
            KeyCode::Char('p') => {
                let pauses = self.viewer.toggle_pause();
                self.screen.pause(pauses);
            }
            _ => {}
        }
    }

    fn stop(&mut self) {
        self.is_stopping = true;
        self.screen.say("stopping: saving partial results; Ctrl-C quits now");
        // It can only fail for a signal that does not exist.
        let _ = raise(SIGINT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_BACK: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_panic_anywhere_gives_the_screen_back_first() {
        output::hold(|| IS_BACK.store(true, Ordering::Relaxed));
        release_on_panic();
        assert!(output::is_held() && !IS_BACK.load(Ordering::Relaxed));
        let panicked = std::thread::spawn(|| panic!("a test of what follows")).join();
        assert!(panicked.is_err() && IS_BACK.load(Ordering::Relaxed) && !output::is_held());
    }
}
