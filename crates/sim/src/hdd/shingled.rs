//! How a shingled drive writes: appends to the persistent cache, streams into bands, cleaning.

use crate::device::Nanos;
use crate::hdd::disk::HardDisk;

/// A write of at least this much that begins a band counts as the start of a sequential stream, which
/// needs no detour through the persistent cache.
const STREAM_BYTES: u64 = 1 << 20;

impl HardDisk {
    /// Writes cached data: a stream straight to its bands, everything else as one append to the log.
    pub(super) fn destage_shingled(&mut self, at: Nanos) -> Nanos {
        let physical = self.sizes.physical;
        let head = self.mechanism.next_sector() * physical;
        let mut batch: Vec<(u64, u64)> = Vec::new();
        let mut sectors = 0;
        let stretches: Vec<(u64, u64)> = self.write_cache.ascending_from(head).collect();
        for (from, to) in stretches {
            let (first, behind) = (from / physical, to.div_ceil(physical));
            if self.is_stream(first, behind) {
                if batch.is_empty() {
                    let behind = behind.min(self.mechanism.layout().next_track(first));
                    self.write_cache.start(from, to.min(behind * physical));
                    return self.append_or_stream(at, &[(first, behind)]);
                }
                break;
            }
            let room = self.sizes.append_sectors.saturating_sub(sectors);
            if room == 0 || batch.len() >= self.sizes.append_extents {
                break;
            }
            let behind = behind.min(first + room);
            self.write_cache.start(from, to.min(behind * physical));
            batch.push((first, behind));
            sectors += behind - first;
        }
        self.append_or_stream(at, &batch)
    }

    fn is_stream(&self, first: u64, behind: u64) -> bool {
        let least = STREAM_BYTES / self.sizes.physical;
        self.shingles.as_ref().is_some_and(|s| s.takes_direct(first, behind, least))
    }

    /// Writes home sectors where they belong now; makes room by cleaning first where the log is full.
    pub(super) fn append_or_stream(&mut self, at: Nanos, pieces: &[(u64, u64)]) -> Nanos {
        if let [(from, to)] = *pieces
            && self.is_stream(from, to)
        {
            if let Some(shingles) = &mut self.shingles {
                shingles.write_direct(from, to);
            }
            return self.write_medium(at, from, to - from);
        }
        let total: u64 = pieces.iter().map(|(from, to)| to - from).sum();
        let mut at = at;
        while self.shingles.as_ref().is_some_and(|s| !s.has_room(total, pieces.len() + 1)) {
            let Some(end) = self.clean_one(at) else {
                break;
            };
            at = end;
        }
        let Some(shingles) = &mut self.shingles else {
            return at;
        };
        let place = shingles.log_place(total);
        let mut next = place;
        for &(from, to) in pieces {
            shingles.append(from, to, next);
            next += to - from;
        }
        // also behind the last append, so that each takes about a turn
        self.mechanism.access_not_before(at, self.write_from, place, total, true)
    }

    /// Cleans one band while the drive is otherwise idle.
    pub(super) fn clean_band(&mut self, at: Nanos) {
        self.stop_read_ahead(at);
        let at = at.max(self.mechanism_free);
        if let Some(end) = self.clean_one(at) {
            self.mechanism_free = end;
        }
    }

    /// Reads what the log has of the oldest band, reads the band, and writes it back merged.
    fn clean_one(&mut self, at: Nanos) -> Option<Nanos> {
        let medium_end = self.mechanism.layout().sectors();
        let (logged, band) = self.shingles.as_mut()?.clean_next(medium_end)?;
        let mut end = at;
        if let Some(piece) = logged {
            end = self.mechanism.access(end, piece.sector, piece.count, false);
        }
        end = self.mechanism.access(end, band.sector, band.count, false);
        end = self.write_medium(end, band.sector, band.count);
        self.write_from = end + self.gap(self.times.gap);
        Some(end)
    }
}
