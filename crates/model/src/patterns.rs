//! Where programs known from publications access a drive. Pure arithmetic on bytes: the tests that repeat them on a
//! drive and tests of simulated drives take their places from here, so that both send the same requests. What
//! CrystalDiskMark runs is [`crate::options::Preset`].

pub mod gnome_disks;
pub mod phybs;
