//! Arguments of `serve`.

use super::StoreArguments;
use clap::Args;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The port, unless another one is named.
const PORT: u16 = 7483;

pub const EXAMPLES: &str = "\
Examples:
  drivescope serve                         for this machine, port 7483
  drivescope serve --listen :0             any port that is free
  drivescope serve --listen 0.0.0.0:7483   for others too, with a token

From elsewhere without a token in the network:
  ssh -L 7483:localhost:7483 MACHINE, then http://localhost:7483/";

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Address and port; either may be omitted. On another address than this machine's own (127.0.0.1, ::1) the pages
    /// ask for a token, which the printed address has.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7483", value_parser = listen)]
    pub listen: SocketAddr,
    /// A name that leads here, such as that of a proxy (may be repeated). Other names are refused.
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Ask for a token also on this machine's own address: other users of the machine can reach it.
    #[arg(long)]
    pub token: bool,
    /// Ask for the token in this file, which stays the same when serve is started again, as collectors of metrics need
    /// it: 16 letters and digits or more, readable by its owner alone.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Reads an address: `127.0.0.1:80`, `[::1]:80`, `localhost:80`, `:80`, `80`, `127.0.0.1`.
fn listen(text: &str) -> Result<SocketAddr, String> {
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if let Ok(whole) = text.parse() {
        return Ok(whole);
    }
    if let Ok(address) = text.trim_matches(['[', ']']).parse() {
        return Ok(SocketAddr::new(address, PORT));
    }
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) => (name, port),
        None if text == "localhost" => (text, ""),
        None => ("", text),
    };
    let port = if port.is_empty() { Ok(PORT) } else { port.parse() };
    match (name, port) {
        ("" | "localhost", Ok(port)) => Ok(SocketAddr::new(local, port)),
        _ => Err("name an IP address and a port, such as 127.0.0.1:7483".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_part_of_an_address_may_be_omitted() {
        for (text, whole) in [
            ("127.0.0.1:80", Some("127.0.0.1:80")),
            ("0.0.0.0", Some("0.0.0.0:7483")),
            ("[::1]:80", Some("[::1]:80")),
            ("::1", Some("[::1]:7483")),
            ("[::]", Some("[::]:7483")),
            (":0", Some("127.0.0.1:0")),
            ("8080", Some("127.0.0.1:8080")),
            ("localhost", Some("127.0.0.1:7483")),
            ("localhost:8080", Some("127.0.0.1:8080")),
            ("nas:8080", None),
            ("nas", None),
            ("70000", None),
            ("127.0.0.1:x", None),
        ] {
            let parsed = listen(text).ok().map(|address| address.to_string());
            assert_eq!(parsed.as_deref(), whole, "{text}");
        }
    }
}
