//! How often the statistics are wrong: false alarms on series without a change, what is found of true changes, and
//! how often an interval contains the truth, in noise whose neighbours correlate by φ. Prints the tables of
//! docs/methods.md, in minutes: `cargo bench -p drivescope-stats`.

#![expect(clippy::print_stdout, reason = "the tables are the result")]

use drivescope_stats::interval::{Interval, median_interval};
use drivescope_stats::knee::{DISK_FALL_MIN, FLASH_FALL_MIN, knee};
use drivescope_stats::lasting_drop::lasting_drop;
use drivescope_stats::round_trend::{error_within, round_fall};
use drivescope_stats::summary::mean;
use drivescope_stats::synthetic::{falling_at, rates};
use drivescope_stats::zones::{ZONE_DROP_MIN, zones};

const PHIS: [f64; 3] = [0.0, 0.5, 0.9];
/// Series per figure: one of 5 % is good to 1 %.
const SEEDS: u64 = 500;
/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;
/// A burst of `fill` looks for its knee after each this many pieces, 16 times at most.
const LEG: usize = 64;
const LOOKS: usize = 16;

fn main() {
    false_alarms();
    changes_found();
    coverage();
    coverage_of_knees();
}

/// One line of a table: percent of all seeds for each φ.
fn line(name: &str, is_hit: impl Fn(f64, u64) -> bool) {
    let percent = |phi: f64| {
        let hits = (0..SEEDS).filter(|&seed| is_hit(phi, seed)).count();
        format!(" {:.1} % |", hits as f64 * 100.0 / SEEDS as f64)
    };
    println!("| {name} |{}", PHIS.map(percent).concat());
}

fn head(title: &str) {
    println!("\n| {title} | φ = 0 | φ = 0.5 | φ = 0.9 |\n|---|---|---|---|");
}

/// Whether a burst of pieces of `piece_s` each stops at a knee.
fn stops(rates: &[f64], piece_s: f64, fall_min: f64) -> bool {
    let mut legs = (1..=LOOKS).map(|legs| &rates[..rates.len().min(legs * LEG)]);
    legs.any(|seen| knee(seen, &vec![piece_s; seen.len()], fall_min).is_some())
}

/// Whether rounds of 50 intervals, every tenth of the series, fall.
fn falls(rates: &[f64]) -> bool {
    let rounds: Vec<&[f64]> = rates.chunks_exact(50).step_by(10).collect();
    let means: Vec<f64> = rounds.iter().filter_map(|round| mean(round)).collect();
    let errors: Vec<f64> = rounds.iter().map(|round| error_within(round)).collect();
    round_fall(&means, &errors).is_some()
}

fn is_zoned(rates: &[f64]) -> bool {
    zones(rates, ZONE_DROP_MIN).is_some_and(|zones| zones.len() > 1)
}

