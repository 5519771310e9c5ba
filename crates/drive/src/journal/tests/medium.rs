//! Bytes that are durable only when they are synced.

/// Written whole or not at all, unless its physical sector is torn.
pub const SECTOR: usize = 512;
/// Default physical sector.
pub const UNIT: usize = 4096;

/// What one torn write damages: physical sectors, flash pages, stripes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    pub bytes: usize,
    /// Bytes of the first unit before the first byte of the medium.
    pub shift: usize,
}

impl Default for Units {
    fn default() -> Self {
        Self { bytes: UNIT, shift: 0 }
    }
}

/// What a power cut leaves of pending writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Nothing,
    Everything,
    /// Everything up to some point in time.
    Prefix,
    /// The last request alone: those before it waited in another queue.
    Last,
    /// Any requests, each of them whole.
    Requests,
    /// Any sectors.
    Subset,
    /// Any sectors, and some physical ones are noise.
    Torn,
}

/// Bytes, and the writes to them since the last sync.
#[derive(Debug, Clone, Default)]
pub struct Medium {
    /// What a cut leaves that loses everything pending.
    pub durable: Vec<u8>,
    pub now: Vec<u8>,
    pub pending: Vec<(usize, Vec<u8>)>,
    /// What is torn as a whole.
    pub units: Units,
}

impl Medium {
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        put(&mut self.now, at, bytes);
        self.pending.push((at, bytes.to_vec()));
    }

    pub fn sync(&mut self) {
        self.durable.clone_from(&self.now);
        self.pending.clear();
    }

    /// Frees the bytes of a file that has no name any more.
    pub fn forget(&mut self) {
        *self = Self { units: self.units, ..Self::default() };
    }

    pub fn cut(&mut self, left: Left, dice: &mut Dice) {
        let pending = std::mem::take(&mut self.pending);
        let (kept, last) = (dice.below(pending.len() as u64 + 1) as usize, pending.len());
        for (index, (at, bytes)) in pending.iter().enumerate() {
            let is_whole = match left {
                Left::Everything => true,
                Left::Prefix => index < kept,
                Left::Last => index + 1 == last,
                Left::Requests => dice.below(2) == 0,
                Left::Nothing | Left::Subset | Left::Torn => false,
            };
            match left {
                _ if is_whole => put(&mut self.durable, *at, bytes),
                Left::Prefix if index == kept => {
                    let sectors = dice.below(bytes.len().div_ceil(SECTOR) as u64) as usize;
                    put(&mut self.durable, *at, &bytes[..(sectors * SECTOR).min(bytes.len())]);
                }
                Left::Subset | Left::Torn => {
                    for (number, sector) in bytes.chunks(SECTOR).enumerate() {
                        if dice.below(2) == 0 {
                            put(&mut self.durable, at + number * SECTOR, sector);
                        }
                    }
                }
                _ => {}
            }
        }
        if left == Left::Torn {
            for (at, bytes) in &pending {
                self.tear(*at, bytes.len(), dice);
            }
        }
        self.now.clone_from(&self.durable);
    }

    /// Turns some of the units that a write touched into noise.
    fn tear(&mut self, at: usize, len: usize, dice: &mut Dice) {
        let Units { bytes: unit, shift } = self.units;
        for number in (at + shift) / unit..(at + len + shift).div_ceil(unit) {
            if dice.below(3) != 0 {
                continue;
            }
            let start = (number * unit).saturating_sub(shift);
            let end = ((number + 1) * unit - shift).min(self.durable.len());
            for byte in self.durable.get_mut(start..end).into_iter().flatten() {
                *byte = dice.below(256) as u8;
            }
        }
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    if bytes.len() < at + new.len() {
        bytes.resize(at + new.len(), 0);
    }
    bytes[at..at + new.len()].copy_from_slice(new);
}

/// Numbers that look random: xorshift64 of Marsaglia.
pub struct Dice(pub u64);

impl Dice {
    /// 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end.max(1)
    }
}
