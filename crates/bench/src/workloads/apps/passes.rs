//! Passes of traces for a workload that replays them again and again: the traces that the options of `apps` choose,
//! one after the other, with their sums.

use super::chosen::{PreparedTrace, PreparedTraces, choose};
use super::replay_run::ReplayRun;
use super::{cost_of, reads_only};
use crate::error::BenchError;
use crate::io::recorder::latency_histogram;
use crate::judging::test_record::TestRecord;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use drivescope_model::options::Suite;
use drivescope_model::plan::Cost;
use hdrhistogram::Histogram;

#[derive(Debug, Clone)]
pub(crate) struct TracePasses(PreparedTraces);

#[derive(Debug, Clone)]
pub(crate) struct PassSum {
    /// Read and written.
    pub bytes: u64,
    pub written_bytes: u64,
    /// Time with at least one request in flight.
    pub busy_ns: u64,
    pub latencies: Histogram<u64>,
    /// Each trace, by its name in keys, with its part of the busy time.
    pub traces: Vec<(String, u64)>,
}

impl PassSum {
    pub fn busy_mb_s(&self) -> f64 {
        self.bytes as f64 / 1e6 / (self.busy_ns as f64 / 1e9).max(1e-9)
    }
}

impl TracePasses {
    /// The traces for a target of `room` bytes. Errors: none of them can be replayed there.
    pub fn choose(suite: &Suite, room: u64) -> Result<Self, String> {
        let prepared = choose(&suite.apps, room)?;
        if prepared.ready.is_empty() {
            Err(prepared.refused.join("; "))
        } else {
            Ok(Self(prepared))
        }
    }

    pub fn refused(&self) -> &[String] {
        &self.0.refused
    }

    pub fn cost(&self, context: &PlanContext<'_>) -> Cost {
        let cost = |trace: &PreparedTrace| cost_of(trace, reads_only(context), context);
        self.0.ready.iter().map(cost).fold(Cost::default(), |sum, cost| sum + cost)
    }

    pub fn replay(
        &self,
        session: &mut Session<'_>,
        number: u32,
        record: &mut TestRecord,
    ) -> Result<PassSum, BenchError> {
        let mut sum = PassSum {
            bytes: 0,
            written_bytes: 0,
            busy_ns: 0,
            latencies: latency_histogram(),
            traces: Vec::new(),
        };
        let runs = ReplayRun::new(&self.0.ready, session);
        for trace in &self.0.ready {
            let pass = session.next_pass();
            let outcome = runs.one(session, trace, (number, pass), record)?;
            let [_, written] = outcome.moved;
            sum.bytes += outcome.recorder.bytes;
            sum.written_bytes += written;
            sum.busy_ns += outcome.busy_ns;
            sum.traces.push((trace.cell.clone(), outcome.busy_ns));
            let added = sum.latencies.add(&outcome.recorder.latencies);
            added.expect("all histograms have the same bounds");
            session.free_replaced_blocks()?;
        }
        Ok(sum)
    }
}
