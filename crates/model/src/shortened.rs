//! What a message repeats of a text from outside.

use std::borrow::Cow;

/// Of a value, key or name: enough to find it again.
const QUOTED_MAX_CHARS: usize = 60;
/// Of these, from the end.
const END_CHARS: usize = 19;
/// The kernel's `PATH_MAX`, without the byte that ends it; longer paths name nothing.
const PATH_MAX_BYTES: usize = 4095;

/// Whole, or beginning and end with `…` between.
pub fn shortened(text: &str) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= QUOTED_MAX_CHARS {
        return Cow::Borrowed(text);
    }
    let head: String = text.chars().take(QUOTED_MAX_CHARS - END_CHARS - 1).collect();
    let tail: String = text.chars().skip(count - END_CHARS).collect();
    Cow::Owned(format!("{head}…{tail}"))
}

/// Whole, unless no path can be that long.
pub fn shortened_path(path: &str) -> Cow<'_, str> {
    if path.len() <= PATH_MAX_BYTES { Cow::Borrowed(path) } else { shortened(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn long_text_keeps_both_ends(text in any::<String>(), times in 1usize..40) {
            let text = text.repeat(times);
            let shown = shortened(&text).into_owned();
            let count = text.chars().count();
            if count <= QUOTED_MAX_CHARS {
                prop_assert_eq!(shown, text);
            } else {
                prop_assert_eq!(shown.chars().count(), QUOTED_MAX_CHARS);
                let (head, tail) = shown.split_at(shown.rfind('…').unwrap());
                prop_assert!(text.starts_with(head) || head.contains('…'));
                prop_assert!(text.ends_with(tail.trim_start_matches('…')));
            }
        }
    }

    #[test]
    fn paths_that_can_be_are_shown_whole() {
        let possible = "a/".repeat(2000);
        assert_eq!(shortened_path(&possible), possible);
        assert_eq!(shortened_path(&"a/".repeat(3000)).chars().count(), QUOTED_MAX_CHARS);
    }
}
