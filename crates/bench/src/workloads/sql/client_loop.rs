//! Statements of several clients at the same time, each with a thread of its own.

use crate::io::clock;
use crate::io::recorder::Recorder;
use crate::loops::control::Control;
use drivescope_model::units::Secs;
use drivescope_sql::SqlError;
use std::sync::Barrier;

/// Statements between two looks at the stop flag and the time, which others touch too.
const LOOK_EVERY: u64 = 16;

/// One client's statements: the number of each, from 0; bytes that it has moved.
pub(super) type Statement<'s> = Box<dyn FnMut(u64) -> Result<usize, SqlError> + Send + 's>;

/// When a client has done enough.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub statements: u64,
    pub time: Secs,
}

#[derive(Debug)]
pub(super) struct ClientTally {
    pub recorder: Recorder,
    pub errors: u64,
    pub first_error: Option<SqlError>,
}

/// Runs them until each has done enough, or the run is stopped. `goes_on` says whether a client continues after this
/// error. Connections stay open: the server's processor time for them ends with them.
pub(super) fn run(
    clients: &mut [Statement<'_>],
    bound: Bound,
    control: &Control,
    goes_on: fn(&SqlError) -> bool,
) -> ClientTally {
    let start = Barrier::new(clients.len());
    let tallies: Vec<ClientTally> = std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter_mut()
            .map(|client| {
                let start = &start;
                scope.spawn(move || {
                    let recorder = Recorder::new(bound.time.nanos());
                    start.wait();
                    one(client, bound, control, goes_on, recorder)
                })
            })
            .collect();
        threads.into_iter().map(|it| it.join().expect("a client does not panic")).collect()
    });
    let merged = tallies.into_iter().reduce(|mut all, other| {
        all.recorder.merge(&other.recorder);
        all.errors += other.errors;
        all.first_error = all.first_error.or(other.first_error);
        all
    });
    merged.expect("at least one client")
}

fn one(
    statement: &mut Statement<'_>,
    bound: Bound,
    control: &Control,
    goes_on: fn(&SqlError) -> bool,
    mut recorder: Recorder,
) -> ClientTally {
    let mut last = clock::now_ns();
    let end = last.saturating_add(bound.time.nanos());
    recorder.start(last);
    let (mut errors, mut first_error) = (0, None);
    let (mut ops, mut bytes) = (0, 0);
    for number in 0..bound.statements {
        let outcome = statement(number);
        let now = clock::now_ns();
        match outcome {
            Ok(moved) => {
                recorder.complete(now, now - last, moved as u64);
                recorder.requests += 1;
                (ops, bytes) = (ops + 1, bytes + moved as u64);
            }
            Err(error) => {
                let ends = !goes_on(&error);
                errors += 1;
                first_error = first_error.or(Some(error));
                if ends {
                    control.stop();
                    break;
                }
            }
        }
        last = now;
        if now >= end {
            break;
        }
        if number % LOOK_EVERY == 0 {
            control.add(std::mem::take(&mut ops), std::mem::take(&mut bytes));
            if control.stopped() {
                break;
            }
        }
    }
    ClientTally { recorder, errors, first_error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::cpu_usage::{CpuScope, CpuUsage};

    const BOUND: Bound = Bound { statements: 1_000_000, time: Secs(60.0) };

    /// The loop itself, with statements that cost nothing: 20,000 of them in a second are to take less than a
    /// twentieth of a core, 2,500 ns each. Processor time, which a busy machine does not change much.
    #[test]
    fn a_million_statements_cost_little_and_keep_nothing() {
        let mut statement: Statement<'_> = Box::new(|_| Ok(8_000));
        let before = CpuUsage::of(CpuScope::Thread);
        let control = Control::default();
        let recorder = Recorder::new(BOUND.time.nanos());
        let intervals = recorder.intervals.len();
        let tally = one(&mut statement, BOUND, &control, |_| false, recorder);
        let spent = CpuUsage::of(CpuScope::Thread).since(before).cpu_ns;
        assert_eq!(tally.recorder.ops, 1_000_000);
        assert_eq!(tally.recorder.intervals.len(), intervals, "no memory for each statement");
        let each = spent / 1_000_000;
        assert!(each < 2_500, "{each} ns");
    }

    #[test]
    fn first_error_ends_the_phase_or_is_counted() {
        let failing = |at: u64| -> Statement<'static> {
            Box::new(move |number| match number {
                _ if number == at => Err(SqlError::Usage(format!("statement {number}"))),
                _ => Ok(1),
            })
        };
        let bound = Bound { statements: 1_000, time: Secs(60.0) };
        let control = Control::default();
        let counted = run(&mut [failing(u64::MAX), failing(500)], bound, &control, |_| true);
        assert_eq!((counted.recorder.ops, counted.errors), (1_999, 1));
        assert_eq!(counted.first_error.unwrap().to_string(), "statement 500");
        let ended = run(&mut [failing(500)], bound, &control, |_| false);
        assert_eq!((ended.recorder.ops, ended.errors), (500, 1));
        assert!(control.stopped());
    }
}
