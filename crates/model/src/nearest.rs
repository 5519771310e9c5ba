//! Suggestions for mistyped names.

use strsim::levenshtein;

/// Least letters of a part of a name.
const PART: usize = 3;

/// The closest of `names`, if it is close enough to be a typing error; else the closest that begins with `name`, or
/// contains it. Case does not count.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let name = name.to_lowercase();
    let known = |known: &'n str| (levenshtein(&name, &known.to_lowercase()), known);
    let by_distance: Vec<(usize, &str)> = names.map(known).collect();
    let part = |is_in: fn(&str, &str) -> bool| {
        let is_part = |&&(_, known): &&(usize, &str)| is_in(&known.to_lowercase(), &name);
        by_distance.iter().filter(|_| name.len() >= PART).filter(is_part).min()
    };
    let found = by_distance.iter().filter(|&&(distance, _)| distance <= 2 + name.len() / 4).min();
    let found = found.or_else(|| part(|known, name| known.starts_with(name)));
    found.or_else(|| part(|known, name| known.contains(name))).map(|(_, known)| known.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_error_finds_its_name_and_nonsense_none() {
        let names = ["wd20eads", "wd20ears", "st8000as0002-smr"];
        assert_eq!(nearest("wd20eras", names.into_iter()).as_deref(), Some("wd20eads"));
        assert_eq!(nearest("wd20ear", names.into_iter()).as_deref(), Some("wd20ears"));
        assert_eq!(nearest("WD20EARS", names.into_iter()).as_deref(), Some("wd20ears"));
        assert_eq!(nearest("st80", names.into_iter()).as_deref(), Some("st8000as0002-smr"));
        assert_eq!(nearest("as0002", names.into_iter()).as_deref(), Some("st8000as0002-smr"));
        assert_eq!(nearest("00", names.into_iter()), None, "too little of a name");
        assert_eq!(nearest("xyzzyplugh", names.into_iter()), None);
        assert_eq!(nearest("", names.into_iter()), None);
    }
}
