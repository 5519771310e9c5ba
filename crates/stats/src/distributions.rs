//! Normal, Student t and binomial distributions, to about 12 digits.
//!
//! References: Abramowitz and Stegun, "Handbook of Mathematical Functions", 6.1.41 (ln Γ), 26.2.11 and
//! 26.2.14 (normal); NIST DLMF 8.17.22 (incomplete beta; its continued fraction is evaluated by
//! the modified Lentz algorithm, Thompson and Barnett, J. Comput. Phys. 64, 1986), 26.5.24 of the former
//! (binomial). Quantiles invert the upper tail by bisection: slow next to rational fits, but exact to
//! the last digits and obviously right; a report needs a few hundred of them.

use crate::is_inner_share;
use std::f64::consts::{LN_2, PI};

/// Fractions and series stop when a term changes the result by less than this share.
const PRECISION: f64 = 1e-16;
/// More terms than the slowest case needs: the fraction converges in about √max(a, b) steps.
const TERMS_MAX: u32 = 20_000;

/// Probability that a standard normal variable exceeds `z` ≥ 0.
fn normal_tail(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    if z > 3.0 {
        // z + 1/(z + 2/(z + 3/…)), from the inside out; 120 levels give 16 digits from z = 3 on.
        let fraction = (1..=120).rev().fold(z, |inner, k| z + f64::from(k) / inner);
        return density / fraction;
    }
    let (mut term, mut sum, mut k) = (z, z, 1.0);
    while term > PRECISION * sum {
        k += 2.0;
        term *= z * z / k;
        sum += term;
    }
    0.5 - density * sum
}

/// Φ⁻¹(p). `None` unless 0 < p < 1.
pub fn normal_quantile(p: f64) -> Option<f64> {
    symmetric_quantile(p, normal_tail)
}

/// Quantile of Student's t with `df` ≥ 1 degrees of freedom, not necessarily whole. `None` unless 0 < p < 1
/// and `df` is finite; tails below 1e-100 are not resolved.
pub fn student_t_quantile(p: f64, df: f64) -> Option<f64> {
    if !(df.is_finite() && df >= 1.0) {
        return None;
    }
    symmetric_quantile(p, |t| student_t_tail(t, df))
}

/// Probability that Student's t with `df` degrees of freedom exceeds `t` ≥ 0.
pub fn student_t_tail(t: f64, df: f64) -> f64 {
    0.5 * incomplete_beta(0.5 * df, 0.5, df / (df + t * t))
}

/// Probability of at most `k` successes in `n` trials that succeed with probability `p`.
/// `None` unless 0 ≤ p ≤ 1.
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    if k >= n {
        return Some(1.0);
    }
    Some(incomplete_beta((n - k) as f64, k as f64 + 1.0, 1.0 - p))
}

/// Quantile of a distribution symmetric about 0, from its upper tail at t ≥ 0.
fn symmetric_quantile(p: f64, tail: impl Fn(f64) -> f64) -> Option<f64> {
    if !is_inner_share(p) {
        return None;
    }
    let target = p.min(1.0 - p);
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high) > target {
        low = high;
        high *= 2.0;
    }
    // Each step gains one bit of the 53.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if tail(middle) > target { low = middle } else { high = middle }
    }
    let magnitude = if p == 0.5 { 0.0 } else { 0.5 * (low + high) };
    Some(if p < 0.5 { -magnitude } else { magnitude })
}

/// ln Γ(x) for x > 0: Stirling's series, after the recurrence has lifted x to where it is exact.
fn ln_gamma(x: f64) -> f64 {
    const LIFTED: f64 = 15.0;
    let (mut x, mut product) = (x, 1.0);
    while x < LIFTED {
        product *= x;
        x += 1.0;
    }
    let inverse_square = 1.0 / (x * x);
    let series = [-1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0]
        .iter()
        .fold(1.0 / 1188.0, |sum, coefficient| sum * inverse_square + coefficient);
    (x - 0.5) * x.ln() - x + 0.5 * (LN_2 + PI.ln()) + series / x - product.ln()
}

/// Regularised incomplete beta function I_x(a, b) for a, b > 0 and 0 ≤ x ≤ 1.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast below the mean; above it the mirror image does.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let ln_front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    ln_front.exp() / (a * beta_fraction(a, b, x))
}

