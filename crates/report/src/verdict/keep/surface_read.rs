//! How much of the surface a check has read, and what it would have seen.

use drivescope_model::document::Run;
use drivescope_model::number::{one_decimal, rounded};
use drivescope_model::units::Bytes;
use drivescope_model::{TestKind, TestStatus};

/// The ends of a drive are not always whole requests.
const WHOLE_PCT: f64 = 99.99;

/// What `surface` has read.
pub(super) struct SurfaceRead {
    /// Of the drive, percent.
    share_pct: f64,
    /// Percent of the drive that would have been seen, in one piece, with 98 % confidence: unreadable, and slow. Of a
    /// sample.
    seen_pct: Option<(f64, f64)>,
    /// Why nothing, or not everything, was read.
    why: Option<String>,
    /// Rates at its start and its end, MB/s.
    rates_mb_s: Option<(f64, f64)>,
}

impl SurfaceRead {
    pub(super) fn of(run: &Run) -> Self {
        let result = run.tests.iter().find(|result| result.test == TestKind::Surface);
        let metric = |name: &str| run.metric(&format!("surface.{name}")).map(|it| it.value);
        let both = |one: &str, other: &str| metric(one).zip(metric(other));
        Self {
            share_pct: metric("read.share_pct").unwrap_or(0.0),
            seen_pct: both("spread.failing_region_pct", "spread.slow_region_pct"),
            // Where it was interrupted is no cause.
            why: result
                .filter(|it| matches!(it.status, TestStatus::Failed | TestStatus::Skipped))
                .and_then(|it| it.reason.clone()),
            rates_mb_s: both("read.start_mb_s", "read.end_mb_s"),
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.share_pct >= WHOLE_PCT && self.seen_pct.is_none()
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.share_pct == 0.0
    }

    /// `3.1 % of the surface was read: …`.
    pub(super) fn why_not_whole(&self) -> String {
        if self.is_nothing() {
            let why = self.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            return format!("its surface was not read{why}");
        }
        let read = format!("only {} % of its surface was read", rounded(self.share_pct));
        match (self.seen_pct, &self.why) {
            (Some(seen), _) => format!("{read}; {}", Self::confidence(seen)),
            (None, Some(why)) => format!("{read}: {why}"),
            (None, None) => read,
        }
    }

    /// What would settle it.
    pub(super) fn remedy(&self) -> (&'static str, &'static str) {
        let words = if self.seen_pct.is_some() { "read all of it:" } else { "again:" };
        (words, "drivescope check DRIVE")
    }

    fn confidence((failing, slow): (f64, f64)) -> String {
        let (failing, slow) = (rounded(failing), rounded(slow));
        format!("98 % sure to see {failing} % unreadable, or {slow} % slow in one piece")
    }

    /// For the list of what was tested.
    pub(super) fn result(&self, size: Bytes) -> String {
        if self.is_nothing() || !(self.is_whole() || self.seen_pct.is_some()) {
            return self.why_not_whole();
        }
        let rates = self.rates_mb_s.map_or(String::new(), |(first, last)| {
            format!(", {} to {} MB/s", one_decimal(first), one_decimal(last))
        });
        match self.seen_pct {
            Some(seen) => {
                let share = rounded(self.share_pct);
                format!("{share} % read{rates}; {}", Self::confidence(seen))
            }
            None => format!("all {size} read{rates}"),
        }
    }
}
