//! Which figures of the classes of SD cards a run with the suite `sd-card` reaches, and which figure decides. The
//! specification tests cards in a state and with commands of their own, so this is a comparison of figures.

use crate::terminal::{Paragraph, Role, Style};
use crate::workloads::facts::FoundFact;
use crate::workloads::usable;
use drivescope_model::number::{one_decimal, rounded};
use drivescope_model::{Metric, Run};

const SUITE: &str = "sd-card";
/// Random requests are counted over a minute: SD Physical Layer Specification 5.10.
const MINUTE_S: f64 = 60.0;

struct SpeedClass {
    name: &'static str,
    write_mb_s: f64,
    /// The version of the SD Physical Layer Specification that has it.
    source: &'static str,
}

const fn speed(name: &'static str, write_mb_s: f64, source: &'static str) -> SpeedClass {
    SpeedClass { name, write_mb_s, source }
}

/// By rate; `sdcard.org/developers/sd-standard-overview/speed-class` lists them all.
const SPEED_CLASSES: [SpeedClass; 11] = [
    speed("2", 2.0, "2.00"),
    speed("4", 4.0, "2.00"),
    speed("6", 6.0, "2.00"),
    speed("V6", 6.0, "5.00"),
    speed("10", 10.0, "3.00"),
    speed("U1", 10.0, "3.01"),
    speed("V10", 10.0, "5.00"),
    speed("U3", 30.0, "4.20"),
    speed("V30", 30.0, "5.00"),
    speed("V60", 60.0, "5.00"),
    speed("V90", 90.0, "5.00"),
];

struct ApplicationClass {
    name: &'static str,
    shape: &'static str,
    read_iops: f64,
    write_iops: f64,
    write_mb_s: f64,
    source: &'static str,
}

/// `sdcard.org/developers/sd-standard-overview/application-performance-class`. A2 is with command queue, of up to 32,
/// and cache.
const APPLICATION_CLASSES: [ApplicationClass; 2] = [
    ApplicationClass {
        name: "A1",
        shape: "rnd4k_q1t1",
        read_iops: 1_500.0,
        write_iops: 500.0,
        write_mb_s: 10.0,
        source: "5.10",
    },
    ApplicationClass {
        name: "A2",
        shape: "rnd4k_q32t1",
        read_iops: 4_000.0,
        write_iops: 2_000.0,
        write_mb_s: 10.0,
        source: "6.00",
    },
];

const SEQUENTIAL_WRITES: &str = "transfer.seq1m_q1t1.write.mb_s";

/// Empty for runs of other suites.
pub(crate) fn sd_classes(run: &Run) -> Vec<FoundFact> {
    if run.plan.suite.name != SUITE || run.tests.iter().all(|test| test.metrics.is_empty()) {
        return Vec::new();
    }
    let mut facts = vec![speed_fact(run)];
    facts.extend(APPLICATION_CLASSES.iter().map(|class| application_fact(run, class)));
    let mut note = FoundFact::new("note").item(
        Role::Dim,
        "figures beside those of the specification, not a certification: the card's state and commands differ",
    );
    let time = run.plan.suite.transfer.time.0;
    if time < MINUTE_S {
        note =
            note.item(Role::Dim, format!("rounds of {time} s; the specification counts a minute"));
    }
    facts.push(note);
    facts
}

/// The same on a terminal.
pub(crate) fn sd_class_lines(run: &Run, style: Style) -> String {
    let facts = sd_classes(run);
    let Some(width) = facts.iter().map(|fact| fact.name.len()).max() else { return String::new() };
    let title = Paragraph::new().text(Role::Title, "SD classes").lines(0, style);
    let line = |fact: &FoundFact| fact.paragraph(width).lines(width + 4, style);
    title + &facts.iter().map(line).collect::<String>()
}

fn speed_fact(run: &Run) -> FoundFact {
    let fact = FoundFact::new("speed");
    let Some(metric) = usable(run, SEQUENTIAL_WRITES) else {
        return fact.item(Role::Dim, "not judged: no valid figure of writes in order");
    };
    let (reached, missed): (Vec<&SpeedClass>, Vec<&SpeedClass>) =
        SPEED_CLASSES.iter().partition(|class| metric.low >= class.write_mb_s);
    let words = if reached.is_empty() {
        "reaches none".to_string()
    } else {
        format!("reaches the figures of {}", names(&reached))
    };
    let fact = fact.item(Role::Title, words);
    let fact =
        fact.item(Role::Plain, format!("writes in order at {}", with_least(metric, " MB/s")));
    let Some(next) = missed.first().map(|class| class.write_mb_s) else { return fact };
    let next: Vec<&SpeedClass> =
        missed.into_iter().filter(|class| class.write_mb_s <= next).collect();
    fact.item(
        Role::Plain,
        format!(
            "{} {} {} MB/s (specification {})",
            names(&next),
            if next.len() == 1 { "needs" } else { "need" },
            one_decimal(next[0].write_mb_s),
            next[0].source
        ),
    )
}

fn names(classes: &[&SpeedClass]) -> String {
    classes.iter().map(|class| class.name).collect::<Vec<_>>().join(", ")
}

/// One figure that a class asks for.
struct Asked<'r> {
    what: &'static str,
    unit: &'static str,
    least: f64,
    metric: &'r Metric,
}

