//! Options of the `surface` test.

use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How `surface` samples the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SurfacePreset {
    /// Our own: shuffled positions after an untimed lead-in, rounds in opposite orders.
    Sampled,
    /// GNOME Disks: positions in order, one page read untimed before each sample, accesses from
    /// GLib's generator with seed 42.
    GnomeDisks,
    /// bonnie++ zcav 1.03e: every block of the target in order, read in chunks.
    Zcav,
    /// Every byte once, in order: what cannot be read is named with its first and last byte, and an interrupted read
    /// can be resumed.
    Full,
    /// One place at random in each of many equal parts, as many as `time` is enough for: the result says how large a
    /// failing or slow region would have been seen, and with which confidence.
    Spread,
}

/// Whether `surface` also writes, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SurfaceWrite {
    /// What `--write` or `--destroy` allow: the same bytes, or fresh data. Without them nothing.
    Allowed,
    /// Nothing.
    No,
    /// Each stretch is read and the same bytes are written back, as GNOME Disks does.
    SameBytes,
    /// Fresh data; the contents are lost.
    Fresh,
}

/// Options of the `surface` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SurfaceOptions {
    /// How positions are chosen.
    pub preset: SurfacePreset,
    /// Number of positions (ignored by `zcav` and `full`, which visit all).
    pub samples: u32,
    /// Time for reads by position, all rounds together (`sampled` and `spread` only). `sampled`: three tenths of it for
    /// positions all over the drive, whose number follows from it, the rest where the rate falls. `spread`: nine tenths
    /// of it for the places, the rest for a second look. 0: as many positions as `samples` says, and with `sampled`
    /// once more as many where the rate falls.
    pub time: Secs,
    /// Where a full read begins, bytes from the start of the target (`full` only).
    pub from: Bytes,
    /// Bytes read at each position; the block of `zcav`; `full` ignores it.
    pub sample: Bytes,
    /// Bytes per request within a sample; the chunk of `zcav`; `full` ignores it.
    pub chunk: Bytes,
    /// Bytes read just before a sample, not timed (`sampled` and `spread` only).
    pub lead_in: Bytes,
    /// Random accesses for the access-time scatter.
    pub accesses: u32,
    /// Bytes per access.
    pub access_block: Bytes,
    /// Whether the same places are also written; `full` and `spread` only read.
    pub write: SurfaceWrite,
    /// Number of positions that are written (`sampled` only; the others write where they read).
    pub write_samples: u32,
    /// Bytes written at each of them: many, because their time includes a turn of the disk and the flush. If that is
    /// more than `sample` each, together at most a hundredth of the target.
    pub write_sample: Bytes,
}

impl Default for SurfaceOptions {
    fn default() -> Self {
        Self {
            preset: SurfacePreset::Sampled,
            samples: 64,
            time: Secs(0.0),
            from: Bytes(0),
            sample: Bytes::mib(8),
            chunk: Bytes::kib(256),
            lead_in: Bytes::mib(2),
            accesses: 300,
            access_block: Bytes::kib(4),
            write: SurfaceWrite::Allowed,
            write_samples: 32,
            write_sample: Bytes::mib(256),
        }
    }
}
