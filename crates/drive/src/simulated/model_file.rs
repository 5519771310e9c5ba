//! The text of a model: a built-in one, or a file of the user's.

use super::spec_error::SpecError;
use drivescope_machine::roots::open_to_read;
use drivescope_model::nearest::nearest;
use drivescope_sim::library::BUILT_IN;
use rustix::fs::OFlags;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest file that is read as a model; a table of ten thousand measured seek times needs a fifth of it.
const FILE_MAX_BYTES: u64 = 1 << 20;

const ENDING: &str = ".toml";

/// Splits `NAME?OPTIONS`. The name of a file ends with its last `.toml`, so that it may contain a `?`.
pub(super) fn name_and_options(text: &str) -> (&str, &str) {
    if let Some(at) = text.rfind(&format!("{ENDING}?")) {
        let (name, options) = text.split_at(at + ENDING.len());
        return (name, options.trim_start_matches('?'));
    }
    match text.split_once('?') {
        Some((name, options)) if !text.ends_with(ENDING) => (name, options),
        _ => (text, ""),
    }
}

/// A target as the run document keeps it: with the absolute path of its model's file, for reruns.
pub(super) fn placed(target: &str, name: &str) -> String {
    let place = is_file(name).then(|| std::fs::canonicalize(name).ok()).flatten();
    match place.as_deref().and_then(Path::to_str) {
        Some(place) => target.replacen(name, place, 1),
        None => target.to_string(),
    }
}

/// Whether the name is that of a file: it has a `/` or ends with `.toml`.
pub fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(ENDING)
}

/// The text of the model called `name`: a file if it looks like one, else a built-in one.
/// Errors: no such model, or no regular file of at most 1 MiB in UTF-8.
pub fn text_of(name: &str) -> Result<String, SpecError> {
    if is_file(name) {
        return read(Path::new(name));
    }
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| (*text).to_string()).ok_or_else(|| {
        let nearest = nearest(name, BUILT_IN.iter().map(|(known, _)| *known));
        SpecError::UnknownModel { name: name.to_string(), nearest }
    })
}

fn read(path: &Path) -> Result<String, SpecError> {
    let unreadable =
        |source: std::io::Error| SpecError::Unreadable { path: PathBuf::from(path), source };
    let wrong =
        |why: &str| SpecError::Wrong(format!("cannot read the model {}: {why}", path.display()));
    // looked at before it is opened: opening a pipe waits, and opening a drive can wake it
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    // nor does opening wait, should the path have become a pipe in between
    let file = open_to_read(path, OFlags::NONBLOCK).map_err(|e| unreadable(e.into()))?;
    let text = text_of_at_most(File::from(file), FILE_MAX_BYTES).map_err(unreadable)?;
    let Some(bytes) = text else {
        return Err(wrong("it is larger than 1 MiB; a model takes a few KiB"));
    };
    String::from_utf8(bytes).map_err(|_| wrong("it is not text in UTF-8"))
}

/// All of a regular file, or nothing if it is none or has more than `most` bytes.
pub(super) fn text_of_at_most(file: File, most: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let regular = file.metadata()?.is_file();
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok((regular && bytes.len() as u64 <= most).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_begin_after_the_name() {
        for (text, name, options) in [
            ("wd20ears", "wd20ears", ""),
            ("wd20ears?fill=0.5&seed=1", "wd20ears", "fill=0.5&seed=1"),
            ("./a.toml?seed=1", "./a.toml", "seed=1"),
            ("./what?.toml", "./what?.toml", ""),
            ("./what?.toml?seed=1", "./what?.toml", "seed=1"),
            ("dir/model?seed=1", "dir/model", "seed=1"),
        ] {
            assert_eq!(name_and_options(text), (name, options), "{text}");
        }
    }

    #[test]
    fn only_regular_files_of_moderate_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let large = vec![b'#'; (1 << 20) + 1];
        std::fs::write(at("large.toml"), &large).unwrap();
        std::fs::write(at("full.toml"), &large[1..]).unwrap();
        std::fs::write(at("latin.toml"), b"name = \"caf\xe9\"").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe.toml"), 0o600.into()).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero.toml")).unwrap();
        for (name, words) in [
            ("large.toml", "larger than 1 MiB"),
            ("latin.toml", "not text in UTF-8"),
            ("pipe.toml", "not a regular file"),
            ("zero.toml", "not a regular file"),
            ("missing.toml", "No such file"),
            ("", "not a regular file"),
        ] {
            let error = text_of(&format!("{}/{name}", folder.path().display())).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
        assert_eq!(text_of(at("full.toml").to_str().unwrap()).unwrap().len(), 1 << 20);
    }

    #[test]
    fn capitals_and_prefixes_of_names_are_recognized() {
        for (asked, meant) in [("WD40EFRX", "wd40efrx"), ("Wd20ear", "wd20ears")] {
            let error = text_of(asked).unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean '{meant}'")), "{error}");
        }
    }
}
