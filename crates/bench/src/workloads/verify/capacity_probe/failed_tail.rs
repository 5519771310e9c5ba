//! Behind the blocks that failed: does anything good lie there?
//!
//! If so, they are damage in the middle of a drive. If not, all from some block on may be missing, or broken: a
//! drive that refuses cannot be distinguished from one that ends.

use super::{
    Blocks, CapacityProbe, FAILURES_MAX, FailedBlocks, PASS_SAMPLE, ProbedContents, Stopped,
};

/// Blocks tried behind the failed ones before the rest counts as bad.
const TRIES: u64 = 64;
/// Rounds of that: each that finds a good block may have a failed one behind it.
const ROUNDS: u32 = 8;

impl<B: Blocks> CapacityProbe<'_, B> {
    /// What failed, and from where on everything does; the end of a fake is not tried.
    pub(super) fn test_behind_failed(
        &mut self,
        has_lost_nothing: bool,
    ) -> Result<Option<FailedBlocks>, Stopped> {
        let (Some(&first), Some(&last)) = (self.failed.first(), self.failed.last()) else {
            return Ok(None);
        };
        let silent_from = if has_lost_nothing { self.find_silence()? } else { None };
        Ok(Some(FailedBlocks { first, last, silent_from }))
    }

    /// The first failed block without a good one behind it, tried at random, then closed in by halves.
    fn find_silence(&mut self) -> Result<Option<u64>, Stopped> {
        self.failures_left = FAILURES_MAX;
        for _ in 0..ROUNDS {
            let Some(silent) = self.failed_behind_good() else { return Ok(None) };
            let tried = self.choose(TRIES, silent, self.blocks.count());
            let mut is_any_good = false;
            for block in tried.into_iter().rev() {
                if self.keeps(block)? {
                    is_any_good = true;
                    break;
                }
            }
            if !is_any_good {
                return self.close_in_on(silent).map(Some);
            }
        }
        Ok(None)
    }

    /// The first failed block behind all that are good.
    fn failed_behind_good(&self) -> Option<u64> {
        let from = self.last_good.map_or(0, |good| good + 1);
        self.failed.range(from..).next().copied()
    }

    /// The first block of those that fail up to `silent`, if all before it keep data.
    fn close_in_on(&mut self, mut silent: u64) -> Result<u64, Stopped> {
        let mut low = self.last_good.map_or(0, |good| good + 1);
        while low < silent {
            let middle = low.midpoint(silent);
            if self.keeps(middle)? {
                low = middle + 1;
            } else {
                silent = middle;
            }
        }
        Ok(silent)
    }

    fn keeps(&mut self, block: u64) -> Result<bool, Stopped> {
        self.write(block, 1, PASS_SAMPLE)?;
        Ok(self.look(block)? == ProbedContents::Own)
    }
}
