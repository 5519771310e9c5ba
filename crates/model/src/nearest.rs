//! Suggestions for mistyped names.

/// The closest of `names`, if it is close enough to be a typing error.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let (distance, nearest) = names.map(|known| (edits(name, known), known)).min()?;
    (distance <= 2 + name.len() / 4).then(|| nearest.to_string())
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_typing_error_finds_its_name_and_nonsense_none() {
        let names = ["wd20eads", "wd20ears", "st8000as0002-smr"];
        assert_eq!(nearest("wd20eras", names.into_iter()).as_deref(), Some("wd20eads"));
        assert_eq!(nearest("wd20ear", names.into_iter()).as_deref(), Some("wd20ears"));
        assert_eq!(nearest("xyzzyplugh", names.into_iter()), None);
    }

    proptest! {
        #[test]
        fn edit_distance_is_a_metric(a in "[a-d]{0,8}", b in "[a-d]{0,8}", c in "[a-d]{0,8}") {
            prop_assert_eq!(edits(&a, &b), edits(&b, &a));
            prop_assert_eq!(edits(&a, &b) == 0, a == b);
            prop_assert!(edits(&a, &c) <= edits(&a, &b) + edits(&b, &c));
        }
    }
}
