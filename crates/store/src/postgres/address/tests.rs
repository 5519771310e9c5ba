use super::*;

fn parsed(text: &str, variables: &[(&str, &str)]) -> Result<ServerAddress, String> {
    let variable = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
    };
    let around = Surroundings { variable: &variable, user: Some("me".to_string()) };
    ServerAddress::parse(url::after_scheme(text).unwrap(), &around)
}

#[test]
fn address_comes_before_service_and_environment() {
    let folder = tempfile::tempdir().unwrap();
    let services = tempfile::NamedTempFile::new_in(&folder).unwrap();
    let text =
        "[other]\nhost=no\n\n[lab]\n# comment\nhost = db.lab\nport=5555\nuser=svc\nodd=1\n[z]\n";
    std::io::Write::write_all(&mut services.as_file(), text.as_bytes()).unwrap();
    let file = services.path().display().to_string();
    let environment = [("PGSERVICEFILE", file.as_str()), ("PGPORT", "1"), ("PGDATABASE", "env")];
    let found = parsed("postgres://ann@?service=lab", &environment).unwrap();
    assert_eq!(found.shown(), "postgres://ann@db.lab:5555/env");
    let found = parsed("postgres://", &[("PGHOST", "h"), ("PGSSLMODE", "require")]).unwrap();
    assert_eq!(found.shown(), "postgres://me@h:5432/me");
    assert_eq!(found.tls.mode, Some(TlsMode::Require));
    let why = parsed("postgres://?service=absent", &environment).unwrap_err();
    assert!(why.contains("'absent' is in no service file"), "{why}");
}

#[test]
fn networks_are_verified_unless_asked() {
    let mode = |text| {
        let found = parsed(text, &[]).unwrap();
        found.hosts[0].tls_mode(&found.tls)
    };
    assert_eq!(mode("postgres://db.lab/runs"), TlsMode::VerifyFull);
    assert_eq!(mode("postgres://localhost/runs"), TlsMode::Prefer);
    assert_eq!(mode("postgres:///runs"), TlsMode::Disable);
    assert_eq!(mode("postgres://%2Ftmp/runs?sslmode=verify-full"), TlsMode::Disable);
    assert_eq!(mode("postgres://db?sslmode=disable"), TlsMode::Disable);
    assert_eq!(mode("postgres://db?sslmode=verify-ca"), TlsMode::VerifyCa);
}

#[test]
fn password_is_never_shown() {
    for text in ["postgres://ann:secret@db/r", "postgres://ann@db/r?password=secret"] {
        let found = parsed(text, &[]).unwrap();
        assert_eq!(found.hosts[0].password.as_ref().unwrap().expose(), "secret");
        assert!(!format!("{found:?} {}", found.shown()).contains("secret"));
    }
    let found = parsed("postgres://db", &[("PGPASSWORD", "secret")]).unwrap();
    assert!(found.hosts[0].password.is_some());
}

#[test]
fn mistakes_are_named() {
    for (text, word) in [
        ("postgres://h:x", "port"),
        ("postgres://h?sslmode=yes", "verify-full"),
        ("postgres://h?connect_timeout=soon", "seconds"),
        ("postgres://h?sslcert=x", "belong together"),
    ] {
        let why = parsed(text, &[]).unwrap_err();
        assert!(why.contains(word), "{text}: {why}");
    }
    assert_eq!(parsed("postgres://a:1,b:2/r", &[]).unwrap().hosts[1].port, 2);
    assert!(parsed("postgres://a,b/r?port=1,2,3", &[]).unwrap_err().contains("number of ports"));
    let several = parsed("postgres://[::1],b:7/r", &[]).unwrap();
    assert_eq!(several.shown(), "postgres://me@[::1]:5432,b:7/r");
}
