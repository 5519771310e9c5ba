//! A device that the gate has claimed, as the journal sees it.

use super::{Disk, DriveIdentity, NotReady};
use crate::gate::{self, RawDisk, WriteError};
use std::io;

/// A claimed device as the journal sees it. The gate opens devices for writing past the page cache only.
pub(super) struct ClaimedDisk<'d> {
    pub(super) disk: &'d RawDisk,
    pub(super) identity: &'d DriveIdentity,
}

impl Disk for ClaimedDisk<'_> {
    fn identity(&self) -> &DriveIdentity {
        self.identity
    }

    fn sector_bytes(&self) -> u32 {
        self.disk.device().logical_sector_bytes
    }

    fn physical_sector_bytes(&self) -> u32 {
        self.disk.device().physical_sector_bytes
    }

    fn ready(&mut self) -> Result<(), NotReady> {
        self.disk.ready().map_err(|changed| NotReady::from(changed.to_string()))?;
        NotReady::of(&gate::checks_of_use(self.disk)).map_or(Ok(()), Err)
    }

    fn still_free(&mut self) -> Result<(), String> {
        match self.disk.still_free() {
            Err(WriteError::InUse { why }) => Err(why),
            // The write reports a changed medium.
            _ => Ok(()),
        }
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.disk.read_at(buffer, offset).map_err(cause)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.put_back(bytes, offset).map_err(cause)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.sync().map_err(cause)
    }

    fn drop_cache(&mut self) -> io::Result<()> {
        // Our own reads come from the drive; those of others may not.
        gate::drop_caches(self.disk);
        Ok(())
    }
}

/// What the kernel said: the journal names drive and place itself.
fn cause(error: WriteError) -> io::Error {
    match error {
        WriteError::Io { source, .. } => source,
        refused => io::Error::other(refused.to_string()),
    }
}
