//! The way of a client's statements to the server: each is sent with one call and waited for with one, and takes no
//! memory of its own.
//!
//! tokio's client logs in. Its statements are not used: they allocate a dozen times each, take a second reading call
//! for rows of a page, and with tokio's sockets the thread wakes once more for each. With server and clients on the
//! same processors that cost up to a quarter of the commits.

use super::messages::{self, ServerSaid, ValueForm, from_server};
use super::socket::Socket;
use super::{KIND, said, words};
use crate::SqlError;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tokio_postgres::{CancelToken, Config, NoTls};

/// Bytes that are read at once: a row of 8,000 bytes and the messages around it come in one call.
const READ_BYTES: usize = 16 << 10;
/// A message's letter and length; the length counts itself.
const HEAD_BYTES: usize = 5;
const LENGTH_BYTES: usize = 4;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ServerAnswer {
    pub rows: u64,
    pub bytes: usize,
}

pub(super) struct Line {
    socket: Socket,
    out: Vec<u8>,
    /// The bytes received, and the part not parsed yet.
    come: Box<[u8]>,
    from: usize,
    to: usize,
}

/// On a socket every future of the client is ready at the first poll.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(end) = future.as_mut().poll(&mut context) {
            return end;
        }
    }
}

fn broken(error: &io::Error) -> SqlError {
    SqlError::of_end(KIND, format!("error communicating with the server: {error}"))
}

impl Line {
    /// Logs in; also returns the handle that cancels its statements.
    pub fn open(config: &Config) -> Result<(Self, CancelToken), SqlError> {
        fn ended(error: io::Error) -> SqlError {
            SqlError::of_end(KIND, error.to_string())
        }
        let socket = Socket::open(config).map_err(ended)?;
        let kept = socket.again().map_err(ended)?;
        let login = now(config.connect_raw(socket, NoTls));
        let (client, _) = login.map_err(|error| SqlError::of_end(KIND, words(&error)))?;
        Ok((Self::over(kept), client.cancel_token()))
    }

    /// On a socket where the server waits for statements.
    fn over(socket: Socket) -> Self {
        let come = vec![0; READ_BYTES].into_boxed_slice();
        Self { socket, out: Vec::new(), come, from: 0, to: 0 }
    }

    /// Gets a statement ready under a name, instead of one that had it before.
    pub fn prepare(&mut self, statement: &str, text: &str) -> Result<(), SqlError> {
        self.out.clear();
        messages::forget(&mut self.out, statement);
        messages::parse(&mut self.out, statement, text);
        self.ask().map(|_| ())
    }

    /// Runs a statement that is ready, and fetches all of its rows.
    pub fn run<'v>(
        &mut self,
        statement: &str,
        form: ValueForm,
        values: impl ExactSizeIterator<Item = &'v [u8]>,
    ) -> Result<ServerAnswer, SqlError> {
        self.out.clear();
        messages::run(&mut self.out, statement, form, values);
        self.ask()
    }

    /// Sends the prepared bytes, and waits until the server is ready again.
    fn ask(&mut self) -> Result<ServerAnswer, SqlError> {
        messages::sync(&mut self.out);
        self.socket.write(&self.out).map_err(|error| broken(&error))?;
        let (mut answer, mut failed) = (ServerAnswer::default(), None);
        loop {
            let (kind, len) = match self.head() {
                Ok(head) => head,
                // Its last message is why it ended.
                Err(error) => return Err(failed.unwrap_or(error)),
            };
            match kind {
                from_server::ROW => {
                    let start = self.peek(len.min(2))?;
                    let columns = start.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
                    answer.rows += 1;
                    answer.bytes += len.saturating_sub(2 + columns * LENGTH_BYTES);
                }
                from_server::ERROR => {
                    let body = self.peek(len.min(READ_BYTES))?;
                    failed = failed.or(Some(said(&ServerSaid::read(body))));
                }
                from_server::COPY_IN => {
                    self.out.clear();
                    messages::refuse_copy(&mut self.out, "there are no data to copy");
                    messages::sync(&mut self.out);
                    self.socket.write(&self.out).map_err(|error| broken(&error))?;
                }
                _ => {}
            }
            self.skip(len)?;
            if kind == from_server::READY {
                return failed.map_or(Ok(answer), Err);
            }
        }
    }

    /// The letter of the next message, and the length of its body.
    fn head(&mut self) -> Result<(u8, usize), SqlError> {
        let head = self.peek(HEAD_BYTES)?;
        let len = head[1..].iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        let kind = head[0];
        self.skip(HEAD_BYTES)?;
        Ok((kind, len.saturating_sub(LENGTH_BYTES)))
    }

    /// The next bytes, which stay; at most as many as are read at once.
    fn peek(&mut self, len: usize) -> Result<&[u8], SqlError> {
        if self.come.len() - self.from < len {
            self.come.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        while self.to - self.from < len {
            self.read()?;
        }
        Ok(&self.come[self.from..self.from + len])
    }

    fn skip(&mut self, len: usize) -> Result<(), SqlError> {
        let mut left = len;
        loop {
            let here = left.min(self.to - self.from);
            self.from += here;
            left -= here;
            if self.from == self.to {
                (self.from, self.to) = (0, 0);
            }
            if left == 0 {
                return Ok(());
            }
            self.read()?;
        }
    }

    fn read(&mut self) -> Result<(), SqlError> {
        match self.socket.read(&mut self.come[self.to..]) {
            Ok(0) => Err(SqlError::of_end(KIND, "connection closed".to_string())),
            Ok(count) => {
                self.to += count;
                Ok(())
            }
            Err(error) => Err(broken(&error)),
        }
    }

    /// Ends a connection's statement, over a connection of its own.
    pub fn cancel(config: &Config, token: &CancelToken) -> io::Result<()> {
        // It may have ended already.
        let _ = now(token.cancel_query_raw(Socket::open(config)?, NoTls));
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.out.clear();
        messages::terminate(&mut self.out);
        // A server that has ended does not hear it.
        let _ = self.socket.write(&self.out);
    }
}

#[cfg(test)]
mod tests;
