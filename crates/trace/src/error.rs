//! Why a trace cannot be read or written.

use std::io;

/// An error of a trace, with the place and the remedy. Callers put the name of the file before it.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("cannot be read: {0}")]
    Read(io::Error),
    #[error("cannot be written: {0}")]
    Write(io::Error),
    #[error(
        "is no trace that drivescope knows ({0}); known are its own, fio iolog 2 and 3, blkparse text, blktrace \
         binary, and CSV of MSR Cambridge, SYSTOR '17, Alibaba, Tencent and SPC"
    )]
    Unknown(String),
    #[error("line {line}: {reason}")]
    Line {
        /// Which, from 1.
        line: u64,
        reason: String,
    },
    #[error("record {record}: {reason}")]
    Record {
        /// Which, from 1.
        record: u64,
        reason: String,
    },
    #[error("ends at byte {at}, within {within}: it is cut off; copy or record it again")]
    Truncated { at: u64, within: &'static str },
    #[error("is damaged at byte {at}: {reason}; copy or record it again")]
    Damaged { at: u64, reason: &'static str },
    #[error("has trace format {0}, and this program reads format 1; use a newer drivescope")]
    Version(u32),
    #[error("holds no requests")]
    Empty,
    #[error("{0}")]
    Unsuitable(String),
}

impl TraceError {
    /// Whether it names a line or record, which follows the name of the file and a colon.
    pub fn is_of_a_line(&self) -> bool {
        matches!(self, Self::Line { .. } | Self::Record { .. })
    }
}
