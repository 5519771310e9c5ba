//! The Rust sources of the workspace as tokens, by crate and module: what the checks of the house rules read.

mod paths;

pub use paths::{ImportPath, paths_at, uses};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use crate::workspace;

/// The smallest part of a source, comments left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// As written; `"` for a literal of any kind.
    pub text: String,
    /// Line in its file, from 1.
    pub line: usize,
}

/// One file.
#[derive(Debug)]
pub struct Source {
    /// From the root of the workspace.
    pub path: String,
    /// Folder of its crate: `crates/bench`, `xtask`, or `tests`.
    pub home: String,
    /// Modules from the root of the crate; nothing for the root itself.
    pub module: Vec<String>,
    /// Number of lines.
    pub lines: usize,
    /// Its tokens but those of tests; none of a file of tests.
    pub code: Vec<Token>,
    /// The tokens of its tests.
    pub tests: Vec<Token>,
}

impl Source {
    /// Whether a module is this file's or within it.
    pub fn has_within(&self, other: &Self) -> bool {
        self.home == other.home && other.module.starts_with(&self.module)
    }
}

/// Those of this workspace, read once.
pub fn of_workspace() -> Result<&'static [Source], String> {
    static SOURCES: LazyLock<Result<Vec<Source>, String>> =
        LazyLock::new(|| load(workspace::root()));
    SOURCES.as_deref().map_err(String::clone)
}

/// All sources below `root`.
pub fn load(root: &Path) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for path in workspace::files_below(root, &[".rs"])? {
        let full = root.join(&path);
        let text =
            std::fs::read_to_string(&full).map_err(|e| format!("cannot read {path}: {e}"))?;
        sources.push(source(path, &text)?);
    }
    let tests: BTreeSet<(String, Vec<String>)> =
        sources.iter().flat_map(modules_of_tests).collect();
    for source in &mut sources {
        let is_test = (0..=source.module.len())
            .any(|n| tests.contains(&(source.home.clone(), source.module[..n].to_vec())));
        if is_test || is_test_by_place(&source.path) {
            source.tests =
                [std::mem::take(&mut source.code), std::mem::take(&mut source.tests)].concat();
        }
    }
    Ok(sources)
}

/// One file of a text.
pub fn source(path: String, text: &str) -> Result<Source, String> {
    let stream: TokenStream = text.parse().map_err(|e| format!("{path} is not Rust: {e}"))?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    let (code, tests) = without_tests(tokens);
    let (home, module) = place(&path);
    Ok(Source { path, home, module, lines: text.lines().count(), code, tests })
}

/// The crate's folder and the module of a file.
fn place(path: &str) -> (String, Vec<String>) {
    let Some((home, inner)) = path.split_once("/src/") else {
        let steps = if path.starts_with("crates/") { 2 } else { 1 };
        return (path.split('/').take(steps).collect::<Vec<_>>().join("/"), Vec::new());
    };
    let mut module: Vec<String> =
        inner.trim_end_matches(".rs").split('/').map(String::from).collect();
    if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        module.pop();
    }
    (home.to_string(), module)
}

fn is_test_by_place(path: &str) -> bool {
    !path.contains("/src/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// The modules that a file declares for tests only.
fn modules_of_tests(source: &Source) -> Vec<(String, Vec<String>)> {
    let declared = source.tests.windows(3).filter(|w| w[0].text == "mod" && w[2].text == ";");
    declared
        .map(|w| (source.home.clone(), [&source.module[..], &[w[1].text.clone()]].concat()))
        .collect()
}

fn flatten(stream: TokenStream, out: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        let mut push = |text: &str, line| out.push(Token { text: text.to_string(), line });
        match tree {
            TokenTree::Ident(name) => push(name.to_string().trim_start_matches("r#"), line),
            TokenTree::Punct(mark) => push(&mark.as_char().to_string(), line),
            TokenTree::Literal(_) => push("\"", line),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                push(open, line);
                let end = group.span_close().start().line;
                flatten(group.stream(), out);
                out.push(Token { text: close.to_string(), line: end });
            }
        }
    }
}

