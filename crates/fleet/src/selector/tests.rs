use super::*;
use crate::testing::{host_drive, other_drive};
use proptest::prelude::*;

fn holds(text: &str) -> bool {
    Selector::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).matches(&host_drive())
}

fn error(text: &str) -> String {
    Selector::parse(text).unwrap_err().to_string()
}

#[test]
fn texts_match_whole_and_without_case() {
    for text in [
        r#"model="wdc wd40efrx-68n32n0""#,
        r#"model=~"WDC WD40.*""#,
        "model=~.*wd40.*",
        r#"model=~".*\d0efrx-.*""#,
        r#"host=~"rack7-.*|rack8-.*""#,
        "host=rack7-3 and name=sda",
        "serial='WD-WCC7K0000001'",
        "kind=hard-disk && link=~'SATA.*'",
        "target=/dev/sda",
        "host!=rack7-4 and host!~rack8.*",
    ] {
        assert!(holds(text), "{text}");
    }
    for text in ["model=~WD40", "model=WD40EFRX", "host=~rack7", "model!~'.*wd40.*'"] {
        assert!(!holds(text), "{text}");
    }
}

#[test]
fn numbers_take_units() {
    for text in [
        "capacity=4TB",
        "capacity<=4TB and capacity>=4TB",
        "capacity>500GB",
        "capacity != 3TB",
        "fill<0.5",
        "fill<50%",
        "fill=0.25",
        "temperature>=38",
        "temperature>30C",
        "seen<1min and seen<=12 and seen<0.5h",
        "there",
        "there=yes and there!=no",
    ] {
        assert!(holds(text), "{text}");
    }
    for text in ["capacity<4TB", "capacity>4TB", "fill>=0.5", "seen>1d", "not there"] {
        assert!(!holds(text), "{text}");
    }
}

#[test]
fn words_bind_as_usual() {
    for (text, expected) in [
        ("host=x and host=y or there", true),
        ("there or host=x and host=y", true),
        ("(there or host=x) and host=y", false),
        ("not host=x and there", true),
        ("not (host=x or there)", false),
        ("!(host=x) && !!there", true),
        ("NOT there OR there", true),
    ] {
        assert_eq!(holds(text), expected, "{text}");
    }
}

#[test]
fn comparison_with_a_missing_value_is_false() {
    let drive = other_drive();
    for text in ["serial=x", "serial!=x", "serial=~.*", "serial!~x", "fill<1", "fill!=1"] {
        assert!(!Selector::parse(text).unwrap().matches(&drive), "{text}");
        assert!(Selector::parse(&format!("not {text}")).unwrap().matches(&drive), "{text}");
    }
}

#[test]
fn errors_name_the_column_and_what_was_expected() {
    for (text, expected) in [
        ("", "column 1: expected a field, not, or '(', found the end"),
        ("modle=x", "column 1: no field 'modle' (did you mean 'model'?); fields: host, name,"),
        ("host=a and", "column 11: expected a field"),
        ("host", "column 5: expected one of = != =~ !~ < <= > >=, found the end"),
        ("host=", "column 6: expected a value, found the end"),
        ("host = and", "column 8: expected a value, found 'and'"),
        ("host=a name=b", "column 8: expected and, or, or the end, found 'name'"),
        ("(host=a", "column 8: expected ')', found the end"),
        ("host<a", "column 5: host is a text: compare it with = != =~ !~"),
        ("fill=~a", "column 5: fill is a number: compare it with"),
        ("fill<50", "column 6: fill: '50' is not a part: write 0.5 or 50%"),
        ("capacity>4XB", "column 10: capacity: 'XB' is not a size unit"),
        ("seen<-1", "column 6: seen: '-1' is not a time"),
        ("temperature>inf", "column 13: temperature: 'inf' is not a temperature"),
        ("there=maybe", "column 7: expected yes or no"),
        ("kind=hdd", "column 6: no kind 'hdd'; kinds: hard-disk, ssd"),
        ("host=\"a", "column 6: the quote \" is not closed"),
        ("host=a | there", "column 8: unexpected '|'"),
        ("ü = x and hst=a", "column 1: no field 'ü'"),
        ("model=~'('", "column 8: the pattern cannot be used"),
        ("model=~'a)(b'", "column 8: the pattern cannot be used"),
        ("model=~'((a{99}){99}){99}'", "column 8: the pattern cannot be used"),
    ] {
        let error = error(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    assert!(error(&"x".repeat(9_000)).len() < 300);
    assert!(error(&"x".repeat(20_000)).contains("too long"));
    assert!(error(&"(".repeat(5_000)).contains("nested too deeply"));
    assert!(error(&"not ".repeat(2_000)).contains("nested too deeply"));
}

#[test]
fn text_that_no_drive_has_is_corrected() {
    let drives = [host_drive(), other_drive()];
    let selector = Selector::parse("host=rack7-33 and model=wd40efrx and name!=sdz").unwrap();
    let expected = [
        "no host is 'rack7-33'; did you mean 'rack7-3'?",
        "no model is 'wd40efrx'; did you mean 'WDC WD40EFRX-68N32N0'?",
    ];
    assert_eq!(selector.corrections(&drives), expected);
}

/// A text and what it means for [`host_drive`].
fn expressions() -> impl Strategy<Value = (String, bool)> {
    let leaf = prop_oneof![
        Just(("there".to_string(), true)),
        Just(("host=x".to_string(), false)),
        Just(("fill < 30%".to_string(), true)),
        Just(("model=~'sam.*'".to_string(), false)),
    ];
    leaf.prop_recursive(6, 40, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone().prop_map(|((a, x), (b, y))| (format!("({a}) and ({b})"), x && y)),
            pair.prop_map(|((a, x), (b, y))| (format!("({a}) || ({b})"), x || y)),
            inner.prop_map(|(a, x)| (format!("not ({a})"), !x)),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>()) {
        let _ = Selector::parse(&text);
    }

    #[test]
    fn any_words_are_parsed_or_refused(
        parts in proptest::collection::vec(
            proptest::sample::select(&[
                "host", "fill", "there", "capacity", "seen", "=", "!=", "=~", "!~", "<", ">=", "!", "(", ")", "and",
                "or", "not", "&&", "||", "&", "\"", "'", "\\", "4TB", "50%", "1e9", ".*", "[", "{9}", "ü", "\0", " ",
            ][..]),
            0..40,
        ),
    ) {
        if let Ok(selector) = Selector::parse(&parts.concat()) {
            selector.matches(&host_drive());
            selector.corrections(&[host_drive()]);
        }
    }

    #[test]
    fn operators_mean_what_logic_says((text, expected) in expressions()) {
        prop_assert_eq!(holds(&text), expected, "{}", text);
    }
}
