//! `postgres://USER@HOST:PORT/DATABASE?KEYWORD=VALUE`, as libpq reads it, as keywords of libpq.

use std::collections::BTreeMap;

/// The words before `://`.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// Keywords of libpq with their variables in the environment.
pub(super) const KEYWORDS: [(&str, &str); 14] = [
    ("application_name", "PGAPPNAME"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("dbname", "PGDATABASE"),
    ("host", "PGHOST"),
    ("passfile", "PGPASSFILE"),
    ("password", "PGPASSWORD"),
    ("port", "PGPORT"),
    ("service", "PGSERVICE"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    // Accepted and ignored: the first server that takes writes is used for writing, any for reading.
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
    ("user", "PGUSER"),
];

pub(super) type Keywords = BTreeMap<&'static str, String>;

/// The part after `postgres://`, if the text is such an address.
pub(crate) fn after_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once("://")?;
    SCHEMES.contains(&scheme).then_some(rest)
}

/// Whether an address names its password.
pub(crate) fn has_password(text: &str) -> bool {
    let keywords = after_scheme(text).map(keywords_of);
    keywords.is_some_and(|found| found.map_or(true, |found| found.contains_key("password")))
}

/// The name of a keyword, as one of [`KEYWORDS`].
pub(super) fn known(keyword: &str) -> Option<&'static str> {
    KEYWORDS.iter().map(|(name, _)| *name).find(|name| *name == keyword)
}

/// The keywords of an address without its scheme. Errors: why it is none; they repeat no value.
pub(super) fn keywords_of(rest: &str) -> Result<Keywords, String> {
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = login.split_once(':').map_or((login, None), |(u, p)| (u, Some(p)));
    let mut found = Keywords::new();
    let mut set = |keyword, value: &str| -> Result<(), String> {
        let value = unescaped(value).ok_or("it has a broken escape (%XX); % itself is %25")?;
        if !value.is_empty() {
            found.insert(keyword, value);
        }
        Ok(())
    };
    set("user", user)?;
    set("password", password.unwrap_or_default())?;
    set("dbname", database)?;
    let split: Vec<(&str, &str)> = hosts.split(',').map(host_and_port).collect();
    let joined = |part: fn(&(&str, &str)) -> String| -> String {
        split.iter().map(part).collect::<Vec<_>>().join(",")
    };
    set("host", &joined(|(host, _)| (*host).to_string()))?;
    if split.iter().any(|(_, port)| !port.is_empty()) {
        set("port", &joined(|(_, port)| (*port).to_string()))?;
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (keyword, value) = pair.split_once('=').unwrap_or((pair, ""));
        let keyword = known(keyword).ok_or_else(|| {
            let names: Vec<&str> = KEYWORDS.iter().map(|(name, _)| *name).collect();
            format!("it has an unknown parameter; known are {}", names.join(", "))
        })?;
        set(keyword, value)?;
    }
    Ok(found)
}

/// An IPv6 address is in brackets.
fn host_and_port(text: &str) -> (&str, &str) {
    match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':').unwrap_or(port)),
        None => text.rsplit_once(':').unwrap_or((text, "")),
    }
}

/// `None`: an escape is not two hexadecimal digits, or the bytes are not UTF-8.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> String {
        let found = keywords_of(after_scheme(text).unwrap()).unwrap();
        found.iter().map(|(k, v)| format!("{k}={v} ")).collect()
    }

    #[test]
    fn addresses_are_read_as_libpq_does() {
        for (text, expected) in [
            ("postgres://", ""),
            ("postgresql:///runs", "dbname=runs "),
            ("postgres://db", "host=db "),
            ("postgres://ann@db:5433/runs", "dbname=runs host=db port=5433 user=ann "),
            ("postgres://ann:p%40ss@db", "host=db password=p@ss user=ann "),
            ("postgres://a%3Ab@%2Frun%2Fpostgresql/r", "dbname=r host=/run/postgresql user=a:b "),
            ("postgres://[::1]:5433,db2/r", "dbname=r host=::1,db2 port=5433, "),
            ("postgres://?service=lab&sslmode=require", "service=lab sslmode=require "),
            ("postgres://h/r?host=%2Ftmp&user=me", "dbname=r host=/tmp user=me "),
        ] {
            assert_eq!(pairs(text), expected, "{text}");
        }
        assert_eq!(after_scheme("sqlite:///x"), None);
    }

    #[test]
    fn wrong_addresses_name_no_value() {
        for (text, word) in [("%4", "escape"), ("h?sslmod=secret", "sslmode"), ("%ff@h", "escape")]
        {
            let why = keywords_of(text).unwrap_err();
            assert!(why.contains(word) && !why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn passwords_are_seen_wherever_they_are() {
        for (text, has) in [
            ("postgres://ann:secret@db", true),
            ("postgres://db?password=x", true),
            ("postgres://ann@db/password", false),
            ("postgres://ann:@db", false),
            // What cannot be read may hold one.
            ("postgres://ann:%4@db", true),
            ("runs.db", false),
        ] {
            assert_eq!(has_password(text), has, "{text}");
        }
    }
}