impl Asked<'_> {
    /// Below 1 the class is not reached.
    fn share(&self) -> f64 {
        self.metric.low / self.least
    }

    fn words(&self) -> String {
        let Self { what, unit, least, metric } = self;
        format!("{what} decide: {}, needed {}{unit}", with_least(metric, unit), one_decimal(*least))
    }
}

fn application_fact(run: &Run, class: &ApplicationClass) -> FoundFact {
    let fact = FoundFact::new(class.name);
    let key = |direction: &str| format!("transfer.{}.{direction}.iops", class.shape);
    let asked = [
        ("random reads", "/s", class.read_iops, key("read")),
        ("random writes", "/s", class.write_iops, key("write")),
        ("writes in order", " MB/s", class.write_mb_s, SEQUENTIAL_WRITES.to_string()),
    ];
    let mut figures = Vec::new();
    for (what, unit, least, key) in asked {
        let Some(metric) = usable(run, &key) else {
            return fact.item(Role::Dim, format!("not judged: no valid figure of {what}"));
        };
        figures.push(Asked { what, unit, least, metric });
    }
    let decides = figures.iter().min_by(|a, b| a.share().total_cmp(&b.share()));
    let decides = decides.expect("a class asks for three figures");
    let words = if decides.share() >= 1.0 {
        "reaches its figures"
    } else if decides.metric.value >= decides.least {
        "not shown, within the uncertainty"
    } else {
        "does not reach its figures"
    };
    let fact = fact.item(Role::Title, words).item(Role::Plain, decides.words());
    fact.item(Role::Dim, format!("specification {}", class.source))
}

/// `24.1 MB/s, at least 23.0 MB/s`: the lower end of the interval counts.
fn with_least(metric: &Metric, unit: &str) -> String {
    let (value, low) = (rounded(metric.value), rounded(metric.low));
    if value == low { format!("{value}{unit}") } else { format!("{value}{unit} (at least {low})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{measured, nvme};
    use drivescope_model::{Secs, TestKind};

    const READS: [f64; 2] = [2_100.0, 4_500.0];
    const WRITES: [f64; 2] = [620.0, 1_100.0];

    fn run_of(write_mb_s: f64, reads: [f64; 2], writes: [f64; 2]) -> Run {
        let mut run = nvme();
        run.plan.suite.name = SUITE.to_string();
        run.plan.suite.transfer.time = Secs(MINUTE_S);
        run.tests = vec![measured(
            TestKind::Transfer,
            &[
                ("seq1m_q1t1.write.mb_s", write_mb_s),
                ("rnd4k_q1t1.read.iops", reads[0]),
                ("rnd4k_q1t1.write.iops", writes[0]),
                ("rnd4k_q32t1.read.iops", reads[1]),
                ("rnd4k_q32t1.write.iops", writes[1]),
            ],
        )];
        run
    }

    fn words(run: &Run) -> Vec<String> {
        sd_classes(run).iter().map(|fact| format!("{}: {}", fact.name, fact.words())).collect()
    }

    #[test]
    fn classes_and_their_deciding_figures_are_named() {
        let said = words(&run_of(24.1, READS, WRITES));
        assert_eq!(
            said[..3],
            [
                "speed: reaches the figures of 2, 4, 6, V6, 10, U1, V10 · writes in order at 24.1 MB/s · U3, V30 need \
                 30 MB/s (specification 4.20)",
                "A1: reaches its figures · random writes decide: 620/s, needed 500/s · specification 5.10",
                "A2: does not reach its figures · random writes decide: 1,100/s, needed 2,000/s · specification 6.00",
            ]
        );
        assert!(!said.concat().contains("certified") && said[3].contains("not a certification"));
    }

    #[test]
    fn ends_of_the_scale_and_short_rounds_are_said() {
        let mut run = run_of(1.2, READS, [0.9 * 500.0, WRITES[1]]);
        run.plan.suite.transfer.time = Secs(5.0);
        let said = words(&run);
        assert!(
            said[0].starts_with("speed: reaches none · writes in order at 1.20 MB/s · 2 needs 2")
        );
        assert!(
            said[1].contains("writes in order decide: 1.20 MB/s, needed 10 MB/s"),
            "{}",
            said[1]
        );
        assert!(said[3].contains("rounds of 5 s"));
        let said = words(&run_of(95.0, READS, WRITES));
        assert!(said[0].ends_with("V60, V90 · writes in order at 95.0 MB/s"), "{}", said[0]);
    }

    #[test]
    fn lower_end_of_the_interval_counts() {
        let mut run = run_of(24.1, READS, WRITES);
        for metric in &mut run.tests[0].metrics {
            metric.low = 0.7 * metric.value;
        }
        assert!(words(&run)[1].starts_with("A1: not shown, within the uncertainty"));
        assert!(words(&run)[1].contains("620/s (at least 434)"), "{:?}", words(&run));
    }

    #[test]
    fn invalid_figures_and_other_suites_are_not_judged() {
        let mut run = run_of(24.1, READS, WRITES);
        run.tests[0].metrics[0].valid = false;
        for said in &words(&run)[..3] {
            assert!(said.contains("not judged: no valid figure of writes in order"), "{said}");
        }
        run.plan.suite.name = "quick".to_string();
        assert!(sd_classes(&run).is_empty() && sd_class_lines(&run, Style::PLAIN).is_empty());
    }
}
