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
    /// Tasks that ran or waited, on average over 1, 5 and 15 minutes before the run (`/proc/loadavg`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load: Vec<f64>,
    /// Microcode of the first processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// What the kernel does about each weakness of the processor, which makes system calls dearer: `meltdown: Not
    /// affected`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mitigations: Vec<String>,
    /// NUMA nodes with memory or processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_nodes: Option<u32>,
    /// Processors on which the program may run, as the kernel lists them: `0-3,6`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus_allowed: Option<String>,
    /// NUMA nodes from which it may take memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_nodes_allowed: Option<String>,
    /// Limits of its control group and of those above it: folder, file and content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cgroup_limits: Vec<String>,
    /// The kernel's policy for the power states of PCIe links (`pcie_aspm`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_power_policy: Option<String>,
}

/// What the program itself costs on this machine, measured on a target that answers at once before a run on a real
/// one.
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
