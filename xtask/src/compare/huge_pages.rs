//! Huge pages for fio's buffers, reserved for the length of the comparison.

const NUMBER: &str = "/proc/sys/vm/nr_hugepages";
/// Enough for the deepest cell of large requests (8 MiB), with room to spare.
const WANTED: u64 = 32;

/// A reservation; given back when dropped.
pub struct HugePages {
    before: u64,
}

impl HugePages {
    /// Reserves pages on top of those there are. Needs root.
    pub fn reserve() -> Result<Self, String> {
        let before = read().ok_or("this kernel has no huge pages")?;
        std::fs::write(NUMBER, (before + WANTED).to_string())
            .map_err(|e| format!("cannot reserve huge pages (root only): {e}"))?;
        let reserved = Self { before };
        match read() {
            Some(now) if now >= before + WANTED => Ok(reserved),
            _ => Err("memory is too fragmented for huge pages".to_string()),
        }
    }
}

fn read() -> Option<u64> {
    std::fs::read_to_string(NUMBER).ok()?.trim().parse().ok()
}

impl Drop for HugePages {
    fn drop(&mut self) {
        // A failure cannot be reported here; the number is visible in /proc/meminfo.
        let _ = std::fs::write(NUMBER, self.before.to_string());
    }
}
