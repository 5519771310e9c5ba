//! Names `pub` items that nothing outside their module uses: a file and those below it. What an item is called is
//! looked for as a word, so that one with a usual name (`new`) counts as used.

use crate::edges::sees;
use crate::source::{Source, Token, behind_group, behind_item};
use std::collections::{BTreeMap, BTreeSet};

/// Words between `pub` and the kind of an item.
const BEFORE_KIND: [&str; 4] = ["async", "unsafe", "extern", "\""];
/// Kinds of items that have a name of their own.
const KINDS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];

/// A `pub` item that nothing uses, or only tests do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// `crates/x/src/a.rs:12`.
    pub place: String,
    /// `fn b`.
    pub item: String,
    /// Whether tests of other modules use it.
    pub tests_use_it: bool,
}

/// An item others could use.
struct Item<'s> {
    source: &'s Source,
    kind: &'s str,
    name: &'s str,
    line: usize,
}

/// All of them, by file and line.
pub fn unused(sources: &[Source]) -> Vec<Unused> {
    let words = Words::new(sources);
    let items = sources.iter().flat_map(items);
    items.filter_map(|item| words.judge(sources, &item)).collect()
}

/// The files in which words are used.
struct Words<'s> {
    code: BTreeMap<&'s str, BTreeSet<usize>>,
    tests: BTreeMap<&'s str, BTreeSet<usize>>,
    /// Words that `pub` items show to others: types of arguments, results and fields.
    shown: Vec<BTreeSet<&'s str>>,
}

impl<'s> Words<'s> {
    fn new(sources: &'s [Source]) -> Self {
        let (mut code, mut tests) = (BTreeMap::new(), BTreeMap::new());
        for (number, source) in sources.iter().enumerate() {
            for (tokens, words) in [(&source.code, &mut code), (&source.tests, &mut tests)] {
                let is_given = given_to_others(tokens);
                for (token, _) in tokens.iter().zip(is_given).filter(|(_, is_given)| !is_given) {
                    words.entry(token.text.as_str()).or_insert_with(BTreeSet::new).insert(number);
                }
            }
        }
        Self { code, tests, shown: sources.iter().map(|source| shown(&source.code)).collect() }
    }

    fn judge(&self, sources: &[Source], item: &Item<'_>) -> Option<Unused> {
        let outside = |words: &BTreeMap<&str, BTreeSet<usize>>| {
            let files = words.get(item.name);
            let uses = |user: &Source| {
                sees(&user.home, &item.source.home) && !item.source.has_within(user)
            };
            files.is_some_and(|all| all.iter().any(|file| uses(&sources[*file])))
        };
        let is_shown = || {
            let within =
                sources.iter().zip(&self.shown).filter(|(file, _)| item.source.has_within(file));
            item.kind != "fn" && within.into_iter().any(|(_, shown)| shown.contains(item.name))
        };
        if item.name == "main" || outside(&self.code) || is_shown() {
            return None;
        }
        Some(Unused {
            place: format!("{}:{}", item.source.path, item.line),
            item: format!("{} {}", item.kind, item.name),
            tests_use_it: outside(&self.tests),
        })
    }
}

/// The `pub` items of a file, methods included.
fn items(source: &Source) -> Vec<Item<'_>> {
    let code = &source.code;
    let mut found = Vec::new();
    for at in 0..code.len() {
        if let Some(kind) = kind_behind_pub(code, at) {
            // `const fn` is a function.
            let is_const_fn =
                code[kind].text == "const" && ["fn", "unsafe"].contains(&text(code, kind + 1));
            let kind = if is_const_fn {
                kind + 1 + usize::from(text(code, kind + 1) == "unsafe")
            } else {
                kind
            };
            if let Some(name) = code.get(kind + 1) {
                let kind = code[kind].text.as_str();
                found.push(Item { source, kind, name: &name.text, line: name.line });
            }
        }
    }
    found
}

fn text(code: &[Token], at: usize) -> &str {
    code.get(at).map_or("", |token| token.text.as_str())
}

