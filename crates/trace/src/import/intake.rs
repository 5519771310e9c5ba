//! From the records of a source to requests: chosen by device, put in order, matched with their completions.

use super::completions::Matcher;
use super::order::OrderWindow;
use super::record::SourceRecord;
use super::{BlockAction, ImportOptions};
use crate::error::TraceError;
use crate::event::{EventSink, TraceEvent};
use crate::file::TraceTotals;
use std::collections::HashMap;

/// Names of processes at most; requests of further ones have none.
const PROCESSES_MAX: usize = u16::MAX as usize;

pub struct Intake<'s> {
    pub action: BlockAction,
    device: Option<String>,
    is_chosen: bool,
    names: Vec<String>,
    indices: HashMap<String, u16>,
    pipeline: Pipeline<'s>,
    pub skipped: u64,
}

impl<'s> Intake<'s> {
    pub fn new(options: &ImportOptions, pipeline: Pipeline<'s>) -> Self {
        Self {
            action: options.action,
            device: options.device.clone(),
            is_chosen: options.device.is_some(),
            names: Vec::new(),
            indices: HashMap::new(),
            pipeline,
            skipped: 0,
        }
    }

    /// Whether records of this device are taken. Where none was chosen, a source may have one only.
    pub fn takes(&mut self, device: &str) -> Result<bool, String> {
        match &self.device {
            Some(taken) if taken == device => Ok(true),
            Some(_) if self.is_chosen => Ok(false),
            Some(taken) => Err(format!(
                "a second device, {device:?} after {taken:?}; choose one with --device {device:?}"
            )),
            None => {
                self.device = Some(device.to_string());
                Ok(true)
            }
        }
    }

    /// The index of a process; 0 where there are too many.
    pub fn process(&mut self, name: &str) -> u16 {
        if let Some(index) = self.indices.get(name) {
            return *index;
        }
        if self.names.len() >= PROCESSES_MAX {
            return 0;
        }
        self.names.push(name.to_string());
        let index = self.names.len() as u16;
        self.indices.insert(name.to_string(), index);
        index
    }

    pub fn record(&mut self, record: SourceRecord) -> Result<(), TraceError> {
        self.pipeline.take(record)
    }

    /// Passes on the requests that are still held back.
    pub fn finish(mut self) -> Result<TraceTotals, TraceError> {
        self.pipeline.finish()?;
        let device = self.device.as_deref().unwrap_or_default();
        if self.pipeline.handed == 0 {
            return Err(match (self.is_chosen, self.action) {
                (true, _) => {
                    TraceError::Unsuitable(format!("holds no requests of device {device:?}"))
                }
                (_, BlockAction::Issue) if self.skipped > 0 => TraceError::Unsuitable(
                    "holds no requests that were issued to the drive (D); --action queue takes those that \
                     programs asked for (Q)"
                        .to_string(),
                ),
                _ => TraceError::Empty,
            });
        }
        Ok(TraceTotals {
            skipped: self.skipped,
            reordered: self.pipeline.order.inversions(),
            failed: self.pipeline.matcher.failed(),
            processes: self.names,
            ..TraceTotals::default()
        })
    }
}

/// Orders records, matches them, and hands requests on.
pub struct Pipeline<'s> {
    order: OrderWindow,
    matcher: Matcher,
    zero_ns: Option<u64>,
    sink: &'s mut dyn EventSink,
    handed: u64,
}

impl<'s> Pipeline<'s> {
    /// With times from this one, or from the first request.
    pub fn new(zero_ns: Option<u64>, sink: &'s mut dyn EventSink) -> Self {
        let (order, matcher) = (OrderWindow::default(), Matcher::default());
        Self { order, matcher, zero_ns, sink, handed: 0 }
    }

    fn take(&mut self, record: SourceRecord) -> Result<(), TraceError> {
        match self.order.push(record) {
            Some(next) => self.match_one(next),
            None => Ok(()),
        }
    }

    fn match_one(&mut self, record: SourceRecord) -> Result<(), TraceError> {
        self.matcher.take(record);
        while let Some(event) = self.matcher.next() {
            self.hand_over(event)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        while let Some(record) = self.order.pop() {
            self.match_one(record)?;
        }
        self.matcher.end();
        while let Some(event) = self.matcher.next() {
            self.hand_over(event)?;
        }
        Ok(())
    }

    fn hand_over(&mut self, event: TraceEvent) -> Result<(), TraceError> {
        let zero_ns = *self.zero_ns.get_or_insert(event.at_ns);
        self.handed += 1;
        self.sink.event(&TraceEvent { at_ns: event.at_ns - zero_ns, ..event })
    }
}
