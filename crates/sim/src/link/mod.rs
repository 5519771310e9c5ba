//! The link between host and drive: SATA, NVMe over PCIe, and USB bridges (bulk-only and UAS).
//!
//! [`Link`] wraps a drive and is a device itself. Each command passes these stages, and commands overlap
//! wherever the protocol lets them:
//!
//! ```text
//! waiting → controller (serial) → [write: data to the drive] → drive → [read: data to the host] → status
//! ```
//!
//! * The *controller* (host adapter, or a bridge's firmware) starts one command at a time, so `command_us`
//!   bounds the commands per second. `latency_us` is added to each command but overlaps freely.
//! * *Data* crosses in frames; each frame carries `frame_payload_bytes` and costs `frame_overhead_bytes`
//!   more. A half-duplex link carries one direction at a time.
//! * A drive gets a write after its last byte has crossed, and a read's data starts to cross when the drive
//!   has all of it (store and forward, as bridges do).
//! * `queue_depth` commands at most are with the drive; the rest wait in the host in order of arrival. One
//!   tag is one command: with a depth of 1 (bulk-only) nothing overlaps.
//! * Commands that cannot be queued (SATA's FLUSH CACHE and DATA SET MANAGEMENT) wait for all queued ones
//!   and hold back all later ones.
//! * A request above `max_transfer_bytes` is split; it is done when its last part is.
//!
//! [`params`] holds the parameters and typical links, [`identity`] what the host is told about the drive.
//!
//! Not modelled: transmission errors and retries, link power states, cut-through bridges, and arbitration
//! between other devices on the same bus. A hard disk's own interface rate is a parameter of the hard disk
//! too: set one of both high, or both are paid one after the other.

pub(crate) mod agenda;
pub mod identity;
mod layer;
pub mod params;
pub(crate) mod slots;
mod streaming;
mod wire;

pub use identity::{Bridge, Identity, Transport};
pub use layer::Link;
pub use params::{LinkKind, LinkParams, LinkProblem, NonData};

#[cfg(test)]
pub(crate) mod test_device;
#[cfg(test)]
mod tests;
