//! The histograms of latency that a document carries.

use base64::Engine as _;
use drivescope_model::document::Distribution;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

pub(crate) const ENCODING: &str = "hdr-v2-deflate-base64";

/// Latencies in nanoseconds. `None` for another encoding, damaged data, or no requests.
pub(crate) fn histogram(distribution: &Distribution) -> Option<Histogram<u64>> {
    if distribution.encoding != ENCODING {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(&distribution.data).ok()?;
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
    (!histogram.is_empty()).then_some(histogram)
}
