//! The drive's end of the host link: one direction at a time, or both.

use super::params::PortParams;
use super::timeline::Timeline;
use crate::device::Nanos;

/// Which way data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    ToHost,
    FromHost,
}

/// The port's reservations.
#[derive(Debug, Clone)]
pub(super) struct Port {
    to_host: Timeline,
    /// Only with full duplex.
    from_host: Option<Timeline>,
    ns_per_byte: f64,
    command: Nanos,
}

impl Port {
    pub(super) fn new(params: &PortParams) -> Self {
        Self {
            to_host: Timeline::default(),
            from_host: params.full_duplex.then(Timeline::default),
            ns_per_byte: 1000.0 / params.payload_mb_s,
            command: super::flash::ns(params.command_us),
        }
    }

    /// How long `bytes` take, with or without the command itself.
    pub(super) fn duration(&self, bytes: u64, with_command: bool) -> Nanos {
        let data = (bytes as f64 * self.ns_per_byte).round() as Nanos;
        data + if with_command { self.command } else { 0 }
    }

    /// Occupies the port for `len` from `at` on; returns the end.
    pub(super) fn carry(&mut self, now: Nanos, at: Nanos, way: Way, len: Nanos) -> Nanos {
        let line = match (&mut self.from_host, way) {
            (Some(line), Way::FromHost) => line,
            _ => &mut self.to_host,
        };
        line.reserve(now, at, len) + len
    }
}
