//! `list`: every drive of this machine; on a terminal each as soon as it has answered.

mod row_order;

use crate::arguments::DriveListArguments;
use crate::exit::{Code, Failure, no_thread};
use crate::output;
use drivescope_drive::journal;
use drivescope_drive::simulated::spec::name_served;
use drivescope_machine::Roots;
use drivescope_machine::graph::BlockGraph;
use drivescope_machine::list::{ListOptions, drive_names, drives, each_drive};
use drivescope_model::Secs;
use drivescope_model::drive::Drive;
use drivescope_report::{clean, text};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use row_order::RowOrder;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const OPTIONS: ListOptions = ListOptions { smart: true };
/// Rows wait for those before them while answers follow each other faster than this.
const ROW_WAITS: Duration = Duration::from_millis(100);
/// A drive that needs longer is named until it answers.
const SLOW: Duration = Duration::from_secs(2);
/// Names in the line of drives that do not answer; the others are counted.
const NAMES_MAX: usize = 3;

pub fn list(arguments: &DriveListArguments) -> Result<Code, Failure> {
    let roots = Roots::host();
    let is_on_terminal = !output::style().is_whole;
    if is_on_terminal && !arguments.json {
        print_as_they_come(&roots, arguments.verbose)?;
    } else {
        let mut found = drives(&roots, &OPTIONS);
        found.iter_mut().for_each(name_served);
        if arguments.json {
            output::print_document(&found);
        } else {
            output::print_line(&shown(&found, arguments.verbose));
        }
    }
    if let Ok(folder) = journal::state_folder() {
        let waiting = journal::waiting(&BlockGraph::read(&roots), &folder).unwrap_or_default();
        waiting.iter().for_each(|drive| output::remark(&clean(&drive.to_string())));
    }
    Ok(Code::Ok)
}

fn shown(drives: &[Drive], is_verbose: bool) -> String {
    let list = if is_verbose { text::drive_list_in_full } else { text::drive_list };
    list(drives, output::style())
}

fn print_as_they_come(roots: &Roots, is_verbose: bool) -> Result<(), Failure> {
    let names = drive_names(roots);
    if names.is_empty() {
        output::print_line(&shown(&[], is_verbose));
    }
    let (send, answers) = channel();
    let (roots, asked) = (roots.clone(), names.clone());
    let ask = move || {
        each_drive(&roots, &asked, &OPTIONS, &|index, answer| {
            // The receiver waits for all of them.
            let _ = send.send((index, answer.drive));
        });
    };
    std::thread::Builder::new().spawn(ask).map_err(|error| Failure::usage(no_thread(&error)))?;
    let begun = Instant::now();
    let (mut rows, mut screen) = (RowOrder::new(names), ListScreen::new(is_verbose));
    loop {
        match answers.recv_timeout(ROW_WAITS) {
            Ok((index, drive)) => {
                rows.add(index, drive);
                screen.print(rows.take_in_order());
            }
            Err(RecvTimeoutError::Timeout) => screen.print(rows.take_all()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let awaited = rows.awaited();
        if begun.elapsed() >= SLOW && !awaited.is_empty() {
            screen.show_silent(&awaited, begun.elapsed());
        }
    }
    screen.print(rows.take_all());
    screen.bar.finish_and_clear();
    Ok(())
}

/// Rows on standard output, and below them on standard error the drives that have not answered yet.
struct ListScreen {
    bar: ProgressBar,
    has_rows: bool,
    is_verbose: bool,
}

impl ListScreen {
    fn new(is_verbose: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::with_template("{msg}").expect("a constant template is valid"));
        Self { bar, has_rows: false, is_verbose }
    }

    fn print(&mut self, mut drives: Vec<Drive>) {
        if drives.is_empty() {
            return;
        }
        drives.iter_mut().for_each(name_served);
        let gap = if self.has_rows { "\n" } else { "" };
        let text = shown(&drives, self.is_verbose);
        self.bar.suspend(|| output::print_line(&format!("{gap}{text}")));
        self.has_rows = true;
    }

    fn show_silent(&self, names: &[&str], since: Duration) {
        let named = names[..names.len().min(NAMES_MAX)].join(", ");
        let more = match names.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let seconds = Secs(since.as_secs_f64().round());
        let message = format!("{named}{more}: not answering for {seconds}");
        self.bar.set_message(clean(&message).into_owned());
    }
}
