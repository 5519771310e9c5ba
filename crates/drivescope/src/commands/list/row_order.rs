//! Rows in the order of the list, as far as that does not hold up those that have answered.

use drivescope_model::drive::Drive;
use std::collections::BTreeMap;

pub(super) struct RowOrder {
    names: Vec<String>,
    has_come: Vec<bool>,
    /// Not printed yet, by place in the list.
    waiting: BTreeMap<usize, Drive>,
    /// The place after the last printed one.
    next: usize,
}

impl RowOrder {
    pub(super) fn new(names: Vec<String>) -> Self {
        let has_come = vec![false; names.len()];
        Self { names, has_come, waiting: BTreeMap::new(), next: 0 }
    }

    pub(super) fn add(&mut self, place: usize, drive: Drive) {
        self.has_come[place] = true;
        self.waiting.insert(place, drive);
    }

    /// The rows that nothing before them holds up.
    pub(super) fn take_in_order(&mut self) -> Vec<Drive> {
        let mut rows = Vec::new();
        while let Some(first) = self.waiting.first_entry().filter(|row| *row.key() <= self.next) {
            self.next = self.next.max(first.key() + 1);
            rows.push(first.remove());
        }
        rows
    }

    /// All rows that have come; others follow when they come.
    pub(super) fn take_all(&mut self) -> Vec<Drive> {
        let last = self.waiting.last_key_value().map_or(0, |(place, _)| place + 1);
        self.next = self.next.max(last);
        std::mem::take(&mut self.waiting).into_values().collect()
    }

    /// Names of the drives that have not answered.
    pub(super) fn awaited(&self) -> Vec<&str> {
        let all = self.names.iter().zip(&self.has_come);
        all.filter(|(_, has_come)| !**has_come).map(|(name, _)| name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(name: &str) -> Drive {
        let run: drivescope_model::Run =
            serde_json::from_str(include_str!("../../../../../docs/examples/run.json")).unwrap();
        Drive { name: name.to_string(), ..run.drive.unwrap() }
    }

    #[test]
    fn silent_drive_holds_up_no_row() {
        fn named(drives: Vec<Drive>) -> Vec<String> {
            drives.into_iter().map(|drive| drive.name).collect()
        }
        let names = ["sda", "sdb", "sdc", "sdd"];
        let mut rows = RowOrder::new(names.map(str::to_string).to_vec());
        rows.add(2, drive("sdc"));
        assert_eq!(named(rows.take_in_order()), [""; 0], "those before it may come at once");
        rows.add(0, drive("sda"));
        assert_eq!(named(rows.take_in_order()), ["sda"]);
        assert_eq!(named(rows.take_all()), ["sdc"]);
        assert_eq!(rows.awaited(), ["sdb", "sdd"]);
        rows.add(3, drive("sdd"));
        assert_eq!(named(rows.take_in_order()), ["sdd"]);
        rows.add(1, drive("sdb"));
        assert_eq!(named(rows.take_in_order()), ["sdb"]);
        assert!(rows.awaited().is_empty() && rows.take_all().is_empty());
    }
}
