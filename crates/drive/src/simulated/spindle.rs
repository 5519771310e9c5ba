//! `rpm=`: the same disks and tracks under a faster or slower spindle.

use drivescope_model::shortened::shortened;
use drivescope_sim::hdd::params::ZoneParams;
use drivescope_sim::library::Model;

/// Changes a disk's speed, and the rates at the head with it. Errors: not a speed, or nothing turns; in one line.
pub(super) fn turn_at(model: &mut Model, rpm: &str) -> Result<(), String> {
    let Some(disk) = &mut model.hdd else {
        return Err(format!("rpm={}: {} does not turn", shortened(rpm), model.name));
    };
    let wrong = || format!("rpm={} is not a speed such as 7200", shortened(rpm));
    let speed: f64 = rpm.parse().map_err(|_| wrong())?;
    if !(speed > 0.0 && speed.is_finite()) {
        return Err(wrong());
    }
    let faster = speed / disk.rpm;
    disk.rpm = speed;
    // Measured zones have sectors on a track, whose rate follows by itself.
    if let ZoneParams::SquareRoot { outer_media_mb_s, inner_media_mb_s, clamp_media_mb_s, .. } =
        &mut disk.zones
    {
        *outer_media_mb_s *= faster;
        *inner_media_mb_s *= faster;
        *clamp_media_mb_s = clamp_media_mb_s.map(|clamp| clamp * faster);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::spec::Spec;

    #[test]
    fn faster_spindle_passes_tracks_sooner() {
        fn spec(text: &str) -> Spec {
            Spec::parse(text).unwrap()
        }
        fn capacity(text: &str) -> u64 {
            spec(text).build().unwrap().capacity_bytes()
        }
        assert_eq!(spec("sim:wd40efrx?rpm=7200").model.hdd.unwrap().rpm, 7200.0);
        assert_eq!(capacity("sim:wd40efrx?rpm=7200"), capacity("sim:wd40efrx"));
        for text in ["sim:wd40efrx?rpm=0", "sim:wd40efrx?rpm=inf"] {
            assert!(Spec::parse(text).unwrap_err().to_string().contains("not a speed"), "{text}");
        }
        let turns_far_too_fast = spec("sim:wd40efrx?rpm=1e9").build();
        assert!(turns_far_too_fast.is_err());
    }
}
