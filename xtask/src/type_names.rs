//! Names of types: each means one thing in the workspace.

use crate::source::Source;
use std::collections::BTreeMap;

/// The names that more than one type has outside of tests, each with the files and lines of its types.
pub fn types_of_one_name(sources: &[Source]) -> BTreeMap<&str, Vec<String>> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in sources {
        for (name, line) in types(source) {
            found.entry(name).or_default().push(format!("{}:{line}", source.path));
        }
    }
    found.retain(|_, places| places.len() > 1);
    found
}

/// The types that a file defines, but those that belong to a trait.
fn types(source: &Source) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    // For each open brace, whether it is that of an implementation or a trait.
    let mut open: Vec<bool> = Vec::new();
    let mut is_impl = false;
    let code = &source.code;
    for (at, token) in code.iter().enumerate() {
        let begins = |words: &[&str]| words.contains(&token.text.as_str());
        let before = at.checked_sub(1).map_or("", |before| code[before].text.as_str());
        match token.text.as_str() {
            "{" => open.push(std::mem::take(&mut is_impl)),
            "}" => _ = open.pop(),
            ";" => is_impl = false,
            // `impl` within a signature is none of an item.
            "impl" | "trait"
                if ["", ";", "}", "]", "pub", ")", "unsafe", "{", "("].contains(&before) =>
            {
                is_impl = true
            }
            _ => {}
        }
        let is_type = begins(&["struct", "enum", "trait", "union"])
            || (begins(&["type"]) && open.last() != Some(&true));
        let next =
            code.get(at + 1).filter(|next| next.text.starts_with(|c: char| c.is_ascii_uppercase()));
        found.extend(next.filter(|_| is_type).map(|next| (next.text.as_str(), next.line)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{of_workspace, source};

    #[test]
    fn types_are_found_but_those_of_traits() {
        let text = "pub struct A(u8);\nimpl<T> X for A {\n type B = T; fn f() -> impl D { enum G {} } }\n\
                    type C = u8;\npub(crate) trait H { type I; }\nfn j() -> impl K { type L = u8; }\n\
                    #[cfg(test)]\nstruct M;\n";
        let source = source("crates/x/src/lib.rs".to_string(), text).unwrap();
        let names: Vec<_> = types(&source).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["A", "G", "C", "H", "L"]);
    }

    #[test]
    fn a_name_means_one_thing() {
        let sources = of_workspace().unwrap();
        let found = types_of_one_name(sources);
        assert!(found.is_empty(), "names that several types have: {found:#?}");
    }
}
