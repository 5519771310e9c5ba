//! Options of the `latency` test.

use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How requests of an open loop arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// At equal intervals.
    Fixed,
    /// At exponentially distributed intervals, like the requests of independent users.
    Poisson,
}

/// Rate of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a rate is a number of requests per second, or { percent = 50 }")]
pub enum Rate {
    /// Requests per second.
    Iops(f64),
    /// Share of what the drive did at depth 1 over the whole span just before.
    Share {
        /// Percent of the measured rate.
        percent: f64,
    },
}

/// Options of the `latency` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LatencyOptions {
    /// Bytes per request.
    pub block: Bytes,
    /// Spans in percent of the target, each from its start.
    pub spans_pct: Vec<f64>,
    /// How the requests of open loops arrive.
    pub arrivals: Arrivals,
    /// Rates of the open loops: requests per second, or a share of the rate just measured. Empty means none are run.
    pub rates: Vec<Rate>,
    /// Measured time of one round of one span or rate.
    pub time: Secs,
    /// Load before the measured time, not counted.
    pub ramp: Secs,
}

impl Default for LatencyOptions {
    fn default() -> Self {
        Self {
            block: Bytes::kib(4),
            spans_pct: vec![100.0, 12.5, 1.0],
            arrivals: Arrivals::Poisson,
            rates: vec![Rate::Share { percent: 50.0 }],
            time: Secs(5.0),
            ramp: Secs(0.1),
        }
    }
}
