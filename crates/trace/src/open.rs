//! Opens a trace of any form.

use crate::error::TraceError;
use crate::event::EventSink;
use crate::file::{TraceHeader, TraceReader, TraceTotals};
use crate::import::{ImportOptions, SourceFormat, detect, import};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

/// Enough to know what a file is: the longest line of any form fits.
const BEGINNING_BYTES: u64 = 64 << 10;
/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 20;

/// How files of gzip begin (RFC 1952), which published traces are.
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
/// How other compressed files begin, and what unpacks them.
const OTHERS: [(&[u8], &str, &str); 4] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat"),
    (b"BZh", "bzip2", "bzcat"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz", "xzcat"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];
/// Place of the magic word in an archive of tar (POSIX.1-1988).
const TAR_AT: usize = 257;

pub struct OpenTrace<'i> {
    format: SourceFormat,
    header: TraceHeader,
    options: ImportOptions,
    input: Box<dyn Read + 'i>,
}

fn beginning_of(input: &mut dyn Read) -> Result<Vec<u8>, TraceError> {
    let mut beginning = Vec::new();
    input.take(BEGINNING_BYTES).read_to_end(&mut beginning).map_err(TraceError::Read)?;
    Ok(beginning)
}

/// What to type where the trace must be unpacked first.
fn packed(beginning: &[u8]) -> Option<String> {
    if beginning.get(TAR_AT..).is_some_and(|rest| rest.starts_with(b"ustar")) {
        let remedy = "is an archive of tar; unpack one file of it: tar -xf ARCHIVE FILE";
        return Some(remedy.to_string());
    }
    let (_, name, program) = OTHERS.into_iter().find(|(magic, ..)| beginning.starts_with(magic))?;
    Some(format!("is compressed with {name}; unpack it: {program} FILE | drivescope trace … -"))
}

impl<'i> OpenTrace<'i> {
    pub fn new(mut input: Box<dyn Read + 'i>, options: ImportOptions) -> Result<Self, TraceError> {
        let mut beginning = beginning_of(&mut input)?;
        if beginning.starts_with(&GZIP) {
            input = Box::new(MultiGzDecoder::new(Cursor::new(beginning).chain(input)));
            beginning = beginning_of(&mut input)?;
        }
        if let Some(remedy) = packed(&beginning) {
            return Err(TraceError::Unsuitable(remedy));
        }
        let format = detect(&beginning)?;
        let header = match format {
            SourceFormat::Trace => TraceReader::new(&beginning[..])?.header().clone(),
            format => TraceHeader::new(format.name(), format.tick_ns()),
        };
        if format == SourceFormat::Trace && options.device.is_some() {
            let why = "is a trace of drivescope, which has one device; omit --device";
            return Err(TraceError::Unsuitable(why.to_string()));
        }
        let input: Box<dyn Read + 'i> = Box::new(Cursor::new(beginning).chain(input));
        Ok(Self { format, header, options, input })
    }

    /// Opens a file, which may be compressed with gzip.
    pub fn file(path: &Path, options: ImportOptions) -> Result<Self, TraceError> {
        let file = File::open(path).map_err(TraceError::Read)?;
        Self::new(Box::new(file), options)
    }

    /// Its header, or the header of the trace that it becomes.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// Passes its requests to `sink`; returns facts that only the source has.
    pub fn read(self, sink: &mut dyn EventSink) -> Result<TraceTotals, TraceError> {
        let input = BufReader::with_capacity(READ_BYTES, self.input);
        import(input, self.format, &self.options, sink)
    }
}
