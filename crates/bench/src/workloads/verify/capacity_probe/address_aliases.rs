//! Whether addresses repeat, at which distance, and from which block on.
//!
//! Landmarks of w blocks are written from block 0 on, and one block in w of all that follow is read: if all
//! addresses repeat after R ≥ w blocks, some such block lies at R behind a landmark and shows its stamp, which
//! names R exactly (the first one found, going up, is R itself and not a multiple). Two steps, of 128 blocks and
//! then of 1/8192 of the drive, find every R from 128 blocks on.
//!
//! A fake may also keep its beginning and fold all that follows onto the part behind it. Further landmarks lie at
//! a half, a quarter, an eighth … of the drive: one of them is in the upper half of whatever is there. They are
//! written from the last to the first, so that those at lower addresses stay where several fall on one place.
//! What shows a landmark then names a distance, or a multiple of it; where the folding begins is searched by
//! halves: a block is written, and the one at that distance behind it is read. Where that shows nothing of it,
//! addresses do not repeat: missing blocks of some drives show whatever they were given last.

use super::{
    Blocks, CapacityProbe, FAILURES_MAX, PASS_CACHE, PASS_LANDMARK, PASS_SHARED, ProbedContents,
    Stopped,
};

const LANDMARKS_MIN: u64 = 128;
const READS: u64 = 8192;
/// The landmarks of the second step from block 0 on, in bytes at most.
const LANDMARKS_MAX_BYTES: u64 = 512 << 20;
/// Further landmarks: at halves of the drive down to 1/1024, in bytes together at most.
const UPPER_MAX: u32 = 10;
const UPPER_MAX_BYTES: u64 = 512 << 20;
/// Blocks are read a little closer than w: a drive that folds often would give the same places again.
const CLOSER_PART: u64 = 64;

