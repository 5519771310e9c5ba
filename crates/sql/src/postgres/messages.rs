//! The messages of PostgreSQL's protocol, version 3, that a prepared statement needs.

/// A message to the server: its letter, its length, and the bytes of `body`.
fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let len = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
}

fn name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(name.as_bytes());
    out.push(0);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueForm {
    Text = 0,
    /// In the type's own form: numbers from the highest byte.
    Binary = 1,
}

/// Frees the name of a statement; a missing one is not an error.
pub(super) fn forget(out: &mut Vec<u8>, statement: &str) {
    message(out, b'C', |out| {
        out.push(b'S');
        name(out, statement);
    });
}

/// Gets `text` ready under a name; the server finds the types of its parameters itself.
pub(super) fn parse(out: &mut Vec<u8>, statement: &str, text: &str) {
    message(out, b'P', |out| {
        name(out, statement);
        name(out, text);
        out.extend_from_slice(&0u16.to_be_bytes());
    });
}

/// Runs a statement that is ready, with these values, and requests all rows in binary form.
pub(super) fn run<'v>(
    out: &mut Vec<u8>,
    statement: &str,
    form: ValueForm,
    values: impl ExactSizeIterator<Item = &'v [u8]>,
) {
    message(out, b'B', |out| {
        name(out, "");
        name(out, statement);
        // One form for all values, and one for all columns.
        out.extend_from_slice(&1u16.to_be_bytes());
        out.extend_from_slice(&(form as u16).to_be_bytes());
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for value in values {
            out.extend_from_slice(&(value.len() as u32).to_be_bytes());
            out.extend_from_slice(value);
        }
        out.extend_from_slice(&1u16.to_be_bytes());
        out.extend_from_slice(&(ValueForm::Binary as u16).to_be_bytes());
    });
    message(out, b'E', |out| {
        name(out, "");
        out.extend_from_slice(&0u32.to_be_bytes());
    });
}

/// Ends a group of messages; the server answers that it is ready.
pub(super) fn sync(out: &mut Vec<u8>) {
    message(out, b'S', |_| {});
}

/// Refuses the data that a COPY wants.
pub(super) fn refuse_copy(out: &mut Vec<u8>, why: &str) {
    message(out, b'f', |out| name(out, why));
}

pub(super) fn terminate(out: &mut Vec<u8>) {
    message(out, b'X', |_| {});
}

/// Kinds of messages from the server that matter here; of others only the length does.
pub(super) mod from_server {
    /// A row: how many columns, then each with its length.
    pub(in super::super) const ROW: u8 = b'D';
    pub(in super::super) const ERROR: u8 = b'E';
    pub(in super::super) const READY: u8 = b'Z';
    pub(in super::super) const COPY_IN: u8 = b'G';
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServerSaid {
    /// Its code (SQLSTATE).
    pub code: String,
    pub message: String,
}

impl ServerSaid {
    /// Reads the body of an error: fields of a letter and a text each.
    pub fn read(body: &[u8]) -> Self {
        let mut said = Self::default();
        for field in body.split(|&byte| byte == 0) {
            let Some((letter, text)) = field.split_first() else { continue };
            let text = || String::from_utf8_lossy(text).into_owned();
            match letter {
                b'C' => said.code = text(),
                b'M' => said.message = text(),
                _ => {}
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_lengths_that_the_protocol_wants() {
        let mut out = Vec::new();
        forget(&mut out, "s");
        parse(&mut out, "s", "SELECT 1");
        assert_eq!(out, b"C\0\0\0\x07Ss\0P\0\0\0\x11s\0SELECT 1\0\0\0");
        out.clear();
        run(&mut out, "s", ValueForm::Binary, [&7i64.to_be_bytes()[..]].into_iter());
        let bind = b"B\0\0\0\x1d\0s\0\0\x01\0\x01\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x07\0\x01\0\x01";
        assert_eq!(out, [&bind[..], b"E\0\0\0\x09\0\0\0\0\0"].concat());
        out.clear();
        sync(&mut out);
        terminate(&mut out);
        refuse_copy(&mut out, "no");
        assert_eq!(out, b"S\0\0\0\x04X\0\0\0\x04f\0\0\0\x07no\0");
    }

    #[test]
    fn an_error_is_its_code_and_its_words() {
        let said =
            ServerSaid::read(b"SERROR\0VERROR\0C42P01\0Mrelation \"x\" does not exist\0P15\0\0");
        let wanted = ("42P01".to_string(), "relation \"x\" does not exist".to_string());
        assert_eq!((said.code, said.message), wanted);
        assert_eq!(ServerSaid::read(b"\0"), ServerSaid::default());
    }
}
