//! The machine a run took place on, and what the tool itself costs there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Operating system, as `/etc/os-release` names it.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Processors online.
    pub cpus: u32,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Whether the machine runs on battery; `null` if no power supply says so.
    pub on_battery: Option<bool>,
    /// Total memory, the most the page cache can hold.
    pub memory_bytes: u64,
    /// Hypervisor or container, when one is seen.
    pub virtualization: Option<String>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
}

/// What the program itself costs on this machine, measured at the start of every run on a target that answers at
/// once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Processor time of the whole measuring loop per request, on a target that answers at once.
    pub loop_ns_per_io: f64,
    /// Requests per second of one thread on that target; no measured rate can exceed it.
    pub loop_iops_max: f64,
    /// Time to read the clock once.
    pub clock_ns: f64,
    /// Fresh test data that one core generates.
    pub generator_mb_s: f64,
    /// Memory-to-memory copy rate of one core.
    pub memory_copy_mb_s: f64,
}
