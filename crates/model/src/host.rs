//! The machine a run took place on, and what the tool itself costs there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host.
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
    /// Whether the machine runs on battery.
    pub on_battery: Option<bool>,
    /// Memory in all.
    pub memory_bytes: u64,
    /// Hypervisor or container, when one is seen.
    pub virtualization: Option<String>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
}

/// The tool's own cost on this host, measured at the start of the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// The whole measuring loop per I/O on a target that answers at once, in ns.
    pub loop_ns_per_io: f64,
    /// Requests per second of one thread on that target: no measured rate can exceed it.
    pub loop_iops_max: f64,
    /// One reading of the clock, in ns.
    pub clock_ns: f64,
    /// Fresh test data per second and core, in MB/s.
    pub generator_mb_s: f64,
    /// Copying memory to memory on one core, in MB/s.
    pub memory_copy_mb_s: f64,
}
