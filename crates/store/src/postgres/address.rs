//! The server of a store: its address, the environment and the service file, in libpq's order.

use super::password_file::{self, Secret, Wanted};
use super::url::{self, KEYWORDS, Keywords};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PORT: u16 = 5432;
/// Where Debian and Red Hat put the server's socket.
const SOCKETS: &str = "/var/run/postgresql";
/// Long enough for a slow network; a run does not wait longer for a server that is away.
const PATIENCE: Duration = Duration::from_secs(10);
const SERVICES: &str = ".pg_service.conf";
/// Places of the service file of all users: Debian's, and the one that most builds have.
const SERVICES_OF_ALL: [&str; 2] =
    ["/etc/postgresql-common/pg_service.conf", "/etc/pg_service.conf"];

/// As `sslmode` of libpq; `allow` counts as `prefer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsMode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsUse {
    /// `None`: not chosen, so that the host decides.
    pub mode: Option<TlsMode>,
    /// Certificates of authorities; `None` for those of the system.
    pub roots: Option<PathBuf>,
    /// Certificate and key of this client.
    pub client: Option<(PathBuf, PathBuf)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerHost {
    /// A name, an IP address, or the folder of a socket.
    pub host: String,
    pub port: u16,
    pub password: Option<Secret>,
}

impl ServerHost {
    pub fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }

    /// Networks are not trusted: unlike libpq, which would take any server for the right one.
    pub fn tls_mode(&self, tls: &TlsUse) -> TlsMode {
        let is_here = matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "::1");
        match tls.mode {
            _ if self.is_socket() => TlsMode::Disable,
            Some(mode) => mode,
            None if is_here => TlsMode::Prefer,
            None => TlsMode::VerifyFull,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    pub hosts: Vec<ServerHost>,
    pub user: String,
    pub database: String,
    pub tls: TlsUse,
    pub application: String,
    pub patience: Duration,
    /// Why the file of passwords is ignored.
    pub remark: Option<String>,
    /// The option that names it to another command; see [`store_words`](crate::store_words).
    pub words: String,
}

/// What an address depends on besides its text.
pub(crate) struct Surroundings<'e> {
    pub variable: &'e dyn Fn(&str) -> Option<String>,
    /// Name of the user of this process.
    pub user: Option<String>,
}

