//! Temperature in the long run, and what a throttled drive does: every time inside is longer, that between two commands
//! too.

use crate::device::RequestKind::{Flush, Read, Write};
use crate::device::SimDevice;
use crate::sequential_pass;
use crate::ssd::params::ThermalParams;
use crate::ssd::testing::{closed_loop, full, one, request, small, small_with, thermal};
use crate::ssd::thermal::Thermal;
use crate::ssd::{Ssd, SsdFaults};

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
    let warming = ThermalParams { read_j_per_gb: 8.0, time_constant_s: 4.0, ..thermal() };
    let mut ssd = full(small_with(|p| p.thermal = Some(warming)));
    let cold = ssd.status().temperature_c.unwrap();
    sequential_pass(&mut ssd, 0, (Read, 0, 1 << 30), 131_072, 4);
    // 8.6 J in about a second, a quarter of the time constant, and 10 °C for each watt in the long run
    let warm = ssd.status().temperature_c.unwrap();
    assert!((10.0..35.0).contains(&(warm - cold)), "{cold} to {warm} °C");
}

#[test]
fn third_of_the_speed_starts_third_of_commands() {
    // nothing else takes as long: no port, and addresses that were never written
    let params = small_with(|p| p.port = None);
    let end = |throttle_forced: Option<f64>| {
        let mut ssd = Ssd::new(params.clone(), 1).unwrap();
        ssd.set_faults(SsdFaults { throttle_forced, ..SsdFaults::default() });
        closed_loop(&mut ssd, 0, Read, 30_000, 32, |k| (k * 4096, 512))
    };
    // one each microsecond, and the last takes its ten
    assert_eq!(end(None), 29_999 * 1_000 + 10_000);
    let third = end(Some(1.0 / 3.0)) as f64 / 3e3;
    assert!((29_999.0..30_020.0).contains(&third), "{third}");
}

#[test]
fn partial_unit_write_warms_like_a_whole_one() {
    fn warmth(len: u64) -> f64 {
        let mut params = small();
        params.thermal = Some(thermal());
        params.buffer.size_kib = 65_536;
        let mut ssd = Ssd::new(params, 1).unwrap();
        for k in 0..4000 {
            one(&mut ssd, k * 1_000_000, Write, k * 8192, len);
        }
        ssd.submit(5_000_000_000, request(Flush, 0, 0));
        ssd.status().temperature_c.unwrap()
    }
    let (part, whole, two) = (warmth(512), warmth(4096), warmth(8192));
    assert!((part - whole).abs() < 1e-6, "{part} and {whole}");
    assert!(two > whole, "{two} and {whole}");
}
