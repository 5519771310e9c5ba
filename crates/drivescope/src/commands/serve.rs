//! `serve`: drives, runs and runs in progress as pages for browsers.

mod browser_run;
mod drives_of_machine;
#[cfg(feature = "fleet")]
mod fleet_of_store;
mod local_workbench;

use crate::arguments::ServeArguments;
use crate::exit::{Code, Failure, no_thread};
use crate::signals::RunSignals;
use crate::{output, store_access};
use drivescope_store::{Store, StoreFault, StoreLocation};
use drivescope_web::{AccessToken, Guard, Site};
pub use local_workbench::LocalWorkbench;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

/// Serves until a signal; runs started by browsers are then stopped, and their results are kept.
pub fn serve(arguments: &ServeArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let store = store_access::location(arguments.store.store.as_deref())?;
    check(&store)?;
    let listener = bind(arguments.listen)?;
    let bound = listener.local_addr().map_err(|error| cannot_listen(arguments.listen, &error))?;
    let is_asked = arguments.token || !bound.ip().is_loopback();
    let token = match &arguments.token_file {
        Some(file) => Some(token_in(file)?),
        None => is_asked.then(AccessToken::random).transpose().map_err(no_random)?,
    };
    let machine = machine_name();
    let address = address(bound, machine.as_deref(), token.as_ref());
    let names = [names_of(machine), arguments.allow_host.clone()].concat();
    let guard = Guard::new(bound, &names, token);
    let shown = store.shown();
    let site = Arc::new(Site::new(store.clone(), Box::new(LocalWorkbench::new(store)), guard));
    signals.begin("");
    output::print_line(&address);
    output::note(&drivescope_report::clean(&format!("serving {shown}; Ctrl-C ends")));
    if !bound.ip().is_loopback() {
        output::remark(&exposure(bound));
    }
    let served = drivescope_web::serve(listener, Arc::clone(&site), &signals.stop);
    if site.has_runs() {
        output::note("drivescope: interrupted: saving partial results; Ctrl-C again quits now");
    }
    let was_running = site.stop_runs();
    served.map_err(|error| Failure::usage(no_thread(&error)))?;
    Ok(if was_running { Code::Interrupted } else { Code::Ok })
}

/// The token in `file`. Errors: others can read it, or it is none.
fn token_in(file: &Path) -> Result<AccessToken, Failure> {
    let refuse = |why: String| Failure::usage(format!("--token-file {}: {why}", file.display()));
    let remedy = "make one with: (umask 077; openssl rand -hex 16 > FILE)";
    let read = || Ok((std::fs::metadata(file)?, std::fs::read_to_string(file)?));
    let (found, text) =
        read().map_err(|error: std::io::Error| refuse(format!("{error}; {remedy}")))?;
    if found.permissions().mode() & 0o077 != 0 {
        return Err(refuse("others can read it; chmod 600 it".to_string()));
    }
    let token = AccessToken::kept(text.trim()).map_err(no_random)?;
    token.ok_or_else(|| refuse(format!("not 16 letters and digits or more; {remedy}")))
}

fn no_random(error: std::io::Error) -> Failure {
    Failure::usage(format!("cannot make a token: {error}; check /dev/urandom"))
}

/// Checks that the store works, or does not exist yet. A locked store may be free later, and a server be back.
fn check(store: &StoreLocation) -> Result<(), Failure> {
    match Store::open_existing(store) {
        Err(error) if !matches!(error.fault, StoreFault::Locked | StoreFault::Unreachable) => {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| cannot_listen(address, &error))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    let remedy = "--listen :0 takes a free port";
    let message = match error.kind() {
        ErrorKind::AddrInUse => format!("port {} is in use; {remedy}", address.port()),
        ErrorKind::PermissionDenied => {
            format!("no permission to listen on port {}; {remedy}", address.port())
        }
        ErrorKind::AddrNotAvailable => {
            format!("{} is not an address of this machine; omit --listen", address.ip())
        }
        _ => format!("cannot listen on {address}: {error}; {remedy}"),
    };
    Failure::usage(message)
}

/// The printed address: for a server on all addresses, the one from which this machine reaches others.
fn address(bound: SocketAddr, machine: Option<&str>, token: Option<&AccessToken>) -> String {
    let host = match (bound.ip().is_unspecified(), outgoing(bound.ip())) {
        (false, _) => bound.to_string(),
        (true, Some(outgoing)) => SocketAddr::new(outgoing, bound.port()).to_string(),
        (true, None) => format!("{}:{}", machine.unwrap_or("localhost"), bound.port()),
    };
    let token = token.map_or(String::new(), |token| format!("?token={}", token.digits()));
    format!("http://{host}/{token}")
}

/// Who can reach a server at this address, and what protects it.
fn exposure(bound: SocketAddr) -> String {
    let from = if bound.ip().is_unspecified() {
        "every network of this machine".to_string()
    } else {
        format!("the network of {}", bound.ip())
    };
    format!(
        "reachable from {from}: whoever has the address above sees all runs and can start measurements; nothing is \
         encrypted, so others on the way can read it; safer: ssh -L 7483:localhost:7483 MACHINE drivescope serve"
    )
}

/// The address from which this machine would send to an address reserved for documentation; nothing is sent.
fn outgoing(any: IpAddr) -> Option<IpAddr> {
    let elsewhere = if any.is_ipv4() { "192.0.2.1:9" } else { "[2001:db8::1]:9" };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    socket.connect(elsewhere).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_unspecified())
}

fn machine_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_string()).filter(|name| !name.is_empty())
}

/// Names of this machine, including its name in multicast DNS.
fn names_of(machine: Option<String>) -> Vec<String> {
    machine.into_iter().flat_map(|name| [format!("{name}.local"), name]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_can_be_opened_and_has_the_token() {
        fn at(bound: &str) -> String {
            address(bound.parse().unwrap(), Some("nas"), None)
        }
        fn told(bound: &str) -> String {
            exposure(bound.parse().unwrap())
        }
        assert_eq!(at("127.0.0.1:7483"), "http://127.0.0.1:7483/");
        assert_eq!(at("[::1]:80"), "http://[::1]:80/");
        assert!(!at("0.0.0.0:7483").contains("0.0.0.0"));
        assert!(told("0.0.0.0:7483").contains("every network of this machine"));
        assert!(told("10.1.2.3:80").contains("the network of 10.1.2.3"));
        let token = AccessToken::random().unwrap();
        let with_token = address("10.1.2.3:80".parse().unwrap(), None, Some(&token));
        assert_eq!(with_token, format!("http://10.1.2.3:80/?token={}", token.digits()));
    }
}
