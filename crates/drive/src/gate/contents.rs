//! What is on the device: signatures at the head and tail of it and of each partition, and whether a
//! sample of it is blank.

use super::checks::{ok, refused, unknown};
use drivescope_machine::graph::BlockGraph;
use drivescope_machine::list::signatures;
use drivescope_model::gate::Check;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The sample: pieces spread from the first byte to the last, their size in bytes, and the boundary
/// they begin at.
const PIECES: u64 = 64;
const PIECE_BYTES: u64 = 64 * 1024;
const PIECE_BOUNDARY: u64 = 4096;
/// What is read without a gap at both ends, where formats that are not known here keep what they are known by.
const HEAD_BYTES: u64 = 2 << 20;
const TAIL_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct DeviceContents {
    /// `sda1: ext4 at byte 1080`, one for each signature.
    pub signatures: Vec<String>,
    /// What could not be read, so that its contents are unknown.
    pub unread: Option<String>,
    /// Offset of the first sampled byte that is neither 00 nor FF.
    pub data_at: Option<u64>,
    pub pieces: u64,
}

impl DeviceContents {
    /// Whether nothing would be lost as far as anyone can see without reading everything.
    pub fn is_blank(&self) -> bool {
        self.signatures.is_empty() && self.unread.is_none() && self.data_at.is_none()
    }
}

/// Looks at the device `name` of `size_bytes` through `source`. Reads less than 1 MiB for each
/// partition and 7 MiB for the sample.
pub(super) fn look(
    graph: &BlockGraph,
    name: &str,
    source: &File,
    size_bytes: u64,
) -> DeviceContents {
    let mut contents = DeviceContents::default();
    let mut part = |name: &str, start: u64, size: u64| {
        let look = signatures::all(source, start, size);
        let found = look.found.iter().map(|s| format!("{name}: {} at byte {}", s.kind, s.at));
        contents.signatures.extend(found);
        if let (Some((at, why)), None) = (look.unread, &contents.unread) {
            contents.unread = Some(format!("{name} cannot be read at byte {at}: {why}"));
        }
    };
    for (name, start, size) in parts(graph, name, size_bytes) {
        part(&name, start, size);
    }
    match sample(source, size_bytes) {
        Ok((pieces, data_at)) => (contents.pieces, contents.data_at) = (pieces, data_at),
        Err((at, why)) => {
            contents.unread.get_or_insert(format!("{name} cannot be read at byte {at}: {why}"));
        }
    }
    contents
}

/// The device `name` of `size_bytes` and its partitions: kernel name, first byte and bytes of each.
pub(super) fn parts(graph: &BlockGraph, name: &str, size_bytes: u64) -> Vec<(String, u64, u64)> {
    let part = |name: String| {
        let span = graph.span(&name);
        let (start, size) = (span.start, span.end - span.start);
        (start < size_bytes).then(|| (name, start, size.min(size_bytes - start)))
    };
    let within = graph.partitions(name).into_iter().filter_map(part);
    std::iter::once((name.to_string(), 0, size_bytes)).chain(within).collect()
}

/// Pieces spread over the device, and where the first piece that is not blank begins, head and tail included.
/// A piece is blank when all its bytes are 00, or all FF: what flash and formatting leave.
fn sample(source: &File, size_bytes: u64) -> Result<(u64, Option<u64>), (u64, io::Error)> {
    let pieces = size_bytes.div_ceil(PIECE_BYTES).min(PIECES);
    let blank = [[0x00u8; PIECE_BYTES as usize], [0xFF; PIECE_BYTES as usize]];
    let mut piece = [0u8; PIECE_BYTES as usize];
    for at in unbroken(size_bytes).chain(spread(size_bytes, pieces)) {
        let length = PIECE_BYTES.min(size_bytes - at) as usize;
        source.read_exact_at(&mut piece[..length], at).map_err(|why| (at, why))?;
        if !blank.iter().any(|fill| fill[..length] == piece[..length]) {
            return Ok((pieces, Some(at)));
        }
    }
    Ok((pieces, None))
}

/// Where pieces begin that cover head and tail without a gap.
fn unbroken(size_bytes: u64) -> impl Iterator<Item = u64> {
    let of = |range: Range<u64>| range.step_by(PIECE_BYTES as usize);
    of(0..HEAD_BYTES.min(size_bytes)).chain(of(size_bytes.saturating_sub(TAIL_BYTES)..size_bytes))
}

