//! The words of an expression, each with its column.

use super::SelectorError;

/// Longer expressions are mistakes.
const LENGTH_MAX: usize = 10_000;
/// Between words, beside blanks.
const SIGNS: &str = "()=!<>~&|\"'";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    Open,
    Close,
    And,
    Or,
    Not,
    /// `=`, `!=`, `=~`, `!~`, `<`, `<=`, `>`, `>=`.
    Operator(&'static str),
    /// The name of a field, or a value.
    Bare(String),
    /// A value.
    Quoted(String),
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedWord {
    pub(super) column: usize,
    pub(super) word: Word,
}

/// With [`Word::End`] at the end.
pub(super) fn words(text: &str) -> Result<Vec<PlacedWord>, SelectorError> {
    let letters: Vec<char> = text.chars().take(LENGTH_MAX + 1).collect();
    if letters.len() > LENGTH_MAX {
        let message = format!("the expression is too long: {LENGTH_MAX} characters at most");
        return Err(SelectorError { column: LENGTH_MAX + 1, message });
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        if letters[at].is_whitespace() {
            at += 1;
            continue;
        }
        let (word, length) =
            word_at(&letters[at..]).map_err(|message| SelectorError { column: at + 1, message })?;
        found.push(PlacedWord { column: at + 1, word });
        at += length;
    }
    found.push(PlacedWord { column: letters.len() + 1, word: Word::End });
    Ok(found)
}

/// The word at the start of `letters`, which begin with none of the blanks, and its length.
fn word_at(letters: &[char]) -> Result<(Word, usize), String> {
    let second = letters.get(1).copied();
    Ok(match (letters[0], second) {
        ('(', _) => (Word::Open, 1),
        (')', _) => (Word::Close, 1),
        ('=', Some('~')) => (Word::Operator("=~"), 2),
        ('=', Some('=')) => (Word::Operator("="), 2),
        ('=', _) => (Word::Operator("="), 1),
        ('!', Some('=')) => (Word::Operator("!="), 2),
        ('!', Some('~')) => (Word::Operator("!~"), 2),
        ('!', _) => (Word::Not, 1),
        ('<', Some('=')) => (Word::Operator("<="), 2),
        ('<', _) => (Word::Operator("<"), 1),
        ('>', Some('=')) => (Word::Operator(">="), 2),
        ('>', _) => (Word::Operator(">"), 1),
        ('&', Some('&')) => (Word::And, 2),
        ('|', Some('|')) => (Word::Or, 2),
        (quote @ ('"' | '\''), _) => quoted(letters, quote)?,
        (sign, _) if SIGNS.contains(sign) => {
            return Err(format!("unexpected '{sign}'; put values with such signs into quotes"));
        }
        _ => bare(letters),
    })
}

/// A backslash stands for itself, as patterns need it, but before a quote.
fn quoted(letters: &[char], quote: char) -> Result<(Word, usize), String> {
    let mut text = String::new();
    let mut at = 1;
    while let Some(&letter) = letters.get(at) {
        match letter {
            '\\' if letters.get(at + 1) == Some(&quote) => {
                text.push(quote);
                at += 1;
            }
            _ if letter == quote => return Ok((Word::Quoted(text), at + 1)),
            _ => text.push(letter),
        }
        at += 1;
    }
    Err(format!("the quote {quote} is not closed"))
}

fn bare(letters: &[char]) -> (Word, usize) {
    let is_inner = |letter: &&char| !letter.is_whitespace() && !SIGNS.contains(**letter);
    let text: String = letters.iter().take_while(is_inner).collect();
    let length = text.chars().count();
    let word = match text.to_ascii_lowercase().as_str() {
        "and" => Word::And,
        "or" => Word::Or,
        "not" => Word::Not,
        _ => Word::Bare(text),
    };
    (word, length)
}
