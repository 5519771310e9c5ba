//! Which drives a submission takes, and which it leaves out, with the reason.

use crate::selector::Selector;
use crate::submission;
use drivescope_model::Secs;
use drivescope_model::fleet::{
    ChosenDrive, FleetDrive, FleetHost, HostDrive, LeftOutDrive, NewJob,
};
use drivescope_model::options::Suite;
use drivescope_model::plan::WriteLevel;
use std::collections::BTreeMap;

/// The drives that a selector matches.
#[derive(Debug)]
pub struct Choice {
    pub chosen: Vec<ChosenDrive>,
    pub left_out: Vec<LeftOutDrive>,
    level: WriteLevel,
    needs_serials: bool,
}

/// Why jobs may not be submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SerialFault {
    /// No chosen drive has this serial number.
    Unknown(String),
    /// These are to be typed, too.
    Missing(Vec<String>),
}

impl Choice {
    /// Of the drives that are there. Without a selector all are matched.
    pub fn of(
        selector: Option<&Selector>,
        (suite, level): (&Suite, WriteLevel),
        drives: &[HostDrive],
        hosts: &[FleetHost],
    ) -> Self {
        let there: Vec<&HostDrive> = drives.iter().filter(|drive| drive.is_there).collect();
        let matches = |drive: &&HostDrive| selector.is_none_or(|it| it.matches(drive));
        let matched: Vec<&HostDrive> = there.iter().copied().filter(matches).collect();
        let is_everything = matched.len() == there.len();
        let needs_serials =
            level >= WriteLevel::Restore || (level > WriteLevel::OwnFiles && is_everything);
        let mut choice = Self { chosen: Vec::new(), left_out: Vec::new(), level, needs_serials };
        let hosts: BTreeMap<&str, &FleetHost> =
            hosts.iter().map(|host| (host.agent.id.as_str(), host)).collect();
        let mut with_serial: BTreeMap<&str, usize> = BTreeMap::new();
        for serial in matched.iter().filter_map(|drive| serial_of(&drive.drive)) {
            *with_serial.entry(serial).or_default() += 1;
        }
        for drive in &matched {
            let reason = match hosts.get(drive.host_id.as_str()) {
                Some(host) => reason_of_host(host, level),
                None => Some("its host is forgotten".to_string()),
            };
            let by_serial = || reason_of_serial(&drive.drive, &with_serial);
            let reason = reason.or_else(|| needs_serials.then(by_serial).flatten());
            let place = match reason {
                Some(reason) => Err(reason),
                None => submission::place_of(suite, level, &drive.drive),
            };
            match place {
                Ok((place, cost)) => {
                    choice.chosen.push(ChosenDrive { drive: (*drive).clone(), place, cost });
                }
                Err(reason) => {
                    let (host, name) = (drive.host.clone(), drive.drive.name.clone());
                    choice.left_out.push(LeftOutDrive { host, name, reason });
                }
            }
        }
        choice
    }

    /// Of the slowest drive.
    pub fn expected_s(&self) -> f64 {
        self.chosen.iter().map(|it| it.cost.seconds).fold(0.0, f64::max)
    }

