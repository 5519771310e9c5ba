//! Mistakes in files, and their messages.

use super::{refusal, text_of};
use crate::library::*;

#[test]
fn mistakes_use_the_words_of_the_file() {
    for (from, to, words) in [
        ("heads = 6 ", r#"heads = "two" "#, r#":23:9: heads: is the text "two"; give a whole"#),
        (
            "heads = 6 ",
            "heads = -1 ",
            ":23:9: heads: is -1; give a whole number from 0 to 4294967295",
        ),
        ("heads = 6 ", "heads = 1.5 ", ":23:9: heads: is 1.5; give a whole number"),
        ("heads = 6 ", "", ":20:1: the field heads is missing"),
        ("heads = 6 ", "haeds = 6 ", ":23:1: unknown field `haeds`, expected one of `capacity_"),
        ("enabled = true", "enabled = 1", ":62:11: enabled: is 1; give true or false"),
        ("= 4000787030016", "= 99999999999999999999", "is 99999999999999999999; give a whole"),
        (r#""hdd""#, r#""hhd""#, r#":3:8: kind: is "hhd"; give "hdd" or "ssd""#),
        (r#""sata-6g""#, r#""sata-9g""#, r#"preset: is "sata-9g"; give one of "sata-6g", "#),
        (r#""wd40efrx""#, "5", ":1:8: name: is 5; give a text in quotation marks"),
        ("= 207.1", r#"= "fast""#, r#":35:20: outer_media_mb_s: is the text "fast"; give a num"#),
        (r#""square-root""#, r#""straight""#, r#"profile: is "straight"; give "square-root" or "#),
        (r#"profile = "square-root""#, "", ":33:1: the field profile is missing"),
        (r#""serpentine""#, "7", "order: is 7; give a word in quotation marks"),
        ("[hdd.skew]", "[hdd.skew", ":43:10: unclosed table"),
        ("[hdd.skew]", "[hdd.queue]\ndepth=1\n[hdd.skew]", "duplicate key"),
        ("[hdd]", "[ssd]", "the field capacity_bytes is missing"),
        // of tables with variants; 207.1 stands in another field above
        ("count = 30", "count = -30", ":37:9: count: is -30; give a whole number"),
        ("count = 30", "count = 207.1", ":37:9: count: is 207.1; give a whole number"),
        ("count = 30", "count = nan", ":37:9: count: is NaN; give a whole number"),
        ("count = 30", "count = []", ":37:9: count: is a list; give a whole number"),
        ("count = 30", "count = [3]", ":37:9: count: is a list; give a whole number"),
        ("count = 30", "count = {}", ":37:9: count: is a table; give a whole number"),
        ("count = 30", "cuont = 30", ":37:1: unknown field `cuont`, expected"),
        ("count = 30", "", ":33:1: the field count is missing"),
        ("near_root_ms = 11.78 ", "", ":47:1: the field near_root_ms is missing"),
        (
            "near_root_ms = 11.78",
            "near_root_ms = true",
            ":51:16: near_root_ms: is true; give a num",
        ),
        ("near_root_ms = 11.78", "near_rot_ms = 11.78", ":51:1: unknown field `near_rot_ms`, exp"),
        ("ers = 128", "ers = 1e3", ":41:18: band_cylinders: is 1000.0; give a"),
    ] {
        let message = refusal("wd40efrx", from, to).to_string();
        assert!(message.starts_with("wd40efrx:") && message.contains(words), "{to:?}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn measured_list_mistakes_name_their_place() {
    let model = text_of("wd40efrx");
    let begin = model.find("[hdd.zones]").unwrap();
    let end = begin + model[begin + 1..].find("\n[").unwrap() + 1;
    for (second, words) in [
        (
            r#"{ cylinders = 1, sectors_per_track = "x" }"#,
            ":37:40: list[1].sectors_per_track: is the",
        ),
        ("{ sectors_per_track = 8 }", ":37:3: list[1]: the field cylinders is missing"),
        ("{ cylinders = 1, sectors_per_track = 8, skew = 1 }", ":37:43: unknown field `skew`"),
        ("7", ":37:3: list[1]: is 7; give a table"),
    ] {
        let zones = format!(
            "[hdd.zones]\nprofile = \"table\"\nlist = [\n  {{ cylinders = 9, sectors_per_track = 8 }},\n  {second},\n]\n"
        );
        let text = format!("{}{zones}{}", &model[..begin], &model[end..]);
        let message = Model::parse("my.toml", &text).expect_err(second).to_string();
        assert!(message.contains(words), "{second}: {message}");
    }
}

#[test]
fn overlong_value_is_shortened() {
    let long = "x".repeat(500_000);
    for (from, to, words) in [
        ("heads = 6 ", format!("heads = \"{long}\" "), "heads: is the text \"xxx"),
        ("heads = 6 ", format!("{long} = 6 "), "unknown field `xxx"),
        ("\"hdd\"", format!("\"{long}\""), "kind: is \"xxx"),
        ("\"sata-6g\"", format!("\"{long}\""), "preset: is \"xxx"),
        ("\"square-root\"", format!("\"{long}\""), "profile: is \"xxx"),
        ("count = 30", format!("count = \"{long}\""), "count: is the text \"xxx"),
        ("= 4000787030016", format!("= {}", "9".repeat(500_000)), "capacity_bytes: "),
        ("\"wd40efrx\"", format!("\"{long}\""), "name: has 500000 characters"),
    ] {
        let message = refusal("wd40efrx", from, &to).to_string();
        let beginning = &message[..200.min(message.len())];
        assert!(message.contains(words), "{} bytes: {beginning}", message.len());
        assert!(message.len() < 1_000, "{} bytes: {words}", message.len());
    }
}
