//! Running text in lines that fit: words and unbreakable items, hanging indents, roles.

use crate::terminal::style::{Role, Style};
use crate::terminal::width::{clean, shorten, width};

/// Keeps the words of an item on one line.
const NO_BREAK: char = '\u{A0}';

/// A command up to this length stands on one line with its explanation; every usual terminal has these columns.
const ITEM_MAX: usize = 60;

/// Between the items of a line; left out where a line ends.
pub(crate) const DOT: &str = " · ";

#[derive(Debug, Clone)]
struct Word {
    role: Role,
    text: String,
    /// Printed before the word unless it begins a line.
    separator: &'static str,
    /// Never broken or cut.
    whole: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Paragraph {
    lead: Vec<(Role, String)>,
    words: Vec<Word>,
}

impl Paragraph {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Text at the start of the first line, printed verbatim. It must leave room for words: callers shorten foreign
    /// text in it.
    #[must_use]
    pub(crate) fn lead(mut self, role: Role, text: impl AsRef<str>) -> Self {
        self.lead.push((role, clean(text.as_ref()).into_owned()));
        self
    }

    #[must_use]
    pub(crate) fn text(mut self, role: Role, text: impl AsRef<str>) -> Self {
        for word in clean(text.as_ref()).split(' ').filter(|word| !word.is_empty()) {
            self.words.push(Word { role, text: word.to_string(), separator: " ", whole: false });
        }
        self
    }

    /// An item that ends in a command. Readers copy it, so it is never broken or cut.
    #[must_use]
    pub(crate) fn command(self, role: Role, what: &str, command: &str) -> Self {
        let both = format!("{what} {command}");
        if width(&both) <= ITEM_MAX {
            return self.item(role, both);
        }
        let mut paragraph = self.item(role, what);
        let text = clean(command).replace(' ', &NO_BREAK.to_string());
        paragraph.words.push(Word { role, text, separator: " ", whole: true });
        paragraph
    }

    /// An item that is broken only if longer than a line, with [`DOT`] before it.
    #[must_use]
    pub(crate) fn item(self, role: Role, text: impl AsRef<str>) -> Self {
        self.item_after(DOT, role, text)
    }

    #[must_use]
    pub(crate) fn item_after(
        mut self,
        separator: &'static str,
        role: Role,
        text: impl AsRef<str>,
    ) -> Self {
        let text = clean(text.as_ref()).replace(' ', &NO_BREAK.to_string());
        if !text.is_empty() {
            self.words.push(Word { role, text, separator, whole: false });
        }
        self
    }

    #[must_use]
    pub(crate) fn items<T: AsRef<str>>(
        self,
        role: Role,
        texts: impl IntoIterator<Item = T>,
    ) -> Self {
        texts.into_iter().fold(self, |paragraph, text| paragraph.item(role, text))
    }

    pub(crate) fn has_words(&self) -> bool {
        !self.words.is_empty()
    }

    pub(crate) fn lines_if_words(&self, hang: usize, style: Style) -> String {
        if self.has_words() { self.lines(hang, style) } else { String::new() }
    }

    /// The lines, each ended with a newline; all but the first begin with `hang` spaces.
    pub(crate) fn lines(&self, hang: usize, style: Style) -> String {
        let mut writer = LineWriter { hang, style, fresh: true, ..LineWriter::default() };
        for (role, text) in &self.lead {
            writer.print(*role, text);
        }
        for word in &self.words {
            writer.word(word);
        }
        writer.finish()
    }
}

/// A dim sentence below a table.
pub(crate) fn note(text: impl AsRef<str>, style: Style) -> String {
    Paragraph::new().lead(Role::Dim, "  ").text(Role::Dim, text).lines(2, style)
}

#[derive(Default)]
struct LineWriter {
    out: String,
    /// Text of one role that is not written yet, so that each piece of a line is coloured once.
    piece: (Role, String),
    spaces: usize,
    column: usize,
    fresh: bool,
    hang: usize,
    style: Style,
}

impl LineWriter {
    fn word(&mut self, word: &Word) {
        let room = self.style.columns - self.hang;
        if !word.whole && width(&word.text) > room && word.text.contains(NO_BREAK) {
            let parts = word.text.split(NO_BREAK).filter(|part| !part.is_empty());
            for (i, part) in parts.enumerate() {
                let separator = if i == 0 { word.separator } else { " " };
                self.word(&Word { text: part.to_string(), separator, ..word.clone() });
            }
            return;
        }
        let room = if word.whole || self.style.is_whole { usize::MAX } else { room };
        let text = shorten(&word.text, room).replace(NO_BREAK, " ");
        let separator = if self.fresh { "" } else { word.separator };
        if self.column > self.hang
            && self.column + width(separator) + width(&text) > self.style.columns
        {
            self.paint();
            self.out.push('\n');
            self.spaces = self.hang;
            self.column = self.hang;
        } else {
            self.print(Role::Dim, separator);
        }
        self.print(word.role, &text);
        self.fresh = false;
    }

