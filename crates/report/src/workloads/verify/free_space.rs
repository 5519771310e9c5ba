//! What `verify` says of a directory: its files filled the free space, and what other files hold was not tested.

use super::{bad_bytes, bytes};
use crate::terminal::{Paragraph, Role, value};
use drivescope_model::{Bytes, TestResult};

/// `57.2 GB of 64.0 GB`: what was tested, and of what, if the drive is known.
fn tested(result: &TestResult, tested: Bytes) -> String {
    let whole = bytes(result, "capacity", "device_bytes").map(Bytes);
    whole.map_or(tested.to_string(), |whole| format!("{tested} of {whole}"))
}

pub(super) fn headline(result: &TestResult, announced: Bytes, real: Bytes) -> String {
    let bad = Bytes(bad_bytes(result));
    if value(result, "fake", "module_bytes").is_some() {
        format!("Capacity: FAKE, of {announced} in files it keeps {real}")
    } else if bad.0 > 0 {
        format!("Capacity: {bad} of {announced} in files did not read back")
    } else {
        format!("Capacity: {} are real (free space only)", tested(result, announced))
    }
}

/// Of the bytes under test, those that were kept, and the free space.
pub(super) fn verdict(
    result: &TestResult,
    paragraph: Paragraph,
    (announced, real, free): (u64, u64, u64),
) -> Paragraph {
    let (announced_text, bad) = (Bytes(announced), Bytes(bad_bytes(result)));
    let caches = bytes(result, "capacity", "cache_bytes").map(Bytes);
    if let Some(module) = bytes(result, "fake", "module_bytes") {
        let how = if module > 0 { "addresses repeat" } else { "the rest is lost" };
        return paragraph
            .item(Role::Bad, format!("FAKE: of {announced_text} in files it keeps {}", Bytes(real)))
            .item(Role::Plain, format!("{how}; keep nothing on it"))
            .item(Role::Dim, "certain: data were lost");
    }
    let words = tested(result, announced_text);
    let paragraph = match (bad.0 > 0, announced < free) {
        (true, _) => paragraph
            .item(Role::Bad, format!("{bad} of {announced_text} in files did not read back"))
            .item(Role::Plain, "keep nothing on it"),
        (false, true) => paragraph
            .item(Role::Good, format!("tested {words}: all of it intact"))
            .item(Role::Warn, format!("not all of the free space, {}", Bytes(free))),
        (false, false) => paragraph
            .item(Role::Good, format!("tested {words}: free space, all of it intact"))
            .item(Role::Warn, "what other files hold was not tested"),
    };
    paragraph
        .item(Role::Dim, "every sector checked")
        .items(Role::Dim, caches.map(|cache| format!("caches up to {cache} ruled out")))
}

/// Why there is no statement: addresses mean nothing to the reader here.
pub(super) fn unjudged(result: &TestResult, paragraph: Paragraph) -> Paragraph {
    let Some(announced) = bytes(result, "capacity", "announced_bytes").map(Bytes) else {
        let text = "capacity not judged: this run did not write and read all of its files";
        return paragraph.item(Role::Warn, text);
    };
    let bad = Bytes(bad_bytes(result));
    let paragraph = match bytes(result, "read", "unreadable_bytes") {
        Some(unreadable) if unreadable == bad.0 => paragraph
            .item(Role::Bad, format!("{bad} of {announced} in files could not be read back (F017)"))
            .item(Role::Bad, "the drive is fake or broken"),
        _ => paragraph
            .item(Role::Bad, format!("{bad} of {announced} in files did not read back (F019)"))
            .item(Role::Bad, "the drive loses data"),
    };
    paragraph.item(Role::Plain, "capacity not judged")
}

#[cfg(test)]
mod tests {
    use super::super::{REPORT, table};
    use crate::terminal::Style;
    use crate::testing::{measured, must_have};
    use drivescope_model::TestKind;

    #[test]
    fn directory_says_how_much_of_the_drive_was_tested() {
        let device = ("capacity.device_bytes", 64e9);
        let [whole, part] = [57.2e9, 1e9].map(|tested| {
            measured(
                TestKind::Verify,
                &[
                    ("capacity.announced_bytes", tested),
                    ("capacity.real_bytes", tested),
                    ("capacity.free_bytes", 57.2e9),
                    ("capacity.sure_pct", 100.0),
                    device,
                ],
            )
        });
        let text = table(&whole, Style::default());
        must_have(
            &text,
            &["tested 57.2 GB of 64.0 GB: free space", "what other files hold was not tested"],
        );
        let headline = REPORT.headline;
        assert_eq!(
            headline(&whole).unwrap(),
            "Capacity: 57.2 GB of 64.0 GB are real (free space only)"
        );
        let text = table(&part, Style::default());
        must_have(&text, &["tested 1.00 GB of 64.0 GB", "not all of the free space, 57.2 GB"]);
    }

    #[test]
    fn unreadable_files_are_a_fake_or_broken_drive() {
        let failing = measured(
            TestKind::Verify,
            &[
                ("capacity.announced_bytes", 57.2e9),
                ("capacity.free_bytes", 57.2e9),
                ("capacity.silent_bytes", 8e9),
                ("read.unreadable_bytes", 20e9),
            ],
        );
        let text = table(&failing, Style::default());
        must_have(&text, &["20.0 GB of 57.2 GB in files could not be read back (F017)"]);
        assert!(!text.contains("nothing beyond") && !text.contains("verify.mode"), "{text}");
    }

    #[test]
    fn fake_in_a_directory_names_no_addresses_to_use() {
        let fake = measured(
            TestKind::Verify,
            &[
                ("capacity.announced_bytes", 57.2e9),
                ("capacity.real_bytes", 8e9),
                ("capacity.free_bytes", 57.2e9),
                ("fake.module_bytes", 8e9),
                ("read.overwritten_bytes", 49.2e9),
            ],
        );
        let text = table(&fake, Style::default());
        must_have(&text, &["FAKE: of 57.2 GB in files it keeps 8.00 GB", "addresses repeat"]);
        assert!(!text.contains("use only the first"), "{text}");
    }
}
