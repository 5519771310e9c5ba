//! `import`: runs from JSON files into the store.

use crate::arguments::ImportArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_report::clean;
use drivescope_store::{Added, Store, StoreLocation, from_file};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// More than any store's runs need, a megabyte each at most.
const DOCUMENT_MAX_BYTES: u64 = 1 << 30;

/// Stores runs from files; all of a file or nothing of it. What is stored is not replaced.
pub fn import(arguments: &ImportArguments) -> Result<Code, Failure> {
    // Not made for files that have nothing for it.
    let mut opened = None;
    for path in &arguments.files {
        let text = read(path)?;
        let runs = from_file(&text)
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        let store = match &mut opened {
            Some(store) => store,
            none => {
                none.insert(Store::open(&StoreLocation::parse(arguments.store.store.as_deref())?)?)
            }
        };
        if runs.is_empty() {
            output::tell(&clean(&format!("no runs in {}", path.display())));
        }
        for (run, added) in runs.iter().zip(store.add_all(&runs)?) {
            let (id, target) = (&run.id, &run.target.path);
            let line = match added {
                Added::New => format!("imported run {id} of {target}"),
                Added::Completed => {
                    format!("completed run {id} of {target}, which was stored in part")
                }
                Added::Known => format!("run {id} of {target} is already stored, identical"),
            };
            output::tell(&clean(&line));
        }
    }
    Ok(Code::Ok)
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
