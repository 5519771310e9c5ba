//! The place of a field in a model's file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Line (from 1) of a field given by its path, such as `hdd.zones.list[2].sectors`; of the nearest table
/// above it where the field is left out; 1 where that is missing too or the text is not TOML.
pub(super) fn line_of(text: &str, path: &str) -> usize {
    let at = DeTable::parse(text).map_or(0, |document| start_of(document.get_ref(), path));
    text[..at.min(text.len())].matches('\n').count() + 1
}

/// First byte of the deepest part of the path that there is.
fn start_of(document: &DeTable<'_>, path: &str) -> usize {
    let mut found = 0;
    let mut table = Some(document);
    for part in path.split('.') {
        let (name, index) = match part.split_once('[') {
            Some((name, index)) => (name, index.trim_end_matches(']').parse().ok()),
            None => (part, None),
        };
        let Some((key, value)) =
            table.and_then(|table| table.iter().find(|(key, _)| key.get_ref() == name))
        else {
            break;
        };
        found = key.span().start;
        let element = index.and_then(|index: usize| value.get_ref().get(index));
        found = element.map_or(found, |element: &Spanned<DeValue<'_>>| element.span().start);
        table = element.unwrap_or(value).get_ref().as_table();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_below_their_table() {
        let text = "a = 1\n[hdd]\nrpm = 2\n[hdd.zones]\nrpm = 3\n";
        for (path, line) in
            [("a", 1), ("hdd.rpm", 3), ("hdd.zones.rpm", 5), ("hdd.zones.count", 4), ("ssd.x", 1)]
        {
            assert_eq!(line_of(text, path), line, "{path}");
        }
    }

    #[test]
    fn tables_on_one_line_and_lists_have_lines_too() {
        let text = "x = 1\n[hdd]\nskew = { head_rev = 2 }\nqueue.depth = 0\n[hdd.zones]\n\
                    list = [\n  { tracks = 1 },\n  { tracks = 0 },\n]\n[[hdd.z]]\na = 1\n[[hdd.z]]\na = 2\n";
        for (path, line) in [
            ("hdd.skew.head_rev", 3),
            ("hdd.skew.cylinder_rev", 3),
            ("hdd.queue.depth", 4),
            ("hdd.zones.list[1].tracks", 8),
            ("hdd.z[1].a", 13),
        ] {
            assert_eq!(line_of(text, path), line, "{path}");
        }
        assert_eq!(line_of("no toml", "x"), 1);
    }
}
