//! Finds the store that a user means.

use crate::error::{StoreError, StoreFault};
#[cfg(feature = "postgres")]
use crate::postgres::{self, ServerAddress, Surroundings};
use drivescope_model::shell::quoted;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names the store for all commands.
#[cfg(feature = "postgres")]
const VARIABLE: &str = "DRIVESCOPE_STORE";

/// Below the user's data directory.
const DEFAULT_FILE: &str = "drivescope/runs.db";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLocation {
    pub(crate) place: StorePlace,
    words: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StorePlace {
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Server(Box<ServerAddress>),
}

/// The option with which the next command finds the same store: ` --store STORE`, or nothing for the default, and for
/// an address with a password, which stays in the environment. The environment may name it for this command only.
pub fn store_words(named: Option<&str>) -> String {
    let has_password = |store: &&str| is_secret(store);
    let named = named.filter(|store| !has_password(store));
    named.map_or_else(String::new, |store| format!(" --store {}", quoted(store)))
}

#[cfg(feature = "postgres")]
fn is_secret(store: &str) -> bool {
    postgres::has_password(store)
}

#[cfg(not(feature = "postgres"))]
fn is_secret(store: &str) -> bool {
    store.starts_with("postgres")
}

impl StoreLocation {
    /// The store named by `--store`, or the user's own one when nothing is named.
    ///
    /// `None` is `$XDG_DATA_HOME/drivescope/runs.db`, or `~/.local/share/drivescope/runs.db`. A text is the path of a
    /// file, with or without `sqlite:` before it, or the address of a server, `postgres://…`. Errors: there is no home
    /// directory, the text is empty or a wrong address, it has a password where others see it, or it names a kind of
    /// store that this build does not have.
    pub fn parse(text: Option<&str>) -> Result<Self, StoreError> {
        let place = match text {
            Some(text) => Self::named(text)?,
            None => StorePlace::File(Self::default_of(
                std::env::var_os("XDG_DATA_HOME"),
                std::env::var_os("HOME"),
            )?),
        };
        Ok(Self { place, words: store_words(text) })
    }

    pub fn of_file(path: impl Into<PathBuf>) -> Self {
        Self { place: StorePlace::File(path.into()), words: String::new() }
    }

    fn named(text: &str) -> Result<StorePlace, StoreError> {
        let fault = |cause: &str| {
            let message = format!("{cause}; name a file with --store FILE");
            Err(StoreError::new(StoreFault::Location, message))
        };
        let path = match text.split_once("://") {
            // The rest of such an address is not repeated in errors: it may hold a password.
            Some(("postgres" | "postgresql", _)) => return server(text),
            Some(("sqlite", path)) => path,
            Some((scheme, _)) if is_scheme(scheme) => {
                return fault(&format!("unknown kind of store '{scheme}://'"));
            }
            _ => text.strip_prefix("sqlite:").unwrap_or(text),
        };
        if path.is_empty() {
            return fault("the name of the store is empty");
        }
        Ok(StorePlace::File(PathBuf::from(path)))
    }

    /// XDG base directory rules: a variable that is empty or not an absolute path counts as not set.
    fn default_of(
        data_home: Option<OsString>,
        home: Option<OsString>,
    ) -> Result<PathBuf, StoreError> {
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

    /// `None` for a server.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            StorePlace::File(path) => Some(path),
            #[cfg(feature = "postgres")]
            StorePlace::Server(_) => None,
        }
    }

    /// For people: the path, or the address without its password.
    pub fn shown(&self) -> String {
        match &self.place {
            StorePlace::File(path) => path.display().to_string(),
            #[cfg(feature = "postgres")]
            StorePlace::Server(address) => address.shown(),
        }
    }

    /// See [`store_words`].
    pub fn words(&self) -> &str {
        &self.words
    }
}

fn absolute(text: OsString) -> Option<PathBuf> {
    Some(PathBuf::from(text)).filter(|path| path.is_absolute())
}

#[cfg(not(feature = "postgres"))]
fn server(_text: &str) -> Result<StorePlace, StoreError> {
    let message =
        "this build has no PostgreSQL store (feature postgres); name a file with --store FILE";
    Err(StoreError::new(StoreFault::Location, message))
}

/// Every user of the machine sees the words of a command, but not its environment.
#[cfg(feature = "postgres")]
fn server(text: &str) -> Result<StorePlace, StoreError> {
    fn fault(message: String) -> StoreError {
        StoreError::new(StoreFault::Location, message)
    }
    let is_word = std::env::args_os().any(|word| word.to_string_lossy().contains(text));
    let is_seen = is_word || std::env::var(VARIABLE).map_or(true, |named| named != text);
    let rest = postgres::after_scheme(text).unwrap_or_default();
    let around = Surroundings { variable: &|name| std::env::var(name).ok(), user: user_name() };
    let mut address = ServerAddress::parse(rest, &around).map_err(|why| {
        fault(format!("wrong address of a store: {why}; write postgres://USER@HOST/DATABASE"))
    })?;
    if is_seen && postgres::has_password(text) {
        return Err(fault(format!(
            "a password in --store can be seen by every user of this machine; put it into ~/.pgpass (mode 0600) or \
             PGPASSWORD, or the whole address into {VARIABLE}"
        )));
    }
    address.words = store_words(Some(text));
    Ok(StorePlace::Server(Box::new(address)))
}

/// Of the user of this process, as `/etc/passwd` or else the environment names it.
#[cfg(feature = "postgres")]
fn user_name() -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let user = std::fs::metadata("/proc/self").ok()?.uid().to_string();
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(&user)).then(|| name.to_string())
    };
    known.lines().find_map(of_line).or_else(|| std::env::var("USER").ok())
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
            assert_eq!(location.path(), Some(Path::new(path)), "{text}");
            assert!(location.words().contains(text), "{text}");
        }
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn passwords_are_refused_where_others_see_them() {
        for text in ["postgres://ann:secret@db/r", "postgresql://db/r?password=secret"] {
            let message = StoreLocation::parse(Some(text)).unwrap_err().to_string();
            assert!(message.contains("~/.pgpass") && !message.contains("secret"), "{message}");
            assert_eq!(store_words(Some(text)), "");
        }
        let location = StoreLocation::parse(Some("postgres://ann@db/r?sslmode=require")).unwrap();
        assert_eq!(location.shown(), "postgres://ann@db:5432/r");
        assert_eq!(location.words(), " --store 'postgres://ann@db/r?sslmode=require'");
        assert_eq!(location.path(), None);
        let message = StoreLocation::parse(Some("postgres://db:x")).unwrap_err().to_string();
        assert!(message.contains("port is not a number"), "{message}");
    }

    #[test]
    fn other_stores_are_refused_without_their_password() {
        for (text, word) in [
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
