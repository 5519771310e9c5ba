//! The steps of a replay, read some blocks ahead by a thread of its own: a trace may be larger than memory.

use super::steps::{ReplayStep, StepCounts, StepMaker};
use drivescope_trace::built_in::TraceSource;
use drivescope_trace::{TraceError, TraceEvent};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};

/// Steps of a block: half a megabyte.
const BLOCK_STEPS: usize = 16 << 10;
/// Blocks read ahead: more than a drive sends in the longest pause of a reader.
const BLOCKS_AHEAD: usize = 4;

/// The end of the channel from which the measuring loop takes steps.
#[derive(Debug)]
pub struct Feed {
    blocks: Receiver<Vec<ReplayStep>>,
    spent: Sender<Vec<ReplayStep>>,
    block: Vec<ReplayStep>,
    next: usize,
    pub is_late: bool,
}

impl Feed {
    /// The next step; `None` at the end. Waits where the reader is not so far.
    #[inline]
    pub fn take(&mut self) -> Option<ReplayStep> {
        if self.next == self.block.len() && !self.next_block() {
            return None;
        }
        self.next += 1;
        Some(self.block[self.next - 1])
    }

    #[cold]
    fn next_block(&mut self) -> bool {
        let next = match self.blocks.try_recv() {
            Ok(block) => Some(block),
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => {
                self.is_late = true;
                self.blocks.recv().ok()
            }
        };
        let Some(next) = next else { return false };
        // The reader frees it or fills it again, unless it has ended.
        let _ = self.spent.send(std::mem::replace(&mut self.block, next));
        self.next = 0;
        !self.block.is_empty()
    }
}

/// Reads a trace for as long as `then` takes steps of it. What that gives, and what became of the requests, or why they
/// could not be read to the end.
pub fn with_feed<T>(
    source: &TraceSource,
    maker: StepMaker,
    then: impl FnOnce(Feed) -> T,
) -> (T, Result<StepCounts, TraceError>) {
    let (full, blocks) = sync_channel(BLOCKS_AHEAD);
    let (spent, empty) = channel();
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name("trace".to_string());
        let reader = reader.spawn_scoped(scope, move || read(source, maker, &full, &empty));
        let feed = Feed { blocks, spent, block: Vec::new(), next: 0, is_late: false };
        let given = then(feed);
        let counts = match reader {
            Ok(reader) => reader.join().expect("the reader does not panic"),
            Err(error) => Err(TraceError::Read(error)),
        };
        (given, counts)
    })
}

fn read(
    source: &TraceSource,
    mut maker: StepMaker,
    full: &SyncSender<Vec<ReplayStep>>,
    empty: &Receiver<Vec<ReplayStep>>,
) -> Result<StepCounts, TraceError> {
    let mut block = Vec::with_capacity(BLOCK_STEPS);
    let mut is_wanted = true;
    let mut take = |event: &TraceEvent| {
        maker.take(event, &mut block);
        if block.len() < BLOCK_STEPS {
            return Ok(());
        }
        let mut next = empty.try_recv().unwrap_or_default();
        next.clear();
        is_wanted = full.send(std::mem::replace(&mut block, next)).is_ok();
        // An error ends the reading; that the loop was stopped is none.
        if is_wanted { Ok(()) } else { Err(TraceError::Empty) }
    };
    let end = source.read(&mut take);
    if is_wanted {
        end?;
        if !block.is_empty() {
            let _ = full.send(block);
        }
    }
    Ok(maker.counts())
}
