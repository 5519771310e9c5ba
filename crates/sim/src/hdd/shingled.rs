//! How a shingled drive writes: appends to the persistent cache, streams into bands, cleaning.

use crate::device::Nanos;
use crate::hdd::disk::HardDisk;
use crate::hdd::smr::MediumRange;
use crate::hdd::writing::Chosen;

/// A write of at least this much that begins a band counts as the start of a sequential stream, which
/// needs no detour through the persistent cache.
const STREAM_BYTES: u64 = 1 << 20;

impl HardDisk {
    /// Writes cached data: a stream straight to its bands, everything else as one append to the log.
    pub(super) fn destage_shingled(&mut self, at: Nanos) -> Nanos {
        let physical = self.sizes.physical;
        let head = self.mechanism.next_sector() * physical;
        let mut batch: Vec<Chosen> = Vec::new();
        let mut sectors = 0;
        let stretches: Vec<(u64, u64)> = self.write_cache.ascending_from(head).collect();
        for (from, to) in stretches {
            let (first, behind) = (from / physical, to.div_ceil(physical));
            let up_to = |behind: u64| Chosen {
                from,
                to: to.min(behind * physical),
                first,
                count: behind - first,
            };
            if self.is_stream(first, behind) {
                if batch.is_empty() {
                    let chosen = up_to(behind.min(self.mechanism.layout().next_track(first)));
                    self.write_cache.start(chosen.from, chosen.to);
                    let delay = self.delay_at_home(first, first + chosen.count);
                    return self.append_or_stream(at, &[chosen]) + delay;
                }
                break;
            }
            let room = self.sizes.append_sectors.saturating_sub(sectors);
            if room == 0 || batch.len() >= self.sizes.append_extents {
                break;
            }
            let chosen = up_to(behind.min(first + room));
            self.write_cache.start(chosen.from, chosen.to);
            sectors += chosen.count;
            batch.push(chosen);
        }
        self.append_or_stream(at, &batch)
    }

    fn delay_at_home(&self, first: u64, behind: u64) -> Nanos {
        let (from, to) = (self.host_byte(first), self.host_byte(behind));
        self.faults.effect(from, to, self.mechanism.rotation().period()).delay
    }

    fn is_stream(&self, first: u64, behind: u64) -> bool {
        let least = STREAM_BYTES / self.sizes.physical;
        self.shingles.as_ref().is_some_and(|s| s.takes_direct(first, behind, least))
    }

    /// Writes stretches where they belong now: a stream into its bands; others to the log, for which what they
    /// cover of a sector only in part is read first, and room made by cleaning where it is full.
    pub(super) fn append_or_stream(&mut self, at: Nanos, stretches: &[Chosen]) -> Nanos {
        if let [Chosen { first, count, .. }] = *stretches
            && self.is_stream(first, first + count)
        {
            if let Some(shingles) = &mut self.shingles {
                shingles.write_direct(first, first + count);
            }
            return self.write_medium(at, first, count);
        }
        let total: u64 = stretches.iter().map(|stretch| stretch.count).sum();
        let mut at = self.read_partial_ends(at, stretches);
        while self.shingles.as_ref().is_some_and(|s| !s.has_room(total, stretches.len() + 1)) {
            let Some(end) = self.clean_one(at) else { break };
            at = end;
        }
        let Some(shingles) = &mut self.shingles else { return at };
        let place = shingles.log_place(total);
        let mut next = place;
        for stretch in stretches {
            shingles.append(stretch.first, stretch.first + stretch.count, next);
            next += stretch.count;
        }
        // also after the last append, so that each takes about a turn
        self.mechanism.access_not_before(at, self.write_from, place, total, true)
    }

    /// Reads the sectors that stretches cover only in part, wherever they are; returns when the last one is there.
    fn read_partial_ends(&mut self, at: Nanos, stretches: &[Chosen]) -> Nanos {
        let ends = stretches.iter().flat_map(|stretch| self.partial_ends(stretch)).flatten();
        let pieces: Vec<MediumRange> = match &self.shingles {
            Some(shingles) => ends.flat_map(|(s, count)| shingles.resolve(s, s + count)).collect(),
            None => Vec::new(),
        };
        pieces.iter().fold(at, |at, p| self.mechanism.access(at, p.sector, p.count, false))
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
