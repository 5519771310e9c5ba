//! Tests that write patterns to a block device: its originals are kept in a journal until they are back.

use super::Session;
use crate::error::BenchError;
use crate::io::device::IoDevice;
use drivescope_drive::gate::RawDisk;
use drivescope_drive::journal::{BeforeImages, JournalError, RollbackStage, RollbackStep};
use drivescope_model::event::Event;
use drivescope_model::units::Bytes;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub struct RestoreJournal<'a> {
    folder: PathBuf,
    run_id: String,
    data_seed: u64,
    /// Raised while the program must not end before everything is back.
    held: Arc<AtomicBool>,
    on_progress: Box<dyn FnMut(RollbackStep) + 'a>,
    originals: Option<BeforeImages>,
    /// Why something is not back, or an unneeded journal is left.
    lost: Option<String>,
}

impl<'a> RestoreJournal<'a> {
    /// A journal for `run_id` in `folder`, whose test data have this seed. `held` is raised while originals are in
    /// it only; `on_progress` hears of putting them back.
    pub fn new(
        folder: PathBuf,
        (run_id, data_seed): (String, u64),
        held: Arc<AtomicBool>,
        on_progress: impl FnMut(RollbackStep) + 'a,
    ) -> Self {
        let on_progress = Box::new(on_progress);
        Self { folder, run_id, data_seed, held, on_progress, originals: None, lost: None }
    }

    fn originals(
        &mut self,
        disk: &RawDisk,
        area_bytes: u64,
    ) -> Result<&mut BeforeImages, JournalError> {
        if self.originals.is_none() {
            let run = (self.run_id.as_str(), self.data_seed);
            let begun = BeforeImages::begin(disk, &self.folder, run, area_bytes)?;
            self.originals = Some(begun);
        }
        Ok(self.originals.as_mut().expect("it was just begun"))
    }
}

impl Session<'_> {
    /// Saves the originals of `area` and opens it to the engines, until the end of the test puts them back. Errors:
    /// a stop was asked for, the journal or the device failed; then nothing is opened.
    pub fn save_before_images(&mut self, area: Range<u64>) -> Result<(), BenchError> {
        let what = format!("saving {} of contents", Bytes(area.end - area.start));
        self.emit(Event::Preparing { what });
        let Session { restore_journal, storage, stop, .. } = self;
        let disk = storage.device.as_ref().and_then(IoDevice::claim);
        let (Some(journal), Some(disk)) = (restore_journal.as_mut(), disk) else {
            let why = "needs a restore journal and a claimed block device";
            return Err(BenchError::Unsuitable(why.to_string()));
        };
        // From the first byte in the journal on, the program must see to its end.
        journal.held.store(true, Ordering::Release);
        let stopped = || stop.load(Ordering::Relaxed);
        let originals = journal.originals(disk, area.end - area.start)?;
        let is_whole = originals.protect(disk, area, &stopped, &mut |_| {})?;
        if is_whole { Ok(()) } else { Err(BenchError::Interrupted) }
    }

    /// Puts everything back that the test saved, however it ended, and verifies it. A failure to do so outweighs
    /// how the test ended.
    pub(crate) fn restore_before_images(
        &mut self,
        end: Result<(), BenchError>,
    ) -> Result<(), BenchError> {
        let Session { restore_journal, storage, events, .. } = self;
        let disk = storage.device.as_ref().and_then(IoDevice::claim);
        let (Some(journal), Some(disk)) = (restore_journal.as_mut(), disk) else { return end };
        let RestoreJournal { originals, on_progress, held, lost, .. } = journal;
        let back = originals.as_mut().map_or(Ok(()), |originals| {
            originals.put_back(disk, &mut |step| {
                let _ = events.send(Event::Preparing { what: words(step) });
                on_progress(step);
            })
        });
        held.store(false, Ordering::Release);
        let Err(error) = back else { return end };
        *lost = Some(match &error {
            JournalError::Remains { .. } => error.to_string(),
            _ => format!("the target's contents are not restored: {error}"),
        });
        let before = end.err().map(|error| error.to_string());
        Err(BenchError::Journal { error, before: before.unwrap_or_default() })
    }

    /// Why no further test may run: the target waits for `drivescope restore`.
    pub fn lost(&self) -> Option<&str> {
        self.restore_journal.as_ref()?.lost.as_deref()
    }
}

fn words(step: RollbackStep) -> String {
    let what = match step.stage {
        RollbackStage::Writing => "restoring contents",
        RollbackStage::Verifying => "verifying contents",
    };
    format!("{what}, {} of {}", Bytes(step.done_bytes), Bytes(step.total_bytes))
}
