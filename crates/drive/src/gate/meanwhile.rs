//! What may begin while a claim lasts: the claim of a loop device does not keep others from its file, so somebody
//! can show that by another one and mount it in the middle of a test.

use super::give_back::shown_use_of;
use super::raw_disk::{RawDisk, WriteError};
use crate::roots::{Roots, list_dir, read_text};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

impl RawDisk {
    /// A look now and then while a test writes, cheap as long as no file system, swap area or device of this
    /// machine has come or gone: an error if somebody uses the device by now, or another medium lies in it. New
    /// ways to its bytes that nobody uses yet are claimed too.
    pub fn still_free(&self) -> Result<(), WriteError> {
        self.same_medium()?;
        let now = signs(self.roots());
        if self.seen().replace(now) {
            return Ok(());
        }
        shown_use_of(self).map_or(Ok(()), |why| {
            self.seen().forget();
            Err(WriteError::InUse { why })
        })
    }
}

/// What changes when something of this machine is put to use.
fn signs(roots: &Roots) -> u64 {
    let mut signs = DefaultHasher::new();
    for table in ["self/mountinfo", "swaps"] {
        std::fs::read(roots.proc.join(table)).ok().hash(&mut signs);
    }
    for name in list_dir(&roots.sys.join("block")) {
        let file = read_text(roots.sys.join("block").join(&name).join("loop/backing_file"));
        (name, file).hash(&mut signs);
    }
    signs.finish()
}

/// The signs that were seen last.
#[derive(Debug, Default)]
pub(super) struct Seen(std::sync::Mutex<Option<u64>>);

impl Seen {
    /// Keeps these; whether they are what was seen before.
    fn replace(&self, now: u64) -> bool {
        self.set(Some(now)) == Some(now)
    }

    /// The next look is a whole one.
    fn forget(&self) {
        self.set(None);
    }

    fn set(&self, signs: Option<u64>) -> Option<u64> {
        let mut kept = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::replace(&mut *kept, signs)
    }
}
