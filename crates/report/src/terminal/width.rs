//! Columns of a text on a terminal. Names of drives, labels and paths come from outside: [`clean`] removes everything
//! that could move the cursor or reorder the line.

use std::borrow::Cow;
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthChar;

/// Line width in pipes: every terminal, mail and issue tracker shows it whole.
pub const WIDTH: usize = 80;

/// Replaces characters that must not reach a terminal.
const REPLACEMENT: char = '\u{FFFD}';

/// Columns of `text` by Unicode's East Asian Width (UAX #11).
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    match c {
        // Turns the symbol before it into a picture, which most terminals draw wider.
        '\u{FE0F}' => 1,
        c => c.width().unwrap_or(0),
    }
}

/// Removes everything that could move the cursor, colour or reorder a line: white space becomes a space, other control
/// and invisible format characters become `U+FFFD`.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| replaced(c) == c) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().map(replaced).collect())
    }
}

fn replaced(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' | '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        '\u{AD}'
        | '\u{61C}'
        | '\u{180E}'
        | '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{FEFF}'
        | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}' => REPLACEMENT,
        c if c.is_control() => REPLACEMENT,
        c => c,
    }
}

/// At most `room` columns, with `…` for the middle: both ends of a path or a model name say more.
pub fn shorten(text: &str, room: usize) -> Cow<'_, str> {
    if width(text) <= room {
        return Cow::Borrowed(text);
    }
    if room == 0 {
        return Cow::Borrowed("");
    }
    let kept = room - 1;
    let head = take(text.chars(), kept.div_ceil(2));
    let tail: String = take(text.chars().rev(), kept / 2).chars().rev().collect();
    // A mark without its letter would land on the ellipsis.
    let tail = tail.trim_start_matches(|c| char_width(c) == 0);
    Cow::Owned(format!("{head}…{tail}"))
}

/// Names in at most `room` columns each, their middles left out; where two would look alike, all get as many columns as
/// tell them apart.
pub fn shorten_apart(names: &[String], room: usize) -> Vec<String> {
    let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let at = |room: usize| -> Vec<String> {
        names.iter().map(|name| shorten(name, room).into_owned()).collect()
    };
    let count = names.iter().collect::<BTreeSet<_>>().len();
    let mut rooms = (room.min(longest)..=longest).map(at);
    let apart = rooms.find(|short| short.iter().collect::<BTreeSet<_>>().len() == count);
    apart.unwrap_or_else(|| names.to_vec())
}

fn take(chars: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += char_width(*c);
            used <= room
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn widths_of_known_texts() {
        for (text, columns) in [
            ("", 0),
            ("WD40EFRX-68N32N0", 16),
            ("178 MB/s ± 1.1 µs · ●○ …→█", 26),
            ("e\u{301}te\u{301}", 3),
            ("磁盘 한글", 9),
            ("ＡＢ", 4),
            ("💾", 2),
            ("\u{2764}\u{FE0F}", 2),
        ] {
            assert_eq!(width(text), columns, "{text}");
        }
    }

    #[test]
    fn texts_are_shortened_in_the_middle() {
        assert_eq!(shorten("/srv/very/long/path/to/data", 11), "/srv/…/data");
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("abc", 1), "…");
        assert_eq!(shorten("abc", 0), "");
        assert_eq!(shorten("磁盘磁盘", 5), "磁…盘");
        assert_eq!(shorten("ab\u{301}cde\u{301}", 3), "a…e\u{301}");
    }

    #[test]
    fn shortened_names_stay_distinct() {
        fn names(names: &[&str]) -> Vec<String> {
            names.iter().map(|name| name.to_string()).collect()
        }
        let short = shorten_apart(&names(&["samsung-860evo-1tb", "samsung-870evo-1tb", "a"]), 8);
        assert_eq!(short, ["samsung-860evo-1tb", "samsung-870evo-1tb", "a"]);
        assert_eq!(shorten_apart(&names(&["west-data", "east-data"]), 4), ["we…a", "ea…a"]);
        assert_eq!(shorten_apart(&names(&["the same", "the same"]), 5), ["th…me", "th…me"]);
    }

    #[test]
    fn nothing_that_moves_the_cursor_survives() {
        assert_eq!(clean("a\u{1b}[31mb\tc\nd\u{202e}e"), "a\u{FFFD}[31mb c d\u{FFFD}e");
        assert!(matches!(clean("WD Red · 4 TB"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn shortening_fits_and_keeps_what_fits(text in any::<String>(), room in 0usize..60) {
            let short = shorten(&text, room);
            prop_assert!(width(&short) <= room);
            prop_assert_eq!(width(&text) <= room, short == text);
        }

        #[test]
        fn cleaning_leaves_no_control_character(text in any::<String>()) {
            prop_assert!(!clean(&text).chars().any(char::is_control));
        }
    }
}
