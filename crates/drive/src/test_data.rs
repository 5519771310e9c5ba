//! One sector of test data: tests write it, and `restore` knows by it a drive that waits for its originals.
//!
//! It holds its byte offset, its pass, and 62 words of a counter-based generator keyed by seed, offset and pass:
//! `word = fold(c · (c ⊕ KEY))` with a 64×64→128-bit product, the mixer of wyrand (Wang Yi, public domain). No state
//! runs from sector to sector, so any sector can be made or checked alone. A pass that [`compressible_pass`] makes has
//! zeros instead of the last words.

/// The unit that carries a stamp.
pub const SECTOR: usize = 512;
const WORDS: usize = SECTOR / 8;

const STEP: u64 = 0xa076_1d64_78bd_642f;
const KEY: u64 = 0xe703_7ed1_a0b4_28db;

/// Where a pass has the percentage of its sectors that compresses away: a sector read back says how it was made.
const PERCENT_SHIFT: u32 = 56;
/// The offset, the pass, and one word that depends on the seed: by it a run knows its own data.
const KEPT_WORDS: usize = 3;

/// The pass with this number whose sectors are zeros to `percent` of their bytes, as fio's
/// `buffer_compress_percentage` has them. At most 95 %: the stamps and one word stay.
pub fn compressible_pass(pass: u64, percent: u8) -> u64 {
    pass | u64::from(percent) << PERCENT_SHIFT
}

/// The number of a pass, and the percentage that compresses away.
pub(crate) fn number_and_percent(pass: u64) -> (u64, u64) {
    (pass & ((1 << PERCENT_SHIFT) - 1), pass >> PERCENT_SHIFT)
}

#[inline]
fn mix(counter: u64) -> u64 {
    let product = u128::from(counter) * u128::from(counter ^ KEY);
    (product >> 64) as u64 ^ product as u64
}

/// Makes the sector of this seed and pass that is written at byte `offset`.
#[inline]
pub fn fill_sector(sector: &mut [u8; SECTOR], seed: u64, pass: u64, offset: u64) {
    let counter = mix(mix(seed ^ offset.wrapping_mul(STEP)) ^ pass.wrapping_add(STEP));
    let (words, _) = sector.as_chunks_mut::<8>();
    let (_, percent) = number_and_percent(pass);
    if percent == 0 {
        // The length is known here, so that the loop is unrolled.
        fill_noise(&mut words[2..WORDS], counter);
    } else {
        let zeros = (WORDS * percent as usize + 50) / 100;
        let (noise, zeros) = words.split_at_mut(WORDS - zeros.min(WORDS - KEPT_WORDS));
        fill_noise(&mut noise[2..], counter);
        zeros.fill([0; 8]);
    }
    words[0] = offset.to_le_bytes();
    words[1] = pass.to_le_bytes();
}

#[inline]
fn fill_noise(words: &mut [[u8; 8]], mut counter: u64) {
    for word in words {
        counter = counter.wrapping_add(STEP);
        *word = mix(counter).to_le_bytes();
    }
}

#[inline]
pub fn stamps(sector: &[u8; SECTOR]) -> (u64, u64) {
    let (words, _) = sector.as_chunks::<8>();
    (u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]))
}
