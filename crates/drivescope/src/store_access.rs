//! The store that `--store` names, for commands that read it.

use crate::exit::Failure;
use crate::shell_quote::quoted;
use drivescope_model::document::Run;
use drivescope_store::{Store, StoreError, StoreLocation};

/// The store named by `--store`, without making one.
pub fn open_existing(store: Option<&str>) -> Result<Store, Failure> {
    Ok(Store::open_existing(&StoreLocation::parse(store)?)?)
}

/// What the next command must be told to find the store that this one used: nothing where it is the default. The
/// environment may have named it for this command only.
pub fn store_words(store: Option<&str>) -> String {
    store.map_or_else(String::new, |store| format!(" --store {}", quoted(store)))
}

/// A run of the store named by `--store`. Errors: as [`Store::get`], each with a next command that finds the
/// store.
pub fn get_run(store: Option<&str>, run: &str) -> Result<Run, Failure> {
    open_existing(store)?.get(run).map_err(|error| not_found(error, store))
}

/// Why there is no such run, with a next command that finds the store.
pub fn not_found(error: StoreError, store: Option<&str>) -> Failure {
    let failure = Failure::from(error);
    Failure { message: with_store_words(&failure.message, &store_words(store)), ..failure }
}

/// A message with a next command, which is told the store.
pub fn with_store_words(message: &str, words: &str) -> String {
    let told = |message: String, command: &str, end: &str| {
        message.replace(&format!("{command}{end}"), &format!("{command}{words}{end}"))
    };
    let message = told(message.to_string(), "drivescope runs", " lists");
    told(message, "drivescope run .", " creates")
}

/// That a store which was named has nothing, and how to change that: perhaps the name is mistyped.
pub fn no_runs_in(store: &Store, named: Option<&str>) -> String {
    let (path, words) = (store.path().display(), store_words(named));
    format!("no runs stored in {path} yet; drivescope run .{words} creates one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_of_the_next_command_is_named_as_a_shell_takes_it() {
        assert_eq!(store_words(None), "");
        assert_eq!(store_words(Some("/mnt/usb/runs.db")), " --store /mnt/usb/runs.db");
        assert_eq!(store_words(Some("my run's.db")), r" --store 'my run'\''s.db'");
        let words = store_words(Some("x.db"));
        assert_eq!(
            with_store_words("drivescope runs lists all", &words),
            "drivescope runs --store x.db lists all"
        );
        assert_eq!(
            with_store_words("drivescope run . creates one", &words),
            "drivescope run . --store x.db creates one"
        );
    }
}
