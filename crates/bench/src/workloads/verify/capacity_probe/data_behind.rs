//! Behind the first block that lost its data: is anything kept there?
//!
//! Where capacity is missing, nothing is. A drive that lost what lies in the middle, or drops one write in a
//! hundred, is damaged, and what it announces may all be there.

use super::{Blocks, CapacityProbe, PASS_SAMPLE, ProbedContents, Stopped};

const TRIES: u64 = 64;
/// This many of them must be kept: a hole in the middle of a drive may extend behind the first block of it.
const KEPT_MIN: usize = 16;
/// Fewer blocks are too few to search.
const BEHIND_MIN: u64 = 64;

impl<B: Blocks> CapacityProbe<'_, B> {
    /// Whether blocks from `real` on keep what is written, past any cache.
    pub(super) fn keeps_behind(&mut self, real: u64) -> Result<bool, Stopped> {
        let (first, pushing) = self.overwhelm;
        // What pushes others out of the cache is itself in there.
        let end = if pushing > 0 && first >= real { first } else { self.blocks.count() };
        let no_more = self.written + TRIES > self.written_max || self.overwhelms_left == 0;
        if end < real + BEHIND_MIN || no_more {
            return Ok(false);
        }
        let tried = self.choose(TRIES, real, end);
        for run in tried.chunk_by(|a, b| a + 1 == *b) {
            self.write(run[0], run.len() as u64, PASS_SAMPLE)?;
        }
        self.overwhelm_cache()?;
        let found: Vec<ProbedContents> =
            tried.into_iter().map(|block| self.look(block)).collect::<Result<_, _>>()?;
        // What belongs elsewhere came there by repeating addresses, of which the last written looks good.
        let repeats = found.iter().any(|found| matches!(found, ProbedContents::Other { .. }));
        Ok(!repeats
            && found.iter().filter(|found| **found == ProbedContents::Own).count() >= KEPT_MIN)
    }
}
