//! Temperature as a first-order lag of power, and the throttling it brings.

use super::params::ThermalParams;
use crate::device::Nanos;

/// The temperature is brought up to date at most this often; it changes over seconds.
const UPDATE_INTERVAL: Nanos = 5_000_000;

#[derive(Debug, Clone)]
pub(super) struct Thermal {
    params: ThermalParams,
    temperature_c: f64,
    throttling: bool,
    updated: Nanos,
    energy_j: f64,
}

impl Thermal {
    /// A drive that has been idle for long.
    pub(super) fn new(params: ThermalParams) -> Self {
        let temperature_c = params.ambient_c + params.idle_w * params.resistance_c_per_w;
        Self { params, temperature_c, throttling: false, updated: 0, energy_j: 0.0 }
    }

    pub(super) fn temperature_c(&self) -> f64 {
        self.temperature_c
    }

    pub(super) fn limit_c(&self) -> f64 {
        self.params.throttle_start_c
    }

    fn next_limit_c(&self) -> f64 {
        if self.throttling { self.params.throttle_stop_c } else { self.params.throttle_start_c }
    }

    pub(super) fn add_read(&mut self, bytes: u64) {
        self.energy_j += bytes as f64 * 1e-9 * self.params.read_j_per_gb;
    }

    pub(super) fn add_write(&mut self, bytes: u64) {
        self.energy_j += bytes as f64 * 1e-9 * self.params.write_j_per_gb;
    }

    /// Lets the temperature follow the mean power since the last time; returns the speed from now on,
    /// as a share of full speed.
    pub(super) fn speed_at(&mut self, now: Nanos) -> f64 {
        let elapsed = now.saturating_sub(self.updated);
        if elapsed >= UPDATE_INTERVAL {
            self.updated = now;
            let elapsed_s = elapsed as f64 * 1e-9;
            let power_w = self.params.idle_w + std::mem::take(&mut self.energy_j) / elapsed_s;
            let settled = self.params.ambient_c + power_w * self.params.resistance_c_per_w;
            let left = (-elapsed_s / self.params.time_constant_s).exp();
            self.temperature_c = settled + (self.temperature_c - settled) * left;
            self.throttling = self.temperature_c >= self.next_limit_c();
        }
        if self.throttling { self.params.throttle_factor } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Thermal;
    use crate::ssd::testing::thermal;

    #[test]
    fn it_follows_the_exponential() {
        let mut drive = Thermal::new(thermal());
        let params = thermal();
        let start = drive.temperature_c();
        let steps = 1000_u64;
        let watts = 4.0;
        for k in 1..=steps {
            drive.add_write((watts / params.write_j_per_gb * 1e9 / steps as f64) as u64);
            drive.speed_at(k * 1_000_000_000 / steps);
        }
        let rise = watts * params.resistance_c_per_w;
        let expected = start + rise * (1.0 - (-1.0 / params.time_constant_s).exp());
        assert!((drive.temperature_c() - expected).abs() < 0.02 * rise);
    }

    #[test]
    fn idle_temperature_follows_from_idle_power() {
        let mut drive = Thermal::new(thermal());
        let warm = thermal().ambient_c + thermal().idle_w * thermal().resistance_c_per_w;
        for second in [1, 10, 1000] {
            drive.speed_at(second * 1_000_000_000);
            assert!((drive.temperature_c() - warm).abs() < 1e-9, "{}", drive.temperature_c());
        }
    }

    #[test]
    fn throttling_has_hysteresis() {
        let mut drive = Thermal::new(thermal());
        let mut now = 0;
        let mut second = |drive: &mut Thermal, watts: f64| {
            drive.add_write((watts / thermal().write_j_per_gb * 1e9) as u64);
            now += 1_000_000_000;
            drive.speed_at(now)
        };
        while second(&mut drive, 8.0) == 1.0 {}
        assert!(drive.temperature_c() >= thermal().throttle_start_c);
        assert!(drive.temperature_c() > thermal().throttle_stop_c);
        while second(&mut drive, 0.0) < 1.0 {}
        assert!(drive.temperature_c() < thermal().throttle_stop_c);
    }
}
