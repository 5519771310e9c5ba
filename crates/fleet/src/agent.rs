//! The agent of a host.
