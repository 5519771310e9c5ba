//! The drives of this machine for the pages: one that never answers must not hold a page up.

use drivescope_drive::simulated::spec::name_served;
use drivescope_machine::Roots;
use drivescope_machine::list::{ListOptions, drives, drives_unasked};
use drivescope_machine::patience::beside;
use drivescope_model::drive::Drive;
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time for the drives to answer before the first page is sent; the kernel's answers are immediate.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Time for the drives to answer a later page; after it, their last answers are shown.
const WAIT: Duration = Duration::from_secs(1);

/// Answers of the drives, with the last ones kept.
pub struct DrivesOfMachine(Mutex<DriveAnswers>);

struct DriveAnswers {
    asked: Option<Receiver<Vec<Drive>>>,
    last: Option<Vec<Drive>>,
}

impl DrivesOfMachine {
    /// Asks the drives, for the first page.
    pub fn asked() -> Self {
        Self(Mutex::new(DriveAnswers { asked: Some(beside(all)), last: None }))
    }

    /// All drives, with the answers that came in time.
    pub fn now(&self) -> Vec<Drive> {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = answers.asked.as_ref().and_then(|asked| asked.try_recv().ok()) {
            *answers = DriveAnswers { asked: None, last: Some(found) };
        }
        let wait = if answers.last.is_some() { WAIT } else { FIRST_WAIT };
        let asked = answers.asked.take().unwrap_or_else(|| beside(all));
        if let Ok(found) = asked.recv_timeout(wait) {
            answers.last = Some(found.clone());
            return found;
        }
        answers.asked = Some(asked);
        answers.last.clone().unwrap_or_else(|| named(drives_unasked(&Roots::host())))
    }
}

fn all() -> Vec<Drive> {
    named(drives(&Roots::host(), &ListOptions { smart: true }))
}

fn named(mut found: Vec<Drive>) -> Vec<Drive> {
    found.iter_mut().for_each(name_served);
    found
}
