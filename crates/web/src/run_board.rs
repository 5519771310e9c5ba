//! Where a run shows how it goes.

use drivescope_model::Run;
use std::sync::Arc;
use tokio::sync::watch;

#[derive(Debug, Clone, Default)]
pub struct BoardState {
    /// Share (0–1) of the test in progress that is done.
    pub share: f64,
    pub line: String,
    pub run: Option<Arc<Run>>,
    pub end: Option<RunEnd>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// Its id, if it is stored.
    pub stored: Option<String>,
    /// One line for the user.
    pub message: String,
}

/// A run's published state. Readers never delay the run: they see the newest state or none.
pub struct RunBoard(watch::Sender<BoardState>);

impl RunBoard {
    pub(crate) fn new() -> (Self, watch::Receiver<BoardState>) {
        let line = "preparing".to_string();
        let (sender, receiver) = watch::channel(BoardState { line, ..BoardState::default() });
        (Self(sender), receiver)
    }

    pub fn show(&self, share: f64, line: String, run: &Run) {
        let run = Some(Arc::new(run.clone()));
        self.0.send_modify(|state| *state = BoardState { share, line, run, end: None });
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
                message: "it ended without a result; the terminal of drivescope serve says more"
                    .to_string(),
            });
        });
    }
}
