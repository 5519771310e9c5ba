//! `~/.pgpass`, as libpq reads it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Rights of others, with which libpq ignores the file.
const RIGHTS_OF_OTHERS: u32 = 0o077;

/// A password; `{:?}` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

pub(super) struct Wanted<'a> {
    /// `localhost` for the default socket.
    pub host: &'a str,
    pub port: u16,
    pub database: &'a str,
    pub user: &'a str,
}

/// The first password that fits. Errors: why the file is ignored.
pub(super) fn password(file: &Path, wanted: &Wanted<'_>) -> Result<Option<Secret>, String> {
    let Ok(meta) = std::fs::metadata(file) else { return Ok(None) };
    let ignored = |why: &str| Err(format!("{} is ignored: {why}", file.display()));
    if !meta.is_file() {
        return ignored("it is not a file");
    }
    if meta.mode() & RIGHTS_OF_OTHERS != 0 {
        return ignored("others may read it; chmod 600 mends that");
    }
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text.lines().find_map(|line| of_line(line, wanted))),
        Err(error) => ignored(&error.to_string()),
    }
}

fn of_line(line: &str, wanted: &Wanted<'_>) -> Option<Secret> {
    if line.starts_with('#') {
        return None;
    }
    let fields = fields(line);
    let [host, port, database, user, password] = <[String; 5]>::try_from(fields).ok()?;
    let fits = |field: &str, value: &str| field == "*" || field == value;
    let port_wanted = wanted.port.to_string();
    let all = fits(&host, wanted.host)
        && fits(&port, &port_wanted)
        && fits(&database, wanted.database)
        && fits(&user, wanted.user);
    all.then(|| Secret::new(password)).filter(|secret| !secret.expose().is_empty())
}

/// Fields between colons; a backslash takes the next letter as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let taken = match letter {
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                continue;
            }
            '\\' => letters.next(),
            other => Some(other),
        };
        fields.last_mut().expect("there is a first one").extend(taken);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    const LINES: &str = "# comment\n\
        db:5432:runs:ann:one\n\
        db:*:runs:b\\:ob:t\\:w\\\\o\n\
        localhost:*:*:*:three:with:colons\n\
        broken\n\
        *:*:*:ann:last\n";

    #[test]
    fn first_line_that_fits_counts() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(LINES.as_bytes()).unwrap();
        let of = |host, port, database, user| {
            let wanted = Wanted { host, port, database, user };
            let found = password(file.path(), &wanted).unwrap();
            found.map(|secret| secret.expose().to_string())
        };
        assert_eq!(of("db", 5432, "runs", "ann").as_deref(), Some("one"));
        assert_eq!(of("db", 1, "runs", "b:ob").as_deref(), Some("t:w\\o"));
        assert_eq!(of("localhost", 1, "x", "y").as_deref(), Some("three:with:colons"));
        assert_eq!(of("other", 1, "x", "ann").as_deref(), Some("last"));
        assert_eq!(of("other", 1, "x", "zoe"), None);
    }

    #[test]
    fn file_that_others_may_read_is_ignored() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"*:*:*:*:secret\n").unwrap();
        let wanted = Wanted { host: "db", port: 5432, database: "runs", user: "ann" };
        let set = |mode| file.as_file().set_permissions(std::fs::Permissions::from_mode(mode));
        set(0o640).unwrap();
        let why = password(file.path(), &wanted).unwrap_err();
        assert!(why.contains("chmod 600") && !why.contains("secret"), "{why}");
        set(0o600).unwrap();
        assert!(password(file.path(), &wanted).unwrap().is_some());
        assert!(password(Path::new("/absent/pgpass"), &wanted).unwrap().is_none());
    }
}
