//! Where GNOME Disks reads: GLib's generator with seed 42, so that the same places are visited.
//!
//! The generator is MT19937 (Matsumoto and Nishimura 1998) seeded as its 2002 revision does; GLib makes
//! a double of two outputs: `(a · 2^-32 + b) · 2^-32`.

const N: usize = 624;
const M: usize = 397;
const SEED: u32 = 42;
/// 2^-32.
const SCALE: f64 = 1.0 / 4_294_967_296.0;

/// MT19937.
struct MersenneTwister {
    state: [u32; N],
    next: usize,
}

impl MersenneTwister {
    fn new(seed: u32) -> Self {
        let mut state = [seed; N];
        for i in 1..N {
            let last = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: N }
    }

    fn next_u32(&mut self) -> u32 {
        if self.next == N {
            self.twist();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn twist(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }

    fn next_f64(&mut self) -> f64 {
        loop {
            let first = f64::from(self.next_u32()) * SCALE;
            let value = (first + f64::from(self.next_u32())) * SCALE;
            if value < 1.0 {
                return value;
            }
        }
    }
}

/// The first `count` places where GNOME Disks measures access times on a device of `size` bytes.
pub(super) fn access_offsets(size: u64, count: u32, page: u64) -> Vec<u64> {
    let mut random = MersenneTwister::new(SEED);
    (0..count).map(|_| (random.next_f64() * size as f64) as u64 / page * page).collect()
}

/// The places where it measures transfer rates: `n · size / count`, rounded down to a page.
pub(super) fn sample_offsets(size: u64, count: u32, page: u64) -> Vec<u64> {
    let at = |n: u32| (u128::from(n) * u128::from(size) / u128::from(count)) as u64;
    (0..count).map(|n| at(n) / page * page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference outputs of the authors' mt19937ar for its default seed, and of NumPy's
    /// `RandomState(42)`, which seeds in the same way.
    #[test]
    fn the_generator_is_mt19937() {
        let mut random = MersenneTwister::new(5489);
        assert_eq!(random.next_u32(), 3_499_211_612);
        assert_eq!((0..9_999).map(|_| random.next_u32()).last(), Some(4_123_659_995));
        let mut random = MersenneTwister::new(42);
        assert_eq!([random.next_u32(), random.next_u32()], [1_608_637_542, 3_421_126_067]);
    }

    #[test]
    fn places_are_pages_within_the_device() {
        let size = 1_000_204_886_016;
        let accesses = access_offsets(size, 1000, 4096);
        assert!(accesses.iter().all(|&at| at < size && at % 4096 == 0));
        // (1608637542 · 2^-32 + 3421126067) · 2^-32 = 0.79654…: the second output leads.
        let first = (1_608_637_542.0 * SCALE + 3_421_126_067.0) * SCALE * size as f64;
        assert_eq!(accesses[0], first as u64 / 4096 * 4096);
        let samples = sample_offsets(size, 100, 4096);
        assert_eq!((samples[0], samples[50]), (0, size / 2 / 4096 * 4096));
        assert!(samples[99] < size / 100 * 99 + 4096);
    }
}
