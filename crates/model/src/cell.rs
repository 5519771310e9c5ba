//! Cells: one combination of order, block size, depth, threads and mix, written `rnd4k_q32t1.read`.

use crate::size_split::SizeSplit;
use crate::units::{Bytes, UnitError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// One block after the other.
    Seq,
    /// Uniformly random, block-aligned.
    Rnd,
}

/// `read`, `write`, `mix70` (70 % reads), or `sync`: writes, each flushed before the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mix(u8);

impl Mix {
    pub const READ: Self = Self(100);
    pub const WRITE: Self = Self(0);

    /// Writes, each flushed before the next one is sent.
    pub const SYNC: Self = Self(u8::MAX);

    /// `percent` of reads, 0–100.
    pub fn new(percent: u8) -> Result<Self, UnitError> {
        if percent > 100 {
            return Err(UnitError(format!("a mix of {percent} % reads is not possible")));
        }
        Ok(Self(percent))
    }
    pub const fn read_percent(self) -> u8 {
        if self.is_synced() { 0 } else { self.0 }
    }
    pub const fn writes(self) -> bool {
        self.read_percent() < 100
    }
    pub const fn is_synced(self) -> bool {
        self.0 == Self::SYNC.0
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            100 => f.write_str("read"),
            0 => f.write_str("write"),
            _ if self.is_synced() => f.write_str("sync"),
            percent => write!(f, "mix{percent}"),
        }
    }
}

impl FromStr for Mix {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let reason =
            || UnitError(format!("'{text}' is not read, write, sync or mixNN (NN % reads)"));
        match text {
            "read" => Ok(Self::READ),
            "write" => Ok(Self::WRITE),
            "sync" => Ok(Self::SYNC),
            _ => {
                let digits = text.strip_prefix("mix").ok_or_else(reason)?;
                Self::new(digits.parse().map_err(|_| reason())?)
            }
        }
    }
}

/// The smallest sector in use.
const BLOCK_MIN: u64 = 512;
/// Beyond it, one request says nothing that several smaller ones do not.
const BLOCK_MAX: u64 = 64 << 20;
/// Of one thread; NVMe drives rarely gain beyond 1024 in flight.
const DEPTH_MAX: u32 = 1024;
/// More than the largest cell of any published benchmark.
const THREADS_MAX: u32 = 64;
/// Memory for buffers of one cell (block × depth × threads).
const BUFFERS_MAX: u64 = 1 << 30;

/// A drive that is silent for a second stalls, and pauses are not to look so.
const THINK_MAX_US: u32 = 500_000;

/// Written `seq1m_q8t1`; with several sizes `rnd4k60-64k40_q8t1`, with thinking `rnd4k_q1t1_think10ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub order: Order,
    /// Of several sizes the largest.
    pub block: Bytes,
    /// Requests in flight per thread, sustained.
    pub depth: u32,
    pub threads: u32,
    /// Sizes of random requests, where they have several.
    pub split: Option<SizeSplit>,
    /// Each thread waits as long after a request before it sends the next one.
    pub think_us: u32,
}

impl Shape {
    pub fn new(order: Order, block: Bytes, depth: u32, threads: u32) -> Result<Self, UnitError> {
        fn fail(what: String) -> Result<Shape, UnitError> {
            Err(UnitError(what))
        }
        if block.0 < BLOCK_MIN || block.0 > BLOCK_MAX || !block.0.is_multiple_of(BLOCK_MIN) {
            return fail(format!(
                "a block of {} must be a multiple of 512 bytes, at most 64 MiB",
                block.binary()
            ));
        }
        if depth == 0 || depth > DEPTH_MAX {
            return fail(format!("a depth of {depth} must lie between 1 and {DEPTH_MAX}"));
        }
        if threads == 0 || threads > THREADS_MAX {
            return fail(format!("{threads} threads must lie between 1 and {THREADS_MAX}"));
        }
        if block.0 * u64::from(depth) * u64::from(threads) > BUFFERS_MAX {
            return fail("block × depth × threads needs more than 1 GiB of buffers".to_string());
        }
        Ok(Self { threads, ..Self::plain(order, block, depth) })
    }

    /// One thread, one size, no pauses; nothing is checked.
    pub const fn plain(order: Order, block: Bytes, depth: u32) -> Self {
        Self { order, block, depth, threads: 1, split: None, think_us: 0 }
    }

    /// Requests of several sizes.
    pub fn with_split(self, split: SizeSplit) -> Result<Self, UnitError> {
        if self.order == Order::Seq {
            return Err(UnitError("requests in order have one size".to_string()));
        }
        for (block, _) in split.sizes() {
            Self::new(self.order, block, self.depth, self.threads)?;
        }
        Ok(Self { block: split.largest(), split: Some(split), ..self })
    }

    /// Requests with a pause after each.
    pub fn with_think(self, think_us: u32) -> Result<Self, UnitError> {
        if think_us > 0 && self.depth > 1 {
            return Err(UnitError("a thread that thinks between requests has depth 1".to_string()));
        }
        if think_us > THINK_MAX_US {
            return Err(UnitError("a thread thinks for half a second at most".to_string()));
        }
        Ok(Self { think_us, ..self })
    }

