//! Servers behind a network: passwords, certificates, a pooler.

#![expect(
    clippy::disallowed_methods,
    reason = "tests write certificates and settings of their own"
)]

use super::contract::keep_the_contract;
use super::on_server::{refused, says};
use super::*;
use crate::schema::init;
use crate::testing::skip::skip_loudly;
use crate::testing::{OWNER, Pooler, PostgresServer};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(30);

/// Runs `openssl` in a folder.
fn openssl(folder: &Path, words: &str) {
    let made = Command::new("openssl").args(words.split(' ')).current_dir(folder).output();
    let made = made.unwrap();
    assert!(made.status.success(), "{words}: {}", String::from_utf8_lossy(&made.stderr));
}

/// Two authorities, and certificates of the first one for `localhost`: `server` and `expired`, with one key.
fn make_certificates(folder: &Path) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    for name in ["authority", "other"] {
        let files = format!("-keyout {name}.key -out {name}.crt");
        openssl(folder, &format!("req -x509 {key} {files} -subj /CN={name} -days 2"));
    }
    openssl(folder, &format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"));
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    let signed = "x509 -req -in server.csr -CA authority.crt -CAkey authority.key -extfile names";
    for (name, days, serial) in [("server", 2, 1), ("expired", -1, 2)] {
        let out = format!("-set_serial {serial} -days {days} -out {name}.crt");
        openssl(folder, &format!("{signed} {out}"));
    }
}

/// Lets the server read its settings again, and waits until it has.
fn set(server: &PostgresServer, name: &str, value: &str) {
    server.psql("postgres", &format!("ALTER SYSTEM SET {name} = '{value}'")).unwrap();
    server.psql("postgres", "SELECT pg_reload_conf()").unwrap();
    let begin = Instant::now();
    while server.psql("postgres", &format!("SHOW {name}")).as_deref() != Ok(value) {
        assert!(begin.elapsed() < PATIENCE, "{name} is not set");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn certificates_and_passwords_are_checked() {
    if Command::new("openssl").arg("version").output().is_err() {
        return skip_loudly("needs openssl");
    }
    let Some(server) = PostgresServer::start(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    for name in ["server.crt", "expired.crt", "server.key"] {
        let file = server.data().join(name);
        fs::copy(folder.path().join(name), &file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        server.give(&file);
    }
    let database = server.new_database();
    init(&server.location_of(OWNER, &database)).unwrap();
    let login = "CREATE ROLE net LOGIN PASSWORD 'secret'; GRANT drivescope_submitter TO net";
    server.psql("postgres", login).unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    for (name, line) in [("good", "*:*:*:net:secret"), ("bad", "*:*:*:net:secret2")] {
        fs::write(folder.path().join(name), line).unwrap();
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let at = |host: &str, rest: &str| {
        let (port, passwords) = (server.port(), file("good"));
        let address = format!("postgres://net@{host}:{port}/{database}?{rest}");
        let with = if rest.contains("passfile") {
            address
        } else {
            format!("{address}&passfile={passwords}")
        };
        StoreLocation::parse(Some(&with)).unwrap()
    };
    let (authority, other) = (file("authority.crt"), file("other.crt"));

    assert!(!is_encrypted(&at("localhost", "sslmode=prefer")), "the server has none yet");
    let words = ["the server offers no TLS", "?sslmode=disable"];
    refused(&at("localhost", "sslmode=require"), StoreFault::Denied, &words);
    for (name, value) in
        [("ssl_cert_file", "server.crt"), ("ssl_key_file", "server.key"), ("ssl", "on")]
    {
        set(&server, name, value);
    }
    let full = format!("sslmode=verify-full&sslrootcert={authority}");
    for rest in [&full, "sslmode=require&sslrootcert=system", "sslmode=prefer", ""] {
        assert!(is_encrypted(&at("localhost", rest)), "{rest}");
    }
    assert!(!is_encrypted(&at("localhost", "sslmode=disable")));
    let strange = format!("sslmode=verify-full&sslrootcert={other}");
    let words = ["not known here", "sslrootcert=FILE"];
    refused(&at("localhost", &strange), StoreFault::Denied, &words);
    refused(&at("localhost", &strange.replace("full", "ca")), StoreFault::Denied, &words);
    refused(&at("127.0.0.1", &full), StoreFault::Denied, &["for another name", "verify-ca"]);
    assert!(is_encrypted(&at("127.0.0.1", &full.replace("full", "ca"))));
    let absent = at("localhost", "sslmode=verify-full&sslrootcert=/absent.crt");
    refused(&absent, StoreFault::Location, &["/absent.crt cannot be read"]);

    set(&server, "ssl_cert_file", "expired.crt");
    refused(&at("localhost", &full), StoreFault::Denied, &["certificate has expired", "renew"]);
    assert!(is_encrypted(&at("localhost", "sslmode=require")), "as libpq: not verified");

    let wrong = at("localhost", &format!("sslmode=require&passfile={}", file("bad")));
    refused(&wrong, StoreFault::Denied, &["refuses the connection", "~/.pgpass"]);
    fs::set_permissions(folder.path().join("good"), fs::Permissions::from_mode(0o644)).unwrap();
    refused(&at("localhost", ""), StoreFault::Denied, &["is ignored", "chmod 600"]);
}

fn is_encrypted(location: &StoreLocation) -> bool {
    let store = Store::open(location).unwrap();
    let asked = "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    store.select(asked, &[], SqlRow::text).unwrap()[0] == "true"
}

#[test]
fn poolers_of_transactions_keep_the_contract() {
    let Some(server) = PostgresServer::start(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(pooler) = Pooler::start(&server, folder.path(), 2) else { return };
    keep_the_contract(&|| {
        let pooled = pooler.address(&server, OWNER, &server.new_database());
        let location = StoreLocation::parse(Some(&pooled)).unwrap();
        init(&location).unwrap();
        location
    });
}

#[test]
fn absent_server_is_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let sockets = folder.path().display().to_string().replace('/', "%2F");
    let location = StoreLocation::parse(Some(&format!("postgres://me@{sockets}/runs"))).unwrap();
    let error = Store::open(&location).unwrap_err();
    says(&error, StoreFault::Unreachable, &["cannot be reached: No such file", "host and port"]);
}
