//! What runs themselves found of a drive, and links below the usual one: facts, not conclusions from figures.

use super::groups::DriveGroup;
use super::{OddKind, OddReason};
use drivescope_model::number::one_decimal;
use drivescope_model::{FindingId, MeasuredDrive};

/// Findings that make a drive odd by themselves.
const NOTED: [(FindingId, OddKind); 10] = [
    (FindingId::IoError, OddKind::Failing),
    (FindingId::DataMismatch, OddKind::Failing),
    (FindingId::FakeCapacity, OddKind::Failing),
    (FindingId::SlowRegion, OddKind::Failing),
    (FindingId::FailingHealth, OddKind::Failing),
    (FindingId::NewBadSectors, OddKind::Failing),
    (FindingId::DriveGone, OddKind::Failing),
    (FindingId::SlowLink, OddKind::Link),
    (FindingId::LinkErrors, OddKind::Link),
    (FindingId::Misaligned, OddKind::Partition),
];

/// A link counts as slower below this share of the usual payload: its names may differ where rates do not.
const LINK_SHARE: f64 = 0.9;

/// The link of most drives of a group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UsualLink {
    name: String,
    payload_mb_s: f64,
    /// Drives that have it, and all that report one.
    drives: (usize, usize),
}

/// For each drive, the link that more than half of its group have.
pub(super) fn usual_links(
    drives: &[MeasuredDrive],
    groups: &[DriveGroup],
) -> Vec<Option<UsualLink>> {
    let mut usual = vec![None; drives.len()];
    for group in groups {
        let known: Vec<_> =
            group.peers.iter().filter_map(|place| drives[*place].link.as_ref()).collect();
        let same = |name: &str| known.iter().filter(|link| link.name == name).count();
        let Some(most) = known.iter().max_by_key(|link| same(&link.name)) else { continue };
        let count = same(&most.name);
        if 2 * count <= known.len() {
            continue;
        }
        for place in &group.judged {
            usual[*place] = Some(UsualLink {
                name: most.name.clone(),
                payload_mb_s: most.payload_mb_s,
                drives: (count, known.len()),
            });
        }
    }
    usual
}

pub(super) fn reasons(drive: &MeasuredDrive, usual: Option<&UsualLink>) -> Vec<OddReason> {
    let noted = drive.findings.iter().filter_map(|(id, evidence)| {
        let (_, kind) = NOTED.iter().find(|(known, _)| known == id)?;
        let words = format!("{} ({}): {evidence}", id.spec().means, id.spec().id);
        Some(OddReason { finding: Some(*id), ..reason(drive, *kind, words) })
    });
    let mut reasons: Vec<OddReason> = noted.collect();
    let is_noted = reasons.iter().any(|reason| reason.finding == Some(FindingId::SlowLink));
    if let (Some(link), Some(usual), false) = (&drive.link, usual, is_noted)
        && link.payload_mb_s < usual.payload_mb_s * LINK_SHARE
    {
        let (with, of) = usual.drives;
        let words = format!("{} only: {with} of {of} like it have {}", link.name, usual.name);
        reasons.push(reason(drive, OddKind::Link, words));
    }
    if let (Some(seen), Some(limit)) = (drive.temperature_c, drive.limit_c)
        && seen > limit
    {
        let [shown, allowed] = [seen, limit].map(one_decimal);
        let words = format!("{shown} °C, above the {allowed} °C that its maker allows");
        reasons.push(OddReason {
            value: Some(seen),
            unit: Some("°C".to_string()),
            ..reason(drive, OddKind::Temperature, words)
        });
    }
    reasons
}

fn reason(drive: &MeasuredDrive, kind: OddKind, words: String) -> OddReason {
    OddReason {
        kind,
        run: drive.run.clone(),
        words,
        key: None,
        value: None,
        median: None,
        unit: None,
        finding: None,
    }
}
