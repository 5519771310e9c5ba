//! How many jobs are in each state, as a bar and in words.

use drivescope_model::fleet::JobState;
use drivescope_model::number::whole;
use maud::{Markup, html};

/// From left to right, with the class of the style sheet.
const ORDER: [(JobState, &str); 7] = [
    (JobState::Done, "s0"),
    (JobState::Running, "s2"),
    (JobState::Waiting, "range"),
    (JobState::Cancelled, "bar"),
    (JobState::Unknown, "s3"),
    (JobState::Refused, "s1"),
    (JobState::Failed, "failed"),
];
/// Of the whole bar: one job of ten thousand is seen.
const WIDTH_MIN: f64 = 0.01;
const HEIGHT: f64 = 6.0;

fn count_of(counts: &[(JobState, u64)], state: JobState) -> u64 {
    counts.iter().filter(|(known, _)| *known == state).map(|(_, count)| count).sum()
}

/// State, class, and number of its jobs, of those that have any.
fn parts(counts: &[(JobState, u64)]) -> Vec<(JobState, &'static str, u64)> {
    let all = ORDER.into_iter().map(|(state, class)| (state, class, count_of(counts, state)));
    all.filter(|(.., count)| *count > 0).collect()
}

/// `412 done, 20 running (2 overdue), 3 failed`.
pub fn words(counts: &[(JobState, u64)], overdue: u64) -> String {
    let words = parts(counts).into_iter().map(|(state, _, count)| {
        let late = match (state, overdue) {
            (JobState::Running, late @ 1..) => format!(" ({} overdue)", whole(late)),
            _ => String::new(),
        };
        format!("{} {}{late}", whole(count), state.name())
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "no jobs".to_string() } else { words.join(", ") }
}

/// Its width is 100.
pub fn state_bar(counts: &[(JobState, u64)], overdue: u64) -> Markup {
    let parts = parts(counts);
    let all: u64 = parts.iter().map(|(.., count)| count).sum();
    let width = |count: u64| (count as f64 / all as f64).max(WIDTH_MIN);
    let total: f64 = parts.iter().map(|(.., count)| width(*count)).sum();
    let mut from = 0.0;
    let placed = parts.into_iter().map(|(_, class, count)| {
        let (left, wide) = (from, 100.0 * width(count) / total);
        from += wide;
        (class, format!("{left:.2}"), format!("{wide:.2}"))
    });
    let placed: Vec<_> = placed.collect();
    html! {
        svg.states viewBox={ "0 0 100 " (HEIGHT) } preserveAspectRatio="none" role="img"
            aria-label=(words(counts, overdue)) {
            @for (class, left, wide) in placed {
                rect class={ "fill " (class) } x=(left) y="0" width=(wide) height=(HEIGHT) {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_of_many_jobs_is_seen() {
        let counts = [(JobState::Failed, 1), (JobState::Done, 9_999), (JobState::Running, 0)];
        let bar = state_bar(&counts, 0).into_string();
        assert!(bar.contains("aria-label=\"9,999 done, 1 failed\""), "{bar}");
        let widths = bar.split(" width=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let widths: Vec<f64> = widths.map(|width| width.parse().unwrap()).collect();
        let [done, failed] = widths.as_slice() else { panic!("{widths:?}") };
        assert!((done + failed - 100.0).abs() < 0.02 && *failed > 0.9, "{widths:?}");
    }

    #[test]
    fn states_are_in_words_too() {
        let counts: Vec<_> = JobState::ALL.into_iter().map(|state| (state, 2)).collect();
        let words = words(&counts, 1);
        for state in JobState::ALL {
            assert!(words.contains(&format!("2 {}", state.name())), "{words}");
        }
        assert!(words.contains("2 running (1 overdue)"));
        assert_eq!(super::words(&[], 0), "no jobs");
    }
}
