//! Superblocks: what each one holds, in the order it was written.

use super::geometry::Lpn;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SuperblockState {
    /// Empty; erased before use.
    Free,
    /// Being filled by the host or the collector.
    Open,
    Sealed,
    /// Its live data are being moved out.
    Victim,
}

#[derive(Debug, Clone)]
pub(super) struct Superblock {
    pub(super) state: SuperblockState,
    /// Written with one bit per cell.
    pub(super) slc: bool,
    /// Units written.
    pub(super) filled: u32,
    /// Units that are still current.
    pub(super) valid: u32,
    contents: BlockContents,
}

/// Logical units in the order written: runs while that is shorter, then one entry per unit.
#[derive(Debug, Clone)]
enum BlockContents {
    /// (first place, first logical unit) of each run, ascending by place.
    Runs(Vec<(u32, Lpn)>),
    Table(Vec<Lpn>),
}

impl Default for Superblock {
    fn default() -> Self {
        Self {
            state: SuperblockState::Free,
            slc: false,
            filled: 0,
            valid: 0,
            contents: BlockContents::Runs(Vec::new()),
        }
    }
}

impl Superblock {
    pub(super) fn open(&mut self, slc: bool) {
        *self = Self { state: SuperblockState::Open, slc, ..Self::default() };
    }

    pub(super) fn release(&mut self) {
        *self = Self::default();
    }

    /// Notes that the next `len` places hold `lpn` and on. `capacity` is the block's size in units.
    pub(super) fn push(&mut self, lpn: Lpn, len: u32, capacity: u32) {
        match &mut self.contents {
            BlockContents::Runs(runs) => {
                let continues =
                    runs.last().is_some_and(|&(place, first)| first + (self.filled - place) == lpn);
                if !continues {
                    runs.push((self.filled, lpn));
                }
                // two words a run against one a unit
                if runs.len() as u32 > capacity / 4 {
                    self.contents = BlockContents::Table(expand(runs, self.filled + len, capacity));
                }
            }
            BlockContents::Table(table) => table.extend(lpn..lpn + len),
        }
        self.filled += len;
        self.valid += len;
    }

    /// The logical unit written at `place`, and how many consecutive ones follow it.
    pub(super) fn run_at(&self, place: u32) -> (Lpn, u32) {
        match &self.contents {
            BlockContents::Runs(runs) => {
                let next = runs.partition_point(|run| run.0 <= place);
                let (start, lpn) = runs[next - 1];
                let end = runs.get(next).map_or(self.filled, |run| run.0);
                (lpn + (place - start), end - place)
            }
            BlockContents::Table(table) => {
                let slice = &table[place as usize..];
                let first = slice[0];
                let len = slice.iter().zip(first..).take_while(|&(&lpn, want)| lpn == want).count();
                (first, len as u32)
            }
        }
    }
}

fn expand(runs: &[(u32, Lpn)], filled: u32, capacity: u32) -> Vec<Lpn> {
    let mut table = Vec::with_capacity(capacity as usize);
    for (k, &(place, lpn)) in runs.iter().enumerate() {
        let end = runs.get(k + 1).map_or(filled, |next| next.0);
        table.extend(lpn..lpn + (end - place));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{BlockContents, Superblock};

    #[test]
    fn runs_and_table_tell_the_same() {
        let mut block = Superblock::default();
        let mut plain = Vec::new();
        for k in 0..300_u32 {
            let (lpn, len) = (k * 7919 % 5000, 1 + k % 3);
            block.push(lpn, len, 700);
            plain.extend(lpn..lpn + len);
        }
        assert!(matches!(block.contents, BlockContents::Table(_)));
        for (place, &lpn) in plain.iter().enumerate() {
            let (first, len) = block.run_at(place as u32);
            assert_eq!(first, lpn);
            let run = &plain[place..place + len as usize];
            assert!(run.iter().zip(lpn..).all(|(&have, want)| have == want));
        }
    }

    #[test]
    fn neighbours_join() {
        let mut block = Superblock::default();
        for k in 0..50 {
            block.push(1000 + k * 4, 4, 1000);
        }
        assert_eq!(block.run_at(10), (1010, 190));
        assert!(matches!(&block.contents, BlockContents::Runs(runs) if runs.len() == 1));
    }
}
