//! Words of commands that messages suggest.

/// A word, quoted where a shell needs that.
pub fn quoted(word: &str) -> String {
    if word.chars().all(|c| c.is_alphanumeric() || "/._-+,:@%=".contains(c)) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