/// The continued fraction 1 + d₁/(1 + d₂/(1 + …)) of the incomplete beta function.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    /// Stands in for a denominator that vanishes.
    const TINY: f64 = 1e-300;
    let (mut value, mut c, mut d) = (1.0_f64, 1.0_f64, 0.0_f64);
    for step in 1..=TERMS_MAX {
        let m = f64::from(step / 2);
        let numerator = if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        c = 1.0 + numerator / c;
        d = 1.0 + numerator * d;
        c = if c == 0.0 { TINY } else { c };
        d = 1.0 / if d == 0.0 { TINY } else { d };
        value *= c * d;
        if (c * d - 1.0).abs() <= PRECISION {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;
    use proptest::prelude::*;

    /// Degrees of freedom, then the quantiles 0.95, 0.975 and 0.995.
    const STUDENT_T: &str = "
        1 6.31375151468 12.7062047362 63.6567411629
        2 2.91998558035 4.30265272975 9.92484320092
        3 2.3533634348 3.18244630528 5.84090930973
        4 2.13184678633 2.7764451052 4.60409487135
        5 2.01504837333 2.57058183564 4.03214298356
        7 1.89457860509 2.36462425159 3.49948329735
        10 1.81246112281 2.22813885199 3.16927267262
        15 1.75305035569 2.13144954556 2.94671288348
        20 1.72471824292 2.08596344727 2.84533970979
        30 1.69726088659 2.0422724563 2.74999565357
        50 1.67590502516 2.0085591121 2.67779327094
        99 1.66039115602 1.98421695159 2.62640545728
        100 1.66023432609 1.98397151852 2.62589052144
        150 1.65507550019 1.9759053309 2.60900256587
        200 1.65250810091 1.97189622363 2.60063443619";

    fn normal_cdf(z: f64) -> f64 {
        if z < 0.0 { normal_tail(-z) } else { 1.0 - normal_tail(z) }
    }

    #[test]
    fn student_t_table() {
        for row in STUDENT_T.lines().skip(1) {
            let numbers: Vec<f64> = row.split_whitespace().map(|n| n.parse().unwrap()).collect();
            for (p, want) in [0.95, 0.975, 0.995].into_iter().zip(&numbers[1..]) {
                assert_close(student_t_quantile(p, numbers[0]).unwrap(), *want, 1e-10);
            }
        }
    }

    #[test]
    fn normal_table() {
        for (z, want) in [
            (-6.0, 9.865876450376946e-10),
            (-3.5, 0.00023262907903552502),
            (-2.9, 0.0018658133003840375),
            (-1.0, 0.15865525393145707),
            (0.0, 0.5),
            (0.5, 0.6914624612740131),
            (1.96, 0.9750021048517795),
            (3.0, 0.9986501019683699),
            (8.0, 0.9999999999999993),
        ] {
            assert_close(normal_cdf(z), want, 1e-15);
        }
        assert_close(normal_cdf(-6.0) / 9.865876450376946e-10, 1.0, 1e-12);
        for (p, want) in [(0.5, 0.0), (0.75, 0.6744897501960817), (0.975, 1.959963984540054)] {
            assert_close(normal_quantile(p).unwrap(), want, 1e-13);
        }
        assert_close(normal_quantile(1e-9).unwrap(), -5.9978070150076865, 1e-12);
    }

    #[test]
    fn binomial_table() {
        for (k, n, p, want) in [
            (0, 6, 0.5, 0.015625),
            (2, 10, 0.5, 0.0546875),
            (3, 20, 0.1, 0.8670466765656649),
            (500, 1000, 0.5, 0.5126125090891802),
            (366, 367, 0.99, 0.9749898430403094),
            (989_900, 1_000_000, 0.99, 0.15865123214582375),
            (6, 6, 0.5, 1.0),
        ] {
            assert_close(binomial_cdf(k, n, p).unwrap(), want, 1e-9);
        }
    }

    #[test]
    fn special_functions() {
        for (x, want) in [
            (0.5, 0.5723649429247),
            (1.0, 0.0),
            (2.5, 0.2846828704729192),
            (100.5, 361.43554046777757),
            (1e6, 12815504.569147611),
        ] {
            assert_close(ln_gamma(x), want, 1e-14);
        }
        for (a, b, x, want) in [
            (0.5, 0.5, 0.3, 0.36901011956554536),
            (100.0, 0.5, 0.98, 0.04468549636263327),
            (10.0, 200.0, 0.03, 0.10050835237144835),
            (1e5, 2e5, 0.3335, 0.5769368018947587),
        ] {
            assert_close(incomplete_beta(a, b, x), want, 1e-9);
        }
    }

    #[test]
    fn parameters_out_of_range() {
        for p in [0.0, 1.0, -0.1, f64::NAN] {
            assert_eq!(normal_quantile(p), None);
            assert_eq!(student_t_quantile(p, 3.0), None);
        }
        assert_eq!(student_t_quantile(0.9, 0.0), None);
        assert_eq!(binomial_cdf(1, 2, 1.5), None);
    }

    proptest! {
        #[test]
        fn normal_quantile_inverts_the_cdf(z in -5.0..5.0f64) {
            prop_assert!((normal_quantile(normal_cdf(z)).unwrap() - z).abs() < 1e-8);
        }

        #[test]
        fn student_t_lies_outside_the_normal(p in 0.55..0.999f64, df in 1.0..500.0f64) {
            prop_assert!(student_t_quantile(p, df).unwrap() > normal_quantile(p).unwrap());
        }
    }
}
