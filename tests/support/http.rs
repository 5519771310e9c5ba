//! The server of `serve`, and a client that sends exactly what a test says.

use super::{Running, Scratch, must_have, wait_for};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read, Write, pipe};
use std::net::TcpStream;
use std::time::Duration;

/// A locked store is waited for 5 s.
const PATIENCE: Duration = Duration::from_secs(60);

/// `drivescope serve` on a free port.
pub struct Server {
    running: Running,
    /// `127.0.0.1:PORT`.
    pub host: String,
    /// The printed address.
    pub address: String,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Server {
    pub fn start(scratch: &Scratch, options: &[&str]) -> Self {
        let (reader, writer) = pipe().expect("a pipe can be made");
        let is_placed = options.iter().any(|option| option.starts_with("--listen"));
        let place: &[&str] = if is_placed { &[] } else { &["--listen", ":0"] };
        let call = scratch.call(&["serve"]).arguments(place).arguments(options);
        let running = call.output_to(writer).start();
        let mut address = String::new();
        BufReader::new(reader).read_line(&mut address).expect("a pipe can be read");
        let address = address.trim().to_string();
        let host = address.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let host = host.unwrap_or_else(|| panic!("no address: '{address}'")).to_string();
        Self { running, host, address }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is a socket");
        stream
    }

    /// Sends these bytes, and reads to the end of the connection.
    pub fn send(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        // A server that has seen enough may not read all of it.
        let _ = stream.write_all(request.as_bytes());
        read_answer(stream)
    }

    /// A request with additional headers.
    pub fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let has_host = headers.iter().any(|header| header.to_lowercase().starts_with("host:"));
        let host = if has_host { String::new() } else { format!("Host: {}\r\n", self.host) };
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    /// Sends a form as the server's pages do.
    pub fn post(&self, path: &str, form: &str) -> Answer {
        let origin = format!("Origin: http://{}", self.host);
        self.ask("POST", path, &[&origin], form)
    }

    pub fn wait_for(&self, path: &str, part: &str) -> String {
        wait_for(part, || Some(self.get(path).body).filter(|body| body.contains(part)))
    }

    /// Ends it with Ctrl-C and checks the exit code; returns standard error.
    pub fn end(self, code: i32) -> String {
        self.running.signal(Signal::INT);
        self.running.end().code(code).stderr
    }
}

pub fn read_answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // One that is cut off may have said something before.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_string(), body: body.to_string() }
}

impl Answer {
    #[track_caller]
    pub fn status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    #[track_caller]
    pub fn has(self, parts: &[&str]) -> Self {
        must_have(&self.body, parts);
        self
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, it)| it)
    }
}
