//! The places of fields in block events, from the kernel's file `format` of each.

use super::instance::TraceInstance;
use crate::error::TraceError;

/// Longest letters and names that the kernel keeps.
const LETTERS_MAX: usize = 16;
const NAME_MAX: usize = 16;

/// The description of a request in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawKind {
    /// It is issued to the drive.
    Issue,
    /// The drive did not take it: it goes back to the queue.
    Requeue,
    Complete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawEvent {
    /// Time on the monotonic clock.
    pub at_ns: u64,
    pub kind: RawKind,
    /// Where, in units of 512 bytes.
    pub sector: u64,
    pub sectors: u32,
    /// A completion with an error.
    pub failed: bool,
    letters: [u8; LETTERS_MAX],
    name: [u8; NAME_MAX],
}

impl RawEvent {
    /// For tests: a request of 4 KiB with these letters.
    #[cfg(test)]
    pub fn with_letters(text: &str) -> Self {
        let mut letters = [0; LETTERS_MAX];
        letters[..text.len()].copy_from_slice(text.as_bytes());
        let (kind, name) = (RawKind::Issue, [0; NAME_MAX]);
        Self { at_ns: 0, kind, sector: 8, sectors: 8, failed: false, letters, name }
    }

    /// Letters that tell the kind of request: `WS`, `FF`.
    pub fn letters(&self) -> &str {
        until_nul(&self.letters)
    }

    pub fn name(&self) -> &str {
        until_nul(&self.name)
    }
}

/// The text before the first NUL; if it is not UTF-8, the part that is.
fn until_nul(bytes: &[u8]) -> &str {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    fn bytes(self, event: &[u8]) -> Option<&[u8]> {
        event.get(self.offset..self.offset + self.size)
    }

    /// An integer of at most eight bytes, in the order of this machine.
    fn number(self, event: &[u8]) -> Option<u64> {
        let bytes = self.bytes(event)?;
        let mut wide = [0; 8];
        let room = if cfg!(target_endian = "little") {
            wide.get_mut(..bytes.len())?
        } else {
            wide.get_mut(8usize.checked_sub(bytes.len())?..)?
        };
        room.copy_from_slice(bytes);
        Some(u64::from_ne_bytes(wide))
    }

    fn copy<const N: usize>(self, event: &[u8]) -> Option<[u8; N]> {
        let mut copied = [0; N];
        let bytes = self.bytes(event)?;
        let len = bytes.len().min(N);
        copied[..len].copy_from_slice(&bytes[..len]);
        Some(copied)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EventLayout {
    id: u64,
    sector: Field,
    sectors: Field,
    letters: Field,
    name: Option<Field>,
    error: Option<Field>,
}

impl EventLayout {
    /// From the text of `format`. `None`: a field is missing.
    fn parse(format: &str) -> Option<Self> {
        let id = format.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let field = |name: &str| format.lines().find_map(|line| field_of(line, name));
        Some(Self {
            id,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            letters: field("rwbs")?,
            name: field("comm"),
            error: field("error"),
        })
    }

    fn event(&self, at_ns: u64, kind: RawKind, bytes: &[u8]) -> Option<RawEvent> {
        Some(RawEvent {
            at_ns,
            kind,
            sector: self.sector.number(bytes)?,
            sectors: self.sectors.number(bytes)? as u32,
            failed: self.error.and_then(|field| field.number(bytes)).unwrap_or(0) != 0,
            letters: self.letters.copy(bytes)?,
            name: self.name.and_then(|field| field.copy(bytes)).unwrap_or([0; NAME_MAX]),
        })
    }
}

/// A line such as `field:char rwbs[10]; offset:34; size:10; signed:0;`, if it is that of `name`.
fn field_of(line: &str, name: &str) -> Option<Field> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declared = parts.next()?.rsplit([' ', '\t']).next()?;
    if declared.split('[').next()? != name {
        return None;
    }
    let mut number = |what: &str| parts.next()?.strip_prefix(what)?.parse().ok();
    Some(Field { offset: number("offset:")?, size: number("size:")? })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEvents {
    issue: EventLayout,
    requeue: EventLayout,
    complete: EventLayout,
}

impl BlockEvents {
    pub fn find(instance: &TraceInstance) -> Result<Self, TraceError> {
        let layout = |event: &str| {
            let text = instance.read(&format!("events/block/{event}/format"))?;
            EventLayout::parse(&text).ok_or_else(|| {
                TraceError::Unsuitable(format!("this kernel reports {event} in an unknown form"))
            })
        };
        Ok(Self {
            issue: layout("block_rq_issue")?,
            requeue: layout("block_rq_requeue")?,
            complete: layout("block_rq_complete")?,
        })
    }

    /// The event with these bytes, if it is one of them.
    pub fn parse(&self, at_ns: u64, bytes: &[u8]) -> Option<RawEvent> {
        let id = u64::from(u16::from_ne_bytes([*bytes.first()?, *bytes.get(1)?]));
        let kinds = [
            (&self.issue, RawKind::Issue),
            (&self.requeue, RawKind::Requeue),
            (&self.complete, RawKind::Complete),
        ];
        let (layout, kind) = kinds.into_iter().find(|(layout, _)| layout.id == id)?;
        layout.event(at_ns, kind, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of Linux 6.18.
    const FORMAT: &str = "\
name: block_rq_complete
ID: 2107
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:int error;\toffset:28;\tsize:4;\tsigned:1;
\tfield:unsigned short ioprio;\toffset:32;\tsize:2;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:__data_loc char[] cmd;\toffset:44;\tsize:4;\tsigned:0;

print fmt: \"%d,%d %s\", REC->error
";

    #[test]
    fn fields_are_read_where_the_kernel_says() {
        let layout = EventLayout::parse(FORMAT).unwrap();
        assert_eq!((layout.id, layout.name), (2107, None));
        let mut bytes = [0u8; 48];
        bytes[..2].copy_from_slice(&2107u16.to_ne_bytes());
        bytes[16..24].copy_from_slice(&123_456_789_012u64.to_ne_bytes());
        bytes[24..28].copy_from_slice(&16u32.to_ne_bytes());
        bytes[28..32].copy_from_slice(&(-5i32).to_ne_bytes());
        bytes[34..38].copy_from_slice(b"FWFS");
        let other = |id| EventLayout { id, ..layout };
        let events = BlockEvents { issue: other(1), requeue: other(2), complete: layout };
        let event = events.parse(7, &bytes).unwrap();
        assert_eq!((event.sector, event.sectors, event.failed), (123_456_789_012, 16, true));
        assert_eq!((event.letters(), event.name(), event.kind), ("FWFS", "", RawKind::Complete));
        assert_eq!(events.parse(7, &bytes[..40]), None, "cut off");
        bytes[0] ^= 1;
        assert_eq!(events.parse(7, &bytes), None, "another event");
        assert!(EventLayout::parse(&FORMAT.replace("nr_sector", "n")).is_none());
    }
}
