use super::*;

#[test]
fn ids_rise_and_names_are_unique() {
    assert!(FindingId::ALL.is_sorted_by(|a, b| a.spec().id < b.spec().id));
    for (i, id) in FindingId::ALL.iter().enumerate() {
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
    let seen = |evidence: &str, weight| {
        Finding::new(FindingId::CpuBound, evidence).about(evidence).weighing(weight)
    };
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
    let of_all = || Finding::new(FindingId::Misaligned, "sda1 begins at sector 63");
    let of_test = || Finding::new(FindingId::Misaligned, "x").about("align.sector");
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