/// Index behind the bracket that closes the one at `open`.
pub fn behind_group(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (offset, token) in tokens[open..].iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + offset + 1;
        }
    }
    tokens.len()
}

/// Index behind the item that begins at `start`: its `;`, or the `}` of its body.
pub fn behind_item(tokens: &[Token], start: usize) -> usize {
    let is_use = tokens[start..]
        .iter()
        .find(|t| !["pub", "(", "super", "crate", ")"].contains(&t.text.as_str()));
    let is_use = is_use.is_some_and(|token| token.text == "use");
    // A value in braces ends at its semicolon too.
    let mut has_value = is_use;
    let mut at = start;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" => return at + 1,
            "=" if tokens.get(at + 1).is_none_or(|next| next.text != ">") => has_value = true,
            "{" if !has_value => return behind_group(tokens, at),
            "(" | "[" | "{" => {
                at = behind_group(tokens, at);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// What is compiled without tests, and what only with them: items behind `#[cfg(test)]`, all of a file with
/// `#![cfg(test)]`.
fn without_tests(tokens: Vec<Token>) -> (Vec<Token>, Vec<Token>) {
    let (mut code, mut tests) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        let is_attribute = tokens[at].text == "#";
        let open = at + 1 + usize::from(tokens.get(at + 1).is_some_and(|t| t.text == "!"));
        if !is_attribute || tokens.get(open).is_none_or(|t| t.text != "[") {
            code.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut end = behind_group(&tokens, open);
        let words: Vec<&str> = tokens[open..end].iter().map(|t| t.text.as_str()).collect();
        let is_test =
            words.get(1) == Some(&"cfg") && words.contains(&"test") && !words.contains(&"not");
        if !is_test {
            code.extend_from_slice(&tokens[at..end]);
            at = end;
            continue;
        }
        if open == at + 2 {
            code.append(&mut tests);
            return (Vec::new(), tokens);
        }
        while tokens.get(end).is_some_and(|t| t.text == "#") {
            end = behind_group(&tokens, end + 1);
        }
        end = behind_item(&tokens, end);
        tests.extend_from_slice(&tokens[at..end]);
        at = end;
    }
    (code, tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(tokens: &[Token]) -> String {
        tokens.iter().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tests_are_told_from_code() {
        let text = "use a::{b};\n/// c\n#[cfg(test)]\n#[x]\nmod tests {\n fn d() {}\n}\nfn e() -> [u8; 2] {}\n\
                    #[cfg(test)]\nmod f;\n#[cfg(not(test))]\nconst G: u8 = S { a: 1 };\n";
        let source = source("crates/x/src/y/mod.rs".to_string(), text).unwrap();
        assert_eq!(
            (source.home.as_str(), &source.module[..]),
            ("crates/x", &["y".to_string()][..])
        );
        assert!(words(&source.code).starts_with("use a : : { b } ;"));
        assert!(words(&source.code).contains("fn e") && words(&source.code).contains("const G"));
        assert!(words(&source.tests).contains("fn d") && !words(&source.tests).contains("fn e"));
        let modules = modules_of_tests(&source);
        assert_eq!(modules, [("crates/x".to_string(), vec!["y".to_string(), "f".to_string()])]);
    }

    #[test]
    fn every_file_has_its_place() {
        for (path, home, module) in [
            ("crates/x/src/lib.rs", "crates/x", ""),
            ("xtask/src/a/b.rs", "xtask", "a::b"),
            ("crates/x/benches/c.rs", "crates/x", ""),
            ("tests/main.rs", "tests", ""),
        ] {
            let (found, modules) = place(path);
            assert_eq!((found.as_str(), modules.join("::").as_str()), (home, module), "{path}");
        }
        assert!(source("x.rs".to_string(), "fn {").is_err());
    }
}
