//! Recording: requests to a drive, from the kernel's tracepoints of block requests (tracefs, as root).
//!
//! The kernel reports each request when it is issued to the drive and when it completes, on the programs' clock. The
//! events come from a ring per processor, which is drained every 50 ms without waiting (`ring`). The instance of
//! tracefs is the recording's own, and is removed at its end; one that a kill left, by the next recording
//! (`instance`).

pub mod device;
mod instance;
mod layout;
mod ring;

use crate::error::TraceError;
use crate::event::EventSink;
use crate::file::{TraceHeader, TraceTotals};
use crate::import::ImportOptions;
use crate::import::intake::{Intake, Pipeline};
use device::RecordedDevice;
use drivescope_machine::Roots;
use instance::TraceInstance;
use layout::{BlockEvents, RawEvent};
use std::time::Duration;

/// How often the rings are drained: at 1.2 million events a second on one processor, a ring is full after this time.
const DRAIN_EVERY: Duration = Duration::from_millis(50);
/// Times of recordings are kept in ns.
const TICK_NS: u64 = 1;

const SOURCE: &str = "recorded";

pub fn header(device: &RecordedDevice) -> TraceHeader {
    let device_bytes = Some(device.size_bytes);
    TraceHeader { device_bytes, ..TraceHeader::new(SOURCE, TICK_NS) }
}

pub struct Recording {
    device: RecordedDevice,
    instance: TraceInstance,
    events: BlockEvents,
    start_ns: u64,
}

impl Recording {
    /// Begins to record. Errors: no root, no tracefs, or a kernel without these events; each with its remedy.
    pub fn begin(roots: &Roots, device: RecordedDevice) -> Result<Self, TraceError> {
        let instance = TraceInstance::make(roots)?;
        let events = BlockEvents::find(&instance)?;
        instance.enable(device.kernel_number)?;
        Ok(Self { device, instance, events, start_ns: now_ns() })
    }

    /// Passes the requests to the device to `sink`, in the order of their times, until `is_over`, called every now
    /// and then. Returns who sent it, and how many events were lost.
    pub fn run(
        self,
        sink: &mut dyn EventSink,
        mut is_over: impl FnMut() -> bool,
    ) -> Result<TraceTotals, TraceError> {
        let Self { device, instance, events, start_ns } = self;
        let mut pipes = instance.pipes()?;
        let mut intake =
            Intake::new(&ImportOptions::default(), Pipeline::new(Some(start_ns), sink));
        let (mut batch, mut missed, mut end) = (Vec::new(), 0, false);
        loop {
            if end {
                instance.stop()?;
            }
            for pipe in &mut pipes {
                missed +=
                    pipe.drain(|at_ns, payload| batch.extend(events.parse(at_ns, payload)))?;
            }
            // Each processor has a ring of its own; a request issued on one may complete on another.
            batch.sort_by_key(|event: &RawEvent| event.at_ns);
            for event in batch.drain(..).filter(|event| event.at_ns >= start_ns) {
                match device.record(&event, &mut intake) {
                    Some(record) => intake.record(record)?,
                    None => intake.skipped += 1,
                }
            }
            if end {
                break;
            }
            end = is_over();
            if !end {
                std::thread::sleep(DRAIN_EVERY);
            }
        }
        // Both count those that were overwritten.
        let lost = missed.max(instance.lost()?);
        let source_totals = intake.finish()?;
        Ok(TraceTotals { lost, reordered: 0, ..source_totals })
    }
}

/// The clock of the events: `mono`.
fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
