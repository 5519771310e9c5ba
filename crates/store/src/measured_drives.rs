//! The newest runs of all drives: figures from columns, and the facts of each drive's newest run. Nothing else of a
//! large store is read.

use crate::backend::{SqlRow, SqlValue, WrongType};
use crate::error::StoreError;
use crate::run_facts::RunFacts;
use crate::store::Store;
use drivescope_model::{MeasuredDrive, MeasuredFigure};
use std::collections::{BTreeMap, HashMap};

/// The newest run of a drive and suite, and those before it that its figures are compared with.
const RUNS_OF_DRIVE: u32 = 8;
/// Documents that are read at a time: each may have some hundred kilobytes.
const DOCUMENTS_AT_ONCE: usize = 50;

/// By run: each key with its place among the figures of the run, and its value.
type FiguresOfRuns = HashMap<String, BTreeMap<String, (i64, f64)>>;

/// A run as its columns have it.
struct NewestRow {
    drive: MeasuredDrive,
    started_unix_us: i64,
}

impl Store {
    /// For each drive and suite the newest run that ended by itself, with its valid figures of these keys, and those of
    /// up to seven runs before. Beside them the runs whose document this program cannot read. Drives without a serial
    /// number, and simulated ones, are one for each target, on a server also for each host.
    pub fn measured_drives(
        &self,
        keys: &[&str],
    ) -> Result<(Vec<MeasuredDrive>, Vec<String>), StoreError> {
        let searches = self.searches();
        let sql = format!("{} SELECT * FROM newest", searches.newest_runs);
        let rows = self.select(&sql, &[RUNS_OF_DRIVE.into()], newest_row)?;
        let mut figures = self.figures_of_newest(keys)?;
        let (mut drives, mut unreadable) = (Vec::new(), Vec::new());
        let newest: Vec<MeasuredDrive> = newest_of(rows, &mut figures);
        for mut some in in_parts(newest) {
            let mut facts = self.facts_of(&some)?;
            for mut drive in some.drain(..) {
                match facts.remove(&drive.run) {
                    Some(facts) => {
                        facts.tell(&mut drive);
                        drives.push(drive);
                    }
                    None => unreadable.push(drive.run),
                }
            }
        }
        Ok((drives, unreadable))
    }

    fn figures_of_newest(&self, keys: &[&str]) -> Result<FiguresOfRuns, StoreError> {
        let searches = self.searches();
        let places: Vec<String> = (2..keys.len() + 2).map(|place| format!("${place}")).collect();
        let figures = searches.newest_figures.replace("KEYS", &places.join(", "));
        let sql = format!("{} {figures}", searches.newest_runs);
        let mut values: Vec<SqlValue> = vec![RUNS_OF_DRIVE.into()];
        values.extend(keys.iter().map(|key| SqlValue::from(*key)));
        let mut figures = FiguresOfRuns::new();
        let rows = self
            .select(&sql, &values, |row| Ok((row.text()?, row.text()?, row.float()?, row.int()?)));
        for (run, key, value, place) in rows? {
            let of_run = figures.entry(run).or_default();
            // A test that runs twice leaves a key twice: the first counts, as elsewhere.
            match of_run.get(&key) {
                Some((first, _)) if *first < place => {}
                _ => drop(of_run.insert(key, (place, value))),
            }
        }
        Ok(figures)
    }

    /// By run; without those whose document cannot be read, or was removed meanwhile.
    fn facts_of(&self, drives: &[MeasuredDrive]) -> Result<HashMap<String, RunFacts>, StoreError> {
        let places: Vec<String> = (1..=drives.len()).map(|place| format!("${place}")).collect();
        let sql = self.searches().facts_of_runs.replace("IDS", &places.join(", "));
        let ids: Vec<SqlValue> = drives.iter().map(|drive| (&drive.run).into()).collect();
        let facts = self.select(&sql, &ids, |row| Ok((row.text()?, row.text()?)))?;
        let read = |(id, text): (String, String)| Some((id, RunFacts::read(&text)?));
        Ok(facts.into_iter().filter_map(read).collect())
    }
}

fn in_parts(drives: Vec<MeasuredDrive>) -> Vec<Vec<MeasuredDrive>> {
    let mut parts = Vec::new();
    let mut rest = drives.into_iter().peekable();
    while rest.peek().is_some() {
        parts.push(rest.by_ref().take(DOCUMENTS_AT_ONCE).collect());
    }
    parts
}

fn newest_row(row: &mut SqlRow) -> Result<NewestRow, WrongType> {
    let run = row.text()?;
    let started_at = row.text()?;
    let started_unix_us = row.int()?;
    let drive = MeasuredDrive {
        run,
        started_at,
        suite: row.text()?,
        target: row.text()?,
        name: row.optional_text()?,
        model: row.optional_text()?,
        serial: row.optional_text()?,
        simulated: row.int()? != 0,
        host: row.optional_text()?.unwrap_or_default(),
        firmware: None,
        capacity_bytes: 0,
        link: None,
        temperature_c: None,
        limit_c: None,
        findings: Vec::new(),
        figures: Vec::new(),
    };
    Ok(NewestRow { drive, started_unix_us })
}

/// The newest run of each drive and suite with its figures and those of the runs before: a drive may have been measured
/// under several names.
fn newest_of(mut rows: Vec<NewestRow>, figures: &mut FiguresOfRuns) -> Vec<MeasuredDrive> {
    rows.sort_by(|a, b| (b.started_unix_us, &b.drive.run).cmp(&(a.started_unix_us, &a.drive.run)));
    let mut drives: Vec<MeasuredDrive> = Vec::new();
    let mut places: BTreeMap<(String, [String; 3]), usize> = BTreeMap::new();
    for NewestRow { mut drive, .. } in rows {
        let found = figures.remove(&drive.run).unwrap_or_default();
        let identity = drive.identity().map(str::to_string);
        let place = *places.entry((drive.suite.clone(), identity)).or_insert(drives.len());
        let Some(newest) = drives.get_mut(place) else {
            let mut found: Vec<_> = found.into_iter().collect();
            found.sort_by_key(|(_, (place, _))| *place);
            let figure = |(key, (_, value))| MeasuredFigure { key, value, earlier: Vec::new() };
            drive.figures = found.into_iter().map(figure).collect();
            drives.push(drive);
            continue;
        };
        for figure in &mut newest.figures {
            figure.earlier.extend(found.get(&figure.key).map(|(_, value)| *value));
            figure.earlier.truncate(RUNS_OF_DRIVE as usize - 1);
        }
    }
    drives
}
