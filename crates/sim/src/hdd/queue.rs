//! The drive's queue of commands that need the medium, and the choice among them.

use crate::device::{Nanos, SimRequest};
use crate::hdd::layout::{DiskLocation, Layout};
use crate::hdd::mechanism::Mechanism;

#[derive(Debug, Clone, Copy)]
pub struct QueuedCommand {
    pub request: SimRequest,
    pub arrived: Nanos,
    /// When the electronics were done with it.
    pub ready: Nanos,
    /// Earliest start of its transfer: data to write must be in the buffer before the head reaches its place.
    pub not_before: Nanos,
    /// First physical sector to transfer.
    pub sector: u64,
    pub count: u64,
    /// Where on the medium the transfer begins: at that sector, unless a shingled drive has it in its log.
    pub first: u64,
    pub place: DiskLocation,
    /// Cache segment that this read continues.
    pub segment: Option<usize>,
}

impl QueuedCommand {
    pub fn writes(&self) -> bool {
        self.request.op == crate::device::RequestKind::Write
    }
}

#[derive(Debug, Clone)]
pub struct CommandQueue {
    commands: Vec<QueuedCommand>,
    window: usize,
    starvation: Nanos,
}

impl CommandQueue {
    /// An empty queue that chooses among its `window` oldest commands and leaves none waiting longer than
    /// `starvation` while others are taken.
    pub fn new(window: u32, starvation: Nanos) -> Self {
        Self { commands: Vec::with_capacity(64), window: window.max(1) as usize, starvation }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    #[inline]
    pub fn push(&mut self, command: QueuedCommand) {
        self.commands.push(command);
    }

    #[inline]
    pub fn oldest(&self) -> Option<&QueuedCommand> {
        self.commands.first()
    }

    /// Updates where the transfers begin; `first_on_medium` gives this for a range of home sectors: writes or cleaning
    /// since a command came may have moved its sectors.
    pub fn find_again(&mut self, layout: &Layout, first_on_medium: impl Fn(u64, u64) -> u64) {
        for command in &mut self.commands {
            let first = first_on_medium(command.sector, command.sector + command.count);
            if first != command.first {
                (command.first, command.place) = (first, layout.locate(first));
            }
        }
    }

    /// Takes the command to serve at `at`, when the oldest can be served: the one whose transfer could
    /// start first, unless the oldest has starved or `in_order` asks for the oldest. Returns it with the
    /// start of its transfer. `write_from` is the earliest start of a write that does not continue the last one;
    /// the arm may move before it, as in destaging.
    pub fn take(
        &mut self,
        at: Nanos,
        write_from: Nanos,
        mechanism: &Mechanism,
        in_order: bool,
    ) -> Option<(QueuedCommand, Nanos)> {
        let oldest = self.commands.first()?;
        let start = |c: &QueuedCommand| {
            let continues = c.first == mechanism.next_sector();
            let pause_over = if c.writes() && !continues { write_from } else { at };
            mechanism.reach_not_before(
                at,
                pause_over.max(c.not_before),
                c.first,
                &c.place,
                c.writes(),
            )
        };
        let mut best = (0, start(oldest));
        let starved = at.saturating_sub(oldest.arrived) > self.starvation;
        if !in_order && !starved {
            for (index, command) in self.commands.iter().enumerate().take(self.window).skip(1) {
                if command.ready > at {
                    break;
                }
                let start = start(command);
                if start < best.1 {
                    best = (index, start);
                }
            }
            let first = self.first_of_run(best.0, at);
            if first != best.0 {
                best = (first, start(&self.commands[first]));
            }
        }
        Some((self.commands.remove(best.0), best.1))
    }

    /// The command that begins the run of adjoining ones in which `index` stands. They go in the order of their
    /// sectors: one that was left out would wait for a turn, and beside a stream until it starves.
    fn first_of_run(&self, index: usize, at: Nanos) -> usize {
        let mut first = index;
        loop {
            let command = &self.commands[first];
            let precedes = |other: &QueuedCommand| {
                other.sector < command.sector
                    && other.sector + other.count == command.sector
                    && other.writes() == command.writes()
                    && other.ready <= at
            };
            match self.commands.iter().take(self.window).position(precedes) {
                Some(other) => first = other,
                None => return first,
            }
        }
    }

    pub fn drain(&mut self) -> Vec<QueuedCommand> {
        std::mem::take(&mut self.commands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::RequestKind;
    use crate::hdd::tests::{mechanism_of, small_drive};

    fn command(mechanism: &Mechanism, id: u64, sector: u64, arrived: Nanos) -> QueuedCommand {
        let request = SimRequest { id, op: RequestKind::Read, offset: 0, len: 512, fua: false };
        let place = mechanism.layout().locate(sector);
        QueuedCommand {
            request,
            arrived,
            ready: arrived,
            not_before: 0,
            sector,
            count: 1,
            first: sector,
            place,
            segment: None,
        }
    }

    fn order(queue: &mut CommandQueue, mechanism: &Mechanism, at: Nanos, fcfs: bool) -> Vec<u64> {
        std::iter::from_fn(|| queue.take(at, 0, mechanism, fcfs).map(|(c, _)| c.request.id))
            .collect()
    }

    #[test]
    fn the_nearest_in_time_goes_first() {
        let mechanism = mechanism_of(&small_drive());
        let far = mechanism.layout().sectors() - 10;
        for (fcfs, window, expected) in
            [(false, 32, [2, 1, 3]), (true, 32, [1, 2, 3]), (false, 1, [1, 2, 3])]
        {
            let mut queue = CommandQueue::new(window, 1_000_000_000);
            for (id, sector) in [(1, 300), (2, 5), (3, far)] {
                queue.push(command(&mechanism, id, sector, 0));
            }
            assert_eq!(order(&mut queue, &mechanism, 0, fcfs), expected);
        }
    }

    #[test]
    fn adjoining_commands_go_in_the_order_of_their_sectors() {
        let mechanism = mechanism_of(&small_drive());
        // The head has just missed the first of them.
        let at = mechanism.layout().locate(300).angle + 1;
        for (fcfs, expected) in [(false, [1, 3, 2, 4]), (true, [1, 2, 3, 4])] {
            let mut queue = CommandQueue::new(32, 1_000_000_000);
            for (id, sector) in [(1, 300), (2, 302), (3, 301), (4, 100)] {
                queue.push(command(&mechanism, id, sector, 0));
            }
            assert_eq!(order(&mut queue, &mechanism, at, fcfs), expected);
        }
    }

    #[test]
    fn a_command_goes_where_its_sectors_have_moved() {
        let mechanism = mechanism_of(&small_drive());
        let mut queue = CommandQueue::new(32, 1_000_000_000);
        let (home, log) = (mechanism.layout().sectors() - 10, 5);
        queue.push(command(&mechanism, 1, home, 0));
        queue.push(command(&mechanism, 2, 300, 0));
        queue.find_again(mechanism.layout(), |from, _| if from == home { log } else { from });
        let (moved, start) = queue.take(0, 0, &mechanism, false).unwrap();
        assert_eq!((moved.request.id, moved.sector, moved.first), (1, home, log));
        assert_eq!(start, mechanism.reach(0, log, &mechanism.layout().locate(log), false));
    }

    #[test]
    fn a_starved_command_goes_first() {
        let mechanism = mechanism_of(&small_drive());
        let mut queue = CommandQueue::new(32, 1_000_000);
        queue.push(command(&mechanism, 1, mechanism.layout().sectors() - 10, 0));
        queue.push(command(&mechanism, 2, 5, 0));
        let (first, _) = queue.take(1_000_001, 0, &mechanism, false).unwrap();
        assert_eq!(first.request.id, 1);
    }

    #[test]
    fn a_command_that_is_not_ready_is_not_chosen() {
        let mechanism = mechanism_of(&small_drive());
        let mut queue = CommandQueue::new(32, u64::MAX);
        queue.push(command(&mechanism, 1, mechanism.layout().sectors() - 10, 0));
        queue.push(command(&mechanism, 2, 5, 100));
        let (first, _) = queue.take(50, 0, &mechanism, false).unwrap();
        assert_eq!(first.request.id, 1);
    }
}
