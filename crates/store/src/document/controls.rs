//! Control characters in documents. A document may come from anywhere, and its texts reach terminals, pages and tables:
//! every field loses control characters when the document is read.

use serde_json::Value;

const REPLACEMENT: char = '\u{fffd}';

/// Removes control characters from all texts and keys. Line feeds and tabs stay: notes and queries have them.
pub fn remove(value: &mut Value) {
    match value {
        Value::String(text) if has_any(text) => *text = without(text),
        Value::Array(items) => items.iter_mut().for_each(remove),
        Value::Object(fields) => {
            if fields.keys().any(|name| has_any(name)) {
                let old = std::mem::take(fields);
                fields.extend(old.into_iter().map(|(name, field)| (without(&name), field)));
            }
            fields.values_mut().for_each(remove);
        }
        _ => {}
    }
}

/// Line feeds and tabs stay.
pub fn without(text: &str) -> String {
    text.replace(is_removed, &REPLACEMENT.to_string())
}

fn has_any(text: &str) -> bool {
    text.contains(is_removed)
}

fn is_removed(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_texts_lose_what_a_terminal_obeys() {
        let mut value = json!({"a\u{1b}[31m": [{"b": "\u{9b}2J\u{7f}\r x\ny\tz"}, 1.5, null]});
        remove(&mut value);
        let expected = "\u{fffd}2J\u{fffd}\u{fffd} x\ny\tz";
        assert_eq!(value, json!({"a\u{fffd}[31m": [{"b": expected}, 1.5, null]}));
    }
}
