//! The way of a client's statements to the server: each is sent with one call and waited for with one.
//!
//! tokio's sockets wake their thread once more for each statement, when the server has taken it out of the socket. With
//! server and clients on the same processors that costs up to a quarter of the commits.

use super::{KIND, words};
use crate::SqlError;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::Host;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{CancelToken, Client, Config, Connection, Error, NoTls};

/// Where PostgreSQL listens unless told otherwise.
const PORT: u16 = 5432;

/// A socket on which calls wait.
enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    /// To the first server that the settings name.
    fn open(config: &Config) -> io::Result<Self> {
        let port = config.get_ports().first().copied().unwrap_or(PORT);
        match config.get_hosts().first() {
            Some(Host::Unix(folder)) => {
                UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).map(Self::Unix)
            }
            Some(Host::Tcp(name)) => {
                let mut end = Err(io::ErrorKind::NotFound.into());
                for address in (name.as_str(), port).to_socket_addrs()? {
                    end = match config.get_connect_timeout() {
                        Some(time) => TcpStream::connect_timeout(&address, *time),
                        None => TcpStream::connect(address),
                    };
                    if end.is_ok() {
                        break;
                    }
                }
                let socket = end?;
                socket.set_nodelay(true)?;
                Ok(Self::Tcp(socket))
            }
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let end = match self {
                Self::Unix(socket) => socket.read(into),
                Self::Tcp(socket) => socket.read(into),
            };
            if !end.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
                return end;
            }
        }
    }

    fn write(&mut self, from: &[u8]) -> io::Result<()> {
        match self {
            Self::Unix(socket) => socket.write_all(from),
            Self::Tcp(socket) => socket.write_all(from),
        }
    }
}

/// A socket that is read only when somebody waits for an answer, once each time.
struct Wire {
    socket: Socket,
    may_wait: Arc<AtomicBool>,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.may_wait.swap(false, Ordering::Relaxed) {
            return Poll::Pending;
        }
        let count = self.socket.read(into.initialize_unfilled())?;
        into.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(self.socket.write(from).map(|()| from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A connection, and what waits on it.
pub(super) struct Line {
    /// `None` when the server has ended it.
    connection: Option<Connection<Wire, NoTlsStream>>,
    may_wait: Arc<AtomicBool>,
}

impl Line {
    /// Connects; the client asks, and is waited for on the line.
    pub fn open(config: &Config) -> Result<(Client, Self), SqlError> {
        let ended = |error: io::Error| SqlError::of_end(KIND, error.to_string());
        let may_wait = Arc::new(AtomicBool::new(false));
        let wire =
            Wire { socket: Socket::open(config).map_err(ended)?, may_wait: Arc::clone(&may_wait) };
        let mut connected = pin!(config.connect_raw(wire, NoTls));
        let mut context = Context::from_waker(Waker::noop());
        let (client, connection) = loop {
            may_wait.store(true, Ordering::Relaxed);
            if let Poll::Ready(end) = connected.as_mut().poll(&mut context) {
                break end.map_err(|error| SqlError::of_end(KIND, words(&error)))?;
            }
        };
        may_wait.store(false, Ordering::Relaxed);
        Ok((client, Self { connection: Some(connection), may_wait }))
    }

    /// Waits for what the client was asked.
    pub fn wait<T>(&mut self, asked: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut asked = pin!(asked);
        let mut context = Context::from_waker(Waker::noop());
        let mut is_sent = false;
        loop {
            if let Poll::Ready(answer) = asked.as_mut().poll(&mut context) {
                return answer;
            }
            // The first turn sends it, each further one waits for the server.
            self.may_wait.store(is_sent, Ordering::Relaxed);
            is_sent = true;
            let Some(connection) = &mut self.connection else { continue };
            if let Poll::Ready(end) = Pin::new(connection).poll(&mut context) {
                // Whoever waits hears of it from the client then.
                self.connection = None;
                end?;
            }
        }
    }

    /// Ends what a connection waits for, by a way of its own.
    pub fn cancel(config: &Config, token: &CancelToken) -> io::Result<()> {
        let may_wait = Arc::new(AtomicBool::new(true));
        let wire = Wire { socket: Socket::open(config)?, may_wait };
        let mut cancelled = pin!(token.cancel_query_raw(wire, NoTls));
        // Everything that it does is done at once.
        let _ = cancelled.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        Ok(())
    }
}
