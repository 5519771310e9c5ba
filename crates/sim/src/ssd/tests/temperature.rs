//! The temperature of a drive in the long run: its idle power counts beside the work, in J for each 10^9 bytes.

use crate::device::RequestKind;
use crate::sequential_pass;
use crate::ssd::params::ThermalParams;
use crate::ssd::testing::{full, small, thermal};
use crate::ssd::thermal::Thermal;

#[test]
fn work_comes_on_top_of_idle_power() {
    let params = thermal();
    for (read_w, write_w) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.5), (0.8, 1.2)] {
        let mut drive = Thermal::new(params.clone());
        // twenty time constants
        for second in 1..=400 {
            drive.add_read((read_w / params.read_j_per_gb * 1e9) as u64);
            drive.add_write((write_w / params.write_j_per_gb * 1e9) as u64);
            drive.speed_at(second * 1_000_000_000);
        }
        let watts = params.idle_w + read_w + write_w;
        let expected = params.ambient_c + watts * params.resistance_c_per_w;
        let seen = drive.temperature_c();
        assert!((seen - expected).abs() < 0.01, "{read_w} and {write_w} W: {seen} for {expected}");
    }
}

#[test]
fn reading_warms_a_drive() {
    let mut params = small();
    params.thermal = Some(ThermalParams { read_j_per_gb: 8.0, time_constant_s: 4.0, ..thermal() });
    let mut ssd = full(params);
    let cold = ssd.status().temperature_c.unwrap();
    sequential_pass(&mut ssd, 0, (RequestKind::Read, 0, 1 << 30), 131_072, 4);
    // 8.6 J in about a second, a quarter of the time constant, and 10 °C for each watt in the long run
    let warm = ssd.status().temperature_c.unwrap();
    assert!((10.0..35.0).contains(&(warm - cold)), "{cold} to {warm} °C");
}
