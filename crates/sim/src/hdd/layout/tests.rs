use super::*;
use proptest::prelude::*;

const PERIOD: Nanos = 10_000_000;

fn zone(cylinders: u32, sectors_per_track: u32) -> ZoneFormat {
    ZoneFormat { cylinders, sectors_per_track, head_skew_rev: 0.2, cylinder_skew_rev: 0.1 }
}

fn layout(order: LayoutParams, heads: u32) -> Layout {
    let formats = [zone(10, 100), zone(7, 80), zone(5, 50)];
    let sectors: u64 = formats
        .iter()
        .map(|z| u64::from(z.cylinders * heads) * u64::from(z.sectors_per_track))
        .sum();
    Layout::new(&formats, heads, order, Rotation::from_rpm(6000.0), 0, sectors)
}

fn orders() -> [LayoutParams; 3] {
    [
        LayoutParams::Cylinder,
        LayoutParams::Serpentine { band_cylinders: 4 },
        LayoutParams::Serpentine { band_cylinders: 1 },
    ]
}

#[test]
fn band_runs_inward_then_outward_by_head() {
    let layout = layout(LayoutParams::Serpentine { band_cylinders: 4 }, 2);
    let places = (0..12).map(|track| layout.locate(track * 100));
    let (cylinders, heads): (Vec<u32>, Vec<u32>) =
        places.map(|place| (place.cylinder, place.head)).unzip();
    assert_eq!(cylinders, [0, 1, 2, 3, 3, 2, 1, 0, 4, 5, 6, 7]);
    assert_eq!(heads, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn by_cylinder_the_heads_come_first() {
    let layout = layout(LayoutParams::Cylinder, 3);
    let place = layout.locate(400);
    assert_eq!((place.cylinder, place.head), (1, 1));
    // three head switches of 0.2 and one step of 0.1 turn
    assert_eq!(place.angle, 7_000_000);
}

#[test]
fn every_track_is_used_once() {
    for order in orders() {
        for heads in [1, 2, 3, 4] {
            let layout = layout(order, heads);
            let mut seen = std::collections::BTreeSet::new();
            let mut sector = 0;
            while sector < layout.sectors() {
                let place = layout.locate(sector);
                assert!(seen.insert((place.cylinder, place.head)), "{order:?} at {sector}");
                sector = layout.next_track(sector);
            }
            assert_eq!(seen.len(), 22 * heads as usize);
        }
    }
}

#[test]
fn later_sectors_lie_inward_and_earlier_outward() {
    for order in orders() {
        let layout = layout(order, 3);
        let cylinder = |sector: u64| layout.locate(sector).cylinder;
        for sector in (0..layout.sectors()).step_by(37) {
            let TrackSpan { outermost, innermost, .. } = layout.track_of(sector);
            assert!((outermost..=innermost).contains(&cylinder(sector)), "{order:?} {sector}");
            let behind = (sector..layout.sectors()).step_by(10).map(cylinder).min();
            let before = (0..=sector).step_by(10).map(cylinder).max();
            assert!(behind >= Some(outermost) && before <= Some(innermost), "{order:?} {sector}");
        }
    }
}

#[test]
fn sequential_transfer_loses_skew_at_each_crossing() {
    let layout = layout(LayoutParams::Serpentine { band_cylinders: 4 }, 2);
    assert_eq!(layout.transfer_time(0, 100), PERIOD);
    assert_eq!(layout.transfer_time(0, 200), 2 * PERIOD + PERIOD / 10);
    // the fourth crossing is a head switch
    assert_eq!(layout.transfer_time(0, 500), 5 * PERIOD + 3 * PERIOD / 10 + PERIOD / 5);
    assert_eq!(layout.transfer_time(99, 2), 2 * PERIOD / 100 + PERIOD / 10);
}

#[test]
fn zones_join_on_same_head_with_cylinder_skew() {
    for (heads, band_cylinders) in [(1, 4), (2, 4), (3, 4), (2, 1), (3, 2), (4, 3)] {
        let layout = layout(LayoutParams::Serpentine { band_cylinders }, heads);
        let zones: Vec<_> = layout.zones().collect();
        for pair in zones.windows(2) {
            let ((.., before), (first, _, behind)) = (pair[0], pair[1]);
            assert_eq!(layout.locate(first - 1).head, layout.locate(first).head, "{first}");
            let sectors = PERIOD / u64::from(before) + PERIOD / u64::from(behind);
            assert_eq!(layout.transfer_time(first - 1, 2), sectors + PERIOD / 10);
        }
    }
}

#[test]
fn a_switch_slower_than_its_skew_costs_a_turn() {
    let formats = [zone(10, 100)];
    let order = LayoutParams::Cylinder;
    let slow = Layout::new(&formats, 2, order, Rotation::from_rpm(6000.0), 2_500_000, 2000);
    assert_eq!(slow.transfer_time(0, 200), 2 * PERIOD + PERIOD / 5 + PERIOD);
}

proptest! {
    #[test]
    fn angles_and_the_sequential_clock_agree(order in 0usize..3, heads in 1u32..5, part in 0.0..1.0f64, count in 1u64..900) {
        let layout = layout(orders()[order], heads);
        let sector = (part * (layout.sectors() - 1) as f64) as u64;
        let count = count.min(layout.sectors() - sector);
        let time = layout.transfer_time(sector, count);
        // the end of the transfer stands at the end angle of its last sector
        let last = sector + count - 1;
        let end = layout.locate(last).angle + layout.transfer_time(last, 1);
        prop_assert_eq!((layout.locate(sector).angle + time) % PERIOD, end % PERIOD);
        prop_assert_eq!(layout.clock_at_end(sector + count) - layout.clock(sector), time);
    }

    #[test]
    fn a_transfer_is_the_sum_of_its_parts(heads in 1u32..5, part in 0.0..1.0f64, first in 1u64..300, second in 1u64..300) {
        let layout = layout(orders()[1], heads);
        let sector = (part * (layout.sectors() - 601) as f64) as u64;
        let crossing = layout.clock(sector + first) - layout.clock_at_end(sector + first);
        prop_assert_eq!(
            layout.transfer_time(sector, first + second),
            layout.transfer_time(sector, first) + crossing + layout.transfer_time(sector + first, second)
        );
    }

    #[test]
    fn elapsed_time_finds_the_sector_again(part in 0.0..1.0f64, count in 0u64..700) {
        let layout = layout(orders()[1], 2);
        let from = 1 + (part * (layout.sectors() - 702) as f64) as u64;
        let between_ends = |to| layout.clock_at_end(to) - layout.clock_at_end(from);
        let elapsed = between_ends(from + count);
        prop_assert_eq!(layout.sectors_within(from, elapsed, 1000), count);
    }

    #[test]
    fn sectors_within_a_time_are_all_that_fit(order in 0usize..3, part in 0.0..1.0f64, elapsed in 0..7 * PERIOD, limit in 1u64..600) {
        let layout = layout(orders()[order], 2);
        let from = 1 + (part * (layout.sectors() - 602) as f64) as u64;
        let count = layout.sectors_within(from, elapsed, limit);
        let between_ends = |to| layout.clock_at_end(to) - layout.clock_at_end(from);
        prop_assert!(count <= limit && between_ends(from + count) <= elapsed);
        prop_assert!(count == limit || between_ends(from + count + 1) > elapsed);
    }
}
