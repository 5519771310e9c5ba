//! The link as a device: the way of a command through controller, drive and status.

use std::collections::VecDeque;

use super::params::{LinkParams, NonData};
use crate::device::{Heat, Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::event_queue::earlier;
use crate::param_problem::ParamProblem;
use crate::slab::Slab;

#[derive(Debug, Clone)]
pub struct LinkLayer<D> {
    inner: D,
    rules: Rules,
    requests: Slab<SplitRequest>,
    commands: Slab<LinkCommand>,
    waiting: VecDeque<u32>,
    /// Requests that never become a command, and when they end.
    own_answers: DueQueue,
    /// Commands that the bridge answers by itself, and when their status is at the host.
    bridge_answers: DueQueue,
    /// Commands on their way to the drive (or its bridge), and when it has them; only those that the drive
    /// must not hear of yet, because it has something to say before.
    sent: DueQueue,
    /// Commands whose status is on its way to the host, and when it is there.
    statuses: DueQueue,
    with_drive: u64,
    /// The drive's last answer on its next completion; `None` if it is out of date.
    drive_due: Option<Option<Nanos>>,
    tagged: u64,
    /// A command that cannot be queued has the link for itself.
    alone: bool,
    controller_free_at: Nanos,
    answers: Vec<SimCompletion>,
    ready: Vec<SimCompletion>,
}

#[derive(Debug, Clone)]
struct Rules {
    depth: u64,
    command_ns: Nanos,
    latency_ns: Nanos,
    status_ns: Nanos,
    max_transfer_bytes: u64,
    flush: NonData,
    trim: NonData,
    sector_bytes: u32,
    capacity_bytes: u64,
    hidden_head_bytes: u64,
}

/// A request as the host sent it, of which some parts are still under way.
#[derive(Debug, Clone, Copy)]
struct SplitRequest {
    id: u64,
    parts_left: u32,
    outcome: SimOutcome,
}

#[derive(Debug, Clone, Copy)]
struct LinkCommand {
    request: u32,
    op: RequestKind,
    offset: u64,
    len: u64,
    fua: bool,
    outcome: SimOutcome,
}

/// Numbers in order of time: each stage takes the same time for all, so what enters first leaves first.
type DueQueue = VecDeque<(Nanos, u32)>;

fn due(line: &DueQueue) -> Option<Nanos> {
    line.front().map(|&(at, _)| at)
}

/// Takes the first of a line if it is due at `at`.
fn take(line: &mut DueQueue, at: Nanos) -> Option<u32> {
    if due(line) != Some(at) {
        return None;
    }
    line.pop_front().map(|(_, number)| number)
}

impl<D: SimDevice> LinkLayer<D> {
    /// Puts a link before a drive.
    ///
    /// # Errors
    /// A parameter that cannot be, or a bridge sector that is not a multiple of the drive's.
    pub fn new(params: &LinkParams, inner: D) -> Result<Self, ParamProblem> {
        let (capacity, own_sector) = (inner.capacity_bytes(), inner.sector_bytes());
        params.validate_around(capacity, own_sector)?;
        let rules = Rules {
            depth: params.total_depth(),
            command_ns: to_ns(params.command_us),
            latency_ns: to_ns(params.latency_us),
            status_ns: to_ns(params.status_us),
            max_transfer_bytes: params.max_transfer_bytes.unwrap_or(u64::MAX),
            flush: params.flush,
            trim: params.trim,
            sector_bytes: params.bridge.logical_sector_bytes.unwrap_or(own_sector),
            capacity_bytes: params.shown_bytes(capacity, own_sector),
            hidden_head_bytes: params.bridge.hidden_head_bytes,
        };
        Ok(Self {
            inner,
            rules,
            requests: Slab::new(),
            commands: Slab::new(),
            waiting: VecDeque::new(),
            own_answers: DueQueue::new(),
            bridge_answers: DueQueue::new(),
            sent: DueQueue::new(),
            statuses: DueQueue::new(),
            with_drive: 0,
            drive_due: None,
            tagged: 0,
            alone: false,
            controller_free_at: 0,
            answers: Vec::new(),
            ready: Vec::new(),
        })
    }

    pub fn inner(&self) -> &D {
        &self.inner
    }

    fn is_idle(&self) -> bool {
        self.requests.len() == 0 && self.ready.is_empty()
    }

    /// The answer of the far end of the link to a command that does not reach the drive.
    fn bridge_answer(&self, op: RequestKind) -> Option<SimOutcome> {
        match self.non_data(op) {
            Some(NonData::Ignored) => Some(SimOutcome::Done),
            Some(NonData::Refused) => Some(SimOutcome::Invalid),
            _ => None,
        }
    }

    fn non_data(&self, op: RequestKind) -> Option<NonData> {
        match op {
            RequestKind::Flush => Some(self.rules.flush),
            RequestKind::Trim => Some(self.rules.trim),
            RequestKind::Read | RequestKind::Write => None,
        }
    }

    fn goes_alone(&self, op: RequestKind) -> bool {
        self.non_data(op) == Some(NonData::Alone)
    }

    fn enqueue_parts(&mut self, request: &SimRequest) {
        let data = matches!(request.op, RequestKind::Read | RequestKind::Write);
        let part_bytes = if data { self.rules.max_transfer_bytes } else { u64::MAX };
        let parts =
            if data && request.len > part_bytes { request.len.div_ceil(part_bytes) } else { 1 };
        let slot = self.requests.insert(SplitRequest {
            id: request.id,
            parts_left: u32::try_from(parts).unwrap_or(u32::MAX),
            outcome: SimOutcome::Done,
        });
        let mut offset = request.offset;
        let mut left = request.len;
        for _ in 0..parts {
            let len = left.min(part_bytes);
            let command = self.commands.insert(LinkCommand {
                request: slot,
                op: request.op,
                offset,
                len,
                fua: request.fua,
                outcome: SimOutcome::Done,
            });
            self.waiting.push_back(command);
            offset += len;
            left -= len;
        }
    }

    /// Gives tags to waiting commands while the protocol allows it.
    fn issue(&mut self, now: Nanos) {
        while let Some(&command) = self.waiting.front() {
            let alone = self.goes_alone(self.commands.get(command).op);
            let blocked = self.alone || self.tagged >= self.rules.depth;
            if blocked || (alone && self.tagged > 0) {
                return;
            }
            self.waiting.pop_front();
            self.tagged += 1;
            self.alone = alone;
            let free_at = self.controller_free_at.max(now) + self.rules.command_ns;
            self.controller_free_at = free_at;
            let there = free_at + self.rules.latency_ns;
            match self.bridge_answer(self.commands.get(command).op) {
                None => self.send(there, command),
                Some(outcome) => {
                    self.commands.get_mut(command).outcome = outcome;
                    self.bridge_answers.push_back((there + self.rules.status_ns, command));
                }
            }
        }
    }

    /// Sends a command that the drive will have at `at`. Commands arrive in the order in which they are
    /// sent, so what nothing else precedes at the drive can be given to it beforehand.
    fn send(&mut self, at: Nanos, command: u32) {
        if self.sent.is_empty() && self.drive_due().is_none_or(|due| due > at) {
            self.give_to_drive(at, command);
        } else {
            self.sent.push_back((at, command));
        }
    }

    fn give_to_drive(&mut self, at: Nanos, number: u32) {
        let LinkCommand { op, offset, len, fua, .. } = *self.commands.get(number);
        let id = u64::from(number);
        let offset =
            if op == RequestKind::Flush { offset } else { offset + self.rules.hidden_head_bytes };
        self.inner.submit(at, SimRequest { id, op, offset, len, fua });
        self.with_drive += 1;
        self.drive_due = None;
    }

    fn drive_answered(&mut self, answer: SimCompletion) {
        let number = u32::try_from(answer.id).expect("ids sent to the drive are command numbers");
        self.commands.get_mut(number).outcome = answer.outcome;
        self.with_drive -= 1;
        self.statuses.push_back((answer.at + self.rules.status_ns, number));
    }

    fn end_command(&mut self, at: Nanos, number: u32) {
        let command = self.commands.remove(number);
        self.tagged -= 1;
        self.alone = false;
        let request = self.requests.get_mut(command.request);
        request.parts_left -= 1;
        if request.outcome == SimOutcome::Done {
            request.outcome = command.outcome;
        }
        if request.parts_left == 0 {
            let SplitRequest { id, outcome, .. } = self.requests.remove(command.request);
            self.ready.push(SimCompletion { id, at, outcome });
        }
        self.issue(at);
    }

    /// When the drive has something to say.
    fn drive_due(&mut self) -> Option<Nanos> {
        if self.with_drive == 0 {
            return None;
        }
        let inner = &mut self.inner;
        *self.drive_due.get_or_insert_with(|| inner.next_completion())
    }

    /// When the next command or request ends of which the drive has nothing more to say.
    fn next_end(&self) -> Option<Nanos> {
        let answered = earlier(due(&self.bridge_answers), due(&self.own_answers));
        earlier(due(&self.statuses), answered)
    }

    /// Everything that happens up to `to`, in order of time; the drive's answers before own events.
    fn run(&mut self, to: Nanos) {
        loop {
            let drive = self.drive_due();
            let own = earlier(self.next_end(), due(&self.sent));
            let Some(at) = earlier(drive, own).filter(|&at| at <= to) else { return };
            if drive == Some(at) {
                self.let_drive_run(at);
            } else if let Some(command) = take(&mut self.statuses, at) {
                self.end_command(at, command);
            } else if let Some(command) = take(&mut self.bridge_answers, at) {
                self.end_command(at, command);
            } else if let Some(request) = take(&mut self.own_answers, at) {
                let SplitRequest { id, outcome, .. } = self.requests.remove(request);
                self.ready.push(SimCompletion { id, at, outcome });
            } else if let Some(command) = take(&mut self.sent, at) {
                self.give_to_drive(at, command);
            }
        }
    }

    fn let_drive_run(&mut self, to: Nanos) {
        let mut answers = std::mem::take(&mut self.answers);
        self.inner.advance(to, &mut answers);
        self.drive_due = None;
        for answer in answers.drain(..) {
            self.drive_answered(answer);
        }
        self.answers = answers;
    }
}

fn to_ns(us: f64) -> Nanos {
    (us * 1000.0).round() as Nanos
}

impl<D: SimDevice> SimDevice for LinkLayer<D> {
    fn heat(&self) -> Option<Heat> {
        self.inner.heat()
    }

    fn live_bytes(&self) -> Option<u64> {
        self.inner.live_bytes()
    }

    fn capacity_bytes(&self) -> u64 {
        self.rules.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        self.rules.sector_bytes
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        self.run(now);
        if !request.is_valid(self.rules.capacity_bytes, self.rules.sector_bytes) {
            let outcome = SimOutcome::Invalid;
            let slot =
                self.requests.insert(SplitRequest { id: request.id, parts_left: 0, outcome });
            self.own_answers.push_back((now + self.rules.command_ns, slot));
            return;
        }
        self.enqueue_parts(&request);
        self.issue(now);
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        if let Some(first) = self.ready.first() {
            return Some(first.at);
        }
        // nothing ends before its status has come
        let under_way = earlier(self.drive_due(), due(&self.sent));
        let status_ns = self.rules.status_ns;
        earlier(self.next_end(), under_way.map(|at| at + status_ns))
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        self.run(to);
        if self.is_idle() {
            // the drive's own work; with a command under way it catches up by itself
            self.let_drive_run(to);
        }
        done.append(&mut self.ready);
    }
}
