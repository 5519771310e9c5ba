//! Names `pub` items that nothing outside their module uses: a file and those below it. What an item is called is
//! looked for as a word, so that one with a usual name (`new`) counts as used.

use crate::edges::sees;
use crate::source::{PubItem, Source, SourcePart};
use std::collections::BTreeMap;

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

/// All of them, by file and line.
pub fn unused(sources: &[Source]) -> Vec<Unused> {
    let (code, tests) = (users(sources, |source| &source.code), users(sources, |s| &s.tests));
    let judge = |source: &Source, item: &PubItem| {
        let name = item.name.as_str();
        let is_used_outside = |users: &BTreeMap<&str, Vec<&Source>>| {
            let mut users = users.get(name).into_iter().flatten();
            users.any(|user| sees(&user.home, &source.home) && !source.has_within(user))
        };
        let is_shown = || {
            let mut within = sources.iter().filter(|file| source.has_within(file));
            item.kind != "fn" && within.any(|file| file.code.shown.contains(name))
        };
        let is_needed = name == "main" || is_used_outside(&code) || is_shown();
        (!is_needed).then(|| Unused {
            place: format!("{}:{}", source.path, item.line),
            item: format!("{} {name}", item.kind),
            tests_use_it: is_used_outside(&tests),
        })
    };
    let mut found = Vec::new();
    for source in sources {
        found.extend(source.code.pub_items.iter().filter_map(|item| judge(source, item)));
    }
    found
}

/// The files in which words are used.
fn users(sources: &[Source], part: fn(&Source) -> &SourcePart) -> BTreeMap<&str, Vec<&Source>> {
    let mut found: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        for word in &part(source).words {
            found.entry(word).or_default().push(source);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{of_workspace, sources};

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, String)> =
            files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        let sources = sources(&files).unwrap();
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
        let is_fault = |found: &&Unused| !found.tests_use_it;
        let faults: Vec<&Unused> = found.iter().filter(is_fault).collect();
        assert!(faults.is_empty(), "take their pub away, or them: {faults:#?}");
    }
}
