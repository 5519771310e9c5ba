//! Plain messages within the columns of a terminal.

use super::width::width;

/// A message in lines of at most `columns`, broken at spaces; all but the first begin with `hang` spaces. A word longer
/// than a line stays whole: it may be a path that a reader copies.
pub fn wrap(message: &str, columns: usize, hang: usize) -> String {
    let mut out = String::new();
    let (mut column, mut spaces, mut fresh) = (0, 0, true);
    for word in message.split(' ') {
        let wide = width(word);
        if wide > 0 {
            if !fresh && column + spaces + wide > columns {
                out.push('\n');
                (column, spaces) = (0, hang);
            }
            out.extend(std::iter::repeat_n(' ', spaces));
            out.push_str(word);
            column += spaces + wide;
            (spaces, fresh) = (0, false);
        }
        spaces += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    #[test]
    fn messages_wrap_at_spaces_and_keep_long_words() {
        let text =
            "mounts      loop0 is mounted on /srv/a-path-that-is-longer-than-the-line (ext4)";
        insta::assert_snapshot!(wrap(text, 30, 12), @r"
        mounts      loop0 is mounted
                    on
                    /srv/a-path-that-is-longer-than-the-line
                    (ext4)
        ");
        assert_eq!(wrap("/a/path/longer/than/that", 10, 2), "/a/path/longer/than/that");
        assert_eq!(wrap("ends with a space ", 80, 2), "ends with a space");
    }

    proptest! {
        #[test]
        fn wrapped_messages_keep_words_and_fit(
            text in "[a-z ]{0,300}", columns in 30usize..90, hang in 0usize..8,
        ) {
            let out = wrap(&text, columns, hang);
            prop_assert_eq!(words(&out), words(&text));
            for line in out.lines().filter(|line| words(line).len() > 1) {
                prop_assert!(width(line) <= columns, "{:?}", line);
            }
        }
    }
}
