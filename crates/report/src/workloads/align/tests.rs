//! What `align` prints.

use crate::chart::{PictureSize, Theme, svg};
use crate::terminal::Style;
use crate::testing::{metric, result};
use crate::text::test_result;
use drivescope_model::{Metric, TestKind};

const PLAIN: Style = Style::PLAIN;

fn times(block: &str, offsets: &[u64], us: &[f64]) -> Vec<Metric> {
    let key = |offset: &u64| format!("align.write{block}_at_{offset}.lat_mean_us");
    offsets.iter().zip(us).map(|(offset, us)| metric(&key(offset), &[*us])).collect()
}

fn device(sector: f64, reported: f64, shift: f64, penalty: [f64; 3]) -> Vec<Metric> {
    let [low, value, high] = penalty;
    let mut ratio = metric("align.device.penalty_ratio", &[value]);
    (ratio.low, ratio.high) = (low, high);
    vec![
        ratio,
        metric("align.device.reported_bytes", &[reported]),
        metric("align.device.sector_bytes", &[sector]),
        metric("align.device.shift_bytes", &[shift]),
    ]
}

fn partition(name: &str, start: f64, behind: f64) -> Vec<Metric> {
    vec![
        metric(&format!("align.{name}.start_bytes"), &[start * 512.0]),
        metric(&format!("align.{name}.misaligned_bytes"), &[behind]),
    ]
}

const EIGHT: [u64; 8] = [0, 512, 1024, 1536, 2048, 2560, 3072, 3584];

#[test]
fn a_drive_that_lies_and_its_partitions() {
    let metrics = [
        times(
            "4k",
            &EIGHT,
            &[6412.0, 17_300.0, 17_650.0, 17_210.0, 17_500.0, 17_480.0, 17_620.0, 17_390.0],
        ),
        times("16k", &[0, 4096, 8192, 12_288], &[6800.0, 6950.0, 6720.0, 6810.0]),
        device(4096.0, 512.0, 0.0, [2.45, 2.71, 3.02]),
        partition("sda1", 63.0, 3584.0),
        partition("sda2", 2048.0, 0.0),
    ];
    insta::assert_snapshot!(test_result(&result(TestKind::Align, metrics.concat()), PLAIN), @r"
    align               +0  +512  +1024  +1536  +2048  +2560  +3072  +3584
    4 KiB writes, ms  6.41  17.3   17.6   17.2   17.5   17.5   17.6   17.4
                         +0  +4096  +8192  +12288
    16 KiB writes, ms  6.80   6.95   6.72    6.81
      sector     4096 bytes · the drive reports 512, which is wrong
      starts     at multiples of 4096
      partition  sda1 · from sector 63 · misaligned by 3584 bytes
      partition  sda2 · from sector 2048 · aligned
      cost       misaligned synced writes take 2.71 times as long (2.45 to 3.02)
    ");
}

#[test]
fn a_jumper_and_a_sector_that_nothing_shows() {
    let shifted = device(4096.0, 4096.0, 3584.0, [2.0, 2.1, 2.2]);
    insta::assert_snapshot!(test_result(&result(TestKind::Align, shifted), PLAIN), @r"
    sector     4096 bytes · as the drive reports
    starts     3584 bytes past multiples of 4096
    cost       misaligned synced writes take 2.10 times as long (2.00 to 2.20)
    ");
    let mut hidden = device(512.0, 4096.0, 0.0, [0.93, 1.02, 1.11]);
    hidden.truncate(2);
    hidden.extend(partition("sda1", 63.0, 3584.0));
    insta::assert_snapshot!(test_result(&result(TestKind::Align, hidden), PLAIN), @r"
    sector     no offset is slower · the drive reports 4096
    partition  sda1 · from sector 63 · misaligned by 3584 bytes
    cost       misaligned synced writes take 1.02 times as long (0.930 to 1.11)
    ");
}

#[test]
fn missing_answers_are_reported() {
    let mut nothing = result(TestKind::Align, times("4k", &EIGHT[..2], &[900.0, 12_000.0]));
    nothing.reason = Some("physical sector: the times spread too widely".to_string());
    insta::assert_snapshot!(test_result(&nothing, PLAIN), @r"
    align                +0  +512
    4 KiB writes, ms  0.900  12.0
      sector     physical sector not found
      left out: physical sector: the times spread too widely
    ");
}

#[test]
fn passes_of_phybs_are_counted() {
    fn pass(offset: u64, tps: f64) -> Vec<Metric> {
        let cell = format!("align.pass4k_at_{offset}");
        vec![
            metric(&format!("{cell}.pass_ms"), &[32_768e3 / tps]),
            metric(&format!("{cell}.tps"), &[tps]),
            metric(&format!("{cell}.kib_s"), &[tps * 4.0]),
        ]
    }
    let metrics = [pass(0, 1680.2), pass(512, 26.9), device(4096.0, 512.0, 0.0, [62.3; 3])];
    let result = result(TestKind::Align, metrics.concat());
    let map = &super::charts::charts(&result)[0];
    assert_eq!(
        map.description,
        "The slowest takes 62.5 times the fastest of its column, 4 KiB blocks."
    );
    let picture = svg(map, PictureSize::WIDE, Theme::Light);
    assert!(picture.contains(">4 KiB<") && picture.contains(">37.2<"), "{picture}");
    insta::assert_snapshot!(test_result(&result, PLAIN), @r"
    align                 +0  +512
    4 KiB blocks, 1/s  1,680  26.9
      sector     4096 bytes · the drive reports 512, which is wrong
      starts     at multiples of 4096
      cost       misaligned cached writes take 62.3 times as long
    ");
}