/// Where `pieces` begin that are spread from the first byte to the last.
fn spread(size_bytes: u64, pieces: u64) -> impl Iterator<Item = u64> {
    let last = size_bytes.saturating_sub(PIECE_BYTES);
    (0..pieces).map(move |piece| {
        let spread = u128::from(last) * u128::from(piece) / u128::from((pieces - 1).max(1));
        let spread = u64::try_from(spread).unwrap_or(last);
        // The last piece ends with the device, wherever that is.
        if spread == last { last } else { spread / PIECE_BOUNDARY * PIECE_BOUNDARY }
    })
}

/// The checks `signatures` and `blankness`: they refuse if contents are in danger and the user does not consent to lose
/// them.
pub(super) fn check(contents: &DeviceContents, node: &Path, consents: bool) -> Vec<Check> {
    let node = node.display();
    let wipefs = format!("wipefs --no-act {node}; lsblk --fs {node}");
    let list = contents.signatures.join("; ");
    let signatures = match (contents.signatures.is_empty(), &contents.unread) {
        (false, _) if consents => ok("signatures", list),
        (false, _) => refused("signatures", list, &wipefs),
        (true, Some(unread)) if consents => unknown("signatures", unread, &wipefs),
        (true, Some(unread)) => refused("signatures", unread, &wipefs),
        (true, None) => ok("signatures", "none at head and tail of the device and its partitions"),
    };
    let pieces =
        format!("2 MiB at the head, 1 MiB at the tail and {} samples of 64 KiB", contents.pieces);
    let blankness = match contents.data_at {
        Some(at) => {
            let evidence = format!("unknown data at byte {at}: not treated as empty");
            let command = format!("hexdump -C -s {at} -n 512 {node}");
            if consents {
                ok("blankness", evidence)
            } else {
                refused("blankness", evidence, &command)
            }
        }
        None if contents.pieces == 0 => unknown("blankness", "could not be sampled", &wipefs),
        None => ok("blankness", format!("{pieces} between are all 00 or all FF")),
    };
    vec![signatures, blankness]
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_machine::roots::fake::{Fake, image};
    use drivescope_model::gate::Outcome;

    fn contents(size: u64, parts: &[(u64, &[u8])]) -> DeviceContents {
        look(&BlockGraph::read(&Fake::new().roots), "sda", &image(size, parts), size)
    }

    #[test]
    fn zeroes_and_ones_are_blank_whatever_the_size() {
        for size in [1u64, 511, 4096, 65536, 65537, 1 << 20, (1 << 30) + 512] {
            let blank = contents(size, &[]);
            assert!(blank.is_blank() && blank.pieces > 0, "{size}: {blank:?}");
        }
        let ones = vec![0xFF; 1 << 20];
        assert!(contents(1 << 20, &[(0, &ones)]).is_blank());
        assert!(!contents(1 << 20, &[(0, &ones[..1000])]).is_blank(), "a mixed piece");
    }

    #[test]
    fn any_byte_within_the_sample_is_data() {
        const SIZE: u64 = 1 << 30;
        for at in [0, 65535, 65536 + 1372, (2 << 20) - 1, SIZE - (1 << 20), SIZE - 65537, SIZE - 1]
        {
            let found = contents(SIZE, &[(at, b"x")]);
            assert!(
                found.data_at.is_some_and(|piece| (piece..piece + 65536).contains(&at)),
                "{at}"
            );
        }
        for at in (0..2 << 20).chain(SIZE - (1 << 20)..SIZE).step_by(65521) {
            assert!(contents(SIZE, &[(at, b"x")]).data_at.is_some(), "{at}");
        }
        // A device of at most 4 MiB is read from end to end.
        for at in (0..4 << 20).step_by(65521) {
            assert!(contents(4 << 20, &[(at, b"x")]).data_at.is_some(), "{at}");
        }
    }

    #[test]
    fn unreadable_device_is_not_blank() {
        let found = look(&BlockGraph::read(&Fake::new().roots), "sda", &image(4096, &[]), 8192);
        assert!(!found.is_blank());
        let refuses = |consents| {
            let checks = check(&found, Path::new("/dev/sda"), consents);
            checks.iter().filter(|check| check.outcome == Outcome::Refused).count()
        };
        assert_eq!((refuses(false), refuses(true)), (1, 0));
    }
}
