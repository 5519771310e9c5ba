//! Many questions at once: how small a probability must be so that few of the answers are false.
//!
//! References: Y. Benjamini and Y. Hochberg, JRSS B 57(1), 1995 (the step-up procedure); R. J. Simes, Biometrika 73(3),
//! 1986 (one probability for several questions about one thing). Both hold for independent and for positively
//! dependent questions (Y. Benjamini and D. Yekutieli, Annals of Statistics 29(4), 2001).

/// The q-value of each question: the smallest rate of false discoveries, among all that are at least as improbable, at
/// which it counts as one. In the order of `p_values`, which lie between 0 and 1.
pub fn q_values(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*b].total_cmp(&p_values[*a]));
    let mut q_values = vec![1.0; p_values.len()];
    let (mut least, mut rank) = (1.0_f64, p_values.len());
    for i in order {
        least = least.min(p_values[i] * p_values.len() as f64 / rank as f64);
        q_values[i] = least;
        rank -= 1;
    }
    q_values
}

/// The probability that a thing which is odd in nothing answers its questions as these; 1 without a question.
pub fn combined_p_value(p_values: &[f64]) -> f64 {
    q_values(p_values).into_iter().fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::testing::assert_close;
    use proptest::prelude::*;

    /// The fifteen probabilities of Benjamini and Hochberg's example: four are rejected at 5 %.
    const PUBLISHED: [f64; 15] = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.0,
    ];

    #[test]
    fn published_example_has_four_discoveries() {
        let found = q_values(&PUBLISHED);
        assert_eq!(found.iter().filter(|q| **q <= 0.05).count(), 4);
        for (i, want) in [(0, 0.0015), (3, 0.035_625), (4, 0.0603), (8, 0.0765), (14, 1.0)] {
            assert_close(found[i], want, 1e-12);
        }
        assert_close(combined_p_value(&[0.03, 0.02]), 0.03, 1e-12);
        assert_eq!((combined_p_value(&[]), q_values(&[])), (1.0, vec![]));
    }

    /// Of 10 sets in 100, about five in a hundred discoveries are false.
    #[test]
    fn rate_of_false_discoveries_is_kept() {
        let mut random = Random::new(3);
        let (mut false_share, sets) = (0.0, 400);
        for _ in 0..sets {
            let of = |i: usize, random: &mut Random| {
                let uniform = (random.below(1 << 40) as f64 + 0.5) / (1_u64 << 40) as f64;
                if i < 10 { uniform * 1e-5 } else { uniform }
            };
            let p_values: Vec<f64> = (0..100).map(|i| of(i, &mut random)).collect();
            let found: Vec<usize> = q_values(&p_values)
                .into_iter()
                .enumerate()
                .filter_map(|(i, q)| (q <= 0.05).then_some(i))
                .collect();
            let wrong = found.iter().filter(|i| **i >= 10).count();
            false_share += wrong as f64 / found.len() as f64 / f64::from(sets);
        }
        assert!((0.03..0.06).contains(&false_share), "{false_share}");
    }

    proptest! {
        #[test]
        fn order_of_probabilities_is_kept(p_values in prop::collection::vec(0.0..=1.0f64, 1..40)) {
            let found = q_values(&p_values);
            for (i, p) in p_values.iter().enumerate() {
                // But for rounding.
                prop_assert!(*p <= found[i] * (1.0 + 1e-12) && found[i] <= 1.0);
                prop_assert!(p_values.iter().zip(&found).all(|(other, q)| other < p || *q >= found[i]));
            }
        }
    }
}
