//! Whether heat may be what slowed a stream of writes: a full cache and a drive that protects itself look alike.

use crate::judging::test_record::TestRecord;
use crate::session::Session;
use drivescope_model::findings::{Finding, FindingId};

/// A drive that throttles does so until it has cooled by some degrees, and begins some below the temperature from
/// which it warns: within this of that, °C.
const BAND_C: f64 = 10.0;

/// Adds a notice where the rate of a stream fell and the drive is nearly as hot as it warns of.
pub(super) fn notice(session: &Session<'_>, record: &mut TestRecord) {
    let celsius = match session.simulated() {
        Some(drive) => drive.heat().map(|heat| heat.celsius),
        None => session.target.temperature_c(),
    };
    if let Some(evidence) = evidence(celsius, session.target.warning_c()) {
        record.notice(Finding::new(FindingId::Throttled, evidence).about("fill"));
    }
}

fn evidence(celsius: Option<f64>, warning_c: Option<f64>) -> Option<String> {
    let (celsius, warning_c) = celsius.zip(warning_c)?;
    (celsius >= warning_c - BAND_C).then(|| {
        format!(
            "the rate dropped with the drive at {celsius:.0} °C (its warning level is {warning_c:.0} °C): heat may \
             have slowed it, not a full cache"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, model_file, run_on, suite_of, value};
    use drivescope_model::options::{FillMode, TestKind};
    use drivescope_model::units::Bytes;

    #[test]
    fn a_drive_near_its_limit_may_be_throttled() {
        assert!(evidence(Some(71.0), Some(80.0)).unwrap().contains("71 °C"));
        assert!(evidence(Some(95.0), Some(80.0)).is_some());
        assert_eq!(evidence(Some(69.0), Some(80.0)), None);
        assert_eq!(evidence(Some(95.0), None), None, "what is hot, the drive must say");
        assert_eq!(evidence(None, Some(80.0)), None);
    }

    /// Flash without any cache, which throttles after a quarter of a minute; and with one, as cool as it is.
    #[test]
    fn heat_fall_is_not_only_called_full_cache() {
        let text = include_str!("../../../../sim/models/toshiba-xg6-1tb.toml");
        let (before, slc) = text.split_once("[ssd.slc]").unwrap();
        let (_, thermal) = slc.split_once("[ssd.thermal]").unwrap();
        let thermal = thermal.replace("throttle_start_c = 82", "throttle_start_c = 40");
        let thermal = thermal.replace("throttle_stop_c = 76", "throttle_stop_c = 36");
        let (_file, hot) = model_file(&format!("{before}[ssd.thermal]{thermal}"));
        for (target, is_hot) in [(hot.as_str(), true), ("sim:toshiba-xg6-1tb", false)] {
            for mode in [FillMode::Full, FillMode::Sampled] {
                let mut suite = suite_of(TestKind::Fill);
                (suite.fill.mode, suite.span) = (mode, Bytes(120_000_000_000));
                let result = run_on(target, suite);
                assert!(value(&result, "fill.knee.knee_bytes").is_some(), "{target} {mode:?}");
                let told = finding(&result, FindingId::Throttled);
                assert_eq!(told.is_some(), is_hot, "{target} {mode:?}: {:?}", result.findings);
            }
        }
    }
}