/// Where the kind of an item stands whose `pub` stands at `at`.
fn kind_behind_pub(code: &[Token], at: usize) -> Option<usize> {
    if text(code, at) != "pub" {
        return None;
    }
    let mut next = at + 1;
    if text(code, next) == "(" {
        next = behind_group(code, next);
    }
    while BEFORE_KIND.contains(&text(code, next)) {
        next += 1;
    }
    KINDS.contains(&text(code, next)).then_some(next)
}

/// For each token whether it stands in a `pub use`, which uses nothing by itself.
fn given_to_others(code: &[Token]) -> Vec<bool> {
    let mut given = vec![false; code.len()];
    for at in 0..code.len() {
        let mut next = at + 1;
        if text(code, at) == "pub" && text(code, next) == "(" {
            next = behind_group(code, next);
        }
        if text(code, at) == "pub" && text(code, next) == "use" {
            let end = behind_item(code, at);
            given[at..end].fill(true);
        }
    }
    given
}

/// What the interface of a file names: the heads of `pub` functions, all of other `pub` items, and the types that
/// implementations of traits give.
fn shown(code: &[Token]) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for at in 0..code.len() {
        let kind = kind_behind_pub(code, at);
        let is_field = text(code, at) == "pub"
            && kind.is_none()
            && !["use", "mod"].contains(&text(code, at + 1));
        let (start, end) = if let Some(kind) = kind {
            let is_function =
                ["fn", "const"].contains(&text(code, kind)) || text(code, kind + 1) == "fn";
            let end = behind_item(code, at);
            let body = (at..end).find(|at| is_function && text(code, *at) == "{");
            // Its own name is none of a type that it shows.
            (kind + 2, body.unwrap_or(end))
        } else if is_field {
            (
                at,
                (at..code.len())
                    .find(|at| [",", "}", ";"].contains(&text(code, *at)))
                    .unwrap_or(at),
            )
        } else if ["type", "impl"].contains(&text(code, at)) {
            (at, (at..code.len()).find(|at| [";", "{"].contains(&text(code, *at))).unwrap_or(at))
        } else {
            continue;
        };
        found.extend(
            code.get(start..end).unwrap_or_default().iter().map(|token| token.text.as_str()),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{of_workspace, source};

    /// Mathematics for workloads to come.
    const NOT_YET: &[&str] = &["crates/stats"];

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let read = |(path, text): &(&str, &str)| source(path.to_string(), text).unwrap();
        let sources: Vec<Source> = files.iter().map(read).collect();
        let name = |found: Unused| {
            format!("{}{}", found.item, if found.tests_use_it { " in tests" } else { "" })
        };
        unused(&sources).into_iter().map(name).collect()
    }

    #[test]
    fn items_without_users_are_named() {
        let a = (
            "crates/model/src/a.rs",
            "pub fn b() -> C {}\npub struct C;\npub(crate) const D: u8 = 1;\n\
                  struct E;\nimpl E { pub const fn f(&self) { b() } }",
        );
        assert_eq!(names(&[a]), ["fn b", "const D", "fn f"]);
        let child = ("crates/model/src/a/g.rs", "use super::b;");
        assert_eq!(names(&[a, child]).len(), 3, "a child needs no pub");
        let user = ("crates/sim/src/lib.rs", "use x::b; fn g(e: &E) { e.f() }");
        assert_eq!(names(&[a, user]), ["const D"]);
        let given = (
            "crates/model/src/lib.rs",
            "pub use a::b;\n#[cfg(test)]\nmod tests { use super::a::D; }",
        );
        assert_eq!(names(&[a, given]), ["fn b", "const D in tests", "fn f"]);
        let below = ("crates/stats/src/lib.rs", "use x::{b, f, D};");
        assert_eq!(names(&[a, below]).len(), 3, "stats cannot see model");
    }

    #[test]
    fn every_pub_item_is_used() {
        let found = unused(of_workspace().unwrap());
        let is_fault = |found: &&Unused| {
            !found.tests_use_it && !NOT_YET.iter().any(|home| found.place.starts_with(home))
        };
        let faults: Vec<&Unused> = found.iter().filter(is_fault).collect();
        assert!(faults.is_empty(), "take their pub away, or them: {faults:#?}");
    }
}