    pub fn host_count(&self) -> usize {
        let mut hosts: Vec<&str> = self.chosen.iter().map(|it| it.drive.host_id.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.len()
    }

    /// The jobs, with the serial numbers that the submitter has typed. From `restore` on each drive needs its own;
    /// below that, only if a plan that writes to devices is for every drive.
    pub fn jobs(&self, serials: &[String]) -> Result<Vec<NewJob>, SerialFault> {
        let is_typed = |serial: &str| serials.iter().any(|typed| typed.trim() == serial);
        let known: Vec<&str> =
            self.chosen.iter().filter_map(|it| serial_of(&it.drive.drive)).collect();
        if let Some(unknown) = serials.iter().find(|typed| !known.contains(&typed.trim())) {
            return Err(SerialFault::Unknown(unknown.clone()));
        }
        if self.needs_serials {
            let missing = known.into_iter().filter(|serial| !is_typed(serial));
            let missing: Vec<String> = missing.map(str::to_string).collect();
            if !missing.is_empty() {
                return Err(SerialFault::Missing(missing));
            }
        }
        let job = |it: &ChosenDrive| {
            let facts = &it.drive.drive;
            NewJob {
                host_id: it.drive.host_id.clone(),
                drive: facts.key.clone(),
                name: facts.name.clone(),
                // As announced: the agent compares it.
                serial: facts.serial.clone().filter(|serial| is_typed(serial.trim())),
            }
        };
        Ok(self.chosen.iter().map(job).collect())
    }

    /// For messages: why serial numbers are asked for.
    pub fn why_serials(&self) -> String {
        let level = self.level.name();
        match self.level {
            WriteLevel::Restore | WriteLevel::Destroy => {
                format!("level {level} needs the serial number of each drive")
            }
            _ => format!("level {level} on every drive of the fleet needs each serial number"),
        }
    }
}

fn reason_of_host(host: &FleetHost, level: WriteLevel) -> Option<String> {
    if host.is_lost() {
        let seen = Secs(host.seen_s_ago.round());
        return Some(format!("its host was not seen for {seen}"));
    }
    let ceiling = host.agent.ceiling;
    (ceiling < level)
        .then(|| format!("its agent accepts {} at most (fleet agent --ceiling)", ceiling.name()))
}

/// `with_serial`: the number of matched drives by serial number.
fn reason_of_serial(drive: &FleetDrive, with_serial: &BTreeMap<&str, usize>) -> Option<String> {
    let Some(serial) = serial_of(drive) else {
        return Some("it reports no serial number to confirm it by".to_string());
    };
    let count = with_serial.get(serial).copied().unwrap_or(0);
    (count > 1).then(|| format!("its serial number {serial} is not its own: {count} have it"))
}

fn serial_of(drive: &FleetDrive) -> Option<&str> {
    drive.serial.as_deref().map(str::trim).filter(|serial| !serial.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{host_drive, host_of, other_drive};
    use drivescope_bench::suites;

    fn choice(
        selector: &str,
        level: WriteLevel,
        change: impl Fn(&mut [HostDrive], &mut [FleetHost]),
    ) -> Choice {
        let mut drives = [host_drive(), other_drive()];
        let mut hosts = [host_of(&drives[0]), host_of(&drives[1])];
        hosts.iter_mut().for_each(|host| host.agent.ceiling = WriteLevel::Destroy);
        change(&mut drives, &mut hosts);
        let selector = (!selector.is_empty()).then(|| Selector::parse(selector).unwrap());
        let suite = suites::find("quick", None).unwrap();
        Choice::of(selector.as_ref(), (&suite, level), &drives, &hosts)
    }

    fn reasons(choice: &Choice) -> Vec<String> {
        choice.left_out.iter().map(|it| format!("{}: {}", it.host, it.reason)).collect()
    }

    #[test]
    fn drives_that_cannot_be_measured_are_left_out_with_the_reason() {
        let all = choice("", WriteLevel::OwnFiles, |_, _| {});
        assert_eq!((all.chosen.len(), all.host_count(), all.left_out.len()), (2, 2, 0));
        assert!(all.expected_s() > 1.0);
        let some = choice("", WriteLevel::OwnFiles, |drives, hosts| {
            drives[0].is_there = false;
            hosts[1].seen_s_ago = 720.0;
        });
        assert_eq!(some.chosen.len(), 0);
        assert_eq!(reasons(&some), ["vm1: its host was not seen for 12 min 00 s"]);
        let low = choice("host=vm1", WriteLevel::OwnFiles, |_, hosts| {
            hosts[1].agent.ceiling = WriteLevel::Read;
        });
        let expected = ["vm1: its agent accepts read at most (fleet agent --ceiling)"];
        assert_eq!(reasons(&low), expected);
        let nothing = choice("host=absent", WriteLevel::OwnFiles, |_, _| {});
        assert!(nothing.chosen.is_empty() && nothing.left_out.is_empty());
    }

    #[test]
    fn contents_are_touched_only_of_drives_named_by_serial() {
        let serial = "WD-WCC7K0000001".to_string();
        for level in [WriteLevel::Restore, WriteLevel::Destroy] {
            let choice = choice("", level, |_, _| {});
            assert_eq!(reasons(&choice), ["vm1: it reports no serial number to confirm it by"]);
            assert_eq!(choice.jobs(&[]), Err(SerialFault::Missing(vec![serial.clone()])));
            let jobs = choice.jobs(&[format!(" {serial} ")]).unwrap();
            assert_eq!((jobs.len(), jobs[0].serial.as_ref()), (1, Some(&serial)));
            let unknown = choice.jobs(&[serial.clone(), "X".into()]);
            assert_eq!(unknown, Err(SerialFault::Unknown("X".into())));
        }
        let shared = choice("", WriteLevel::Destroy, |drives, _| {
            drives[1].drive.serial = drives[0].drive.serial.clone();
        });
        assert_eq!(shared.chosen.len(), 0);
        assert!(reasons(&shared)[0].ends_with("is not its own: 2 have it"));
    }

    #[test]
    fn same_bytes_on_every_drive_needs_the_serials_too() {
        let all = choice("there", WriteLevel::SameBytes, |_, _| {});
        assert!(matches!(all.jobs(&[]), Err(SerialFault::Missing(_))));
        let one = choice("host=rack7-3", WriteLevel::SameBytes, |_, _| {});
        assert_eq!(one.jobs(&[]).unwrap()[0].serial, None);
    }
}
