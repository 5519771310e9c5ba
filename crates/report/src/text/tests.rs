//! Snapshots of every output, and the promise that no line is wider than the terminal.

mod documents;
mod lists;
mod results;
mod screens;
mod verbose;
mod width;

use crate::terminal::Style;

const PLAIN: Style = Style::PLAIN;

const COLOUR: Style = Style { colour: true, ..PLAIN };

fn without_colour(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    out + rest
}
