//! The drives of this machine for the pages: one that never answers must not hold a page up.

use drivescope_drive::simulated::spec::name_served;
use drivescope_machine::Roots;
use drivescope_machine::list::{ListOptions, drives, drives_unasked};
use drivescope_machine::patience::beside;
use drivescope_model::drive::Drive;
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// So long the first page waits for what the drives themselves tell; it has what the kernel tells at once.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// So long a later one waits before it shows what the drives told last.
const WAIT: Duration = Duration::from_secs(1);

/// What the drives tell, and have told last.
pub struct DrivesOfMachine(Mutex<Told>);

struct Told {
    asked: Option<Receiver<Vec<Drive>>>,
    last: Option<Vec<Drive>>,
}

impl DrivesOfMachine {
    /// Asks them, for the first page.
    pub fn asked() -> Self {
        Self(Mutex::new(Told { asked: Some(beside(all)), last: None }))
    }

    /// All of them, as far as they answer in time.
    pub fn now(&self) -> Vec<Drive> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = told.asked.as_ref().and_then(|asked| asked.try_recv().ok()) {
            *told = Told { asked: None, last: Some(found) };
        }
        let wait = if told.last.is_some() { WAIT } else { FIRST_WAIT };
        let asked = told.asked.take().unwrap_or_else(|| beside(all));
        if let Ok(found) = asked.recv_timeout(wait) {
            told.last = Some(found.clone());
            return found;
        }
        told.asked = Some(asked);
        told.last.clone().unwrap_or_else(|| named(drives_unasked(&Roots::host())))
    }
}

fn all() -> Vec<Drive> {
    named(drives(&Roots::host(), &ListOptions { smart: true }))
}

fn named(mut found: Vec<Drive>) -> Vec<Drive> {
    found.iter_mut().for_each(name_served);
    found
}
