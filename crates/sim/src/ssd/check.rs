//! Checks for impossible parameters.

use super::geometry::Geometry;
use super::params::{FlashParams, SlcParams, SsdParams, ThermalParams};
use crate::numbers::plain;
use crate::param_problem::{ParamProblem, Problems};
use crate::ranges::{Range, check};

/// Ten seconds: no operation of a drive takes longer, and sums of such times stay far from overflow.
const TIME_MAX_US: f64 = 1e7;
/// Shorter than any access to a cell of flash, which takes microseconds.
const CELL_TIME_MIN_US: f64 = 0.1;
/// Slower than any link or flash bus.
const RATE_MIN_MB_S: f64 = 0.01;
/// Faster than any link or flash bus.
const RATE_MAX_MB_S: f64 = 1e6;
/// Most read-ahead: larger than any drive's memory for it.
const READ_AHEAD_MAX_KIB: u32 = 65_536;

pub(super) const RANGES: &[Range] = &[
    (&["map.cache_mib"], 0.001, 1e6, "MiB"),
    (&["controller.read_command_us", "controller.write_command_us"], 0.0, TIME_MAX_US, "µs"),
    (&["controller.command_interval_us"], 0.0, TIME_MAX_US, "µs"),
    (&["controller.trim_command_us", "controller.trim_us_per_gib"], 0.0, TIME_MAX_US, "µs"),
    (&["port.read_mb_s", "port.write_mb_s"], RATE_MIN_MB_S, RATE_MAX_MB_S, "MB/s"),
    (&["port.command_us"], 0.0, TIME_MAX_US, "µs"),
    (&["buffer.flush_commit_us"], 0.0, TIME_MAX_US, "µs"),
    (&["flash.channel_mb_s"], RATE_MIN_MB_S, RATE_MAX_MB_S, "MB/s"),
    (&["flash.read_us", "flash.program_us", "flash.erase_us"], CELL_TIME_MIN_US, TIME_MAX_US, "µs"),
    (&["flash.slc_read_us", "flash.slc_program_us"], 0.0, TIME_MAX_US, "µs"),
    (&["flash.suspend_us", "flash.retry_us"], 0.0, TIME_MAX_US, "µs"),
    (&["flash.retry_share", "slc.dynamic_free_share"], 0.0, 1.0, ""),
    (&["slc.idle_before_fold_ms"], 0.0, TIME_MAX_US, "ms"),
    (&["thermal.ambient_c"], -273.0, 1000.0, "°C"),
    (&["thermal.throttle_start_c", "thermal.throttle_stop_c"], -273.0, 1000.0, "°C"),
    (&["thermal.idle_w"], 0.0, 1e4, "W"),
    (&["thermal.read_j_per_gb", "thermal.write_j_per_gb"], 0.0, 1e6, "J"),
    (&["thermal.resistance_c_per_w"], 0.001, 1e4, "°C per watt"),
    (&["thermal.time_constant_s"], 0.001, 1e6, "s"),
    (&["thermal.throttle_factor"], 0.001, 1.0, ""),
];

/// Of a drive with an SLC cache.
const SLC_TIMES: &[Range] =
    &[(&["flash.slc_read_us", "flash.slc_program_us"], CELL_TIME_MIN_US, TIME_MAX_US, "µs")];

impl SsdParams {
    /// The impossible parameters; empty for a drive that [`Ssd::new`](super::Ssd::new) accepts.
    pub fn validate(&self) -> Vec<ParamProblem> {
        let mut problems = Problems::default();
        problems.range("capacity_bytes", self.capacity_bytes as f64, (1.0, 1e18), "bytes");
        if !problems.is_empty() {
            return problems.0;
        }
        self.check_sizes(&mut problems);
        check("", self, RANGES, &mut problems);
        check_flash(&self.flash, &mut problems);
        if let Some(slc) = &self.slc {
            self.check_slc(slc, &mut problems);
        }
        if let Some(thermal) = &self.thermal {
            check_thermal(thermal, &mut problems);
        }
        if problems.is_empty() {
            self.check_together(&mut problems);
        }
        problems.0
    }

