//! Where a run shows how it goes.

use drivescope_model::Run;
use std::sync::Arc;
use tokio::sync::watch;

#[derive(Debug, Clone, Default)]
pub struct BoardState {
    pub progress: BoardProgress,
    pub run: Option<Arc<Run>>,
    pub end: Option<RunEnd>,
}

#[derive(Debug, Clone, Default)]
pub struct BoardProgress {
    /// Share (0–1) of the run that is done.
    pub share: f64,
    pub line: String,
    pub rate: Option<RateCurve>,
}

/// The rate of the phase in progress, over its last seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct RateCurve {
    /// Cell and direction.
    pub label: String,
    pub unit: &'static str,
    /// Oldest first, at equal distances.
    pub values: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// Its id, if it is stored.
    pub stored: Option<String>,
    /// All of it was measured: its page says the rest.
    pub is_whole: bool,
    /// One line for the user.
    pub message: String,
}

/// A run's published state. Readers never delay the run: they see the newest state or none.
pub struct RunBoard(watch::Sender<BoardState>);

impl RunBoard {
    pub(crate) fn new() -> (Self, watch::Receiver<BoardState>) {
        let progress = BoardProgress { line: "preparing".to_string(), ..BoardProgress::default() };
        let (sender, receiver) = watch::channel(BoardState { progress, ..BoardState::default() });
        (Self(sender), receiver)
    }

    /// Shows how far the run is and, if they have changed, its figures.
    pub fn show(&self, progress: BoardProgress, figures: Option<&Run>) {
        let figures = figures.map(|run| Arc::new(run.clone()));
        self.0.send_modify(|state| {
            let run = figures.or_else(|| state.run.take());
            *state = BoardState { progress, run, end: None };
        });
    }

    pub fn end(&self, end: RunEnd) {
        self.0.send_modify(|state| state.end = Some(end));
    }
}

impl Drop for RunBoard {
    /// A run that failed altogether has ended too.
    fn drop(&mut self) {
        self.0.send_modify(|state| {
            state.end.get_or_insert_with(|| RunEnd {
                stored: None,
                is_whole: false,
                message: "it ended without a result; the terminal of drivescope serve says more"
                    .to_string(),
            });
        });
    }
}
