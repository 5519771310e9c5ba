//! Circles between the files of a crate: files that use each other, directly or through others. A file and its
//! children may use each other.

use crate::source::Source;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Re-exports lead to re-exports; more of them in a row are none.
const REEXPORTS_MAX: usize = 8;

/// The files of one crate and which of them use which.
struct Crate<'s> {
    files: BTreeMap<&'s [String], &'s Source>,
}

/// The circles of every crate: its folder, and the paths of the files of each circle in their order of use, the
/// shortest way round.
pub fn circles(sources: &[Source]) -> BTreeMap<&str, Vec<Vec<&str>>> {
    let homes: BTreeSet<&str> = sources.iter().map(|source| source.home.as_str()).collect();
    homes.into_iter().map(|home| (home, Crate::new(sources, home).circles())).collect()
}

/// How many files of every crate are in a circle.
pub fn files_in_circles(sources: &[Source]) -> BTreeMap<&str, usize> {
    let homes: BTreeSet<&str> = sources.iter().map(|source| source.home.as_str()).collect();
    let count = |home| {
        let edges = Crate::new(sources, home).edges();
        edges.keys().filter(|file| !way_round(&edges, file).is_empty()).count()
    };
    homes.into_iter().map(|home| (home, count(home))).collect()
}

impl<'s> Crate<'s> {
    fn new(sources: &'s [Source], home: &str) -> Self {
        let files = sources.iter().filter(|source| source.home == home && !source.code.is_empty());
        Self { files: files.map(|source| (&source.module[..], source)).collect() }
    }

    /// The file in which a path ends that stands in `module`, as far as it leads through files.
    fn file_of(&self, module: &[String], steps: &[String], fuel: usize) -> Option<&'s [String]> {
        let (mut at, mut rest) = self.beginning(module, steps)?;
        while let Some((step, behind)) = rest.split_first() {
            let below = [&at[..], std::slice::from_ref(step)].concat();
            if self.files.contains_key(&below[..]) {
                (at, rest) = (below, behind);
                continue;
            }
            let imports = self.files.get(&at[..]).into_iter().flat_map(|file| &file.code.imports);
            let import = imports.into_iter().find(|import| import.name == *step);
            return match import {
                Some(path) if fuel > 0 => {
                    let through = [&path.steps[..], behind].concat();
                    self.file_of(&at, &through, fuel - 1).or(self.known(&at))
                }
                _ => self.known(&at),
            };
        }
        self.known(&at)
    }

    fn known(&self, module: &[String]) -> Option<&'s [String]> {
        self.files.get_key_value(module).map(|(module, _)| *module)
    }

    /// The module where a path begins and what is left of the path; none for those of other crates.
    fn beginning<'p>(
        &self,
        module: &[String],
        steps: &'p [String],
    ) -> Option<(Vec<String>, &'p [String])> {
        let first = steps.first()?.as_str();
        let below = [module, &steps[..1]].concat();
        match first {
            "crate" => Some((Vec::new(), &steps[1..])),
            "self" => Some((module.to_vec(), &steps[1..])),
            "super" => {
                let up = steps.iter().take_while(|step| *step == "super").count();
                Some((module[..module.len().checked_sub(up)?].to_vec(), &steps[up..]))
            }
            _ => self.files.contains_key(&below[..]).then(|| (below, &steps[1..])),
        }
    }

    /// The files that a file uses, except its parents, which a child may use.
    fn used(&self, source: &Source) -> BTreeSet<&'s [String]> {
        let module = &source.module[..];
        let imports = source.code.imports.iter().map(|import| &import.steps);
        let files = imports
            .chain(&source.code.paths)
            .filter_map(|steps| self.file_of(module, steps, REEXPORTS_MAX));
        files.filter(|file| !module.starts_with(file)).collect()
    }

    fn edges(&self) -> BTreeMap<&'s [String], BTreeSet<&'s [String]>> {
        self.files.iter().map(|(module, source)| (*module, self.used(source))).collect()
    }

    fn circles(&self) -> Vec<Vec<&'s str>> {
        let edges = self.edges();
        let mut found: Vec<Vec<&[String]>> = Vec::new();
        for start in edges.keys() {
            let way = way_round(&edges, start);
            // One circle for all files that it and others have in common.
            if !way.is_empty()
                && !found.iter().any(|known| way.iter().any(|file| known.contains(file)))
            {
                found.push(way);
            }
        }
        found
            .into_iter()
            .map(|way| way.into_iter().map(|m| self.files[m].path.as_str()).collect())
            .collect()
    }
}

