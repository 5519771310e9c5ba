//! The benchmark of GNOME Disks (gnome-disk-utility, `gdu-benchmark-dialog.c`): evenly spread samples, and accesses
//! at the places of GLib's generator with seed 42. That is MT19937 (Matsumoto and Nishimura 1998) seeded as its
//! 2002 revision does; GLib makes a double of two outputs: `(a · 2^-32 + b) · 2^-32`.

const N: usize = 624;
const M: usize = 397;
const SEED: u32 = 42;
const SCALE: f64 = 1.0 / 4_294_967_296.0;

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

/// Bytes of an access; places are rounded down to multiples of it.
pub const PAGE: u64 = 4096;

/// The first `count` places where it measures access times on a device of `size` bytes.
pub fn accesses(size: u64, count: u32) -> Vec<u64> {
    let mut random = MersenneTwister::new(SEED);
    (0..count).map(|_| (random.next_f64() * size as f64) as u64 / PAGE * PAGE).collect()
}

/// The stretches whose rates it measures, as offset and length in bytes: from `n · size / count`, rounded down
/// to a page, `sample_bytes` long or, at the end of a small device, as long as one call can read (whole pages).
pub fn samples(size: u64, count: u32, sample_bytes: u64) -> Vec<(u64, u64)> {
    let at = |n: u32| (u128::from(n) * u128::from(size) / u128::from(count)) as u64 / PAGE * PAGE;
    let until_end = |at: u64| (size - at) / PAGE * PAGE;
    (0..count).map(at).map(|at| (at, sample_bytes.min(until_end(at)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: u32 = 100;
    const SAMPLE_BYTES: u64 = 10 << 20;
    const ACCESSES: u32 = 1000;

    /// Reference outputs of the authors' mt19937ar for its default seed, and of NumPy's `RandomState(42)`, which
    /// seeds in the same way.
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
        let places = accesses(size, ACCESSES);
        assert!(places.iter().all(|&at| at < size && at % PAGE == 0));
        // (1608637542 · 2^-32 + 3421126067) · 2^-32 = 0.79654…: the second output leads.
        let first = (1_608_637_542.0 * SCALE + 3_421_126_067.0) * SCALE * size as f64;
        assert_eq!(places[0], first as u64 / PAGE * PAGE);
        let samples = samples(size, SAMPLES, SAMPLE_BYTES);
        assert_eq!((samples[0].0, samples[50].0), (0, size / 2 / PAGE * PAGE));
        assert!(samples[99].0 < size / 100 * 99 + PAGE);
        assert!(samples.iter().all(|sample| sample.1 == SAMPLE_BYTES));
    }

    #[test]
    fn last_samples_of_a_small_partition_are_short() {
        let size = 256_000_000;
        let samples = samples(size, SAMPLES, SAMPLE_BYTES);
        let (whole, short) = samples.split_at(95);
        assert!(whole.iter().all(|&(at, len)| len == SAMPLE_BYTES && at + len <= size));
        assert_eq!((samples.len(), short[0]), (100, (243_200_000 / PAGE * PAGE, SAMPLE_BYTES)));
        for &(at, len) in &short[1..] {
            assert_eq!((len % PAGE, (at + len) / PAGE), (0, size / PAGE));
            assert!(0 < len && len < SAMPLE_BYTES);
        }
    }
}
