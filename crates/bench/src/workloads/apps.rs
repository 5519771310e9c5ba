//! `apps`: how much of an application's time is waiting for the drive: traces of applications, replayed.

mod chosen;
mod figures;
pub(crate) mod passes;
mod replay_run;

use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::plan::option_checks::{check_count, ensure};
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::Workload;
use chosen::{PreparedTrace, check_names, choose};
use drivescope_drive::simulated::spec::Spec;
use drivescope_model::options::{AppsOptions, ReplayTiming, Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use figures::TraceFigures;
use replay_run::ReplayRun;

const DEPTH_MAX: u32 = 1024;
/// No user thinks longer.
const THINK_MAX_S: f64 = 86_400.0;

pub struct AppsWorkload;

impl Workload for AppsWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Apps
    }

    fn question(&self) -> &'static str {
        "how long do applications wait for the drive: recorded and synthetic traces"
    }

    fn access(&self) -> &'static str {
        "in a directory: replays traces in a file of its own; on a file or a device: their reads only, on a device \
         also writes where everything on it may be lost (--destroy SERIAL)"
    }

    fn how_to_shorten(&self, suite: &Suite) -> String {
        let cut = match suite.apps.think_max {
            None => "--set apps.think_max=25ms to cut think time, ",
            Some(_) => "",
        };
        format!("use {cut}--set apps.traces=['word'], or fewer --rounds")
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let options = &suite.apps;
        check_names(options)?;
        check_count(options.depth, 1..=DEPTH_MAX, "apps.depth")?;
        ensure(options.think_max.is_none_or(|think| think.0 <= THINK_MAX_S), || {
            "apps.think_max must be at most a day".to_string()
        })?;
        if let Some(model) = &options.predict {
            Spec::parse(model).map_err(|error| format!("apps.predict: {error}"))?;
        }
        Ok(())
    }

    fn apply(&self, overrides: &Overrides, _suite: &mut Suite) -> Result<(), String> {
        // A trace has its own length.
        let is_alone = overrides.tests == [TestKind::Apps.name()];
        ensure(!(is_alone && overrides.time.is_some()), || {
            "--time: a trace has its own length; cut its think time with --set apps.think_max=25ms"
                .to_string()
        })
    }

    fn reads_existing_data(&self) -> bool {
        true
    }

    fn counts_both_directions(&self) -> bool {
        true
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let options = &context.suite.apps;
        let reads_only = reads_only(context);
        let prepared = match choose(options, context.span_bytes) {
            Ok(prepared) => prepared,
            Err(reason) => return context.skipped(self.kind(), reason),
        };
        if prepared.ready.is_empty() {
            return context.skipped(self.kind(), prepared.refused.join("; "));
        }
        let mut test = context.planned(self.kind());
        let writes = prepared.ready.iter().any(PreparedTrace::writes);
        if context.target.kind == TargetKind::Block && writes && !reads_only {
            test.writes = WriteLevel::Destroy;
        }
        let costs = prepared.ready.iter().map(|trace| cost_of(trace, reads_only, context));
        let once = costs.fold(Cost::default(), |sum, cost| sum + cost);
        let rounds = context.suite.rounds;
        let pauses = context.suite.pause.0 * prepared.ready.len() as f64;
        test.cost = Cost {
            seconds: (once.seconds + pauses) * f64::from(rounds),
            read_bytes: once.read_bytes.saturating_mul(rounds.into()),
            written_bytes: once.written_bytes.saturating_mul(rounds.into()),
            computed_s: once.computed_s * f64::from(rounds),
        };
        test.omitted = prepared.refused;
        if writes && reads_only {
            test.omitted.push(format!("reads only: {}", write_refusal(context)));
        }
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        let options = &session.plan.suite.apps;
        let room = session.span_bytes(session.device());
        let prepared = choose(options, room).map_err(BenchError::Unsuitable)?;
        let mut figures: Vec<TraceFigures> = Vec::new();
        let runs = ReplayRun::new(&prepared.ready, session);
        let end = runs.measure(session, record, &mut figures);
        let end = end.and_then(|()| runs.predict(session, record, &mut figures));
        figures::report(record, &figures, options);
        end
    }
}

fn reads_only(context: &PlanContext<'_>) -> bool {
    context.write_refusal(WriteLevel::Destroy).is_some()
}

fn write_refusal(context: &PlanContext<'_>) -> &'static str {
    context.write_refusal(WriteLevel::Destroy).unwrap_or_default()
}

fn cost_of(trace: &PreparedTrace, reads_only: bool, context: &PlanContext<'_>) -> Cost {
    let (totals, options) = (&trace.profile.totals, &context.suite.apps);
    let writes = if reads_only { 0 } else { totals.writes };
    let written_bytes = if reads_only { 0 } else { totals.written_bytes };
    let (requests, bytes) = (totals.reads + writes, totals.read_bytes + written_bytes);
    let mean = bytes / requests.max(1);
    let busy_s = bytes as f64 / context.typical.rate(true, mean.max(1), 2).max(1.0);
    let think_s = trace.profile.think_ns as f64 / 1e9;
    let length_s = (trace.profile.length_ns - trace.profile.cut_ns) as f64 / 1e9;
    let seconds = match trace.timing(options) {
        ReplayTiming::Asap => busy_s,
        ReplayTiming::Deadlines => length_s.max(busy_s),
        _ => think_s + busy_s,
    };
    let computed_s = context.computed_s((requests + totals.flushes) as f64);
    Cost { seconds, read_bytes: totals.read_bytes, written_bytes, computed_s }
}

fn keeps_think_time(options: &AppsOptions) -> bool {
    options.think_max.is_none() && options.timing != ReplayTiming::Asap
}

#[cfg(test)]
mod tests;
