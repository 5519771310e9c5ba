//! `suites` and `tests`: names with one line each.

use crate::flow::Flow;
use crate::style::{Role, Style};
use crate::width::{clean, shorten, width};

/// Room for a name.
const NAME_MAX: usize = 32;

/// The suites: name and summary of each.
pub fn suites(pairs: &[(String, String)], style: Style) -> String {
    catalogue(pairs.iter().map(|(name, summary)| (name.as_str(), summary.as_str())), style)
}

/// The tests: name of each and the question it answers.
pub fn tests(pairs: &[(&str, &str)], style: Style) -> String {
    catalogue(pairs.iter().copied(), style)
}

fn catalogue<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>, style: Style) -> String {
    let pairs: Vec<(String, &str)> =
        pairs.map(|(name, about)| (shorten(&clean(name), NAME_MAX).into_owned(), about)).collect();
    let room = pairs.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let mut out = String::new();
    for (name, about) in &pairs {
        let padding = " ".repeat(room - width(name) + 2);
        let flow = Flow::new().lead(Role::Title, name).lead(Role::Plain, &padding);
        out.push_str(&flow.text(Role::Plain, about).lines(room + 2, style));
    }
    out
}
