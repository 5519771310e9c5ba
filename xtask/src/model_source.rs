//! What the model's source says about its types: the comments of their values, for documents.

use crate::workspace;

/// The first comment line of each value of `pub enum NAME`, in order, over all of the model.
pub fn value_comments(name: &str) -> Result<Vec<String>, String> {
    for path in workspace::files(&[".rs"])? {
        if path.starts_with("crates/model/src/")
            && let Some(comments) = comments_of(&workspace::read(&path)?, name)
        {
            return Ok(comments);
        }
    }
    Err(format!("the model has no pub enum {name}"))
}

/// Comments of the values in the text of one file. The form is rustfmt's: values at one step of
/// indentation, the closing brace at none.
fn comments_of(source: &str, name: &str) -> Option<Vec<String>> {
    let head = format!("pub enum {name} {{");
    let body = source.lines().skip_while(|line| *line != head).skip(1);
    let mut comments = Vec::new();
    let mut comment = String::new();
    let mut found = false;
    for line in body {
        found = true;
        if line == "}" {
            break;
        }
        let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with(' ')) else {
            continue;
        };
        if let Some(text) = line.strip_prefix("/// ") {
            comment = if comment.is_empty() { text.into() } else { format!("{comment} {text}") };
        } else if line.starts_with(|first: char| first.is_ascii_uppercase()) {
            comments.push(std::mem::take(&mut comment));
        }
    }
    found.then_some(comments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_follow_their_values() {
        let source = "pub enum A {\n    /// One.\n    X,\n}\n\n#[derive(Debug)]\npub enum B {\n    \
                      /// Two\n    /// lines.\n    #[x]\n    Y,\n    /// Three.\n    Z {\n        \
                      /// Inner.\n        n: u8,\n    },\n}\n";
        assert_eq!(comments_of(source, "A").unwrap(), ["One."]);
        assert_eq!(comments_of(source, "B").unwrap(), ["Two lines.", "Three."]);
        assert_eq!(comments_of(source, "C"), None);
        assert!(value_comments("TestStatus").unwrap().len() >= 4);
        assert!(value_comments("NoSuchType").is_err());
    }
}
