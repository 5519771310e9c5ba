//! Mistakes in files, and what is said of them.

use super::*;

fn said(model: &str, from: &str, to: &str) -> String {
    let text = BUILT_IN.iter().find(|(name, _)| *name == model).unwrap().1;
    let changed = text.replacen(from, to, 1);
    assert_ne!(changed, text, "{from}");
    Model::parse("my.toml", &changed).expect_err(to).to_string()
}

#[test]
fn mistakes_are_told_in_the_words_of_the_file() {
    for (from, to, words) in [
        (
            "heads = 6 ",
            "heads = \"two\" ",
            ":23:9: heads: is the text \"two\"; give a whole number from 0 to",
        ),
        (
            "heads = 6 ",
            "heads = -1 ",
            ":23:9: heads: is -1; give a whole number from 0 to 4294967295",
        ),
        ("heads = 6 ", "heads = 1.5 ", ":23:9: heads: is 1.5; give a whole number"),
        ("heads = 6 ", "", ":20:1: the field heads is missing"),
        (
            "heads = 6 ",
            "haeds = 6 ",
            ":23:1: unknown field `haeds`, expected one of `capacity_bytes`",
        ),
        ("enabled = true", "enabled = 1", ":62:11: enabled: is 1; give true or false"),
        (
            "= 4000787030016",
            "= 99999999999999999999",
            "is 99999999999999999999; give a whole number, 0 or more",
        ),
        ("\"hdd\"", "\"hhd\"", ":3:8: kind: is \"hhd\"; give \"hdd\" or \"ssd\""),
        ("\"sata-6g\"", "\"sata-9g\"", "preset: is \"sata-9g\"; give one of \"sata-6g\", "),
        ("\"wd40efrx\"", "5", ":1:8: name: is 5; give a text in quotation marks"),
        ("= 207.1", "= \"fast\"", ":35:20: outer_media_mb_s: is the text \"fast\"; give a number"),
        ("count = 30", "count = -30", ":37:9: count: is -30; give a whole number"),
        (
            "\"square-root\"",
            "\"straight\"",
            "profile: is \"straight\"; give \"square-root\" or \"table\"",
        ),
        ("profile = \"square-root\"", "", ":33:1: the field profile is missing"),
        ("near_root_ms = 11.78 ", "", ":47:1: the field near_root_ms is missing"),
        ("near_root_ms = 11.78 ", "near_rot_ms = 11.78 ", "unknown field `near_rot_ms`, expected"),
        ("\"serpentine\"", "7", "order: is 7; give a word in quotation marks"),
        ("[hdd.skew]", "[hdd.skew", ":43:10: unclosed table"),
        ("[hdd.skew]", "[hdd.queue]\ndepth=1\n[hdd.skew]", "duplicate key"),
        ("[hdd]", "[ssd]", "the field capacity_bytes is missing"),
    ] {
        let message = said("wd40efrx", from, to);
        assert!(message.starts_with("my.toml:") && message.contains(words), "{to:?}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}
