//! Why smartctl reported nothing, in a sentence with what can be done.

use serde_json::Value;

/// smartctl since then has all that is read here.
const VERSION_MIN: (u64, u64) = (7, 3);

/// The version of a smartctl that leaves out what later ones print.
pub(super) fn is_old(json: &Value) -> Option<String> {
    let version = &json["smartctl"]["version"];
    let (major, minor) = (version[0].as_u64()?, version[1].as_u64()?);
    ((major, minor) < VERSION_MIN).then(|| format!("{major}.{minor}"))
}

pub(super) fn reason(json: &Value) -> String {
    let messages = json["smartctl"]["messages"].as_array().into_iter().flatten();
    let all: Vec<(&str, bool)> = messages
        .filter_map(|it| Some((it["string"].as_str()?, it["severity"] == "error")))
        .collect();
    let any = |words: &str| all.iter().any(|(message, _)| message.contains(words));
    let error = all.iter().find(|(_, is_error)| *is_error);
    // Without a device that it knows, smartctl still repeats how it was called.
    let called = json["smartctl"]["argv"].as_array().and_then(|words| words.last());
    let node = called.and_then(Value::as_str).unwrap_or("DEVICE");
    let support = &json["smart_support"];
    if any("Permission denied") || any("Operation not permitted") {
        "health: run with sudo".to_string()
    } else if any("STANDBY") || any("SLEEP") {
        "health: the drive is asleep and was not woken".to_string()
    } else if any("Unknown USB bridge") {
        format!(
            "health: unknown to smartctl behind this USB bridge; try smartctl -a -d sat {node}, for NVMe -d \
             sntasmedia, sntjmicron or sntrealtek"
        )
    } else if support["available"] == false {
        "health: the drive, or its USB bridge, passes on no SMART; connect it without the bridge"
            .to_string()
    } else if support["enabled"] == false {
        format!("health: SMART is off; switch it on with smartctl -s on {node}")
    } else if let Some((message, _)) = error.or(all.first()) {
        format!("smartctl: {}", message.split_whitespace().collect::<Vec<_>>().join(" "))
    } else {
        "health: not reported by this drive".to_string()
    }
}
