//! Runs that a command is told: by their id in the store, or as JSON files.

use crate::exit::Failure;
use crate::store_access::open_existing;
use drivescope_model::Run;
use drivescope_store::{Filter, Store, StoreFault, from_file};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// More than any store's runs need, a megabyte each at most.
const DOCUMENT_MAX_BYTES: u64 = 1 << 30;

/// The runs of a JSON file; `-` is standard input.
pub fn read_runs(path: &Path) -> Result<Vec<Run>, Failure> {
    let text = read(path)?;
    from_file(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// The runs with these names: what contains a `/` or ends in `.json` is a file, the rest is in the store.
pub fn named_runs(names: &[String], store: Option<&str>) -> Result<Vec<Run>, Failure> {
    let mut opened = None;
    let mut runs = Vec::new();
    for name in names {
        if name == "-" || name.contains('/') || name.ends_with(".json") {
            runs.extend(read_runs(Path::new(name))?);
            continue;
        }
        let store = match &mut opened {
            Some(store) => store,
            none => none.insert(open_existing(store)?),
        };
        runs.push(stored_run(store, name)?);
    }
    Ok(runs)
}

/// The run with this id, `last`, or the newest with this label, or else the newest of this drive.
fn stored_run(store: &Store, name: &str) -> Result<Run, Failure> {
    let by_id = match store.get(name) {
        Err(error) if error.fault == StoreFault::NoRun => error,
        found => return Ok(found?),
    };
    let newest = |filter: Filter| -> Result<Option<Run>, Failure> {
        let listed = store.list(&Filter { limit: Some(1), ..filter })?;
        Ok(listed.first().map(|summary| store.get(&summary.id)).transpose()?)
    };
    let text = Some(name.to_string());
    if let Some(run) = newest(Filter { label: text.clone(), ..Filter::default() })? {
        return Ok(run);
    }
    newest(Filter { drive: text, ..Filter::default() })?.ok_or_else(|| by_id.into())
}

fn read(path: &Path) -> Result<String, Failure> {
    let result = if path == Path::new("-") {
        document(std::io::stdin().lock())
    } else {
        std::fs::File::open(path).and_then(|file| document(BufReader::new(file)))
    };
    result.map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::NotFound => "name a file written by drivescope export or run --json",
            ErrorKind::PermissionDenied => "check its owner and mode",
            _ => "import reads files written by drivescope export or run --json",
        };
        Failure::usage(format!("cannot read {}: {error}; {remedy}", path.display()))
    })
}

/// A whole document; what does not begin as one is not read to its end, which it may not have.
fn document(mut source: impl BufRead) -> std::io::Result<String> {
    let first = source.fill_buf()?.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|byte| !b"{[".contains(byte)) {
        return Err(std::io::Error::other("it is not UTF-8 JSON"));
    }
    let mut text = String::new();
    if source.take(DOCUMENT_MAX_BYTES).read_to_string(&mut text)? as u64 == DOCUMENT_MAX_BYTES {
        return Err(std::io::Error::other("it is longer than 1 GiB; export fewer runs at a time"));
    }
    Ok(text)
}
