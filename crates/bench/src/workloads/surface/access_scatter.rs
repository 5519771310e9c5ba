//! Single accesses, by place and by distance.

use crate::judging::test_record::TestRecord;
use crate::loops::scan::TimedRegion;

/// Access times by place, and by distance from the access before.
#[derive(Default)]
pub(super) struct AccessScatter {
    pub places: Vec<f64>,
    pub place_ms: Vec<f64>,
    pub distance: Vec<f64>,
    pub ms: Vec<f64>,
}

impl AccessScatter {
    pub fn add(&mut self, timed: &[TimedRegion], size: u64) {
        for region in timed {
            if let Some(ns) = region.ns {
                self.places.push(region.offset as f64);
                self.place_ms.push(ns as f64 / 1e6);
            }
        }
        for pair in timed.windows(2) {
            if let Some(ns) = pair[1].ns {
                self.distance.push(pair[0].offset.abs_diff(pair[1].offset) as f64 / size as f64);
                self.ms.push(ns as f64 / 1e6);
            }
        }
    }

    pub fn report(self, record: &mut TestRecord) {
        if !self.ms.is_empty() {
            record.curve("access.lat_ms", ("share", "ms"), self.distance, self.ms);
            let units = ("bytes", "ms");
            record.curve("access.position_lat_ms", units, self.places, self.place_ms);
        }
    }
}
