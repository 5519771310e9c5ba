//! Lists in the order in which things appear first.

pub(crate) fn distinct<T: PartialEq>(things: impl IntoIterator<Item = T>) -> Vec<T> {
    distinct_by(things, T::eq)
}

pub(crate) fn distinct_by<T>(
    things: impl IntoIterator<Item = T>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<T> {
    let mut found: Vec<T> = Vec::new();
    for thing in things {
        if !found.iter().any(|known| is_same(known, &thing)) {
            found.push(thing);
        }
    }
    found
}

pub(crate) fn grouped<K: PartialEq, V>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}
