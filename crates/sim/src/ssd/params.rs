//! The description of an SSD: physical parameters only, checked before a drive is built from them.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdParams {
    /// Bytes the host can address; a multiple of the mapping unit.
    pub capacity_bytes: u64,
    /// Logical sector: smallest unit of offsets and lengths.
    pub sector_bytes: u32,
    /// Bytes per entry of the logical-to-physical map; writes of less are read-modify-write.
    pub mapping_unit_bytes: u32,
    /// Flash beyond the capacity, as a share of the capacity (α − 1), without the static SLC blocks.
    pub spare_share: f64,
    /// Firmware and processors.
    pub controller: ControllerParams,
    /// The drive's own end of the host link, which moves pages as they arrive from the flash. Absent in a
    /// model: as fast as the link. Without any, data take no time.
    pub port: Option<PortParams>,
    /// Memory for the map.
    pub map: MapParams,
    /// Write buffer.
    pub buffer: BufferParams,
    /// Flash memory.
    pub flash: FlashParams,
    /// Cache of blocks written with one bit per cell; absent: none.
    pub slc: Option<SlcParams>,
    /// Heating and throttling; absent: the drive never throttles.
    pub thermal: Option<ThermalParams>,
}

/// Firmware and processors of the controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerParams {
    /// Commands in progress at once; more wait in order of arrival.
    pub queue_depth: u32,
    /// From the arrival of a read to the start of its first flash read.
    pub read_command_us: f64,
    /// From the arrival of a write to the start of its data transfer.
    pub write_command_us: f64,
    /// Time between two commands that the firmware can start; its inverse is the highest command rate.
    pub command_interval_us: f64,
    /// A TRIM of any length.
    pub trim_command_us: f64,
    /// Additional time of a TRIM for each GiB.
    pub trim_us_per_gib: f64,
    /// Data fetched ahead of a sequential reader; 0: none.
    pub read_ahead_kib: u32,
}

/// The drive's end of the link: the only place where data take time on it. A model's port runs no faster
/// than the payload of its `[link]`, which has the times of commands on the host's side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortParams {
    /// Payload rate towards the host, after encoding and framing.
    pub read_mb_s: f64,
    /// Payload rate from the host; less than towards it where the drive must ask for each frame (SATA).
    pub write_mb_s: f64,
    /// Time on the link for each command besides its data.
    pub command_us: f64,
    /// Both directions at once (PCIe) instead of one at a time (SATA).
    pub full_duplex: bool,
}

/// Memory that holds the map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapParams {
    /// Map entries (4 bytes each) kept in DRAM, SRAM or host memory; a read beyond pays a flash read.
    pub cache_mib: f64,
}

/// Write buffer and flush.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferParams {
    /// Data accepted from the host and not yet in the flash; at least two rows of pages over all dies.
    pub size_kib: u32,
    /// Capacitors save the buffer when power fails, so that a flush has nothing to do.
    pub power_loss_protection: bool,
    /// Writing the map journal that ends a flush, after the data are in the flash.
    pub flush_commit_us: f64,
    /// A write of part of a mapping unit is acknowledged only after the rest of the unit has been read.
    pub merge_before_ack: bool,
}

/// Flash memory: geometry and times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashParams {
    /// Buses between controller and flash.
    pub channels: u32,
    /// Dies on each channel; each die does one thing at a time.
    pub dies_per_channel: u32,
    /// Planes of a die, which read, program and erase together.
    pub planes_per_die: u32,
    /// Page of one plane.
    pub page_kib: u32,
    /// Pages of a block, all levels counted; a multiple of the bits per cell.
    pub pages_per_block: u32,
    /// Bits per cell: 1 SLC, 2 MLC, 3 TLC, 4 QLC. All pages of a row of cells are programmed at once.
    pub bits_per_cell: u32,
    /// Payload rate of one channel.
    pub channel_mb_s: f64,
    /// Page read time of each level, lowest page first; one value per bit.
    pub read_us: Vec<f64>,
    /// Programming all levels of a row of cells, all planes of a die together.
    pub program_us: f64,
    /// Erasing a block, all planes of a die together.
    pub erase_us: f64,
    /// Page read time in blocks used with one bit per cell.
    pub slc_read_us: f64,
    /// Program time in blocks used with one bit per cell.
    pub slc_program_us: f64,
    /// The wait of a read that interrupts a program or erase; absent: it waits for the end.
    pub suspend_us: Option<f64>,
    /// Share of page reads that must be repeated with shifted voltages.
    pub retry_share: f64,
    /// The time that such a repetition adds.
    pub retry_us: f64,
}

/// Cache of blocks written with one bit per cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlcParams {
    /// Data held by blocks that serve only as cache.
    pub static_gb: f64,
    /// Most data held by ordinary free blocks used with one bit per cell.
    pub dynamic_max_gb: f64,
    /// Share of the blocks without live data that the dynamic part may use.
    pub dynamic_free_share: f64,
    /// Idle time after which the cache is folded into ordinary blocks.
    pub idle_before_fold_ms: f64,
}

/// Heating and throttling: temperature is a first-order lag of the power.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThermalParams {
    /// Temperature of the surroundings.
    pub ambient_c: f64,
    /// Power with nothing to do.
    pub idle_w: f64,
    /// Energy of reading a GB (10^9 bytes).
    pub read_j_per_gb: f64,
    /// Energy of writing a GB (10^9 bytes).
    pub write_j_per_gb: f64,
    /// Rise of the temperature for each watt, in the long run.
    pub resistance_c_per_w: f64,
    /// Time in which 63 % of a change is reached.
    pub time_constant_s: f64,
    /// Temperature at which throttling begins.
    pub throttle_start_c: f64,
    /// Temperature at which it ends.
    pub throttle_stop_c: f64,
    /// Speed while throttling, as a share of full speed.
    pub throttle_factor: f64,
}
