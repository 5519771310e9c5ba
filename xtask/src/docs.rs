//! Generated documents: whole pages, and the parts of others between a mark
//! `<!-- begin generated: NAME -->` and its end.

use crate::format;
use crate::seeds;
use crate::workspace;
use crate::writing_calls;
use drivescope_model::schema;

/// The page with generated parts.
pub const FORMAT_PAGE: &str = "docs/format.md";
/// The page with the places that may write.
const SAFETY_PAGE: &str = "docs/safety.md";
/// The page of the articles, with their figures beside those of the models.
const SEEDS_PAGE: &str = "docs/seeds.md";

/// Writes every generated document that is out of date.
pub fn write() -> Result<(), String> {
    for (path, text) in documents()? {
        if workspace::read(path).ok().as_deref() != Some(&text) {
            workspace::write(path, &text)?;
            println!("wrote {path}");
        }
    }
    Ok(())
}

/// Fails with the first line that differs in each document that is out of date.
pub fn check() -> Result<(), String> {
    let mut faults = Vec::new();
    for (path, text) in documents()? {
        let found = workspace::read(path).unwrap_or_default();
        faults.extend(difference(&found, &text).map(|fault| format!("{path}:{fault}")));
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("{}\ncargo xtask docs brings them up to date", faults.join("\n")))
}

/// Where two texts first differ: `LINE: is …, must be …`.
fn difference(found: &str, wanted: &str) -> Option<String> {
    if found == wanted {
        return None;
    }
    let (mut found, mut wanted) = (found.lines(), wanted.lines());
    for number in 1.. {
        match (found.next(), wanted.next()) {
            (None, None) => return Some(format!("{number}: the end of the last line differs")),
            (is, must_be) if is == must_be => {}
            (is, must_be) => {
                let text = |line: Option<&str>| {
                    line.map_or("the end of the file".to_string(), |line| format!("'{line}'"))
                };
                return Some(format!("{number}: is {}, must be {}", text(is), text(must_be)));
            }
        }
    }
    None
}

/// The generated documents: path and text.
fn documents() -> Result<Vec<(&'static str, String)>, String> {
    let mut format_page = workspace::read(FORMAT_PAGE)?;
    let parts = [
        ("fields", format::fields()),
        ("values", format::values()),
        ("quantities", format::quantities()),
    ];
    for (name, part) in parts {
        format_page = with_part(&format_page, name, &part)?;
    }
    let safety_page = workspace::read(SAFETY_PAGE)?;
    let safety_page = with_part(&safety_page, "writing calls", &writing_calls::table()?)?;
    let mut seeds_page = workspace::read(SEEDS_PAGE)?;
    for (name, part) in seeds::parts()? {
        seeds_page = with_part(&seeds_page, &name, &part)?;
    }
    Ok(vec![
        ("docs/findings.md", drivescope_report::markdown::findings_markdown()),
        ("docs/verdicts.md", drivescope_report::markdown::verdicts_markdown()),
        ("docs/run.schema.json", schema::run_schema_text()),
        (FORMAT_PAGE, format_page),
        (SAFETY_PAGE, safety_page),
        (SEEDS_PAGE, seeds_page),
    ])
}

/// The page with another text between the marks of a part.
fn with_part(page: &str, name: &str, part: &str) -> Result<String, String> {
    let mark = |edge: &str| format!("<!-- {edge} generated: {name} -->\n");
    let split = page
        .split_once(&mark("begin"))
        .and_then(|(before, rest)| rest.split_once(&mark("end")).map(|(_, after)| (before, after)));
    let Some((before, after)) = split else {
        return Err(format!("the page has no marks around its part '{name}'"));
    };
    Ok(format!("{before}{}\n{part}\n{}{after}", mark("begin"), mark("end")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_are_up_to_date() {
        check().unwrap();
    }

    #[test]
    fn the_first_difference_is_named() {
        for (found, wanted, fault) in [
            ("a\nb\n", "a\nb\n", None),
            ("a\nb\n", "a\nc\n", Some("2: is 'b', must be 'c'")),
            ("a\n", "a\nc\n", Some("2: is the end of the file, must be 'c'")),
            ("a\nb\n", "a\n", Some("2: is 'b', must be the end of the file")),
            ("a", "a\n", Some("2: the end of the last line differs")),
        ] {
            assert_eq!(difference(found, wanted).as_deref(), fault, "{found:?} {wanted:?}");
        }
    }

    #[test]
    fn only_the_text_between_the_marks_changes() {
        let page = "x\n<!-- begin generated: t -->\nold\n<!-- end generated: t -->\ny\n";
        let new = with_part(page, "t", "new\n").unwrap();
        assert_eq!(new, "x\n<!-- begin generated: t -->\n\nnew\n\n<!-- end generated: t -->\ny\n");
        assert_eq!(with_part(&new, "t", "new\n").unwrap(), new);
        assert!(with_part(page, "u", "new").is_err());
    }
}
