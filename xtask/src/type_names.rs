//! Names of types: each means one thing in the workspace.

use crate::source::Source;
use std::collections::BTreeMap;

/// The names that more than one type has outside of tests, each with the files and lines of its types.
pub fn types_of_one_name(sources: &[Source]) -> BTreeMap<&str, Vec<String>> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in sources {
        for (name, line) in &source.code.types {
            found.entry(name).or_default().push(format!("{}:{line}", source.path));
        }
    }
    found.retain(|_, places| places.len() > 1);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{of_workspace, sources};

    #[test]
    fn a_name_means_one_thing() {
        let files =
            [("a.rs", "struct A;\nstruct B;"), ("b.rs", "\nenum A {}\n#[cfg(test)] struct B;")];
        let files = files.map(|(path, text)| (format!("crates/x/src/{path}"), text.to_string()));
        let sources = sources(&files).unwrap();
        let expected = ["crates/x/src/a.rs:1", "crates/x/src/b.rs:2"].map(str::to_string).to_vec();
        assert_eq!(types_of_one_name(&sources), BTreeMap::from([("A", expected)]));
        let found = types_of_one_name(of_workspace().unwrap());
        assert!(found.is_empty(), "names that several types have: {found:#?}");
    }
}
