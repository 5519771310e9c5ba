//! `suites`: the built-in suites and the user's own.

use crate::exit::{Code, Failure};
use crate::output;
use drivescope_bench::suites;
use drivescope_report::text;

/// Lists the built-in suites and the user's own.
pub fn suites() -> Result<Code, Failure> {
    let mut pairs: Vec<(String, String)> =
        suites::built_in().into_iter().map(|suite| (suite.name, suite.summary)).collect();
    if let Some(folder) = suites::user_folder()
        && let Ok(entries) = std::fs::read_dir(&folder)
    {
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let summary = match suites::find(&path.to_string_lossy(), None) {
                    Ok(suite) => suite.summary,
                    Err(error) => format!("broken: {error}"),
                };
                pairs.retain(|(known, _)| *known != name);
                pairs.push((name, summary));
            }
        }
    }
    output::print_line(&text::name_list(&pairs, output::style()));
    Ok(Code::Ok)
}
