//! Several scratch files as one address space: in a directory, a test of the whole free space needs more than one.

use drivescope_machine::extents::{FileExtent, extents};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

/// Addresses are laid out in these; requests must not cross their borders, so they are multiples of every request.
pub(crate) const PIECE: u64 = 1 << 20;

/// The files after the first, and which piece of them all lies where in the address space.
#[derive(Debug)]
pub(crate) struct JoinedFiles {
    rest: Vec<OwnedFd>,
    part_bytes: u64,
    /// In the order of their places on the drive, as far as the file system reports these: the end of the address space
    /// is then the end of the drive, where capacity is missing. Empty: in the order of the files.
    pieces: Vec<u32>,
}

impl JoinedFiles {
    pub fn new(
        first: BorrowedFd<'_>,
        rest: Vec<OwnedFd>,
        part_bytes: u64,
        size_bytes: u64,
    ) -> Self {
        let mut joined = Self { rest, part_bytes, pieces: Vec::new() };
        let files = joined.files(first, size_bytes);
        let places = files
            .iter()
            .map(|(fd, bytes)| places(&extents(*fd, false).unwrap_or_default(), *bytes));
        // A file without known places leaves all in the order of the files.
        let places: Option<Vec<Vec<u64>>> = places.collect();
        joined.pieces = places.map(|places| in_order(&places.concat())).unwrap_or_default();
        joined
    }

    pub fn files<'f>(
        &'f self,
        first: BorrowedFd<'f>,
        size_bytes: u64,
    ) -> Vec<(BorrowedFd<'f>, u64)> {
        let all = std::iter::once(first).chain(self.rest.iter().map(AsFd::as_fd));
        let starts = (0..size_bytes).step_by(self.part_bytes as usize);
        all.zip(starts).map(|(fd, at)| (fd, self.part_bytes.min(size_bytes - at))).collect()
    }

    pub fn place<'f>(&'f self, first: BorrowedFd<'f>, offset: u64) -> (BorrowedFd<'f>, u64) {
        let at = match self.pieces.get((offset / PIECE) as usize) {
            Some(piece) => u64::from(*piece) * PIECE + offset % PIECE,
            None => offset,
        };
        let fd = match (at / self.part_bytes) as usize {
            0 => first,
            number => self.rest[number - 1].as_fd(),
        };
        (fd, at % self.part_bytes)
    }
}

/// Where the pieces of a file begin on the drive; `None` where the place of one is unknown.
fn places(extents: &[FileExtent], bytes: u64) -> Option<Vec<u64>> {
    let mut extents = extents.iter().peekable();
    let place = |at: u64| {
        while extents.next_if(|extent| extent.offset + extent.len_bytes <= at).is_some() {}
        let extent = extents.peek().filter(|extent| extent.offset <= at)?;
        Some(extent.at_bytes? + (at - extent.offset))
    };
    (0..bytes).step_by(PIECE as usize).map(place).collect()
}

/// The numbers of the pieces, sorted by their places.
fn in_order(places: &[u64]) -> Vec<u32> {
    let mut pieces: Vec<u32> = (0..places.len() as u32).collect();
    pieces.sort_by_key(|piece| places[*piece as usize]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(offset: u64, at_bytes: Option<u64>, len_bytes: u64) -> FileExtent {
        FileExtent { offset: offset * PIECE, at_bytes, len_bytes: len_bytes * PIECE, shared: false }
    }

    #[test]
    fn pieces_are_sorted_by_their_place_on_the_drive() {
        let split = [extent(0, Some(50 * PIECE), 2), extent(2, Some(7 * PIECE), 1)];
        let found = places(&split, 3 * PIECE).unwrap();
        assert_eq!(found, [50 * PIECE, 51 * PIECE, 7 * PIECE]);
        assert_eq!(in_order(&found), [2, 0, 1]);
        assert_eq!(places(&split, 4 * PIECE), None, "the last piece has no place");
        assert_eq!(places(&[extent(0, None, 3)], 3 * PIECE), None, "the file system does not say");
    }

    #[test]
    fn every_byte_has_one_place() {
        let files: Vec<_> = (0..3).map(|_| tempfile::tempfile().unwrap()).collect();
        let rest = files[1..].iter().map(|file| file.try_clone().unwrap().into()).collect();
        let first = files[0].as_fd();
        let pieces = vec![4, 0, 3, 2, 1];
        let joined = JoinedFiles { rest, part_bytes: 2 * PIECE, pieces };
        let lengths: Vec<u64> =
            joined.files(first, 5 * PIECE).iter().map(|(_, bytes)| bytes / PIECE).collect();
        assert_eq!(lengths, [2, 2, 1]);
        let is_first = |(fd, at): (BorrowedFd<'_>, u64)| {
            (std::os::fd::AsRawFd::as_raw_fd(&fd) == std::os::fd::AsRawFd::as_raw_fd(&first), at)
        };
        assert_eq!(is_first(joined.place(first, 512)), (false, 512));
        assert_eq!(is_first(joined.place(first, PIECE + 512)), (true, 512));
        assert_eq!(is_first(joined.place(first, 4 * PIECE)), (true, PIECE));
        assert_eq!(is_first(joined.place(first, 2 * PIECE)), (false, PIECE));
    }
}
