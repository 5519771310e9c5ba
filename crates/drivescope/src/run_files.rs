//! Runs named to a command: by their id in the store, or as JSON files.

use crate::exit::Failure;
use crate::store_access::open_existing;
use drivescope_model::{Bytes, Run};
use drivescope_store::{Filter, Store, StoreFault, from_file};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// More than the runs of any store need, at most a megabyte each.
const DOCUMENT_MAX_BYTES: u64 = 1 << 30;
/// Limit of files that do not begin as JSON: results of other programs, or a stream without an end.
const TEXT_MAX_BYTES: u64 = 64 << 20;

/// `-` is standard input.
pub fn read_runs(path: &Path) -> Result<Vec<Run>, Failure> {
    let text = read(path)?;
    from_file(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// `-`, names with a `/`, and names that end in `.json` or `.txt` are files; others are in the store.
pub fn is_file(name: &str) -> bool {
    name == "-" || name.contains('/') || name.ends_with(".json") || name.ends_with(".txt")
}

/// The only run of that name. Errors: a file holds several.
pub fn named_run(name: &str, store: Option<&str>) -> Result<Run, Failure> {
    let mut runs = named_runs(&[name.to_string()], store)?;
    match (runs.pop(), runs.len()) {
        (Some(run), 0) => Ok(run),
        (_, more) => Err(Failure::usage(format!(
            "{name} holds {} runs; drivescope import stores them, drivescope runs lists them",
            if more == 0 { 0 } else { more + 1 }
        ))),
    }
}

/// In the order of their names, see [`is_file`].
pub fn named_runs(names: &[String], store: Option<&str>) -> Result<Vec<Run>, Failure> {
    let mut opened = None;
    let mut runs = Vec::new();
    for name in names {
        if is_file(name) {
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

/// Puts the run of this name in front, in which the others are compared: an id, label, target or drive of one of them,
/// or another name of it, such as `last` or its file.
pub fn baseline_first(runs: &mut [Run], name: &str, store: Option<&str>) -> Result<(), Failure> {
    let is_exact =
        |run: &Run| run.id == name || run.label.as_deref() == Some(name) || run.target.path == name;
    let is_part = |run: &Run| run.id.starts_with(name) || is_of_drive(run, name);
    let found = |is: &dyn Fn(&Run) -> bool| -> Vec<usize> {
        (0..runs.len()).filter(|i| is(&runs[*i])).collect()
    };
    let mut places = found(&is_exact);
    if places.is_empty() {
        places = found(&is_part);
    }
    if places.is_empty() {
        let ids: Vec<String> = named_runs(&[name.to_string()], store)
            .map(|named| named.into_iter().map(|run| run.id).collect())
            .unwrap_or_default();
        places = found(&|run| ids.contains(&run.id));
    }
    match places[..] {
        [place] => runs[..=place].rotate_right(1),
        [] => {
            let message =
                format!("--baseline {name} is none of the runs compared; name one of them");
            return Err(Failure::usage(message));
        }
        _ => {
            let ids: Vec<&str> = places.iter().map(|i| runs[*i].id.as_str()).collect();
            let message = format!(
                "--baseline {name} fits several runs: name one by its id: {}",
                ids.join(", ")
            );
            return Err(Failure::usage(message));
        }
    }
    Ok(())
}

/// Whether a part of the model, or the serial or kernel name, is the name.
fn is_of_drive(run: &Run, name: &str) -> bool {
    let Some(drive) = &run.drive else { return false };
    let has = |text: &Option<String>| {
        text.as_ref().is_some_and(|text| text.to_lowercase().contains(&name.to_lowercase()))
    };
    has(&drive.model) || has(&drive.serial)
}

/// By id, `last`, label, or drive: the newest run counts.
fn stored_run(store: &Store, name: &str) -> Result<Run, Failure> {
    let by_id = match store.get(name) {
        Err(error) if error.fault == StoreFault::NoRun && !name.trim().is_empty() => error,
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
            ErrorKind::NotFound => "name a file written by drivescope export, run --json or fio",
            ErrorKind::PermissionDenied => "check its owner and mode",
            _ => "import reads files written by drivescope export, run --json or fio --output-format=json",
        };
        Failure::usage(format!("cannot read {}: {error}; {remedy}", path.display()))
    })
}

/// A whole document; a file that does not begin as text is not read to its end, which it may not have.
fn document(mut source: impl BufRead) -> std::io::Result<String> {
    let beginning = source.fill_buf()?;
    let is_little = match beginning {
        [0xff, 0xfe, ..] => Some(true),
        [0xfe, 0xff, ..] => Some(false),
        _ => None,
    };
    let is_broken = |bytes: &[u8]| {
        bytes.contains(&0) || std::str::from_utf8(bytes).is_err_and(|it| it.error_len().is_some())
    };
    if is_little.is_none() && is_broken(beginning) {
        return Err(std::io::Error::other("it is not UTF-8 text"));
    }
    let first = beginning.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_json = is_little.is_none() && first.is_none_or(|byte| b"{[".contains(byte));
    let most = if is_json { DOCUMENT_MAX_BYTES } else { TEXT_MAX_BYTES };
    let mut bytes = Vec::new();
    if source.take(most).read_to_end(&mut bytes)? as u64 == most {
        let most = Bytes(most).binary();
        let why = format!("it is longer than {most}; export fewer runs at a time");
        return Err(std::io::Error::other(why));
    }
    let text = match is_little {
        None => String::from_utf8(bytes).ok(),
        Some(is_little) => utf_16(&bytes[2..], is_little),
    };
    text.ok_or_else(|| std::io::Error::other("it is not UTF-8 text"))
}

/// Windows PowerShell writes UTF-16 (`fio … > result.json`).
fn utf_16(bytes: &[u8], is_little: bool) -> Option<String> {
    let unit =
        |two: &[u8; 2]| if is_little { u16::from_le_bytes(*two) } else { u16::from_be_bytes(*two) };
    let (pairs, rest) = bytes.as_chunks();
    let units = rest.is_empty().then(|| pairs.iter().map(unit))?;
    char::decode_utf16(units).collect::<Result<String, _>>().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_windows_are_read_and_bytes_refused() {
        let text = "fio: \u{e9}\n{\"a\": 1}";
        let units: Vec<u16> = std::iter::once(0xfeff).chain(text.encode_utf16()).collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for bytes in [text.as_bytes(), &little, &big] {
            assert_eq!(document(bytes).unwrap(), text);
        }
        for bytes in [&[0xc3, 0x28][..], &[0; 9], &[0xff, 0xfe, 1], &[0xff, 0xfe, 0, 0xd8]] {
            let why = document(bytes).unwrap_err().to_string();
            assert_eq!(why, "it is not UTF-8 text", "{bytes:?}");
        }
    }
}
