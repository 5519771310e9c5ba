use super::*;

#[test]
fn ids_have_no_gaps_and_unique_names() {
    for (i, id) in FindingId::ALL.iter().enumerate() {
        assert_eq!(id.spec().id, format!("F{:03}", i + 1));
        assert!(FindingId::ALL[i + 1..].iter().all(|other| other.spec().name != id.spec().name));
        assert!(!id.spec().rule.is_empty() && !id.spec().remedy.is_empty());
    }
}

#[test]
fn a_finding_concerns_keys_below_its_prefix_only() {
    let finding = Finding::new(FindingId::AboveLink, "x").about("transfer.rnd4k_q1t1");
    assert!(finding.concerns("transfer.rnd4k_q1t1.read.iops"));
    assert!(!finding.concerns("transfer.rnd4k_q1t16.read.iops"));
    assert!(Finding::new(FindingId::MemoryBacked, "x").concerns("anything"));
}

#[test]
fn worst_observation_is_evidence_and_all_are_kept() {
    fn seen(evidence: &str, weight: f64) -> Finding {
        Finding::new(FindingId::CpuBound, evidence).about(evidence).weighing(weight)
    }
    let mut all = seen("a", 0.86);
    all.join(seen("b", 0.99));
    all.join(seen("c", 0.90));
    assert_eq!(all.evidence, "b");
    assert_eq!(all.observations, ["a", "b", "c"]);
    assert_eq!((all.count(), all.metrics.len()), (3, 3));
    let mut once = seen("a", 1.0);
    once.join(seen("a", 1.0));
    assert_eq!((once.count(), once.observations.len()), (1, 0));
}

/// That a partition is misaligned was said of all figures, until a test found the same of its own.
#[test]
fn finding_about_every_metric_stays_so() {
    fn of_all() -> Finding {
        Finding::new(FindingId::Misaligned, "sda1 begins at sector 63")
    }
    fn of_test() -> Finding {
        Finding::new(FindingId::Misaligned, "x").about("align.sector")
    }
    for (mut first, second) in [(of_all(), of_test()), (of_test(), of_all())] {
        first.join(second);
        assert!(first.concerns("transfer.rnd4k_q1t1.write.iops"), "{first:?}");
        assert_eq!(first.observations.len(), 2);
    }
}

#[test]
fn findings_survive_json() {
    let finding = Finding::new(FindingId::Stall, "1.2 s without a completion");
    let text = serde_json::to_string(&finding).unwrap();
    assert!(text.contains("\"F020\""));
    assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), finding);
}
