//! What the full-screen view shows: head, tables of the result, the running phase, findings, keys.

use super::phase_graph::PhaseGraph;
use crate::live_run::LiveRun;
use crate::run_progress::RunProgress;
use drivescope_model::document::Run;
use drivescope_model::event::Event;
use drivescope_model::findings::{Finding, Severity};
use drivescope_model::number::one_decimal;
use drivescope_model::units::Bytes;
use drivescope_report::{Style, clean};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style as Look, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

const KEYS: &str = "p pause between phases   s skip this test   q stop and keep what is measured";
const PAUSING: &str = "pausing after this phase; p continues";
/// The result has the others.
const FINDINGS_MAX: usize = 3;
const TALL: u16 = 36;

pub(super) struct Screen {
    progress: RunProgress,
    graph: PhaseGraph,
    is_pausing: bool,
    message: &'static str,
}

impl Screen {
    pub(super) fn new(run: LiveRun) -> Self {
        Self {
            progress: RunProgress::new(run),
            graph: PhaseGraph::default(),
            is_pausing: false,
            message: "",
        }
    }

    pub(super) fn pause(&mut self, is_pausing: bool) {
        self.is_pausing = is_pausing;
    }

    /// Shows a message until the next test.
    pub(super) fn say(&mut self, message: &'static str) {
        self.message = message;
    }

    pub(super) fn hear(&mut self, event: Event) {
        match &event {
            Event::TestStarted { .. } => {
                self.graph.clear();
                self.message = "";
            }
            Event::Preparing { .. } => self.graph.clear(),
            Event::PhaseStarted { label, round, rounds } => {
                self.graph.begin(label.clone(), *round, *rounds);
            }
            Event::Progress { mb_s, iops, .. } => self.graph.add(*mb_s, *iops),
            Event::RoundFinished(_) | Event::TestFinished(_) => {}
        }
        self.progress.hear(event);
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let findings = self.findings(area.width);
        let graph_rows = match area.height {
            TALL.. => 12,
            20.. => 6,
            _ => 0,
        };
        let [head, bar, _, tables, graphs, below, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(graph_rows),
            Constraint::Length(findings.len() as u16),
            Constraint::Length(1),
        ])
        .areas(area);
        self.draw_head(frame, head);
        self.draw_bar(frame, bar);
        self.draw_tables(frame, tables);
        if graph_rows > 0 {
            self.graph.draw(frame, graphs);
        }
        frame.render_widget(Paragraph::new(findings), below);
        let words = match self.message {
            "" if self.is_pausing => PAUSING.bold(),
            "" => KEYS.dim(),
            message => message.bold(),
        };
        frame.render_widget(Line::from(words), keys);
    }

    fn draw_head(&self, frame: &mut Frame<'_>, area: Rect) {
        let run = self.progress.run.run();
        let drive = run.drive.as_ref();
        let model = drive.and_then(|drive| drive.model.as_deref());
        let capacity = drive.map(|drive| Bytes(drive.capacity_bytes).to_string());
        let name = clean(model.unwrap_or(&run.target.path)).into_owned();
        let left = [Some(name), capacity, Some(run.plan.suite.name.clone())];
        let left = left.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        let right = temperature_c(run).map(|celsius| format!("{} °C", one_decimal(celsius)));
        frame.render_widget(Line::from(left.bold()), area);
        frame.render_widget(Line::from(right.unwrap_or_default()).right_aligned(), area);
    }

    fn draw_bar(&self, frame: &mut Frame<'_>, area: Rect) {
        let share = self.progress.share();
        let percent = format!(" {:3.0} %", share * 100.0);
        let columns = usize::from(area.width).saturating_sub(percent.chars().count());
        let filled = (share * columns as f64) as usize;
        let rest = "─".repeat(columns - filled);
        frame.render_widget(
            Line::from_iter(["━".repeat(filled).into(), rest.dim(), percent.into()]),
            area,
        );
    }

    /// Tables of the result, with the current row marked.
    fn draw_tables(&self, frame: &mut Frame<'_>, area: Rect) {
        // Beside the mark.
        let style = Style::PLAIN.within(usize::from(area.width).saturating_sub(2));
        let text = self.progress.run.tables(&self.progress.words(), style);
        let running = self.graph.label();
        let lines = text.lines().map(|line| {
            let is_running =
                line.split_whitespace().next().is_some_and(|row| is_row_of(row, running));
            let look =
                if is_running { Look::new().add_modifier(Modifier::BOLD) } else { Look::new() };
            let mark = if is_running { "▸ " } else { "  " };
            Line::from_iter([Span::raw(mark), Span::styled(line.to_string(), look)])
        });
        let mut lines: Vec<Line<'_>> = lines.collect();
        // The test in progress stands last; of a table that does not fit, its end is what fills.
        let beyond = lines.len().saturating_sub(area.height.into());
        lines.drain(1..(1 + beyond).min(lines.len()));
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// The most severe findings, one line each, and the number of the others.
    fn findings(&self, width: u16) -> Vec<Line<'static>> {
        let run = self.progress.run.run();
        let mut all: Vec<&Finding> = run.findings.iter().collect();
        all.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let more = all.len().saturating_sub(FINDINGS_MAX);
        let shown = all.into_iter().take(FINDINGS_MAX).enumerate().map(|(i, finding)| {
            let others = match more {
                more @ 1.. if i + 1 == FINDINGS_MAX => format!("  and {more} more"),
                _ => String::new(),
            };
            let room = usize::from(width).saturating_sub(others.chars().count());
            let (sign, colour) = match finding.severity {
                Severity::Note => (" ", Color::Reset),
                Severity::Warning => ("!", Color::Yellow),
                _ => ("!", Color::Red),
            };
            let text =
                format!("{sign} {}  {}: {}", finding.id, finding.name, clean(&finding.evidence));
            let text: String = text.chars().take(room).collect();
            Line::from_iter([Span::from(text).fg(colour), others.dim()])
        });
        shown.collect()
    }
}

/// Whether a table row belongs to a phase: `rnd4k_q1t1.read` to the row `rnd4k_q1t1`, `rnd4k_q1t1.sync` to its own.
fn is_row_of(row: &str, label: &str) -> bool {
    let shape = label.strip_suffix(".read").or_else(|| label.strip_suffix(".write"));
    !label.is_empty() && (row == label || Some(row) == shape)
}

fn temperature_c(run: &Run) -> Option<f64> {
    let phases = run.tests.iter().flat_map(|test| &test.phases);
    let with = phases.filter(|phase| phase.temperature_c.is_some());
    let last = with.max_by(|a, b| a.start_s.total_cmp(&b.start_s));
    last.and_then(|phase| phase.temperature_c)
        .or_else(|| run.drive.as_ref().and_then(|drive| drive.temperature_c))
}

#[cfg(test)]
mod tests;
