//! What the items of a file name, use and show.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{Field, ImplItem, Item, UseTree, Visibility};

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
    /// What others could use, methods included.
    pub pub_items: Vec<PubItem>,
    /// What `pub` items show to others: types of arguments, results and fields, and those that implementations give.
    pub shown: BTreeSet<String>,
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

/// An item that is `pub`, at least within a part of its crate.
#[derive(Debug)]
pub struct PubItem {
    /// `fn`, `struct`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Line where it stands.
    pub line: usize,
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

    fn add(
        &mut self,
        visibility: &Visibility,
        kind: &'static str,
        name: &Ident,
        shown: TokenStream,
    ) {
        if is_public(visibility) {
            let (name, line) = (name_of(name), name.span().start().line);
            let mut words = words(shown);
            // Its own name is none of a type that it shows.
            words.remove(&name);
            self.shown.extend(words);
            self.pub_items.push(PubItem { kind, name, line });
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
        let all = || item.to_token_stream();
        let (kind, visibility, name, shown) = match item {
            Item::Fn(item) => ("fn", &item.vis, &item.sig.ident, item.sig.to_token_stream()),
            Item::Const(item) => ("const", &item.vis, &item.ident, item.ty.to_token_stream()),
            Item::Static(item) => ("static", &item.vis, &item.ident, item.ty.to_token_stream()),
            Item::Struct(item) => ("struct", &item.vis, &item.ident, all()),
            Item::Enum(item) => ("enum", &item.vis, &item.ident, all()),
            Item::Union(item) => ("union", &item.vis, &item.ident, all()),
            Item::Trait(item) => ("trait", &item.vis, &item.ident, all()),
            Item::Type(item) => ("type", &item.vis, &item.ident, all()),
            other => return self.visit_nameless(other),
        };
        self.add(visibility, kind, name, shown);
        if !["fn", "const", "static"].contains(&kind) {
            self.types.push((name_of(name), name.span().start().line));
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'a ImplItem) {
        match item {
            ImplItem::Fn(item) => {
                self.add(&item.vis, "fn", &item.sig.ident, item.sig.to_token_stream());
            }
            ImplItem::Const(item) => {
                self.add(&item.vis, "const", &item.ident, item.ty.to_token_stream());
            }
            ImplItem::Type(item) => self.shown.extend(words(item.to_token_stream())),
            _ => {}
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_field(&mut self, field: &'a Field) {
        if is_public(&field.vis) {
            self.shown.extend(words(field.ty.to_token_stream()));
        }
        visit::visit_field(self, field);
    }
}

impl SourcePart {
    fn visit_nameless(&mut self, item: &Item) {
        match item {
            Item::Use(item) => self.add_import(&item.tree, &[]),
            Item::Mod(item) => self.modules.push(name_of(&item.ident)),
            Item::Impl(block) => {
                let of = block.trait_.as_ref().map(|(_, path, _)| path.to_token_stream());
                self.shown.extend(words(of.unwrap_or_default()));
                self.shown.extend(words(block.self_ty.to_token_stream()));
                self.shown.extend(words(block.generics.to_token_stream()));
            }
            // What it defines may show anything that it names.
            Item::Macro(item) if item.mac.path.is_ident("macro_rules") => {
                self.shown.extend(words(item.mac.tokens.clone()));
            }
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

fn words(stream: TokenStream) -> BTreeSet<String> {
    let mut part = SourcePart::default();
    part.look_through(stream);
    part.words
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
