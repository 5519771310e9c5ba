//! The drives of this machine for the pages: looked at in the background, so that none holds a page up.

use drivescope_drive::simulated::spec::name_served;
use drivescope_machine::Roots;
use drivescope_machine::list::{DriveAnswer, ListOptions, drive_names, drives_unasked, each_drive};
use drivescope_model::Secs;
use drivescope_model::drive::Drive;
use drivescope_web::ListedDrive;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait of a page for answers: then what is known is shown.
const WAIT: Duration = Duration::from_millis(80);
/// A drive that needs longer is said not to answer.
const SLOW: Duration = Duration::from_secs(2);
/// A drive that did not answer is asked again after this time: each question may leave a process that waits.
const ASKED_AGAIN: Duration = Duration::from_secs(60);

/// Answers of the drives, with the last ones kept.
#[derive(Default)]
pub struct DrivesOfMachine(Arc<SharedAnswers>);

#[derive(Default)]
struct SharedAnswers {
    known: Mutex<KnownDrives>,
    /// An answer has come.
    news: Condvar,
}

#[derive(Default)]
struct KnownDrives {
    /// By kernel name.
    drives: BTreeMap<String, AskedDrive>,
    /// Drives are being asked.
    is_asking: bool,
}

#[derive(Default)]
struct AskedDrive {
    last: Option<Drive>,
    /// Why the last answer is incomplete.
    trouble: Option<String>,
    /// When it was first asked without an answer until now.
    unanswered: Option<Instant>,
    /// When its silence was noticed.
    silent: Option<Instant>,
}

impl AskedDrive {
    fn ask(&mut self, now: Instant) {
        self.unanswered.get_or_insert(now);
    }

    fn is_to_be_asked(&self, now: Instant) -> bool {
        self.silent.is_none_or(|noticed| now.duration_since(noticed) >= ASKED_AGAIN)
    }

    fn hear(&mut self, mut answer: DriveAnswer, now: Instant) {
        if answer.is_silent {
            self.silent = Some(now);
            return;
        }
        name_served(&mut answer.drive);
        let trouble = if answer.answers { None } else { answer.drive.health.note.clone() };
        *self = Self { last: Some(answer.drive), trouble, ..Self::default() };
    }

    /// The drive for a page; `unasked` gives it without its own answers.
    fn listed(&self, unasked: impl FnOnce() -> Option<Drive>, now: Instant) -> Option<ListedDrive> {
        let since = self.unanswered.map(|since| now.duration_since(since));
        let silence = since.filter(|since| *since >= SLOW).map(|since| {
            let seconds = Secs(since.as_secs_f64().round());
            format!(
                "not answering for {seconds}: contents, temperature and health unknown; see dmesg"
            )
        });
        let is_awaited = self.last.is_none() && silence.is_none();
        let drive = self.last.clone().or_else(unasked)?;
        Some(ListedDrive { drive, trouble: silence.or_else(|| self.trouble.clone()), is_awaited })
    }
}

impl DrivesOfMachine {
    /// Asks the drives, for the first page.
    pub fn asked() -> Self {
        let own = Self::default();
        own.begin(&drive_names(&Roots::host()));
        own
    }

    /// All drives, with the answers that have come.
    pub fn now(&self) -> Vec<ListedDrive> {
        let roots = Roots::host();
        let names = drive_names(&roots);
        self.begin(&names);
        let waited = self.0.news.wait_timeout_while(self.lock(), WAIT, |known| known.is_asking);
        let (known, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_new = |name: &&String| known.drives.get(*name).is_none_or(|it| it.last.is_none());
        let new: Vec<String> = names.iter().filter(is_new).cloned().collect();
        let unasked = drives_unasked(&roots, &new);
        let now = Instant::now();
        let listed = |name: &String| {
            let unasked = || {
                let mut drive = unasked.iter().find(|drive| drive.name == *name)?.clone();
                name_served(&mut drive);
                Some(drive)
            };
            known.drives.get(name).unwrap_or(&AskedDrive::default()).listed(unasked, now)
        };
        names.iter().filter_map(listed).collect()
    }

    /// Asks the drives with these names in the background, unless that is under way.
    fn begin(&self, names: &[String]) {
        let mut known = self.lock();
        if known.is_asking {
            return;
        }
        known.drives.retain(|name, _| names.contains(name));
        let now = Instant::now();
        let mut asked = Vec::new();
        for name in names {
            let drive = known.drives.entry(name.clone()).or_default();
            if drive.is_to_be_asked(now) {
                drive.ask(now);
                asked.push(name.clone());
            }
        }
        let shared = Arc::clone(&self.0);
        let look = move || {
            let options = ListOptions { smart: true };
            each_drive(&Roots::host(), &asked, &options, &|index, answer| {
                let mut known = shared.lock();
                let drive = known.drives.entry(asked[index].clone()).or_default();
                drive.hear(answer, Instant::now());
            });
            shared.lock().is_asking = false;
            shared.news.notify_all();
        };
        // Without a thread, the next page tries again.
        known.is_asking = std::thread::Builder::new().spawn(look).is_ok();
    }

    fn lock(&self) -> MutexGuard<'_, KnownDrives> {
        self.0.lock()
    }
}

impl SharedAnswers {
    fn lock(&self) -> MutexGuard<'_, KnownDrives> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(is_silent: bool) -> DriveAnswer {
        let run: drivescope_model::Run =
            serde_json::from_str(include_str!("../../../../../docs/examples/run.json")).unwrap();
        DriveAnswer { drive: run.drive.unwrap(), answers: !is_silent, is_silent }
    }

    #[test]
    fn silence_is_shown_beside_the_last_answer_until_the_next() {
        fn unasked() -> Option<Drive> {
            Some(answer(true).drive)
        }
        let begun = Instant::now();
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let mut drive = AskedDrive::default();
        drive.ask(at(0));
        let first = drive.listed(unasked, at(0)).unwrap();
        assert!(first.is_awaited && first.trouble.is_none(), "it is known at once, and awaited");
        let trouble = |drive: &AskedDrive, seconds| {
            let listed = drive.listed(unasked, at(seconds)).unwrap();
            assert!(!listed.is_awaited);
            listed.trouble.unwrap_or_default()
        };
        assert!(trouble(&drive, 12).starts_with("not answering for 12 s"));
        drive.hear(answer(true), at(20));
        assert!(!drive.is_to_be_asked(at(30)) && drive.is_to_be_asked(at(80)));
        drive.ask(at(80));
        assert!(trouble(&drive, 85).starts_with("not answering for 85 s"));
        drive.hear(answer(false), at(86));
        assert_eq!(trouble(&drive, 87), "");
        drive.ask(at(90));
        assert_eq!(trouble(&drive, 91), "", "a second is not a silence");
        assert!(drive.is_to_be_asked(at(91)));
        let suspended = DriveAnswer { answers: false, ..answer(false) };
        drive.hear(suspended, at(92));
        assert_eq!(drive.trouble, answer(false).drive.health.note);
    }
}