/// What showed the cache, and the last block taken to be good, before addresses were known to repeat.
type ShownLandmark = ((u64, u64), u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AddressAliases {
    /// Two blocks that share a place are so far apart.
    pub distance: u64,
    /// The first block that has no place of its own.
    pub from: u64,
}

/// Landmarks that an honest drive gets, in blocks.
pub fn usual_landmarks(count: u64, block_bytes: u64) -> u64 {
    let first = landmarks_of(count, block_bytes);
    first + upper(count, block_bytes, first).map(|(_, len)| len).sum::<u64>()
}

/// Landmarks of the last step, from block 0 on.
fn landmarks_of(count: u64, block_bytes: u64) -> u64 {
    let largest = LANDMARKS_MAX_BYTES / block_bytes;
    (count / READS).min(largest).max(LANDMARKS_MIN).min(count / 4)
}

/// First block and length of the further landmarks, `first` of which lie at block 0; the last ones first.
fn upper(count: u64, block_bytes: u64, first: u64) -> impl Iterator<Item = (u64, u64)> {
    let len = first.min(UPPER_MAX_BYTES / block_bytes / u64::from(UPPER_MAX));
    let starts = (1..=UPPER_MAX).map(move |half| count >> half);
    starts.take_while(move |start| *start >= 2 * first).map(move |start| (start, len))
}

impl<B: Blocks> CapacityProbe<'_, B> {
    pub(super) fn find_repeats(&mut self) -> Result<Option<AddressAliases>, Stopped> {
        let (count, block_bytes) = (self.blocks.count(), self.blocks.block_bytes());
        self.failures_left = FAILURES_MAX;
        let last = landmarks_of(count, block_bytes);
        let first = LANDMARKS_MIN.min(last);
        // From the first block on: where the last block alone has no place of its own, it lands there.
        if first < last {
            self.write(0, first, PASS_LANDMARK)?;
            if let Some(found) = self.find_landmark(first, READS)? {
                return Ok(found);
            }
        }
        for (start, len) in upper(count, block_bytes, last) {
            self.write(start, len, PASS_LANDMARK)?;
        }
        self.write(0, last, PASS_LANDMARK)?;
        Ok(self.find_landmark(last - last / CLOSER_PART, u64::MAX)?.flatten())
    }

    /// Reads one block of `step`, `reads` at most, and the last; the outer `None` means no landmark, the inner one
    /// too many failures, or one that is not there because addresses repeat.
    fn find_landmark(
        &mut self,
        step: u64,
        reads: u64,
    ) -> Result<Option<Option<AddressAliases>>, Stopped> {
        let count = self.blocks.count();
        let places = (1..).map(|k| k * step).take_while(|&at| at < count);
        for at in places.take(reads.min(count) as usize).chain([count - 1]) {
            let seen = self.look(at)?;
            if self.failures_left == 0 {
                return Ok(Some(None));
            }
            if let ProbedContents::Other { block, pass: PASS_LANDMARK } = seen
                && block < at
            {
                return self.begin_of(at, at - block).map(Some);
            }
        }
        Ok(None)
    }

    /// Where addresses begin to repeat, if that is why `at` shows what lies `distance` before it.
    fn begin_of(&mut self, at: u64, distance: u64) -> Result<Option<AddressAliases>, Stopped> {
        let shown = (self.overwhelm, self.left);
        self.move_overwhelming(shown, distance);
        // A cache would answer for landmarks at addresses that have no place of their own.
        self.push_out(distance)?;
        let from = if self.share(distance, distance)? {
            distance
        } else if self.share(at, distance)? {
            self.first_shared(at, distance)?
        } else {
            // Whatever answered, it was not by the landmark's address.
            (self.overwhelm, self.left) = shown;
            return Ok(None);
        };
        self.single_fold(shown, AddressAliases { distance, from }).map(Some)
    }

    /// Where a landmark is met after several folds, as from the last block, the distance is as many times what
    /// is folded: taken apart by its prime factors, what is left is one fold.
    fn single_fold(
        &mut self,
        shown: ShownLandmark,
        met: AddressAliases,
    ) -> Result<AddressAliases, Stopped> {
        let mut distance = met.distance;
        for prime in prime_factors(met.distance) {
            let part = distance / prime;
            self.move_overwhelming(shown, part);
            if self.is_multiple_of_fold(met.from, part)? {
                distance = part;
            }
        }
        self.move_overwhelming(shown, distance);
        if distance == met.distance {
            return Ok(met);
        }
        // A cache may still have what overwhelmed it, among it blocks that are now asked.
        self.push_out(distance)?;
        let from = self.first_shared(met.from, distance)?;
        Ok(AddressAliases { distance, from })
    }

    /// Whether blocks so far apart share a place, from `from` on. The stretch that overwhelms a cache lies at the
    /// beginning, where `from` has its place: a block behind it is read. A stretch longer than a fold writes over
    /// every place, so the block is read once more without.
    fn is_multiple_of_fold(&mut self, from: u64, distance: u64) -> Result<bool, Stopped> {
        let behind = from + self.overwhelm.1 + 1;
        let at = if behind < self.blocks.count() { behind } else { from };
        if self.share(at, distance)? {
            return Ok(true);
        }
        self.overwhelm = (0, 0);
        self.share(from, distance)
    }

    /// The first of `distance..=shared` that shares its place with the one `distance` before it, as `shared` does.
    fn first_shared(&mut self, mut shared: u64, distance: u64) -> Result<u64, Stopped> {
        let mut low = distance;
        while low < shared {
            let middle = low.midpoint(shared);
            if self.share(middle, distance)? {
                shared = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(shared)
    }

    /// Whether a block shows what is written `distance` blocks before it.
    fn share(&mut self, at: u64, distance: u64) -> Result<bool, Stopped> {
        let before = at - distance;
        if self.asked.contains(&at) {
            self.push_out(distance)?;
        }
        self.write(before, 1, PASS_SHARED)?;
        self.asked.insert(before);
        self.overwhelm_cache()?;
        Ok(matches!(self.look(at)?, ProbedContents::Other { block, .. } if block == before))
    }

    /// Makes a cache of any size that is looked for forget what was written before, on a drive whose addresses
    /// repeat after `distance` blocks.
    fn push_out(&mut self, distance: u64) -> Result<(), Stopped> {
        self.overwhelms_left = self.overwhelms_left.saturating_sub(1);
        self.asked.clear();
        self.blocks.write(1, self.cache_max.min(distance / 2), PASS_CACHE)
    }

    /// Where addresses repeat after `distance` blocks, what is written behind the end lands on samples: the
    /// cache is overwhelmed at the beginning instead. A stretch longer than half of that says nothing
    /// of a cache: it was bad because it overwrote itself.
    fn move_overwhelming(&mut self, shown: ShownLandmark, distance: u64) {
        let ((_, count), left) = shown;
        (self.overwhelm, self.left) =
            if count > distance / 2 { ((0, 0), left) } else { ((left + 1, count), left + count) };
    }
}

/// Prime factors, each as often as it divides `number`.
fn prime_factors(mut number: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    let mut divisor = 2;
    while divisor * divisor <= number {
        while number.is_multiple_of(divisor) {
            factors.push(divisor);
            number /= divisor;
        }
        divisor += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors
}
