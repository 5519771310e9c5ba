//! Documents written before `tests[].resume` existed say where a test was stopped in the sentence of its
//! `reason` only. This is the one place that reads it.

use drivescope_model::document::Run;
use drivescope_model::resume::{ResumePhase, ResumePoint};

/// Separates the sentence from the options.
const OPTIONS: &str = "to continue: ";
/// Part of a read phase's sentence if nothing before the position must be read again.
const INTACT: &str = "all before it intact";

/// Fills in the resume points that only sentences have.
pub(super) fn upgrade(run: &mut Run) {
    for test in run.tests.iter_mut().filter(|test| test.resume.is_none()) {
        test.resume = test.reason.as_deref().and_then(resume_point);
    }
}

/// The resume point in a sentence such as `stopped at byte 512 (512 B) of the write phase; --resume goes on there;
/// without this run in the store, to continue: --seed 7 --set verify.mode=full --set verify.phase=write --set
/// verify.from=512`.
fn resume_point(reason: &str) -> Option<ResumePoint> {
    let (before, options) = reason.rsplit_once(OPTIONS)?;
    let value = |name| options.split_once(name)?.1.split_whitespace().next();
    let (phase, from) = match (value("fill.from="), value("verify.phase=")) {
        (Some(from), _) => (ResumePhase::Fill, from),
        (_, Some("write")) => (ResumePhase::VerifyWrite, value("verify.from=")?),
        (_, Some("read")) => (ResumePhase::VerifyRead, value("verify.from=")?),
        _ => return None,
    };
    let seed = value("--seed ")?.parse().ok()?;
    let intact_before = phase == ResumePhase::VerifyRead && before.contains(INTACT);
    Some(ResumePoint { seed, at_bytes: from.parse().ok()?, phase, intact_before })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_of_earlier_versions_is_read() {
        for (phase, intact_before, words, options) in [
            (ResumePhase::Fill, false, "", "--set fill.mode=full --set fill.from=4096"),
            (
                ResumePhase::VerifyWrite,
                false,
                " of the write phase",
                "--set verify.mode=full --set verify.phase=write --set verify.from=4096",
            ),
            (
                ResumePhase::VerifyRead,
                false,
                " of the read phase",
                "--set verify.mode=full --set verify.phase=read --set verify.from=4096",
            ),
            (
                ResumePhase::VerifyRead,
                true,
                " of the read phase, all before it intact",
                "--set verify.mode=full --set verify.phase=read --set verify.from=4096",
            ),
        ] {
            let reason = format!(
                "left out: something; stopped at byte 4096 (4.1 kB){words}; --resume goes on there; without this \
                 run in the store, to continue: --seed {} {options}",
                u64::MAX
            );
            let point = ResumePoint { seed: u64::MAX, at_bytes: 4096, phase, intact_before };
            assert_eq!(resume_point(&reason), Some(point), "{reason}");
        }
    }

    #[test]
    fn other_reasons_have_no_resume_point() {
        for text in [
            "",
            "needs a directory",
            "to continue: ",
            "to continue: --seed x --set fill.from=1",
            "to continue: --seed 1 --set fill.from=1T",
            "to continue: --seed 1 --set verify.phase=read",
        ] {
            assert_eq!(resume_point(text), None, "{text}");
        }
    }
}
