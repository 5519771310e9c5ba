use super::*;
use crate::testing::{changed_model, plan_of, run_at, run_on, run_target, suite_of, value};
use crate::{planner, suites};
use drivescope_model::cell::Mix;
use drivescope_model::plan::Engine;
use drivescope_stats::summary;

#[test]
fn cells_run_reads_first_then_writes_then_mixes() {
    let options = TransferOptions {
        shapes: vec!["seq1m_q8t1".parse().unwrap(), "rnd4k_q1t1".parse().unwrap()],
        mixes: vec!["mix70".parse().unwrap(), Mix::WRITE, Mix::READ],
        ..TransferOptions::default()
    };
    let names: Vec<String> = options.all_cells().iter().map(Cell::to_string).collect();
    assert_eq!(
        names,
        [
            "seq1m_q8t1.read",
            "rnd4k_q1t1.read",
            "seq1m_q8t1.write",
            "rnd4k_q1t1.write",
            "seq1m_q8t1.mix70",
            "rnd4k_q1t1.mix70"
        ]
    );
}

#[test]
fn bounded_round_ends_with_its_bytes() {
    let mut suite = suite_of(TestKind::Transfer);
    (suite.rounds, suite.span) = (1, Bytes::gib(1));
    suite.transfer.cells = vec!["seq16m_q1t1.write".parse().unwrap()];
    (suite.transfer.io_size, suite.transfer.ramp) = (Bytes::gib(1), Secs(0.0));
    suite.transfer.time = Secs(3_600.0);
    let planned = plan_of(&run_target("sim:wd40efrx"), suite.clone());
    assert!(planned.cost.seconds < 20.0 && planned.cost.written_bytes == 1 << 30);
    let result = run_on("sim:wd40efrx", suite);
    // 1 GiB at 180 MB/s
    assert!((5.0..7.0).contains(&result.elapsed_s), "{}", result.elapsed_s);
}

#[test]
fn each_cell_keeps_its_own_bounds() {
    let mut suite = suite_of(TestKind::Transfer);
    (suite.rounds, suite.span) = (1, Bytes::gib(1));
    let cells = ["seq1m_q1t1.read", "rnd4k_q1t1.read"].map(|it| it.parse::<Cell>().unwrap());
    suite.transfer.cells = cells.to_vec();
    (suite.transfer.time, suite.transfer.ramp) = (Secs(1.0), Secs(0.0));
    let bounds =
        CellBounds { cell: cells[0], time: Secs(60.0), ramp: Secs(0.0), io_size: Bytes::mib(64) };
    suite.transfer.bounds = vec![bounds];
    let result = run_on("sim:wd40efrx", suite.clone());
    let ops = |name: &str| result.phases.iter().find(|it| it.cell == name).unwrap().ops;
    assert_eq!(ops("seq1m_q1t1.read"), 64);
    let random = ops("rnd4k_q1t1.read");
    assert!((60..250).contains(&random), "{random} in one second of a disk");
    let overrides = Overrides { time: Some(Secs(0.5)), ..Overrides::default() };
    TransferWorkload.apply(&overrides, &mut suite).unwrap();
    assert_eq!(suite.transfer.bounds[0].time, Secs(0.5));
    suite.transfer.bounds.push(bounds);
    assert!(TransferWorkload.check(&suite).unwrap_err().contains("bounds names the cell"));
}

/// Each of 512 requests takes three seconds, while the disk completes 160 of them per second.
#[test]
fn threads_waiting_for_their_turn_are_not_stalled() {
    let mut suite = suite_of(TestKind::Transfer);
    suite.transfer.cells = vec!["rnd4k_q32t16.read".parse().unwrap()];
    suite.transfer.time = Secs(10.0);
    let findings = run_on("sim:wd40efrx", suite).findings;
    assert_eq!(findings, []);
}

/// The truth is the median over all seeds. Fewer than 89 of 100 intervals of 95 % hold it once in 200 cases.
#[test]
fn intervals_of_a_hundred_seeds_contain_the_truth() {
    let mut suite = suite_of(TestKind::Transfer);
    suite.rounds = 3;
    suite.transfer.cells = vec!["rnd4k_q1t1.read".parse().unwrap()];
    (suite.transfer.time, suite.transfer.ramp) = (Secs(2.0), Secs(0.0));
    let runs: Vec<_> = (0..100)
        .map(|seed| run_at(&run_target("sim:wd40efrx"), suite.clone(), seed, false).metrics)
        .collect();
    for quantity in ["iops", "lat_mean_us", "lat_p50_us", "lat_p90_us"] {
        let key = format!("transfer.rnd4k_q1t1.read.{quantity}");
        let of_key = || runs.iter().flatten().filter(|metric| metric.key == key);
        let rounds: Vec<f64> = of_key().flat_map(|metric| metric.rounds.clone()).collect();
        let truth = summary::median(&rounds).unwrap();
        let hits = of_key().filter(|m| m.low <= truth && truth <= m.high).count();
        println!("{quantity}: {hits} of 100 intervals contain {truth:.1}");
        assert!(hits >= 89, "{quantity}: {hits}");
    }
}

#[test]
fn blocks_below_a_sector_are_left_out_in_one_line() {
    let sectors = [
        ("reported_logical_sector_bytes", "reported_logical_sector_bytes = 4096"),
        ("logical_sector_bytes", "logical_sector_bytes = 4096"),
    ];
    let (_file, target) = changed_model("wd40efrx", &sectors);
    let mut suite = suites::find("atto", None).unwrap();
    suite.transfer.cells.retain(|cell| [512, 2048, 4096, 64 << 20].contains(&cell.shape.block.0));
    let result = run_on(target, suite);
    assert_eq!(
        result.reason.as_deref(),
        Some(
            "seq512_q4t1.write, seq512_q4t1.read, seq2k_q4t1.write, seq2k_q4t1.read: direct I/O here needs \
             multiples of 4096 bytes"
        )
    );
    for cell in ["seq4k_q4t1.write", "seq64m_q4t1.read"] {
        assert!(value(&result, &format!("transfer.{cell}.mb_s")).is_some(), "{cell}");
    }
}

#[test]
fn suite_without_cells_gets_a_clear_error() {
    let mut suite = suite_of(TestKind::Transfer);
    (suite.transfer.cells, suite.transfer.shapes) = (Vec::new(), Vec::new());
    let target = run_target("sim:wd40efrx");
    let plan = planner::plan(suite, 1, Engine::Sim, &target, false, WriteLevel::Read);
    let message = plan.unwrap_err().to_string();
    assert!(message.contains("sim:wd40efrx: transfer has no cells: "), "{message}");
}

#[test]
fn reasons_are_listed_once() {
    let lines = ["a: needs x", "b: needs y", "c: needs x"].map(String::from).to_vec();
    assert_eq!(condense(lines), ["a, c: needs x", "b: needs y"]);
}
