//! The Rust sources of the workspace, by crate and module: what the checks of the house rules read.

mod part;

pub use part::SourcePart;

use crate::workspace;
use quote::ToTokens;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;
use syn::{Attribute, ImplItem, Item};

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
    /// The part compiled without tests; empty for a file of tests.
    pub code: SourcePart,
    /// The part compiled with tests only.
    pub tests: SourcePart,
}

/// The sources of this workspace, read once.
pub fn of_workspace() -> Result<&'static [Source], String> {
    static SOURCES: LazyLock<Result<Vec<Source>, String>> =
        LazyLock::new(|| load(workspace::root()));
    SOURCES.as_deref().map_err(String::clone)
}

/// All sources below `root`.
pub fn load(root: &Path) -> Result<Vec<Source>, String> {
    let read = |path: String| match std::fs::read_to_string(root.join(&path)) {
        Ok(text) => Ok((path, text)),
        Err(error) => Err(format!("cannot read {path}: {error}")),
    };
    let files: Result<Vec<_>, _> =
        workspace::files_below(root, &[".rs"])?.into_iter().map(read).collect();
    sources(&files?)
}

/// Files, each a path and a text.
pub fn sources(files: &[(String, String)]) -> Result<Vec<Source>, String> {
    let mut parsed = Vec::new();
    let mut modules_of_tests = BTreeSet::new();
    for (path, text) in files {
        let file = syn::parse_file(text).map_err(|e| format!("{path} is not Rust: {e}"))?;
        let (home, module) = place(path);
        let (mut code, mut tests) = (file.items, Vec::new());
        if is_for_tests(&file.attrs) {
            tests.append(&mut code);
        }
        take_tests(&mut code, &mut tests);
        for item in &tests {
            if let Item::Mod(below) = item {
                let below = [&module[..], &[below.ident.to_string()]].concat();
                modules_of_tests.insert((home.clone(), below));
            }
        }
        parsed.push((path, text, home, module, code, tests));
    }
    let mut found = Vec::new();
    for (path, text, home, module, mut code, mut tests) in parsed {
        let is_declared = |n| modules_of_tests.contains(&(home.clone(), module[..n].to_vec()));
        if (1..=module.len()).any(is_declared) || is_test_by_place(path) {
            tests.append(&mut code);
        }
        let (code, tests) = (SourcePart::of(&code), SourcePart::of(&tests));
        let lines = text.lines().count();
        found.push(Source { path: path.clone(), home, module, lines, code, tests });
    }
    Ok(found)
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

/// Moves what only tests have: items behind `#[cfg(test)]`, those of modules and implementations too.
fn take_tests(code: &mut Vec<Item>, tests: &mut Vec<Item>) {
    for mut item in std::mem::take(code) {
        if is_for_tests(attributes(&item)) {
            tests.push(item);
            continue;
        }
        if let Item::Mod(module) = &mut item
            && let Some((_, items)) = &mut module.content
        {
            take_tests(items, tests);
        }
        if let Item::Impl(block) = &mut item {
            let only_tests = block.items.extract_if(.., |item| match item {
                ImplItem::Fn(item) => is_for_tests(&item.attrs),
                _ => false,
            });
            tests.extend(only_tests.map(|item| Item::Verbatim(item.to_token_stream())));
        }
        code.push(item);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string());
        condition.is_ok_and(|words| words.contains("test") && !words.contains("not"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_distinguished_from_code() {
        let text = "use a::{b};\n/// c\n#[cfg(test)]\n#[x]\nmod tests {\n fn d() {}\n}\nfn e() -> [u8; 2] {}\n\
                    #[cfg(test)]\nmod f;\n#[cfg(not(test))]\nconst G: u8 = S { a: 1 };\n\
                    impl H { #[cfg(test)] fn i() {} fn j() {} }\n";
        let files =
            [("y/mod.rs", text), ("y/f.rs", "fn k() {}"), ("z.rs", "#![cfg(test)] fn l() {}")];
        let files = files.map(|(path, text)| (format!("crates/x/src/{path}"), text.to_string()));
        let [y, f, z] = &sources(&files).unwrap()[..] else { panic!("three files") };
        assert_eq!((y.home.as_str(), &y.module[..]), ("crates/x", &["y".to_string()][..]));
        for (part, words, others) in [
            (&y.code, &["a", "b", "e", "G", "H", "j"][..], &["d", "i"][..]),
            (&y.tests, &["d", "f", "i"], &["a", "e", "j"]),
            (&f.tests, &["k"], &[]),
            (&f.code, &[], &["k"]),
            (&z.tests, &["l"], &[]),
            (&z.code, &[], &["l"]),
        ] {
            assert!(words.iter().all(|word| part.words.contains(*word)), "{words:?}: {part:?}");
            assert!(!others.iter().any(|word| part.words.contains(*word)), "{others:?}: {part:?}");
        }
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
        assert!(sources(&[("x.rs".to_string(), "fn {".to_string())]).is_err());
    }
}
