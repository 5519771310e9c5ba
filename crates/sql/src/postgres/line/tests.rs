use super::*;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// A line, and a thread that sends `answer` in pieces of `piece` bytes as soon as a request came; returns the request.
fn beside(answer: Vec<u8>, piece: usize) -> (Line, std::thread::JoinHandle<Vec<u8>>) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let server = std::thread::spawn(move || {
        let mut asked = vec![0; 4096];
        let count = theirs.read(&mut asked).unwrap();
        asked.truncate(count);
        answer.chunks(piece).for_each(|part| theirs.write_all(part).unwrap());
        asked
    });
    (Line::over(Socket::Unix(ours)), server)
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn row(bytes: usize) -> Vec<u8> {
    let head = [0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7];
    message(b'D', &[&head[..], &(bytes as u32).to_be_bytes(), &vec![b'x'; bytes]].concat())
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

#[test]
fn rows_are_counted_however_they_come() {
    let long = READ_BYTES * 3 + 1;
    let answer = [message(b'2', b""), row(8_000), row(long), message(b'C', b"SELECT 2\0"), ready()];
    for piece in [1, 7, 4096, READ_BYTES - 3, usize::MAX] {
        let (mut line, server) = beside(answer.concat(), piece);
        let values = [&7i64.to_be_bytes()[..]];
        let got = line.run("seek", ValueForm::Binary, values.into_iter()).unwrap();
        assert_eq!(got, ServerAnswer { rows: 2, bytes: 8_000 + long + 16 }, "in pieces of {piece}");
        let asked = server.join().unwrap();
        assert!(asked.starts_with(b"B") && asked.ends_with(b"S\0\0\0\x04"), "{asked:?}");
    }
}

#[test]
fn error_is_reported_when_server_is_ready() {
    let error = message(b'E', b"SERROR\0C42P01\0Mno such table\0\0");
    let (mut line, server) = beside([error, ready()].concat(), 5);
    let end = line.prepare("seek", "SELECT 1").unwrap_err();
    assert_eq!(end.to_string(), "PostgreSQL: no such table");
    server.join().unwrap();
    let full = message(b'E', b"C53100\0Mcould not extend file: No space left on device\0\0");
    let (mut line, _server) = beside([full, ready()].concat(), usize::MAX);
    assert!(matches!(line.prepare("s", "INSERT"), Err(SqlError::NoSpace { .. })));
}

#[test]
fn a_server_that_ends_says_why_if_it_can() {
    fn why(answer: Vec<u8>) -> String {
        let (mut line, server) = beside(answer, usize::MAX);
        let end = line.prepare("seek", "SELECT 1").unwrap_err();
        server.join().unwrap();
        assert!(matches!(end, SqlError::ServerEnded { .. }), "{end:?}");
        end.to_string()
    }
    let last = message(b'E', b"SFATAL\0C57P01\0Mterminating connection\0\0");
    assert_eq!(why(last), "the PostgreSQL server ended: terminating connection");
    assert_eq!(why(row(100)[..40].to_vec()), "the PostgreSQL server ended: connection closed");
}

/// A statement that wants data would be waited for forever.
#[test]
fn a_copy_gets_no_data() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let server = std::thread::spawn(move || {
        let mut asked = [0; 4096];
        let _ = theirs.read(&mut asked).unwrap();
        theirs.write_all(&message(b'G', &[0, 0, 0])).unwrap();
        let count = theirs.read(&mut asked).unwrap();
        theirs.write_all(&message(b'E', b"C57014\0MCOPY failed\0\0")).unwrap();
        theirs.write_all(&ready()).unwrap();
        asked[..count].to_vec()
    });
    let mut line = Line::over(Socket::Unix(ours));
    let end = line.run("copy", ValueForm::Text, [].into_iter()).unwrap_err();
    assert_eq!(end.to_string(), "PostgreSQL: COPY failed");
    let refused = server.join().unwrap();
    assert!(refused.starts_with(b"f") && refused.ends_with(b"S\0\0\0\x04"), "{refused:?}");
}
