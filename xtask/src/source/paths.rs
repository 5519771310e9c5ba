//! Paths in tokens: those of `use` with their trees, and those within code.

use super::{Token, behind_group, behind_item};

/// A path and the name under which a `use` makes it known; `*` for all of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportPath {
    /// `crate`, `a`, `B`.
    pub steps: Vec<String>,
    /// Name that it has from here on.
    pub name: String,
    /// Line where it stands.
    pub line: usize,
    /// Whether a `pub use` gives it to others.
    pub is_public: bool,
}

fn is(tokens: &[Token], at: usize, text: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.text == text)
}

fn is_name(token: &Token) -> bool {
    token.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn is_colons(tokens: &[Token], at: usize) -> bool {
    is(tokens, at, ":") && is(tokens, at + 1, ":")
}

/// All paths of `use` items.
pub fn uses(tokens: &[Token]) -> Vec<ImportPath> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        // `use<..>` of an opaque type is no import.
        if tokens[at].text == "use" && !is(tokens, at + 1, "<") {
            let end = behind_item(tokens, at);
            let is_public = at > 0 && ["pub", ")"].contains(&tokens[at - 1].text.as_str());
            let begin = at + 1 + if is_colons(tokens, at + 1) { 2 } else { 0 };
            let first = found.len();
            tree(&tokens[..end], begin, &[], &mut found);
            found[first..].iter_mut().for_each(|path| path.is_public = is_public);
            at = end;
        } else {
            at += 1;
        }
    }
    found
}

/// The paths of the tree that begins at `at`; returns the index behind it.
fn tree(tokens: &[Token], mut at: usize, above: &[String], found: &mut Vec<ImportPath>) -> usize {
    let mut steps = above.to_vec();
    let line = tokens.get(at).map_or(0, |token| token.line);
    loop {
        let Some(token) = tokens.get(at) else { return at };
        if token.text == "{" {
            let end = behind_group(tokens, at);
            at += 1;
            while at + 1 < end {
                at = tree(&tokens[..end - 1], at, &steps, found);
                at += usize::from(is(tokens, at, ","));
            }
            return end;
        }
        let name = token.text.clone();
        at += 1;
        if name != "self" || steps.is_empty() {
            steps.push(name);
        }
        if !is_colons(tokens, at) {
            break;
        }
        at += 2;
    }
    let mut name = steps.last().cloned().unwrap_or_default();
    if is(tokens, at, "as") {
        name = tokens.get(at + 1).map_or(name, |token| token.text.clone());
        at += 2;
    }
    found.push(ImportPath { steps, name, line, is_public: false });
    at
}

/// The path of names that begins at `at`, as code has it: `crate::a::B`. Empty where none begins.
pub fn paths_at(tokens: &[Token], at: usize) -> Vec<String> {
    let mut steps = Vec::new();
    let mut next = at;
    while tokens.get(next).is_some_and(is_name) {
        steps.push(tokens[next].text.clone());
        if !is_colons(tokens, next + 1) {
            break;
        }
        next += 3;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::source;

    #[test]
    fn trees_of_use_are_read() {
        let text = "use a::{self, b::{C, D as E}, f::*};\npub use crate::g;\npub(crate) use ::h::i;\n\
                    fn x() -> impl Sized + use<'_> { crate::j::K::l() }\n";
        let tokens = source("a/src/lib.rs".to_string(), text).unwrap().code;
        let found: Vec<String> = uses(&tokens)
            .iter()
            .map(|p| {
                format!(
                    "{}{} {} {}",
                    if p.is_public { "pub " } else { "" },
                    p.steps.join("::"),
                    p.name,
                    p.line
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                "a a 1",
                "a::b::C C 1",
                "a::b::D E 1",
                "a::f::* * 1",
                "pub crate::g g 2",
                "pub h::i i 3"
            ]
        );
        let at = tokens.iter().position(|t| t.text == "j").unwrap() - 3;
        assert_eq!(paths_at(&tokens, at), ["crate", "j", "K", "l"]);
    }
}
