//! Linear least squares with few unknowns.
//!
//! Reference: Å. Björck, "Numerical Methods for Least Squares Problems", SIAM 1996, chapter 2 (normal equations; the
//! columns are scaled to length one first, which keeps them solvable for the few unknowns used here).

#[derive(Debug, Clone, PartialEq)]
pub struct LinearFit {
    /// One value for each column.
    pub coefficients: Vec<f64>,
    /// Standard error of each, from the residuals; 0 where there are no more rows than columns.
    pub standard_errors: Vec<f64>,
    pub residual_rms: f64,
}

/// Coefficients `b` with the least Σ wᵢ·(yᵢ − Σⱼ bⱼ·rowsᵢⱼ)². `weights` are all 1 where empty.
///
/// `None` with fewer rows than columns, rows of different length, a value that is not finite, or columns that depend
/// on each other.
pub fn least_squares(rows: &[Vec<f64>], y: &[f64], weights: &[f64]) -> Option<LinearFit> {
    let columns = rows.first()?.len();
    let good = rows.iter().all(|row| row.len() == columns && row.iter().all(|v| v.is_finite()));
    if !good || rows.len() != y.len() || rows.len() < columns || y.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let weight = |i: usize| weights.get(i).copied().unwrap_or(1.0);
    let scale: Vec<f64> = (0..columns)
        .map(|j| (0..rows.len()).map(|i| weight(i) * rows[i][j].powi(2)).sum::<f64>().sqrt())
        .collect();
    if scale.iter().any(|&length| length <= 0.0) {
        return None;
    }
    let scaled = |i: usize, j: usize| rows[i][j] / scale[j];
    let product = |j: usize, k: usize| {
        (0..rows.len()).map(|i| weight(i) * scaled(i, j) * scaled(i, k)).sum::<f64>()
    };
    let normal: Vec<Vec<f64>> =
        (0..columns).map(|j| (0..columns).map(|k| product(j, k)).collect()).collect();
    let inverse = inverse(normal)?;
    let right: Vec<f64> = (0..columns)
        .map(|j| (0..rows.len()).map(|i| weight(i) * scaled(i, j) * y[i]).sum())
        .collect();
    let solved: Vec<f64> =
        inverse.iter().map(|row| row.iter().zip(&right).map(|(a, b)| a * b).sum()).collect();
    let residual = |i: usize| y[i] - (0..columns).map(|j| solved[j] * scaled(i, j)).sum::<f64>();
    let squares: f64 = (0..rows.len()).map(|i| weight(i) * residual(i).powi(2)).sum();
    let plain: f64 = (0..rows.len()).map(|i| residual(i).powi(2)).sum();
    let free = (rows.len() - columns).max(1) as f64;
    Some(LinearFit {
        coefficients: (0..columns).map(|j| solved[j] / scale[j]).collect(),
        standard_errors: (0..columns)
            .map(|j| (squares / free * inverse[j][j].max(0.0)).sqrt() / scale[j])
            .collect(),
        residual_rms: (plain / rows.len() as f64).sqrt(),
    })
}

/// Pivots of scaled columns below this are rounding errors.
const PIVOT_MIN: f64 = 1e-12;

/// The inverse by Gauss and Jordan with pivots; `None` of a singular matrix.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let mut result: Vec<Vec<f64>> =
        (0..n).map(|j| (0..n).map(|k| f64::from(u8::from(j == k))).collect()).collect();
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        matrix.swap(column, pivot);
        result.swap(column, pivot);
        let head = matrix[column][column];
        if head.abs() < PIVOT_MIN {
            return None;
        }
        for k in 0..n {
            matrix[column][k] /= head;
            result[column][k] /= head;
        }
        for row in (0..n).filter(|&row| row != column) {
            let factor = matrix[row][column];
            for k in 0..n {
                matrix[row][k] -= factor * matrix[column][k];
                result[row][k] -= factor * result[column][k];
            }
        }
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, noisy};

    #[test]
    fn a_plane_is_found_again() {
        let rows: Vec<Vec<f64>> =
            (0..20).map(|i| vec![1.0, f64::from(i), f64::from(i * i % 7)]).collect();
        let y: Vec<f64> = rows.iter().map(|row| 5.0 + 0.25 * row[1] - 3e6 * row[2]).collect();
        let fit = least_squares(&rows, &y, &[]).unwrap();
        for (got, want) in fit.coefficients.iter().zip([5.0, 0.25, -3e6]) {
            assert_close(*got, want, 1e-6);
        }
    }

    #[test]
    fn standard_errors_match_a_line() {
        // The closed formulas of a straight line: s² / Σ(x − x̄)².
        let y = [0.5, 1.0, 3.0, 3.5, 4.0, 5.5, 7.0, 8.0, 9.0, 9.5];
        let rows: Vec<Vec<f64>> = (0..10).map(|i| vec![1.0, f64::from(i)]).collect();
        let fit = least_squares(&rows, &y, &[]).unwrap();
        let (x_mean, y_mean) = (4.5, 5.1);
        let slope = (0..10).map(|i| (i as f64 - x_mean) * (y[i] - y_mean)).sum::<f64>() / 82.5;
        assert_close(fit.coefficients[1], slope, 1e-12);
        let rss: f64 = (0..10).map(|i| (y[i] - y_mean - slope * (i as f64 - x_mean)).powi(2)).sum();
        assert_close(fit.standard_errors[1], (rss / 8.0 / 82.5).sqrt(), 1e-12);
    }

    #[test]
    fn weights_leave_out_what_weighs_nothing() {
        let rows: Vec<Vec<f64>> = (0..6).map(|i| vec![1.0, f64::from(i)]).collect();
        let mut y: Vec<f64> = (0..6).map(|i| 2.0 + 3.0 * f64::from(i)).collect();
        y[5] = 1e6;
        let fit = least_squares(&rows, &y, &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]).unwrap();
        assert_close(fit.coefficients[1], 3.0, 1e-9);
    }

    #[test]
    fn unsolvable_system_has_no_answer() {
        assert_eq!(least_squares(&[], &[], &[]), None);
        let twice = vec![vec![1.0, 2.0], vec![2.0, 4.0], vec![3.0, 6.0]];
        assert_eq!(least_squares(&twice, &[1.0, 2.0, 3.0], &[]), None);
        assert_eq!(least_squares(&[vec![1.0, 2.0]], &[1.0], &[]), None);
        assert_eq!(least_squares(&[vec![f64::NAN]], &[1.0], &[]), None);
        assert!(least_squares(&[vec![1.0], vec![1.0]], &noisy(2, 0.1, 1, |_| 1.0), &[]).is_some());
    }
}
