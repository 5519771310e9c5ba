//! SVG text: elements with escaped attributes, numbers with one decimal. The same picture is always the same bytes.

use std::fmt::Write as _;

#[derive(Debug, Default)]
pub struct SvgText(String);

impl SvgText {
    /// Begins an element; it stays open until [`SvgText::close`].
    pub fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, ">");
    }

    pub fn close(&mut self, name: &str) {
        let _ = writeln!(self.0, "</{name}>");
    }

    pub fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, "/>\n");
    }

    pub fn with_text(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.tag(name, attributes, ">");
        escape(&mut self.0, text);
        self.close(name);
    }

    /// A style sheet, which must hold no `<`.
    pub fn style(&mut self, css: &str) {
        let _ = writeln!(self.0, "<style>{css}</style>");
    }

    pub fn finish(self) -> String {
        self.0
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &str)], end: &str) {
        let _ = write!(self.0, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.0, " {key}=\"");
            escape(&mut self.0, value);
            self.0.push('"');
        }
        self.0.push_str(end);
    }
}

/// Appends a text as XML; what XML cannot hold (control characters) is left out.
fn escape(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
}

/// A coordinate: one decimal, without a needless one.
pub fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_is_text() {
        let mut svg = SvgText::default();
        svg.with_text("text", &[("x", "\"><script>")], "<b>\u{1b}[31m & 'x'");
        assert_eq!(
            svg.finish(),
            "<text x=\"&quot;&gt;&lt;script&gt;\">&lt;b&gt;[31m &amp; &#39;x&#39;</text>\n"
        );
        assert_eq!([number(12.04), number(-0.01), number(3.46)], ["12", "0", "3.5"]);
    }
}
