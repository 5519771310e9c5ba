//! Several drives that are measured at the same time: what they share, and what they reach together.

use crate::terminal::{Paragraph, Role, Style};
use drivescope_model::document::Run;
use drivescope_model::together::Together;

/// Drives beside a run that are named; the document has all.
const NAMED_MAX: usize = 6;

/// Before the runs begin: how many drives, what they share, and the trial.
pub fn together_announced(runs: &[Run], style: Style) -> String {
    let Some(together) = runs.first().and_then(|run| run.together.as_ref()) else {
        return String::new();
    };
    let suite = &runs[0].plan.suite.name;
    let head = format!("{} drives at the same time, suite {suite}", together.targets.len());
    Paragraph::new().text(Role::Title, head).lines(0, style) + &facts(together, style)
}

/// What ran beside a run.
pub(super) fn together(run: &Run, style: Style) -> String {
    let Some(together) = &run.together else { return String::new() };
    let others: Vec<&str> = together.others(&run.id).collect();
    let named = others[..others.len().min(NAMED_MAX)].join(", ");
    let head = match others.len().saturating_sub(NAMED_MAX) {
        0 => format!("measured together with {named}"),
        more => format!("measured together with {named} and {more} more"),
    };
    Paragraph::new().text(Role::Plain, head).lines(0, style) + &facts(together, style)
}

fn facts(together: &Together, style: Style) -> String {
    let lines = together.facts().into_iter();
    lines.map(|line| Paragraph::new().text(Role::Plain, line).lines(2, style)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hard_disk;
    use drivescope_model::together::{SharedPath, TogetherTrial};

    #[test]
    fn run_names_its_neighbours_and_the_limit() {
        let mut run = hard_disk();
        run.id = "b".to_string();
        let path = |name: &str, targets: &[usize], payload_mb_s| SharedPath {
            name: name.to_string(),
            targets: targets.to_vec(),
            payload_mb_s,
        };
        run.together = Some(Together {
            targets: ["sda", "sdb", "sdc"].map(str::to_string).to_vec(),
            runs: ["a", "b", "c"].map(str::to_string).to_vec(),
            shared: vec![
                path("the USB hub 2-1", &[0, 1], Some(500.0)),
                path("the USB controller 0000:00:14.0", &[0, 1, 2], None),
            ],
            trial: Some(TogetherTrial {
                alone_mb_s: vec![200.0, 300.0, 500.0],
                together_mb_s: vec![100.0, 120.0, 200.0],
                limit: Some("the USB hub 2-1 is the limit".to_string()),
            }),
        });
        let text = together(&run, Style::PLAIN);
        let expected = "measured together with sda, sdc\nsda, sdb share the USB hub 2-1 (up to 500 MB/s)\n\
                        all share the USB controller 0000:00:14.0\n\
                        3 drives: 420 MB/s together, 42 % of their sum; the USB hub 2-1 is the limit\n";
        assert_eq!(text, expected);
    }
    #[test]
    fn few_of_many_neighbours_are_named() {
        let mut run = hard_disk();
        run.id = "1".to_string();
        let numbered = |number: usize| number.to_string();
        run.together = Some(Together {
            targets: (1..=60).map(|number| format!("sd{number}")).collect(),
            runs: (1..=60).map(numbered).collect(),
            ..Together::default()
        });
        let expected = "measured together with sd2, sd3, sd4, sd5, sd6, sd7 and 53 more\n";
        assert_eq!(together(&run, Style::PLAIN), expected);
    }
}