/// The shortest way from a file back to itself; empty if there is none.
fn way_round<'m>(
    edges: &BTreeMap<&'m [String], BTreeSet<&'m [String]>>,
    start: &&'m [String],
) -> Vec<&'m [String]> {
    let mut from: BTreeMap<&[String], &'m [String]> = BTreeMap::new();
    let mut next = VecDeque::from([*start]);
    while let Some(file) = next.pop_front() {
        for used in &edges[file] {
            if used == start {
                let mut way = vec![file];
                while way[way.len() - 1] != *start {
                    way.push(from[way[way.len() - 1]]);
                }
                way.reverse();
                return way;
            }
            if !from.contains_key(used) {
                from.insert(used, file);
                next.push_back(used);
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{of_workspace, sources};

    /// Crates without circles.
    const FREE: &[&str] = &[
        "crates/bench",
        "crates/drive",
        "crates/drivescope",
        "crates/machine",
        "crates/model",
        "crates/mount",
        "crates/report",
        "crates/sim",
        "crates/sql",
        "crates/stats",
        "crates/store",
        "crates/trace",
        "crates/web",
        "xtask",
    ];

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let read = |(name, text): &(&str, &str)| (format!("crates/x/src/{name}"), text.to_string());
        let sources = sources(&files.iter().map(read).collect::<Vec<_>>()).unwrap();
        let short = |path: &&str| path.trim_start_matches("crates/x/src/").to_string();
        circles(&sources)["crates/x"]
            .iter()
            .map(|way| way.iter().map(short).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn files_that_use_each_other_are_found() {
        let root = ("lib.rs", "mod a; mod b; mod c; pub use b::B; use a::A;");
        let b = ("b.rs", "pub struct B; fn f() { crate::c::g() }");
        let c = ("c.rs", "fn g() { super::a::h() }");
        assert_eq!(found(&[root, ("a.rs", "use crate::b::B;"), b, c]), ["a.rs b.rs c.rs"]);
        assert_eq!(found(&[root, ("a.rs", "use crate::{B as Other};"), b, c]), ["a.rs b.rs c.rs"]);
        assert_eq!(found(&[root, ("a.rs", "use std::b::B;"), b, c]), [""; 0]);
        assert_eq!(found(&[root, ("a.rs", "#[cfg(test)] use crate::b;"), b, c]), [""; 0]);
    }

    #[test]
    fn parent_child_use_is_allowed_only_directly() {
        let parent = ("a/mod.rs", "mod b; mod c; use b::B; use self::c::C;");
        assert_eq!(
            found(&[("lib.rs", "mod a;"), parent, ("a/b.rs", "use super::X;"), ("a/c.rs", "")]),
            [""; 0]
        );
        let child = ("a/b.rs", "use crate::d::D;");
        let d = ("d.rs", "use crate::a::X;");
        assert_eq!(
            found(&[("lib.rs", "mod a; mod d;"), parent, child, ("a/c.rs", ""), d]),
            ["a/mod.rs a/b.rs d.rs"]
        );
    }

    #[test]
    fn crates_without_circles_stay_so() {
        let sources = of_workspace().unwrap();
        let circles = circles(sources);
        for home in FREE {
            assert_eq!(circles[home], Vec::<Vec<&str>>::new(), "{home}: files that use each other");
        }
    }
}
