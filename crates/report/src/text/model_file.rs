//! `sim show` on a terminal: the lines of a model's file that are longer than the terminal is wide.

use crate::terminal::{width, wrap};

const HANG: usize = 2;

/// The file with lines of at most `columns`, broken between words. A continued comment is a comment again; long values
/// are broken too, so this is for people, not for programs.
pub fn model_file(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if width(line) <= columns {
            out.push_str(line);
        } else {
            out.push_str(&broken(line, columns));
        }
        out.push('\n');
    }
    out
}

fn broken(line: &str, columns: usize) -> String {
    let (value, comment) = line.split_at(comment_start(line));
    let mut lines: Vec<String> = Vec::new();
    let value = value.trim_end();
    if !value.is_empty() {
        lines.extend(wrap(value, columns, HANG).lines().map(str::to_string));
    }
    let words = comment.trim_start_matches('#').split_whitespace();
    // the first words go behind the value where there is room
    for word in words {
        let fits = |last: &String| width(last) + 1 + width(word) <= columns;
        match lines.last_mut() {
            Some(last) if last.contains('#') && fits(last) => *last += &format!(" {word}"),
            Some(last) if !last.contains('#') && width(last) + 3 + width(word) <= columns => {
                *last += &format!(" # {word}");
            }
            Some(_) if !value.is_empty() => lines.push(format!("{:HANG$}# {word}", "")),
            _ => lines.push(format!("# {word}")),
        }
    }
    lines.join("\n")
}

/// Start of the comment in a line of TOML: the first `#` outside quotes, or the end.
fn comment_start(line: &str) -> usize {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => return at,
            _ => {}
        }
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# a remark that is longer than the narrow terminal on which it is shown here
name = \"a#b\"
rpm = 5400 # published, and confirmed by a user who counted the turns
summary = \"words that stand in one value and need more than one line\" # short
";

    #[test]
    fn lines_that_fit_stay_as_they_are() {
        assert_eq!(model_file(FILE, 200), FILE);
    }

    #[test]
    fn long_lines_break_between_words_as_comments() {
        insta::assert_snapshot!(model_file(FILE, 30), @r##"
        # a remark that is longer than
        # the narrow terminal on which
        # it is shown here
        name = "a#b"
        rpm = 5400 # published, and
          # confirmed by a user who
          # counted the turns
        summary = "words that stand in
          one value and need more than
          one line" # short
        "##);
        for columns in 20..90 {
            let shown = model_file(FILE, columns);
            assert!(shown.lines().all(|line| width(line) <= columns), "{columns}: {shown}");
            let words = |text: &str| -> Vec<String> {
                let words = text.split_whitespace().filter(|word| *word != "#");
                words.map(str::to_string).collect()
            };
            assert_eq!(words(&shown), words(FILE), "{columns}");
        }
    }
}
