//! Who may ask, and from where: names of this server, pages of this server, and the token.

use crate::form::{Fields, address};
use crate::token::AccessToken;
use axum::http::header;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use std::net::{IpAddr, SocketAddr};

const FETCH_SITE: &str = "sec-fetch-site";
const FETCH_MODE: &str = "sec-fetch-mode";

pub struct Guard {
    bound: SocketAddr,
    names: Vec<String>,
    token: Option<AccessToken>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    Pass,
    /// The address had the token: from now on a cookie admits, and this address has the token no more.
    LetIn(String),
    /// It may not, for this reason.
    Refused(StatusCode, &'static str),
}

impl Guard {
    /// For a server at this address, which `names` also lead to; with a token, only for those who have it.
    pub fn new(bound: SocketAddr, names: &[String], token: Option<AccessToken>) -> Self {
        let names = names.iter().map(|name| name.trim_end_matches('.').to_ascii_lowercase());
        Self { bound, names: names.collect(), token }
    }

    pub(crate) fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Admission {
        let refused = |status, why| Admission::Refused(status, why);
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
        let is_named = hosts.next().is_none() && self.is_own(host);
        if !is_named || uri.authority().is_some_and(|authority| authority.as_str() != host) {
            let why = "This address is none of drivescope serve's. Use the one that it printed, or name this host with \
                       --allow-host.";
            return refused(StatusCode::MISDIRECTED_REQUEST, why);
        }
        let site = text(headers, FETCH_SITE);
        let is_elsewhere = matches!(site, Some("cross-site" | "same-site"));
        let is_changing = !matches!(*method, Method::GET | Method::HEAD);
        // Following a link to a page is harmless; to load one as a part of another page is not.
        if is_elsewhere && (is_changing || text(headers, FETCH_MODE) != Some("navigate")) {
            return refused(StatusCode::FORBIDDEN, "Another site asked for this.");
        }
        let is_own_origin = match text(headers, "origin") {
            Some(origin) => origin.split_once("://").is_some_and(|(_, from)| from == host),
            None => !headers.contains_key(header::ORIGIN) && site == Some("same-origin"),
        };
        if is_changing && !is_own_origin {
            let why = "Only a page of this server may ask for this.";
            return refused(StatusCode::FORBIDDEN, why);
        }
        let Some(token) = &self.token else { return Admission::Pass };
        let sent = Fields::parse(uri.query().unwrap_or_default().as_bytes());
        if *method == Method::GET && sent.all("token").any(|sent| token.is(sent)) {
            return Admission::LetIn(without_token(uri));
        }
        if cookies(headers, &self.cookie_name()).any(|sent| token.is_cookie(sent)) {
            return Admission::Pass;
        }
        // Collectors of metrics keep no cookies. A page of another site cannot send this header without being asked.
        let bearer = text(headers, "authorization").and_then(|it| it.strip_prefix("Bearer "));
        if !is_changing && bearer.is_some_and(|sent| token.is(sent.trim())) {
            return Admission::Pass;
        }
        let why = "Open the whole address that drivescope serve printed: it has the token.";
        refused(StatusCode::FORBIDDEN, why)
    }

    /// Whether a Host header names this server. Names of others may lead to this address too: their pages would
    /// be of the same origin as ours (DNS rebinding). An address cannot be bent like that.
    fn is_own(&self, host: &str) -> bool {
        let Some(name) = host_name(host) else { return false };
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let is_address = match name.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || !self.bound.ip().is_loopback(),
            Err(_) => false,
        };
        is_address || name == "localhost" || self.names.contains(&name)
    }

    /// Cookies do not know ports, so the name does.
    fn cookie_name(&self) -> String {
        format!("drivescope-{}", self.bound.port())
    }

    /// The cookie that admits: for this site only, and for no script. `Lax`, because after a link from elsewhere a
    /// browser follows a redirection without a cookie that is `Strict`; no GET changes anything, and every POST needs
    /// an Origin of this server.
    pub(crate) fn cookie(&self) -> String {
        let value = self.token.as_ref().map_or("", AccessToken::of_cookie);
        format!("{}={value}; Path=/; HttpOnly; SameSite=Lax", self.cookie_name())
    }
}

/// The path and query of an address, its token left out.
fn without_token(uri: &Uri) -> String {
    let fields = Fields::parse(uri.query().unwrap_or_default().as_bytes());
    // Browsers take `//name` for another server.
    let path = format!("/{}", uri.path().trim_start_matches(['/', '\\']));
    address(&path, &fields.without("token"))
}

/// The value of a header that comes once.
fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// `name`, `name:80`, `[::1]:80` without its port; `None` if it is malformed.
fn host_name(host: &str) -> Option<&str> {
    let end = if host.starts_with('[') {
        host.find(']')? + 1
    } else {
        host.find(':').unwrap_or(host.len())
    };
    let (name, port) = host.split_at(end);
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    (is_port && !name.is_empty()).then_some(name)
}

