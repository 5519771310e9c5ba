//! Does a figure agree with a published one.

use drivescope_model::reproduction::Published;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Comparison {
    /// `=`, `~`, `min`, `max`, `ratio`: this value, within the tolerance. The formulas have the extremes and ratios.
    Near(f64),
    /// `<`: below it.
    Below(f64),
    /// `>`: above it.
    Above(f64),
    /// `range a..b`: between them, both widened by the tolerance.
    Between(f64, f64),
}

impl Comparison {
    pub fn parse(op: &str, value: &str) -> Result<Self, String> {
        fn number(text: &str) -> Result<f64, String> {
            text.parse::<f64>().map_err(|_| format!("value '{text}' is not a number"))
        }
        match op {
            "=" | "~" | "min" | "max" | "ratio" => number(value).map(Self::Near),
            "<" => number(value).map(Self::Below),
            ">" => number(value).map(Self::Above),
            "range" => {
                let (low, high) =
                    value.split_once("..").ok_or(format!("range '{value}' is not LOW..HIGH"))?;
                Ok(Self::Between(number(low)?, number(high)?))
            }
            other => Err(format!("'{other}' is not =, ~, <, >, min, max, ratio or range")),
        }
    }

    /// Difference of `simulated` in percent, relative to the published value or the nearer end of the range (0 inside
    /// it), and whether that passes.
    #[must_use]
    pub fn judge(self, simulated: f64, tolerance_pct: Option<f64>) -> (f64, bool) {
        // what is on the edge but for rounding is within
        let tolerance_pct = tolerance_pct.unwrap_or(0.0) + 1e-9;
        let beside = |published: f64| (simulated / published - 1.0) * 100.0;
        match self {
            Self::Near(value) => (beside(value), beside(value).abs() <= tolerance_pct),
            Self::Below(value) => (beside(value), simulated < value),
            Self::Above(value) => (beside(value), simulated > value),
            Self::Between(low, high) => {
                let outside = if simulated < low {
                    beside(low)
                } else if simulated > high {
                    beside(high)
                } else {
                    0.0
                };
                (outside, outside.abs() <= tolerance_pct)
            }
        }
    }

    pub fn published(self) -> Published {
        match self {
            Self::Near(value) | Self::Below(value) | Self::Above(value) => Published::One(value),
            Self::Between(low, high) => Published::Range([low, high]),
        }
    }
}
