//! One sector of test data: tests write it, and `restore` knows by it a drive that waits for its originals.
//!
//! It holds its byte offset, its pass, and 62 words of a counter-based generator keyed by seed, offset and pass:
//! `word = fold(c · (c ⊕ KEY))` with a 64×64→128-bit product, the mixer of wyrand (Wang Yi, public domain). No state
//! runs from sector to sector, so any sector can be made or checked alone.

/// The unit that carries a stamp.
pub const SECTOR: usize = 512;
const WORDS: usize = SECTOR / 8;

const STEP: u64 = 0xa076_1d64_78bd_642f;
const KEY: u64 = 0xe703_7ed1_a0b4_28db;

#[inline]
fn mix(counter: u64) -> u64 {
    let product = u128::from(counter) * u128::from(counter ^ KEY);
    (product >> 64) as u64 ^ product as u64
}

/// Makes the sector of this seed and pass that is written at byte `offset`.
#[inline]
pub fn fill_sector(sector: &mut [u8; SECTOR], seed: u64, pass: u64, offset: u64) {
    let mut counter = mix(mix(seed ^ offset.wrapping_mul(STEP)) ^ pass.wrapping_add(STEP));
    let (words, _) = sector.as_chunks_mut::<8>();
    for word in &mut words[2..WORDS] {
        counter = counter.wrapping_add(STEP);
        *word = mix(counter).to_le_bytes();
    }
    words[0] = offset.to_le_bytes();
    words[1] = pass.to_le_bytes();
}

#[inline]
pub fn stamps(sector: &[u8; SECTOR]) -> (u64, u64) {
    let (words, _) = sector.as_chunks::<8>();
    (u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]))
}
