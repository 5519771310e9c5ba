//! How much longer than planned a test may take on a slow drive. A busy machine delays short tests, too.

const TIMES_MAX: f64 = 2.0;
const DELAY_MAX_S: f64 = 20.0;

/// The longest time for work that was planned to take `planned_s`.
pub(crate) fn time_limit_s(planned_s: f64) -> f64 {
    (planned_s * TIMES_MAX).max(planned_s + DELAY_MAX_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limit_allows_seconds_or_twice_the_plan() {
        assert_eq!([1.0, 20.0, 100.0].map(time_limit_s), [21.0, 40.0, 200.0]);
    }
}