    fn print(&mut self, role: Role, text: &str) {
        self.column += width(text);
        let inner = text.trim_start_matches(' ');
        self.spaces += text.len() - inner.len();
        let shown = inner.trim_end_matches(' ');
        if !shown.is_empty() {
            if role != self.piece.0 || self.piece.1.is_empty() {
                self.paint();
                self.out.extend(std::iter::repeat_n(' ', self.spaces));
                self.piece.0 = role;
            } else {
                self.piece.1.extend(std::iter::repeat_n(' ', self.spaces));
            }
            self.spaces = 0;
            self.piece.1.push_str(shown);
        }
        self.spaces += inner.len() - shown.len();
    }

    fn paint(&mut self) {
        let (role, text) = std::mem::take(&mut self.piece);
        self.style.paint(&mut self.out, role, &text);
    }

    fn finish(mut self) -> String {
        self.paint();
        // Nothing to see takes no line.
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::width::WIDTH;
    use proptest::prelude::*;

    const PLAIN: Style = Style::PLAIN;

    #[test]
    fn a_command_is_whole_however_long() {
        let path = format!("'/{}/my  runs.db'", "a".repeat(90));
        let command = format!("drivescope show 1 --store {path}");
        let lines = Paragraph::new().command(Role::Dim, "show it:", &command).lines(0, PLAIN);
        assert_eq!(lines, format!("show it:\n{command}\n"));
        let short = Paragraph::new().command(Role::Dim, "show it:", "drivescope show 1");
        assert_eq!(short.lines(0, PLAIN), "show it: drivescope show 1\n");
    }

    #[test]
    fn words_wrap_under_the_hanging_indent() {
        let text = "Compare with the flushed figures of tiny-writes; switch the write cache off \
                    (hdparm -W0) to see the medium.";
        let paragraph = Paragraph::new().lead(Role::Plain, "      → ").text(Role::Plain, text);
        insta::assert_snapshot!(paragraph.lines(8, PLAIN), @r"
              → Compare with the flushed figures of tiny-writes; switch the write cache
                off (hdparm -W0) to see the medium.
        ");
    }

    #[test]
    fn items_stay_whole_and_lose_trailing_dot() {
        let paragraph = Paragraph::new()
            .item(Role::Plain, "5 tests")
            .item(Role::Plain, "about 70 s")
            .item(Role::Plain, "writes 1.07 GB into a folder of its own and removes it")
            .item(Role::Plain, "your files are not touched");
        insta::assert_snapshot!(paragraph.lines(0, PLAIN), @r"
        5 tests · about 70 s · writes 1.07 GB into a folder of its own and removes it
        your files are not touched
        ");
    }

    #[test]
    fn a_word_longer_than_a_line_is_shortened() {
        let out = Paragraph::new().text(Role::Plain, "x".repeat(200)).lines(0, PLAIN);
        assert_eq!(width(out.trim_end()), WIDTH);
        assert!(out.contains('…'));
    }

    #[test]
    fn a_role_is_painted_once_in_each_line() {
        let dim = "what may be skipped goes on for more than a line, and each of its lines is dim";
        let paragraph = Paragraph::new()
            .lead(Role::Dim, "note  ")
            .text(Role::Dim, dim)
            .text(Role::Plain, "at its end")
            .item(Role::Dim, "5 s");
        let out = paragraph.lines(6, Style { colour: true, ..PLAIN });
        let expected = "\x1b[2mnote  what may be skipped goes on for more than a line, and each of its lines is\
                        \x1b[0m\n      \x1b[2mdim\x1b[0m at its end \x1b[2m· 5 s\x1b[0m\n";
        assert_eq!(out, expected);
        assert_eq!(out.replace("\x1b[2m", "").replace("\x1b[0m", ""), paragraph.lines(6, PLAIN));
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide(
            lead in "[a-z ]{0,24}", words in any::<String>(), item in any::<String>(), hang in 0usize..30,
        ) {
            let paragraph = Paragraph::new()
                .lead(Role::Title, &lead)
                .text(Role::Plain, &words)
                .item(Role::Dim, &item);
            for line in paragraph.lines(hang, PLAIN).lines() {
                prop_assert!(width(line) <= WIDTH, "{:?}", line);
            }
        }
    }
}