    /// One size, sent without pauses: what figures of drives are commonly of.
    pub fn is_plain(&self) -> bool {
        self.split.is_none() && self.think_us == 0
    }
    pub fn mean_block(&self) -> Bytes {
        self.split.map_or(self.block, |split| split.mean())
    }
    pub fn smallest_block(&self) -> Bytes {
        self.split.map_or(self.block, |split| split.smallest())
    }
}

/// `10ms`, or `250us`.
fn short_time(us: u32) -> String {
    if us.is_multiple_of(1_000) { format!("{}ms", us / 1_000) } else { format!("{us}us") }
}

fn short_time_us(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at(end);
    let unit_us = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        _ => return None,
    };
    digits.parse::<u32>().ok()?.checked_mul(unit_us).filter(|us| *us > 0)
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            Order::Seq => "seq",
            Order::Rnd => "rnd",
        };
        let size = self.split.map_or_else(|| self.block.short(), |split| split.to_string());
        write!(f, "{order}{size}_q{}t{}", self.depth, self.threads)?;
        if self.think_us > 0 { write!(f, "_think{}", short_time(self.think_us)) } else { Ok(()) }
    }
}

impl FromStr for Shape {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let reason = || UnitError(format!("'{text}' is not a cell; write it like rnd4k_q32t1"));
        let (order, rest) = if let Some(rest) = text.strip_prefix("seq") {
            (Order::Seq, rest)
        } else {
            (Order::Rnd, text.strip_prefix("rnd").ok_or_else(reason)?)
        };
        let (size, queue) = rest.split_once("_q").ok_or_else(reason)?;
        let (queue, think) = match queue.split_once("_think") {
            Some((queue, think)) => (queue, short_time_us(think).ok_or_else(reason)?),
            None => (queue, 0),
        };
        let split = if size.contains('-') { Some(size.parse::<SizeSplit>()?) } else { None };
        let block = match split {
            Some(split) => split.largest(),
            None => size.parse().map_err(|_| reason())?,
        };
        let (depth, threads) = queue.split_once('t').ok_or_else(reason)?;
        let depth = depth.parse().map_err(|_| reason())?;
        let plain = Self::new(order, block, depth, threads.parse().map_err(|_| reason())?)?;
        let shape = split.map_or(Ok(plain), |split| plain.with_split(split))?;
        shape.with_think(think)
    }
}

/// Written `rnd4k_q1t1.read`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell {
    pub shape: Shape,
    pub mix: Mix,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.shape, self.mix)
    }
}

impl FromStr for Cell {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (shape, mix) = text.split_once('.').ok_or_else(|| {
            UnitError(format!("'{text}' names no direction; write it like {text}.read"))
        })?;
        Ok(Self { shape: shape.parse()?, mix: mix.parse()? })
    }
}

macro_rules! serde_as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
serde_as_text!(Mix, Shape, Cell);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_cells_read_back() {
        for text in [
            "seq1m_q8t1.read",
            "rnd4k_q32t16.write",
            "seq128k_q32t1.mix70",
            "rnd512_q1t1.sync",
            "rnd512b20-4k60-64k20_q8t4.mix70",
            "rnd4k_q1t4_think10ms.read",
            "seq1m_q1t1_think250us.write",
            "rnd4k60-64k40_q1t1_think500ms.sync",
        ] {
            assert_eq!(text.parse::<Cell>().unwrap().to_string(), text);
        }
        assert!(Mix::SYNC.writes() && Mix::SYNC.read_percent() == 0);
    }

    #[test]
    fn wrong_cells_explain_the_error() {
        for (text, word) in [
            ("rnd4k_q32t1", "no direction"),
            ("foo4k_q1t1.read", "write it like"),
            ("rnd4k_q0t1.read", "depth"),
            ("rnd4k_q1t65.read", "threads"),
            ("rnd1_q1t1.read", "multiple of 512"),
            ("seq128m_q1t1.read", "at most 64 MiB"),
            ("seq64m_q1024t1.read", "buffers"),
            ("rnd4k_q1t1.mix101", "not possible"),
            ("rnd4k_q1t1.erase", "not read, write"),
            ("seq4k60-64k40_q1t1.read", "in order have one size"),
            ("rnd4k60-64k30_q1t1.read", "100 % together"),
            ("rnd1k60-128m40_q1t1.read", "at most 64 MiB"),
            ("rnd100b60-4k40_q1t1.read", "multiple of 512"),
            ("rnd4k_q2t1_think1ms.read", "depth 1"),
            ("rnd4k_q1t1_think1h.read", "write it like"),
            ("rnd4k_q1t1_think0ms.read", "write it like"),
            ("rnd4k_q1t1_think1s.read", "half a second"),
        ] {
            let error = text.parse::<Cell>().unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn every_legal_cell_reads_back(
            rnd: bool, sectors in 1u64..2000, depth in 1u32..=64, threads in 1u32..=16, reads in 0u8..=100,
        ) {
            let order = if rnd { Order::Rnd } else { Order::Seq };
            let shape = Shape::new(order, Bytes(sectors * 512), depth, threads).unwrap();
            let cell = Cell { shape, mix: Mix::new(reads).unwrap() };
            prop_assert_eq!(cell.to_string().parse::<Cell>().unwrap(), cell);
        }

        #[test]
        fn parsing_never_panics(text in ".{0,24}") {
            let _ = text.parse::<Cell>();
        }
    }
}
