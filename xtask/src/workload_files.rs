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

    /// Files beside those of the workloads that name one, each with its reason.
    const MAY_NAME: [(&str, &str); 16] = [
        ("crates/model/src/resume.rs", "the format says which phase is of which test"),
        ("crates/bench/src/workloads/fill_files/real_fill.rs", "its files stay for read-files"),
        ("crates/bench/src/workloads/read_files.rs", "it reads the files of fill-files"),
        ("crates/bench/src/workloads/steady.rs", "it replays the traces of apps"),
        (
            "crates/store/src/document/imported_run.rs",
            "figures of other programs are those of transfer and verify",
        ),
        ("crates/report/src/advise/drive_figures.rs", "advice asks geometry and surface"),
        ("crates/drivescope/src/commands/advise.rs", "--measure runs what advice asks"),
        ("crates/drivescope/src/commands/trace/replay.rs", "a replay is a run of apps"),
        ("crates/drivescope/src/live_run.rs", "the first table is that of transfer"),
        ("crates/drivescope/src/run_steps/phybs_table.rs", "--table prints a method of align"),
        ("crates/drivescope/src/commands/check.rs", "--destroy adds tests that write"),
        ("crates/report/src/page/certificate.rs", "a certificate has the curve of surface"),
        ("crates/report/src/verdict/keep.rs", "a decision asks each part of a check"),
        ("crates/report/src/verdict/keep/parts.rs", "it says how each part ended"),
        ("crates/report/src/verdict/keep/surface_read.rs", "it says how much surface has read"),
        (
            "crates/drivescope/src/run_steps/resume.rs",
            "verify reads stamps of another run of verify",
        ),
    ];

    /// `TinyWrites` as files are named: `tiny_writes`.
    fn file_name(kind: &str) -> String {
        kind.char_indices().map(snake_letter).collect()
    }

    fn snake_letter((at, c): (usize, char)) -> String {
        if c.is_uppercase() && at > 0 {
            format!("_{}", c.to_lowercase())
        } else {
            c.to_lowercase().to_string()
        }
    }

    #[test]
    fn workloads_are_named_only_in_listed_files() {
        let sources = of_workspace().unwrap();
        let is_kind =
            |name: &str| name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase);
        let mut needless: BTreeSet<&str> = MAY_NAME.iter().map(|(path, _)| *path).collect();
        let mut faults = Vec::new();
        for source in sources.iter().filter(|source| source.path.contains("/src/")) {
            let kinds =
                source.code.paths.iter().filter(|path| path[0] == "TestKind" && is_kind(&path[1]));
            for kind in kinds.map(|path| &path[1]) {
                let is_own = source.module.contains(&file_name(kind));
                if !is_own
                    && !needless.remove(source.path.as_str())
                    && MAY_NAME.iter().all(|(path, _)| *path != source.path)
                {
                    faults.push(format!("{}: {kind}", source.path));
                }
            }
        }
        assert!(faults.is_empty(), "name a property of the trait Workload instead: {faults:#?}");
        assert!(needless.is_empty(), "these name none: {needless:?}");
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
