//! `suites`, `tests` and `sim list`: names with one line each, or more where the terminal is narrow.

use crate::terminal::{Paragraph, Role, Style, clean, shorten, width};

const NAME_MAX: usize = 32;

/// Columns that a summary needs beside names; with fewer it stands below its name.
const ABOUT_MIN: usize = 28;
/// Its indent there.
const BELOW: usize = 4;

pub fn name_list(pairs: &[(impl AsRef<str>, impl AsRef<str>)], style: Style) -> String {
    fn name(name: &str) -> String {
        shorten(&clean(name), NAME_MAX).into_owned()
    }
    let pairs: Vec<(String, &str)> =
        pairs.iter().map(|(n, about)| (name(n.as_ref()), about.as_ref())).collect();
    let room = pairs.iter().map(|(name, _)| width(name)).max().unwrap_or(0) + 2;
    let beside = style.columns >= room + ABOUT_MIN;
    let mut out = String::new();
    for (name, about) in &pairs {
        let paragraph = Paragraph::new().lead(Role::Title, name);
        if beside {
            let padding = " ".repeat(room - width(name));
            let paragraph = paragraph.lead(Role::Plain, &padding).text(Role::Plain, about);
            out.push_str(&paragraph.lines(room, style));
        } else {
            let below =
                Paragraph::new().lead(Role::Plain, " ".repeat(BELOW)).text(Role::Plain, about);
            out.push_str(&paragraph.lines(0, style));
            out.push_str(&below.lines(BELOW, style));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_terminals_get_whole_words() {
        let about = "WD Caviar Green 2 TB (2010), 3.5-inch, 4096-byte sectors reported as 512";
        let pairs = [("wd20ears".to_string(), about.to_string())];
        for columns in [160, 80, 60, 40] {
            let text = name_list(&pairs, Style::PLAIN.within(columns));
            assert!(text.lines().all(|line| width(line) <= columns), "{columns}: {text}");
            let words: Vec<&str> = text.split_whitespace().skip(1).collect();
            assert_eq!(words.join(" "), about, "{columns}");
        }
    }
}
