//! Finds the wrong value of a table with variants.
//!
//! For tables in which one field decides how the others are read, the TOML reader keeps no places and names the table
//! alone. So the table is read again with fewer of its values: the mistake comes with the value that makes it.

use super::Model;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The fields that say how the others of their table are read; without them there is another mistake.
const DECIDING: [&str; 3] = ["curve", "order", "profile"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrongValue {
    /// First byte of the value, or of its key if the key is wrong.
    pub(super) at: usize,
    /// Path of the field below its table.
    pub(super) field: String,
}

/// The value that makes the reader say `message` of the table at byte `at`, if it is one of a table with variants.
pub(super) fn find(text: &str, at: usize, message: &str) -> Option<WrongValue> {
    let document = DeTable::parse(text).ok()?;
    let (path, table) = table_at(document.get_ref(), at)?;
    let search = Mistake { whole: text.parse().ok()?, path, message };
    let parts = parts(table);
    // the missing field belongs to a list's member; all else must stay
    let fixed = |part: &TableValue<'_>| search.missing() && part.index.is_none();
    // each value more can only add mistakes
    let (mut without, mut with) = (0, parts.len());
    while without < with {
        let middle = usize::midpoint(without, with);
        let kept: Vec<&TableValue<'_>> = parts
            .iter()
            .enumerate()
            .filter(|(k, p)| *k < middle || fixed(p))
            .map(|(_, p)| p)
            .collect();
        if search.remains(|table| keep(table, &kept)) {
            with = middle;
        } else {
            without = middle + 1;
        }
    }
    // with nothing kept it is not a value's mistake
    let part = parts.get(without.checked_sub(1)?)?;
    search.remains(|_| {}).then(|| part.wrong_value(&search))
}

/// The table at byte `at`, and the names on the way to it.
fn table_at<'d, 't>(table: &'d DeTable<'t>, at: usize) -> Option<(Vec<String>, &'d DeTable<'t>)> {
    table.iter().find_map(|(key, value)| {
        let below = value.get_ref().as_table()?;
        let name = key.get_ref().to_string();
        if value.span().start == at && DECIDING.iter().any(|field| below.contains_key(*field)) {
            return Some((vec![name], below));
        }
        let (mut path, found) = table_at(below, at)?;
        path.insert(0, name);
        Some((path, found))
    })
}

/// A value of a table, or a member of a list in it.
struct TableValue<'d> {
    key: &'d str,
    key_at: usize,
    index: Option<usize>,
    span: Range<usize>,
    value: &'d DeValue<'d>,
}

/// The values of a table in order; a list first as an empty one, then its members.
fn parts<'d>(table: &'d DeTable<'d>) -> Vec<TableValue<'d>> {
    let mut parts = Vec::new();
    for (key, value) in table {
        let part = |index, of: &'d toml::Spanned<DeValue<'d>>| TableValue {
            key: key.get_ref(),
            key_at: key.span().start,
            index,
            span: of.span(),
            value: of.get_ref(),
        };
        parts.push(part(None, value));
        for (index, member) in value.get_ref().as_array().into_iter().flatten().enumerate() {
            parts.push(part(Some(index), member));
        }
    }
    parts.sort_by_key(|part| (part.key_at, part.index));
    parts
}

/// Takes everything out of `table` but what decides and the parts `kept`.
fn keep(table: &mut toml::Table, kept: &[&TableValue<'_>]) {
    table.retain(|key, value| {
        let of_key = || kept.iter().filter(|part| part.key == key);
        if let Some(list) = value.as_array_mut() {
            list.truncate(of_key().filter(|part| part.index.is_some()).count());
        }
        DECIDING.contains(&key) || of_key().count() > 0
    });
}

impl TableValue<'_> {
    fn wrong_value(&self, search: &Mistake<'_>) -> WrongValue {
        let Some(index) = self.index else {
            let at = if search.unknown() { self.key_at } else { self.span.start };
            return WrongValue { at, field: self.key.to_string() };
        };
        let field = format!("{}[{index}]", self.key);
        let wrong = self.value.as_table().into_iter().flatten().find(|(name, _)| {
            search.remains(|table| {
                let member = table.get_mut(self.key).and_then(|list| list.get_mut(index));
                if let Some(member) = member.and_then(toml::Value::as_table_mut) {
                    member.retain(|key, _| key == name.get_ref());
                }
            })
        });
        match wrong.filter(|_| !search.missing()) {
            Some((name, value)) => WrongValue {
                at: if search.unknown() { name.span().start } else { value.span().start },
                field: format!("{field}.{}", name.get_ref()),
            },
            None => WrongValue { at: self.span.start, field },
        }
    }
}

struct Mistake<'m> {
    whole: toml::Table,
    path: Vec<String>,
    message: &'m str,
}

impl Mistake<'_> {
    fn missing(&self) -> bool {
        self.message.starts_with("missing field ")
    }

    fn unknown(&self) -> bool {
        self.message.starts_with("unknown field ")
    }

    /// Whether the reader reports the same after `change` to the table.
    fn remains(&self, change: impl FnOnce(&mut toml::Table)) -> bool {
        let mut document = self.whole.clone();
        let table = self
            .path
            .iter()
            .try_fold(&mut document, |table, name| table.get_mut(name)?.as_table_mut());
        table.map(change);
        // As text, as it was read at first.
        let text = toml::to_string(&document).expect("it was TOML");
        toml::from_str::<Model>(&text).is_err_and(|error| error.message() == self.message)
    }
}
