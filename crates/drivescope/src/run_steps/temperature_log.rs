//! The temperature of a drive while a run measures it, read beside the measuring threads.

use drivescope_drive::Target;
use drivescope_model::document::Series;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A drive warms by a degree in about this time.
const SENSOR_EVERY: Duration = Duration::from_secs(10);
/// Each question to SMART is a command to the drive, which a measurement may see.
const SMART_EVERY: Duration = Duration::from_secs(300);
/// A longer log keeps every second reading.
const READINGS_MAX: usize = 1024;

/// A thread that reads the temperature now and then.
pub struct TemperatureLog {
    stop: Sender<()>,
    reader: JoinHandle<Readings>,
}

impl TemperatureLog {
    /// `may_ask_smart`: where the kernel has no sensor, SMART is asked. `None` for simulated drives, and where nothing
    /// shows a temperature.
    pub fn begin(target: &Target, may_ask_smart: bool) -> Option<Self> {
        let thermometer = target.thermometer(may_ask_smart)?;
        let every = if thermometer.is_cheap() { SENSOR_EVERY } else { SMART_EVERY };
        let (stop, stopped) = channel();
        let read = move || {
            let (begin, mut readings) = (Instant::now(), Readings::default());
            readings.add(0.0, thermometer.celsius());
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                readings.add(begin.elapsed().as_secs_f64(), thermometer.celsius());
            }
            readings
        };
        // Without a thread there is no log, and the run is as good.
        let reader =
            std::thread::Builder::new().name("temperature".to_string()).spawn(read).ok()?;
        Some(Self { stop, reader })
    }

    /// The readings, if there were any.
    pub fn end(self) -> Option<Series> {
        drop(self.stop);
        self.reader.join().ok().and_then(Readings::series)
    }
}

#[derive(Default)]
struct Readings {
    x_s: Vec<f64>,
    celsius: Vec<f64>,
    /// Readings between two that are kept.
    skipped: usize,
    pending: usize,
}

impl Readings {
    fn add(&mut self, at_s: f64, celsius: Option<f64>) {
        let Some(celsius) = celsius else { return };
        if self.pending > 0 {
            self.pending -= 1;
            return;
        }
        self.pending = self.skipped;
        self.x_s.push(at_s);
        self.celsius.push(celsius);
        if self.x_s.len() == READINGS_MAX {
            for all in [&mut self.x_s, &mut self.celsius] {
                *all = all.iter().copied().step_by(2).collect();
            }
            self.skipped = self.skipped * 2 + 1;
        }
    }

    fn series(self) -> Option<Series> {
        (!self.x_s.is_empty()).then(|| Series {
            key: "temperature".to_string(),
            x_unit: "s".to_string(),
            y_unit: "°C".to_string(),
            x: self.x_s,
            y: self.celsius,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_of_a_day_stays_short_and_evenly_spaced() {
        let mut readings = Readings::default();
        for at in 0..8_640 {
            readings.add(f64::from(at) * 10.0, Some(30.0));
        }
        readings.add(90_000.0, None);
        let series = readings.series().unwrap();
        assert!((READINGS_MAX / 4..READINGS_MAX).contains(&series.x.len()), "{}", series.x.len());
        let steps: Vec<f64> = series.x.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (least, most) = (steps[0], steps[steps.len() - 1]);
        assert!(most <= 2.0 * least && series.x[0] == 0.0, "{least} to {most}");
        assert_eq!(Readings::default().series(), None);
    }
}
