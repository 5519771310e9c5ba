//! Random SSDs of which everything is known.

use crate::io::draw::Draw;

/// An SSD: its model as a file has it, and what is true of it.
pub struct RandomFlash {
    pub toml: String,
    /// Bytes of the fast cache of an empty drive.
    pub slc_bytes: f64,
    /// Bytes whose map entries are in memory, if not all are.
    pub map_bytes: Option<f64>,
    /// Unit of the map, and whether a write of less waits for the rest.
    pub unit_bytes: f64,
    pub merges_first: bool,
    pub buffer_bytes: f64,
    /// Whether flushes have nothing to do.
    pub is_protected: bool,
    /// What a flush does at the end.
    pub commit_us: f64,
}

impl RandomFlash {
    pub fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed ^ 0x5D);
        let mut between = |low: f64, high: f64| low + (high - low) * draw.share();
        let capacity = (between(48.0, 96.0) * 1e9) as u64 / 16_384 * 16_384;
        let static_gb = between(0.0, 4.0);
        let dynamic_gb = between(2.0, capacity as f64 / 1e9 / 8.0);
        let slc_program_us = between(250.0, 500.0);
        let (read, commit) = (between(40.0, 70.0), between(300.0, 3_000.0));
        let channels = 2 << (between(0.0, 2.999) as u32);
        let dies_per_channel = 1 + between(0.0, 1.999) as u32;
        // Slower than the port, or the end of the cache would not show.
        let dies = f64::from(channels * dies_per_channel);
        let program_us = between(1_800.0, 3_500.0).max(dies * 98_304.0 / 280.0);
        let small_map = between(0.0, 1.0) < 0.5;
        let reach_mib = if small_map { between(4.0, 24.0) } else { 1024.0 };
        let power_loss_protection = between(0.0, 1.0) < 0.25;
        let unit = 4096 << (between(0.0, 2.999) as u32);
        let map_mib = reach_mib * 4096.0 / f64::from(unit);
        let merges_first = between(0.0, 1.0) < 0.75;
        let buffer_kib = 1024 * between(8.0, 32.0) as u32;
        let toml = format!(
            "name = \"flash-{seed}\"\nsummary = \"random\"\nkind = \"ssd\"\n[identity]\nmodel = \"FLASH {seed}\"\n\
             serial = \"F{seed}\"\nfirmware = \"1\"\nreported_logical_sector_bytes = 512\n\
             reported_physical_sector_bytes = 512\n[link]\npreset = \"sata-6g\"\n[ssd]\ncapacity_bytes = {capacity}\n\
             sector_bytes = 512\nmapping_unit_bytes = {unit}\nspare_share = 0.08\n[ssd.controller]\nqueue_depth = 32\n\
             read_command_us = 15\nwrite_command_us = 15\ncommand_interval_us = 3\ntrim_command_us = 60\n\
             trim_us_per_gib = 150\nread_ahead_kib = 512\n[ssd.port]\nread_mb_s = 550\nwrite_mb_s = 520\n\
             command_us = 3\nfull_duplex = false\n[ssd.map]\ncache_mib = {map_mib}\n[ssd.buffer]\n\
             size_kib = {buffer_kib}\npower_loss_protection = {power_loss_protection}\n\
             flush_commit_us = {commit}\nmerge_before_ack = {merges_first}\n\
             [ssd.flash]\nchannels = {channels}\n\
             dies_per_channel = {dies_per_channel}\nplanes_per_die = 2\n\
             page_kib = 16\npages_per_block = 384\nbits_per_cell = 3\nchannel_mb_s = 800\n\
             read_us = [{read}, {read}, {read}]\n\
             program_us = {program_us}\nerase_us = 3500\nslc_read_us = {read}\nslc_program_us = {slc_program_us}\n\
             suspend_us = 24\nretry_share = 0.0005\nretry_us = 150\n[ssd.slc]\nstatic_gb = {static_gb}\n\
             dynamic_max_gb = {dynamic_gb}\ndynamic_free_share = 0.5\nidle_before_fold_ms = 2000\n"
        );
        Self {
            toml,
            slc_bytes: (static_gb + dynamic_gb) * 1e9,
            // 4 bytes for each unit.
            map_bytes: small_map.then_some(map_mib * f64::from(1 << 20) / 4.0 * f64::from(unit)),
            unit_bytes: f64::from(unit),
            merges_first,
            buffer_bytes: f64::from(buffer_kib) * 1024.0,
            is_protected: power_loss_protection,
            commit_us: commit,
        }
    }
}
