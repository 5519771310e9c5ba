//! The running phase: what its rate and latency were in the last seconds.

use drivescope_model::cell::Cell;
use drivescope_model::number::{latency_us, rounded};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::Sparkline;
use std::collections::VecDeque;

/// More than the widest terminal has columns.
const SAMPLES_MAX: usize = 512;
/// There are about five samples a second.
const COLUMNS_PER_SAMPLE: usize = 2;
const LARGE_BYTES: u64 = 64 << 10;
const WIDE: u16 = 100;
/// Resolution of a bar's height.
const LEVELS: f64 = 1e6;

#[derive(Default)]
pub(super) struct PhaseGraph {
    label: String,
    round: String,
    cell: Option<Cell>,
    /// MB and requests per second.
    samples: VecDeque<(f64, f64)>,
}

struct GraphedQuantity {
    name: &'static str,
    values: Vec<f64>,
    show: fn(f64) -> String,
}

impl PhaseGraph {
    pub(super) fn begin(&mut self, label: String, round: u32, rounds: u32) {
        let cell = label.parse().ok();
        let round = format!("round {round} of {rounds}");
        *self = Self { label, round, cell, samples: VecDeque::new() };
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn add(&mut self, mb_s: f64, iops: f64) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back((mb_s, iops));
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    fn tracks(&self) -> Vec<GraphedQuantity> {
        let is_large = self.cell.is_none_or(|cell| cell.shape.block.0 >= LARGE_BYTES);
        let rates = self.samples.iter().map(|&(mb_s, iops)| if is_large { mb_s } else { iops });
        let rate = if is_large {
            GraphedQuantity { name: "MB/s", values: rates.collect(), show: rounded }
        } else {
            GraphedQuantity { name: "IOPS", values: rates.collect(), show: rounded }
        };
        // Little's law, with the number of requests in flight.
        let latency = self.cell.filter(|cell| cell.shape.think_us == 0).map(|cell| {
            let depth = f64::from(cell.shape.depth) * f64::from(cell.shape.threads);
            let us = |iops: f64| if iops > 0.0 { depth / iops * 1e6 } else { 0.0 };
            let values = self.samples.iter().map(|&(_, iops)| us(iops)).collect();
            GraphedQuantity { name: "mean latency", values, show: latency_us }
        });
        std::iter::once(rate).chain(latency).collect()
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let tracks = self.tracks();
        let each = vec![Constraint::Fill(1); tracks.len()];
        let layout = if area.width >= WIDE {
            Layout::horizontal(each).spacing(2)
        } else {
            Layout::vertical(each)
        };
        for (i, (track, part)) in tracks.iter().zip(layout.split(area).iter()).enumerate() {
            let title =
                if i == 0 { format!("{}  {}", self.label, self.round) } else { String::new() };
            track.draw(frame, *part, title.trim());
        }
    }
}

impl GraphedQuantity {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect, title: &str) {
        let [head, graph] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        let now = self.values.last().map_or_else(|| "·".to_string(), |&now| (self.show)(now));
        let columns = usize::from(graph.width) / COLUMNS_PER_SAMPLE;
        let shown = &self.values[self.values.len().saturating_sub(columns)..];
        let most = shown.iter().copied().fold(0.0, f64::max);
        let scale =
            if most > 0.0 { format!("  0 to {}", (self.show)(most)) } else { String::new() };
        let gap = if title.is_empty() { "" } else { "  " };
        let words =
            [format!("{title}{gap}").into(), format!("{} {now}", self.name).bold(), scale.dim()];
        frame.render_widget(Line::from_iter(words), head);
        let level = |value: &f64| (value / most.max(f64::MIN_POSITIVE) * LEVELS) as u64;
        let data: Vec<u64> =
            shown.iter().flat_map(|value| [level(value); COLUMNS_PER_SAMPLE]).collect();
        frame.render_widget(Sparkline::default().data(data).max(LEVELS as u64), graph);
    }
}