fn false_alarms() {
    fn flat(n: usize, cv: f64, phi: f64, seed: u64) -> Vec<f64> {
        rates(n, cv, phi, seed, |_| 100.0)
    }
    head("false alarms");
    for n in [64, 256, 1024] {
        let name = format!("knee of flash, {n} pieces ± 10 %");
        line(&name, |phi, seed| {
            knee(&flat(n, 0.1, phi, seed), &vec![1.0; n], FLASH_FALL_MIN).is_some()
        });
    }
    for (drive, fall_min) in [("flash", FLASH_FALL_MIN), ("a disk", DISK_FALL_MIN)] {
        let name = format!("burst on {drive}, 16 looks at up to 1024 pieces ± 10 %");
        line(&name, |phi, seed| stops(&flat(LOOKS * LEG, 0.1, phi, seed), 1.0, fall_min));
    }
    for (n, cv) in [(64, 0.02), (128, 0.005), (128, 0.02), (128, 0.1), (1024, 0.02)] {
        let name = format!("zones, {n} places ± {} %", cv * 100.0);
        line(&name, |phi, seed| is_zoned(&flat(n, cv, phi, seed)));
    }
    for (n, cv) in [(30, 0.15), (50, 0.15), (100, 0.15), (300, 0.15), (50, 0.3), (300, 0.3)] {
        let name = format!("lasting drop, {n} intervals ± {:.0} %", cv * 100.0);
        line(&name, |phi, seed| lasting_drop(&flat(n, cv, phi, seed)).is_some());
    }
    for (rounds, cv) in [(3, 0.02), (3, 0.05), (3, 0.1), (6, 0.05), (6, 0.1)] {
        let name =
            format!("fall over {rounds} rounds ± {:.0} % that correlate themselves", cv * 100.0);
        line(&name, |phi, seed| {
            round_fall(&flat(rounds, cv, phi, seed), &vec![0.0; rounds]).is_some()
        });
    }
    for (rounds, cv) in [(3, 0.1), (3, 0.3), (6, 0.3)] {
        let name = format!(
            "fall over {rounds} rounds of 50 intervals ± {:.0} %, nine other cells between",
            cv * 100.0
        );
        line(&name, |phi, seed| falls(&flat(rounds * 500, cv, phi, seed)));
    }
    // Pieces of 16 MiB at 60 MB/s take 0.28 s.
    let piece_s = 0.28;
    for memory_s in [4.0f64, 8.0] {
        let phi = (-piece_s / memory_s).exp();
        let is_stopped =
            |seed: &u64| stops(&flat(LOOKS * LEG, 0.1, phi, *seed), piece_s, FLASH_FALL_MIN);
        let percent = (0..SEEDS).filter(is_stopped).count() as f64 * 100.0 / SEEDS as f64;
        println!(
            "\nburst on flash, pieces of 0.28 s ± 10 %, correlated over {memory_s} s: {percent:.1} %"
        );
    }
}

fn changes_found() {
    head("found of true changes");
    for (n, at, fall, cv) in [
        (64, 20, 0.5, 0.05),
        (256, 60, 0.4, 0.03),
        (256, 100, 0.3, 0.05),
        (1000, 42, 0.11, 0.01),
        (1000, 300, 0.3, 0.1),
    ] {
        let name = format!(
            "knee, -{:.0} % at piece {at} of {n} ± {:.0} %, found within 1 %",
            fall * 100.0,
            cv * 100.0
        );
        line(&name, |phi, seed| {
            let rates =
                rates(n, cv, phi, seed, |i| if i < at { 500.0 } else { 500.0 - 500.0 * fall });
            let found = knee(&rates, &vec![1.0; n], FLASH_FALL_MIN);
            found.is_some_and(|knee| knee.at.abs_diff(at) <= 1 + n / 100)
        });
    }
    for cv in [0.005, 0.01] {
        let six = |phi, seed| {
            let edges = [20, 45, 60, 90, 110];
            let level =
                |i| 200.0 * 0.94f64.powi(edges.iter().filter(|&&edge| i >= edge).count() as i32);
            zones(&rates(128, cv, phi, seed, level), ZONE_DROP_MIN).map_or(0, |zones| zones.len())
        };
        let steps = format!("6 zones of 6 % each, 128 places ± {} %", cv * 100.0);
        line(&format!("{steps}: all, and no more"), |phi, seed| six(phi, seed) == 6);
        line(&format!("{steps}: more"), |phi, seed| six(phi, seed) > 6);
    }
    line("24 zones of 2.5 % each, 74 places ± 0.5 %: all, and no more", |phi, seed| {
        let level = |i| 165.0 - 4.2 * (i * 24 / 74) as f64;
        zones(&rates(74, 0.005, phi, seed, level), ZONE_DROP_MIN)
            .is_some_and(|zones| zones.len() == 24)
    });
    for (n, fall, cv) in [(50, 0.25, 0.05), (50, 0.4, 0.05), (300, 0.25, 0.05), (300, 0.4, 0.1)] {
        let name =
            format!("lasting drop, -{:.0} %, {n} intervals ± {:.0} %", fall * 100.0, cv * 100.0);
        line(&name, |phi, seed| {
            let level = |i| if 2 * i < n { 100.0 } else { 100.0 - 100.0 * fall };
            lasting_drop(&rates(n, cv, phi, seed, level)).is_some()
        });
    }
    falls_found();
}

