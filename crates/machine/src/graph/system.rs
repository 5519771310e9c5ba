//! What the running system cannot do without.

use super::{BlockGraph, Stack, fstab};
use crate::mounts::{Mount, mount_at};
use std::collections::BTreeSet;
use std::path::Path;

/// Places whose drives the running system cannot do without. The last three are bind mounts from
/// the host's drive in most containers, whose `/` is an overlay that names no device.
const SYSTEM_PLACES: [&str; 8] =
    ["/", "/boot", "/efi", "/esp", "/usr", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"];

/// What starts the machine may be mounted deeper (`/boot/efi`, a Raspberry Pi's `/boot/firmware`).
const BOOT: &str = "/boot";

fn is_system_place(place: &Path) -> bool {
    place.starts_with(BOOT) || SYSTEM_PLACES.iter().any(|known| Path::new(known) == place)
}

impl BlockGraph {
    /// The drives at the bottom of `/`, `/boot`, `/usr` and the swap areas, sorted; what the first
    /// process sees counts too, so that a container does not hide them.
    pub fn system_disks(&self) -> Vec<String> {
        let stacks = self.system_stacks().into_iter();
        stacks.flat_map(|stack| stack.whole_disks).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Every block device below what [`BlockGraph::system_disks`] looks at, from the top to the drives.
    pub fn system_devices(&self) -> BTreeSet<String> {
        self.system_stacks().into_iter().flat_map(|stack| stack.names).collect()
    }

    /// What lies below the system, as this process and the first one see it, and what is mounted for it on demand.
    fn system_stacks(&self) -> Vec<Stack> {
        let below = |table: &[Mount]| {
            let of_boot = table.iter().filter(|mount| mount.mount_point.starts_with(BOOT));
            let places = SYSTEM_PLACES.iter().filter_map(|place| mount_at(table, Path::new(place)));
            self.stack_of_all(table, places.chain(of_boot), &self.swap_areas)
        };
        let waiting = fstab::unmounted_devices(self, is_system_place);
        let waiting = waiting.iter().map(|name| self.stack_of_device(name)).collect::<Vec<_>>();
        [&self.mounts, &self.mounts_of_init]
            .into_iter()
            .map(|table| below(table))
            .chain(waiting)
            .collect()
    }
}
