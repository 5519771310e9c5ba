//! Finds the store that a user means.

use crate::error::{StoreError, StoreFault};
use drivescope_model::shell::quoted;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Below the user's data directory.
const DEFAULT_FILE: &str = "drivescope/runs.db";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLocation {
    path: PathBuf,
    words: String,
}

/// The option with which the next command finds the same store: ` --store FILE`, or nothing for the default. The
/// environment may name it for this command only.
pub fn store_words(named: Option<&str>) -> String {
    named.map_or_else(String::new, |store| format!(" --store {}", quoted(store)))
}

impl StoreLocation {
    /// The store named by `--store`, or the user's own one when nothing is named.
    ///
    /// `None` is `$XDG_DATA_HOME/drivescope/runs.db`, or `~/.local/share/drivescope/runs.db`. A text is the path of a
    /// file, with or without `sqlite:` before it. Errors: there is no home directory, the text is empty, or it names a
    /// kind of store that this build does not have.
    pub fn parse(text: Option<&str>) -> Result<Self, StoreError> {
        let path = match text {
            Some(text) => Self::named(text)?,
            None => Self::default_of(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))?,
        };
        Ok(Self { path, words: store_words(text) })
    }

    pub fn of_file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), words: String::new() }
    }

    fn named(text: &str) -> Result<PathBuf, StoreError> {
        let fault = |cause: &str| {
            let message = format!("{cause}; name a file with --store FILE");
            Err(StoreError::new(StoreFault::Location, message))
        };
        let path = match text.split_once("://") {
            // The rest of such an address is not repeated in errors: it may hold a password.
            Some(("postgres" | "postgresql", _)) => {
                return fault("this build has no PostgreSQL store yet");
            }
            Some(("sqlite", path)) => path,
            Some((scheme, _)) if is_scheme(scheme) => {
                return fault(&format!("unknown kind of store '{scheme}://'"));
            }
            _ => text.strip_prefix("sqlite:").unwrap_or(text),
        };
        if path.is_empty() {
            return fault("the name of the store is empty");
        }
        Ok(PathBuf::from(path))
    }

    /// XDG base directory rules: a variable that is empty or not an absolute path counts as not set.
    fn default_of(
        data_home: Option<OsString>,
        home: Option<OsString>,
    ) -> Result<PathBuf, StoreError> {
        let absolute = |text: OsString| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
        let folder = data_home
            .and_then(absolute)
            .or_else(|| Some(home.and_then(absolute)?.join(".local/share")))
            .ok_or_else(|| {
                let message =
                    "HOME is not set, so there is no default store; name a file with --store FILE";
                StoreError::new(StoreFault::Location, message)
            })?;
        Ok(folder.join(DEFAULT_FILE))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// See [`store_words`].
    pub fn words(&self) -> &str {
        &self.words
    }
}

/// Whether `text` can precede `://`; a path such as `./a://b` cannot.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default_of(data_home: Option<&str>, home: Option<&str>) -> Option<String> {
        let location = StoreLocation::default_of(data_home.map(Into::into), home.map(Into::into));
        location.ok().map(|path| path.display().to_string())
    }

    #[test]
    fn the_default_follows_the_xdg_rules() {
        let home = Some("/home/ann");
        for (data_home, home, expected) in [
            (Some("/data"), home, Some("/data/drivescope/runs.db")),
            (Some("/data"), None, Some("/data/drivescope/runs.db")),
            (None, home, Some("/home/ann/.local/share/drivescope/runs.db")),
            (Some(""), home, Some("/home/ann/.local/share/drivescope/runs.db")),
            (Some("relative"), home, Some("/home/ann/.local/share/drivescope/runs.db")),
            (None, None, None),
            (Some(""), Some(""), None),
            (None, Some("relative"), None),
        ] {
            assert_eq!(default_of(data_home, home).as_deref(), expected, "{data_home:?} {home:?}");
        }
    }

    #[test]
    fn without_a_home_the_error_names_the_way_out() {
        let error = StoreLocation::default_of(None, None).unwrap_err();
        assert!(error.to_string().contains("--store"), "{error}");
    }

    #[test]
    fn texts_name_files() {
        for (text, path) in [
            ("runs.db", "runs.db"),
            ("/a b/runs.db", "/a b/runs.db"),
            ("sqlite:runs.db", "runs.db"),
            ("sqlite:/x/runs.db", "/x/runs.db"),
            ("sqlite:///x/runs.db", "/x/runs.db"),
            ("./odd://name.db", "./odd://name.db"),
            (":memory:", ":memory:"),
        ] {
            let location = StoreLocation::parse(Some(text)).unwrap();
            assert_eq!(location.path(), Path::new(path), "{text}");
            assert!(location.words().contains(text), "{text}");
        }
    }

    #[test]
    fn other_stores_are_refused_without_their_password() {
        for (text, word) in [
            ("postgres://ann:secret@db/runs", "PostgreSQL"),
            ("postgresql://ann:secret@db/runs", "PostgreSQL"),
            ("mysql://ann:secret@db/runs", "mysql"),
            ("", "empty"),
            ("sqlite:", "empty"),
            ("sqlite://", "empty"),
        ] {
            let error = StoreLocation::parse(Some(text)).unwrap_err();
            let message = error.to_string();
            assert!(message.contains(word) && message.contains("--store"), "{text}: {message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
