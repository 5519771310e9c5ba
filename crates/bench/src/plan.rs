//! Before a run: what the command line asks for, how fast the target may be, what the options allow.

pub mod expected_speed;
pub mod fio_job;
pub mod option_checks;
pub mod overrides;
pub mod plan_context;
pub(crate) mod round_volume;
pub(crate) mod slow_drive;
pub mod speed_trial;
pub(crate) mod time_limit;
pub mod together_trial;
pub(crate) mod unused_options;