/// Rounds whose rate falls by a share each, with intervals that scatter.
fn falls_found() {
    for (rounds, fall, cv) in [(3, 0.12, 0.05), (3, 0.12, 0.1), (5, 0.12, 0.1), (5, 0.05, 0.1)] {
        let name = format!(
            "fall of {:.0} % a round, {rounds} rounds of 50 intervals ± {:.0} %",
            fall * 100.0,
            cv * 100.0
        );
        line(&name, |phi, seed| {
            let level = |i: usize| 100.0 * f64::powi(1.0 - fall, (i / 500) as i32);
            falls(&rates(rounds * 500, cv, phi, seed, level))
        });
    }
}

fn contains(interval: Option<Interval>, truth: f64) -> bool {
    interval.is_some_and(|interval| interval.contains(truth))
}

/// The place of a knee somewhere between two pieces: how often its interval contains it, of those found.
fn coverage_of_knees() {
    head("intervals of a knee that contain its place");
    for (n, from, to, fall, cv) in [
        (64, 3.0, 40.0, 0.5, 0.02),
        (64, 3.0, 40.0, 0.5, 0.05),
        (64, 0.2, 3.0, 0.5, 0.02),
        (20, 3.0, 14.0, 0.5, 0.05),
        (256, 20.0, 200.0, 0.15, 0.05),
        (1000, 20.0, 900.0, 0.3, 0.1),
    ] {
        let percent = |phi: f64| {
            let case = |seed: u64| {
                let place = from + (to - from) * (seed as f64 * 0.618_034).fract();
                let rates = falling_at(place, fall, n, cv, phi, seed);
                let seconds: Vec<f64> = rates.iter().map(|rate| 1000.0 / rate).collect();
                Some((knee(&rates, &seconds, FLASH_FALL_MIN)?, place))
            };
            let knees: Vec<_> = (0..SEEDS).filter_map(case).collect();
            let held = knees.iter().filter(|(knee, place)| knee.places.contains(*place)).count();
            let widths: Vec<f64> = knees.iter().map(|(knee, _)| knee.places.width()).collect();
            let width = mean(&widths).unwrap_or(0.0);
            format!(" {:.1} %, {width:.1} wide |", held as f64 * 100.0 / knees.len() as f64)
        };
        let (fall, cv) = (fall * 100.0, cv * 100.0);
        let name = format!("-{fall:.0} % after {from} to {to} of {n} pieces ± {cv:.0} %");
        println!("| {name} |{}", PHIS.map(percent).concat());
    }
}

fn coverage() {
    head("intervals that contain the truth");
    for rounds in [3, 6, 10] {
        for (others, name) in [(9, "nine other cells between"), (0, "one after the other")] {
            let name = format!("{rounds} rounds of 50 intervals ± 10 %, {name}");
            line(&name, |phi, seed| {
                let all = rates(rounds * 50 * (others + 1), 0.1, phi, seed, |_| 100.0);
                let rounds: Vec<f64> =
                    all.chunks_exact(50).step_by(others + 1).filter_map(mean).collect();
                contains(median_interval(&rounds, CONFIDENCE), 100.0)
            });
        }
        line(&format!("{rounds} rounds ± 5 % that correlate themselves"), |phi, seed| {
            let rounds = rates(rounds, 0.05, phi, seed, |_| 100.0);
            contains(median_interval(&rounds, CONFIDENCE), 100.0)
        });
    }
}
