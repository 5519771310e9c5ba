//! The rounds of `copy`, and what they come to.

use super::{CopyJob, set_of};
use crate::error::BenchError;
use crate::judging::round::{Cache, distinct};
use crate::judging::test_record::TestRecord;
use crate::session::Session;
use crate::workloads::shared::files::file_phase::{FilePhase, FileTally};
use crate::workloads::shared::files::file_store::{CopySide, FileStep, FileStore};
use drivescope_model::event::Event;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_stats::summary::median;

/// A phase with a larger share of its files in memory is not cold.
const IN_MEMORY_MAX: f64 = 0.02;
/// Of copied bytes, the device must have written this share, if they are at least the minimum.
const WRITTEN_SHARE_MIN: f64 = 0.9;
const WRITTEN_MIN_BYTES: u64 = 16 << 20;
/// A copy this near to the rate of its source is held by it.
const SOURCE_SHARE: f64 = 0.85;

/// What the phases of one round of one job came to, by the end of their cells.
pub(super) type RoundTallies = (String, FileTally);

pub(super) struct CopyRun<'r, 's> {
    pub session: &'r Session<'s>,
    pub jobs: &'r [CopyJob],
    pub is_between: bool,
    pub is_given: bool,
}

impl CopyRun<'_, '_> {
    /// Runs them; whatever ends them, no files are left.
    pub fn all(
        &self,
        store: &mut dyn FileStore,
        record: &mut TestRecord,
        tallies: &mut Vec<RoundTallies>,
    ) -> Result<(), BenchError> {
        let suite = &self.session.plan.suite;
        for round in 1..=suite.copy.rounds {
            for job in self.jobs {
                self.session.pause(suite.pause)?;
                let mut copying = JobRound {
                    run: self,
                    job,
                    round,
                    store: &mut *store,
                    record: &mut *record,
                    tallies: &mut *tallies,
                };
                let end = copying.all();
                let removed =
                    store.delete(CopySide::Copy).and_then(|()| store.delete(CopySide::Source));
                end.and(removed)?;
            }
        }
        Ok(())
    }
}

struct JobRound<'r, 's, 'a> {
    run: &'a CopyRun<'r, 's>,
    job: &'a CopyJob,
    round: u32,
    store: &'a mut dyn FileStore,
    record: &'a mut TestRecord,
    tallies: &'a mut Vec<RoundTallies>,
}

