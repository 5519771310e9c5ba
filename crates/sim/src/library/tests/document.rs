//! Files and mistakes in docs/models.md behave as shown there.

use crate::library::Model;

const DOCUMENT: &str = include_str!("../../../../../docs/models.md");

/// The fenced block of `language` that follows `heading`.
fn block<'d>(heading: &str, language: &str) -> &'d str {
    let (_, rest) = DOCUMENT.split_once(heading).unwrap_or_else(|| panic!("{heading}"));
    let (_, rest) = rest.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

fn complete_file() -> &'static str {
    block("A complete file:", "toml")
}

/// A file with the tables of `other` in place of its own of the same names; new ones come last.
fn with_tables(file: &str, other: &str) -> String {
    fn tables(text: &str) -> Vec<String> {
        format!("\n{text}").split("\n[").map(ToString::to_string).collect()
    }
    fn name(table: &str) -> String {
        table.split(']').next().unwrap_or_default().to_string()
    }
    let mut all = tables(file);
    for new in tables(other).into_iter().skip(1) {
        match all.iter().position(|table| name(table) == name(&new)) {
            Some(index) => all[index] = new,
            None => all.push(new),
        }
    }
    all.join("\n[")
}

#[test]
fn the_complete_file_and_the_measured_tables_are_models() {
    let model = Model::parse("mine.toml", complete_file()).unwrap();
    assert_eq!(model.capacity_bytes(), 1_000_204_886_016);
    let measured = block("Measured tables", "toml");
    for word in [
        "profile = \"table\"",
        "list = [",
        "sectors_per_track",
        "head_skew_rev",
        "points_cylinders_ms",
        "knee_cylinders",
        "[hdd.after_write]",
    ] {
        assert!(measured.contains(word), "{word}");
    }
    let text = with_tables(complete_file(), measured);
    let model = Model::parse("mine.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let disk = model.hdd.unwrap();
    assert!(disk.write_seek.is_some() && disk.after_write.is_some());
}

#[test]
fn mistakes_are_reported_as_documented() {
    let shown: Vec<&str> = block("Mistakes are one line", "").lines().collect();
    let file = complete_file();
    let (heads, inner) = ("heads = 2 ", "inner_media_mb_s = 114 ");
    for (from, to) in [
        (heads, "heads = \"two\" "),
        (heads, ""),
        (heads, "heads = 200 "),
        (inner, "inner_media_mb_s = 300 "),
    ] {
        let changed = match to {
            "" => {
                file.lines().filter(|line| !line.starts_with(from)).collect::<Vec<_>>().join("\n")
            }
            _ => file.replacen(from, to, 1),
        };
        let error = Model::parse("./mine.toml", &changed).unwrap_err();
        let said = format!("drivescope: {error}");
        assert!(shown.contains(&said.as_str()), "{said}");
    }
}
