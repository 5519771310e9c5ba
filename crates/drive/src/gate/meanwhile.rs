//! What may begin while a claim lasts: the claim of a loop device does not keep others from its file, so somebody
//! can show that by another one and mount it in the middle of a test.

use super::exports;
use super::give_back::shown_use_of;
use super::raw_disk::{RawDisk, WriteError};
use drivescope_machine::roots::{Roots, list_dir, read_text};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

impl RawDisk {
    /// A look now and then while a test writes, and before each piece of what goes back; cheap as long as no file
    /// system, swap area or device of this machine has come or gone: an error if somebody uses the device by now,
    /// or another medium lies in it. New ways to its bytes that nobody uses yet are claimed too.
    pub fn still_free(&self) -> Result<(), WriteError> {
        self.same_medium()?;
        let is_as_before = self.seen().replace(signs(self.roots()));
        let why = if is_as_before { None } else { shown_use_of(self) };
        self.seen().count(!is_as_before, why.is_some());
        why.map_or(Ok(()), |why| {
            self.seen().forget();
            Err(WriteError::InUse { why })
        })
    }

    /// The looks since the claim.
    pub fn looks(&self) -> Looks {
        self.seen().lock().looks.clone()
    }
}

/// What changes when something of this machine is put to use.
fn signs(roots: &Roots) -> u64 {
    let mut signs = DefaultHasher::new();
    for table in ["self/mountinfo", "swaps"] {
        std::fs::read(roots.proc.join(table)).ok().hash(&mut signs);
    }
    for name in list_dir(&roots.sys.join("block")) {
        let dir = roots.sys.join("block").join(&name);
        let told =
            ["loop/backing_file", "loop/offset", "diskseq"].map(|it| read_text(dir.join(it)));
        (name, told).hash(&mut signs);
    }
    exports::places(roots).hash(&mut signs);
    signs.finish()
}

/// How often a claimed device was looked at while it could be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looks {
    /// All of them.
    pub made: u64,
    /// Those at everybody who may use it: something of the machine had changed since the one before.
    pub whole: u64,
    /// When the last one was, since the claim.
    pub last: Duration,
    /// Whether the last one found somebody.
    pub refused: bool,
}

/// What the looks saw.
#[derive(Debug)]
pub(super) struct Seen {
    begun: Instant,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The signs at the last one; none when the next is to be a whole one.
    signs: Option<u64>,
    looks: Looks,
}

impl Default for Seen {
    fn default() -> Self {
        Self { begun: Instant::now(), inner: Mutex::default() }
    }
}

impl Seen {
    /// Keeps these signs; whether they are what was seen before.
    fn replace(&self, now: u64) -> bool {
        self.lock().signs.replace(now) == Some(now)
    }

    /// The next look is a whole one.
    fn forget(&self) {
        self.lock().signs = None;
    }

    /// Counts a look.
    pub(super) fn count(&self, is_whole: bool, refused: bool) {
        let looks = &mut self.lock().looks;
        looks.made += 1;
        looks.whole += u64::from(is_whole);
        (looks.last, looks.refused) = (self.begun.elapsed(), refused);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
