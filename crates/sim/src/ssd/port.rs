//! The drive's end of the host link: one direction at a time, or both.

use super::flash::ns;
use super::params::PortParams;
use crate::device::{Nanos, whole_ns};
use crate::reservations::Reservations;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PortDirection {
    ToHost,
    FromHost,
}

#[derive(Debug, Clone)]
pub(super) struct Port {
    to_host: Reservations,
    /// Only with full duplex.
    from_host: Option<Reservations>,
    read_ns_per_byte: f64,
    write_ns_per_byte: f64,
    command: Nanos,
}

impl Port {
    /// The port; without parameters one that takes no time.
    pub(super) fn new(params: Option<&PortParams>) -> Self {
        Self {
            to_host: Reservations::default(),
            from_host: params.is_none_or(|port| port.full_duplex).then(Reservations::default),
            read_ns_per_byte: params.map_or(0.0, |port| 1000.0 / port.read_mb_s),
            write_ns_per_byte: params.map_or(0.0, |port| 1000.0 / port.write_mb_s),
            command: params.map_or(0, |port| ns(port.command_us)),
        }
    }

    /// How long `bytes` take, with or without the command itself.
    pub(super) fn duration(&self, bytes: u64, way: PortDirection, with_command: bool) -> Nanos {
        let ns_per_byte = match way {
            PortDirection::ToHost => self.read_ns_per_byte,
            PortDirection::FromHost => self.write_ns_per_byte,
        };
        let data = whole_ns(bytes as f64 * ns_per_byte);
        data + if with_command { self.command } else { 0 }
    }

    pub(super) fn carry(&mut self, now: Nanos, at: Nanos, way: PortDirection, len: Nanos) -> Nanos {
        if len == 0 {
            return at;
        }
        let line = match (&mut self.from_host, way) {
            (Some(line), PortDirection::FromHost) => line,
            _ => &mut self.to_host,
        };
        line.reserve(now, at, len) + len
    }
}
