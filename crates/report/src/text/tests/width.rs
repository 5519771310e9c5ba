//! No line is wider than the terminal, whatever names and numbers a document holds.

use super::{COLOUR, without_colour};
use crate::testing::{
    hard_disk, hard_disk_latency, hard_disk_surface, hard_disk_tiny_writes, hard_disk_transfer,
};
use crate::text::{self, RunRow};
use crate::verdict::judge;
use crate::{COLUMNS_MAX, Style, width};
use drivescope_model::drive::Drive;
use drivescope_model::target::TargetInfo;
use drivescope_model::{Finding, FindingId, Run, TestResult, TestStatus};
use proptest::prelude::*;

struct Source {
    texts: Vec<String>,
    numbers: Vec<f64>,
    next: usize,
}

impl Source {
    fn text(&mut self) -> String {
        self.next += 1;
        self.texts[self.next % self.texts.len()].clone()
    }
    fn number(&mut self) -> f64 {
        self.next += 1;
        self.numbers[self.next % self.numbers.len()]
    }
    fn count(&mut self) -> u64 {
        self.number() as u64
    }
}

fn disturb_result(result: &mut TestResult, source: &mut Source) {
    for metric in &mut result.metrics {
        [metric.value, metric.low, metric.high] = [(); 3].map(|()| source.number());
        metric.valid = source.count().is_multiple_of(2);
        if !metric.valid {
            metric.invalid_because = FindingId::ALL.to_vec();
        }
    }
    for phase in &mut result.phases {
        phase.cell = source.text();
        phase.errors = source.count();
        phase.ops = source.count();
        phase.bytes = source.count();
        phase.elapsed_s = source.number();
        phase.depth_mean = source.number();
        phase.cpu_busiest_pct = source.number();
        phase.device_busy_pct = Some(source.number());
        phase.temperature_c = Some(source.number());
    }
    for series in &mut result.series {
        series.x.iter_mut().chain(&mut series.y).for_each(|value| *value = source.number());
    }
    result.reason = Some(source.text());
    // A test of a later version may have cells of any name.
    let name = result.test.name();
    let mut odd = result.metrics[0].clone();
    odd.key = format!("{name}.{}.mb_s", source.text());
    result.metrics.push(odd);
}

fn disturb_target(target: &mut TargetInfo, source: &mut Source) {
    target.path = source.text();
    target.stack.insert(0, source.text());
    let fs = target.file_system.as_mut().unwrap();
    fs.kind = source.text();
    fs.options = source.text();
    fs.source = source.text();
}

fn disturb_drive(drive: &mut Drive, source: &mut Source) {
    drive.name = source.text();
    drive.model = Some(source.text());
    drive.serial = Some(source.text());
    drive.firmware = Some(source.text());
    drive.transport = source.text();
    drive.scheduler = Some(source.text());
    drive.capacity_bytes = source.count();
    drive.temperature_c = Some(source.number());
    drive.health.note = Some(source.text());
    drive.health.power_on_hours = Some(source.count());
    drive.backing = vec![source.text(), source.text()];
    let link = drive.link.as_mut().unwrap();
    link.name = source.text();
    link.possible = Some(source.text());
    for partition in &mut drive.partitions {
        partition.name = source.text();
        partition.start_bytes = source.count();
        partition.size_bytes = source.count();
        partition.misaligned_bytes = source.count();
        partition.content = Some(source.text());
        partition.mounts = vec![source.text(), source.text()];
    }
}

fn disturbed(source: &mut Source) -> Run {
    let mut run = hard_disk();
    run.tests = vec![
        hard_disk_transfer(),
        hard_disk_latency(),
        hard_disk_surface(),
        hard_disk_tiny_writes(),
    ];
    for (result, status) in run.tests.iter_mut().zip([
        TestStatus::Done,
        TestStatus::Failed,
        TestStatus::Interrupted,
        TestStatus::Done,
    ]) {
        result.status = status;
        disturb_result(result, source);
    }
    run.id = source.text();
    run.tool.version = source.text();
    run.started_at = source.text();
    run.elapsed_s = source.number();
    run.label = Some(source.text());
    disturb_target(&mut run.target, source);
    disturb_drive(run.drive.as_mut().unwrap(), source);
    run.host.name = source.text();
    run.host.cpu = source.text();
    run.host.os = source.text();
    if let Some(calibration) = &mut run.calibration {
        calibration.loop_ns_per_io = source.number();
        calibration.loop_iops_max = source.number();
    }
    run.gate[0].check = source.text();
    run.gate[0].evidence = source.text();
    run.plan.suite.name = source.text();
    run.plan.own_folder = Some(source.text());
    run.plan.tests[2].skip = Some(source.text());
    run.plan.tests[3].omitted = vec![source.text()];
    run.plan.tests[0].cost.written_bytes = source.count() / 8;
    run.plan.tests[0].cost.seconds = source.number();
    run.findings = FindingId::ALL.iter().map(|id| Finding::new(*id, source.text())).collect();
    for finding in &mut run.findings {
        finding.name = source.text();
        finding.remedy = source.text();
    }
    run.verdict = judge(&run);
    for verdict in &mut run.verdict {
        verdict.because += &source.text();
    }
    run.verdict[0].suits = source.text();
    run
}

fn outputs(run: &Run, style: Style, source: &mut Source) -> Vec<String> {
    let drive = run.drive.clone().unwrap();
    let row = RunRow {
        id: source.text(),
        started_at: source.text(),
        label: Some(source.text()),
        suite: source.text(),
        drive: Some(source.text()),
        target: source.text(),
        status: TestStatus::Done,
        headline: source.text(),
    };
    let mut one_reason = run.verdict.clone();
    for verdict in &mut one_reason {
        verdict.points = None;
        verdict.because = run.label.clone().unwrap();
    }
    vec![
        text::verdicts(&one_reason, style),
        // A command is whole, however long the path of its store.
        text::run_summary(run, "7c2f01a9be44 --store runs.db", style),
        text::verbose(run, style),
        text::plan(&run.plan, &run.target, style),
        text::dry_run(&run.plan, &run.target, style),
        text::drive_list(&[drive], style),
        text::runs(&[row], 2026, style),
        text::saved(&run.id, " --store runs.db", style),
        text::name_list(&[(source.text(), source.text())], style),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 3))]
    #[test]
    fn no_output_line_is_too_wide(
        texts in proptest::collection::vec(any::<String>(), 1..8),
        long in "[a-zA-Z0-9/_ .-]{0,300}",
        wide in "[\u{4e00}-\u{4fff}é ]{0,120}",
        numbers in proptest::collection::vec(proptest::num::f64::ANY, 1..8),
        usual in proptest::collection::vec(0.0..1e7f64, 1..8),
        columns in 60..=COLUMNS_MAX,
    ) {
        let texts = texts.into_iter().chain([long, wide]).collect();
        let numbers = numbers.into_iter().chain(usual).collect();
        let mut source = Source { texts, numbers, next: 0 };
        let run = disturbed(&mut source);
        for output in outputs(&run, COLOUR.within(columns), &mut source) {
            let output = without_colour(&output);
            prop_assert!(output.is_empty() || output.ends_with('\n'), "{:?}", output);
            prop_assert!(!output.contains("\n\n\n") && !output.starts_with('\n'), "{}", output);
            for line in output.lines() {
                prop_assert!(width(line) <= columns, "{} {:?}", width(line), line);
                prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
                prop_assert_eq!(line.trim_end_matches(' '), line);
            }
        }
    }
}
