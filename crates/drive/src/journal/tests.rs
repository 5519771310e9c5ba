//! Power cuts, damage, and drives that fail, below the whole protocol.

mod crash;
mod damage;
mod failing;
mod faults;
mod found;
mod medium;
mod syncs;
mod tail;
mod world;
