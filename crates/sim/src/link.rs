//! The link between host and drive: SATA, NVMe over PCIe, and USB bridges (bulk-only and UAS).
//!
//! [`LinkLayer`] wraps a drive and is a device itself. Each command passes these stages, and commands overlap
//! wherever the protocol lets them:
//!
//! ```text
//! waiting → controller (serial) → drive, which moves the data → status
//! ```
//!
//! * The *controller* (host adapter, or a bridge's firmware) starts one command at a time, so `command_us`
//!   bounds the commands per second. `latency_us` is added to each command but overlaps freely.
//! * *Data* passes through as the drive's port moves it: SATA and NVMe have no memory between the two ends,
//!   and a bridge only a few frames. So the time of the data is paid once, in the drive, whose port is built
//!   to run no faster than the link's payload rate ([`Model::build`](crate::library::Model::build)).
//! * `queue_depth` commands at most are with the drive; the rest wait in the host in order of arrival. One
//!   tag is one command: with a depth of 1 (bulk-only) nothing overlaps.
//! * Commands that cannot be queued (SATA's FLUSH CACHE and DATA SET MANAGEMENT) wait for all queued ones
//!   and hold back all later ones.
//! * A request above `max_transfer_bytes` is split; it is done when its last part is.
//!
//! [`params`] holds the parameters, typical links and their form in a file, [`identity`] what the drive reports
//! to the host.
//!
//! Not modelled: transmission errors and retries, link power states, and arbitration between other devices
//! on the same bus.

pub mod identity;
mod layer;
pub mod params;

pub use identity::{Bridge, ModelIdentity};
pub use layer::LinkLayer;
pub use params::{LinkKind, LinkParams, NonData};

#[cfg(test)]
mod tests;
