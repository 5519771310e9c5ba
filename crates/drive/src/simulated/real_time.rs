//! Simulated drives for real time: what a served drive can be, and what only exists in virtual time.

use super::spec::{Spec, SpecError};
use drivescope_sim::device::SimDevice;
use drivescope_sim::host::HostParams;

impl Spec {
    /// The drive, powered on, to be served in real time.
    /// Errors: a state that no drive can be in, or one that only exists in virtual time.
    pub fn build_for_real_time(&self) -> Result<Box<dyn SimDevice + Send>, SpecError> {
        let refuse = |what: &str, why: &str| Err(SpecError::Wrong(format!("{what}: {why}")));
        if self.fake.is_some_and(|fake| fake.cache_bytes > 0) {
            return refuse(
                "the cache of fake= works in virtual time only",
                "the contents of a served drive are a plain file; leave it out",
            );
        }
        if self.path.page_cache {
            return refuse(
                "fault=page-cache works in virtual time only",
                "a served drive is below this machine's own page cache; leave it out and use buffered I/O",
            );
        }
        if !self.partitions.is_empty() {
            return refuse(
                "partition= works in virtual time only",
                "a served drive takes a real partition table; leave it out and use sfdisk on the drive",
            );
        }
        if self.host != HostParams::default() {
            return refuse(
                "host= works in virtual time only",
                "a served drive has this machine above it; leave it out",
            );
        }
        if self.smart.is_some() {
            return refuse(
                "smart= works in virtual time only",
                "a loop device has no SMART; leave it out",
            );
        }
        Ok(Box::new(self.build_drive(&self.start)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_real_time_option_is_refused_by_name() {
        for (option, words) in [
            ("fake=wrap:1GiB:1MiB", "the cache of fake= works in virtual time only"),
            ("fault=page-cache", "own page cache"),
            ("partition=63,2048", "sfdisk"),
            ("host=laptop-2015", "this machine above it"),
        ] {
            let spec = Spec::parse(&format!("wd40efrx?{option}")).unwrap();
            let error = spec.build_for_real_time().err().unwrap().to_string();
            assert!(error.contains(words) && error.contains("leave it out"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
        let spec = Spec::parse("wd40efrx?seed=7&fault=flush-lies,slow-link").unwrap();
        assert_eq!(spec.build_for_real_time().unwrap().capacity_bytes(), 4_000_787_030_016);
    }
}
