//! Adding a workload touches the files that CONTRIBUTING.md lists, and no others.

#[cfg(test)]
mod tests {
    use crate::source::{Source, of_workspace};
    use crate::workspace;
    use std::collections::BTreeSet;

    /// The workload that CONTRIBUTING.md shows: what names it in a source, and its modules.
    const NAMES: [&str; 3] = ["Latency", "LatencyOptions", "LatencyWorkload"];
    const MODULE: &str = "latency";

    /// The list is that of the first column of the table below this heading.
    const HEADING: &str = "### The files of a workload";

    fn listed() -> BTreeSet<String> {
        let text = workspace::read("CONTRIBUTING.md").unwrap();
        let (_, section) = text.split_once(HEADING).expect("CONTRIBUTING.md has the heading");
        let section = section.split("\n#").next().unwrap_or_default();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.filter_map(|row| Some(row.split_once('`')?.0.to_string())).collect()
    }

    fn names_it(source: &Source) -> bool {
        NAMES.iter().any(|name| source.code.words.contains(*name))
            || source.code.modules.iter().any(|module| module == MODULE)
    }

    #[test]
    fn a_workload_is_named_in_the_listed_files_only() {
        let sources = of_workspace().unwrap();
        let naming = sources.iter().filter(|source| names_it(source));
        let found: BTreeSet<String> = naming.map(|source| source.path.clone()).collect();
        assert_eq!(found, listed());
        assert!(found.len() <= 6, "{found:?}");
    }
}
