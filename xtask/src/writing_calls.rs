//! The places that may open, name or cut files. `clippy.toml` bans such calls, and each place that needs one
//! expects the lint with its reason. This collects them for docs/safety.md, so that a reviewer sees a new one.

use crate::source;
use crate::workspace;

/// Of the expectation, what stands between the parenthesis and the reason.
const LINT: &str = "clippy::disallowed_methods";

/// One place: a function, or a whole file.
#[derive(Debug, PartialEq, Eq)]
struct WritingPlace {
    function: Option<String>,
    reason: String,
}

/// The table of all such places outside of tests.
pub fn table() -> Result<String, String> {
    let mut out = "| file | function | why |\n|---|---|---|\n".to_string();
    for source in source::of_workspace()?.iter().filter(|source| !source.code.is_empty()) {
        let (path, text) = (&source.path, workspace::read(&source.path)?);
        for place in places(without_tests(&text)).map_err(|fault| format!("{path}: {fault}"))? {
            let function = place.function.map_or("all".to_string(), |name| format!("`{name}`"));
            out.push_str(&format!("| `{path}` | {function} | {} |\n", place.reason));
        }
    }
    Ok(out)
}

/// The part of a file before its tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

/// The places of one source, in order.
fn places(text: &str) -> Result<Vec<WritingPlace>, String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(LINT) {
        let (before, after) = (text[..at].trim_end(), &text[at + LINT.len()..]);
        let Some(before) = before.strip_suffix("expect(") else { continue };
        if before.trim_end().ends_with("test,") {
            continue; // cfg_attr: expected in tests only
        }
        let reason = after.split_once("reason = \"").and_then(|(_, rest)| rest.split_once('"'));
        let Some((reason, rest)) = reason else {
            return Err(format!("{LINT} is expected without a reason"));
        };
        let function = if before.ends_with("#![") {
            None
        } else {
            Some(function_name(rest).ok_or_else(|| {
                format!("{LINT} is expected of less or more than a function: \"{reason}\"")
            })?)
        };
        found.push(WritingPlace { function, reason: reason.to_string() });
    }
    Ok(found)
}

/// The function that an attribute belongs to, given what follows the attribute.
fn function_name(text: &str) -> Option<String> {
    let (between, rest) = text.split_once("fn ")?;
    let is_other_item = between.contains([';', '{', '}']);
    let name = rest.split(['(', '<']).next()?;
    (!is_other_item).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_files_are_found_and_tests_are_not() {
        fn place(function: Option<&str>) -> WritingPlace {
            WritingPlace { function: function.map(str::to_string), reason: "it asks".to_string() }
        }
        let expect = format!("expect({LINT}, reason = \"it asks\")");
        let wrapped = format!("#[expect(\n    {LINT},\n    reason = \"it asks\"\n)]");
        for (text, expected) in [
            (format!("#![{expect}]\nfn a() {{}}\n"), vec![place(None)]),
            (format!("{wrapped}\n/// X.\npub(super) fn ask<T>(x: T) {{"), vec![place(Some("ask"))]),
            (format!("#![cfg_attr(test, {expect})]\n"), vec![]),
            (format!("#![cfg_attr(\n    test,\n    {expect}\n)]\n"), vec![]),
        ] {
            assert_eq!(places(&text), Ok(expected), "{text}");
        }
        assert!(places(&format!("fn a() {{\n#[{expect}]\nlet a = 1;\n}}\nfn b() {{")).is_err());
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\n"), "a\n");
    }

    /// Only the gate makes the handle that writes to devices, and no code copies it.
    #[test]
    fn a_raw_disk_is_made_by_the_gate_alone() {
        let handle = workspace::read("crates/drive/src/gate/raw_disk.rs").unwrap();
        assert!(handle.contains("pub(super) fn new("), "only the gate may call it");
        assert!(
            !handle.contains("Clone") && !handle.contains("impl AsFd"),
            "it must not be copied"
        );
        let fields =
            handle.split("pub struct RawDisk {").nth(1).and_then(|rest| rest.split('}').next());
        assert!(!fields.unwrap().contains("pub "), "its fields are private");
    }

    /// Without the ban there is nothing to expect.
    #[test]
    fn no_crate_switches_the_ban_off() {
        let lists = workspace::files(&["clippy.toml"]).unwrap();
        assert_eq!(lists, ["clippy.toml"]);
        let manifests = workspace::files(&["Cargo.toml"]).unwrap();
        for path in manifests {
            let text = workspace::read(&path).unwrap();
            let is_denied = match path.as_str() {
                "Cargo.toml" => text.contains("\ndisallowed_methods = \"deny\"\n"),
                _ => text.contains("[lints]\nworkspace = true"),
            };
            assert!(is_denied, "{path}");
        }
    }
}
