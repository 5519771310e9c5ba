//! What others wrote before and the kernel still keeps in memory. A disk and its partitions have a memory each, so
//! that of one may go to the drive over what a test has just saved, written or put back by way of another.

use super::checks::{Use, unknown, uses};
use super::family::Family;
use super::kernel::{Access, Kernel};
use crate::roots::Roots;
use drivescope_model::gate::Check;
use rustix::io::Errno;

/// The check `flushed`, made through the claim only: nobody writes any more, and a look changes nothing.
pub(super) fn check(kernel: &dyn Kernel, roots: &Roots, family: &Family) -> Vec<Check> {
    let (mut failed, mut closed) = (Vec::new(), Vec::new());
    for name in family.same.iter().chain(&family.twins) {
        let node = roots.node(name);
        match kernel.open(&node, Access::Read) {
            Ok(file) => {
                if let Err(error) = file.sync_data() {
                    let evidence =
                        format!("what was written to {name} before is not on it: {error}");
                    failed.push(Use::new(evidence, format!("dmesg; sync {}", node.display())));
                }
            }
            // Nothing behind it, and nothing kept of it.
            Err(Errno::NXIO | Errno::NOMEDIUM) => {}
            Err(_) => closed.push(name.as_str()),
        }
    }
    if failed.is_empty() && !closed.is_empty() {
        let evidence = format!("{} cannot be opened from here", closed.join(", "));
        return vec![unknown("flushed", evidence, "sync")];
    }
    uses("flushed", failed, "what was written to it before is on it")
}
