//! The names of fio's options, and what a run does with each.

use drivescope_model::nearest::nearest;

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionFate {
    /// It becomes part of the plan.
    Read,
    /// It changes what fio prints or logs, not what it measures.
    OutputOnly,
    /// drivescope has a way of its own, which is the same load.
    OwnWay,
    /// Refused for this reason, unless it has one of fio's plain values.
    Refused(&'static str, &'static [&'static str]),
    /// No general option of fio; perhaps one of an engine.
    Unknown,
}

use OptionFate::{OutputOnly, OwnWay, Read, Refused};

const OFF: &[&str] = &["0", "none"];
const NO_EQUAL: &str = "has no equal here";

/// By fate: names separated by blanks, with their aliases after a `/`.
const NAMES: &[(OptionFate, &str)] = &[
    (
        Read,
        "rw/readwrite bs/blocksize bsrange/blocksize_range bssplit iodepth numjobs size io_size/io_limit filesize \
         offset/fileoffset offset_increment runtime/timeout time_based ramp_time direct buffered rwmixread rwmixwrite \
         fsync fdatasync end_fsync fsync_on_close stonewall/wait_for_previous ioengine filename directory loops \
         kb_base rate rate_iops rate_process io_submit_mode thinktime",
    ),
    (
        OutputOnly,
        "name description group_reporting new_group write_bw_log write_lat_log write_iops_log write_hist_log \
         write_iolog per_job_logs log_entries log_avg_msec log_window_value log_hist_msec log_hist_coarseness \
         log_max_value log_offset log_prio log_issue_time log_compression log_compression_cpus log_store_compressed \
         log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id bwavgtime iopsavgtime clat_percentiles \
         lat_percentiles slat_percentiles percentile_list significant_figures disk_util gtod_reduce disable_lat \
         disable_clat disable_slat disable_bw_measurement/disable_bw unified_rw_reporting block_error_percentiles \
         stats unit_base error_dump clocksource",
    ),
    (
        OwnWay,
        "norandommap softrandommap randrepeat allrandrepeat randseed random_generator refill_buffers \
         scramble_buffers invalidate create_serialize create_on_open create_fsync fallocate overwrite unlink \
         unlink_each_loop allow_file_create allow_mounted_write file_service_type openfiles unique_filename \
         thread/threads mem/iomem lockfile fadvise_hint registerfiles fixedbufs nonvectored userspace_reap",
    ),
    (Refused("names several files; a cell has one", &["1"]), "nrfiles/nr_files"),
    (
        Refused("checks data; --test verify does", &["0", "none", "null"]),
        "verify do_verify verify_only",
    ),
    (Refused("keeps a processor busy; a thread that thinks here sleeps", OFF), "thinktime_spin"),
    (
        Refused("pauses after several requests; a cell does so after each", &["1"]),
        "thinktime_blocks",
    ),
    (
        Refused("counts requests in flight, of which there is one", &["complete", "issue"]),
        "thinktime_blocks_type",
    ),
    (
        Refused("opens the file with O_SYNC; a cell flushes each write (fsync=1)", OFF),
        "sync write_barrier sync_file_range",
    ),
    (
        Refused("chooses places by another law; a cell has uniformly random ones", &["random"]),
        "random_distribution",
    ),
    (
        Refused("mixes random with sequential places; a cell has one order", &["100"]),
        "percentage_random",
    ),
    (
        Refused("chooses the data; drivescope writes random bytes, which do not compress", OFF),
        "zero_buffers buffer_compress_percentage buffer_compress_chunk buffer_pattern dedupe_percentage dedupe_mode \
         dedupe_working_set_percentage dedupe_global",
    ),
    (
        Refused("lets the queue run empty; a cell keeps its depth", &["1"]),
        "iodepth_batch/iodepth_batch_submit iodepth_batch_complete_min/iodepth_batch_complete \
         iodepth_batch_complete_max iodepth_low",
    ),
    (
        Refused("replays a trace; use drivescope trace replay", &[]),
        "read_iolog read_iolog_chunked replay_no_stall replay_redirect replay_scale replay_align replay_time_scale \
         replay_skip merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters",
    ),
    (
        Refused("seeks a depth by its latency; cells have fixed depths", OFF),
        "latency_target latency_window latency_percentile latency_run max_latency",
    ),
    (
        Refused("ends with the steady state; use --test steady", &[]),
        "steadystate/ss steadystate_duration/ss_dur steadystate_ramp_time/ss_ramp steadystate_check_interval",
    ),
    (
        Refused("runs at the same time as other jobs; cells run one after the other", OFF),
        "startdelay flow flow_id flow_sleep flow_watermark",
    ),
    (Refused(NO_EQUAL, OFF), PLAIN_OFF),
    (Refused(NO_EQUAL, &["none", "strided"]), "zonemode"),
    (Refused(NO_EQUAL, &[]), OTHERS),
];

/// Options without an equal, which may be off.
const PLAIN_OFF: &str = "file_append fill_device bs_unaligned pre_read lockmem atomic rate_min/ratemin rate_iops_min \
     rate_ignore_thinktime rate_cycle trim_percentage trim_verify_zero trim_backlog trim_backlog_batch hipri nowait \
     sqthread_poll force_async uncached serialize_overlap read_beyond_wp ignore_zone_limits create_only \
     exitall exitall_on_error gtod_cpu nice prio number_ios continue_on_error experimental_verify zoneskip \
     cmdprio cmdprio_class cmdprio_percentage";

/// Options without an equal.
const OTHERS: &str = "wait_for filename_format opendir ba/blockalign ignore_error rw_sequencer \
     offset_align verify_interval verify_offset verify_pattern verify_fatal verify_dump verify_async verify_backlog \
     verify_backlog_batch verify_state_load verify_state_save exec_prerun exec_postrun ioscheduler zonesize \
     zonecapacity zonerange max_open_zones job_max_open_zones zone_reset_threshold zone_reset_frequency \
     prioclass thinktime_iotime write_hint cpumask cpus_allowed \
     cpus_allowed_policy numa_cpu_nodes numa_mem_policy exit_what profile cgroup cgroup_nodelete cgroup_weight uid \
     gid hugepage-size sqthread_poll_cpu cmd_type cmdprio_bssplit \
     hostname port";

/// Every name, the option's own name, and its fate.
fn known() -> impl Iterator<Item = (&'static str, &'static str, OptionFate)> {
    let words = |(fate, names): &(OptionFate, &'static str)| {
        let fate = *fate;
        names.split_whitespace().map(move |names| (names, fate))
    };
    NAMES.iter().flat_map(words).flat_map(|(names, fate)| {
        let own = names.split('/').next().unwrap_or(names);
        names.split('/').map(move |name| (name, own, fate))
    })
}

/// The option's own name and fate.
pub(super) fn find(name: &str) -> (&str, OptionFate) {
    let found = known().find(|(known, ..)| *known == name);
    found.map_or((name, OptionFate::Unknown), |(_, own, fate)| (own, fate))
}

/// Why an unknown option is refused, with the one that was probably meant.
pub(super) fn unknown(name: &str) -> String {
    let meant = nearest(name, known().map(|(known, ..)| known));
    let hint = meant.map(|meant| format!(" (did you mean '{meant}'?)")).unwrap_or_default();
    format!("is not an option that drivescope knows{hint}; remove it, or run the job with fio")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_has_one_fate() {
        let words = NAMES.iter().flat_map(|(_, names)| names.split([' ', '/']));
        let all: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert_eq!(find("blocksize"), ("bs", Read));
        assert_eq!(find("disable_bw"), ("disable_bw_measurement", OutputOnly));
        assert!(matches!(find("nr_files"), ("nrfiles", Refused(..))));
        assert_eq!(find("runetime"), ("runetime", OptionFate::Unknown));
        assert!(unknown("runetime").contains("did you mean 'runtime'?"));
    }
}
