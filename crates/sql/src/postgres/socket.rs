//! A socket to the server on which calls wait: tokio's client logs in over it, then statements use it.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

const PORT: u16 = 5432;

/// A socket on which calls wait.
#[derive(Debug)]
pub(super) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    /// To the first server that the settings name.
    pub fn open(config: &Config) -> io::Result<Self> {
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

    /// A second descriptor of the socket.
    pub fn again(&self) -> io::Result<Self> {
        match self {
            Self::Unix(socket) => socket.try_clone().map(Self::Unix),
            Self::Tcp(socket) => socket.try_clone().map(Self::Tcp),
        }
    }

    /// Waits for some bytes; 0 when the server has ended the connection.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
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

    pub fn write(&mut self, from: &[u8]) -> io::Result<()> {
        match self {
            Self::Unix(socket) => socket.write_all(from),
            Self::Tcp(socket) => socket.write_all(from),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = self.read(into.initialize_unfilled())?;
        into.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(self.write(from).map(|()| from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