impl ServerAddress {
    /// Of an address without its scheme. Errors: why it cannot be one, without a value of it.
    pub fn parse(rest: &str, around: &Surroundings<'_>) -> Result<Self, String> {
        let variable = |name: &str| (around.variable)(name).filter(|value| !value.is_empty());
        let home = variable("HOME").map(PathBuf::from);
        let in_home = |name: &str| home.as_ref().map(|home| home.join(name));
        let mut found = url::keywords_of(rest)?;
        if let Some(service) = found.get("service").cloned().or_else(|| variable("PGSERVICE")) {
            let own = variable("PGSERVICEFILE").map(PathBuf::from).or_else(|| in_home(SERVICES));
            for (keyword, value) in of_service(&service, own.as_deref())? {
                found.entry(keyword).or_insert(value);
            }
        }
        for (keyword, name) in KEYWORDS {
            if let Some(value) = variable(name) {
                found.entry(keyword).or_insert(value);
            }
        }
        let mut take = |keyword: &str| found.remove(keyword);
        let user = take("user").or_else(|| around.user.clone());
        let user = user.ok_or("it has no user, and the user of this process has no name")?;
        let database = take("dbname").unwrap_or_else(|| user.clone());
        let tls = TlsUse {
            mode: take("sslmode").map(|mode| tls_mode(&mode)).transpose()?,
            roots: match take("sslrootcert") {
                Some(system) if system == "system" => None,
                Some(file) => Some(PathBuf::from(file)),
                None => in_home(".postgresql/root.crt").filter(|file| file.is_file()),
            },
            client: match (take("sslcert"), take("sslkey")) {
                (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
                (None, None) => None,
                _ => return Err("sslcert and sslkey belong together".to_string()),
            },
        };
        let mut hosts = hosts(take("host").as_deref(), take("port").as_deref())?;
        let file = take("passfile").map(PathBuf::from).or_else(|| in_home(".pgpass"));
        let (password, mut remark) = (take("password").map(Secret::new), None);
        for host in &mut hosts {
            let name = if host.host == SOCKETS { "localhost" } else { &host.host };
            let wanted = Wanted { host: name, port: host.port, database: &database, user: &user };
            let of_file = file.as_ref().filter(|_| password.is_none());
            let found = of_file.map_or(Ok(None), |file| password_file::password(file, &wanted));
            let found = found.unwrap_or_else(|why| {
                remark = Some(why);
                None
            });
            host.password = password.clone().or(found);
        }
        let patience = match take("connect_timeout") {
            Some(text) => seconds(&text)?,
            None => PATIENCE,
        };
        let application = take("application_name").unwrap_or_else(|| "drivescope".to_string());
        let words = String::new();
        Ok(Self { hosts, user, database, tls, application, patience, remark, words })
    }

    /// The address for people: without its password.
    pub fn shown(&self) -> String {
        let place = |it: &ServerHost| match it.host.as_str() {
            host if it.is_socket() && it.port == PORT => host.replace('/', "%2F"),
            host if it.is_socket() => format!("{}:{}", host.replace('/', "%2F"), it.port),
            host if host.contains(':') => format!("[{host}]:{}", it.port),
            host => format!("{host}:{}", it.port),
        };
        let hosts: Vec<String> = self.hosts.iter().map(place).collect();
        format!("postgres://{}@{}/{}", self.user, hosts.join(","), self.database)
    }
}

fn hosts(hosts: Option<&str>, ports: Option<&str>) -> Result<Vec<ServerHost>, String> {
    let number = |text: &str| match text {
        "" => Ok(PORT),
        text => text.parse().map_err(|_| "its port is not a number up to 65535".to_string()),
    };
    let ports = ports.unwrap_or_default().split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    let hosts: Vec<&str> = hosts.unwrap_or(SOCKETS).split(',').collect();
    if ports.len() != 1 && ports.len() != hosts.len() {
        return Err("it has another number of ports than of hosts".to_string());
    }
    let all = hosts.iter().enumerate().map(|(place, host)| ServerHost {
        host: if host.is_empty() { SOCKETS } else { host }.to_string(),
        port: *ports.get(place).unwrap_or(&ports[0]),
        password: None,
    });
    Ok(all.collect())
}

fn tls_mode(text: &str) -> Result<TlsMode, String> {
    Ok(match text {
        "disable" => TlsMode::Disable,
        "allow" | "prefer" => TlsMode::Prefer,
        "require" => TlsMode::Require,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyFull,
        _ => {
            let known = "disable, allow, prefer, require, verify-ca and verify-full";
            return Err(format!("sslmode is unknown; there are {known}"));
        }
    })
}

/// 0 waits for ever in libpq; a run must not.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.trim().parse() {
        Ok(0) => Ok(PATIENCE),
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => Err("connect_timeout is not a number of seconds".to_string()),
    }
}

/// Keywords of a service, of the user's file or else of that of all users.
fn of_service(name: &str, own: Option<&Path>) -> Result<Keywords, String> {
    let files = own.into_iter().chain(SERVICES_OF_ALL.map(Path::new));
    for file in files {
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        let (lines, head) = (text.lines().map(str::trim), format!("[{name}]"));
        if lines.clone().all(|line| line != head) {
            continue;
        }
        let section = lines.skip_while(|line| *line != head).skip(1);
        let pairs = section.take_while(|line| !line.starts_with('['));
        let pairs = pairs.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let known = pairs.filter_map(|line| {
            let (keyword, value) = line.split_once('=')?;
            Some((url::known(keyword.trim())?, value.trim().to_string()))
        });
        return Ok(known.filter(|(keyword, _)| *keyword != "service").collect());
    }
    Err(format!("the service '{name}' is in no service file; see PGSERVICEFILE and ~/{SERVICES}"))
}

#[cfg(test)]
mod tests;