    fn check_sizes(&self, problems: &mut Problems) {
        let unit = self.mapping_unit_bytes;
        problems.unless(
            matches!(self.sector_bytes, 512 | 4096),
            "sector_bytes",
            "must be 512 or 4096",
        );
        problems.unless(
            unit.is_power_of_two() && (4096..=1 << 20).contains(&unit),
            "mapping_unit_bytes",
            "must be a power of two from 4096 to 1048576",
        );
        problems.unless(
            unit == 0 || self.capacity_bytes.is_multiple_of(u64::from(unit)),
            "capacity_bytes",
            "must be a multiple of mapping_unit_bytes",
        );
        problems.unless(
            self.spare_share > 0.0 && self.spare_share <= 10.0,
            "spare_share",
            "must be above 0 and at most 10",
        );
        problems.unless(
            self.controller.queue_depth > 0,
            "controller.queue_depth",
            "must be at least 1",
        );
        problems.unless(
            self.controller.read_ahead_kib <= READ_AHEAD_MAX_KIB,
            "controller.read_ahead_kib",
            "must be at most 65536",
        );
    }

    fn check_slc(&self, slc: &SlcParams, problems: &mut Problems) {
        let capacity_gb = self.capacity_bytes as f64 / 1e9;
        for (field, value_gb) in
            [("slc.static_gb", slc.static_gb), ("slc.dynamic_max_gb", slc.dynamic_max_gb)]
        {
            if !(0.0..=capacity_gb).contains(&value_gb) {
                let (is, most) = (plain(value_gb), plain(capacity_gb));
                problems.add(field, format!("is {is}; give 0 to the capacity, {most} GB"));
            }
        }
        check("", self, SLC_TIMES, problems);
        problems.unless(
            self.flash.bits_per_cell > 1,
            "slc",
            "needs flash.bits_per_cell above 1; leave the table out for SLC flash",
        );
    }

    fn check_together(&self, problems: &mut Problems) {
        match Geometry::new(self) {
            Ok(geometry) => {
                let row_kib = u64::from(geometry.row_units(false)) * geometry.unit_bytes / 1024;
                if u64::from(self.buffer.size_kib) < 2 * row_kib {
                    problems.add(
                        "buffer.size_kib",
                        format!("must hold two rows of pages over all dies, {} KiB", 2 * row_kib),
                    );
                }
            }
            Err(problem) => problems.0.push(problem),
        }
        let stripe = self.flash.planes_per_die * self.flash.page_kib * 1024;
        problems.unless(
            stripe.is_multiple_of(self.mapping_unit_bytes),
            "mapping_unit_bytes",
            "must divide planes_per_die × page_kib",
        );
    }
}

fn check_thermal(thermal: &ThermalParams, problems: &mut Problems) {
    let idle_c = thermal.ambient_c + thermal.idle_w * thermal.resistance_c_per_w;
    problems.unless(
        thermal.throttle_stop_c < thermal.throttle_start_c,
        "thermal.throttle_stop_c",
        "must be below throttle_start_c",
    );
    problems.unless(
        idle_c < thermal.throttle_stop_c,
        "thermal.throttle_stop_c",
        "is not above the idle temperature, so that throttling would never end",
    );
}

fn check_flash(flash: &FlashParams, problems: &mut Problems) {
    for (field, value, most) in [
        ("flash.channels", flash.channels, 64),
        ("flash.dies_per_channel", flash.dies_per_channel, 64),
        ("flash.planes_per_die", flash.planes_per_die, 16),
        ("flash.page_kib", flash.page_kib, 64),
        ("flash.pages_per_block", flash.pages_per_block, 65_536),
        ("flash.bits_per_cell", flash.bits_per_cell, 5),
    ] {
        if value == 0 || value > most {
            problems.add(field, format!("is {value}; must be from 1 to {most}"));
        }
    }
    problems.unless(
        flash.bits_per_cell > 0 && flash.pages_per_block.is_multiple_of(flash.bits_per_cell),
        "flash.pages_per_block",
        "must be a multiple of bits_per_cell",
    );
    problems.unless(
        flash.read_us.len() == flash.bits_per_cell as usize,
        "flash.read_us",
        "must have one value for each of bits_per_cell, lowest page first",
    );
}
