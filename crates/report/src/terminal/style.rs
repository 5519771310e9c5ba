//! Colours by role, and the width of a line. Without colour every text is exactly the same, minus the escape
//! sequences.

use crate::terminal::width::{WIDTH, shorten};
use anstyle::AnsiColor;

/// Fewer hold only names and sentences; tables need 60.
const COLUMNS_MIN: usize = 40;
/// Longer lines are hard to follow.
pub const COLUMNS_MAX: usize = 160;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours: off when the output is not a terminal or `NO_COLOR` is set; the caller decides.
    pub colour: bool,
    /// Width of the terminal, from `COLUMNS_MIN` to [`COLUMNS_MAX`].
    pub columns: usize,
    /// Whether names stay whole, however wide a table becomes: what is piped may be searched.
    pub is_whole: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self::PLAIN
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    #[default]
    Plain,
    Title,
    /// Skippable: column heads, notes, invalid numbers.
    Dim,
    Good,
    Warn,
    Bad,
}

impl Role {
    fn ansi(self) -> anstyle::Style {
        let style = anstyle::Style::new();
        match self {
            Self::Plain => style,
            Self::Title => style.bold(),
            Self::Dim => style.dimmed(),
            Self::Good => style.fg_color(Some(AnsiColor::Green.into())),
            Self::Warn => style.fg_color(Some(AnsiColor::Yellow.into())),
            Self::Bad => style.fg_color(Some(AnsiColor::Red.into())).bold(),
        }
    }
}

impl Style {
    /// Without colour, in lines of [`WIDTH`].
    pub const PLAIN: Self = Self { colour: false, columns: WIDTH, is_whole: false };

    #[must_use]
    pub fn within(self, columns: usize) -> Self {
        Self { columns: columns.clamp(COLUMNS_MIN, COLUMNS_MAX), ..self }
    }

    /// `text` in at most `room` columns, its middle left out; whole where nothing may be cut.
    pub(crate) fn shortened(self, text: &str, room: usize) -> String {
        if self.is_whole { text.to_string() } else { shorten(text, room).into_owned() }
    }

    /// Appends `text` to `out` in the colour of `role`.
    pub(crate) fn paint(self, out: &mut String, role: Role, text: &str) {
        let ansi = role.ansi();
        if self.colour && !ansi.is_plain() && !text.is_empty() {
            out.push_str(&format!("{}{text}{}", ansi.render(), ansi.render_reset()));
        } else {
            out.push_str(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_surrounds_text_only_when_chosen() {
        let mut plain = String::new();
        Style::default().paint(&mut plain, Role::Bad, "x");
        assert_eq!(plain, "x");
        let mut coloured = String::new();
        Style { colour: true, ..Style::PLAIN }.paint(&mut coloured, Role::Dim, "x");
        assert_eq!(coloured, "\u{1b}[2mx\u{1b}[0m");
        let mut neutral = String::new();
        Style { colour: true, ..Style::PLAIN }.paint(&mut neutral, Role::Plain, "x");
        assert_eq!(neutral, "x");
    }
}
