//! The interface of every simulated layer: it accepts requests, and answers them as time passes.

/// Virtual time in nanoseconds since the device was powered on.
pub type Nanos = u64;

/// The nearest whole number of nanoseconds. (`f64::round` is a call of the C library, twice for every request.)
pub(crate) fn whole_ns(ns: f64) -> Nanos {
    (ns + 0.5) as Nanos
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    Read,
    /// Writes; done when the device reports it, which with a write cache is before the medium has it.
    Write,
    /// Empties the write cache; offset and length are ignored.
    Flush,
    Trim,
}

/// One request. Offsets and lengths are bytes and multiples of the logical sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimRequest {
    /// Chosen by the sender; comes back with the completion.
    pub id: u64,
    pub op: RequestKind,
    pub offset: u64,
    pub len: u64,
    /// Write through the cache (force unit access).
    pub fua: bool,
}

impl SimRequest {
    /// Whether a device of `capacity_bytes` can take this request: whole sectors of `sector_bytes` (a power of
    /// two), at least one, none beyond the end. A flush addresses nothing.
    #[inline]
    pub fn is_valid(&self, capacity_bytes: u64, sector_bytes: u32) -> bool {
        let within_a_sector = u64::from(sector_bytes) - 1;
        let end = self.offset.checked_add(self.len);
        self.op == RequestKind::Flush
            || (self.len > 0
                && (self.offset | self.len) & within_a_sector == 0
                && end.is_some_and(|end| end <= capacity_bytes))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SimOutcome {
    Done,
    /// The medium could not be read or written (EIO).
    MediaError,
    /// The device is gone (ENODEV).
    Gone,
    /// Beyond the end, or not a multiple of the sector (EINVAL).
    Invalid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimCompletion {
    pub id: u64,
    pub at: Nanos,
    pub outcome: SimOutcome,
}

/// A simulated device or layer. Time never runs backwards: each `now` and `to` is at least as large as
/// all before it.
pub trait SimDevice {
    fn capacity_bytes(&self) -> u64;

    fn sector_bytes(&self) -> u32;

    /// Accepts a request at time `now`. Any number may be outstanding; the device queues what exceeds
    /// its own depth. Work in the background (destaging, cleaning, garbage collection) up to `now` is
    /// done first.
    fn submit(&mut self, now: Nanos, request: SimRequest);

    /// The next time at which something happens to outstanding requests, if nothing else is submitted: a
    /// lower bound of the next completion. A bare drive gives the completion itself; a layer gives its own
    /// next step, after which the request may still be under way. Whoever waits for a completion therefore
    /// advances to this time and asks again until one has come; each round makes progress, so that the
    /// time given after an `advance` is later. `None` with nothing outstanding.
    fn next_completion(&mut self) -> Option<Nanos>;

    /// Lets time pass until `to` and appends every completion due by then, in order of time.
    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>);

    /// How warm it is; `None` without a sensor.
    fn heat(&self) -> Option<Heat> {
        None
    }

    /// Bytes that hold data; `None` of a drive that reads its medium whether anything is there or not.
    fn live_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether the page at this address has contents that a write of part of it must read first; the holes of a
    /// file have none.
    fn holds_data(&self, _offset: u64) -> bool {
        true
    }
}

/// The reading of a drive's sensor, °C.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heat {
    pub celsius: f64,
    /// The drive reports that it is too hot from here on.
    pub warning_c: f64,
}

impl<D: SimDevice + ?Sized> SimDevice for Box<D> {
    fn heat(&self) -> Option<Heat> {
        (**self).heat()
    }

    fn live_bytes(&self) -> Option<u64> {
        (**self).live_bytes()
    }

    fn holds_data(&self, offset: u64) -> bool {
        (**self).holds_data(offset)
    }

    fn capacity_bytes(&self) -> u64 {
        (**self).capacity_bytes()
    }

    fn sector_bytes(&self) -> u32 {
        (**self).sector_bytes()
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        (**self).submit(now, request);
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        (**self).next_completion()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        (**self).advance(to, done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_whole_sectors_on_the_device() {
        fn valid(op: RequestKind, offset: u64, len: u64) -> bool {
            SimRequest { id: 1, op, offset, len, fua: false }.is_valid(1 << 20, 4096)
        }
        assert!(
            valid(RequestKind::Read, 0, 1 << 20)
                && valid(RequestKind::Trim, (1 << 20) - 4096, 4096)
        );
        for (offset, len) in [
            (0, 0),
            (512, 4096),
            (0, 512),
            (4096, 1 << 20),
            (1 << 20, 4096),
            (u64::MAX - 4095, 8192),
        ] {
            assert!(!valid(RequestKind::Write, offset, len), "{len} from {offset}");
        }
        assert!(valid(RequestKind::Flush, 7, 0));
    }
}