/// The values of the cookies with this name.
fn cookies<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(known, _)| *known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header::HeaderName;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    fn status(guard: &Guard, method: Method, path: &str, pairs: &[(&str, &str)]) -> u16 {
        match guard.judge(&method, &path.parse().unwrap(), &headers(pairs)) {
            Admission::Pass => 200,
            Admission::LetIn(_) => 201,
            Admission::Refused(status, _) => status.as_u16(),
        }
    }

    #[test]
    fn only_names_of_this_server_are_answered() {
        fn at(bound: &str) -> Guard {
            Guard::new(bound.parse().unwrap(), &["NAS.".to_string()], None)
        }
        for (host, on_loopback, elsewhere) in [
            ("127.0.0.1:7483", 200, 200),
            ("127.0.0.1", 200, 200),
            ("localhost:9000", 200, 200),
            ("LocalHost.:9000", 200, 200),
            ("[::1]:7483", 200, 200),
            ("nas:7483", 200, 200),
            ("192.168.1.7:7483", 421, 200),
            ("[fe80::1]", 421, 200),
            ("evil.example:7483", 421, 421),
            ("nas.evil.example", 421, 421),
            ("localhost.evil.example", 421, 421),
            ("127.0.0.1.evil.example", 421, 421),
            ("127.0.0.1:7483@evil.example", 421, 421),
            ("[::1", 421, 421),
            ("127.0.0.1:x", 421, 421),
            ("", 421, 421),
        ] {
            let asked = |bound| status(&at(bound), Method::GET, "/", &[("host", host)]);
            assert_eq!(asked("127.0.0.1:7483"), on_loopback, "{host}");
            assert_eq!(asked("0.0.0.0:7483"), elsewhere, "{host}");
        }
        let guard = at("127.0.0.1:7483");
        assert_eq!(status(&guard, Method::GET, "/", &[]), 421);
        let twice = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(status(&guard, Method::GET, "/", &twice), 421);
        let absolute = "http://evil.example/";
        assert_eq!(status(&guard, Method::GET, absolute, &[("host", "localhost")]), 421);
    }

    #[test]
    fn other_sites_may_link_here_and_nothing_else() {
        let guard = Guard::new("127.0.0.1:7483".parse().unwrap(), &[], None);
        let host = ("host", "localhost:7483");
        let own = "http://localhost:7483";
        for (pairs, read, changed) in [
            (&[][..], 200, 403),
            (&[("origin", own)], 200, 200),
            (&[("sec-fetch-site", "same-origin")], 200, 200),
            (&[("sec-fetch-site", "none")], 200, 403),
            (&[("origin", own), ("sec-fetch-site", "same-origin")], 200, 200),
            (&[("origin", "http://localhost:8000")], 200, 403),
            (&[("origin", "http://evil.example")], 200, 403),
            (&[("origin", "null")], 200, 403),
            (&[("origin", "null"), ("sec-fetch-site", "same-origin")], 200, 403),
            (&[("origin", own), ("origin", "http://evil.example")], 200, 403),
            (&[("origin", own), ("sec-fetch-site", "cross-site")], 403, 403),
            (&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")], 200, 403),
            (&[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")], 403, 403),
        ] {
            let all = [&[host], pairs].concat();
            assert_eq!(status(&guard, Method::GET, "/", &all), read, "{pairs:?}");
            assert_eq!(status(&guard, Method::POST, "/measure", &all), changed, "{pairs:?}");
        }
    }

    #[test]
    fn token_is_needed_to_see_anything() {
        let token = AccessToken::random().unwrap();
        let (digits, cookie) = (token.digits().to_string(), token.of_cookie().to_string());
        let guard = Guard::new("0.0.0.0:7483".parse().unwrap(), &[], Some(token));
        assert!(guard.cookie().contains(&cookie) && !guard.cookie().contains(&digits));
        let get = |path: &str, cookie: &str| {
            status(&guard, Method::GET, path, &[("host", "10.0.0.1"), ("cookie", cookie)])
        };
        assert_eq!(get("/", ""), 403);
        assert_eq!(get("/serve.css", "drivescope-7483=0"), 403);
        assert_eq!(get(&format!("/?token={digits}"), ""), 201);
        assert_eq!(get(&format!("/?token={}", &digits[1..]), ""), 403);
        let own = format!("a=b; drivescope-7483={cookie}");
        assert_eq!((get("/", &own), get(&format!("/?token={digits}"), &own)), (200, 201));
        assert_eq!(get("/", &format!("drivescope-7483={digits}")), 403);
        assert_eq!(get("/", &format!("drivescope-80={cookie}")), 403);
        let bearer = |method: Method, path: &str, sent: &str| {
            let origin = ("origin", "http://10.0.0.1");
            let headers = [("host", "10.0.0.1"), origin, ("authorization", sent)];
            status(&guard, method, path, &headers)
        };
        let sent = format!("Bearer {digits}");
        assert_eq!(bearer(Method::GET, "/metrics", &sent), 200);
        assert_eq!(bearer(Method::GET, "/metrics", &sent[..sent.len() - 1]), 403);
        assert_eq!(bearer(Method::GET, "/metrics", &digits), 403);
        assert_eq!(bearer(Method::GET, "/metrics", &format!("Bearer {cookie}")), 403);
        assert_eq!(bearer(Method::POST, "/measure", &sent), 403);
        let post = [("host", "10.0.0.1"), ("origin", "http://10.0.0.1")];
        let with_token = format!("/measure?token={digits}");
        assert_eq!(status(&guard, Method::POST, &with_token, &post), 403);
    }

    #[test]
    fn token_leaves_the_address_and_nothing_else_does() {
        for (address, without) in [
            ("/?token=ab", "/"),
            ("/runs?search=a+b&token=ab&page=2", "/runs?search=a+b&page=2"),
            ("/compare?run=1&run=2&token=ab", "/compare?run=1&run=2"),
            ("//evil.example/?token=ab", "/evil.example/"),
        ] {
            assert_eq!(without_token(&address.parse().unwrap()), without);
        }
    }
}
