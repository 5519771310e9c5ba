//! Whether what was synced to a file system is on its disk.

use crate::mounts::Mount;

/// Why a sync there is not durable: a mount option keeps the file system from waiting for its disk or server.
pub(super) fn lost_syncs(mount: &Mount) -> Option<String> {
    const OPTIONS: [(&str, &str); 7] = [
        ("volatile", ""),
        ("fsync", "volatile"),
        ("nobarrier", ""),
        ("barrier", "0"),
        ("fsync_mode", "nobarrier"),
        ("nostrictsync", ""),
        ("journal_flush_disabled", ""),
    ];
    let (key, value) =
        OPTIONS.iter().find(|(key, value)| mount.option(key).as_deref() == Some(*value))?;
    let option = if value.is_empty() { key.to_string() } else { format!("{key}={value}") };
    let point = mount.mount_point.display();
    Some(format!("{point} is mounted with {option}, so a power cut may lose synced data"))
}
