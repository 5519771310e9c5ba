//! A fake of SQL Server's protocol (MS-TDS 7.3) for tests: it accepts every login, keeps statements as text, and
//! gives the test's answers. It does not parse SQL.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Types of packets.
const BATCH: u8 = 1;
const CALL: u8 = 3;
const ANSWER: u8 = 4;
const LOGIN: u8 = 16;
const PRELOGIN: u8 = 18;
/// The status of a message's last packet.
const IS_LAST: u8 = 1;
/// Types of columns: 8 bytes, text in UTF-16 with its length before it.
const INT8: u8 = 0x7f;
const NVARCHAR: u8 = 0xe7;

#[derive(Debug, Clone)]
pub(super) enum FakeAnswer {
    Done,
    Rows(Vec<Vec<FakeValue>>),
    Fails(u32, &'static str),
    /// Nothing, for as long as the connection is open.
    Silence,
}

#[derive(Debug, Clone)]
pub(super) enum FakeValue {
    Number(i64),
    Text(String),
}

pub(super) fn number(value: i64) -> FakeAnswer {
    FakeAnswer::Rows(vec![vec![FakeValue::Number(value)]])
}

pub(super) fn text(value: &str) -> FakeAnswer {
    FakeAnswer::Rows(vec![vec![FakeValue::Text(value.to_string())]])
}

type MakeAnswer = dyn Fn(&str) -> FakeAnswer + Send + Sync;

/// A server on a port of this machine, until the test ends.
pub(super) struct FakeServer {
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    pub fn start(answers: impl Fn(&str) -> FakeAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (kept, answers): (_, Arc<MakeAnswer>) = (Arc::clone(&asked), Arc::new(answers));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, answers) = (Arc::clone(&kept), Arc::clone(&answers));
                thread::spawn(move || serve(stream, &kept, &*answers));
            }
        });
        Self { port, asked }
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// One connection, to its end.
fn serve(mut stream: TcpStream, asked: &Mutex<Vec<String>>, answers: &MakeAnswer) {
    while let Some((kind, body)) = message(&mut stream) {
        let answer = match kind {
            PRELOGIN => prelogin(),
            LOGIN => match answers("LOGIN") {
                FakeAnswer::Fails(code, why) => failure(code, why),
                _ => [login_ack(), done(0, 0)].concat(),
            },
            BATCH | CALL => {
                let text = if kind == BATCH { batch_text(&body) } else { call_text(&body) };
                asked.lock().unwrap().push(text.clone());
                match answers(&text) {
                    FakeAnswer::Done => done(0, 0),
                    FakeAnswer::Rows(rows) => result_set(&rows),
                    FakeAnswer::Fails(code, why) => failure(code, why),
                    FakeAnswer::Silence => continue,
                }
            }
            other => panic!("a packet of type {other}"),
        };
        if stream.write_all(&packets(&answer)).is_err() {
            break;
        }
    }
}

/// The next message, of one packet or several: its type and contents.
fn message(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut body = Vec::new();
    loop {
        let mut head = [0; 8];
        stream.read_exact(&mut head).ok()?;
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let from = body.len();
        body.resize(from + length - head.len(), 0);
        stream.read_exact(&mut body[from..]).ok()?;
        if head[1] & IS_LAST != 0 {
            return Some((head[0], body));
        }
    }
}

/// An answer, cut into packets as every client takes them before it negotiates larger ones.
fn packets(answer: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut parts = answer.chunks(4_088).peekable();
    while let Some(part) = parts.next() {
        let status = if parts.peek().is_none() { IS_LAST } else { 0 };
        all.extend([ANSWER, status]);
        all.extend((part.len() as u16 + 8).to_be_bytes());
        all.extend([0, 0, 1, 0]);
        all.extend(part);
    }
    all
}

fn prelogin() -> Vec<u8> {
    let options = [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff];
    [&options[..], &[16, 0, 0, 0, 0, 0, 2]].concat()
}

/// A text whose length is a byte.
fn short_text(value: &str) -> Vec<u8> {
    let units: Vec<u16> = value.encode_utf16().collect();
    std::iter::once(units.len() as u8).chain(units.iter().flat_map(|it| it.to_le_bytes())).collect()
}

/// A text whose length is two bytes: in `each`, 1 for letters, 2 for bytes.
fn long_text(value: &str, each: u16) -> Vec<u8> {
    let units: Vec<u16> = value.encode_utf16().collect();
    let length = (units.len() as u16 * each).to_le_bytes();
    length.into_iter().chain(units.iter().flat_map(|it| it.to_le_bytes())).collect()
}

fn token(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u16).to_le_bytes()[..], body].concat()
}

fn login_ack() -> Vec<u8> {
    let version = 0x730b_0003_u32.to_be_bytes();
    token(0xad, &[&[1], &version[..], &short_text("fake"), &[0, 0, 0, 16]].concat())
}

fn done(status: u16, rows: u64) -> Vec<u8> {
    [&[0xfd], &status.to_le_bytes()[..], &[0, 0], &rows.to_le_bytes()].concat()
}

fn failure(code: u32, why: &str) -> Vec<u8> {
    let said = [long_text(why, 1), short_text("fake"), short_text("")].concat();
    let body = [&code.to_le_bytes()[..], &[1, 16], &said, &1u32.to_le_bytes()].concat();
    [token(0xaa, &body), done(2, 0)].concat()
}

fn result_set(rows: &[Vec<FakeValue>]) -> Vec<u8> {
    let first = rows.first().map_or(&[][..], Vec::as_slice);
    let mut all = vec![0x81];
    all.extend((first.len() as u16).to_le_bytes());
    for cell in first {
        all.extend([0; 6]);
        match cell {
            FakeValue::Number(_) => all.push(INT8),
            // 8,000 bytes at most; a collation of Latin letters.
            FakeValue::Text(_) => all.extend([NVARCHAR, 0x40, 0x1f, 9, 4, 0xd0, 0, 0x34]),
        }
        all.extend(short_text("x"));
    }
    for row in rows {
        all.push(0xd1);
        for cell in row {
            match cell {
                FakeValue::Number(value) => all.extend(value.to_le_bytes()),
                FakeValue::Text(value) => all.extend(long_text(value, 2)),
            }
        }
    }
    all.extend(done(0x10, rows.len() as u64));
    all
}

fn utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> =
        bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).unwrap()
}

/// The part of a request after its headers, which begin with their length.
fn after_headers(body: &[u8]) -> &[u8] {
    let length = u32::from_le_bytes([body[0], body[1], body[2], body[3]]);
    &body[length as usize..]
}

fn batch_text(body: &[u8]) -> String {
    utf16(after_headers(body))
}

/// The statement of a call of sp_executesql: its first parameter, a text.
fn call_text(body: &[u8]) -> String {
    let call = after_headers(body);
    assert_eq!(call[..4], [0xff, 0xff, 10, 0], "it calls sp_executesql");
    // Flags of the call; name and flags of the parameter; its type.
    let parameter = &call[6..];
    let name = 1 + usize::from(parameter[0]) * 2;
    let value = &parameter[name + 1..];
    assert_eq!(value[0], NVARCHAR, "a text");
    let length = usize::from(u16::from_le_bytes([value[8], value[9]]));
    match length {
        // Of unknown length: the length of all, then the length of the first piece.
        _ if value[1..3] == [0xff, 0xff] => {
            let piece = u32::from_le_bytes([value[16], value[17], value[18], value[19]]);
            utf16(&value[20..20 + piece as usize])
        }
        _ => utf16(&value[10..10 + length]),
    }
}
