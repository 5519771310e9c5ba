//! Texts of a model: printed ones must stay on one line.

use super::Model;

/// Longest text; ATA's model names have 40 characters.
const LONGEST: usize = 200;

pub(super) fn problem(model: &Model) -> Option<(String, String)> {
    fn shown(text: &Option<String>) -> String {
        text.clone().unwrap_or_default()
    }
    if model.name.trim().is_empty() {
        return Some(("name".to_string(), "is empty; give the model a name".to_string()));
    }
    let (identity, bridge) = (&model.identity, &model.link.bridge);
    [
        ("name", model.name.clone()),
        ("summary", model.summary.clone()),
        ("identity.model", identity.model.clone()),
        ("identity.serial", identity.serial.clone()),
        ("identity.firmware", identity.firmware.clone()),
        ("link.name", model.link.name.clone()),
        ("link.bridge.model", shown(&bridge.model)),
        ("link.bridge.serial", shown(&bridge.serial)),
        ("link.bridge.firmware", shown(&bridge.firmware)),
    ]
    .into_iter()
    .find_map(|(field, text)| {
        let message = if text.chars().any(char::is_control) {
            "has a line break or another control character; give one line of text".to_string()
        } else if text.chars().count() > LONGEST {
            format!("has {} characters; give at most {LONGEST}", text.chars().count())
        } else {
            return None;
        };
        Some((field.to_string(), message))
    })
}
