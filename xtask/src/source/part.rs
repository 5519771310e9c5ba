//! What the items of a file name, use and show.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{Item, ItemEnum, ItemStruct, ItemTrait, ItemType, ItemUnion, UseTree, Visibility};

/// The items of a file, either those of tests or the others.
#[derive(Debug, Default)]
pub struct SourcePart {
    /// Names and keywords, but those of `pub use`, which uses nothing by itself.
    pub words: BTreeSet<String>,
    /// Paths of `use`.
    pub imports: Vec<ImportPath>,
    /// Paths within code, from their first step on.
    pub paths: Vec<Vec<String>>,
    /// The types that it defines, each with its line; but those that belong to a trait.
    pub types: Vec<(String, usize)>,
    /// Names of the modules that it declares.
    pub modules: Vec<String>,
    /// Names of property tests.
    pub property_tests: Vec<String>,
}

/// A path and the name under which a `use` makes it known; `*` for all of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportPath {
    /// `crate`, `a`, `B`.
    pub steps: Vec<String>,
    /// Name that it has from here on.
    pub name: String,
}

impl SourcePart {
    /// The part that these items make.
    pub fn of(items: &[Item]) -> Self {
        let mut part = Self::default();
        items.iter().for_each(|item| part.visit_item(item));
        for item in items {
            if !matches!(item, Item::Use(item) if is_public(&item.vis)) {
                part.look_through(item.to_token_stream());
            }
        }
        part
    }

    /// Whether it has no items.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.imports.is_empty()
    }

    /// Collects words and paths.
    fn look_through(&mut self, stream: TokenStream) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        for (at, tree) in trees.iter().enumerate() {
            match tree {
                TokenTree::Group(group) => self.look_through(group.stream()),
                TokenTree::Ident(word) => {
                    let path = path_of(&trees[at..]);
                    let is_within_path = at > 0 && is_colon(&trees[at - 1]);
                    if path.len() > 1 && !is_within_path {
                        self.paths.push(path);
                    }
                    self.words.insert(name_of(word));
                }
                _ => {}
            }
        }
    }

    fn add_import(&mut self, tree: &UseTree, above: &[String]) {
        let below = |name: &Ident| [above, &[name_of(name)]].concat();
        let (steps, name) = match tree {
            UseTree::Path(path) => return self.add_import(&path.tree, &below(&path.ident)),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add_import(tree, above));
            }
            UseTree::Name(name) if name.ident == "self" => (above.to_vec(), above.last().cloned()),
            UseTree::Name(name) => (below(&name.ident), Some(name_of(&name.ident))),
            UseTree::Rename(renamed) if renamed.ident == "self" => {
                (above.to_vec(), Some(name_of(&renamed.rename)))
            }
            UseTree::Rename(renamed) => (below(&renamed.ident), Some(name_of(&renamed.rename))),
            UseTree::Glob(_) => ([above, &["*".to_string()]].concat(), Some("*".to_string())),
        };
        self.imports.push(ImportPath { steps, name: name.unwrap_or_default() });
    }
}

impl<'a> Visit<'a> for SourcePart {
    fn visit_item(&mut self, item: &'a Item) {
        match item {
            Item::Struct(ItemStruct { ident, .. })
            | Item::Enum(ItemEnum { ident, .. })
            | Item::Union(ItemUnion { ident, .. })
            | Item::Trait(ItemTrait { ident, .. })
            | Item::Type(ItemType { ident, .. }) => {
                self.types.push((name_of(ident), ident.span().start().line));
            }
            Item::Use(item) => self.add_import(&item.tree, &[]),
            Item::Mod(item) => self.modules.push(name_of(&item.ident)),
            Item::Macro(item) if item.mac.path.is_ident("proptest") => {
                let trees: Vec<TokenTree> = item.mac.tokens.clone().into_iter().collect();
                let is_fn =
                    |tree: &TokenTree| matches!(tree, TokenTree::Ident(word) if word == "fn");
                let functions = trees.windows(2).filter(|pair| is_fn(&pair[0]));
                self.property_tests.extend(functions.map(|pair| pair[1].to_string()));
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }
}

fn is_public(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

fn name_of(name: &Ident) -> String {
    name.to_string().trim_start_matches("r#").to_string()
}

/// The names that `::` joins at the beginning of `trees`.
fn path_of(trees: &[TokenTree]) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = 0;
    while let Some(TokenTree::Ident(name)) = trees.get(at) {
        path.push(name_of(name));
        if !trees.get(at + 1..at + 3).is_some_and(|two| two.iter().all(is_colon)) {
            break;
        }
        at += 3;
    }
    path
}

fn is_colon(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(mark) if mark.as_char() == ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str) -> SourcePart {
        SourcePart::of(&syn::parse_file(text).unwrap().items)
    }

    #[test]
    fn paths_are_read() {
        let text = "use a::{self, b::{C, D as E}, f::*};\npub use crate::g;\npub(crate) use ::h::i;\n\
                    fn x() -> impl Sized + use<'_> { print!(\"{}\", crate::j::K::l()) }\n";
        let part = part(text);
        let shown = |path: &ImportPath| format!("{} {}", path.steps.join("::"), path.name);
        let found: Vec<String> = part.imports.iter().map(shown).collect();
        assert_eq!(found, ["a a", "a::b::C C", "a::b::D E", "a::f::* *", "crate::g g", "h::i i"]);
        assert_eq!(part.paths, [["crate", "j", "K", "l"]]);
        assert!(part.words.contains("D") && !part.words.contains("g"));
    }

    #[test]
    fn types_are_found_but_those_of_traits() {
        let text = "pub struct A(u8);\nimpl<T> X for A {\n type B = T; fn f() -> impl D { enum G {} } }\n\
                    type C = u8;\npub(crate) trait H { type I; }\nfn j() -> impl K { type L = u8; }\n";
        let names: Vec<String> = part(text).types.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["A", "G", "C", "H", "L"]);
    }

    #[test]
    fn property_tests_are_found() {
        let text = "mod tests { proptest! { #[test] fn a(x: u8) { fn b() {} } #[test] fn c(y in 0..9) {} }\n\
                    fn d() {} }";
        assert_eq!(part(text).property_tests, ["a", "c"]);
    }
}