impl JobRound<'_, '_, '_> {
    fn all(&mut self) -> Result<(), BenchError> {
        if !self.run.is_given {
            let session = self.run.session;
            session
                .emit(Event::Preparing { what: format!("making the files of {}", self.job.name) });
            let set = set_of(self.job, session.plan.seed);
            self.phase("create", Some(CopySide::Source), |store, watch| store.create(&set, watch))?;
        }
        if self.run.is_between {
            self.make_cold(CopySide::Source, "source")?;
            self.phase("source", None, |store, watch| store.read(CopySide::Source, watch))?;
        }
        let copy = if self.run.is_between { "from" } else { "copy" };
        self.make_cold(CopySide::Source, copy)?;
        let copied = Some(CopySide::Copy);
        let (outcome, tally) = self.phase(copy, copied, |store, watch| store.copy(watch))?;
        if let Some(left_out) = outcome.left_out.filter(|_| self.round == 1) {
            self.record.remark(left_out);
        }
        self.check_copied(copy, outcome.shared_share, tally);
        self.make_cold(CopySide::Copy, "read")?;
        self.phase("read", None, |store, watch| store.read(CopySide::Copy, watch))?;
        let delete = |store: &mut dyn FileStore, watch: &mut dyn FnMut(FileStep) -> bool| {
            store.delete(CopySide::Copy)?;
            watch(FileStep::Done(0));
            Ok(())
        };
        let (_, deleted) = self.phase("delete", copied, delete)?;
        // One call deletes all that was copied.
        let files = FileTally { files: tally.files, ..deleted };
        if let Some(last) = self.tallies.last_mut() {
            last.1 = files;
        }
        Ok(())
    }

    fn cell(&self, part: &str) -> String {
        format!("{}.{part}", self.job.name)
    }

    /// Runs a phase, which writes if a side is `flushed` at its end.
    fn phase<T>(
        &mut self,
        part: &str,
        flushed: Option<CopySide>,
        work: impl FnOnce(&mut dyn FileStore, &mut dyn FnMut(FileStep) -> bool) -> Result<T, BenchError>,
    ) -> Result<(T, FileTally), BenchError> {
        let cell = self.cell(part);
        let cache = if flushed.is_some() { Cache::Writes } else { Cache::Reads };
        let rounds = self.run.session.plan.suite.copy.rounds;
        let phase = FilePhase { cell: &cell, round: self.round, rounds, cache };
        let store = std::cell::RefCell::new(&mut *self.store);
        let done = phase.run(
            self.run.session,
            self.record,
            |watch| work(&mut **store.borrow_mut(), watch),
            || flushed.map_or(Ok(()), |side| store.borrow_mut().sync(side)),
        )?;
        self.tallies.push((cell, done.1));
        Ok(done)
    }

    /// Drops files from memory before a phase, and says if that is not proved.
    fn make_cold(&mut self, side: CopySide, part: &str) -> Result<(), BenchError> {
        let share = self.store.evict(side)?;
        let (evidence, weight) = match share {
            Some(share) if share <= IN_MEMORY_MAX => return Ok(()),
            Some(share) => {
                (format!("{:.0} % of the files were still in memory", share * 100.0), share)
            }
            None => {
                ("the kernel does not report how much of these files is in memory".to_string(), 0.0)
            }
        };
        let cell = self.cell(part);
        let finding = Finding::new(FindingId::FilesInMemory, format!("{cell}: {evidence}"));
        self.record.notice(finding.about(format!("copy.{cell}")).weighing(weight));
        Ok(())
    }

    /// A copy that shares its blocks with the source has not been written.
    fn check_copied(&mut self, part: &str, shared_share: f64, tally: FileTally) {
        let cell = self.cell(part);
        let written =
            tally.device_written_bytes.map(|bytes| bytes as f64 / tally.bytes.max(1) as f64);
        let is_missing = written.is_some_and(|share| share < WRITTEN_SHARE_MIN);
        let has_drive = self.run.session.target.memory_backed().is_none();
        let evidence = if shared_share > IN_MEMORY_MAX {
            format!("{:.0} % of the copies lie where the originals do", shared_share * 100.0)
        } else if is_missing && has_drive && tally.bytes >= WRITTEN_MIN_BYTES {
            format!("the device wrote {:.0} % of the copied bytes", written.unwrap_or(0.0) * 100.0)
        } else {
            return;
        };
        let finding = Finding::new(FindingId::CopiedByReference, format!("{cell}: {evidence}"));
        self.record
            .notice(finding.about(format!("copy.{cell}")).weighing(1.0 - written.unwrap_or(0.0)));
    }
}

/// The metrics of all rounds so far, and what held the copies.
pub(super) fn finish(session: &Session<'_>, record: &mut TestRecord, tallies: &[RoundTallies]) {
    let of = |cell: &str, figure: fn(&FileTally) -> f64| -> Vec<f64> {
        let rounds = tallies.iter().filter(|(name, _)| name == cell);
        rounds.map(|(_, tally)| figure(tally)).collect()
    };
    let cells = distinct(tallies.iter().map(|(cell, _)| cell));
    for cell in &cells {
        if !cell.ends_with(".delete") {
            record.metric(&format!("{cell}.mb_s"), of(cell, FileTally::mb_s));
        }
        record.metric(&format!("{cell}.files_s"), of(cell, FileTally::files_s));
        record.metric(&format!("{cell}.time_s"), of(cell, |tally| tally.time_s));
        record.metric(&format!("{cell}.flush_s"), of(cell, |tally| tally.flush_s));
        record.metric(&format!("{cell}.files"), of(cell, |tally| tally.files as f64));
        if session.plan.suite.copy.rounds > 1 {
            record.notice_few_rounds_of(cell);
        }
    }
    for cell in cells.iter().filter(|cell| cell.ends_with(".from")) {
        let source = cell.replace(".from", ".source");
        let rate = |name: &str| median(&of(name, FileTally::mb_s));
        let Some((copied, read)) = rate(cell).zip(rate(&source)) else { continue };
        if copied > read * SOURCE_SHARE {
            let evidence = format!(
                "{cell}: {} MB/s, the source alone {} MB/s",
                rounded(copied),
                rounded(read)
            );
            let finding = Finding::new(FindingId::SourceLimits, evidence);
            record.notice(finding.about(format!("copy.{cell}")));
        }
    }
}
