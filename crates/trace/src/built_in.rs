//! The traces that come with the program, and any trace that can be replayed, by its name.

use crate::error::TraceError;
use crate::event::EventSink;
use crate::file::TraceTotals;
use crate::import::ImportOptions;
use crate::open::OpenTrace;
use crate::synthetic::{SYNTHETIC, SyntheticTrace};
use std::path::PathBuf;

#[derive(Debug, Clone, Copy)]
pub struct RecordedTrace {
    pub name: &'static str,
    pub about: &'static str,
    bytes: &'static [u8],
}

macro_rules! recorded {
    ($($name:literal $about:literal)*) => {
        /// The recorded traces; `cargo xtask record-traces` makes them, docs/apps.md has their hashes.
        pub const RECORDED: &[RecordedTrace] = &[$(RecordedTrace {
            name: $name,
            about: $about,
            bytes: include_bytes!(concat!("../traces/", $name, ".trace")),
        },)*];
    };
}

recorded! {
    "git-clone" "git clone and checkout of a repository of 10 MB"
    "package-install" "unpacking five Debian packages with dpkg"
    "compile" "compiling 60 C files with two jobs"
    "sqlite-load" "loading 50,000 rows into SQLite, an index, 3,000 queries"
    "thumbnails" "thumbnails of 60 photographs"
    "mail-sync" "reading 1,500 and delivering 1,000 messages of a mail folder"
}

/// A trace that can be read as often as needed.
#[derive(Debug, Clone)]
pub enum TraceSource {
    /// A file, of any form that can be read.
    File { path: PathBuf, options: ImportOptions },
    /// One that comes with the program.
    Recorded(RecordedTrace),
    /// One that is made as it is read.
    Synthetic(&'static SyntheticTrace),
}

impl TraceSource {
    pub fn built_in() -> impl Iterator<Item = Self> {
        let synthetic = SYNTHETIC.iter().map(Self::Synthetic);
        synthetic.chain(RECORDED.iter().copied().map(Self::Recorded))
    }

    /// Its name: a file's without folder and ending.
    pub fn name(&self) -> String {
        match self {
            Self::File { path, .. } => {
                path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
            }
            Self::Recorded(trace) => trace.name.to_string(),
            Self::Synthetic(trace) => trace.name.to_string(),
        }
    }

    /// The set that it belongs to, whose traces have a score together.
    pub fn set_name(&self) -> Option<&'static str> {
        match self {
            Self::File { .. } => None,
            Self::Recorded(_) => Some("recorded"),
            Self::Synthetic(_) => Some("synthetic"),
        }
    }

    /// Passes its requests to `sink`, in the order of their times; returns facts that only the source has.
    pub fn read(&self, sink: &mut dyn EventSink) -> Result<TraceTotals, TraceError> {
        match self {
            Self::File { path, options } => OpenTrace::file(path, options.clone())?.read(sink),
            Self::Recorded(trace) => {
                let input = Box::new(trace.bytes);
                OpenTrace::new(input, ImportOptions::default())?.read(sink)
            }
            Self::Synthetic(trace) => trace.generate(sink).map(|()| TraceTotals::default()),
        }
    }
}
