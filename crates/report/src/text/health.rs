//! Health in full: every figure of SMART, its attributes, and the last self-tests.

use crate::health_facts::{
    ATTRIBUTE_HEADS, SELF_TEST_HEADS, attribute_row, health_facts, last_self_tests, self_test_row,
};
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, sections};
use drivescope_model::health::{Health, SmartAttribute};

/// Empty if nothing is known. `after` is the health at the end of a run.
pub(super) fn health(
    health: &Health,
    after: Option<&Health>,
    indent: usize,
    style: Style,
) -> String {
    if !health.is_known() {
        return String::new();
    }
    let last = after.unwrap_or(health);
    let tables = [attributes(&last.attributes, indent, style), self_tests(last, indent, style)];
    sections(std::iter::once(facts(health, after, indent, style)).chain(tables))
}

fn facts(health: &Health, after: Option<&Health>, indent: usize, style: Style) -> String {
    let facts = health_facts(health, after);
    let room = facts.iter().map(|fact| fact.name.len()).max().unwrap_or(0);
    let lines = facts.iter().map(|fact| {
        let role = if fact.is_bad { Role::Bad } else { Role::Plain };
        let (margin, name) = (" ".repeat(indent), fact.name);
        let lead = Paragraph::new().lead(Role::Dim, format!("{margin}{name:<room$}  "));
        lead.text(role, &fact.value).lines(indent + room + 2, style)
    });
    lines.collect()
}

fn attributes(attributes: &[SmartAttribute], indent: usize, style: Style) -> String {
    if attributes.is_empty() {
        return String::new();
    }
    let mut layout = vec![Column::right(); ATTRIBUTE_HEADS.len()];
    (layout[1], layout[6]) = (Column::left().flexible(12), Column::left());
    layout[2] = Column::right().flexible(8);
    let mut table = TextTable::new(indent, layout);
    table.row(ATTRIBUTE_HEADS.iter().map(TextCell::dim).collect());
    for attribute in attributes {
        let role = if attribute.failed.is_some() { Role::Bad } else { Role::Plain };
        table.row(attribute_row(attribute).iter().map(|text| TextCell::new(role, text)).collect());
    }
    table.render(style)
}

fn self_tests(health: &Health, indent: usize, style: Style) -> String {
    let tests = last_self_tests(health);
    if tests.is_empty() {
        return String::new();
    }
    let layout = vec![Column::left().flexible(10), Column::right(), Column::left().flexible(16)];
    let mut table = TextTable::new(indent, layout);
    table.row(SELF_TEST_HEADS.iter().map(TextCell::dim).collect());
    for test in tests {
        let role = if test.passed == Some(false) { Role::Bad } else { Role::Plain };
        table.row(self_test_row(test).iter().map(|text| TextCell::new(role, text)).collect());
    }
    table.render(style)
}
