//! Reads docs/format.md: its tables, the places they describe, and its code.

use crate::docs::FORMAT_PAGE;
use crate::workspace;

/// The page itself.
pub fn text() -> String {
    workspace::read(FORMAT_PAGE).unwrap()
}

/// A table with the line above it.
#[derive(Debug, PartialEq)]
pub struct Table {
    /// The last text line above it.
    pub above: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// Fields of each row, code marks taken away.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Words in code marks in the line above: the paths that a table of fields describes.
    pub fn places(&self) -> Vec<String> {
        self.above.split('`').skip(1).step_by(2).map(str::to_string).collect()
    }
}

/// The tables whose first column has this name.
pub fn tables(page: &str, first_column: &str) -> Vec<Table> {
    all_tables(page).into_iter().filter(|table| table.head[0] == first_column).collect()
}

fn all_tables(page: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let (mut above, mut inside) = (String::new(), false);
    for line in page.lines() {
        if !line.starts_with('|') {
            inside = false;
            if !line.trim().is_empty() {
                above = line.to_string();
            }
        } else if !inside {
            inside = true;
            tables.push(Table { above: above.clone(), head: fields(line), rows: Vec::new() });
        } else if !line.starts_with("|--") {
            tables.last_mut().expect("a head comes first").rows.push(fields(line));
        }
    }
    tables
}

fn fields(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{1}");
    inner
        .split('|')
        .map(|field| field.replace('\u{1}', "|").replace('`', "").trim().into())
        .collect()
}

/// The blocks of code in this language.
pub fn code(page: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).map(str::to_string).collect()
}

#[test]
fn tables_and_code_are_read_as_they_stand() {
    let page =
        "At `a`, `b[]`.\n\n| x | y |\n|---|---|\n| `1` | 2\\|3 |\n\nz\n```sql\nSELECT;\n```\n";
    let [table] = &tables(page, "x")[..] else { panic!("one table") };
    assert_eq!(table.places(), ["a", "b[]"]);
    assert_eq!(table.rows, [["1", "2|3"]]);
    assert!(tables(page, "y").is_empty());
    assert_eq!(code(page, "sql"), ["SELECT;\n"]);
}
